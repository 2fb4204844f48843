//! The signed checkpoints beside a log.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use crate::{Checkpoint, Day, LogId, Verifier, checkpoint};

/// The latest one.
const LATEST: &str = "checkpoint";
/// No note of this log and a few witnesses is longer.
const MOST: u64 = 1 << 16;

/// A text that should be a signed checkpoint, and where it was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signed {
    pub name: String,
    pub note: String,
}

/// One that this log has signed, to be compared with its records.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Compared {
    pub(super) name: String,
    pub(super) from: From,
    pub(super) checkpoint: Checkpoint,
}

/// Where a checkpoint was kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum From {
    /// By the log itself, where who writes the log can write it too.
    Beside,
    /// By whoever verifies.
    Elsewhere,
}

impl Signed {
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut note = Vec::new();
        File::open(path)?.take(MOST).read_to_end(&mut note)?;
        let name = path.file_name().unwrap_or_default();
        Ok(Self {
            name: name.to_string_lossy().into_owned(),
            // What is not UTF-8 is not signed either.
            note: String::from_utf8_lossy(&note).into_owned(),
        })
    }

    /// The log that it speaks of, by its own word: whether that log has signed it is another question.
    pub fn log(&self) -> Option<LogId> {
        checkpoint::log_of(&self.note)
    }
}

/// The latest checkpoint of a directory, and those that were made when a day ended.
pub fn stored(dir: &Path) -> io::Result<Vec<Signed>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let is_one = name.is_some_and(|name| {
            let day = name.strip_suffix(".checkpoint").and_then(Day::parse);
            name == LATEST || day.is_some()
        });
        if !is_one {
            continue;
        }
        match Signed::read(&path) {
            Ok(signed) => found.push(signed),
            // Retention was here in between.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// The one that covers most, of those that the log has signed.
pub fn newest(dir: &Path, verifier: &Verifier) -> io::Result<Option<(Signed, Checkpoint)>> {
    let opened = stored(dir)?.into_iter().filter_map(|signed| {
        let checkpoint = Checkpoint::open(&signed.note, verifier).ok()?;
        Some((signed, checkpoint))
    });
    Ok(opened.max_by_key(|(_, checkpoint)| checkpoint.size))
}
