//! The conversation around one message: every message once, who answers whom, in the order in which it was said.
//!
//! A reply never stands before what it answers, whatever the clocks say; else time decides: when a message was sent, or when
//! it arrived if that was earlier, because nothing arrives before it is sent. What has no time stands right behind what
//! it answers.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

use jiff::Timestamp;
use mail::{HeaderId, Links, Member};

use super::copies::{Likeness, Text, gather};
use super::groups::kin;

/// One copy of a message, as far as threading looks at it.
#[derive(Clone, Debug)]
pub struct Node<'a> {
    pub links: &'a Links,
    /// What the header says.
    pub sent: Option<Timestamp>,
    pub arrived: Option<Timestamp>,
    /// Of copies with a text that came at the same time, the one with the least rank is read.
    pub rank: u32,
    pub text: Text,
    pub likeness: Likeness,
}

impl<'a> Node<'a> {
    pub fn new(member: &'a Member, rank: u32, text: Text, likeness: Likeness) -> Self {
        let summary = &member.summary;
        Self {
            links: &member.links,
            sent: crate::summary_envelope(summary)
                .as_ref()
                .and_then(crate::envelope::sent),
            arrived: summary.arrived,
            rank,
            text,
            likeness,
        }
    }

    /// When it was said.
    pub fn time(&self) -> Option<Timestamp> {
        match (self.sent, self.arrived) {
            (Some(sent), Some(arrived)) => Some(sent.min(arrived)),
            (sent, arrived) => sent.or(arrived),
        }
    }
}

#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Conversation {
    /// In the order in which it was said.
    pub turns: Vec<Turn>,
    /// Ids that messages here name and that none of them bears, each once.
    pub missing: Vec<HeaderId>,
    /// Turns that bear the same Message-ID and yet are different messages, as places in `turns`.
    pub namesakes: Vec<Vec<usize>>,
}

/// One message of a conversation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Turn {
    /// The copy to read, as a place in what was given.
    pub index: usize,
    /// Its other copies, the better ones first.
    pub copies: Vec<usize>,
    /// When it was said, as far as any copy tells.
    pub time: Option<Timestamp>,
    /// The turn it answers, as a place in `turns`, always an earlier one: of all that it names, the nearest that is here.
    pub parent: Option<usize>,
    /// Turns above it.
    pub depth: u32,
}

/// All that belong together with the message at `anchor`; nothing where there is none.
pub fn conversation(nodes: &[Node<'_>], anchor: usize) -> Conversation {
    let members = kin(nodes.iter().map(|node| node.links), anchor);
    let groups = gather(nodes, &members);
    let drafts: Vec<Draft> = groups
        .into_iter()
        .map(|group| Draft::new(nodes, group))
        .collect();
    let bearers = bearers(nodes, &drafts);
    let mut parents: Vec<Option<usize>> = drafts
        .iter()
        .enumerate()
        .map(|(own, draft)| draft.nearest(nodes, &bearers, own))
        .collect();
    open_loops(&mut parents, &drafts);
    let turns = in_order(drafts, &parents);
    Conversation {
        missing: missing(nodes, &turns, &bearers),
        namesakes: namesakes(nodes, &turns),
        turns,
    }
}

/// A turn without its place.
struct Draft {
    index: usize,
    copies: Vec<usize>,
    order: Order,
}

/// When it was said; at the same moment, how much stands above it, and then its id: the order of a store says nothing.
type Order = (Option<Timestamp>, usize, Option<HeaderId>, usize);

impl Draft {
    fn new(nodes: &[Node<'_>], mut group: Vec<usize>) -> Self {
        let times = group.iter().filter_map(|index| nodes.get(*index)?.time());
        let time = times.min();
        let copies = group.split_off(1.min(group.len()));
        let index = group.first().copied().unwrap_or_default();
        let links = nodes.get(index).map(|node| node.links);
        let above = links.map_or(0, |links| links.ancestors().len());
        let id = links.and_then(|links| links.id.clone());
        Self {
            index,
            copies,
            order: (time, above, id, index),
        }
    }

    fn nearest(&self, nodes: &[Node<'_>], bearers: &Bearers<'_>, own: usize) -> Option<usize> {
        // A copy may know more than the one that is read.
        let copies = std::iter::once(&self.index).chain(&self.copies);
        let named = copies
            .filter_map(|index| nodes.get(*index))
            .flat_map(|node| node.links.ancestors().iter().rev());
        let mut found = named.filter_map(|id| bearers.get(id).copied());
        found.find(|other| *other != own)
    }
}

/// Which draft bears an id; of namesakes the one that was said first.
type Bearers<'a> = HashMap<&'a HeaderId, usize>;

fn bearers<'a>(nodes: &[Node<'a>], drafts: &[Draft]) -> Bearers<'a> {
    let mut found: Bearers<'a> = HashMap::new();
    for (place, draft) in drafts.iter().enumerate() {
        let Some(id) = nodes
            .get(draft.index)
            .and_then(|node| node.links.id.as_ref())
        else {
            continue;
        };
        let held = found.entry(id).or_insert(place);
        if drafts
            .get(*held)
            .is_some_and(|held| draft.order < held.order)
        {
            *held = place;
        }
    }
    found
}

/// Where everybody answers somebody in a circle, the earliest answers nobody.
fn open_loops(parents: &mut [Option<usize>], drafts: &[Draft]) {
    // Which walk came by; a walk that meets itself has gone round.
    let mut walks = vec![0_usize; parents.len()];
    for start in 0..parents.len() {
        let mut at = Some(start);
        while let Some(here) = at {
            match walks.get(here).copied() {
                Some(0) => {}
                Some(walk) if walk == start + 1 => {
                    open(parents, drafts, here);
                    break;
                }
                _ => break,
            }
            if let Some(walk) = walks.get_mut(here) {
                *walk = start + 1;
            }
            at = parents.get(here).copied().flatten();
        }
    }
}

fn open(parents: &mut [Option<usize>], drafts: &[Draft], within: usize) {
    let key = |one: usize| drafts.get(one).map(|draft| &draft.order);
    let mut first = within;
    let mut at = parents.get(within).copied().flatten();
    while let Some(here) = at.filter(|here| *here != within) {
        if key(here) < key(first) {
            first = here;
        }
        at = parents.get(here).copied().flatten();
    }
    if let Some(parent) = parents.get_mut(first) {
        *parent = None;
    }
}

/// Of all whose parents are told, the earliest comes next.
fn in_order(drafts: Vec<Draft>, parents: &[Option<usize>]) -> Vec<Turn> {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); drafts.len()];
    let mut ready = BinaryHeap::new();
    let key = |place: usize| {
        let draft = drafts.get(place)?;
        Some(Reverse((&draft.order, place)))
    };
    for (place, parent) in parents.iter().enumerate() {
        match parent.and_then(|parent| children.get_mut(parent)) {
            Some(siblings) => siblings.push(place),
            None => ready.extend(key(place)),
        }
    }
    let mut turns: Vec<Turn> = Vec::with_capacity(drafts.len());
    let mut told: Vec<Option<usize>> = vec![None; drafts.len()];
    while let Some(Reverse((_, place))) = ready.pop() {
        let parent = parents.get(place).copied().flatten();
        let parent = parent.and_then(|parent| told.get(parent).copied().flatten());
        let above = parent.and_then(|parent| turns.get(parent));
        let depth = above.map_or(0, |above| above.depth + 1);
        if let Some(told) = told.get_mut(place) {
            *told = Some(turns.len());
        }
        if let Some(draft) = drafts.get(place) {
            turns.push(Turn {
                index: draft.index,
                copies: draft.copies.clone(),
                time: draft.order.0,
                parent,
                depth,
            });
        }
        for child in children.get(place).into_iter().flatten() {
            ready.extend(key(*child));
        }
    }
    turns
}

fn missing(nodes: &[Node<'_>], turns: &[Turn], bearers: &Bearers<'_>) -> Vec<HeaderId> {
    let copies = turns
        .iter()
        .flat_map(|turn| std::iter::once(&turn.index).chain(&turn.copies));
    let named = copies
        .filter_map(|index| nodes.get(*index))
        .flat_map(|node| node.links.ancestors());
    let mut seen = HashSet::new();
    named
        .filter(|id| !bearers.contains_key(id) && seen.insert(*id))
        .cloned()
        .collect()
}

fn namesakes(nodes: &[Node<'_>], turns: &[Turn]) -> Vec<Vec<usize>> {
    let mut bearing: HashMap<&HeaderId, Vec<usize>> = HashMap::new();
    for (place, turn) in turns.iter().enumerate() {
        let id = nodes
            .get(turn.index)
            .and_then(|node| node.links.id.as_ref());
        if let Some(id) = id {
            bearing.entry(id).or_default().push(place);
        }
    }
    let mut several: Vec<Vec<usize>> = bearing.into_values().filter(|all| all.len() > 1).collect();
    several.sort();
    several
}

#[cfg(test)]
mod tests;
