//! Which messages belong together: those that bear or name the same ids, over any number of steps.
//!
//! Order does not matter here, so every source comes to the same answer. THREAD=REFS leaves a link out where an id
//! already has another parent, and may then tell apart what is one here; it never joins what is two here.

use std::collections::HashMap;

use mail::{HeaderId, Links};

/// Every message in exactly one group; groups and their members ascend.
pub fn partition(links: &[Links]) -> Vec<Vec<usize>> {
    let mut places: HashMap<usize, usize> = HashMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (index, root) in roots(links.iter()).into_iter().enumerate() {
        let place = *places.entry(root).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        if let Some(group) = groups.get_mut(place) {
            group.push(index);
        }
    }
    groups
}

/// Those that belong together with `anchor`, ascending; nobody where there is no such message.
pub(super) fn kin<'a>(links: impl Iterator<Item = &'a Links>, anchor: usize) -> Vec<usize> {
    let roots = roots(links);
    let own = roots.get(anchor).copied();
    let all = roots.into_iter().enumerate();
    all.filter(|(_, root)| Some(*root) == own)
        .map(|(index, _)| index)
        .collect()
}

/// For each message a number that its whole group shares.
fn roots<'a>(links: impl Iterator<Item = &'a Links>) -> Vec<usize> {
    let mut sets = Sets::default();
    let mut names: HashMap<&HeaderId, usize> = HashMap::new();
    let mut nodes = Vec::new();
    for one in links {
        let node = sets.add();
        for id in one.all() {
            let name = *names.entry(id).or_insert_with(|| sets.add());
            sets.join(node, name);
        }
        nodes.push(node);
    }
    nodes.into_iter().map(|node| sets.root(node)).collect()
}

/// Disjoint sets: joined by size, with paths halved on the way, so that any number of steps stays near linear.
#[derive(Default)]
struct Sets {
    parents: Vec<usize>,
    sizes: Vec<u32>,
}

impl Sets {
    fn add(&mut self) -> usize {
        self.parents.push(self.parents.len());
        self.sizes.push(1);
        self.parents.len() - 1
    }

    fn parent(&self, node: usize) -> usize {
        self.parents.get(node).copied().unwrap_or(node)
    }

    fn root(&mut self, mut node: usize) -> usize {
        while self.parent(node) != node {
            let over = self.parent(self.parent(node));
            if let Some(parent) = self.parents.get_mut(node) {
                *parent = over;
            }
            node = over;
        }
        node
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        if one == other {
            return;
        }
        let size = |sets: &Self, node: usize| sets.sizes.get(node).copied().unwrap_or(0);
        let (small, large) = match size(self, one) < size(self, other) {
            true => (one, other),
            false => (other, one),
        };
        let sum = size(self, small).saturating_add(size(self, large));
        if let Some(parent) = self.parents.get_mut(small) {
            *parent = large;
        }
        if let Some(size) = self.sizes.get_mut(large) {
            *size = sum;
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// `a < b c` is message `a` that names `b` and `c`, the nearest last; `_` has no id.
    pub(in crate::thread) fn links(text: &str) -> Links {
        let (own, named) = text.split_once('<').unwrap_or((text, ""));
        let id = |name: &str| HeaderId::new(name.as_bytes()).unwrap();
        Links {
            id: Some(own.trim())
                .filter(|own| *own != "_" && !own.is_empty())
                .map(id),
            references: named.split_whitespace().map(id).collect(),
            in_reply_to: Vec::new(),
        }
    }

    fn groups(messages: &[&str]) -> Vec<Vec<usize>> {
        let links: Vec<Links> = messages.iter().map(|text| links(text)).collect();
        partition(&links)
    }

    #[test]
    fn messages_belong_together_by_what_they_bear_and_name() {
        for (what, messages, want) in [
            ("nothing", &[][..], &[][..]),
            ("strangers", &["a", "b"], &[&[0][..], &[1]]),
            ("an answer", &["a", "b < a"], &[&[0, 1]]),
            ("the answer first", &["b < a", "a"], &[&[0, 1]]),
            ("a missing root", &["b < a", "c < a"], &[&[0, 1]]),
            ("a missing link", &["a", "c < a b"], &[&[0, 1]]),
            (
                "a fork",
                &["a", "b < a", "c < a", "d < a c"],
                &[&[0, 1, 2, 3]],
            ),
            (
                "only far ancestors in common",
                &["c < a b", "d < a x"],
                &[&[0, 1]],
            ),
            ("the same id twice", &["a", "a", "b"], &[&[0, 1], &[2]]),
            ("a name of oneself", &["a < a", "b"], &[&[0], &[1]]),
            (
                "a loop",
                &["a < b", "b < c", "c < a", "d"],
                &[&[0, 1, 2], &[3]],
            ),
            (
                "no id at all",
                &["_ < a", "_", "_", "a"],
                &[&[0, 3], &[1], &[2]],
            ),
            (
                "two parents for one",
                &["z", "p < x y", "q < z y"],
                &[&[0, 1, 2]],
            ),
            (
                "two conversations in turn",
                &["a", "x", "b < a", "y < x"],
                &[&[0, 2], &[1, 3]],
            ),
        ] {
            assert_eq!(groups(messages), want, "{what}");
        }
    }

    #[test]
    fn only_the_first_of_in_reply_to_counts_and_only_without_references() {
        let id = |name: &str| HeaderId::new(name.as_bytes()).unwrap();
        let mut answer = links("b");
        answer.in_reply_to = vec![id("a"), id("c")];
        let all = [links("a"), answer.clone(), links("c")];
        assert_eq!(partition(&all), [vec![0, 1], vec![2]]);
        answer.references = vec![id("c")];
        let all = [links("a"), answer, links("c")];
        assert_eq!(partition(&all), [vec![0], vec![1, 2]]);
    }

    #[test]
    fn depth_is_no_danger() {
        let chain: Vec<Links> = (0..20_000_u32)
            .rev()
            .map(|n| links(&format!("{} < {n}", n + 1)))
            .collect();
        assert_eq!(partition(&chain).len(), 1);
        assert_eq!(kin(chain.iter(), 7).len(), chain.len());
        assert!(kin(chain.iter(), chain.len()).is_empty());
    }
}
