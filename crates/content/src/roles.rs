//! What each leaf is in its message: body text, one version of it, a double, or an attachment.

use mail::{Disposition, Leaf, Structure};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// Shown as text.
    Body,
    /// The plain version of a text that HTML tells too; the number is that of their multipart/alternative.
    Plain(usize),
    /// The HTML version of a text that is there in plain too.
    Html(usize),
    /// Empty beside a version that is not.
    Double,
    Attachment,
}

impl Role {
    /// It may be body text.
    pub(crate) fn is_text(self) -> bool {
        matches!(self, Self::Body | Self::Plain(_) | Self::Html(_))
    }
}

/// One for each leaf.
pub(crate) fn roles(structure: &Structure) -> Vec<Role> {
    let leaves = &structure.leaves;
    let alternatives = alternatives(leaves);
    leaves
        .iter()
        .map(|leaf| {
            if is_body_text(leaf, structure) {
                version(leaf, &alternatives)
            } else {
                Role::Attachment
            }
        })
        .collect()
}

/// The same message without its attachments, for callers who may not know of them.
pub fn bodies(structure: &Structure) -> Structure {
    let leaves = structure.leaves.iter().zip(roles(structure));
    Structure {
        leaves: leaves
            .filter(|(_, role)| *role != Role::Attachment)
            .map(|(leaf, _)| leaf.clone())
            .collect(),
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

/// An invitation that stands in the message rather than beside it.
pub(crate) fn is_inline_calendar(leaf: &Leaf) -> bool {
    leaf.mime_type == "text/calendar" && leaf.disposition != Some(Disposition::Attachment)
}

fn is_plain(leaf: &Leaf) -> bool {
    leaf.mime_type == "text/plain"
}

fn is_body_text(leaf: &Leaf, structure: &Structure) -> bool {
    let sole = structure.leaves.len() == 1 && !structure.cut;
    let among = leaf.within.as_deref() == Some("alternative");
    let named = leaf.filename.is_some() && !sole && !among;
    let text = match leaf.mime_type.as_str() {
        "text/plain" | "text/html" => true,
        // A multipart among the leaves is one without parts: its text is all there is.
        other if other.starts_with("multipart/") => true,
        // Of an alternative, plain text and HTML are enough.
        other => !among && is_prose(other),
    };
    text && !named && leaf.disposition != Some(Disposition::Attachment)
}

/// Text that reads as it is: enriched, markdown, patches and the like.
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

/// RFC 2046 section 5.1.4: of an alternative, one version is shown.
fn version(leaf: &Leaf, alternatives: &[Alternative<'_>]) -> Role {
    for (number, among) in alternatives.iter().enumerate() {
        let Some(own) = branch(leaf, among.path) else {
            continue;
        };
        let role = if is_html(leaf) {
            match (among.plain.beside(own), is_empty(leaf)) {
                (true, true) => Some(Role::Double),
                (true, false) => Some(Role::Html(number)),
                (false, _) => None,
            }
        } else if is_empty(leaf) && among.any_html.beside(own) {
            Some(Role::Double)
        } else if is_plain(leaf) && among.html.beside(own) {
            Some(Role::Plain(number))
        } else {
            None
        };
        if let Some(role) = role {
            return role;
        }
    }
    Role::Body
}

/// A multipart/alternative, as far as leaves stand directly in it, and which of its children hold what.
struct Alternative<'a> {
    path: &'a [u32],
    plain: Branches,
    html: Branches,
    any_html: Branches,
}

/// Two different children are as good as all of them: one is not one's own.
#[derive(Default)]
struct Branches(Option<u32>, Option<u32>);

impl Branches {
    fn add(&mut self, branch: u32) {
        match self.0 {
            None => self.0 = Some(branch),
            Some(first) if first != branch => self.1 = Some(branch),
            Some(_) => {}
        }
    }

    fn beside(&self, own: u32) -> bool {
        [self.0, self.1].into_iter().flatten().any(|one| one != own)
    }
}

fn alternatives(leaves: &[Leaf]) -> Vec<Alternative<'_>> {
    let mut paths: Vec<&[u32]> = leaves
        .iter()
        .filter(|leaf| leaf.within.as_deref() == Some("alternative"))
        .filter_map(|leaf| Some(leaf.section.path().split_last()?.1))
        .collect();
    // Outer ones first: what they decide holds for all inside.
    paths.sort_by_key(|path| (path.len(), *path));
    paths.dedup();
    paths
        .into_iter()
        .map(|path| look_into(path, leaves))
        .collect()
}

fn look_into<'a>(path: &'a [u32], leaves: &[Leaf]) -> Alternative<'a> {
    let mut found = Alternative {
        path,
        plain: Branches::default(),
        html: Branches::default(),
        any_html: Branches::default(),
    };
    let inline = leaves
        .iter()
        .filter(|leaf| leaf.disposition != Some(Disposition::Attachment));
    for (leaf, branch) in inline.filter_map(|leaf| Some((leaf, branch(leaf, path)?))) {
        if is_html(leaf) {
            found.any_html.add(branch);
        }
        match (is_html(leaf), is_plain(leaf), is_empty(leaf)) {
            (true, _, false) => found.html.add(branch),
            (_, true, false) => found.plain.add(branch),
            _ => {}
        }
    }
    found
}

/// Which child of a multipart a leaf belongs to.
fn branch(leaf: &Leaf, among: &[u32]) -> Option<u32> {
    leaf.section.path().strip_prefix(among)?.first().copied()
}

fn is_empty(leaf: &Leaf) -> bool {
    leaf.octets <= 2
}
