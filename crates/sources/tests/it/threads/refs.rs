//! THREAD=REFS as Dovecot does it, step by step as RFC 5256 section 3 says, with a list of what it leaves out.
//!
//! Written to be compared, not to be fast: it asks for every link whether it closes a circle.

use std::collections::{BTreeMap, HashMap};

use mail::{HeaderId, Links};

/// Why two that name each other are apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Lost {
    /// QUIRK: of two messages with one Message-ID only the first bears it (RFC 5256 section 3, step 1). The second stands
    /// where its own references put it: alone when it has none, although it is the same message.
    Twin,
    /// A References list says who stands above an id that has somebody above it already; the first who said so is believed.
    /// Which that is depends on the order of messages in the folder.
    Parent,
    /// QUIRK: a message that comes later and names others above itself, or nobody at all, leaves where the lists of others
    /// have put it. Those who stood there only because of them stay behind.
    Own,
    /// A link that would close a circle. The messages are together all the same, unless one has left its place for it.
    Loop,
    /// QUIRK: below more than a thousand ancestors Dovecot looks no further for a circle, and takes the link for one.
    Deep,
}

/// How far up a server looks for a circle before it takes a link for one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sight {
    /// QUIRK: Dovecot, as most releases of 2.3 are built.
    AThousand,
    /// Dovecot as some distributions have patched it.
    Unbounded,
}

impl Sight {
    fn most_above(self) -> usize {
        match self {
            Self::AThousand => 1_000,
            Self::Unbounded => usize::MAX - 1,
        }
    }
}

#[derive(Default)]
struct Forest {
    names: HashMap<HeaderId, usize>,
    parents: Vec<Option<usize>>,
    lost: Vec<(Lost, usize, usize)>,
    most_above: usize,
}

impl Forest {
    fn add(&mut self) -> usize {
        self.parents.push(None);
        self.parents.len() - 1
    }

    fn named(&mut self, id: &HeaderId) -> usize {
        if let Some(node) = self.names.get(id) {
            return *node;
        }
        let node = self.add();
        self.names.insert(id.clone(), node);
        node
    }

    fn root(&self, mut node: usize) -> usize {
        while let Some(parent) = self.parents[node] {
            node = parent;
        }
        node
    }

    /// Why a link is not made.
    fn refused(&self, parent: usize, child: usize) -> Option<Lost> {
        let mut here = parent;
        for _ in 0..=self.most_above {
            if here == child {
                return Some(Lost::Loop);
            }
            match self.parents[here] {
                Some(above) => here = above,
                None => return None,
            }
        }
        Some(Lost::Deep)
    }

    fn link(&mut self, parent: usize, child: usize) {
        if parent == child {
            return;
        }
        if let Some(why) = self.refused(parent, child) {
            self.lost.push((why, parent, child));
        } else if self.parents[child].is_none() {
            self.parents[child] = Some(parent);
        } else if self.parents[child] != Some(parent) {
            self.lost.push((Lost::Parent, parent, child));
        }
    }
}

/// How messages are told apart, and what was not looked at for it.
pub(super) struct Told {
    pub(super) partition: Vec<Vec<usize>>,
    forest: Forest,
    messages: Vec<usize>,
}

pub(super) fn refs(links: &[Links], sight: Sight) -> Told {
    let mut forest = Forest {
        most_above: sight.most_above(),
        ..Forest::default()
    };
    let mut messages = Vec::new();
    let mut borne: HashMap<&HeaderId, usize> = HashMap::new();
    for one in links {
        let node = match &one.id {
            Some(id) if !borne.contains_key(id) => {
                let node = forest.named(id);
                borne.insert(id, node);
                node
            }
            Some(id) => {
                let node = forest.add();
                forest.lost.push((Lost::Twin, borne[id], node));
                node
            }
            None => forest.add(),
        };
        let named: Vec<usize> = one.ancestors().iter().map(|id| forest.named(id)).collect();
        for pair in named.windows(2) {
            forest.link(pair[0], pair[1]);
        }
        let own = named.last().copied();
        if let Some(given) = forest.parents[node].filter(|given| Some(*given) != own) {
            forest.parents[node] = None;
            forest.lost.push((Lost::Own, given, node));
        }
        if let Some(own) = own {
            forest.link(own, node);
        }
        messages.push(node);
    }
    let partition = partition(&messages, |node| forest.root(node));
    Told {
        partition,
        forest,
        messages,
    }
}

fn partition(messages: &[usize], root: impl Fn(usize) -> usize) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (place, node) in messages.iter().enumerate() {
        groups.entry(root(*node)).or_default().push(place);
    }
    groups.into_values().collect()
}

impl Told {
    /// The partition when nothing is left out, and how many links of each kind changed it.
    pub(super) fn joined(&self) -> (Vec<Vec<usize>>, BTreeMap<Lost, usize>) {
        let forest = &self.forest;
        let mut sets: Vec<usize> = (0..forest.parents.len())
            .map(|node| forest.root(node))
            .collect();
        let mut counts = BTreeMap::new();
        for (kind, one, other) in &forest.lost {
            let (one, other) = (top(&sets, *one), top(&sets, *other));
            if one != other {
                sets[one] = other;
                *counts.entry(*kind).or_insert(0) += 1;
            }
        }
        (partition(&self.messages, |node| top(&sets, node)), counts)
    }
}

fn top(sets: &[usize], mut node: usize) -> usize {
    while sets[node] != node {
        node = sets[node];
    }
    node
}
