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

/// QUIRK: UIDs that move (Proton Bridge). What was read longer ago is read again. What could not be read is let alone as long.
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
    /// What was told of it is of no use as long as it is so.
    Doubted(Edge),
    /// It cannot be told who names whom there. What is in the way stays, whatever else comes: nobody tries again for a while,
    /// unless it is another folder by then.
    Unfit {
        edge: Edge,
        since: Instant,
    },
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
        let known = match folders.get(folder) {
            Some(Known::Read(_)) => return,
            Some(Known::Doubted(then)) if *then == edge => return,
            Some(Known::Unfit { edge: then, since })
                if then.uidvalidity() == edge.uidvalidity() =>
            {
                Known::Unfit {
                    edge,
                    since: *since,
                }
            }
            None if folders.len() >= MOST_FOLDERS => return,
            _ => Known::Seen(edge),
        };
        self.put(&mut folders, folder, known);
    }

    pub(super) fn readiness(&self, folders: &[FolderName], now: Instant) -> Readiness {
        let mut known = self.lock();
        let mut messages: u64 = 0;
        let mut readiness = Readiness::Ready;
        for folder in folders {
            let (size, unread) = match known.get(folder) {
                None | Some(Known::Doubted(_)) => return Readiness::Out,
                Some(Known::Unfit { since, .. }) if !is_old(*since, now) => return Readiness::Out,
                Some(Known::Seen(edge) | Known::Unfit { edge, .. }) => (edge.most(), Some(*edge)),
                Some(Known::Read(lineage)) => {
                    let old = is_old(lineage.since, now);
                    (lineage.messages, old.then_some(lineage.edge))
                }
            };
            messages = messages.saturating_add(size);
            if let Some(edge) = unread {
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
        let known_of = |folders: &HashMap<FolderName, Known>| match folders.get(folder) {
            Some(Known::Read(before)) if from.0 > 1 => Some(Arc::clone(before)),
            _ => None,
        };
        let before = known_of(&self.lock());
        match &before {
            // Somebody else has read as far meanwhile.
            Some(before) if before.edge == edge => return,
            // What it followed on is forgotten: it is read anew when it is asked for.
            None if from.0 > 1 => return,
            _ => {}
        }
        // Thousands are put in order here: nobody waits for the lock meanwhile.
        let known = self.grown(before.as_deref(), from, edge, rows);
        let mut folders = self.lock();
        let still = known_of(&folders);
        if still.as_ref().map(Arc::as_ptr) != before.as_ref().map(Arc::as_ptr) {
            // It was read or doubted meanwhile: that holds, and this is read again when it is asked for.
            return;
        }
        self.put(&mut folders, folder, known);
        if weight(&folders) > self.room.bound(MOST) {
            self.put(&mut folders, folder, Known::unfit(edge));
        }
    }

    /// What was told of these is so no longer: they have to be read anew.
    pub(super) fn forget(&self, folders: &[FolderName]) {
        let mut known = self.lock();
        for folder in folders {
            if let Some(Known::Read(lineage)) = known.get(folder) {
                let edge = lineage.edge;
                self.put(&mut known, folder, Known::Seen(edge));
            }
        }
    }

    /// What was told of these is of no use while they are so.
    pub(super) fn doubt(&self, folders: &[FolderName]) {
        let mut known = self.lock();
        for folder in folders {
            let edge = match known.get(folder) {
                Some(Known::Read(lineage)) => lineage.edge,
                Some(Known::Seen(edge)) => *edge,
                Some(Known::Doubted(_) | Known::Unfit { .. }) | None => continue,
            };
            self.put(&mut known, folder, Known::Doubted(edge));
        }
    }

    /// These could not be read.
    pub(super) fn give_up(&self, folders: &[FolderName]) {
        let mut known = self.lock();
        for folder in folders {
            let edge = match known.get(folder) {
                Some(Known::Read(lineage)) => lineage.edge,
                Some(Known::Seen(edge) | Known::Doubted(edge)) => *edge,
                Some(Known::Unfit { .. }) | None => continue,
            };
            self.put(&mut known, folder, Known::unfit(edge));
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

    /// What is known of the folder by what was known before and these.
    fn grown(&self, before: Option<&Lineage>, from: Uid, edge: Edge, rows: &[Row]) -> Known {
        let follows =
            |one: &Lineage| one.edge.next() == from && one.edge.uidvalidity() == edge.uidvalidity();
        let new = u64::try_from(rows.len()).unwrap_or(u64::MAX);
        let messages = before.map_or(0, |one| one.messages).saturating_add(new);
        // INVARIANT: a message that was not told of is not one that names nobody.
        let adds_up = messages >= edge.most() && messages <= MOST_MESSAGES;
        match before {
            // Read anew it may: much of what is known may be gone.
            Some(before) if !adds_up || !follows(before) => return Known::Seen(edge),
            None if !adds_up => return Known::unfit(edge),
            _ => {}
        }
        let Some(by_uid) = self.ties(before, rows) else {
            return Known::unfit(edge);
        };
        let mut by_id: Vec<(u64, u32)> = by_uid.iter().map(|(uid, id)| (*id, *uid)).collect();
        by_id.sort_unstable();
        Known::Read(Arc::new(Lineage {
            edge,
            since: before.map_or_else(Instant::now, |one| one.since),
            messages,
            by_uid,
            by_id,
        }))
    }

    /// None where somebody names too many, or all together do: no more are looked at than can be kept.
    fn ties(&self, before: Option<&Lineage>, rows: &[Row]) -> Option<Vec<(u32, u64)>> {
        let bound = self.room.bound(MOST);
        let mut ties = before.map_or_else(Vec::new, |one| one.by_uid.clone());
        for (uid, links) in rows {
            // INVARIANT: whoever names more than a search would ask for is not half known.
            if links.ancestors().len() > MOST_OF_ONE {
                return None;
            }
            let mut ids: Vec<u64> = links.all().map(|id| self.key(id)).collect();
            ids.sort_unstable();
            ids.dedup();
            ties.extend(ids.into_iter().map(|id| (uid.0, id)));
            if octets(ties.len()) > bound {
                return None;
            }
        }
        ties.sort_unstable();
        ties.dedup();
        ties.shrink_to_fit();
        Some(ties)
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
    fn unfit(edge: Edge) -> Self {
        let since = Instant::now();
        Self::Unfit { edge, since }
    }

    fn octets(&self) -> usize {
        match self {
            Self::Seen(_) | Self::Doubted(_) | Self::Unfit { .. } => 0,
            Self::Read(one) => octets(one.by_uid.capacity().max(one.by_id.capacity())),
        }
    }
}

fn is_old(since: Instant, now: Instant) -> bool {
    now.saturating_duration_since(since) >= TRUSTED
}

/// Of one folder with so many ties, each of which is kept both ways.
fn octets(ties: usize) -> usize {
    size_of::<Lineage>() + ties * (size_of::<(u32, u64)>() + size_of::<(u64, u32)>())
}

fn weight(folders: &HashMap<FolderName, Known>) -> usize {
    folders.values().map(Known::octets).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::imap::link::Landed;
    use crate::imap::tour::Visit;
    use mail::{UidSet, UidValidity};
    use proptest::prelude::*;

    fn id(name: &str) -> HeaderId {
        HeaderId::new(name.as_bytes()).unwrap()
    }

    fn name(folder: &str) -> FolderName {
        FolderName::new(folder).unwrap()
    }

    fn names(folders: &[&str]) -> Vec<FolderName> {
        folders.iter().map(|folder| name(folder)).collect()
    }

    fn edge(uidvalidity: u32, next: u32, most: u64) -> Edge {
        let visit = Visit {
            uidvalidity: UidValidity(uidvalidity),
            next: Some(Uid(next)),
            most,
            landed: Landed {
                statuses: Vec::new(),
                places: Vec::new(),
                data: Vec::new(),
            },
        };
        Edge::of(&visit).unwrap()
    }

    fn row(uid: u32, own: &str, named: &[&str]) -> Row {
        let links = Links {
            id: HeaderId::new(own.as_bytes()),
            references: named.iter().map(|name| id(name)).collect(),
            in_reply_to: Vec::new(),
        };
        (Uid(uid), links)
    }

    /// One that names so many.
    fn naming(uid: u32, others: usize) -> Row {
        let others: Vec<String> = (0..others).map(|number| format!("{number}@y")).collect();
        let others: Vec<&str> = others.iter().map(String::as_str).collect();
        row(uid, &format!("{uid}@x"), &others)
    }

    /// Messages that name nobody.
    fn strangers(uids: std::ops::RangeInclusive<u32>) -> Vec<Row> {
        uids.map(|uid| row(uid, &format!("{uid}@x"), &[])).collect()
    }

    fn uids(uids: &[u32]) -> UidSet {
        uids.iter().copied().map(Uid).collect()
    }

    /// One for each folder.
    fn places(memory: &Lineages, sought: &str, folders: &[&str]) -> Option<Vec<UidSet>> {
        let found = memory.gather(&[id(sought)], &names(folders))?;
        Some(found.spots().into_iter().map(|(_, uids)| uids).collect())
    }

    fn readiness(memory: &Lineages, folders: &[&str]) -> Readiness {
        memory.readiness(&names(folders), Instant::now())
    }

    /// A folder `a` of three messages, two of which are of one conversation.
    fn three() -> Lineages {
        let memory = Lineages::default();
        let rows = [
            row(1, "one", &[]),
            row(2, "two", &["one"]),
            row(3, "other", &[]),
        ];
        memory.read(&name("a"), Uid(1), edge(1, 4, 3), &rows);
        memory
    }

    /// An id and a few that it names, out of a few.
    fn letters() -> impl Strategy<Value = Vec<(usize, Option<u8>, Vec<u8>)>> {
        let named = proptest::collection::vec(0..25_u8, 0..3);
        let letter = (0..3_usize, proptest::option::of(0..25_u8), named);
        proptest::collection::vec(letter, 0..40)
    }

    proptest! {
        #[test]
        fn all_is_gathered_that_is_tied_however_far_and_nothing_else(
            letters in letters(),
            cut in 0..20_usize,
            sought in 0..25_u8,
        ) {
            let word = |number: u8| format!("{number}@x");
            let mut rows: [Vec<Row>; 3] = Default::default();
            for (folder, own, named) in &letters {
                let own = own.map_or_else(String::new, word);
                let named: Vec<String> = named.iter().map(|one| word(*one)).collect();
                let named: Vec<&str> = named.iter().map(String::as_str).collect();
                let uid = u32::try_from(rows[*folder].len()).unwrap() + 1;
                rows[*folder].push(row(uid, &own, &named));
            }
            let folders = ["a", "b", "c"];
            let memory = Lineages::default();
            for (folder, rows) in folders.iter().zip(&rows) {
                // Part of it was there before the rest came.
                let (old, new) = rows.split_at(cut.min(rows.len()));
                let until = |count: usize| {
                    edge(1, u32::try_from(count).unwrap() + 1, u64::try_from(count).unwrap())
                };
                memory.read(&name(folder), Uid(1), until(old.len()), old);
                let from = memory.unread_from(&name(folder));
                memory.read(&name(folder), from, until(rows.len()), new);
            }
            let mut tied: HashSet<HeaderId> = HashSet::from([id(&word(sought))]);
            let mut want: [UidSet; 3] = Default::default();
            loop {
                let before = (tied.len(), want.clone());
                for (rows, want) in rows.iter().zip(&mut want) {
                    for (uid, links) in rows {
                        if links.all().any(|id| tied.contains(id)) {
                            tied.extend(links.all().cloned());
                            *want = want.union(&uids(&[uid.0]));
                        }
                    }
                }
                if before == (tied.len(), want.clone()) {
                    break;
                }
            }
            let found = places(&memory, &word(sought), &folders);
            let want = want.iter().any(|set| !set.is_empty()).then_some(want.to_vec());
            prop_assert_eq!(found, want);
        }
    }

    #[test]
    fn it_is_gathered_as_far_as_the_folders_go() {
        let memory = Lineages::default();
        memory.read(
            &name("a"),
            Uid(1),
            edge(1, 3, 2),
            &[row(1, "one", &[]), row(2, "three", &["two"])],
        );
        memory.read(
            &name("b"),
            Uid(1),
            edge(7, 9, 1),
            &[row(8, "two", &["one"])],
        );
        memory.see(&name("c"), edge(1, 1, 0));
        for (sought, folders, want) in [
            (
                "one",
                &["a", "b"][..],
                Some(vec![uids(&[1, 2]), uids(&[8])]),
            ),
            ("two", &["b", "a"], Some(vec![uids(&[8]), uids(&[1, 2])])),
            // Tied by another folder alone.
            ("one", &["a"], Some(vec![uids(&[1])])),
            ("three", &["b"], None),
            ("nobody", &["a", "b"], None),
            ("one", &[], None),
            // Of those nobody knows who names whom.
            ("one", &["a", "b", "c"], None),
            ("one", &["a", "d"], None),
        ] {
            assert_eq!(
                places(&memory, sought, folders),
                want,
                "{sought} {folders:?}"
            );
        }
        let found = memory.gather(&[id("one")], &names(&["a", "b"])).unwrap();
        let edges: Vec<Edge> = found.spots().into_iter().map(|(edge, _)| edge).collect();
        assert_eq!(edges, [edge(1, 3, 2), edge(7, 9, 1)]);
    }

    #[test]
    fn nothing_is_told_of_a_folder_that_is_not_known_as_a_whole() {
        let crowd = u32::try_from(MOST_MESSAGES).unwrap();
        for (what, edge, rows, fit) in [
            ("empty", edge(1, 1, 0), vec![], true),
            ("whole", edge(1, 9, 2), strangers(3..=4), true),
            // Some are gone since the folder was opened, or the server counts those that are going.
            ("more rows", edge(1, 9, 2), strangers(3..=5), true),
            ("fewer rows", edge(1, 9, 3), strangers(3..=4), false),
            (
                "names as many as are looked for",
                edge(1, 2, 1),
                vec![naming(1, MOST_OF_ONE)],
                true,
            ),
            (
                "names more",
                edge(1, 2, 1),
                vec![naming(1, MOST_OF_ONE + 1)],
                false,
            ),
            (
                "full",
                edge(1, crowd + 1, MOST_MESSAGES),
                strangers(1..=crowd),
                true,
            ),
            (
                "too full",
                edge(1, crowd + 2, MOST_MESSAGES + 1),
                strangers(1..=crowd + 1),
                false,
            ),
        ] {
            let memory = Lineages::default();
            memory.see(&name("a"), edge);
            memory.read(&name("a"), Uid(1), edge, &rows);
            let want = match fit {
                true => Readiness::Ready,
                false => Readiness::Out,
            };
            assert_eq!(readiness(&memory, &["a"]), want, "{what}");
            // It stays so while the folder does.
            memory.see(&name("a"), edge);
            assert_eq!(readiness(&memory, &["a"]), want, "{what}");
        }
    }

    #[test]
    fn what_is_in_the_way_stays_there_whatever_else_comes() {
        let crowd = u32::try_from(MOST_MESSAGES).unwrap();
        let heavy: Vec<Row> = (1..=crowd).map(|uid| naming(uid, 15)).collect();
        let named = [naming(4, MOST_OF_ONE + 1)];
        let none = Lineages::default;
        for (what, memory, from, rows) in [
            ("somebody names too many", none(), 1, &named[..]),
            ("so does who came since", three(), 4, &named),
            ("all together name too many", none(), 1, &heavy),
            ("fewer than there are", none(), 1, &[]),
        ] {
            let begun = Instant::now();
            let most = u64::try_from(rows.len()).unwrap().max(1);
            memory.read(&name("a"), Uid(from), edge(1, 9_000, most), rows);
            let ended = Instant::now();
            for later in 1..=3_u32 {
                memory.see(&name("a"), edge(1, 9_000 + later, most));
                assert_eq!(readiness(&memory, &["a"]), Readiness::Out, "{what}");
            }
            // It is no younger for that, and as large as it is by then.
            let folders = names(&["a"]);
            let soon = begun + TRUSTED / 2;
            assert_eq!(memory.readiness(&folders, soon), Readiness::Out, "{what}");
            let late = ended + TRUSTED;
            memory.see(&name("a"), edge(1, 9_004, MOST_MESSAGES + 1));
            assert_eq!(memory.readiness(&folders, late), Readiness::Out, "{what}");
            memory.see(&name("a"), edge(1, 9_005, 1));
            let tried = memory.readiness(&folders, late);
            assert_eq!(tried, Readiness::Unread, "{what}");
            assert_eq!(memory.unread_from(&name("a")), Uid(1), "{what}");
            // Another folder of that name has nothing to do with it.
            memory.give_up(&folders);
            memory.see(&name("a"), edge(2, 9_005, 1));
            assert_eq!(readiness(&memory, &["a"]), Readiness::Unread, "{what}");
        }
    }

    #[test]
    fn what_could_not_be_read_is_let_alone_for_a_while() {
        let memory = three();
        memory.see(&name("seen"), edge(1, 2, 1));
        memory.see(&name("doubted"), edge(1, 2, 1));
        memory.doubt(&names(&["doubted"]));
        memory.give_up(&names(&["a", "seen", "doubted", "unknown"]));
        for folder in ["a", "seen", "doubted"] {
            memory.see(&name(folder), edge(1, 5, 4));
            // Nor does doubt make it any better.
            memory.doubt(&names(&[folder]));
            memory.see(&name(folder), edge(1, 6, 5));
            assert_eq!(readiness(&memory, &[folder]), Readiness::Out, "{folder}");
            assert_eq!(places(&memory, "one", &[folder]), None);
            let late = memory.readiness(&names(&[folder]), Instant::now() + TRUSTED);
            assert_eq!(late, Readiness::Unread, "{folder}");
        }
        memory.see(&name("unknown"), edge(1, 2, 1));
        assert_eq!(readiness(&memory, &["unknown"]), Readiness::Unread);
    }

    #[test]
    fn what_came_since_is_read_from_the_edge_on_and_joins_what_was_there() {
        let memory = three();
        assert_eq!(memory.unread_from(&name("a")), Uid(4));
        assert_eq!(memory.unread_from(&name("b")), Uid(1));
        let late = [row(4, "late", &["two"]), row(6, "join", &["late", "other"])];
        memory.read(&name("a"), Uid(4), edge(1, 7, 5), &late);
        assert_eq!(memory.unread_from(&name("a")), Uid(7));
        for sought in ["one", "late", "other"] {
            assert_eq!(
                places(&memory, sought, &["a"]),
                Some(vec![uids(&[1, 2, 3, 4, 6])])
            );
        }
        // Nothing came.
        memory.read(&name("a"), Uid(7), edge(1, 7, 5), &[]);
        // What is gone is still where one has to look.
        memory.read(&name("a"), Uid(7), edge(1, 8, 2), &[row(7, "new", &[])]);
        assert_eq!(
            places(&memory, "one", &["a"]),
            Some(vec![uids(&[1, 2, 3, 4, 6])])
        );
        assert_eq!(places(&memory, "new", &["a"]), Some(vec![uids(&[7])]));
    }

    #[test]
    fn what_does_not_follow_on_is_not_joined() {
        let late = [row(4, "late", &["two"])];
        for (what, from, edge, rows) in [
            ("another folder of that name", 4, edge(2, 5, 1), &late[..]),
            ("a gap", 5, edge(1, 6, 3), &late),
            ("an overlap", 3, edge(1, 5, 4), &late),
            ("fewer than there are", 4, edge(1, 6, 5), &late),
        ] {
            let memory = three();
            memory.read(&name("a"), Uid(from), edge, rows);
            assert_eq!(places(&memory, "one", &["a"]), None, "{what}");
            // It has to be read anew.
            assert_eq!(readiness(&memory, &["a"]), Readiness::Unread, "{what}");
            assert_eq!(memory.unread_from(&name("a")), Uid(1), "{what}");
        }
        // Much of what is known may be gone by the time that more comes.
        let memory = Lineages::default();
        let crowd = u32::try_from(MOST_MESSAGES).unwrap();
        let full = edge(1, crowd + 1, MOST_MESSAGES);
        memory.read(&name("a"), Uid(1), full, &strangers(1..=crowd));
        let next = crowd + 1;
        memory.read(
            &name("a"),
            Uid(next),
            edge(1, next + 1, 1),
            &strangers(next..=next),
        );
        assert_eq!(readiness(&memory, &["a"]), Readiness::Unread);
        // Nor is it joined to what somebody let go meanwhile.
        type LetGo = fn(&Lineages, &[FolderName]);
        for (meanwhile, want) in [
            (Lineages::forget as LetGo, Readiness::Unread),
            (Lineages::doubt, Readiness::Out),
            (Lineages::give_up, Readiness::Out),
        ] {
            let memory = three();
            meanwhile(&memory, &names(&["a"]));
            memory.read(&name("a"), Uid(4), edge(1, 5, 4), &late);
            assert_eq!(readiness(&memory, &["a"]), want);
            assert_eq!(places(&memory, "two", &["a"]), None);
        }
        // Whoever reads all of it anew needs nothing of before.
        let memory = three();
        memory.read(&name("a"), Uid(1), edge(2, 5, 1), &late);
        assert_eq!(places(&memory, "two", &["a"]), Some(vec![uids(&[4])]));
        assert_eq!(places(&memory, "one", &["a"]), None);
    }

    #[test]
    fn folders_are_read_together_as_long_as_they_are_small() {
        let memory = three();
        memory.see(&name("half"), edge(1, 9_000, MOST_MESSAGES / 2));
        memory.see(&name("rest"), edge(1, 9_000, MOST_MESSAGES / 2 - 3));
        memory.see(&name("one"), edge(1, 2, 1));
        memory.see(&name("huge"), edge(1, 9_000, MOST_MESSAGES + 1));
        memory.see(&name("endless"), edge(1, 9_000, u64::MAX));
        for (folders, want) in [
            (&["a"][..], Readiness::Ready),
            (&["a", "half"], Readiness::Unread),
            (&["half", "a"], Readiness::Unread),
            (&["half", "rest", "a"], Readiness::Unread),
            (&["half", "rest", "a", "one"], Readiness::Out),
            (&["huge"], Readiness::Out),
            (&["endless", "endless"], Readiness::Out),
            (&["a", "unknown"], Readiness::Out),
        ] {
            assert_eq!(readiness(&memory, folders), want, "{folders:?}");
        }
        // Nobody forgets what was read for having seen the folder again.
        memory.see(&name("a"), edge(1, 9_000, MOST_MESSAGES + 1));
        assert_eq!(readiness(&memory, &["a"]), Readiness::Ready);
        // One that has grown or shrunk is as large as it is now.
        memory.see(&name("huge"), edge(1, 9_001, 2));
        assert_eq!(readiness(&memory, &["huge"]), Readiness::Unread);
    }

    #[test]
    fn what_was_read_long_ago_is_read_again_from_its_beginning() {
        let memory = three();
        let read = Instant::now();
        let folders = names(&["a"]);
        let late = read + TRUSTED;
        memory.read(&name("a"), Uid(4), edge(1, 5, 4), &[row(4, "late", &[])]);
        let soon = read + TRUSTED / 2;
        assert_eq!(memory.readiness(&folders, soon), Readiness::Ready);
        // What came since makes the rest no younger.
        assert_eq!(memory.readiness(&folders, late), Readiness::Unread);
        assert_eq!(memory.unread_from(&name("a")), Uid(1));
        assert_eq!(places(&memory, "one", &["a"]), None);
        memory.read(&name("a"), Uid(1), edge(1, 5, 1), &[row(4, "late", &[])]);
        assert_eq!(readiness(&memory, &["a"]), Readiness::Ready);
    }

    #[test]
    fn a_long_conversation_is_left_to_a_search() {
        let most = u32::try_from(MOST_MEMBERS).unwrap();
        for (length, told) in [(most, true), (most + 1, false)] {
            let memory = Lineages::default();
            let word = |uid: u32| format!("{uid}@x");
            let chain = (1..=length).map(|uid| row(uid, &word(uid), &[&word(uid - 1)]));
            let mut rows: Vec<Row> = chain.collect();
            rows.push(row(length + 1, "stranger", &[]));
            let edge = edge(1, length + 2, u64::from(length) + 1);
            memory.read(&name("a"), Uid(1), edge, &rows);
            for sought in [word(1), word(length)] {
                let found = places(&memory, &sought, &["a"]);
                let all = vec![UidSet::range(Uid(1), Uid(length))];
                assert_eq!(found, told.then_some(all), "{length}");
            }
            assert!(places(&memory, "stranger", &["a"]).is_some());
        }
    }

    #[test]
    fn what_is_doubted_is_of_no_use_until_the_folder_is_another() {
        let memory = three();
        memory.see(&name("seen"), edge(1, 2, 1));
        memory.doubt(&names(&["a", "seen", "unknown"]));
        for (folder, before, now) in [
            ("a", edge(1, 4, 3), edge(1, 5, 4)),
            ("seen", edge(1, 2, 1), edge(1, 2, 0)),
        ] {
            assert_eq!(places(&memory, "one", &[folder]), None);
            memory.see(&name(folder), before);
            memory.doubt(&names(&[folder]));
            assert_eq!(readiness(&memory, &[folder]), Readiness::Out, "{folder}");
            memory.see(&name(folder), now);
            assert_eq!(readiness(&memory, &[folder]), Readiness::Unread, "{folder}");
            assert_eq!(memory.unread_from(&name(folder)), Uid(1));
        }
        memory.see(&name("unknown"), edge(1, 2, 1));
        assert_eq!(readiness(&memory, &["unknown"]), Readiness::Unread);
    }

    #[test]
    fn what_is_forgotten_is_read_anew() {
        let memory = three();
        memory.see(&name("seen"), edge(1, 2, 1));
        memory.doubt(&names(&["seen"]));
        memory.forget(&names(&["a", "seen", "unknown"]));
        assert_eq!(readiness(&memory, &["a"]), Readiness::Unread);
        assert_eq!(memory.unread_from(&name("a")), Uid(1));
        assert_eq!(places(&memory, "one", &["a"]), None);
        for other in ["seen", "unknown"] {
            assert_eq!(readiness(&memory, &[other]), Readiness::Out, "{other}");
        }
    }

    #[test]
    fn two_who_read_the_same_at_once_are_in_nobodys_way() {
        let memory = three();
        let late = [row(4, "late", &["two"])];
        for _ in 0..2 {
            memory.read(&name("a"), Uid(4), edge(1, 5, 4), &late);
            let all = Some(vec![uids(&[1, 2, 4])]);
            assert_eq!(places(&memory, "one", &["a"]), all);
        }
    }

    #[test]
    fn no_more_folders_are_known_than_there_may_be() {
        let memory = three();
        for number in 0..2 * MOST_FOLDERS {
            memory.see(&name(&format!("f{number}")), edge(1, 2, 1));
        }
        assert_eq!(memory.lock().len(), MOST_FOLDERS);
        let last = format!("f{}", MOST_FOLDERS - 2);
        assert_eq!(readiness(&memory, &["a", "f0", &last]), Readiness::Unread);
        let beyond = format!("f{}", MOST_FOLDERS - 1);
        assert_eq!(readiness(&memory, &[&beyond]), Readiness::Out);
        // Those that are known stay up to date.
        memory.see(&name("f0"), edge(1, 9_000, MOST_MESSAGES + 1));
        assert_eq!(readiness(&memory, &["f0"]), Readiness::Out);
    }

    /// A room that is full as soon as anything is in it, in which each may hold so much.
    fn room_for(each: usize) -> &'static Room {
        Box::leak(Box::new(Room::new(0, each)))
    }

    fn is_empty(room: &Room) -> bool {
        room.bound(usize::MAX) == usize::MAX
    }

    #[test]
    fn the_room_gets_back_what_was_taken() {
        let room = room_for(MOST);
        let memory = Lineages::within(room);
        let (a, b) = (name("a"), name("b"));
        memory.see(&a, edge(1, 3, 2));
        assert!(is_empty(room), "how large a folder is takes nothing");
        memory.read(&a, Uid(1), edge(1, 3, 2), &strangers(1..=2));
        assert!(!is_empty(room));
        memory.read(&a, Uid(3), edge(1, 9, 8), &strangers(3..=8));
        memory.read(&a, Uid(1), edge(2, 2, 1), &strangers(1..=1));
        memory.doubt(std::slice::from_ref(&a));
        assert!(is_empty(room), "doubted");
        memory.read(&a, Uid(1), edge(1, 9, 8), &strangers(1..=8));
        memory.readiness(std::slice::from_ref(&a), Instant::now() + TRUSTED);
        assert!(is_empty(room), "too old");
        memory.read(&a, Uid(1), edge(1, 9, 8), &strangers(1..=8));
        memory.read(&a, Uid(5), edge(1, 10, 8), &[]);
        assert!(is_empty(room), "does not follow on");
        memory.read(&a, Uid(1), edge(1, 9, 8), &strangers(1..=8));
        memory.forget(std::slice::from_ref(&a));
        assert!(is_empty(room), "forgotten");
        memory.read(&a, Uid(1), edge(1, 9, 8), &strangers(1..=8));
        memory.read(&b, Uid(1), edge(1, 9, 8), &strangers(1..=8));
        drop(memory);
        assert!(is_empty(room), "gone");
    }

    #[test]
    fn what_there_is_no_room_for_is_searched() {
        let few = strangers(1..=8);
        let crowd = u32::try_from(MOST_MESSAGES).unwrap();
        let heavy: Vec<Row> = (1..=crowd).map(|uid| naming(uid, 15)).collect();
        for (each, first, second, fit) in [
            (MOST, &few, &few, [true, true]),
            (size_of::<Lineage>() + 400, &few, &few, [true, false]),
            (64, &few, &few, [false, false]),
            // More than one account may ever hold.
            (usize::MAX, &few, &heavy, [true, false]),
        ] {
            let room = room_for(each);
            let memory = Lineages::within(room);
            for (folder, rows) in [("a", first), ("b", second)] {
                let most = u64::try_from(rows.len()).unwrap();
                memory.read(&name(folder), Uid(1), edge(1, crowd + 1, most), rows);
            }
            let ready = |folder: &str| readiness(&memory, &[folder]) == Readiness::Ready;
            assert_eq!([ready("a"), ready("b")], fit, "{each}");
            drop(memory);
            assert!(is_empty(room));
        }
    }

    #[test]
    fn no_more_is_put_in_order_than_can_be_kept() {
        let twice = row(2, "two", &["one", "one", "two"]);
        let room = room_for(octets(3));
        let memory = Lineages::within(room);
        // So that each must keep to its share.
        memory.room.take(1);
        for (what, rows, fit) in [
            ("as many as fit", strangers(1..=3), true),
            ("one more", strangers(1..=4), false),
            (
                "told twice and kept once",
                vec![row(1, "one", &[]), twice],
                true,
            ),
            ("in one message", vec![naming(1, 3)], false),
        ] {
            assert_eq!(memory.ties(None, &rows).is_some(), fit, "{what}");
        }
        memory.read(&name("a"), Uid(1), edge(1, 3, 2), &strangers(1..=2));
        let known = memory.lock().remove(&name("a"));
        let Some(Known::Read(before)) = known else {
            panic!("two fit");
        };
        for (new, fit) in [(3..=3, true), (3..=4, false)] {
            assert_eq!(memory.ties(Some(&before), &strangers(new)).is_some(), fit);
        }
    }
}
