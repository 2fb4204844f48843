//! Which messages large folders held when last listed, and how to tell that they still do.
//!
//! A server needs milliseconds to list a hundred thousand UIDs. If its UIDNEXT is what it was, nothing was added; if it then
//! holds as many messages as it did, nothing was taken away (RFC 3501 section 2.3.1.1).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use mail::{FolderName, UidSet, UidValidity};

/// Smaller folders are listed as fast as they are remembered.
const LEAST: u32 = 4_096;
const MOST_FOLDERS: usize = 16;

/// Two folders with the same stamp hold the same messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stamp {
    pub uidvalidity: UidValidity,
    pub uidnext: u32,
    pub exists: u32,
}

#[derive(Default)]
pub(super) struct Censuses(Mutex<HashMap<FolderName, (Stamp, Arc<UidSet>)>>);

impl Censuses {
    pub(super) fn of(&self, folder: &FolderName) -> Option<(Stamp, Arc<UidSet>)> {
        self.lock().get(folder).cloned()
    }

    pub(super) fn keep(&self, folder: &FolderName, stamp: Stamp, uids: &UidSet) {
        let mut known = self.lock();
        // INVARIANT: what does not add up is not remembered.
        if stamp.exists < LEAST || uids.len() != u64::from(stamp.exists) {
            known.remove(folder);
            return;
        }
        if known.len() >= MOST_FOLDERS && !known.contains_key(folder) {
            known.clear();
        }
        known.insert(folder.clone(), (stamp, Arc::new(uids.clone())));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<FolderName, (Stamp, Arc<UidSet>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mail::Uid;

    #[test]
    fn only_what_is_large_and_adds_up_is_remembered() {
        let censuses = Censuses::default();
        let folder = FolderName::new("INBOX").unwrap();
        let stamp = |exists| Stamp {
            uidvalidity: UidValidity(1),
            uidnext: 9_001,
            exists,
        };
        for (exists, uids, kept) in [(9_000, 9_000, true), (9_000, 8_999, false), (10, 10, false)] {
            censuses.keep(&folder, stamp(exists), &UidSet::range(Uid(1), Uid(uids)));
            assert_eq!(censuses.of(&folder).is_some(), kept, "{exists} {uids}");
        }
    }
}
