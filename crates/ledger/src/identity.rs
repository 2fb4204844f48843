//! Which file was opened, so that one that took its name is not mistaken for it.
//!
//! It is never opened for that. QUIRK: a process that closes any handle of a file loses its POSIX locks on it, those of
//! SQLite too.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use crate::LedgerFault;

/// The file that a path led to.
pub(crate) struct Identity {
    path: PathBuf,
    file: Mark,
}

impl Identity {
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            file: mark(&fs::metadata(path)?),
        })
    }

    /// What is written to a file without a name is lost, and what another process writes to one of that name is not
    /// seen here.
    pub(crate) fn check(&self) -> Result<(), LedgerFault> {
        let here = fs::metadata(&self.path);
        if here.is_ok_and(|found| mark(&found) == self.file) {
            return Ok(());
        }
        Err(LedgerFault::Unwritable(
            "the file was removed or replaced while it was in use; start the program again"
                .to_owned(),
        ))
    }
}

#[cfg(unix)]
type Mark = (u64, u64);

#[cfg(unix)]
fn mark(found: &Metadata) -> Mark {
    use std::os::unix::fs::MetadataExt as _;
    (found.dev(), found.ino())
}

/// Elsewhere a file that is open keeps its name.
#[cfg(not(unix))]
type Mark = bool;

#[cfg(not(unix))]
fn mark(found: &Metadata) -> Mark {
    found.is_file()
}
