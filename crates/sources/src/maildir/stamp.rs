//! When a file or directory last changed, and how long that must be past before it proves that nothing changed since.
//!
//! Compares what the file system says; it does not watch, and it does not believe that two clocks agree.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::local::look::Look;

/// What tells one state of a file or directory from the next.
///
/// Both times: some programs set the time of modification back, and none can set that of the change of status.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Stamp {
    device: i128,
    inode: i128,
    size: i128,
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
    pub(super) fn told(look: &Look) -> Self {
        Self {
            device: look.device,
            inode: look.inode,
            size: look.size,
            modified: look.modified,
            changed: look.changed,
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
        let mut bytes = Vec::with_capacity(162);
        for stamp in &self.0 {
            let Some(stamp) = stamp else {
                bytes.push(0);
                continue;
            };
            bytes.push(1);
            let Stamp {
                device,
                inode,
                size,
                modified,
                changed,
            } = stamp;
            for number in [device, inode, size, modified, changed] {
                bytes.extend_from_slice(&number.to_be_bytes());
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
