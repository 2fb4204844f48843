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

/// `root` is open and has been looked at; `real` is its path without links, `named` the one that was configured.
pub(super) fn find(
    root: OwnedFd,
    real: &Path,
    named: &Path,
    names: &[&str],
    gap: Gap,
) -> Result<Spot, NoSecret> {
    let shown: PathBuf = named.join(names.iter().collect::<PathBuf>());
    let failed = |errno: Errno| unreadable(&shown, &errno.into());
    let mut at = Step {
        open: root,
        path: named.to_owned(),
    };
    let mut above: Vec<Step> = Vec::new();
    let mut left: VecDeque<OsString> = names.iter().map(OsString::from).collect();
    let mut links = 0;
    while let Some(part) = left.pop_front() {
        if part == ".." {
            at = above.pop().ok_or_else(|| leads_out(&shown))?;
            continue;
        }
        let kind = match statat(&at.open, &part, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Some(FileType::from_raw_mode(stat.st_mode)),
            Err(Errno::NOENT) => None,
            Err(errno) => return Err(failed(errno)),
        };
        if kind == Some(FileType::Symlink) {
            links += 1;
            if links > MOST_LINKS {
                return Err(too_many_links(&shown));
            }
            let target = readlinkat(&at.open, &part, Vec::new()).map_err(failed)?;
            let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
            let target = match target.is_absolute() {
                false => target,
                true => {
                    let inside = target.strip_prefix(real).map_err(|_| leads_out(&shown))?;
                    if !above.is_empty() {
                        at = above.swap_remove(0);
                        above.clear();
                    }
                    inside.to_owned()
                }
            };
            for part in target.components().rev() {
                match part {
                    Component::Normal(part) => left.push_front(part.to_owned()),
                    Component::ParentDir => left.push_front("..".into()),
                    Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
                }
            }
            continue;
        }
        if left.is_empty() {
            return Ok(Spot {
                directory: at.open,
                above: at.path,
                name: Some(part),
                kind,
            });
        }
        let path = at.path.join(&part);
        let open = match (kind, gap) {
            (Some(FileType::Directory), _) => open(&at, &part).map_err(failed)?,
            (Some(_), _) => return Err(no_directory(&path)),
            (None, Gap::Left) => {
                return Ok(Spot {
                    directory: at.open,
                    above: at.path,
                    name: None,
                    kind: None,
                });
            }
            (None, Gap::Filled) => make(&at, &part, &path)?,
        };
        rights::of_directory(&open, &path)?;
        above.push(std::mem::replace(&mut at, Step { open, path }));
    }
    Err(irregular(&shown))
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
