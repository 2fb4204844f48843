//! Who names whom: of every message of small folders the ids that it has and names, so that a conversation is found without a
//! search.
//!
//! Bounded, in memory, and of this process alone. It answers nothing: it says where to look, and how the folders were when
//! that was all there was. No id is kept, only what tells one from another.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mail::{FolderName, HeaderId, Links, Room, Uid};

use super::closure::MOST_OF_ONE;
use super::gatherings::{Edge, Gathering};

/// Messages of all folders that are searched together. To read who names whom in so many costs a server about as much as one
/// search by ids, and 150 octets each on the way.
const MOST_MESSAGES: u64 = 3_000;

/// Longer conversations are searched for.
const MOST_MEMBERS: usize = 200;

/// QUIRK: UIDs that move (Proton Bridge). What was read longer ago is read again.
const TRUSTED: Duration = Duration::from_secs(10 * 60);

/// Folders of which anything is known.
const MOST_FOLDERS: usize = 1_000;
/// Octets that may be kept for one account.
const MOST: usize = 1 << 20;
/// For all accounts of this process together, as long as each can keep some hundred messages.
static ROOM: Room = Room::new(16 << 20, 64 << 10);

/// One folder, up to its edge.
pub(super) struct Lineage {
    edge: Edge,
    since: Instant,
    messages: u64,
    /// Each message with an id that it has or names, ascending.
    by_uid: Vec<(u32, u64)>,
    /// The same by ids.
    by_id: Vec<(u64, u32)>,
}

/// What is known of a folder.
enum Known {
    /// How large it is.
    Seen(Edge),
    /// Nothing can be told of it as long as it is so.
    Unfit(Edge),
    Read(Arc<Lineage>),
}

/// Whether conversations in some folders can be found here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Readiness {
    /// Not now: they are too large, or nobody knows how large they are.
    Out,
    /// As soon as they are read.
    Unread,
    Ready,
}

/// A message, and what ties it to others.
pub(super) type Row = (Uid, Links);

pub(super) struct Lineages {
    folders: Mutex<HashMap<FolderName, Known>>,
    /// Two ids may be taken for one: what is there is looked at.
    hasher: RandomState,
    /// INVARIANT: it knows of the weight of all that was read.
    room: &'static Room,
}

impl Default for Lineages {
    fn default() -> Self {
        Self::within(&ROOM)
    }
}

impl Drop for Lineages {
    fn drop(&mut self) {
        self.room.leave(weight(&self.lock()));
    }
}

impl Lineages {
    fn within(room: &'static Room) -> Self {
        room.enter();
        Self {
            folders: Mutex::default(),
            hasher: RandomState::new(),
            room,
        }
    }

    /// A search went through this folder, which was so.
    pub(super) fn see(&self, folder: &FolderName, edge: Edge) {
        let mut folders = self.lock();
        match folders.get(folder) {
            Some(Known::Read(_)) => {}
            Some(Known::Unfit(then)) if *then == edge => {}
            None if folders.len() >= MOST_FOLDERS => {}
            _ => self.put(&mut folders, folder, Known::Seen(edge)),
        }
    }

    pub(super) fn readiness(&self, folders: &[FolderName], now: Instant) -> Readiness {
        let mut known = self.lock();
        let mut messages: u64 = 0;
        let mut readiness = Readiness::Ready;
        for folder in folders {
            let old = match known.get(folder) {
                None | Some(Known::Unfit(_)) => return Readiness::Out,
                Some(Known::Seen(edge)) => {
                    readiness = Readiness::Unread;
                    messages = messages.saturating_add(edge.most());
                    None
                }
                Some(Known::Read(lineage)) => {
                    messages = messages.saturating_add(lineage.messages);
                    lineage.is_old(now).then_some(lineage.edge)
                }
            };
            if let Some(edge) = old {
                readiness = Readiness::Unread;
                self.put(&mut known, folder, Known::Seen(edge));
            }
        }
        match messages > MOST_MESSAGES {
            true => Readiness::Out,
            false => readiness,
        }
    }

    /// From where on the folder has to be read, if at all.
    pub(super) fn unread_from(&self, folder: &FolderName) -> Uid {
        match self.lock().get(folder) {
            Some(Known::Read(lineage)) => lineage.edge.next(),
            _ => Uid(1),
        }
    }

    /// The folder was read from there on, and these are all that it holds up to its edge.
    pub(super) fn read(&self, folder: &FolderName, from: Uid, edge: Edge, rows: &[Row]) {
        let mut folders = self.lock();
        let before = match folders.get(folder) {
            Some(Known::Read(before)) if from.0 > 1 => Some(Arc::clone(before)),
            _ => None,
        };
        let grown = self.grown(before.as_deref(), from, edge, rows);
        let known = match grown {
            Some(lineage) => Known::Read(Arc::new(lineage)),
            None => Known::Unfit(edge),
        };
        self.put(&mut folders, folder, known);
        if weight(&folders) > self.room.bound(MOST) {
            self.put(&mut folders, folder, Known::Unfit(edge));
        }
    }

    /// What was told of these is of no use while they are so.
    pub(super) fn doubt(&self, folders: &[FolderName]) {
        let mut known = self.lock();
        for folder in folders {
            let edge = match known.get(folder) {
                Some(Known::Read(lineage)) => lineage.edge,
                Some(Known::Seen(edge)) => *edge,
                Some(Known::Unfit(_)) | None => continue,
            };
            self.put(&mut known, folder, Known::Unfit(edge));
        }
    }

    /// Where the conversation of these lies, as far as these folders go.
    pub(super) fn gather(&self, sought: &[HeaderId], folders: &[FolderName]) -> Option<Gathering> {
        let lineages: Vec<Arc<Lineage>> = {
            let known = self.lock();
            let each = folders.iter().map(|folder| match known.get(folder) {
                Some(Known::Read(lineage)) => Some(Arc::clone(lineage)),
                _ => None,
            });
            each.collect::<Option<_>>()?
        };
        let mut open: Vec<u64> = sought.iter().map(|id| self.key(id)).collect();
        let mut tied: HashSet<u64> = open.iter().copied().collect();
        let mut members = BTreeSet::new();
        while let Some(id) = open.pop() {
            for (place, lineage) in (0..).zip(&lineages) {
                for uid in lineage.tied_by(id) {
                    if !members.insert((place, uid)) {
                        continue;
                    }
                    if members.len() > MOST_MEMBERS {
                        return None;
                    }
                    open.extend(lineage.ids_of(uid).filter(|id| tied.insert(*id)));
                }
            }
        }
        let since = lineages.iter().map(|one| one.since).min()?;
        let members: Vec<(u32, Uid)> = members
            .into_iter()
            .map(|(place, uid)| (place, Uid(uid)))
            .collect();
        let edges = lineages.iter().map(|one| one.edge).collect();
        (!members.is_empty()).then(|| Gathering::at(edges, members, since))
    }

    /// None where it cannot be told who names whom there.
    fn grown(
        &self,
        before: Option<&Lineage>,
        from: Uid,
        edge: Edge,
        rows: &[Row],
    ) -> Option<Lineage> {
        let follows = |one: &&Lineage| {
            one.edge.next() == from && one.edge.uidvalidity() == edge.uidvalidity()
        };
        let before = match from.0 {
            0 | 1 => None,
            _ => Some(before.filter(follows)?),
        };
        let mut by_uid = before.map_or_else(Vec::new, |one| one.by_uid.clone());
        for (uid, links) in rows {
            // INVARIANT: whoever names more than a search would ask for is not half known.
            if links.ancestors().len() > MOST_OF_ONE {
                return None;
            }
            by_uid.extend(links.all().map(|id| (uid.0, self.key(id))));
        }
        by_uid.sort_unstable();
        by_uid.dedup();
        by_uid.shrink_to_fit();
        let mut by_id: Vec<(u64, u32)> = by_uid.iter().map(|(uid, id)| (*id, *uid)).collect();
        by_id.sort_unstable();
        let new = u64::try_from(rows.len()).unwrap_or(u64::MAX);
        let messages = before.map_or(0, |one| one.messages).saturating_add(new);
        // INVARIANT: a message that was not told of is not one that names nobody.
        (messages >= edge.most() && messages <= MOST_MESSAGES).then(|| Lineage {
            edge,
            since: before.map_or_else(Instant::now, |one| one.since),
            messages,
            by_uid,
            by_id,
        })
    }

    fn put(&self, folders: &mut HashMap<FolderName, Known>, folder: &FolderName, known: Known) {
        self.room.take(known.octets());
        if let Some(old) = folders.insert(folder.clone(), known) {
            self.room.give_back(old.octets());
        }
    }

    fn key(&self, id: &HeaderId) -> u64 {
        self.hasher.hash_one(id)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<FolderName, Known>> {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lineage {
    fn is_old(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) >= TRUSTED
    }

    /// Messages that have or name it.
    fn tied_by(&self, id: u64) -> impl Iterator<Item = u32> {
        let from = self.by_id.partition_point(|(other, _)| *other < id);
        let rest = self.by_id.get(from..).unwrap_or_default().iter();
        let same = rest.take_while(move |(other, _)| *other == id);
        same.map(|(_, uid)| *uid)
    }

    fn ids_of(&self, uid: u32) -> impl Iterator<Item = u64> {
        let from = self.by_uid.partition_point(|(other, _)| *other < uid);
        let rest = self.by_uid.get(from..).unwrap_or_default().iter();
        let same = rest.take_while(move |(other, _)| *other == uid);
        same.map(|(_, id)| *id)
    }
}

impl Known {
    fn octets(&self) -> usize {
        match self {
            Self::Seen(_) | Self::Unfit(_) => 0,
            Self::Read(one) => {
                size_of::<Lineage>()
                    + one.by_uid.capacity() * size_of::<(u32, u64)>()
                    + one.by_id.capacity() * size_of::<(u64, u32)>()
            }
        }
    }
}

fn weight(folders: &HashMap<FolderName, Known>) -> usize {
    folders.values().map(Known::octets).sum()
}
