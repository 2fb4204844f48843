//! What earlier calls learned about messages: their structure, and the parts they fetched.
//!
//! A message never changes under its UID, so this needs no expiry, only a bound. Flags are never kept here.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use mail::{FolderName, Part, PartWish, Raw, Structure, Urgency};

use super::room::{ROOM, Room};

/// Octets that may be kept for one account.
const MOST: usize = 4 << 20;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Key {
    pub folder: FolderName,
    pub uidvalidity: u32,
    pub uid: u32,
}

/// The immutable side of a message, as far as it was fetched.
#[derive(Clone)]
pub(super) struct Known {
    pub structure: Arc<Structure>,
    pub size: u64,
    pub arrived: Option<Timestamp>,
    pub body: Option<Body>,
}

#[derive(Clone, Default)]
pub(super) struct Body {
    pub header: Bytes,
    pub header_truncated: bool,
    pub parts: Vec<Part>,
}

pub(super) struct Cache {
    entries: HashMap<Key, Entry>,
    weight: usize,
    clock: u64,
    /// INVARIANT: it knows of all that is in `weight`.
    room: &'static Room,
}

impl Default for Cache {
    fn default() -> Self {
        Self::within(&ROOM)
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        self.room.leave(self.weight);
    }
}

struct Entry {
    known: Known,
    weight: usize,
    used: u64,
}

impl Cache {
    fn within(room: &'static Room) -> Self {
        room.enter();
        Self {
            entries: HashMap::new(),
            weight: 0,
            clock: 0,
            room,
        }
    }

    pub(super) fn find(&mut self, key: &Key) -> Option<Known> {
        self.clock += 1;
        let entry = self.entries.get_mut(key)?;
        entry.used = self.clock;
        Some(entry.known.clone())
    }

    pub(super) fn keep(&mut self, key: Key, known: Known) {
        let weight = known.weight();
        if weight > MOST / 4 {
            return;
        }
        self.clock += 1;
        // What knows the body must not give way to what knows the structure alone.
        if known.body.is_none()
            && self
                .entries
                .get(&key)
                .is_some_and(|e| e.known.body.is_some())
        {
            return;
        }
        let entry = Entry {
            known,
            weight,
            used: self.clock,
        };
        self.weight += weight;
        self.room.take(weight);
        if let Some(old) = self.entries.insert(key, entry) {
            self.lose(old.weight);
        }
        let bound = self.room.bound(MOST);
        if self.weight > bound {
            self.shrink(bound);
        }
    }

    pub(super) fn forget(&mut self, key: &Key) {
        if let Some(old) = self.entries.remove(key) {
            self.lose(old.weight);
        }
    }

    fn lose(&mut self, weight: usize) {
        self.weight -= weight;
        self.room.give_back(weight);
    }

    /// Lets the least recently used go until a quarter is free, so that this is rare.
    fn shrink(&mut self, bound: usize) {
        let mut by_age: Vec<(u64, Key)> = self
            .entries
            .iter()
            .map(|(key, entry)| (entry.used, key.clone()))
            .collect();
        by_age.sort_unstable_by_key(|(used, _)| *used);
        for (_, key) in by_age {
            if self.weight <= bound * 3 / 4 {
                break;
            }
            self.forget(&key);
        }
    }
}

impl Known {
    fn weight(&self) -> usize {
        let body = self.body.as_ref().map_or(0, |body| {
            body.header.len()
                + body
                    .parts
                    .iter()
                    .map(|part| part.bytes.len() + 64)
                    .sum::<usize>()
        });
        let leaves = self.structure.leaves.iter().map(|leaf| {
            let name = leaf.filename.as_ref().map_or(0, Raw::len);
            let id = leaf.content_id.as_ref().map_or(0, Raw::len);
            256 + name + id + leaf.mime_type.len()
        });
        256 + leaves.sum::<usize>() + body
    }
}

impl Body {
    /// The parts that are wished for, if all that are needed are here in sufficient length.
    pub(super) fn parts_for(&self, wishes: &[PartWish]) -> Option<Vec<Part>> {
        let mut found = Vec::new();
        for wish in wishes {
            match (self.part_for(wish), wish.urgency) {
                (Some(part), _) => found.push(part),
                (None, Urgency::Convenient) => {}
                (None, Urgency::Needed) => return None,
            }
        }
        Some(found)
    }

    fn part_for(&self, wish: &PartWish) -> Option<Part> {
        let part = self
            .parts
            .iter()
            .find(|part| part.section == wish.section)?;
        let length = u64::try_from(part.bytes.len()).unwrap_or(u64::MAX);
        (!part.truncated || length >= wish.max_bytes).then(|| part.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mail::Section;

    fn key(uid: u32) -> Key {
        Key {
            folder: FolderName::new("INBOX").unwrap(),
            uidvalidity: 1,
            uid,
        }
    }

    fn known(bytes: usize) -> Known {
        let part = Part {
            section: Section::parse("1").unwrap(),
            bytes: vec![b'x'; bytes].into(),
            truncated: true,
        };
        Known {
            structure: Arc::default(),
            size: 1,
            arrived: None,
            body: Some(Body {
                header: Bytes::new(),
                header_truncated: false,
                parts: vec![part],
            }),
        }
    }

    #[test]
    fn it_stays_within_its_bound_and_keeps_what_is_used() {
        let mut cache = Cache::within(Box::leak(Box::new(Room::new())));
        for uid in 1..=100 {
            cache.keep(key(uid), known(100 << 10));
            cache.find(&key(1));
        }
        assert!(cache.weight <= MOST);
        assert!(cache.find(&key(1)).is_some());
        assert!(cache.find(&key(2)).is_none());
        assert!(cache.find(&key(100)).is_some());
    }

    #[test]
    fn many_accounts_together_stay_within_one_bound() {
        let room: &'static Room = Box::leak(Box::new(Room::new()));
        let mut caches: Vec<Cache> = (0..200).map(|_| Cache::within(room)).collect();
        for uid in 1..=20 {
            for cache in &mut caches {
                cache.keep(key(uid), known(40 << 10));
            }
        }
        let held = |caches: &[Cache]| caches.iter().map(|one| one.weight).sum::<usize>();
        assert!(held(&caches) <= 50 << 20, "{}", held(&caches));
        assert!(caches.iter_mut().all(|one| one.find(&key(20)).is_some()));
        // Whoever is left alone has all the room there is.
        caches.truncate(1);
        for uid in 1..=100 {
            caches[0].keep(key(uid), known(40 << 10));
        }
        assert!(held(&caches) > MOST / 2);
    }

    #[test]
    fn a_truncated_part_serves_only_shorter_wishes() {
        let body = known(1_000).body.unwrap();
        let wish = |max_bytes, urgency| PartWish {
            section: Section::parse("1").unwrap(),
            max_bytes,
            urgency,
        };
        for (max_bytes, urgency, want) in [
            (1_000, Urgency::Needed, Some(1)),
            (1_001, Urgency::Needed, None),
            (1_001, Urgency::Convenient, Some(0)),
        ] {
            let found = body.parts_for(&[wish(max_bytes, urgency)]);
            assert_eq!(found.map(|parts| parts.len()), want, "{max_bytes}");
        }
    }
}
