//! Where what is remembered of tokens is kept, by name: in a directory of this machine, or where replicas find it. What stands in a
//! record is not known here, and is worth nothing without the secret store.

use std::any::Any;
use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;
use std::time::SystemTime;

const LARGEST: u64 = 64 * 1024;

/// May take its time where it is shared: not for an async thread.
pub trait Records: Send + Sync + fmt::Debug {
    /// None where there is none.
    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>>;

    /// Durable when it returns, wholly or not at all. INVARIANT: whoever writes holds the lock.
    fn replace(&self, name: &str, octets: &[u8]) -> io::Result<()>;

    /// None where somebody has it who lives. Held until it is dropped, or its process ends in whatever way.
    fn try_lock(&self, name: &str) -> io::Result<Option<HeldLock>>;

    /// Changes whenever the record is replaced, as far as this process knows. It asks nobody who takes time.
    fn stamp(&self, name: &str) -> Option<Stamp>;

    fn reach(&self) -> Reach;

    /// Two of the same place keep the same records.
    fn place(&self) -> String;
}

pub type HeldLock = Box<dyn Any + Send + Sync>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// The processes of one machine, whose secret store is one.
    Machine,
    /// Machines, each of which may have a secret store of its own. What stands there is not replaced by a refresh: the record
    /// alone is what all of them see.
    Replicas,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
    number: u64,
}

impl Stamp {
    /// Where every replacement has a number.
    pub fn numbered(number: u64) -> Self {
        Self {
            modified: None,
            length: 0,
            number,
        }
    }
}

/// Files of this machine, with a lock beside each.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Directory(pub(crate) PathBuf);

impl Records for Directory {
    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        match read_bounded(self.path(name, "json")) {
            Ok(octets) => Ok(Some(octets)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn replace(&self, name: &str, octets: &[u8]) -> io::Result<()> {
        self.make()?;
        let new = self.path(name, "json.new");
        // One that a crash left behind may be anybody's to read, or a link.
        match fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = private().write(true).create_new(true).open(&new)?;
        file.write_all(octets)?;
        file.sync_all()?;
        fs::rename(&new, self.path(name, "json"))?;
        #[cfg(unix)]
        File::open(&self.0)?.sync_all()?;
        Ok(())
    }

    fn try_lock(&self, name: &str) -> io::Result<Option<HeldLock>> {
        let file = self.lock_file(name)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Box::new(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            // QUIRK: some network file systems have no locks. One process alone loses nothing by that.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                tracing::debug!(
                    "the state directory has no locks: two processes may refresh at once"
                );
                Ok(Some(Box::new(file)))
            }
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn stamp(&self, name: &str) -> Option<Stamp> {
        let found = fs::metadata(self.path(name, "json")).ok()?;
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(&found);
        #[cfg(not(unix))]
        let number = 0;
        Some(Stamp {
            modified: found.modified().ok(),
            length: found.len(),
            number,
        })
    }

    fn reach(&self) -> Reach {
        Reach::Machine
    }

    fn place(&self) -> String {
        self.0.display().to_string()
    }
}

impl Directory {
    /// The file whose lock is held around everything that uses up or replaces a refresh token.
    pub(crate) fn lock_file(&self, name: &str) -> io::Result<File> {
        self.make()?;
        let mut options = private();
        options.read(true).write(true).create(true).truncate(false);
        options.open(self.path(name, "lock"))
    }

    fn make(&self) -> io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        {
            use std::os::unix::fs::DirBuilderExt as _;
            builder.mode(0o700);
        }
        builder.recursive(true).create(&self.0)
    }

    pub(crate) fn path(&self, name: &str, ending: &str) -> PathBuf {
        self.0.join(format!("{name}.{ending}"))
    }
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options
}

fn read_bounded(path: PathBuf) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let mut octets = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut octets)?;
    if octets.len() as u64 > LARGEST {
        return Err(io::Error::other("it is larger than anything written here"));
    }
    Ok(octets)
}
