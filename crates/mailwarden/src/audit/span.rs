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

    /// The days that may hold such records: one more at each end, because a clock may have been set back.
    pub(super) fn days(&self, dir: &Path) -> anyhow::Result<Days> {
        let day = SignedDuration::from_hours(24);
        let since = self.begin.and_then(|ts| ts.checked_sub(day).ok());
        let until = self.end.and_then(|ts| ts.checked_add(day).ok());
        let nowhere = || anyhow::anyhow!("there is no audit log in {}", dir.display());
        if audit::days(dir).or_else(missing)?.is_empty() {
            return Err(nowhere());
        }
        Ok(Days::of(dir, since.map(Day::of), until.map(Day::of))?)
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
