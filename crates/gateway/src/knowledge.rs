//! Facts that earlier calls fetched, packed, within a bound of memory.
//!
//! Facts never change under a UID, so they need no expiry. Flags do, and are not kept here. Nothing here is decided:
//! a policy judges what is kept anew in every call.

mod pages;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mail::{
    Condition, Facts, FactsBuf, FolderName, Known, Recipients, Room, Uid, UidSet, UidValidity,
};
use policy::Scope;

use crate::guarded_mail::Wanted;
use pages::Pages;

/// Octets that may be kept for one account.
pub(crate) const MOST: usize = 96 << 20;
/// For all accounts of this process together, as long as each can keep a folder of some thousand messages.
static ROOM: Room = Room::new(MOST, 1 << 20);
/// Folders that are remembered at all.
const MOST_FOLDERS: usize = 1_000;
/// Octets of one piece of the store; a record that is longer has a piece of its own.
const PIECE: usize = 32 << 10;
/// What a piece takes beside its octets: where it is, who shares it, how long it is.
const PIECE_OVERHEAD: usize =
    size_of::<Arc<Vec<u8>>>() + 2 * size_of::<usize>() + size_of::<Vec<u8>>();
/// Searches that are remembered for one folder: as many as there are policies that differ in it, in practice.
const MOST_SIEVES: usize = 32;

/// What is known about the folders of one account.
pub(crate) struct Knowledge {
    folders: Mutex<Folders>,
    room: &'static Room,
}

#[derive(Default)]
struct Folders {
    shelves: HashMap<FolderName, (u64, Arc<Mutex<Shelf>>)>,
    clock: u64,
    /// Octets of all shelves when they were last tidied, as the room knows of them.
    weight: usize,
}

impl Default for Knowledge {
    fn default() -> Self {
        Self::within(&ROOM)
    }
}

impl Drop for Knowledge {
    fn drop(&mut self) {
        self.room.leave(lock(&self.folders).weight);
    }
}

impl Knowledge {
    fn within(room: &'static Room) -> Self {
        room.enter();
        Self {
            folders: Mutex::default(),
            room,
        }
    }

    /// The shelf of a folder, empty at first.
    pub(crate) fn shelf(&self, folder: &FolderName) -> Arc<Mutex<Shelf>> {
        let mut folders = lock(&self.folders);
        folders.clock += 1;
        let now = folders.clock;
        if folders.shelves.len() >= MOST_FOLDERS && !folders.shelves.contains_key(folder) {
            let oldest = folders.shelves.iter().min_by_key(|(_, (used, _))| *used);
            if let Some(oldest) = oldest.map(|(name, _)| name.clone()) {
                folders.shelves.remove(&oldest);
            }
        }
        let place = folders.shelves.entry(folder.clone()).or_default();
        place.0 = now;
        Arc::clone(&place.1)
    }

    pub(crate) fn forget(&self, folder: &FolderName) {
        lock(&self.folders).shelves.remove(folder);
    }

    /// Lets the folders go that were not looked at for longest, until the rest fits.
    pub(crate) fn tidy(&self) {
        let mut folders = lock(&self.folders);
        let mut by_age: Vec<(u64, FolderName, usize)> = folders
            .shelves
            .iter()
            .map(|(name, (used, shelf))| (*used, name.clone(), lock(shelf).weight()))
            .collect();
        let mut weight: usize = by_age.iter().map(|(_, _, weight)| weight).sum();
        tracing::debug!(octets = weight, folders = by_age.len(), "facts are kept");
        self.room.take(weight);
        self.room.give_back(folders.weight);
        let bound = self.room.bound(MOST);
        let grown = weight;
        by_age.sort_unstable_by_key(|(used, _, _)| *used);
        for (_, name, freed) in by_age {
            if weight <= bound {
                break;
            }
            folders.shelves.remove(&name);
            weight -= freed;
        }
        self.room.give_back(grown - weight);
        folders.weight = weight;
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The facts of one folder's messages.
#[derive(Default)]
pub(crate) struct Shelf {
    uidvalidity: Option<UidValidity>,
    /// Ascending by UID: where its record lies.
    index: Arc<Vec<Slot>>,
    pieces: Vec<Arc<Vec<u8>>>,
    /// Octets of records that nothing leads to any more.
    waste: usize,
    /// For a search that went before: the messages that it did not find.
    sieves: Vec<(Condition, UidSet)>,
    pages: Pages,
}

#[derive(Clone, Copy)]
struct Slot {
    uid: u32,
    piece: u16,
    at: u16,
}

impl Shelf {
    pub(crate) fn uidvalidity(&self) -> Option<UidValidity> {
        self.uidvalidity
    }

    /// A folder of another generation is another folder.
    pub(crate) fn settle(&mut self, uidvalidity: UidValidity) {
        if self.uidvalidity != Some(uidvalidity) {
            *self = Self {
                uidvalidity: Some(uidvalidity),
                ..Self::default()
            };
        }
    }

    pub(crate) fn uids(&self) -> UidSet {
        UidSet::from_ranges(self.index.iter().map(|slot| (slot.uid, slot.uid)))
    }

    pub(crate) fn facts(&self, uid: Uid) -> Option<Facts<'_>> {
        let index = self.index.binary_search_by_key(&uid.0, |slot| slot.uid);
        self.read(self.index.get(index.ok()?)?)
    }

    /// All that are kept, by ascending UID.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Uid, Facts<'_>)> {
        let slots = self.index.iter();
        slots.filter_map(|slot| Some((Uid(slot.uid), self.read(slot)?)))
    }

    /// The facts as they are now, to be looked at for as long as it takes while others go on. Shares what it shows.
    pub(crate) fn snapshot(&self) -> Self {
        Self {
            uidvalidity: self.uidvalidity,
            index: Arc::clone(&self.index),
            pieces: self.pieces.clone(),
            ..Self::default()
        }
    }

    /// Does nothing when the folder is of another generation by now.
    pub(crate) fn keep(&mut self, uidvalidity: UidValidity, facts: &[(Uid, FactsBuf)]) {
        if self.uidvalidity != Some(uidvalidity) {
            return;
        }
        let mut index = Arc::unwrap_or_clone(std::mem::take(&mut self.index));
        for (uid, facts) in facts {
            let Some((piece, at)) = self.write(facts) else {
                break;
            };
            let uid = uid.0;
            index.push(Slot { uid, piece, at });
        }
        // Mail comes in ascending order, and usually nothing is left to do.
        if !index.is_sorted_by(|one, next| one.uid < next.uid) {
            index = self.sorted(index);
        }
        self.index = Arc::new(index);
    }

    /// Stable: of two that have one UID the later one counts.
    fn sorted(&mut self, mut index: Vec<Slot>) -> Vec<Slot> {
        index.sort_by_key(|slot| slot.uid);
        let mut kept: Vec<Slot> = Vec::with_capacity(index.len());
        for slot in index {
            match kept.last_mut() {
                Some(last) if last.uid == slot.uid => {
                    self.waste += self.length(last);
                    *last = slot;
                }
                _ => kept.push(slot),
            }
        }
        kept
    }

    pub(crate) fn drop_one(&mut self, uid: Uid) {
        if let Ok(at) = self.index.binary_search_by_key(&uid.0, |slot| slot.uid) {
            let slot = Arc::make_mut(&mut self.index).remove(at);
            self.waste += self.length(&slot);
        }
    }

    /// Forgets what is gone.
    pub(crate) fn retain(&mut self, all: &UidSet) {
        let most = usize::try_from(all.len()).unwrap_or(usize::MAX);
        if self.index.len() <= most && self.waste <= self.weight() / 2 {
            return;
        }
        let mut index = Arc::unwrap_or_clone(std::mem::take(&mut self.index));
        index.retain(|slot| {
            let stays = all.contains(Uid(slot.uid));
            self.waste += if stays { 0 } else { self.length(slot) };
            stays
        });
        self.index = Arc::new(index);
        for (_, passed) in &mut self.sieves {
            *passed = passed.intersection(all);
        }
        if self.waste > self.weight() / 2 {
            self.compact();
        }
    }

    /// Copies what is led to, record by record.
    fn compact(&mut self) {
        let pieces = std::mem::take(&mut self.pieces);
        self.waste = 0;
        let mut index = Arc::unwrap_or_clone(std::mem::take(&mut self.index));
        for slot in &mut index {
            let piece = pieces.get(usize::from(slot.piece));
            let rest = piece.and_then(|piece| piece.get(usize::from(slot.at)..));
            let record = rest.and_then(|rest| {
                let (_, length) = unpack(rest)?;
                rest.get(..length)
            });
            match record.and_then(|record| self.append(record)) {
                Some((piece, at)) => (slot.piece, slot.at) = (piece, at),
                None => slot.uid = 0,
            }
        }
        // No message has that number.
        index.retain(|slot| slot.uid != 0);
        self.index = Arc::new(index);
    }

    /// Messages that a search for this did not find.
    pub(crate) fn passed_over(&self, search: &Condition) -> Option<&UidSet> {
        let mut sieves = self.sieves.iter();
        sieves
            .find(|(known, _)| known == search)
            .map(|(_, passed)| passed)
    }

    pub(crate) fn note_passed_over(
        &mut self,
        uidvalidity: UidValidity,
        search: &Condition,
        uids: &UidSet,
    ) {
        if self.uidvalidity != Some(uidvalidity) {
            return;
        }
        match self.sieves.iter_mut().find(|(known, _)| known == search) {
            Some((_, passed)) => *passed = passed.union(uids),
            None => {
                if self.sieves.len() >= MOST_SIEVES {
                    self.sieves.remove(0);
                }
                self.sieves.push((search.clone(), uids.clone()));
            }
        }
    }

    /// What was shown of it to whoever looked for the same last.
    pub(crate) fn page(&self, scope: Scope<'_>, wanted: &Wanted<'_>) -> Option<&UidSet> {
        self.pages.find(scope, wanted)
    }

    pub(crate) fn note_page(
        &mut self,
        uidvalidity: UidValidity,
        scope: Scope<'_>,
        wanted: &Wanted<'_>,
        uids: UidSet,
    ) {
        if self.uidvalidity == Some(uidvalidity) {
            self.pages.note(scope, wanted, uids);
        }
    }

    /// Octets that it takes.
    pub(crate) fn weight(&self) -> usize {
        let pieces = self
            .pieces
            .iter()
            .map(|piece| piece.capacity() + PIECE_OVERHEAD);
        let sieves = self
            .sieves
            .iter()
            .map(|(_, passed)| passed.ranges().len() * 8 + 256);
        self.index.capacity() * size_of::<Slot>()
            + pieces.sum::<usize>()
            + sieves.sum::<usize>()
            + self.pages.weight()
    }

    fn write(&mut self, facts: &FactsBuf) -> Option<(u16, u16)> {
        self.append(&pack(facts))
    }

    fn append(&mut self, record: &[u8]) -> Option<(u16, u16)> {
        let fits = self
            .pieces
            .last()
            .is_some_and(|piece| piece.len() + record.len() <= PIECE);
        if !fits {
            // Pieces that are full keep no room for more.
            if let Some(full) = self.pieces.last_mut() {
                Arc::make_mut(full).shrink_to_fit();
            }
            // A folder that fills one fills more of them.
            let room = if self.pieces.is_empty() { 0 } else { PIECE };
            self.pieces.push(Arc::new(Vec::with_capacity(room)));
        }
        let number = u16::try_from(self.pieces.len().checked_sub(1)?).ok()?;
        let piece = Arc::make_mut(self.pieces.last_mut()?);
        let at = u16::try_from(piece.len()).ok()?;
        piece.extend_from_slice(record);
        Some((number, at))
    }

    fn read(&self, slot: &Slot) -> Option<Facts<'_>> {
        let piece = self.pieces.get(usize::from(slot.piece))?;
        unpack(piece.get(usize::from(slot.at)..)?).map(|(facts, _)| facts)
    }

    fn length(&self, slot: &Slot) -> usize {
        let piece = self.pieces.get(usize::from(slot.piece));
        let record = piece.and_then(|piece| piece.get(usize::from(slot.at)..));
        record.and_then(unpack).map_or(0, |(_, length)| length)
    }
}

// What a record says by one bit each.
const HAS_FROM: u8 = 1;
const HAS_SUBJECT: u8 = 2;
const WHOLE: u8 = 4;
const KNOWS_ATTACHMENT: u8 = 8;
const HAS_ATTACHMENT: u8 = 16;
const HAS_ARRIVED: u8 = 32;
const HAS_SIZE: u8 = 64;

/// Bits, then what they say is there: arrival, size, and texts with their lengths.
fn pack(facts: &FactsBuf) -> Vec<u8> {
    let lines = facts.recipient_lines();
    let facts = facts.borrow(&lines);
    let bit = |holds: bool, bit: u8| if holds { bit } else { 0 };
    let bits = bit(facts.from.is_some(), HAS_FROM)
        | bit(facts.subject.is_some(), HAS_SUBJECT)
        | bit(facts.recipients.known == Known::Whole, WHOLE)
        | bit(facts.has_attachment.is_some(), KNOWS_ATTACHMENT)
        | bit(facts.has_attachment == Some(true), HAS_ATTACHMENT)
        | bit(facts.arrived.is_some(), HAS_ARRIVED)
        | bit(facts.size.is_some(), HAS_SIZE);
    let mut record = vec![bits];
    if let Some(arrived) = facts.arrived {
        record.extend_from_slice(&arrived.to_le_bytes());
    }
    if let Some(size) = facts.size {
        put(&mut record, size);
    }
    let texts = [facts.from, Some(facts.recipients.lines), facts.subject];
    for text in texts.into_iter().flatten() {
        put(&mut record, u64::try_from(text.len()).unwrap_or(u64::MAX));
        record.extend_from_slice(text.as_bytes());
    }
    record
}

/// The facts and the length of the record.
fn unpack(bytes: &[u8]) -> Option<(Facts<'_>, usize)> {
    let mut rest = bytes;
    let [bits] = take::<1>(&mut rest)?;
    let has = |bit: u8| bits & bit != 0;
    let arrived = match has(HAS_ARRIVED) {
        true => Some(i64::from_le_bytes(take(&mut rest)?)),
        false => None,
    };
    let size = match has(HAS_SIZE) {
        true => Some(number(&mut rest)?),
        false => None,
    };
    let from = match has(HAS_FROM) {
        true => Some(text(&mut rest)?),
        false => None,
    };
    let lines = text(&mut rest)?;
    let subject = match has(HAS_SUBJECT) {
        true => Some(text(&mut rest)?),
        false => None,
    };
    let facts = Facts {
        from,
        recipients: Recipients {
            lines,
            known: match has(WHOLE) {
                true => Known::Whole,
                false => Known::NotWhole,
            },
        },
        subject,
        has_attachment: has(KNOWS_ATTACHMENT).then_some(has(HAS_ATTACHMENT)),
        arrived,
        size,
    };
    Some((facts, bytes.len() - rest.len()))
}

/// Seven bits an octet, the lowest first; the highest bit says that more follow.
fn put(record: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        record.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    record.push(number as u8);
}

fn number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let [octet] = take::<1>(rest)?;
        number |= u64::from(octet & 0x7f) << shift;
        if octet & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(*head)
}

fn text<'a>(rest: &mut &'a [u8]) -> Option<&'a str> {
    let length = usize::try_from(number(rest)?).ok()?;
    let (head, tail) = rest.split_at_checked(length)?;
    *rest = tail;
    std::str::from_utf8(head).ok()
}

#[cfg(test)]
mod tests;
