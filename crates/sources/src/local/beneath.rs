//! Opening what lies beneath a directory and nothing else: no part of a path may be a symbolic link or lead up.
//!
//! Knows nothing of mail. What is no regular file (a pipe, a device) is never read.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Component, Path, PathBuf};

use super::look::Look;

/// How a directory is opened to go on from it. Where the system knows the difference that does not take the right to list it:
/// a file that is an account may lie where its owner cannot see the others.
#[cfg(any(target_os = "linux", target_os = "android"))]
const THROUGH: rustix::fs::OFlags = rustix::fs::OFlags::PATH
    .union(rustix::fs::OFlags::DIRECTORY)
    .union(rustix::fs::OFlags::CLOEXEC);
#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
const THROUGH: rustix::fs::OFlags = rustix::fs::OFlags::RDONLY
    .union(rustix::fs::OFlags::DIRECTORY)
    .union(rustix::fs::OFlags::CLOEXEC);

/// A directory that nothing gets out of.
#[derive(Debug)]
pub(crate) struct Beneath {
    root: PathBuf,
    #[cfg(unix)]
    directory: std::os::fd::OwnedFd,
}

/// A name in a directory.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Named {
    pub(crate) name: OsString,
    pub(crate) kind: Kind,
    /// 0 where the system does not number files.
    pub(crate) inode: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Kind {
    Directory,
    File,
    /// Links, pipes, and whatever else there may be.
    Other,
}

impl Kind {
    #[cfg(unix)]
    pub(super) fn of(told: rustix::fs::FileType) -> Self {
        use rustix::fs::FileType;
        match told {
            FileType::Directory => Self::Directory,
            FileType::RegularFile => Self::File,
            _ => Self::Other,
        }
    }

    #[cfg(not(unix))]
    pub(super) fn of(told: fs::FileType) -> Self {
        match () {
            () if told.is_dir() => Self::Directory,
            () if told.is_file() => Self::File,
            () => Self::Other,
        }
    }
}

impl Beneath {
    /// The root itself may be reached by links: the operator named it.
    pub(crate) fn open(root: &Path) -> io::Result<Self> {
        let root = fs::canonicalize(root)?;
        #[cfg(unix)]
        {
            let directory = rustix::fs::open(&root, THROUGH, rustix::fs::Mode::empty())?;
            Ok(Self { root, directory })
        }
        #[cfg(not(unix))]
        Ok(Self { root })
    }

    /// A directory inside it, which nothing gets out of either.
    pub(crate) fn below(&self, path: &Path) -> io::Result<Self> {
        #[cfg(unix)]
        let directory = self.opened(path, Kind::Directory)?.into();
        #[cfg(not(unix))]
        self.looked_at(path)?;
        Ok(Self {
            root: self.root.join(path),
            #[cfg(unix)]
            directory,
        })
    }

    /// Without any link in it.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A regular file. What is none is not found.
    pub(crate) fn file(&self, path: &Path) -> io::Result<(File, Metadata)> {
        let file = self.opened(path, Kind::File)?;
        let data = file.metadata()?;
        match data.is_file() {
            true => Ok((file, data)),
            false => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// What stands in a directory, by name.
    pub(crate) fn list(&self, path: &Path) -> io::Result<Vec<Named>> {
        let mut found = Vec::new();
        self.each(path, |named| {
            found.push(named);
            Ok(())
        })?;
        found.sort();
        Ok(found)
    }

    /// The same one after the other, as the system has them, until one is enough.
    #[cfg(unix)]
    pub(crate) fn each(
        &self,
        path: &Path,
        mut take: impl FnMut(Named) -> io::Result<()>,
    ) -> io::Result<()> {
        use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};
        use std::os::unix::ffi::OsStrExt as _;
        let directory = self.opened(path, Kind::Directory)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for entry in Dir::new(openat(&directory, ".", flags, Mode::empty())?)? {
            let entry = entry?;
            let name = std::ffi::OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |stat| {
                        FileType::from_raw_mode(stat.st_mode)
                    }),
                known => known,
            };
            take(Named {
                name: name.to_owned(),
                kind: Kind::of(kind),
                inode: entry.ino(),
            })?;
        }
        Ok(())
    }

    /// What there is at the end of a path; of a link what the link itself is.
    #[cfg(unix)]
    pub(crate) fn look(&self, path: &Path) -> io::Result<Look> {
        use rustix::fs::{AtFlags, statat};
        parts(path)?;
        let (Some(name), Some(above)) = (path.file_name(), path.parent()) else {
            return Look::of(&self.opened(path, Kind::Directory)?);
        };
        let above = match above.as_os_str().is_empty() {
            true => None,
            false => Some(self.opened(above, Kind::Directory)?.into()),
        };
        let above: &std::os::fd::OwnedFd = above.as_ref().unwrap_or(&self.directory);
        Ok(Look::told(&statat(above, name, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    /// INVARIANT: one part after the other, from the directory before it, following no link: nobody can put one in the way
    /// between looking and opening.
    #[cfg(unix)]
    fn opened(&self, path: &Path, kind: Kind) -> io::Result<File> {
        use rustix::fs::{Mode, OFlags, openat};
        let parts = parts(path)?;
        let inner = THROUGH | OFlags::NOFOLLOW;
        // A pipe without a writer would have us wait for one.
        let last = match kind {
            Kind::Directory => inner,
            _ => OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC,
        };
        let mut at: Option<std::os::fd::OwnedFd> = None;
        for (index, part) in parts.iter().enumerate() {
            let flags = match index + 1 == parts.len() {
                true => last,
                false => inner,
            };
            let from = at.as_ref().unwrap_or(&self.directory);
            let opened = openat(from, *part, flags, Mode::empty());
            at = Some(opened.map_err(|errno| match errno {
                // QUIRK: FreeBSD has another number for a link that is not followed.
                rustix::io::Errno::LOOP | rustix::io::Errno::NOTDIR | rustix::io::Errno::MLINK => {
                    io::ErrorKind::NotFound.into()
                }
                other => io::Error::from(other),
            })?);
        }
        Ok(File::from(match at {
            Some(at) => at,
            None => self.directory.try_clone()?,
        }))
    }

    #[cfg(not(unix))]
    pub(crate) fn each(
        &self,
        path: &Path,
        mut take: impl FnMut(Named) -> io::Result<()>,
    ) -> io::Result<()> {
        for entry in fs::read_dir(self.looked_at(path)?)? {
            let entry = entry?;
            take(Named {
                name: entry.file_name(),
                kind: Kind::of(entry.file_type()?),
                inode: 0,
            })?;
        }
        Ok(())
    }

    #[cfg(not(unix))]
    pub(crate) fn look(&self, path: &Path) -> io::Result<Look> {
        if let Some(above) = path.parent() {
            self.looked_at(above)?;
        }
        parts(path)?;
        Ok(Look::told(&fs::symlink_metadata(self.root.join(path))?))
    }

    #[cfg(not(unix))]
    fn opened(&self, path: &Path, _: Kind) -> io::Result<File> {
        File::open(self.looked_at(path)?)
    }

    #[cfg(not(unix))]
    fn looked_at(&self, path: &Path) -> io::Result<PathBuf> {
        let mut at = self.root.clone();
        for part in parts(path)? {
            at.push(part);
            if fs::symlink_metadata(&at)?.file_type().is_symlink() {
                return Err(io::ErrorKind::NotFound.into());
            }
        }
        Ok(at)
    }
}

/// Names alone: what leads up or elsewhere is not found.
fn parts(path: &Path) -> io::Result<Vec<&std::ffi::OsStr>> {
    let part = |part: Component<'_>| match part {
        Component::Normal(_) => Ok(()),
        _ => Err(io::Error::from(io::ErrorKind::NotFound)),
    };
    path.components().try_for_each(part)?;
    Ok(path.iter().collect())
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Read as _;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn nothing_but_what_lies_beneath_is_opened() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("root");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/file"), "inside").unwrap();
        fs::write(home.path().join("canary"), "outside").unwrap();
        symlink(home.path().join("canary"), root.join("a/link")).unwrap();
        symlink(home.path(), root.join("up")).unwrap();
        symlink(root.join("a"), root.join("same")).unwrap();
        let beneath = Beneath::open(&root).unwrap();
        let text = |path: &str| {
            let (mut file, _) = beneath.file(Path::new(path))?;
            let mut text = String::new();
            file.read_to_string(&mut text).map(|_| text)
        };
        assert_eq!(text("a/b/file").unwrap(), "inside");
        for path in [
            "a/link",
            "up/canary",
            "same/b/file",
            "../canary",
            "a/../../canary",
            "/etc/passwd",
            "a/b",
            "a/b/none",
            "",
        ] {
            let kind = text(path).unwrap_err().kind();
            assert_eq!(kind, io::ErrorKind::NotFound, "{path}");
        }
        for (path, want) in [
            ("a", Some(Kind::Directory)),
            ("", Some(Kind::Directory)),
            ("a/b/file", Some(Kind::File)),
            ("a/link", Some(Kind::Other)),
            ("up", Some(Kind::Other)),
            ("up/canary", None),
            ("same/b/file", None),
            ("../canary", None),
            ("a/..", None),
            ("/etc/passwd", None),
        ] {
            let kind = beneath.look(Path::new(path)).ok().map(|look| look.kind);
            assert_eq!(kind, want, "{path}");
        }
        assert!(beneath.list(Path::new("up")).is_err());
        assert!(beneath.below(Path::new("up")).is_err());
        let below = beneath.below(Path::new("a")).unwrap();
        assert!(below.file(Path::new("b/file")).is_ok());
        assert!(below.file(Path::new("link")).is_err());
        let kinds: Vec<_> = beneath.list(Path::new("")).unwrap();
        let kinds: Vec<_> = kinds.iter().map(|named| named.kind).collect();
        assert_eq!(kinds, [Kind::Directory, Kind::Other, Kind::Other]);
    }
}
