//! Where Message-IDs were seen, as far as that is remembered: a hint where to look first, and an answer only where a search
//! of all folders stands behind it.
//!
//! Bounded, in memory, and of this process alone: whoever is told nothing searches. Nothing here is believed without a look
//! at what lies there now.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use mail::{Coverage, FolderName, HeaderId, Member, Uid, UidValidity};

/// So many ids are remembered at least, and twice as many at most.
const MOST: usize = 8_192;

/// Folders where one id was seen in passing, the latest.
const MOST_SEEN: usize = 4;

/// Of one id that was searched for, the copies that came first.
const MOST_FOUND: usize = 16;

/// What is delivered after a search cannot have come before what it found. What somebody takes out of the trash, or brings
/// from another account, may have: a search that is older stands behind nothing.
const TRUSTED: Duration = Duration::from_secs(300);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Place {
    pub folder: FolderName,
    pub uidvalidity: UidValidity,
    pub uid: Uid,
}

impl Place {
    pub(super) fn of(member: &Member) -> Self {
        Self {
            folder: member.at.folder.clone(),
            uidvalidity: member.at.uidvalidity,
            uid: member.at.uid,
        }
    }
}

/// When a search began.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Begun {
    at: Instant,
    told: Timestamp,
    /// Of the mailbox, as far as it is known what changed in it.
    edition: u64,
}

/// Where a message lies, by a search of all folders.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Whole {
    /// That which came first, first.
    pub places: Vec<Place>,
    pub coverage: Coverage,
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
    young: HashMap<u64, Entry>,
    old: HashMap<u64, Entry>,
    edition: u64,
    /// That of the last search, which most have in common.
    coverage: Arc<Coverage>,
}

enum Entry {
    /// In passing, in these folders: there may be others anywhere.
    Seen(Vec<FolderName>),
    Searched {
        places: Vec<Place>,
        begun: Begun,
        coverage: Arc<Coverage>,
        /// There were more.
        cut: bool,
    },
}

impl Sightings {
    /// It was seen there, whatever was looked for.
    pub(super) fn note(&self, id: &HeaderId, place: Place) {
        let key = self.key(id);
        let mut generations = self.lock();
        let entry = match generations.take(key) {
            // INVARIANT: nothing that is merely seen is put beside what a search found; where it is news, the search is to
            // be made again.
            Some(entry) if entry.found(&place) => entry,
            other => {
                let mut folders = other.map_or_else(Vec::new, Entry::into_folders);
                folders.retain(|known| *known != place.folder);
                folders.push(place.folder);
                Entry::seen(folders)
            }
        };
        generations.put(key, entry);
    }

    /// Folders where it may lie.
    pub(super) fn seen_in(&self, id: &HeaderId) -> Vec<FolderName> {
        let key = self.key(id);
        let mut generations = self.lock();
        let Some(entry) = generations.take(key) else {
            return Vec::new();
        };
        let folders = entry.folders();
        generations.put(key, entry);
        folders
    }

    /// Folders where any of them may lie.
    pub(super) fn folders_of(&self, ids: &[HeaderId]) -> HashSet<FolderName> {
        ids.iter().flat_map(|id| self.seen_in(id)).collect()
    }

    pub(super) fn begin(&self, at: Instant, told: Timestamp) -> Begun {
        let edition = self.lock().edition;
        // Whole seconds are enough for whoever reads it.
        let told = Timestamp::from_second(told.as_second()).unwrap_or(told);
        Begun { at, told, edition }
    }

    /// Of each of their ids these are all there are, by a search of every folder, trash and junk aside.
    pub(super) fn settle_all(&self, begun: Begun, members: &[Member], coverage: &Coverage) {
        let mut copies: HashMap<&HeaderId, Vec<&Member>> = HashMap::new();
        for member in members {
            if let Some(id) = &member.links.id {
                copies.entry(id).or_default().push(member);
            }
        }
        for (id, copies) in copies {
            self.settle(id, begun, copies.into_iter(), coverage);
        }
    }

    /// The same of one, of which there may be none.
    pub(super) fn settle<'m>(
        &self,
        id: &HeaderId,
        begun: Begun,
        copies: impl Iterator<Item = &'m Member>,
        coverage: &Coverage,
    ) {
        let mut copies: Vec<&Member> = copies.collect();
        copies.sort_by(|one, other| order(one).cmp(&order(other)));
        let cut = copies.len() > MOST_FOUND;
        copies.truncate(MOST_FOUND);
        let places: Vec<Place> = copies.into_iter().map(Place::of).collect();
        let key = self.key(id);
        let mut generations = self.lock();
        generations.take(key);
        if places.is_empty() {
            return;
        }
        let coverage = generations.share(coverage);
        let entry = Entry::Searched {
            places,
            begun,
            coverage,
            cut,
        };
        generations.put(key, entry);
    }

    /// None where it has to be searched for.
    pub(super) fn whole(&self, id: &HeaderId, now: Instant) -> Option<Whole> {
        let key = self.key(id);
        let mut generations = self.lock();
        let entry = generations.take(key)?;
        let whole = match &entry {
            Entry::Searched {
                places,
                begun,
                coverage,
                cut,
            } if begun.edition == generations.edition
                && now.saturating_duration_since(begun.at) < TRUSTED =>
            {
                let mut coverage = coverage.as_ref().clone();
                coverage.as_of = Some(begun.told);
                coverage.exhausted &= !cut;
                let places = places.clone();
                Some(Whole { places, coverage })
            }
            _ => None,
        };
        generations.put(key, entry);
        whole
    }

    /// It is not as it was: there may be others anywhere.
    pub(super) fn doubt(&self, id: &HeaderId) {
        let key = self.key(id);
        let mut generations = self.lock();
        if let Some(entry) = generations.take(key) {
            generations.put(key, Entry::seen(entry.into_folders()));
        }
    }

    /// Something was put somewhere, as it may be from the trash; or there are folders that nobody knew of.
    pub(super) fn doubt_all(&self) {
        let mut generations = self.lock();
        generations.edition = generations.edition.wrapping_add(1);
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

/// Copies in the order in which they came; of those that came together, the one in the inbox first.
pub(super) fn order(member: &Member) -> impl Ord + use<'_> {
    let arrived = member.summary.arrived;
    let at = &member.at;
    let other = at.folder.as_str() != "INBOX";
    (arrived.is_none(), arrived, other, &at.folder, at.uid)
}

impl Entry {
    fn seen(mut folders: Vec<FolderName>) -> Self {
        let surplus = folders.len().saturating_sub(MOST_SEEN);
        folders.drain(..surplus);
        Self::Seen(folders)
    }

    fn found(&self, place: &Place) -> bool {
        match self {
            Self::Seen(_) => false,
            Self::Searched { places, .. } => places.contains(place),
        }
    }

    fn folders(&self) -> Vec<FolderName> {
        match self {
            Self::Seen(folders) => folders.clone(),
            Self::Searched { places, .. } => {
                let mut folders: Vec<FolderName> = Vec::new();
                for place in places {
                    if !folders.contains(&place.folder) {
                        folders.push(place.folder.clone());
                    }
                }
                folders
            }
        }
    }

    fn into_folders(self) -> Vec<FolderName> {
        match self {
            Self::Seen(folders) => folders,
            searched @ Self::Searched { .. } => searched.folders(),
        }
    }
}

impl Generations {
    fn take(&mut self, key: u64) -> Option<Entry> {
        let young = self.young.remove(&key);
        let old = self.old.remove(&key);
        young.or(old)
    }

    fn put(&mut self, key: u64, entry: Entry) {
        if self.young.len() >= MOST {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, entry);
    }

    /// One list of folders for all whom it suits.
    fn share(&mut self, coverage: &Coverage) -> Arc<Coverage> {
        if *self.coverage != *coverage {
            self.coverage = Arc::new(coverage.clone());
        }
        Arc::clone(&self.coverage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mail::{AccountId, Links, MessageRef, SourceKind, Summary};

    fn id(number: usize) -> HeaderId {
        HeaderId::new(format!("{number}@x").as_bytes()).unwrap()
    }

    fn name(folder: &str) -> FolderName {
        FolderName::new(folder).unwrap()
    }

    fn place(uid: u32) -> Place {
        within("INBOX", uid)
    }

    fn within(folder: &str, uid: u32) -> Place {
        Place {
            folder: name(folder),
            uidvalidity: UidValidity(1),
            uid: Uid(uid),
        }
    }

    /// A copy that came at a time.
    fn copy(uid: u32, arrived: i64) -> Member {
        let Place {
            folder,
            uidvalidity,
            uid,
        } = place(uid);
        let summary = Summary {
            store_id: None,
            uid,
            order: 0,
            flags: None,
            arrived: Some(Timestamp::from_second(arrived).unwrap()),
            size: None,
            text: None,
            structure: None,
            header: None,
        };
        Member {
            at: MessageRef {
                source: SourceKind::Imap,
                account: AccountId::new("a").unwrap(),
                folder,
                uidvalidity,
                uid,
            },
            links: Links::default(),
            summary,
        }
    }

    fn covered() -> Coverage {
        Coverage {
            searched: vec![name("INBOX")],
            exhausted: true,
            ..Coverage::default()
        }
    }

    #[test]
    fn the_latest_that_were_seen_are_remembered_and_answer_nothing() {
        let seen = Sightings::default();
        assert_eq!(seen.seen_in(&id(1)), []);
        for folder in ["a", "b", "b", "c", "d", "e", "c"] {
            seen.note(&id(1), within(folder, 1));
        }
        assert_eq!(seen.seen_in(&id(1)), ["b", "d", "e", "c"].map(name));
        // Many copies in one folder push out none of another.
        for uid in 0..100 {
            seen.note(&id(1), within("c", uid));
        }
        assert_eq!(seen.seen_in(&id(1)), ["b", "d", "e", "c"].map(name));
        assert_eq!(seen.whole(&id(1), Instant::now()), None);
    }

    #[test]
    fn what_a_search_found_answers_until_there_is_news() {
        let now = Instant::now();
        let began = Timestamp::from_second(1_000).unwrap();
        let settled = |uids: &[u32]| {
            let seen = Sightings::default();
            let begun = seen.begin(now, began);
            let copies: Vec<Member> = uids.iter().map(|uid| copy(*uid, 100)).collect();
            seen.settle(&id(1), begun, copies.iter(), &covered());
            (seen, begun)
        };
        let places = |seen: &Sightings, now| seen.whole(&id(1), now).map(|whole| whole.places);
        let (seen, begun) = settled(&[7, 3]);
        let both = Some([3, 7].map(place).to_vec());
        assert_eq!(places(&seen, now), both);
        let coverage = seen.whole(&id(1), now).unwrap().coverage;
        let as_of = Some(began);
        assert_eq!(coverage, Coverage { as_of, ..covered() });
        // What is known is no news.
        seen.note(&id(1), place(7));
        assert_eq!(places(&seen, now), both);
        assert_eq!(
            places(&seen, now + TRUSTED),
            None,
            "it was searched long ago"
        );
        seen.note(&id(1), within("Sent", 7));
        assert_eq!(places(&seen, now), None);
        assert_eq!(seen.seen_in(&id(1)), ["INBOX", "Sent"].map(name));
        let (seen, _) = settled(&[3]);
        seen.doubt(&id(1));
        assert_eq!(
            (places(&seen, now), seen.seen_in(&id(1))),
            (None, vec![name("INBOX")])
        );
        // A search that began before something was changed.
        let (seen, begun_before) = settled(&[3]);
        seen.doubt_all();
        assert_eq!(places(&seen, now), None);
        seen.settle(&id(1), begun_before, [copy(3, 100)].iter(), &covered());
        assert_eq!(places(&seen, now), None);
        let begun_after = seen.begin(now, began);
        seen.settle(&id(1), begun_after, [copy(3, 100)].iter(), &covered());
        assert_eq!(places(&seen, now), Some(vec![place(3)]));
        seen.settle(&id(1), begun, [].iter(), &covered());
        assert_eq!(seen.seen_in(&id(1)), []);
    }

    #[test]
    fn of_many_copies_those_are_remembered_that_came_first() {
        let now = Instant::now();
        let seen = Sightings::default();
        let begun = seen.begin(now, Timestamp::UNIX_EPOCH);
        let many: Vec<Member> = (1..=40).map(|n| copy(n, 1_000 - i64::from(n))).collect();
        seen.settle(&id(1), begun, many.iter(), &covered());
        let whole = seen.whole(&id(1), now).unwrap();
        let first: Vec<Place> = (25..=40).rev().map(place).collect();
        assert_eq!(whole.places, first);
        assert!(
            !whole.coverage.exhausted,
            "there are others, and it says so"
        );
    }

    #[test]
    fn it_stays_within_its_bound_and_keeps_what_is_asked_for() {
        let seen = Sightings::default();
        for number in 0..5 * MOST {
            seen.note(&id(number), place(1));
            assert!(!seen.seen_in(&id(7.min(number))).is_empty());
        }
        let generations = seen.lock();
        assert!(generations.young.len() + generations.old.len() <= 2 * MOST);
        drop(generations);
        assert!(seen.seen_in(&id(8)).is_empty());
        assert!(!seen.seen_in(&id(5 * MOST - 1)).is_empty());
    }
}
