//! Which parts are the body: what a mail program would show of the MIME tree (RFC 2046 section 5.1,
//! RFC 2387, RFC 1847), decided from the structure alone, in the same way for every source.
//!
//! Of a multipart/alternative the last branch that can be rendered is shown, of a multipart/related
//! the root, of a multipart/signed the first part, of a multipart/encrypted nothing, and of any
//! other multipart all texts in order.

use std::collections::{BTreeSet, HashMap};

use mail::{Disposition, Leaf, Multipart, Section, Structure};

/// What a leaf is in its message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// Shown as text.
    Body,
    /// A plain-text version of a body text that is shown in another form: compared with it.
    Plain,
    /// Another version of a body text, which is not shown.
    Version,
    Attachment,
}

impl Role {
    /// The text of the part is needed.
    pub(crate) fn is_read(self) -> bool {
        matches!(self, Self::Body | Self::Plain)
    }
}

/// The parts of a message that are shown, and the versions that are shown in place of others.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Selection {
    /// One for each leaf.
    pub roles: Vec<Role>,
    /// Those whose shown branch has plain-text versions beside it, inner ones first.
    pub alternatives: Vec<Alternative>,
}

/// A multipart/alternative of the body. Branches are named by their section numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Alternative {
    pub shown: Vec<u32>,
    /// Branches of plain text alone.
    pub plain: Vec<Vec<u32>>,
}

/// Whether a part lies in a branch.
pub(crate) fn is_in(section: &Section, branch: &[u32]) -> bool {
    section.path().starts_with(branch)
}

/// One for each leaf.
pub(crate) fn roles(structure: &Structure) -> Vec<Role> {
    selection(structure).roles
}

pub(crate) fn selection(structure: &Structure) -> Selection {
    let mut tree = PartTree::new(structure);
    // Inner multiparts first: what they show is known when the outer ones choose.
    let mut multiparts: Vec<&Multipart> = structure.multiparts.iter().collect();
    multiparts.sort_by_key(|multipart| std::cmp::Reverse(multipart.path.len()));
    for multipart in multiparts {
        let children = tree.children.remove(multipart.path.as_slice());
        let node = tree.show(multipart, children.unwrap_or_default());
        match multipart.path.split_last() {
            Some((number, _)) => tree.put(&multipart.path, *number, node),
            None => tree.put(&[], 0, node),
        }
    }
    let rest = tree.children.remove(&[][..]).unwrap_or_default();
    let body = all(in_order(rest));
    tree.selection(&body)
}

/// The same message without its attachments, for callers who may not know of them.
pub fn bodies(structure: &Structure) -> Structure {
    let leaves = structure.leaves.iter().zip(roles(structure));
    Structure {
        leaves: leaves
            .filter(|(_, role)| *role != Role::Attachment)
            .map(|(leaf, _)| leaf.clone())
            .collect(),
        multiparts: structure.multiparts.clone(),
        cut: structure.cut,
    }
}

/// The leaves that are attachments: what tools list, what a search calls an attachment, and no others.
pub(crate) fn attached<'a>(
    structure: &'a Structure,
    roles: &'a [Role],
) -> impl Iterator<Item = &'a Leaf> + Clone {
    let leaves = structure.leaves.iter().zip(roles);
    leaves
        .filter(|(_, role)| **role == Role::Attachment)
        .map(|(leaf, _)| leaf)
}

pub(crate) fn is_html(leaf: &Leaf) -> bool {
    leaf.mime_type == "text/html"
}

/// `text/enriched` (RFC 1896) and its predecessor `text/richtext` (RFC 1341).
pub(crate) fn is_enriched(leaf: &Leaf) -> bool {
    matches!(leaf.mime_type.as_str(), "text/enriched" | "text/richtext")
}

/// An invitation that stands in the message rather than beside it.
pub(crate) fn is_inline_calendar(leaf: &Leaf) -> bool {
    leaf.mime_type == "text/calendar" && leaf.disposition != Some(Disposition::Attachment)
}

fn is_plain(leaf: &Leaf) -> bool {
    leaf.mime_type == "text/plain"
}

/// Whether mail programs show a type, when they have to choose.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Support {
    #[default]
    None,
    /// Some programs, as plain text.
    Partial,
    Full,
}

fn support(leaf: &Leaf) -> Support {
    match leaf.mime_type.as_str() {
        _ if leaf.disposition == Some(Disposition::Attachment) => Support::None,
        "text/plain" | "text/html" | "text/enriched" | "text/richtext" => Support::Full,
        other if is_prose(other) => Support::Partial,
        // A multipart among the leaves is one without parts: its text is all there is.
        other if other.starts_with("multipart/") => Support::Partial,
        _ => Support::None,
    }
}

/// Text that reads as it is: markdown, patches and the like.
fn is_prose(mime_type: &str) -> bool {
    const DATA: [&str; 14] = [
        "text/calendar",
        "text/vcard",
        "text/x-vcard",
        "text/directory",
        "text/csv",
        "text/tab-separated-values",
        "text/css",
        "text/javascript",
        "text/xml",
        "text/rtf",
        "text/rfc822-headers",
        "text/x-amp-html",
        "text/x-watch-html",
        "text/x-vcalendar",
    ];
    mime_type.starts_with("text/") && !DATA.contains(&mime_type)
}

/// The parts of the message that are not yet part of a larger one.
struct PartTree<'a> {
    structure: &'a Structure,
    multiparts: HashMap<&'a [u32], &'a Multipart>,
    /// For each multipart its parts, with their numbers.
    children: HashMap<&'a [u32], Vec<(u32, PartNode)>>,
    alternatives: Vec<BodyCandidate>,
}

/// What is shown of one part.
#[derive(Default)]
struct PartNode {
    /// Indices of leaves, in order.
    shown: Vec<usize>,
    /// Leaves that are left out because others are shown in their place.
    versions: Vec<usize>,
    support: Support,
    /// Index of the leaf, where the part is one.
    leaf: Option<usize>,
}

/// An alternative before it is known whether the body holds it.
struct BodyCandidate {
    branches: Alternative,
    shown: Vec<usize>,
    plain: Vec<usize>,
}

impl<'a> PartTree<'a> {
    fn new(structure: &'a Structure) -> Self {
        let multiparts = structure.multiparts.iter();
        let mut tree = Self {
            structure,
            multiparts: multiparts.map(|one| (one.path.as_slice(), one)).collect(),
            children: HashMap::new(),
            alternatives: Vec::new(),
        };
        let sole = structure.leaves.len() == 1 && !structure.cut;
        for (index, leaf) in structure.leaves.iter().enumerate() {
            let path = leaf.section.path();
            let support = support(leaf);
            let parent = tree.parent(path);
            // In a mixed multipart, a part with a file name is a file.
            let file = leaf.filename.is_some() && !sole && !chooses(tree.subtype(parent));
            let shown = support > Support::None && !file;
            let node = PartNode {
                shown: Vec::from_iter(shown.then_some(index)),
                support: if shown { support } else { Support::None },
                leaf: Some(index),
                ..PartNode::default()
            };
            tree.put(path, path.last().copied().unwrap_or_default(), node);
        }
        tree
    }

    /// The path of the innermost multipart around a part.
    fn parent(&self, path: &'a [u32]) -> &'a [u32] {
        let ends = (0..path.len()).rev();
        let mut around = ends.filter_map(|end| path.get(..end));
        around
            .find(|path| self.multiparts.contains_key(path))
            .unwrap_or_default()
    }

    fn subtype(&self, path: &[u32]) -> &str {
        let multipart = self.multiparts.get(path);
        multipart.map_or("mixed", |multipart| multipart.subtype.as_str())
    }

    fn put(&mut self, path: &'a [u32], number: u32, node: PartNode) {
        let parent = self.parent(path);
        self.children
            .entry(parent)
            .or_default()
            .push((number, node));
    }

    fn show(&mut self, multipart: &Multipart, children: Vec<(u32, PartNode)>) -> PartNode {
        let children = in_order(children);
        match multipart.subtype.as_str() {
            "alternative" => self.alternative(multipart, children),
            "related" => self.root(multipart, children),
            "signed" => {
                let mut children = children.into_iter();
                children
                    .next()
                    .map_or_else(PartNode::default, |(_, first)| PartNode {
                        leaf: None,
                        ..first
                    })
            }
            "encrypted" => PartNode::default(),
            _ => all(children),
        }
    }

    fn alternative(
        &mut self,
        multipart: &Multipart,
        mut children: Vec<(u32, PartNode)>,
    ) -> PartNode {
        let best = children.iter().map(|(_, node)| node.support).max();
        let best = best.filter(|best| *best > Support::None);
        let Some(at) = children
            .iter()
            .rposition(|(_, node)| Some(node.support) == best)
        else {
            return PartNode::default();
        };
        let (number, mut chosen) = children.remove(at);
        let branch = |number: u32| {
            let path = multipart.path.iter().copied();
            path.chain([number]).collect::<Vec<u32>>()
        };
        let leaf = |index: &usize| self.structure.leaves.get(*index);
        let is_plain = |shown: &[usize]| shown.iter().filter_map(leaf).all(is_plain);
        let mut candidate = BodyCandidate {
            branches: Alternative {
                shown: branch(number),
                plain: Vec::new(),
            },
            shown: chosen.shown.clone(),
            plain: Vec::new(),
        };
        let compares = !is_plain(&chosen.shown);
        for (number, other) in children {
            if compares && !other.shown.is_empty() && is_plain(&other.shown) {
                candidate.branches.plain.push(branch(number));
                candidate.plain.extend(&other.shown);
            }
            chosen.versions.extend(other.shown);
            chosen.versions.extend(other.versions);
        }
        if !candidate.plain.is_empty() {
            self.alternatives.push(candidate);
        }
        chosen.leaf = None;
        chosen
    }

    /// RFC 2387 section 3.2: the part that `start` names, else the first one.
    fn root(&self, multipart: &Multipart, mut children: Vec<(u32, PartNode)>) -> PartNode {
        let start = multipart.start.as_ref().map(|start| bare(start.bytes()));
        let start = start.filter(|start| !start.is_empty());
        let id = |node: &PartNode| {
            let leaf = self.structure.leaves.get(node.leaf?)?;
            leaf.content_id.as_ref().map(|id| bare(id.bytes()))
        };
        let named = start.and_then(|start| {
            let mut nodes = children.iter();
            nodes.position(|(_, node)| id(node) == Some(start))
        });
        let root = match named {
            Some(named) => Some(children.swap_remove(named)),
            // It may be one of those that were not seen.
            None if start.is_some() && self.structure.cut => None,
            None => children.into_iter().next(),
        };
        root.map_or_else(PartNode::default, |(_, root)| PartNode {
            leaf: None,
            ..root
        })
    }

    fn selection(self, body: &PartNode) -> Selection {
        let mut roles = vec![Role::Attachment; self.structure.leaves.len()];
        let mut set = |indices: &[usize], role: Role| {
            for index in indices {
                if let Some(place) = roles.get_mut(*index) {
                    *place = role;
                }
            }
        };
        set(&body.versions, Role::Version);
        let shown: BTreeSet<usize> = body.shown.iter().copied().collect();
        let of_body = |one: &BodyCandidate| one.shown.iter().all(|index| shown.contains(index));
        let candidates = self.alternatives.into_iter().filter(of_body);
        let alternatives = candidates.map(|one| {
            set(&one.plain, Role::Plain);
            one.branches
        });
        let alternatives = alternatives.collect();
        set(&body.shown, Role::Body);
        Selection {
            roles,
            alternatives,
        }
    }
}

/// Whether a multipart says which of its parts are shown, whatever their names.
fn chooses(subtype: &str) -> bool {
    matches!(subtype, "alternative" | "related" | "signed")
}

fn in_order(mut children: Vec<(u32, PartNode)>) -> Vec<(u32, PartNode)> {
    children.sort_by_key(|(number, _)| *number);
    children
}

fn all(children: Vec<(u32, PartNode)>) -> PartNode {
    let mut together = PartNode::default();
    for (_, node) in children {
        together.shown.extend(node.shown);
        together.versions.extend(node.versions);
        together.support = together.support.max(node.support);
    }
    together
}

/// A Content-ID without its angle brackets.
fn bare(id: &[u8]) -> &[u8] {
    let id = id.trim_ascii();
    let id = id.strip_prefix(b"<").unwrap_or(id);
    id.strip_suffix(b">").unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mail::{Flow, Raw};

    fn leaf(section: &str, mime_type: &str) -> Leaf {
        Leaf {
            section: Section::parse(section).unwrap(),
            mime_type: mime_type.to_owned(),
            charset: None,
            encoding: "7bit".to_owned(),
            octets: 100,
            disposition: None,
            filename: None,
            content_id: None,
            flow: Flow::Fixed,
        }
    }

    fn multipart(path: &[u32], subtype: &str) -> Multipart {
        Multipart {
            path: path.to_vec(),
            subtype: subtype.to_owned(),
            start: None,
        }
    }

    fn roles_of(multiparts: &[(&[u32], &str)], leaves: &[(&str, &str)]) -> String {
        let structure = Structure {
            leaves: leaves.iter().map(|(at, kind)| leaf(at, kind)).collect(),
            multiparts: multiparts
                .iter()
                .map(|(path, subtype)| multipart(path, subtype))
                .collect(),
            cut: false,
        };
        let roles = roles(&structure).into_iter();
        let letters = roles.map(|role| match role {
            Role::Body => 'B',
            Role::Plain => 'p',
            Role::Version => 'v',
            Role::Attachment => '.',
        });
        letters.collect()
    }

    #[test]
    fn each_multipart_subtype_selects_its_parts() {
        const PLAIN: &str = "text/plain";
        const HTML: &str = "text/html";
        for (multiparts, leaves, want) in [
            (&[][..], &[("1", PLAIN)][..], "B"),
            (&[], &[("1", "image/png")], "."),
            (&[(&[][..], "mixed")], &[("1", HTML), ("2", PLAIN)], "BB"),
            (&[(&[], "alternative")], &[("1", PLAIN), ("2", HTML)], "pB"),
            (&[(&[], "alternative")], &[("1", HTML), ("2", PLAIN)], "vB"),
            (
                &[(&[], "alternative")],
                &[("1", PLAIN), ("2", HTML), ("3", "text/calendar")],
                "pB.",
            ),
            (
                &[(&[], "alternative")],
                &[("1", PLAIN), ("2", HTML), ("3", "text/markdown")],
                "pBv",
            ),
            (
                &[(&[], "alternative")],
                &[("1", PLAIN), ("2", "text/markdown")],
                "Bv",
            ),
            (
                &[(&[], "alternative")],
                &[("1", "text/markdown"), ("2", "image/png")],
                "B.",
            ),
            (
                &[(&[], "alternative"), (&[2], "related")],
                &[("1", PLAIN), ("2.1", HTML), ("2.2", HTML)],
                "pB.",
            ),
            (
                &[(&[], "alternative"), (&[2], "related")],
                &[("1", PLAIN), ("2.1", "image/png"), ("2.2", HTML)],
                "B..",
            ),
            (
                &[(&[], "mixed"), (&[1], "alternative"), (&[2], "signed")],
                &[
                    ("1.1", PLAIN),
                    ("1.2", HTML),
                    ("2.1", PLAIN),
                    ("2.2", PLAIN),
                ],
                "pBB.",
            ),
            (&[(&[], "encrypted")], &[("1", PLAIN), ("2", PLAIN)], ".."),
            // An inner alternative that is not shown compares nothing.
            (
                &[(&[], "alternative"), (&[1], "alternative")],
                &[("1.1", PLAIN), ("1.2", HTML), ("2", HTML)],
                "vvB",
            ),
            // A multipart that nothing tells of is a mixed one.
            (&[], &[("1.1", PLAIN), ("1.2", HTML)], "BB"),
        ] {
            assert_eq!(
                roles_of(multiparts, leaves),
                want,
                "{multiparts:?} {leaves:?}"
            );
        }
    }

    #[test]
    fn file_name_outside_alternative_makes_attachment() {
        let named = |section: &str| Leaf {
            filename: Some(Raw::copied(b"a.txt")),
            ..leaf(section, "text/plain")
        };
        for (subtype, want) in [
            ("mixed", [Role::Attachment, Role::Attachment]),
            ("related", [Role::Body, Role::Attachment]),
            ("signed", [Role::Body, Role::Attachment]),
            ("alternative", [Role::Version, Role::Body]),
        ] {
            let structure = Structure {
                leaves: vec![named("1"), named("2")],
                multiparts: vec![multipart(&[], subtype)],
                cut: false,
            };
            assert_eq!(roles(&structure), want, "{subtype}");
        }
        let sole = Structure {
            leaves: vec![named("1")],
            ..Structure::default()
        };
        assert_eq!(roles(&sole), [Role::Body]);
    }

    #[test]
    fn start_parameter_selects_related_root() {
        let mut second = leaf("2", "text/html");
        second.content_id = Some(Raw::copied(b"<root@x>"));
        let mut structure = Structure {
            leaves: vec![leaf("1", "text/html"), second],
            multiparts: vec![multipart(&[], "related")],
            cut: false,
        };
        let mut check = |start: Option<&str>, cut: bool, want: [Role; 2]| {
            structure.multiparts[0].start = start.map(|start| Raw::copied(start.as_bytes()));
            structure.cut = cut;
            assert_eq!(roles(&structure), want, "{start:?}");
        };
        let (first, second) = (
            [Role::Body, Role::Attachment],
            [Role::Attachment, Role::Body],
        );
        check(None, false, first);
        check(Some("<root@x>"), false, second);
        check(Some(" root@x "), false, second);
        check(Some("<other@x>"), false, first);
        check(Some("<other@x>"), true, [Role::Attachment; 2]);
        check(Some("<>"), true, first);
    }
}
