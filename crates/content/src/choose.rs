//! Which parts of a message are its body, which are attachments, and how much of each has to travel.

use mail::{Disposition, Leaf, PartWish, Structure};

/// What a caller wants to see of a body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BodyWish {
    pub max_chars: usize,
    pub html: HtmlWish,
    /// Text of attachments too, up to so many characters each.
    pub attachment_text: Option<usize>,
}

/// Whether sanitized HTML is wanted beside the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HtmlWish {
    Skip,
    Include,
}

/// Bytes of one part.
pub(crate) const MOST_PART: u64 = 1024 * 1024;
/// Bytes of all parts of one message.
const MOST_ALL: u64 = 4 * 1024 * 1024;
/// Parts of one message.
const MOST_PARTS: usize = 40;

/// What a leaf is in its message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// Shown as text.
    Body,
    /// Says the same as a part that is shown.
    Double,
    Attachment,
}

/// The parts that [`crate::view()`] needs: body text, HTML and attachment text as wished, within bounds.
pub fn choose(structure: &Structure, wish: &BodyWish) -> Vec<PartWish> {
    let roles = roles(structure);
    let leaves = || structure.leaves.iter().zip(&roles);
    let body = leaves().filter(|(leaf, role)| is_wanted(leaf, **role, wish.html));
    let attached = leaves().filter(|(leaf, role)| {
        wish.attachment_text.is_some() && **role == Role::Attachment && has_text(leaf)
    });
    let mut left = MOST_ALL;
    let mut chosen = Vec::new();
    for (leaf, role) in body.chain(attached).take(MOST_PARTS) {
        let max_chars = match role {
            Role::Attachment => wish.attachment_text.unwrap_or_default(),
            Role::Body | Role::Double => wish.max_chars,
        };
        let max_bytes = budget(leaf, max_chars).min(left);
        if max_bytes == 0 {
            break;
        }
        left -= max_bytes.min(leaf.octets);
        chosen.push(PartWish {
            section: leaf.section.clone(),
            max_bytes,
        });
    }
    chosen
}

/// Whether a leaf is needed for body text or for body HTML.
pub(crate) fn is_wanted(leaf: &Leaf, role: Role, html: HtmlWish) -> bool {
    match role {
        Role::Body => true,
        Role::Double => html == HtmlWish::Include && is_html(leaf),
        Role::Attachment => false,
    }
}

/// One for each leaf.
pub(crate) fn roles(structure: &Structure) -> Vec<Role> {
    let leaves = &structure.leaves;
    let alternatives = alternatives(leaves);
    leaves
        .iter()
        .map(|leaf| {
            if !is_body_text(leaf, structure) {
                Role::Attachment
            } else if alternatives
                .iter()
                .any(|among| displaced(leaf, among, leaves))
            {
                Role::Double
            } else {
                Role::Body
            }
        })
        .collect()
}

pub(crate) fn is_html(leaf: &Leaf) -> bool {
    leaf.mime_type == "text/html"
}

/// Whether text can be taken out of an attachment here.
pub(crate) fn has_text(leaf: &Leaf) -> bool {
    leaf.mime_type.starts_with("text/")
}

fn is_body_text(leaf: &Leaf, structure: &Structure) -> bool {
    let sole = structure.leaves.len() == 1 && !structure.cut;
    // A multipart among the leaves is one without parts: its text is all there is.
    let text = matches!(leaf.mime_type.as_str(), "text/plain" | "text/html")
        || leaf.mime_type.starts_with("multipart/");
    let among = leaf.within.as_deref() == Some("alternative");
    let named = leaf.filename.is_some() && !sole && !among;
    text && !named && leaf.disposition != Some(Disposition::Attachment)
}

/// The paths of the multipart/alternatives, as far as leaves stand directly in them.
fn alternatives(leaves: &[Leaf]) -> Vec<&[u32]> {
    let mut found: Vec<&[u32]> = Vec::new();
    for leaf in leaves {
        if leaf.within.as_deref() == Some("alternative")
            && let Some((_, path)) = leaf.section.path().split_last()
            && found.last() != Some(&path)
        {
            found.push(path);
        }
    }
    found.dedup();
    found
}

/// Plain text displaces HTML; HTML displaces empty plain text (RFC 2046 section 5.1.4).
fn displaced(leaf: &Leaf, among: &[u32], leaves: &[Leaf]) -> bool {
    let Some(own) = branch(leaf, among) else {
        return false;
    };
    let other = |test: fn(&Leaf) -> bool| {
        leaves.iter().any(|other| {
            test(other)
                && other.disposition != Some(Disposition::Attachment)
                && branch(other, among).is_some_and(|branch| branch != own)
        })
    };
    if is_html(leaf) {
        other(|leaf| leaf.mime_type == "text/plain" && !is_empty(leaf))
    } else {
        is_empty(leaf) && other(is_html)
    }
}

/// Which child of a multipart a leaf belongs to.
fn branch(leaf: &Leaf, among: &[u32]) -> Option<u32> {
    leaf.section.path().strip_prefix(among)?.first().copied()
}

fn is_empty(leaf: &Leaf) -> bool {
    leaf.octets <= 2
}

/// Encoded bytes that hold `max_chars` in almost every case.
fn budget(leaf: &Leaf, max_chars: usize) -> u64 {
    let chars = u64::try_from(max_chars).unwrap_or(u64::MAX);
    let bytes = if is_html(leaf) {
        chars.saturating_mul(8).saturating_add(128 * 1024)
    } else {
        // Characters of four bytes at most, each byte three long in quoted-printable; and line ends that are folded.
        let longest = match leaf.encoding.as_str() {
            "quoted-printable" => 12,
            "base64" => 6,
            _ => 4,
        };
        let width = if is_one_byte(leaf) { 4 } else { 1 };
        let bytes = chars.saturating_mul(longest).div_ceil(width);
        bytes.saturating_add(4 * 1024)
    };
    bytes.min(MOST_PART)
}

/// Whether the declared charset has one byte a character. A missing one says nothing.
fn is_one_byte(leaf: &Leaf) -> bool {
    let charset = leaf.charset.as_deref().unwrap_or_default();
    charset == "us-ascii" || charset.starts_with("iso-8859-") || charset.starts_with("windows-125")
}

#[cfg(test)]
mod tests {
    use super::*;
    use mail::{Raw, Section};

    fn leaf(section: &str, mime_type: &str, within: &str, octets: u64) -> Leaf {
        Leaf {
            section: Section::parse(section).unwrap(),
            mime_type: mime_type.to_owned(),
            within: (!within.is_empty()).then(|| within.to_owned()),
            group: 0,
            charset: None,
            encoding: "7bit".to_owned(),
            octets,
            disposition: None,
            filename: None,
            content_id: None,
            flowed: false,
        }
    }

    fn wish(html: HtmlWish) -> BodyWish {
        BodyWish {
            max_chars: 2_000,
            html,
            attachment_text: None,
        }
    }

    fn chosen(leaves: Vec<Leaf>, wish: &BodyWish) -> Vec<String> {
        let structure = Structure { leaves, cut: false };
        choose(&structure, wish)
            .iter()
            .map(|part| part.section.to_string())
            .collect()
    }

    #[test]
    fn plain_is_preferred_unless_empty() {
        let both = |plain| {
            vec![
                leaf("1", "text/plain", "alternative", plain),
                leaf("2.1", "text/html", "related", 900),
                leaf("2.2", "image/png", "related", 900),
            ]
        };
        assert_eq!(chosen(both(100), &wish(HtmlWish::Skip)), ["1"]);
        assert_eq!(chosen(both(2), &wish(HtmlWish::Skip)), ["2.1"]);
        assert_eq!(chosen(both(100), &wish(HtmlWish::Include)), ["1", "2.1"]);
    }

    #[test]
    fn every_inline_text_is_shown() {
        let leaves = vec![
            leaf("1.1", "text/plain", "alternative", 100),
            leaf("1.2", "text/html", "alternative", 100),
            leaf("2", "text/plain", "mixed", 100),
            leaf("3", "text/html", "mixed", 100),
            leaf("4", "text/calendar", "mixed", 100),
        ];
        assert_eq!(chosen(leaves, &wish(HtmlWish::Skip)), ["1.1", "2", "3"]);
    }

    #[test]
    fn attachments_travel_only_when_wished() {
        let mut named = leaf("2", "text/plain", "mixed", 100);
        named.filename = Some(Raw::copied(b"a.txt"));
        let mut attached = leaf("3", "text/csv", "mixed", 100);
        attached.disposition = Some(Disposition::Attachment);
        let leaves = vec![
            leaf("1", "text/html", "mixed", 100),
            named,
            attached,
            leaf("4", "application/pdf", "mixed", 100),
        ];
        let mut wish = wish(HtmlWish::Skip);
        assert_eq!(chosen(leaves.clone(), &wish), ["1"]);
        wish.attachment_text = Some(100);
        assert_eq!(chosen(leaves, &wish), ["1", "2", "3"]);
    }

    #[test]
    fn a_sole_text_with_a_name_is_the_body() {
        let mut sole = leaf("1", "text/plain", "", 100);
        sole.filename = Some(Raw::copied(b"mail.txt"));
        assert_eq!(chosen(vec![sole], &wish(HtmlWish::Skip)), ["1"]);
    }

    #[test]
    fn bytes_are_bounded() {
        let leaves = (1..=500)
            .map(|n| leaf(&n.to_string(), "text/html", "mixed", 10_000_000))
            .collect();
        let structure = Structure { leaves, cut: false };
        let mut wish = wish(HtmlWish::Include);
        wish.max_chars = 20_000;
        let total: u64 = choose(&structure, &wish).iter().map(|p| p.max_bytes).sum();
        assert!(total <= MOST_ALL, "{total}");
    }
}
