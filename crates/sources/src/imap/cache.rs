//! What earlier calls learned about messages: their structure, and the parts they fetched.
//!
//! A message never changes under its UID, so this needs no expiry, only a bound. Flags are never kept here.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use mail::{FolderName, Part, PartWish, Raw, Structure, Urgency};

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

#[derive(Default)]
pub(super) struct Cache {
    entries: HashMap<Key, Entry>,
    weight: usize,
    clock: u64,
}

struct Entry {
    known: Known,
    weight: usize,
    used: u64,
}

impl Cache {
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
        if let Some(old) = self.entries.insert(key, entry) {
            self.weight -= old.weight;
        }
        self.weight += weight;
        if self.weight > MOST {
            self.shrink();
        }
    }

    pub(super) fn forget(&mut self, key: &Key) {
        if let Some(old) = self.entries.remove(key) {
            self.weight -= old.weight;
        }
    }

    /// Lets the least recently used go until a quarter is free, so that this is rare.
    fn shrink(&mut self) {
        let mut by_age: Vec<(u64, Key)> = self
            .entries
            .iter()
            .map(|(key, entry)| (entry.used, key.clone()))
            .collect();
        by_age.sort_unstable_by_key(|(used, _)| *used);
        for (_, key) in by_age {
            if self.weight <= MOST * 3 / 4 {
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
        let mut cache = Cache::default();
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
