//! The way from the directory of a store down to one name in it.
//!
//! INVARIANT: each part is opened from the directory before it, which is held open, and never through a link. Links are followed here,
//! by hand: what they say is walked like the rest, so none leads out, whoever changes what meanwhile.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, mkdirat, openat, readlinkat, statat};
use rustix::io::Errno;

use super::{irregular, leads_out, rights, unreadable, unwritable};
use crate::store::NoSecret;

/// How a directory is opened to go on from it. Where the system knows the difference that does not take the right to list it.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) const THROUGH: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) const THROUGH: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// As Linux has it.
const MOST_LINKS: usize = 40;

/// What is done about a directory that is not there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Gap {
    Left,
    /// It is made, for us alone.
    Filled,
}

/// Where the way ends.
#[derive(Debug)]
pub(super) struct Spot {
    /// The last directory that is there.
    pub directory: OwnedFd,
    /// Its path.
    pub above: PathBuf,
    /// In it, if all directories are there.
    pub name: Option<OsString>,
    /// What has this name; no link. `None`: nothing.
    pub kind: Option<FileType>,
}

/// A directory on the way.
struct Step {
    open: OwnedFd,
    path: PathBuf,
}

/// How far the way has been gone.
struct Walk<'a> {
    /// The store without links in its path.
    real: &'a Path,
    /// What is looked for, for messages.
    shown: PathBuf,
    at: Step,
    above: Vec<Step>,
    left: VecDeque<OsString>,
    links: usize,
}

/// `root` is open and has been looked at; `real` is its path without links, `named` the one that was configured.
pub(super) fn find(
    root: OwnedFd,
    real: &Path,
    named: &Path,
    names: &[&str],
    gap: Gap,
) -> Result<Spot, NoSecret> {
    let walk = Walk {
        real,
        shown: named.join(names.iter().collect::<PathBuf>()),
        at: Step {
            open: root,
            path: named.to_owned(),
        },
        above: Vec::new(),
        left: names.iter().map(OsString::from).collect(),
        links: 0,
    };
    walk.finish(gap)
}

impl Walk<'_> {
    fn finish(mut self, gap: Gap) -> Result<Spot, NoSecret> {
        while let Some(part) = self.left.pop_front() {
            if part == ".." {
                let above = self.above.pop();
                self.at = above.ok_or_else(|| leads_out(&self.shown))?;
                continue;
            }
            let kind = self.kind(&part)?;
            if kind == Some(FileType::Symlink) {
                self.follow(&part)?;
                continue;
            }
            if self.left.is_empty() {
                return Ok(self.ends_at(Some(part), kind));
            }
            let path = self.at.path.join(&part);
            let open = match (kind, gap) {
                (Some(FileType::Directory), _) => {
                    open(&self.at, &part).map_err(|errno| self.failed(errno))?
                }
                (Some(_), _) => return Err(no_directory(&path)),
                (None, Gap::Left) => return Ok(self.ends_at(None, None)),
                (None, Gap::Filled) => make(&self.at, &part, &path)?,
            };
            rights::of_directory(&open, &path)?;
            let above = std::mem::replace(&mut self.at, Step { open, path });
            self.above.push(above);
        }
        Err(irregular(&self.shown))
    }

    /// `None`: there is nothing.
    fn kind(&self, part: &OsStr) -> Result<Option<FileType>, NoSecret> {
        match statat(&self.at.open, part, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(FileType::from_raw_mode(stat.st_mode))),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(self.failed(errno)),
        }
    }

    /// What a link says is what is to be gone next.
    fn follow(&mut self, link: &OsStr) -> Result<(), NoSecret> {
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(too_many_links(&self.shown));
        }
        let target = readlinkat(&self.at.open, link, Vec::new());
        let target = target.map_err(|errno| self.failed(errno))?;
        let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
        let mut rest = target.as_path();
        if target.is_absolute() {
            let inside = target.strip_prefix(self.real);
            rest = inside.map_err(|_| leads_out(&self.shown))?;
            if !self.above.is_empty() {
                self.at = self.above.swap_remove(0);
                self.above.clear();
            }
        }
        for part in rest.components().rev() {
            match part {
                Component::Normal(part) => self.left.push_front(part.to_owned()),
                Component::ParentDir => self.left.push_front("..".into()),
                Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
            }
        }
        Ok(())
    }

    fn ends_at(self, name: Option<OsString>, kind: Option<FileType>) -> Spot {
        Spot {
            directory: self.at.open,
            above: self.at.path,
            name,
            kind,
        }
    }

    fn failed(&self, errno: Errno) -> NoSecret {
        unreadable(&self.shown, &errno.into())
    }
}

fn open(at: &Step, part: &OsStr) -> Result<OwnedFd, Errno> {
    openat(&at.open, part, THROUGH, Mode::empty())
}

fn make(at: &Step, part: &OsStr, path: &Path) -> Result<OwnedFd, NoSecret> {
    let failed = |errno: Errno| unwritable(path, &errno.into());
    match mkdirat(&at.open, part, Mode::RWXU) {
        // Somebody else may have been quicker; what it is is looked at below.
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(failed(errno)),
    }
    super::unix::settle(&at.open).map_err(|error| unwritable(&at.path, &error))?;
    open(at, part).map_err(failed)
}

fn too_many_links(path: &Path) -> NoSecret {
    NoSecret::new(
        format!(
            "{} is a link that leads to itself, or through too many others",
            path.display()
        ),
        "put the file itself there",
    )
}

fn no_directory(path: &Path) -> NoSecret {
    NoSecret::new(
        format!(
            "{} is not a directory, and the way to the secret leads through it",
            path.display()
        ),
        "put a directory there, or correct the reference",
    )
}
