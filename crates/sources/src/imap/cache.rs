//! What earlier calls learned about messages: their structure, their header fields, and the parts
//! they fetched.
//!
//! A message never changes under its UID, so this needs no expiry, only a bound. Flags are never kept here.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use mail::{
    FolderName, HeaderFields, Multipart, Part, PartWish, Raw, Room, StoreId, Structure, Summary,
    SummaryHeader, Urgency,
};

/// Octets that may be kept for one account.
const MOST: usize = 4 << 20;
/// For all accounts of this process together; a message that was just read can always be read on.
static ROOM: Room = Room::new(48 << 20, 128 << 10);

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
    /// What a list shows of it.
    pub label: Option<Arc<Label>>,
    pub body: Option<Body>,
}

pub(super) struct Label {
    /// INVARIANT: the block lies in memory of its own, not in the buffer that it came in.
    pub fields: HeaderFields,
    pub store_id: Option<StoreId>,
    weight: usize,
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

    pub(super) fn keep(&mut self, key: Key, mut known: Known) {
        // What was learned in another way stays true.
        let old = self.entries.get(&key).map(|old| &old.known);
        if let Some(old) = old.filter(|old| old.is_of(known.size, known.arrived)) {
            known.label = known.label.or_else(|| old.label.clone());
            known.body = known.body.or_else(|| old.body.clone());
        }
        self.clock += 1;
        let weight = known.weight();
        if weight > MOST / 4 {
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
    /// QUIRK: UIDs that move (Proton Bridge): a message of another size or arrival is another one.
    pub(super) fn is_of(&self, size: u64, arrived: Option<Timestamp>) -> bool {
        self.size == size && self.arrived == arrived
    }

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
        let multiparts = self.structure.multiparts.iter().map(Multipart::octets);
        let label = self.label.as_ref().map_or(0, |label| label.weight);
        256 + multiparts.sum::<usize>() + leaves.sum::<usize>() + label + body
    }
}

impl Label {
    /// Takes from a description what stays true.
    pub(super) fn of(summary: &Summary) -> Option<Self> {
        let Some(SummaryHeader::Fields(fields)) = &summary.header else {
            return None;
        };
        let fields = HeaderFields {
            block: Raw::copied(fields.block.bytes()),
            truncated: fields.truncated,
        };
        Some(Self {
            weight: size_of::<Self>() + fields.block.len() + 64,
            fields,
            store_id: summary.store_id,
        })
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
            label: None,
            body: Some(Body {
                header: Bytes::new(),
                header_truncated: false,
                parts: vec![part],
            }),
        }
    }

    #[test]
    fn it_stays_within_its_bound_and_keeps_what_is_used() {
        let mut cache = Cache::within(Box::leak(Box::new(Room::new(48 << 20, 128 << 10))));
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
        let room: &'static Room = Box::leak(Box::new(Room::new(48 << 20, 128 << 10)));
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
    fn summary(block: Raw) -> Summary {
        Summary {
            uid: mail::Uid(1),
            order: 0,
            flags: None,
            arrived: None,
            size: Some(1),
            header: Some(SummaryHeader::Fields(HeaderFields {
                block,
                truncated: false,
            })),
            structure: None,
            text: None,
            store_id: None,
        }
    }

    #[test]
    fn label_copies_fields_out_of_the_response() {
        let buffer = Bytes::from(vec![b'x'; 1 << 20]);
        let told = summary(Raw::new(buffer.slice(10..20)));
        let label = Label::of(&told).unwrap();
        assert_eq!(label.fields.block.bytes(), b"xxxxxxxxxx");
        drop(told);
        assert!(buffer.is_unique(), "the label holds the whole buffer");
    }

    #[test]
    fn what_is_learned_in_several_ways_is_all_kept() {
        let labelled = |size, body: Option<Body>| Known {
            size,
            label: Label::of(&summary(Raw::copied(b"Subject: hello"))).map(Arc::new),
            body,
            ..known(0)
        };
        for turned in [false, true] {
            let mut cache = Cache::within(Box::leak(Box::new(Room::new(48 << 20, 128 << 10))));
            let mut both = [known(100), labelled(1, None)];
            if turned {
                both.reverse();
            }
            both.into_iter().for_each(|one| cache.keep(key(1), one));
            let found = cache.find(&key(1)).unwrap();
            assert!(found.label.is_some() && found.body.is_some());
            // Another message by now.
            cache.keep(key(1), labelled(2, None));
            assert!(cache.find(&key(1)).unwrap().body.is_none());
        }
    }
}
