//! What the system says of a file or directory: what it is and when it changed, and nothing of what is in it.

use std::fs::File;
use std::io;

use super::beneath::Kind;

/// Numbers are as wide as the widest of any system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Look {
    pub(crate) kind: Kind,
    /// 0 where the system does not number them.
    pub(crate) device: i128,
    pub(crate) inode: i128,
    pub(crate) size: i128,
    /// Nanoseconds since 1970.
    pub(crate) modified: i128,
    /// When anything about it changed, its name too; as `modified` where the system does not tell.
    pub(crate) changed: i128,
}

impl Look {
    /// Of what is open.
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        #[cfg(unix)]
        return Ok(Self::told(&rustix::fs::fstat(file)?));
        #[cfg(not(unix))]
        return Ok(Self::told(&file.metadata()?));
    }

    #[cfg(unix)]
    pub(super) fn told(stat: &rustix::fs::Stat) -> Self {
        let nanos = |seconds: i128, rest: i128| seconds.saturating_mul(1_000_000_000) + rest;
        let (modified, changed) = (stat.st_mtime.into(), stat.st_ctime.into());
        Self {
            kind: Kind::of(rustix::fs::FileType::from_raw_mode(stat.st_mode)),
            device: stat.st_dev.into(),
            inode: stat.st_ino.into(),
            size: stat.st_size.into(),
            modified: nanos(modified, stat.st_mtime_nsec.into()),
            changed: nanos(changed, stat.st_ctime_nsec.into()),
        }
    }

    #[cfg(not(unix))]
    pub(super) fn told(data: &std::fs::Metadata) -> Self {
        let since = |time: std::time::SystemTime| time.duration_since(std::time::UNIX_EPOCH);
        let modified = data.modified().map(|time| match since(time) {
            Ok(after) => i128::try_from(after.as_nanos()).unwrap_or(i128::MAX),
            Err(before) => -i128::try_from(before.duration().as_nanos()).unwrap_or(i128::MAX),
        });
        let modified = modified.unwrap_or_default();
        Self {
            kind: Kind::of(data.file_type()),
            device: 0,
            inode: 0,
            size: data.len().into(),
            modified,
            changed: modified,
        }
    }
}
