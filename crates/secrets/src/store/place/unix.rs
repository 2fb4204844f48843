//! Files beneath a directory: read, and replaced wholly or not at all.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, Dir, FileType, Mode, OFlags};
use rustix::fs::{accessat, fchmod, fstat, openat, renameat, unlinkat};
use sha2::{Digest as _, Sha256};

use super::find::{Gap, Spot, THROUGH, find};
use super::{Readers, irregular, no_store, rights, unreadable, unwritable};
use crate::store::NoSecret;

/// How names of files end that are being written.
const NEW: &str = ".new";
const MOST_ENTRIES: usize = 10_000;
const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);

/// A directory that nobody else can change.
#[derive(Debug)]
pub(in crate::store) struct Place {
    /// As it was named.
    named: PathBuf,
    real: PathBuf,
    open: OwnedFd,
}

impl Place {
    /// The directory itself may be reached by links: the operator named it.
    pub(in crate::store) fn open(named: &Path) -> Result<Self, NoSecret> {
        let failed = |error: io::Error| no_store(named, &error);
        let real = fs::canonicalize(named).map_err(failed)?;
        let open = rustix::fs::open(&real, THROUGH, Mode::empty());
        let open = open.map_err(|errno| failed(errno.into()))?;
        rights::of_directory(&open, named)?;
        Ok(Self {
            named: named.to_owned(),
            real,
            open,
        })
    }

    /// A regular file that is as private as it has to be. `None`: there is none.
    pub(in crate::store) fn file(
        &self,
        names: &[&str],
        readers: Readers,
    ) -> Result<Option<File>, NoSecret> {
        let path = self.path(names);
        let spot = self.find(names, Gap::Left)?;
        let (Some(name), Some(kind)) = (&spot.name, spot.kind) else {
            return Ok(None);
        };
        if kind != FileType::RegularFile {
            return Err(irregular(&path));
        }
        // Should it have become a pipe meanwhile, nobody is waited for.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let open = openat(&spot.directory, name, flags, Mode::empty());
        let open = open.map_err(|errno| unreadable(&path, &errno.into()))?;
        let stat = fstat(&open).map_err(|errno| unreadable(&path, &errno.into()))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(irregular(&path));
        }
        rights::of_file(&stat, &path, readers)?;
        Ok(Some(File::from(open)))
    }

    /// Whether [`Self::replace`] would probably succeed. Changes nothing.
    pub(in crate::store) fn replaceable(&self, names: &[&str]) -> Result<(), NoSecret> {
        let spot = self.find(names, Gap::Left)?;
        refuse_irregular(&spot, &self.path(names))?;
        let rights = Access::WRITE_OK | Access::EXEC_OK;
        accessat(&spot.directory, ".", rights, AtFlags::EACCESS)
            .map_err(|errno| unwritable(&spot.above, &errno.into()))
    }

    /// Whoever reads, and whatever dies meanwhile, there is what was there before or all of this. It is on disk when this returns.
    pub(in crate::store) fn replace(&self, names: &[&str], bytes: &[u8]) -> Result<(), NoSecret> {
        let path = self.path(names);
        let spot = self.find(names, Gap::Filled)?;
        refuse_irregular(&spot, &path)?;
        let Some(name) = &spot.name else {
            return Err(irregular(&path));
        };
        let failed = |error: io::Error| unwritable(&path, &error);
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| failed(io::Error::other(error)))?;
        // No reference begins with a dot.
        let ours = new_of(name);
        sweep(&spot.directory, &ours);
        let new = format!("{ours}{:016x}{NEW}", u64::from_ne_bytes(random));
        let written = write(&spot.directory, &new, bytes).and_then(|()| {
            renameat(&spot.directory, &new, &spot.directory, name).map_err(io::Error::from)
        });
        if let Err(error) = written {
            let _ = unlinkat(&spot.directory, &new, AtFlags::empty());
            return Err(failed(error));
        }
        settle(&spot.directory).map_err(failed)
    }

    pub(in crate::store) fn path(&self, names: &[&str]) -> PathBuf {
        self.named.join(names.iter().collect::<PathBuf>())
    }

    fn find(&self, names: &[&str], gap: Gap) -> Result<Spot, NoSecret> {
        let root = self.open.try_clone();
        let root = root.map_err(|error| no_store(&self.named, &error))?;
        find(root, &self.real, &self.named, names, gap)
    }
}

/// What is in a directory survives a loss of power from here on.
pub(super) fn settle(directory: impl AsFd) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = openat(directory, ".", flags, Mode::empty())?;
    File::from(open).sync_all()
}

/// How names of files begin that are to take this one's place.
pub(super) fn new_of(name: &OsStr) -> String {
    // A name may be as long as names can be.
    let digest = Sha256::digest(name.as_bytes());
    let hex = digest.iter().take(8).map(|byte| format!("{byte:02x}"));
    format!(".{}.", hex.collect::<String>())
}

/// Removes what a crash left of earlier attempts: a token stands in it. Whoever is at it at this moment fails, and knows.
fn sweep(directory: &OwnedFd, ours: &str) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(entries) = openat(directory, ".", flags, Mode::empty()).and_then(Dir::new) else {
        return;
    };
    for entry in entries.flatten().take(MOST_ENTRIES) {
        let name = entry.file_name().to_bytes();
        if name.starts_with(ours.as_bytes()) && name.ends_with(NEW.as_bytes()) {
            let _ = unlinkat(directory, entry.file_name(), AtFlags::empty());
        }
    }
}

fn refuse_irregular(spot: &Spot, path: &Path) -> Result<(), NoSecret> {
    match spot.kind {
        None | Some(FileType::RegularFile) => Ok(()),
        Some(_) => Err(irregular(path)),
    }
}

fn write(directory: &OwnedFd, name: &str, bytes: &[u8]) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = openat(directory, name, flags, PRIVATE)?;
    // Whatever the umask took away.
    fchmod(&open, PRIVATE)?;
    let mut file = File::from(open);
    file.write_all(bytes)?;
    file.sync_all()
}
