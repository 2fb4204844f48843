//! The days of a log: one file each, named after the day in UTC.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

#[cfg(unix)]
use crate::files;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Day(Date);

impl Day {
    pub fn of(ts: Timestamp) -> Self {
        Self(ts.to_zoned(TimeZone::UTC).date())
    }

    /// `2026-11-15`, and no other spelling.
    pub fn parse(text: &str) -> Option<Self> {
        let day = Self(text.parse().ok()?);
        (day.to_string() == text).then_some(day)
    }

    pub fn next(self) -> Self {
        Self(self.0.tomorrow().unwrap_or(self.0))
    }

    /// How many days after the other it is; negative before it.
    pub fn since(self, other: Self) -> i64 {
        self.0
            .since(other.0)
            .map_or(0, |span| i64::from(span.get_days()))
    }

    pub fn before(self, days: i64) -> Self {
        Self(self.0.saturating_sub(days.days()))
    }

    /// When it begins.
    pub fn start(self) -> Timestamp {
        self.0
            .to_zoned(TimeZone::UTC)
            .map_or(Timestamp::MIN, |zoned| zoned.timestamp())
    }

    /// Where its records are while it is plain.
    pub fn file(self, dir: &Path) -> PathBuf {
        dir.join(format!("{self}.{PLAIN}"))
    }

    pub fn gzip(self, dir: &Path) -> PathBuf {
        dir.join(format!("{self}.{GZIP}"))
    }

    /// The signed checkpoint that was made when the day ended.
    pub fn checkpoint(self, dir: &Path) -> PathBuf {
        dir.join(format!("{self}.{CHECKPOINT}"))
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

const PLAIN: &str = "jsonl";
const GZIP: &str = "jsonl.gz";
const CHECKPOINT: &str = "checkpoint";

/// Whether a name is that of a day's records, of its checkpoint, or of what was set aside on it.
#[cfg(unix)]
pub(crate) fn is_file_of_a_day(name: &str) -> bool {
    let Some((day, extension)) = name.split_once('.') else {
        return false;
    };
    let is_torn = || {
        let number = extension.strip_prefix(files::TORN)?;
        let number = number.strip_suffix(files::UNSAID).unwrap_or(number);
        number.parse::<u32>().ok()
    };
    Day::parse(day).is_some()
        && ([PLAIN, GZIP, CHECKPOINT].contains(&extension) || is_torn().is_some())
}

/// How a day is kept.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Form {
    Plain,
    Gzip,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DayFile {
    pub day: Day,
    pub form: Form,
    pub path: PathBuf,
}

/// The days of a log, oldest first. A day that is there in both forms was being compressed when the process ended: the
/// plain one is whole.
pub fn days(dir: &Path) -> io::Result<Vec<DayFile>> {
    let mut days = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let named = path
            .file_name()
            .and_then(|name| name.to_str()?.split_once('.'));
        let Some((day, extension)) = named else {
            continue;
        };
        let form = match extension {
            PLAIN => Form::Plain,
            GZIP => Form::Gzip,
            _ => continue,
        };
        if let Some(day) = Day::parse(day) {
            days.push(DayFile { day, form, path });
        }
    }
    days.sort_by_key(|file| (file.day, file.form));
    days.dedup_by_key(|file| file.day);
    Ok(days)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_found_in_order_and_once() {
        let dir = tempfile::tempdir().unwrap();
        for name in [
            "2026-11-15.jsonl",
            "2026-11-14.jsonl.gz",
            "2026-11-14.jsonl",
            "2026-02-01.jsonl.gz",
            "2026-2-1.jsonl",
            "2026-11-15.torn-7",
            "lock",
        ] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        let found = days(dir.path()).unwrap();
        let found: Vec<(String, Form)> = found
            .into_iter()
            .map(|file| (file.day.to_string(), file.form))
            .collect();
        let expected = [
            ("2026-02-01", Form::Gzip),
            ("2026-11-14", Form::Plain),
            ("2026-11-15", Form::Plain),
        ];
        assert_eq!(found, expected.map(|(day, form)| (day.to_owned(), form)));
    }

    #[test]
    fn days_are_counted_across_months_and_years() {
        let day = |text: &str| Day::parse(text).unwrap();
        assert_eq!(day("2026-03-01").since(day("2026-02-28")), 1);
        assert_eq!(day("2026-11-15").since(day("2025-11-15")), 365);
        assert_eq!(day("2026-11-14").since(day("2026-11-15")), -1);
        assert_eq!(day("2026-12-31").next(), day("2027-01-01"));
        assert_eq!(day("2026-01-10").before(20), day("2025-12-21"));
        assert_eq!(
            day("2026-11-15").start().to_string(),
            "2026-11-15T00:00:00Z"
        );
    }
}
