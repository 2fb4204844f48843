//! When a file or directory last changed, and how long that must be past before it proves that nothing changed since.
//!
//! Compares what the file system says; it does not watch, and it does not believe that two clocks agree.

use std::fs::{self, Metadata};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What tells one state of a file or directory from the next.
///
/// Both times: some programs set the time of modification back, and none can set that of the change of status.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: Nanos,
    changed: Nanos,
}

/// Since 1970.
type Nanos = i128;

/// Of all that a folder's listing is made from: a missing `new` is a state too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stamps(pub(super) [Option<Stamp>; 2]);

/// The kernel's clock for files moves in steps of up to 10 ms.
const FINE: Duration = Duration::from_millis(100);
/// QUIRK: where times have no fraction the file system may count in seconds, and FAT in pairs of them.
const COARSE: Duration = Duration::from_millis(2_500);
/// A file server's clock may be wrong by less than this.
const SKEW: Duration = Duration::from_mins(15);

impl Stamp {
    pub(super) fn of(path: &Path) -> Option<Self> {
        fs::symlink_metadata(path)
            .ok()
            .map(|data| Self::told(&data))
    }

    #[cfg(unix)]
    pub(super) fn told(data: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        let nanos = |seconds: i64, rest: i64| {
            i128::from(seconds)
                .saturating_mul(1_000_000_000)
                .saturating_add(i128::from(rest))
        };
        Self {
            device: data.dev(),
            inode: data.ino(),
            size: data.len(),
            modified: nanos(data.mtime(), data.mtime_nsec()),
            changed: nanos(data.ctime(), data.ctime_nsec()),
        }
    }

    #[cfg(not(unix))]
    pub(super) fn told(data: &Metadata) -> Self {
        let modified = data.modified().map(since_1970).unwrap_or_default();
        Self {
            device: 0,
            inode: 0,
            size: data.len(),
            modified,
            changed: modified,
        }
    }

    fn newest(&self) -> Nanos {
        self.modified.max(self.changed)
    }

    fn granularity(&self) -> Duration {
        match self.changed % 1_000_000_000 == 0 || self.modified % 1_000_000_000 == 0 {
            true => COARSE,
            false => FINE,
        }
    }
}

impl Stamps {
    /// Whether any change after `looked` shows in another stamp than this one.
    ///
    /// A change within the clock's step of the last one leaves the stamp as it is. So it proves something only if it was
    /// there for longer than that when the look began: by our own clock, which counts from when it was first `seen`, or
    /// by its own time, with room for a server whose clock is wrong.
    pub(super) fn settled(&self, seen: Instant, looked: Instant, wall: SystemTime) -> bool {
        let there = looked.saturating_duration_since(seen);
        let now = since_1970(wall);
        self.0.iter().flatten().all(|stamp| {
            let age = now.saturating_sub(stamp.newest());
            there >= stamp.granularity() || age >= nanos(SKEW)
        })
    }

    /// For a table.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(120);
        for stamp in &self.0 {
            let Some(stamp) = stamp else {
                bytes.push(0);
                continue;
            };
            bytes.push(1);
            for number in [stamp.device, stamp.inode, stamp.size] {
                bytes.extend_from_slice(&number.to_be_bytes());
            }
            for time in [stamp.modified, stamp.changed] {
                bytes.extend_from_slice(&time.to_be_bytes());
            }
        }
        bytes
    }
}

fn since_1970(time: SystemTime) -> Nanos {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => nanos(after),
        Err(before) => -nanos(before.duration()),
    }
}

fn nanos(time: Duration) -> Nanos {
    Nanos::try_from(time.as_nanos()).unwrap_or(Nanos::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(changed: Nanos) -> Stamp {
        Stamp {
            device: 1,
            inode: 2,
            size: 3,
            modified: changed,
            changed,
        }
    }

    #[test]
    fn a_stamp_proves_something_when_it_is_old_enough() {
        let second = 1_000_000_000;
        let fine = 1_000 * second + 5;
        let coarse = 1_000 * second;
        let begin = Instant::now();
        for (changed, seen_for, age, want) in [
            (fine, 0, 0, false),
            (fine, 0, 5, false),
            (fine, 99, 0, false),
            (fine, 100, 0, true),
            (coarse, 100, 10, false),
            (coarse, 2_500, 10, true),
            (fine, 0, 899, false),
            (fine, 0, 901, true),
            // From a clock that goes ahead of ours.
            (fine, 0, -1_000, false),
            (fine, 100, -1_000, true),
        ] {
            let wall = i128::from(age) + 1_000;
            let wall = match u64::try_from(wall) {
                Ok(seconds) => UNIX_EPOCH + Duration::from_secs(seconds),
                Err(_) => UNIX_EPOCH,
            };
            let looked = begin + Duration::from_millis(seen_for);
            let stamps = Stamps([None, Some(stamp(changed))]);
            let settled = stamps.settled(begin, looked, wall);
            assert_eq!(settled, want, "{changed} {seen_for} {age}");
        }
    }

    #[test]
    fn every_part_of_it_is_in_the_bytes() {
        let plain = stamp(7);
        let mut all = vec![
            Stamps([None, None]),
            Stamps([Some(plain), None]),
            Stamps([None, Some(plain)]),
            Stamps([Some(plain), Some(plain)]),
        ];
        let changes: [fn(&mut Stamp); 5] = [
            |stamp| stamp.device = 9,
            |stamp| stamp.inode = 9,
            |stamp| stamp.size = 9,
            |stamp| stamp.modified = 9,
            |stamp| stamp.changed = 9,
        ];
        for change in changes {
            let mut other = plain;
            change(&mut other);
            all.push(Stamps([None, Some(other)]));
        }
        for (at, one) in all.iter().enumerate() {
            for (beside, other) in all.iter().enumerate() {
                assert_eq!(one.bytes() == other.bytes(), at == beside);
            }
        }
    }
}
