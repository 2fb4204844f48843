//! Who holds leases: a process is known by a random name, and lives as long as it holds the lock on the file of that name.
//!
//! It knows nothing of transactions.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::files;

/// The directory with a file for each process that has leases.
#[derive(Clone, Debug)]
pub(crate) struct Owners(PathBuf);

/// This process, as others see it. Its lock ends with it, however it ends.
#[derive(Debug)]
pub(crate) struct Owner {
    name: String,
    path: PathBuf,
    _lock: File,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Life {
    Alive,
    Dead,
    /// There is no file to ask: it lives elsewhere, or somebody removed it.
    Untold,
}

impl Owners {
    /// Beside the ledger.
    pub(crate) fn of(ledger: &Path) -> Self {
        let mut path = ledger.as_os_str().to_owned();
        path.push(".owners");
        Self(path.into())
    }

    /// One that nobody has had.
    pub(crate) fn new_name() -> io::Result<String> {
        name()
    }

    /// A new owner, under a name that nobody had.
    pub(crate) fn enter(&self) -> io::Result<Owner> {
        files::create_private_dir(&self.0)?;
        loop {
            let name = name()?;
            let path = self.0.join(&name);
            let lock = files::private().write(true).create_new(true).open(&path)?;
            // Between its making and its locking somebody may have taken it for one of the dead, and removed it.
            match lock.try_lock() {
                Ok(()) if path.exists() => {
                    return Ok(Owner {
                        name,
                        path,
                        _lock: lock,
                    });
                }
                Ok(()) | Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => {
                    let _ = fs::remove_file(&path);
                    return Err(error);
                }
            }
        }
    }

    pub(crate) fn life(&self, name: &str) -> Life {
        // A name out of the database is not to lead anywhere else.
        if !is_name(name) {
            return Life::Untold;
        }
        match File::open(self.0.join(name)) {
            Ok(file) => match file.try_lock() {
                Ok(()) => Life::Dead,
                Err(_) => Life::Alive,
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Life::Untold,
            // It cannot be asked; it is not to be robbed.
            Err(_) => Life::Alive,
        }
    }

    /// Removes the files of the dead that have no more leases.
    ///
    /// INVARIANT: one that still has leases keeps its file: without it nobody would know at once that it is dead.
    pub(crate) fn bury(&self, mut has_leases: impl FnMut(&str) -> bool) {
        for entry in fs::read_dir(&self.0).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| is_name(name)) else {
                continue;
            };
            let Ok(file) = File::open(entry.path()) else {
                continue;
            };
            if file.try_lock().is_ok() && !has_leases(name) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

impl Owner {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// It has no more leases: nothing need be known of it.
    pub(crate) fn leave(self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn name() -> io::Result<String> {
    let mut chance = [0u8; 16];
    getrandom::fill(&mut chance).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(chance.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn is_name(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_gone_is_known_to_be_and_is_buried_when_nothing_is_left_of_it() {
        let dir = tempfile::tempdir().unwrap();
        let owners = Owners::of(&dir.path().join("ledger.db"));
        let (one, other) = (owners.enter().unwrap(), owners.enter().unwrap());
        let (living, dead) = (one.name().to_owned(), other.name().to_owned());
        assert_eq!(owners.life(&living), Life::Alive);
        assert_eq!(owners.life(&dead), Life::Alive);

        drop(other);
        assert_eq!(owners.life(&dead), Life::Dead);
        owners.bury(|_| true);
        assert_eq!(owners.life(&dead), Life::Dead, "it still has leases");
        owners.bury(|_| false);
        assert_eq!(owners.life(&dead), Life::Untold);
        assert_eq!(owners.life(&living), Life::Alive);

        one.leave();
        assert_eq!(owners.life(&living), Life::Untold);
        assert_eq!(fs::read_dir(&owners.0).unwrap().count(), 0);
    }

    #[test]
    fn a_name_leads_nowhere_else() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("other"), "").unwrap();
        let owners = Owners::of(&dir.path().join("ledger.db"));
        for name in ["../other", "", ".", "/etc/passwd"] {
            assert_eq!(owners.life(name), Life::Untold, "{name}");
        }
    }
}
