//! Where Message-IDs were last seen, as far as that is remembered: a hint where to look first, never an answer.
//!
//! Bounded, in memory, and of this process alone: whoever is told nothing searches.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mail::{FolderName, HeaderId, Uid, UidValidity};

/// So many ids are remembered at least, and twice as many at most.
const MOST: usize = 8_192;

/// Of one id, the latest.
const MOST_COPIES: usize = 4;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Place {
    pub folder: FolderName,
    pub uidvalidity: UidValidity,
    pub uid: Uid,
}

#[derive(Default)]
pub(super) struct Sightings {
    generations: Mutex<Generations>,
    /// Ids are not kept, so that two may be taken for one: what is found there is looked at.
    hasher: RandomState,
}

/// What nobody asked for while the young grew up goes with the old.
#[derive(Default)]
struct Generations {
    young: HashMap<u64, Vec<Place>>,
    old: HashMap<u64, Vec<Place>>,
}

impl Sightings {
    pub(super) fn note(&self, id: &HeaderId, place: Place) {
        let key = self.key(id);
        let mut generations = self.lock();
        let mut places = generations.take(key);
        places.retain(|known| *known != place);
        places.push(place);
        let surplus = places.len().saturating_sub(MOST_COPIES);
        places.drain(..surplus);
        generations.put(key, places);
    }

    pub(super) fn of(&self, id: &HeaderId) -> Vec<Place> {
        let key = self.key(id);
        let mut generations = self.lock();
        let places = generations.take(key);
        if !places.is_empty() {
            generations.put(key, places.clone());
        }
        places
    }

    /// It is not there.
    pub(super) fn forget(&self, id: &HeaderId, place: &Place) {
        let key = self.key(id);
        let mut generations = self.lock();
        let mut places = generations.take(key);
        places.retain(|known| known != place);
        if !places.is_empty() {
            generations.put(key, places);
        }
    }

    fn key(&self, id: &HeaderId) -> u64 {
        self.hasher.hash_one(id)
    }

    fn lock(&self) -> MutexGuard<'_, Generations> {
        self.generations
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Generations {
    fn take(&mut self, key: u64) -> Vec<Place> {
        let young = self.young.remove(&key);
        let old = self.old.remove(&key);
        young.or(old).unwrap_or_default()
    }

    fn put(&mut self, key: u64, places: Vec<Place>) {
        if self.young.len() >= MOST {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, places);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: usize) -> HeaderId {
        HeaderId::new(format!("{number}@x").as_bytes()).unwrap()
    }

    fn place(uid: u32) -> Place {
        Place {
            folder: FolderName::new("INBOX").unwrap(),
            uidvalidity: UidValidity(1),
            uid: Uid(uid),
        }
    }

    #[test]
    fn the_latest_copies_are_remembered_and_what_is_gone_is_forgotten() {
        let seen = Sightings::default();
        assert_eq!(seen.of(&id(1)), []);
        for uid in [1, 2, 2, 3, 4, 5, 3] {
            seen.note(&id(1), place(uid));
        }
        assert_eq!(seen.of(&id(1)), [2, 4, 5, 3].map(place));
        seen.forget(&id(1), &place(4));
        assert_eq!(seen.of(&id(1)), [2, 5, 3].map(place));
    }

    #[test]
    fn it_stays_within_its_bound_and_keeps_what_is_asked_for() {
        let seen = Sightings::default();
        for number in 0..5 * MOST {
            seen.note(&id(number), place(1));
            assert!(!seen.of(&id(7.min(number))).is_empty());
        }
        let generations = seen.lock();
        assert!(generations.young.len() + generations.old.len() <= 2 * MOST);
        drop(generations);
        assert!(seen.of(&id(8)).is_empty());
        assert!(!seen.of(&id(5 * MOST - 1)).is_empty());
    }
}
