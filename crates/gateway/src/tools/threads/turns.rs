//! Messages out of their copies: one that is known by its id, or a whole conversation, every message once, in the order in
//! which it was said.
//!
//! INVARIANT: they are made of visible messages alone. What only a hidden one ties together is not together here, as if
//! that one did not exist.

use content::thread::{self, Node};
use jiff::Timestamp;
use mail::{HeaderId, Level};

use crate::guarded_mail::Known;

#[derive(Default)]
pub(super) struct Turns {
    pub turns: Vec<Turn>,
    /// Messages that are named here and were not found.
    pub missing: Vec<HeaderId>,
    /// Turns with the same Message-ID that are different messages.
    pub namesakes: Vec<Vec<usize>>,
}

pub(super) struct Turn {
    pub copies: Copies,
    /// The turn that it answers.
    pub parent: Option<usize>,
    /// When it was said.
    pub time: Option<Timestamp>,
}

/// One message: the copy to read, and the others.
pub(super) struct Copies {
    pub read: Known,
    pub others: Vec<Known>,
}

impl Copies {
    /// The best one that may be had as a file, of those that are here if there are any.
    pub(super) fn whole(&self) -> Option<&Known> {
        let all = || std::iter::once(&self.read).chain(&self.others);
        let mut may = all().filter(|known| known.level() >= Level::Full);
        may.clone()
            .find(|known| known.is_here())
            .or_else(|| may.next())
    }

    /// Where it lies too.
    pub(super) fn also_in(&self) -> Vec<String> {
        let others = self.others.iter();
        others.map(|known| known.at().to_string()).collect()
    }
}

/// The message of this id, and other messages that bear the same.
pub(super) struct Named {
    pub message: Copies,
    pub namesakes: Vec<Copies>,
}

pub(super) fn named(members: Vec<Known>, id: &HeaderId) -> Option<Named> {
    let own = |known: &Known| known.member.links.id.as_ref() == Some(id);
    let members: Vec<Known> = members.into_iter().filter(own).collect();
    let groups = thread::copies(&nodes(&members));
    let mut pile = Pile::new(members);
    let mut messages = groups
        .into_iter()
        .filter_map(|group| pile.take(group.into_iter()));
    Some(Named {
        message: messages.next()?,
        namesakes: messages.collect(),
    })
}

/// Around the message of this id, or around one that names it where it is not here itself.
pub(super) fn of(members: Vec<Known>, id: &HeaderId) -> Turns {
    let nodes = nodes(&members);
    let has = |known: &Known| known.member.links.id.as_ref() == Some(id);
    let names = |known: &Known| known.member.links.all().any(|one| one == id);
    let anchor = members.iter().position(has);
    let Some(anchor) = anchor.or_else(|| members.iter().position(names)) else {
        return Turns::default();
    };
    let found = thread::conversation(&nodes, anchor);
    let times: Vec<Option<Timestamp>> = nodes.iter().map(Node::time).collect();
    let mut pile = Pile::new(members);
    let turns = found.turns.into_iter().filter_map(|turn| {
        let all = std::iter::once(turn.index).chain(turn.copies);
        Some(Turn {
            copies: pile.take(all)?,
            parent: turn.parent,
            time: times.get(turn.index).copied().flatten(),
        })
    });
    Turns {
        turns: turns.collect(),
        missing: found.missing,
        namesakes: found.namesakes,
    }
}

/// At the same moment the inbox is the better place, then as they come.
fn nodes(members: &[Known]) -> Vec<Node<'_>> {
    let each = (0..).zip(members);
    each.map(|(rank, known)| known.node(rank)).collect()
}

/// Members, to be taken by their places, each once.
struct Pile(Vec<Option<Known>>);

impl Pile {
    fn new(members: Vec<Known>) -> Self {
        Self(members.into_iter().map(Some).collect())
    }

    fn take(&mut self, places: impl Iterator<Item = usize>) -> Option<Copies> {
        let mut taken = places.filter_map(|place| self.0.get_mut(place)?.take());
        Some(Copies {
            read: taken.next()?,
            others: taken.collect(),
        })
    }
}
