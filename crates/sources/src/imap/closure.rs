//! Which of the messages that were found belong together: all that a chain of ids ties to what was sought.
//!
//! Pure: what is asked next is its frontier, and who asks is somebody else. A message that nothing ties yet waits, because
//! what ties it may come later.

use std::collections::{HashMap, HashSet};

use imap::ThreadId;
use mail::{HeaderId, Member};

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
    by_tie: HashMap<Tie, Vec<usize>>,
    tied: HashSet<Tie>,
    frontier: Vec<Tie>,
    members: Vec<Member>,
    most: usize,
    met_bound: bool,
}

impl Closure {
    pub(super) fn of(sought: &[HeaderId], most: usize) -> Self {
        let mut closure = Self {
            sought: sought.iter().cloned().collect(),
            waiting: Vec::new(),
            by_tie: HashMap::new(),
            tied: HashSet::new(),
            frontier: Vec::new(),
            members: Vec::new(),
            most,
            met_bound: false,
        };
        for id in sought {
            closure.tie(Tie::Id(id.clone()));
        }
        closure
    }

    pub(super) fn add(&mut self, found: Found) {
        let index = self.waiting.len();
        let ties = ties(&found);
        let joins = ties.iter().any(|tie| self.tied.contains(tie));
        for tie in ties {
            self.by_tie.entry(tie).or_default().push(index);
        }
        self.waiting.push(Some(found));
        if joins {
            self.join(index);
        }
    }

    /// What nobody has been asked for yet.
    pub(super) fn take_frontier(&mut self) -> Vec<Tie> {
        std::mem::take(&mut self.frontier)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.frontier.is_empty()
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
            if self.members.len() >= self.most {
                self.met_bound = true;
                if !self.make_room_for(&found) {
                    continue;
                }
            }
            for tie in ties(&found) {
                let others = self.by_tie.get(&tie).cloned().unwrap_or_default();
                if self.tie(tie) {
                    joining.extend(others);
                }
            }
            self.members.push(found.member);
        }
    }

    /// What was sought is never what is left out for lack of room.
    fn make_room_for(&mut self, found: &Found) -> bool {
        let is_sought = |one: &Member| {
            one.links
                .id
                .as_ref()
                .is_some_and(|id| self.sought.contains(id))
        };
        let other = self.members.iter().rposition(|one| !is_sought(one));
        match other.filter(|_| is_sought(&found.member)) {
            Some(place) => {
                self.members.remove(place);
                true
            }
            None => false,
        }
    }

    /// Whether it is new.
    fn tie(&mut self, tie: Tie) -> bool {
        let new = self.tied.insert(tie.clone());
        if new {
            self.frontier.push(tie);
        }
        new
    }
}

fn ties(found: &Found) -> Vec<Tie> {
    let ids = found.member.links.all().cloned().map(Tie::Id);
    let thread = found.thread.iter().cloned().map(Tie::Thread);
    ids.chain(thread).collect()
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
            uid: Uid(uid),
            order: 0,
            flags: None,
            arrived: None,
            size: None,
            envelope: None,
            structure: None,
            text: None,
        };
        Found {
            member: Member { at, links, summary },
            thread: thread.map(ThreadId::Gmail),
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
        let mut closure = Closure::of(&[id("a")], 100);
        assert_eq!(closure.take_frontier(), [Tie::Id(id("a"))]);
        closure.add(message(1, "z", &["y"], None));
        closure.add(message(2, "y", &["x"], None));
        assert!(closure.is_closed() && uids(&closure).is_empty());
        closure.add(message(3, "b", &["a", "x"], None));
        assert_eq!(uids(&closure), [1, 2, 3]);
        let mut frontier = closure.take_frontier();
        frontier.sort_by_key(|tie| format!("{tie:?}"));
        assert_eq!(frontier.len(), 4, "b, x, y and z");
        assert!(closure.is_closed());
    }

    #[test]
    fn a_server_that_ties_messages_is_believed() {
        let mut closure = Closure::of(&[id("a")], 100);
        closure.add(message(1, "b", &[], Some(7)));
        closure.add(message(2, "c", &[], Some(8)));
        closure.add(message(3, "a", &[], Some(7)));
        assert_eq!(uids(&closure), [1, 3]);
    }

    #[test]
    fn loops_and_long_chains_end_and_the_bound_is_told() {
        for (count, most, want) in [(20_000, 30_000, 20_000), (20_000, 50, 50), (9, 1, 1)] {
            let mut closure = Closure::of(&[id("0")], most);
            for number in (0..count).rev() {
                let next = ((number + 1) % count).to_string();
                closure.add(message(number + 1, &number.to_string(), &[&next], None));
            }
            assert_eq!(uids(&closure).len(), want);
            assert_eq!(closure.met_bound(), want < count as usize);
            assert!(uids(&closure).contains(&1), "what was sought is there");
        }
    }
}
