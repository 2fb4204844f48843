//! Conversations that were gathered: where their messages lie, and how every folder was that was searched for them.
//!
//! Bounded, in memory, and of this process alone. It answers nothing: it says where to look, and by what it is known that
//! nothing has come since. No id and no folder's name is kept, only what tells one from another.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mail::{FolderName, HeaderId, Horizon, Member, Sought, Uid, UidSet, UidValidity, Within};

use super::tour::Visit;

const MOST: usize = 128;

/// Longer conversations are rare, and each would push out many.
const MOST_MEMBERS: usize = 200;

/// Octets of all of them, for one account.
const MOST_OCTETS: usize = 32 << 10;

/// QUIRK: servers whose searches find a message only a while after it has come. A search that is older is made again, though
/// nothing has come since.
const TRUSTED: Duration = Duration::from_secs(60);

/// How a folder was when it was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Edge {
    ends: Horizon,
    /// So many messages it held, at most.
    most: u64,
}

impl Edge {
    /// None where the server does not say where the folder ends.
    pub(super) fn of(visit: &Visit) -> Option<Self> {
        let uidvalidity = visit.uidvalidity;
        let ends = visit.next.map(|next| Horizon { uidvalidity, next });
        let most = visit.most;
        ends.map(|ends| Self { ends, most })
    }

    pub(super) fn uidvalidity(self) -> UidValidity {
        self.ends.uidvalidity
    }

    /// What comes next has this number, or a higher one.
    pub(super) fn next(self) -> Uid {
        self.ends.next
    }

    /// So many messages it held, at most.
    pub(super) fn most(self) -> u64 {
        self.most
    }

    /// Whether nothing has come since it was so: ids only grow, and what comes has the next (RFC 3501 section 2.3.1.1).
    pub(super) fn is_still(self, now: Option<Self>) -> bool {
        // QUIRK: a server whose next number does not move. Where nothing came there are not more than there were.
        now.is_some_and(|now| now.ends == self.ends && now.most <= self.most)
    }
}

/// One conversation.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Gathering {
    question: u64,
    /// What its messages call themselves, in order. All of them are ids of one conversation: whichever is asked for, the
    /// answer is the same.
    ids: Vec<u64>,
    /// Beside the folders that were searched.
    edges: Vec<Edge>,
    /// The place of the folder, and the message there; as they were told.
    members: Vec<(u32, Uid)>,
    since: Instant,
}

#[derive(Default)]
pub(super) struct Gatherings {
    /// The oldest first.
    kept: Mutex<VecDeque<Arc<Gathering>>>,
    /// Two may be taken for one: what is there is looked at.
    hasher: RandomState,
}

impl Gatherings {
    /// INVARIANT: found only by whoever would search the same folders, in the same order, for an id that a message of it has.
    pub(super) fn find(
        &self,
        sought: &Sought,
        folders: &[FolderName],
        now: Instant,
    ) -> Option<Arc<Gathering>> {
        let question = self.question(sought, folders);
        let ids: Vec<u64> = sought.ids.iter().map(|id| self.key(id)).collect();
        let suits = |one: &&Arc<Gathering>| {
            one.question == question
                && !ids.is_empty()
                && ids.iter().all(|id| one.has(*id))
                && one.is_trusted(now)
        };
        self.lock().iter().rev().find(suits).cloned()
    }

    /// These are all of it, by a search of these folders that met no bound; beside each of the folders, how it was before.
    pub(super) fn keep(
        &self,
        sought: &Sought,
        folders: &[FolderName],
        edges: Vec<Edge>,
        members: &[Member],
        since: Instant,
    ) {
        if members.is_empty() || members.len() > MOST_MEMBERS || edges.len() != folders.len() {
            return;
        }
        let places: HashMap<&FolderName, u32> = folders.iter().zip(0..).collect();
        let place = |one: &Member| Some((*places.get(&one.at.folder)?, one.at.uid));
        let Some(members_at) = members.iter().map(place).collect() else {
            return;
        };
        let own = members.iter().filter_map(|one| one.links.id.as_ref());
        let mut ids: Vec<u64> = own.map(|id| self.key(id)).collect();
        ids.sort_unstable();
        ids.dedup();
        let gathering = Gathering {
            question: self.question(sought, folders),
            ids,
            edges,
            members: members_at,
            since,
        };
        let mut kept = self.lock();
        kept.retain(|one| one.is_trusted(since) && !one.is_of_the_same(&gathering));
        kept.push_back(Arc::new(gathering));
        let mut octets: usize = kept.iter().map(|one| one.octets()).sum();
        while kept.len() > MOST || octets > MOST_OCTETS {
            let Some(oldest) = kept.pop_front() else {
                break;
            };
            octets = octets.saturating_sub(oldest.octets());
        }
    }

    pub(super) fn forget(&self, known: &Arc<Gathering>) {
        self.lock().retain(|one| !Arc::ptr_eq(one, known));
    }

    /// What of it changes the answer, its ids aside.
    fn question(&self, sought: &Sought, folders: &[FolderName]) -> u64 {
        let within = match &sought.within {
            Within::All => None,
            Within::Only(names) => Some(names),
        };
        let effort = sought.effort;
        let effort = (effort.folders, effort.rounds, effort.messages);
        self.hasher.hash_one((within, effort, folders))
    }

    fn key(&self, id: &HeaderId) -> u64 {
        self.hasher.hash_one(id)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Gathering>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Gathering {
    /// One that nobody has told yet, and that is found by nobody: how each folder was, and where its messages lie.
    pub(super) fn at(edges: Vec<Edge>, members: Vec<(u32, Uid)>, since: Instant) -> Self {
        Self {
            question: 0,
            ids: Vec::new(),
            edges,
            members,
            since,
        }
    }

    /// Beside the folders: how each was, and the messages there.
    pub(super) fn spots(&self) -> Vec<(Edge, UidSet)> {
        let spots = self.edges.iter().zip(0..).map(|(edge, place)| {
            let there = self.members.iter().filter(|(at, _)| *at == place);
            (*edge, there.map(|(_, uid)| *uid).collect())
        });
        spots.collect()
    }

    /// These messages in the order in which they were told. None where they are not the same.
    pub(super) fn in_order(
        &self,
        folders: &[FolderName],
        members: Vec<Member>,
    ) -> Option<Vec<Member>> {
        if members.len() != self.members.len() {
            return None;
        }
        let places: HashMap<&FolderName, u32> = folders.iter().zip(0..).collect();
        let place = |one: Member| Some(((*places.get(&one.at.folder)?, one.at.uid), one));
        let members: Option<HashMap<(u32, Uid), Member>> = members.into_iter().map(place).collect();
        let mut members = members?;
        self.members.iter().map(|at| members.remove(at)).collect()
    }

    fn has(&self, id: u64) -> bool {
        self.ids.binary_search(&id).is_ok()
    }

    fn is_of_the_same(&self, other: &Self) -> bool {
        self.question == other.question && other.ids.iter().any(|id| self.has(*id))
    }

    fn is_trusted(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) < TRUSTED
    }

    fn octets(&self) -> usize {
        size_of::<Self>()
            + size_of_val(self.ids.as_slice())
            + size_of_val(self.edges.as_slice())
            + size_of_val(self.members.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mail::{AccountId, Effort, Links, MessageRef, SourceKind, Summary, Within::All};

    fn id(number: usize) -> HeaderId {
        HeaderId::new(format!("{number}@x").as_bytes()).unwrap()
    }

    fn names(folders: &[&str]) -> Vec<FolderName> {
        let each = folders.iter().map(|name| FolderName::new(*name).unwrap());
        each.collect()
    }

    fn member(number: usize, folder: &str) -> Member {
        let uid = Uid(u32::try_from(number).unwrap());
        Member {
            at: MessageRef {
                source: SourceKind::Imap,
                account: AccountId::new("a").unwrap(),
                folder: FolderName::new(folder).unwrap(),
                uidvalidity: UidValidity(1),
                uid,
            },
            links: Links {
                id: Some(id(number)),
                ..Links::default()
            },
            summary: Summary {
                store_id: None,
                uid,
                order: 0,
                flags: None,
                arrived: None,
                size: None,
                text: None,
                structure: None,
                header: None,
            },
        }
    }

    fn edge(uidvalidity: u32, next: u32, most: u64) -> Edge {
        let ends = Horizon {
            uidvalidity: UidValidity(uidvalidity),
            next: Uid(next),
        };
        Edge { ends, most }
    }

    const EFFORT: Effort = Effort {
        folders: 5,
        rounds: 5,
        messages: 500,
    };

    fn sought(numbers: &[usize], within: Within) -> Sought {
        Sought {
            ids: numbers.iter().map(|number| id(*number)).collect(),
            within,
            effort: EFFORT,
        }
    }

    /// A conversation of these, in `a` and `b` by turns.
    fn keep(memory: &Gatherings, numbers: impl Iterator<Item = usize>, since: Instant) {
        let members: Vec<Member> = numbers
            .map(|number| member(number, ["a", "b"][number % 2]))
            .collect();
        let folders = names(&["a", "b"]);
        let edges = vec![edge(1, 9_000_000, 10); 2];
        memory.keep(&sought(&[], All), &folders, edges, &members, since);
    }

    #[test]
    fn whoever_asks_for_any_of_it_in_the_same_way_finds_it_for_a_while() {
        let memory = Gatherings::default();
        let now = Instant::now();
        keep(&memory, [3, 1, 2].into_iter(), now);
        keep(&memory, [7].into_iter(), now);
        let only = |folders: &[&str]| Within::Only(names(folders));
        for (numbers, within, folders, found) in [
            (&[1][..], All, &["a", "b"][..], true),
            (&[2], All, &["a", "b"], true),
            (&[3, 1], All, &["a", "b"], true),
            (&[], All, &["a", "b"], false),
            (&[4], All, &["a", "b"], false),
            // Of two conversations.
            (&[1, 7], All, &["a", "b"], false),
            (&[1], All, &["b", "a"], false),
            (&[1], All, &["a"], false),
            (&[1], All, &["a", "b", "c"], false),
            (&[1], only(&["a", "b"]), &["a", "b"], false),
            (&[1], only(&[]), &["a", "b"], false),
        ] {
            let asked = sought(numbers, within);
            let got = memory.find(&asked, &names(folders), now);
            assert_eq!(got.is_some(), found, "{asked:?} {folders:?}");
        }
        let folders = names(&["a", "b"]);
        for effort in [
            Effort {
                folders: 4,
                ..EFFORT
            },
            Effort {
                rounds: 4,
                ..EFFORT
            },
            Effort {
                messages: 4,
                ..EFFORT
            },
        ] {
            let asked = Sought {
                effort,
                ..sought(&[1], All)
            };
            assert_eq!(memory.find(&asked, &folders, now), None, "{effort:?}");
        }
        let asked = sought(&[1], All);
        let known = memory.find(&asked, &folders, now).unwrap();
        assert_eq!(memory.find(&asked, &folders, now + TRUSTED), None);
        memory.forget(&known);
        assert_eq!(memory.find(&asked, &folders, now), None);
        let other = sought(&[7], All);
        assert!(memory.find(&other, &folders, now).is_some());
    }

    #[test]
    fn it_says_where_to_look_and_in_which_order_it_was_told() {
        let memory = Gatherings::default();
        let now = Instant::now();
        keep(&memory, [4, 1, 3, 2].into_iter(), now);
        let folders = names(&["a", "b"]);
        let known = memory.find(&sought(&[1], All), &folders, now).unwrap();
        let uids = |uids: [u32; 2]| uids.into_iter().map(Uid).collect::<UidSet>();
        let spot = edge(1, 9_000_000, 10);
        assert_eq!(known.spots(), [(spot, uids([2, 4])), (spot, uids([1, 3]))]);
        let all = |at: &[(usize, &str)]| -> Vec<Member> {
            at.iter().map(|(n, folder)| member(*n, folder)).collect()
        };
        let told = all(&[(4, "a"), (1, "b"), (3, "b"), (2, "a")]);
        for (came, same) in [
            (all(&[(1, "b"), (2, "a"), (3, "b"), (4, "a")]), true),
            (all(&[(1, "b"), (2, "a"), (3, "b")]), false),
            (all(&[(1, "b"), (2, "a"), (3, "b"), (5, "a")]), false),
            (all(&[(1, "b"), (2, "a"), (3, "b"), (4, "b")]), false),
            (all(&[(1, "b"), (2, "a"), (3, "b"), (4, "c")]), false),
        ] {
            let want = same.then(|| told.clone());
            assert_eq!(known.in_order(&folders, came), want);
        }
    }

    #[test]
    fn a_folder_is_as_it_was_while_nothing_came() {
        let before = edge(1, 10, 5);
        for (now, still) in [
            (Some(edge(1, 10, 5)), true),
            // Something went.
            (Some(edge(1, 10, 2)), true),
            (Some(edge(1, 11, 5)), false),
            (Some(edge(1, 9, 5)), false),
            (Some(edge(2, 10, 5)), false),
            (Some(edge(1, 10, 6)), false),
            (None, false),
        ] {
            assert_eq!(before.is_still(now), still, "{now:?}");
        }
    }

    #[test]
    fn it_stays_within_its_bounds_and_the_oldest_goes_first() {
        let now = Instant::now();
        let folders = names(&["a", "b"]);
        let has = |memory: &Gatherings, number| {
            let asked = sought(&[number], All);
            memory.find(&asked, &folders, now).is_some()
        };
        let memory = Gatherings::default();
        for number in 1..=3 * MOST {
            keep(&memory, std::iter::once(number), now);
        }
        assert_eq!(memory.lock().len(), MOST);
        assert!(has(&memory, 3 * MOST) && has(&memory, 2 * MOST + 1) && !has(&memory, 2 * MOST));
        // The same again is kept once.
        keep(&memory, [3 * MOST, 9_999].into_iter(), now);
        assert_eq!(memory.lock().len(), MOST);
        assert!(has(&memory, 2 * MOST + 1));
        // What is too old goes without being pushed.
        keep(&memory, std::iter::once(1), now + TRUSTED);
        assert_eq!(memory.lock().len(), 1);

        let memory = Gatherings::default();
        for number in 0..MOST {
            let first = 1 + number * MOST_MEMBERS;
            keep(&memory, first..first + MOST_MEMBERS, now);
            let octets: usize = memory.lock().iter().map(|one| one.octets()).sum();
            assert!(octets <= MOST_OCTETS);
        }
        let kept = memory.lock().len();
        assert!(kept > MOST_OCTETS / 8_000 && kept < MOST, "{kept}");
        keep(&memory, 1_000_000..=1_000_000 + MOST_MEMBERS, now);
        assert!(!has(&memory, 1_000_000), "too long");
        // Nothing that lies in no folder that was searched.
        let lost = [member(1, "c")];
        let edges = vec![edge(1, 2, 1); 2];
        let memory = Gatherings::default();
        memory.keep(&sought(&[1], All), &folders, edges, &lost, now);
        keep(&memory, std::iter::empty(), now);
        assert_eq!(memory.lock().len(), 0);
    }
}
