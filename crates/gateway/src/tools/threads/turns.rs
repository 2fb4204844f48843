//! A conversation out of what was found: every message once, in the order in which it was said.
//!
//! INVARIANT: it is made of visible messages alone. What only a hidden one ties together is not together here, as if that
//! one did not exist.

use content::thread::{self, Node, Text};
use jiff::Timestamp;
use mail::HeaderId;

use super::email::is_open;
use crate::guarded_mail::{Kin, Known};

pub(super) struct Turns<'k> {
    pub turns: Vec<Turn<'k>>,
    /// Messages that are named here and were not found.
    pub missing: Vec<HeaderId>,
    /// Turns with the same Message-ID that are different messages.
    pub namesakes: Vec<Vec<usize>>,
}

pub(super) struct Turn<'k> {
    pub known: &'k Known,
    pub copies: Vec<&'k Known>,
    /// The turn that it answers.
    pub parent: Option<usize>,
    /// When it was said.
    pub time: Option<Timestamp>,
}

/// Around the message of this id, or around one that names it where it is not here itself.
pub(super) fn of<'k>(kin: &'k Kin, id: &HeaderId) -> Turns<'k> {
    let members = &kin.members;
    let nodes: Vec<Node<'_>> = (0..)
        .zip(members)
        .map(|(rank, known)| {
            let text = match is_open(known) {
                true => Text::Here,
                false => Text::Missing,
            };
            Node::new(&known.member, rank, text)
        })
        .collect();
    let has = |known: &&Known| known.member.links.id.as_ref() == Some(id);
    let names = |known: &&Known| known.member.links.all().any(|one| one == id);
    let place = |is: &dyn Fn(&&Known) -> bool| members.iter().position(|known| is(&known));
    let Some(anchor) = place(&has).or_else(|| place(&names)) else {
        return Turns {
            turns: Vec::new(),
            missing: Vec::new(),
            namesakes: Vec::new(),
        };
    };
    let found = thread::conversation(&nodes, anchor);
    let turns = found.turns.into_iter().filter_map(|turn| {
        let copies = turn.copies.iter();
        Some(Turn {
            known: members.get(turn.index)?,
            copies: copies.filter_map(|copy| members.get(*copy)).collect(),
            parent: turn.parent,
            time: nodes.get(turn.index).and_then(Node::time),
        })
    });
    Turns {
        turns: turns.collect(),
        missing: found.missing,
        namesakes: found.namesakes,
    }
}
