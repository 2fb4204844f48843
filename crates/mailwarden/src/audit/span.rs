//! From when to when: which days have to be read, and which records of them count.

use std::io;
use std::path::Path;

use audit::Day;
use audit::read::Days;
use jiff::{SignedDuration, Timestamp};

use super::when::When;

#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    begin: Option<Timestamp>,
    /// The first moment that is too late.
    end: Option<Timestamp>,
}

impl Span {
    pub(super) fn new(since: Option<When>, until: Option<When>) -> Self {
        let now = Timestamp::now();
        Self {
            begin: since.map(|when| when.begin(now)),
            end: until.map(|when| when.end(now)),
        }
    }

    /// The days that may hold such records. When a clock was set back, later days hold earlier times, however much
    /// earlier; no day holds later ones.
    pub(super) fn days(&self, dir: &Path) -> anyhow::Result<Days> {
        let day = SignedDuration::from_hours(24);
        let since = self.begin.and_then(|ts| ts.checked_sub(day).ok());
        let nowhere = || anyhow::anyhow!("there is no audit log in {}", dir.display());
        if audit::days(dir).or_else(missing)?.is_empty() {
            return Err(nowhere());
        }
        Ok(Days::of(dir, since.map(Day::of), None)?)
    }

    pub(super) fn contains(&self, ts: &str) -> bool {
        if self.begin.is_none() && self.end.is_none() {
            return true;
        }
        let Ok(ts) = ts.parse::<Timestamp>() else {
            return false;
        };
        self.begin.is_none_or(|begin| ts >= begin) && self.end.is_none_or(|end| ts < end)
    }
}

fn missing(error: io::Error) -> io::Result<Vec<audit::DayFile>> {
    match error.kind() {
        io::ErrorKind::NotFound => Ok(Vec::new()),
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_set_back_hides_no_record() {
        let dir = tempfile::tempdir().unwrap();
        for day in ["2026-11-01", "2026-11-14", "2027-11-14"] {
            std::fs::write(dir.path().join(format!("{day}.jsonl")), "").unwrap();
        }
        let day = |text: &str| Some(text.parse::<When>().unwrap());
        let span = Span::new(day("2026-11-15"), day("2026-11-16"));
        let days = span.days(dir.path()).unwrap();
        let read: Vec<String> = days.files().iter().map(|one| one.day.to_string()).collect();
        assert_eq!(read, ["2026-11-14", "2027-11-14"]);
    }
}
