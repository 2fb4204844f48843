//! Which of the messages that were found belong together: all that a chain of ids ties to what was sought.
//!
//! Pure: what is asked next is its frontier, and who asks is somebody else. A message that nothing ties yet waits, because
//! what ties it may come later.

use std::collections::{HashMap, HashSet};

use imap::ThreadId;
use mail::{HeaderId, Member};

/// Of the messages that one names so many are asked for: the nearest, and the first. A longer list is whole all the same
/// where those are there which stand between: each of them asks for its own nearest.
pub(super) const MOST_OF_ONE: usize = 100;

/// So many names are kept, in all of the messages: nine hundred that each name all before them.
const MOST_NAMES: usize = 500_000;

/// What ties messages together.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Tie {
    /// One has it, or names it.
    Id(HeaderId),
    /// The server says that they are of one conversation.
    Thread(ThreadId),
}

/// A message that was found, and what the server says it is part of.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Found {
    pub member: Member,
    pub thread: Option<ThreadId>,
}

pub(super) struct Closure {
    sought: HashSet<HeaderId>,
    /// Taken out where it has joined.
    waiting: Vec<Option<Found>>,
    /// Who waits for a tie. What is tied is waited for by nobody.
    by_tie: HashMap<Tie, Vec<usize>>,
    tied: HashSet<Tie>,
    /// What is tied and nobody has been asked for.
    open: HashMap<Tie, Rank>,
    members: Vec<Member>,
    names: usize,
    bounds: Bounds,
    met_bound: bool,
}

/// How much may come together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Bounds {
    pub members: usize,
    /// Ties that are asked for: of messages themselves, of those that they answer, and of where it began.
    pub asked: usize,
    /// And of those between. They have room of their own, for a list may name whom it likes.
    pub asked_afar: usize,
}

/// What is asked for first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    /// From the message that is nearest to it.
    distance: usize,
    order: usize,
}

impl Closure {
    pub(super) fn of(sought: &[HeaderId], bounds: Bounds) -> Self {
        let mut closure = Self {
            sought: sought.iter().cloned().collect(),
            waiting: Vec::new(),
            by_tie: HashMap::new(),
            tied: HashSet::new(),
            open: HashMap::new(),
            members: Vec::new(),
            names: 0,
            bounds,
            met_bound: false,
        };
        for id in sought {
            closure.tie(Tie::Id(id.clone()), 0);
        }
        closure
    }

    pub(super) fn add(&mut self, found: Found) {
        let index = self.waiting.len();
        let ties = ties(&found);
        self.names = self.names.saturating_add(ties.len());
        if self.names > MOST_NAMES && !self.is_sought(&found.member) {
            self.met_bound = true;
            return;
        }
        let mut joins = false;
        for (tie, _) in ties {
            match self.tied.contains(&tie) {
                true => joins = true,
                false => self.by_tie.entry(tie).or_default().push(index),
            }
        }
        self.waiting.push(Some(found));
        if joins {
            self.join(index);
        }
    }

    /// What nobody has been asked for yet, the nearest first, as far as anybody will be.
    pub(super) fn take_frontier(&mut self) -> Vec<Tie> {
        let mut open: Vec<(Rank, Tie)> = self
            .open
            .iter()
            .map(|(tie, rank)| (*rank, tie.clone()))
            .collect();
        open.sort_unstable_by_key(|(rank, _)| *rank);
        let mut frontier = Vec::new();
        for (rank, tie) in open {
            let Some(room) = self.bounds.room_for(rank) else {
                continue;
            };
            if *room > 0 {
                *room -= 1;
                self.open.remove(&tie);
                frontier.push(tie);
            }
        }
        frontier
    }

    /// Nothing more will be asked for.
    pub(super) fn is_closed(&self) -> bool {
        let mut bounds = self.bounds;
        let mut open = self.open.values();
        !open.any(|rank| bounds.room_for(*rank).is_some_and(|room| *room > 0))
    }

    /// Everything that ties was asked for, and everything that is tied is here.
    pub(super) fn is_whole(&self) -> bool {
        self.open.is_empty() && !self.met_bound
    }

    pub(super) fn members(&self) -> &[Member] {
        &self.members
    }

    /// More belong to it than were wanted.
    pub(super) fn met_bound(&self) -> bool {
        self.met_bound
    }

    pub(super) fn into_members(self) -> Vec<Member> {
        self.members
    }

    /// No recursion: a conversation may be a chain of thousands.
    fn join(&mut self, first: usize) {
        let mut joining = vec![first];
        while let Some(index) = joining.pop() {
            let Some(found) = self.waiting.get_mut(index).and_then(Option::take) else {
                continue;
            };
            if self.members.len() >= self.bounds.members {
                self.met_bound = true;
                if !self.make_room_for(&found) {
                    continue;
                }
            }
            for (tie, distance) in ties(&found) {
                joining.extend(self.tie(tie, distance));
            }
            self.members.push(found.member);
        }
    }

    /// What was sought is never what is left out for lack of room.
    fn make_room_for(&mut self, found: &Found) -> bool {
        if !self.is_sought(&found.member) {
            return false;
        }
        let other = self.members.iter().rposition(|one| !self.is_sought(one));
        if let Some(place) = other {
            self.members.remove(place);
        }
        other.is_some()
    }

    fn is_sought(&self, one: &Member) -> bool {
        let id = one.links.id.as_ref();
        id.is_some_and(|id| self.sought.contains(id))
    }

    /// Those who waited for it.
    fn tie(&mut self, tie: Tie, distance: usize) -> Vec<usize> {
        let order = self.tied.len();
        if let Some(rank) = self.open.get_mut(&tie) {
            rank.distance = rank.distance.min(distance);
        } else if self.tied.insert(tie.clone()) {
            let waited = self.by_tie.remove(&tie).unwrap_or_default();
            self.open.insert(tie, Rank { distance, order });
            return waited;
        }
        Vec::new()
    }
}

impl Bounds {
    /// None for what is too far away to be asked for.
    fn room_for(&mut self, rank: Rank) -> Option<&mut usize> {
        match rank.distance {
            0 | 1 => Some(&mut self.asked),
            2..=MOST_OF_ONE => Some(&mut self.asked_afar),
            _ => None,
        }
    }
}

/// With their distances.
fn ties(found: &Found) -> Vec<(Tie, usize)> {
    let links = &found.member.links;
    let thread = found.thread.iter().cloned().map(Tie::Thread);
    let own = links.id.iter().cloned().map(Tie::Id);
    let ancestors = links.ancestors();
    let named = ancestors.iter().enumerate().map(|(place, id)| {
        let distance = match place {
            // The first is where all of it began.
            0 => 1,
            _ => ancestors.len() - place,
        };
        (Tie::Id(id.clone()), distance)
    });
    let near = own.chain(thread).map(|tie| (tie, 0));
    near.chain(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mail::{AccountId, FolderName, Links, MessageRef, SourceKind, Summary, Uid, UidValidity};

    fn id(name: &str) -> HeaderId {
        HeaderId::new(name.as_bytes()).unwrap()
    }

    fn message(uid: u32, own: &str, names: &[&str], thread: Option<u64>) -> Found {
        let at = MessageRef {
            source: SourceKind::Imap,
            account: AccountId::new("a").unwrap(),
            folder: FolderName::new("INBOX").unwrap(),
            uidvalidity: UidValidity(1),
            uid: Uid(uid),
        };
        let links = Links {
            id: HeaderId::new(own.as_bytes()),
            references: names.iter().map(|name| id(name)).collect(),
            in_reply_to: Vec::new(),
        };
        let summary = Summary {
            store_id: None,
            uid: Uid(uid),
            order: 0,
            flags: None,
            arrived: None,
            size: None,
            header: None,
            structure: None,
            text: None,
        };
        Found {
            member: Member { at, links, summary },
            thread: thread.map(ThreadId::Gmail),
        }
    }

    fn bounds(members: usize) -> Bounds {
        Bounds {
            members,
            asked: usize::MAX,
            asked_afar: usize::MAX,
        }
    }

    fn uids(closure: &Closure) -> Vec<u32> {
        let each = closure.members().iter();
        let mut uids: Vec<u32> = each.map(|member| member.at.uid.0).collect();
        uids.sort_unstable();
        uids
    }

    #[test]
    fn what_is_tied_later_joins_later() {
        let mut closure = Closure::of(&[id("a")], bounds(100));
        assert_eq!(closure.take_frontier(), [Tie::Id(id("a"))]);
        closure.add(message(1, "z", &["y"], None));
        closure.add(message(2, "y", &["x"], None));
        assert!(closure.is_closed() && uids(&closure).is_empty());
        closure.add(message(3, "b", &["a", "x"], None));
        assert_eq!(uids(&closure), [1, 2, 3]);
        let mut frontier = closure.take_frontier();
        frontier.sort_by_key(|tie| format!("{tie:?}"));
        assert_eq!(frontier.len(), 4, "b, x, y and z");
        assert!(closure.is_closed() && closure.is_whole());
    }

    #[test]
    fn a_server_that_ties_messages_is_believed() {
        let mut closure = Closure::of(&[id("a")], bounds(100));
        closure.add(message(1, "b", &[], Some(7)));
        closure.add(message(2, "c", &[], Some(8)));
        closure.add(message(3, "a", &[], Some(7)));
        assert_eq!(uids(&closure), [1, 3]);
    }

    #[test]
    fn loops_and_long_chains_end_and_the_bound_is_told() {
        for (count, most, want) in [(20_000, 30_000, 20_000), (20_000, 50, 50), (9, 1, 1)] {
            let mut closure = Closure::of(&[id("0")], bounds(most));
            for number in (0..count).rev() {
                let next = ((number + 1) % count).to_string();
                closure.add(message(number + 1, &number.to_string(), &[&next], None));
            }
            assert_eq!(uids(&closure).len(), want);
            assert_eq!(closure.met_bound(), want < count as usize);
            assert!(uids(&closure).contains(&1), "what was sought is there");
        }
    }

    #[test]
    fn what_is_tied_is_waited_for_by_nobody() {
        let mut closure = Closure::of(&[id("0")], bounds(1_000));
        for number in 1..500 {
            closure.add(message(number, &number.to_string(), &["0"], Some(7)));
            let mut waited = closure.by_tie.keys();
            assert!(
                !waited.any(|tie| closure.tied.contains(tie)),
                "each is told once, not all of them to each"
            );
        }
        assert_eq!(uids(&closure).len(), 499);
    }

    /// Asks for what is open until nothing is, of a mailbox that holds these: who belongs to it, how many were asked for
    /// in each round, and whether that is all.
    fn gather(mail: &[Found], sought: &str, bounds: Bounds) -> (usize, Vec<usize>, bool) {
        let mut closure = Closure::of(&[id(sought)], bounds);
        let (mut asked, mut seen) = (Vec::new(), HashSet::new());
        while !closure.is_closed() {
            let frontier: HashSet<Tie> = closure.take_frontier().into_iter().collect();
            asked.push(frontier.len());
            for one in mail {
                let hit = ties(one).iter().any(|(tie, _)| frontier.contains(tie));
                if hit && seen.insert(one.member.at.uid) {
                    closure.add(one.clone());
                }
            }
        }
        (closure.members().len(), asked, closure.is_whole())
    }

    #[test]
    fn of_a_list_without_end_the_nearest_and_the_first_are_asked_for() {
        let names: Vec<String> = (0..1_000).map(|number| format!("n{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let hostile = message(1, "a", &names, None);
        // One that only the first ties, one that the nearest does, and one that none of those asked for does.
        let others = [
            message(2, "x", &["n0"], None),
            message(3, "y", &["n950"], None),
            message(4, "z", &["n500"], None),
        ];
        let mail = [&[hostile.clone()][..], &others].concat();
        let all = gather(&mail, "a", bounds(100));
        assert_eq!(all, (3, vec![1, 1 + MOST_OF_ONE, 2], false));
        // Where somebody else names it as the nearest it is no longer far away.
        let answer = message(5, "b", &["a", "n500"], None);
        let all = gather(&[&mail[..], &[answer]].concat(), "a", bounds(100));
        assert_eq!((all.0, all.2), (5, false));
    }

    #[test]
    fn a_long_chain_is_whole_though_each_names_all_before_it() {
        let ids: Vec<String> = (0..250).map(|number| format!("m{number}")).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let chain: Vec<Found> = (0..250)
            .map(|number| message(number as u32 + 1, ids[number], &ids[..number], None))
            .collect();
        for anchor in ["m0", "m3", "m125", "m249"] {
            let (members, asked, whole) = gather(&chain, anchor, bounds(1_000));
            assert_eq!((members, whole), (250, true), "{anchor}");
            assert_eq!(asked.iter().sum::<usize>(), 250, "each once");
        }
        // Its beginning and its middle are lost.
        for anchor in ["m120", "m249"] {
            let left: Vec<Found> = chain[100..]
                .iter()
                .filter(|one| !(130..190).contains(&one.member.at.uid.0))
                .cloned()
                .collect();
            let (members, _, whole) = gather(&left, anchor, bounds(1_000));
            assert_eq!((members, whole), (90, true), "{anchor}");
        }
    }

    #[test]
    fn the_lists_of_many_take_no_room_from_what_is_near() {
        let lists: Vec<Vec<String>> = (0..50)
            .map(|one| (0..200).map(|number| format!("n{one}.{number}")).collect())
            .collect();
        let mut mail: Vec<Found> = Vec::new();
        for (uid, list) in (1..).zip(&lists) {
            let mut names = vec!["a"];
            names.extend(list.iter().map(String::as_str));
            mail.push(message(uid, &format!("h{uid}"), &names, None));
        }
        for number in 0..50 {
            let own = format!("m{number}");
            let parent = match number {
                0 => "a".to_owned(),
                _ => format!("m{}", number - 1),
            };
            mail.push(message(100 + number, &own, &[&parent], None));
        }
        let bounds = Bounds {
            members: 1_000,
            asked: 200,
            asked_afar: 300,
        };
        let (members, asked, whole) = gather(&mail, "a", bounds);
        assert_eq!((members, whole), (100, false));
        assert!(asked.iter().sum::<usize>() <= 500);
    }

    #[test]
    fn names_without_end_are_not_kept_and_what_was_sought_is() {
        let names: Vec<String> = (0..1_000).map(|number| format!("n{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut closure = Closure::of(&[id("a")], bounds(10_000));
        for uid in 1..=600 {
            closure.add(message(uid, &format!("h{uid}"), &names, None));
        }
        closure.add(message(601, "a", &names, None));
        assert!(closure.met_bound() && !closure.is_whole());
        let found = uids(&closure);
        assert!(found.contains(&601) && (400..=500).contains(&found.len()));
    }
}
