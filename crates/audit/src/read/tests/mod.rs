//! A log of 200 records over three days, everything that can be done to it, and that the first bad record is named.

mod changes;
mod lines;

use std::fs;
use std::path::{Path, PathBuf};

use super::sample::{self, Calls};
use super::{Fault, Report, Signed, Verify, verify};
use crate::Day;

pub(super) const RECORDS: u64 = 200;
pub(super) const DAYS: [&str; 3] = ["2026-11-13", "2026-11-14", "2026-11-15"];

/// A log in files, kept as lines to play with.
pub(super) struct Log {
    dir: tempfile::TempDir,
    pub(super) days: Vec<Vec<Vec<u8>>>,
    /// Over all of it.
    pub(super) checkpoint: Signed,
}

impl Log {
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        sample::three_days(dir.path(), RECORDS, Calls::Brief).unwrap();
        // What the log says about itself is looked at alone; checkpoints have tests of their own.
        let checkpoint = Signed::read(&dir.path().join("checkpoint")).unwrap();
        fs::remove_file(dir.path().join("checkpoint")).unwrap();
        for day in DAYS {
            let _ = fs::remove_file(day_of(day).checkpoint(dir.path()));
        }
        let days = DAYS.map(|day| lines(&day_of(day).file(dir.path())));
        Self {
            dir,
            days: days.to_vec(),
            checkpoint,
        }
    }

    pub(super) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(super) fn file(&self, day: usize) -> PathBuf {
        day_of(DAYS[day]).file(self.path())
    }

    /// Every line: its day, its number there, and its seq.
    pub(super) fn places(&self) -> Vec<(usize, usize, u64)> {
        let mut places = Vec::new();
        for (day, lines) in self.days.iter().enumerate() {
            for line in 0..lines.len() {
                places.push((day, line, places.len() as u64));
            }
        }
        places
    }

    /// The log with one day changed; afterwards it is as it was.
    pub(super) fn with(&self, day: usize, lines: &[&[u8]], then: impl FnOnce(Report)) {
        fs::write(self.file(day), lines.concat()).unwrap();
        then(report(self.path()));
        fs::write(self.file(day), self.days[day].concat()).unwrap();
    }

    pub(super) fn day(&self, day: usize) -> Vec<&[u8]> {
        self.days[day].iter().map(Vec::as_slice).collect()
    }
}

pub(super) fn day_of(text: &str) -> Day {
    Day::parse(text).unwrap()
}

pub(super) fn lines(path: &Path) -> Vec<Vec<u8>> {
    let bytes = fs::read(path).unwrap();
    bytes
        .split_inclusive(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect()
}

pub(super) fn report(dir: &Path) -> Report {
    verify(dir, &Verify::default(), &mut |_, _| {}).unwrap()
}

pub(super) fn fault(dir: &Path) -> Option<Fault> {
    report(dir).fault
}

/// That a fault names this record in this line.
#[track_caller]
pub(super) fn named(report: &Report, seq: u64, day: usize, line: usize) -> Fault {
    let fault = report.fault.clone().expect("a fault is found");
    let at = fault.at.clone().expect("a place is named");
    assert_eq!(fault.expected, Some(seq), "{fault}");
    let file = format!("{}.jsonl", DAYS[day]);
    assert_eq!((at.file, at.line), (file, line as u64 + 1), "{fault}");
    fault
}
