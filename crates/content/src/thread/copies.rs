//! Copies: which messages are one message that lies in several places, and which only claim to be.
//!
//! The same Message-ID alone is no proof: anybody can write any. From, Date, the base of the Subject and the sizes of the
//! parts must agree as well, as far as they are known; the size of the whole need not, because every way adds its own
//! header fields. Texts are not compared here.

use std::collections::HashMap;

use mail::{Envelope, HeaderId, Raw, Summary};

use super::conversation::Node;
use super::subject::base;
use crate::words;

/// Whether the text of a copy is at hand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Text {
    Here,
    /// The store holds no more than its header.
    Missing,
}

/// What a message says of itself, to tell copies from strangers under the same id.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Likeness {
    /// From, Date and Subject, where at least one is there.
    head: Option<String>,
    /// Type and size of every part.
    parts: Option<String>,
    size: Option<u64>,
}

impl std::fmt::Debug for Likeness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // INVARIANT: mail content appears in no log at any level, so neither in Debug output.
        f.write_str("Likeness")
    }
}

impl Likeness {
    pub fn of(summary: &Summary) -> Self {
        let structure = summary.structure.as_deref().filter(|found| !found.cut);
        let parts = structure.map(|found| {
            let leaves = found.leaves.iter();
            let each = leaves.map(|leaf| format!("{} {}\n", leaf.mime_type, leaf.octets));
            each.collect()
        });
        Self {
            head: crate::summary_envelope(summary).as_ref().and_then(head),
            parts,
            size: summary.size,
        }
    }
}

fn head(envelope: &Envelope) -> Option<String> {
    let plain = |raw: Option<&Raw>| raw.map(|raw| words::decoded(raw.bytes()));
    let from = envelope.from.first();
    let mailbox = plain(from.and_then(|one| one.mailbox.as_ref()));
    let host = plain(from.and_then(|one| one.host.as_ref()));
    let date = envelope.date.as_ref().map(|raw| {
        let sent = crate::envelope::sent(envelope).map(|time| time.to_string());
        sent.unwrap_or_else(|| words::decoded(raw.bytes()))
    });
    let subject = plain(envelope.subject.as_ref());
    if mailbox.is_none() && date.is_none() && subject.is_none() {
        return None;
    }
    let [mailbox, host, date, subject] =
        [mailbox, host, date, subject].map(Option::unwrap_or_default);
    let (host, subject) = (host.to_lowercase(), base(&subject).to_lowercase());
    Some([mailbox, host, date, subject].join("\n"))
}

/// Which of these are one message, whatever ties them to others: each message as its copies, the one to read first. The
/// message with the best copy comes first.
pub fn copies(nodes: &[Node<'_>]) -> Vec<Vec<usize>> {
    let all: Vec<usize> = (0..nodes.len()).collect();
    let mut groups = gather(nodes, &all);
    groups.sort_by_key(|group| group.first().map(|best| preference(nodes, *best)));
    groups
}

/// Members that are one message: the copy to read first, then the others, the better ones before.
pub(super) fn gather(nodes: &[Node<'_>], members: &[usize]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut places: HashMap<Mark<'_>, usize> = HashMap::new();
    // Where the first with an id and a head stands, for copies whose parts nobody knows.
    let mut firsts: HashMap<(&HeaderId, Option<&str>), usize> = HashMap::new();
    let known = |index: &&usize| {
        let node = nodes.get(**index);
        node.is_some_and(|node| node.likeness.parts.is_some())
    };
    let unknown = members.iter().filter(|index| !known(index));
    for &index in members.iter().filter(known).chain(unknown) {
        let Some(node) = nodes.get(index) else {
            continue;
        };
        let likeness = &node.likeness;
        let kin = node
            .links
            .id
            .as_ref()
            .map(|id| (id, likeness.head.as_deref()));
        let place = match (kin, &likeness.parts) {
            (Some(kin), None) => firsts.get(&kin).copied(),
            _ => mark(node).and_then(|mark| places.get(&mark).copied()),
        };
        let place = place.unwrap_or(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
        if let Some(kin) = kin {
            firsts.entry(kin).or_insert(place);
        }
        if let Some(mark) = mark(node) {
            places.entry(mark).or_insert(place);
        }
    }
    for group in &mut groups {
        group.sort_by_key(|index| preference(nodes, *index));
    }
    groups
}

/// Two with the same mark are one message.
#[derive(PartialEq, Eq, Hash)]
enum Mark<'a> {
    Named(&'a HeaderId, Option<&'a str>, Option<&'a str>),
    /// Without an id everything must be there, and agree.
    Bare(&'a str, &'a str, u64),
}

fn mark<'a>(node: &'a Node<'_>) -> Option<Mark<'a>> {
    let Likeness { head, parts, size } = &node.likeness;
    match &node.links.id {
        Some(id) => Some(Mark::Named(id, head.as_deref(), parts.as_deref())),
        None => Some(Mark::Bare(head.as_deref()?, parts.as_deref()?, (*size)?)),
    }
}

/// The least is read: one with a text, then the one that came first, then as the caller ranks it. Who forges a copy comes
/// later than what is copied, whatever folder it gets into.
fn preference(nodes: &[Node<'_>], index: usize) -> impl Ord + use<> {
    let node = nodes.get(index);
    let missing = node.is_none_or(|node| node.text == Text::Missing);
    let arrived = node.and_then(|node| node.arrived);
    let rank = node.map_or(u32::MAX, |node| node.rank);
    (missing, arrived.is_none(), arrived, rank, index)
}
