//! How much of which part has to travel, for body text, for the text of attachments, and to know what they are.

use mail::{Leaf, PartWish, Section, Structure, Urgency};

use crate::calendar;
use crate::claim::{Promise, promise};
use crate::roles::{Role, attached, is_html, is_inline_calendar, roles};

/// What a caller wants to see of a body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BodyWish {
    /// Characters of the text to pass over.
    pub offset: usize,
    pub max_chars: usize,
    pub html: HtmlWish,
    /// Text of attachments too, up to so many characters each.
    pub attachment_text: Option<usize>,
    /// Of all parts this attachment alone, wherever it stands.
    pub only: Option<Section>,
}

/// Whether sanitized HTML is wanted beside the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HtmlWish {
    Skip,
    Include,
}

/// Encoded bytes of one text.
const MAX_TEXT_BYTES: u64 = 1024 * 1024;
/// Encoded bytes of one HTML text, which may hold its pictures.
const MAX_HTML_BYTES: u64 = 8 * 1024 * 1024;
/// Encoded bytes of all texts of one message.
const MAX_TEXTS_BYTES: u64 = 12 * 1024 * 1024;
/// Texts of one message.
const MOST_PARTS: usize = 40;
const MOST_CALENDARS: usize = 4;

/// Attachments that are looked at.
pub(crate) const MOST_ATTACHMENTS: usize = 50;
/// Decoded bytes of one attachment whose text is wanted.
pub(crate) const MOST_DOCUMENT: usize = mail::MOST_EXTRACT_BYTES;
/// The same in base64, with its line endings and some room.
const MOST_DOCUMENT_ENCODED: u64 = 7_400_000;
/// Encoded bytes of all such attachments.
const MOST_DOCUMENTS: u64 = 24 * 1024 * 1024;
/// Encoded bytes that tell what an attachment is.
const TASTE: u64 = 1_400;

/// The parts that [`crate::view()`] needs: body text, HTML and attachment text as wished, within bounds.
pub fn choose(structure: &Structure, wish: &BodyWish) -> Vec<PartWish> {
    let roles = roles(structure);
    let leaves = || structure.leaves.iter().zip(&roles);
    let mut chosen = Chosen::default();
    let besides = || leaves().filter(|_| wish.only.is_none());
    let of_role = |wanted: Role| besides().filter(move |(_, role)| **role == wanted);
    // What is shown comes before what it is compared with.
    let texts = of_role(Role::Body).chain(of_role(Role::Plain));
    let mut left = MAX_TEXTS_BYTES;
    for (leaf, _) in texts.take(MOST_PARTS) {
        left = chosen.add(leaf, max_text_bytes(leaf), left);
    }
    let calendars = besides().map(|(leaf, _)| leaf);
    for leaf in calendars
        .filter(|leaf| is_inline_calendar(leaf))
        .take(MOST_CALENDARS)
    {
        left = chosen.add(leaf, calendar::MOST_ENCODED, left);
    }
    let attached = || looked_at(structure, &roles, wish);
    if let Some(max_chars) = wish.attachment_text {
        let mut left = MOST_DOCUMENTS;
        for leaf in attached() {
            left = chosen.add(leaf, document_budget(leaf, max_chars, left), left);
        }
    }
    for leaf in attached() {
        chosen.taste(leaf);
    }
    chosen.0
}

/// The attachments that are wished for, within bounds.
pub(crate) fn looked_at<'a>(
    structure: &'a Structure,
    roles: &'a [Role],
    wish: &'a BodyWish,
) -> impl Iterator<Item = &'a Leaf> {
    attached(structure, roles)
        .filter(|leaf| wish.only.as_ref().is_none_or(|only| *only == leaf.section))
        .take(MOST_ATTACHMENTS)
}

/// The whole of it does not fit, and a part of it would be of no use.
pub(crate) fn is_too_large(leaf: &Leaf) -> bool {
    promise(leaf) == Promise::Document && leaf.octets > MOST_DOCUMENT_ENCODED
}

#[derive(Default)]
struct Chosen(Vec<PartWish>);

impl Chosen {
    /// What is left of a budget afterwards. What does not fit is left out, what is there already is not doubled.
    fn add(&mut self, leaf: &Leaf, max_bytes: u64, left: u64) -> u64 {
        let max_bytes = max_bytes.min(left);
        if max_bytes == 0 || self.has(leaf) {
            return left;
        }
        self.0.push(PartWish {
            section: leaf.section.clone(),
            max_bytes,
            urgency: Urgency::Needed,
        });
        left - max_bytes.min(leaf.octets)
    }

    fn taste(&mut self, leaf: &Leaf) {
        if !self.has(leaf) {
            self.0.push(PartWish {
                section: leaf.section.clone(),
                max_bytes: TASTE,
                urgency: Urgency::Convenient,
            });
        }
    }

    fn has(&self, leaf: &Leaf) -> bool {
        self.0.iter().any(|wish| wish.section == leaf.section)
    }
}

/// Texts travel whole, however short the wish: where the first character of a text that is shown
/// lies among pictures, markup and blanks is known only behind it.
fn max_text_bytes(leaf: &Leaf) -> u64 {
    if is_html(leaf) {
        MAX_HTML_BYTES
    } else {
        MAX_TEXT_BYTES
    }
}

fn document_budget(leaf: &Leaf, max_chars: usize, left: u64) -> u64 {
    match promise(leaf) {
        Promise::Text => budget(leaf, max_chars),
        Promise::Calendar => calendar::MOST_ENCODED,
        // Of a message, the beginning is worth reading too.
        Promise::Mail => MAX_TEXT_BYTES,
        Promise::Document if leaf.octets > MOST_DOCUMENT_ENCODED.min(left) => 0,
        Promise::Document => MOST_DOCUMENT_ENCODED,
        Promise::Nothing => 0,
    }
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
    bytes.min(MAX_TEXT_BYTES)
}

/// Whether the declared charset has one byte a character. A missing one says nothing.
fn is_one_byte(leaf: &Leaf) -> bool {
    let charset = leaf.charset.as_deref().unwrap_or_default();
    charset == "us-ascii" || charset.starts_with("iso-8859-") || charset.starts_with("windows-125")
}

#[cfg(test)]
mod tests {
    use super::*;
    use mail::{Disposition, Flow, Multipart, Raw};

    fn leaf(section: &str, mime_type: &str, octets: u64) -> Leaf {
        Leaf {
            section: Section::parse(section).unwrap(),
            mime_type: mime_type.to_owned(),
            charset: None,
            encoding: "7bit".to_owned(),
            octets,
            disposition: None,
            filename: None,
            content_id: None,
            flow: Flow::Fixed,
        }
    }

    fn named(section: &str, mime_type: &str, name: &str, octets: u64) -> Leaf {
        Leaf {
            filename: Some(Raw::copied(name.as_bytes())),
            disposition: Some(Disposition::Attachment),
            ..leaf(section, mime_type, octets)
        }
    }

    fn structure(leaves: Vec<Leaf>, multiparts: &[(&[u32], &str)]) -> Structure {
        let multiparts = multiparts.iter().map(|(path, subtype)| Multipart {
            path: path.to_vec(),
            subtype: (*subtype).to_owned(),
            start: None,
        });
        Structure {
            leaves,
            multiparts: multiparts.collect(),
            cut: false,
        }
    }

    fn wish() -> BodyWish {
        BodyWish {
            offset: 0,
            max_chars: 2_000,
            html: HtmlWish::Skip,
            attachment_text: None,
            only: None,
        }
    }

    /// The sections that are needed.
    fn chosen(structure: &Structure, wish: &BodyWish) -> Vec<String> {
        choose(structure, wish)
            .iter()
            .filter(|part| part.urgency == Urgency::Needed)
            .map(|part| part.section.to_string())
            .collect()
    }

    #[test]
    fn versions_to_compare_travel_behind_the_body() {
        let both = structure(
            vec![
                leaf("1", "text/plain", 100),
                leaf("2.1", "text/html", 900),
                leaf("2.2", "image/png", 900),
            ],
            &[(&[], "alternative"), (&[2], "related")],
        );
        assert_eq!(chosen(&both, &wish()), ["2.1", "1"]);
        let html = structure(
            vec![leaf("1", "text/html", 100), leaf("2", "text/html", 100)],
            &[(&[], "alternative")],
        );
        assert_eq!(chosen(&html, &wish()), ["2"]);
    }

    #[test]
    fn every_inline_text_of_mixed_is_chosen() {
        let structure = structure(
            vec![
                leaf("1.1", "text/plain", 100),
                leaf("1.2", "text/html", 100),
                leaf("2", "text/plain", 100),
                leaf("3", "text/html", 100),
                leaf("4", "text/calendar", 100),
                leaf("5", "text/markdown", 100),
                leaf("6", "text/csv", 100),
            ],
            &[(&[], "mixed"), (&[1], "alternative")],
        );
        assert_eq!(
            roles(&structure),
            [
                Role::Plain,
                Role::Body,
                Role::Body,
                Role::Body,
                Role::Attachment,
                Role::Body,
                Role::Attachment
            ]
        );
        assert_eq!(
            chosen(&structure, &wish()),
            ["1.2", "2", "3", "5", "1.1", "4"]
        );
    }

    #[test]
    fn attachments_travel_only_when_wished() {
        let leaves = vec![
            leaf("1", "text/html", 100),
            named("2", "text/plain", "a.txt", 100),
            named("3", "text/csv", "a.csv", 100),
            named("4", "application/pdf", "a.pdf", 100),
            named("5", "application/pdf", "large.pdf", 8_000_000),
            named("6", "image/png", "a.png", 100),
            named("7", "message/rfc822", "a.eml", 8_000_000),
        ];
        let mut wish = wish();
        let structure = structure(leaves, &[(&[], "mixed")]);
        assert_eq!(chosen(&structure, &wish), ["1"]);
        wish.attachment_text = Some(100);
        assert_eq!(chosen(&structure, &wish), ["1", "2", "3", "4", "7"]);
        assert_eq!(choose(&structure, &wish).len(), 7, "the others are tasted");
    }

    #[test]
    fn one_attachment_alone_travels_wherever_it_stands() {
        let texts = [leaf("1", "text/html", 100)].into_iter();
        let files = (2..=90).map(|n| named(&n.to_string(), "application/pdf", "a.pdf", 7_000_000));
        let leaves: Vec<Leaf> = texts.chain(files).collect();
        let wish = |section: &str| BodyWish {
            attachment_text: Some(100),
            only: Section::parse(section),
            ..wish()
        };
        let structure = structure(leaves, &[(&[], "mixed")]);
        assert_eq!(chosen(&structure, &wish("80")), ["80"]);
        assert_eq!(chosen(&structure, &wish("1")), [""; 0], "no attachment");
    }

    #[test]
    fn a_sole_text_with_a_name_is_the_body() {
        let mut sole = leaf("1", "text/plain", 100);
        sole.filename = Some(Raw::copied(b"mail.txt"));
        assert_eq!(chosen(&structure(vec![sole], &[]), &wish()), ["1"]);
    }

    #[test]
    fn texts_travel_whole_however_short_the_wish() {
        for (mime_type, want) in [
            ("text/plain", MAX_TEXT_BYTES),
            ("text/html", MAX_HTML_BYTES),
        ] {
            let structure = structure(vec![leaf("1", mime_type, 9_000_000)], &[]);
            for offset in [0, 100_000, usize::MAX] {
                let wishes = choose(&structure, &BodyWish { offset, ..wish() });
                assert_eq!(wishes[0].max_bytes, want);
            }
        }
    }

    #[test]
    fn bytes_are_bounded() {
        let texts = (1..=500).map(|n| leaf(&n.to_string(), "text/html", 10_000_000));
        let documents =
            (501..=900).map(|n| named(&n.to_string(), "application/pdf", "a.pdf", 7_000_000));
        let structure = structure(texts.chain(documents).collect(), &[(&[], "mixed")]);
        let wish = BodyWish {
            max_chars: 20_000,
            html: HtmlWish::Include,
            attachment_text: Some(50_000),
            ..wish()
        };
        let chosen = choose(&structure, &wish);
        let total: u64 = chosen.iter().map(|part| part.max_bytes).sum();
        assert!(
            total <= MAX_TEXTS_BYTES + MOST_DOCUMENTS + 50 * TASTE,
            "{total}"
        );
    }
}
