//! The attachments of a message: everything that is not body text, each with its IMAP section number.

use mail::{Fetched, Leaf, Section, Structure};

use crate::changes::Changes;
use crate::choose::{BodyWish, MOST_ATTACHMENTS, looked_at};
use crate::claim::{Family, says_nothing};
use crate::extract::Extracts;
use crate::note::Note;
use crate::parts::{Parts, Piece};
use crate::roles::{Role, attached, roles};
use crate::shield::{self, Shape};
use crate::sniff::{self, sniff};
use crate::transfer;
use crate::uncertain::UncertainRun;
use crate::words;

/// Encoded bytes that are decoded to see what an attachment is.
const MOST_LOOK: usize = 12 * 1024;
/// Text shorter than this disproves no claim.
const LEAST_TEXT: usize = 16;
/// Encoded bytes that are decoded to know an exact size.
const MOST_COUNT: usize = 8 * 1024 * 1024;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attachment {
    pub filename: Option<String>,
    /// As the sender says.
    pub content_type: String,
    /// As the bytes say, where the sender says nothing or something else.
    pub detected_type: Option<&'static str>,
    /// Decoded size; exact where the attachment was fetched, else up to padding and soft line breaks.
    pub size_bytes: u64,
    pub part_id: Section,
    pub extracted_text: Option<String>,
    /// What of `extracted_text` may not be visible to a person.
    pub uncertain_text: Vec<UncertainRun>,
}

/// One part, decoded.
pub struct File {
    pub about: Attachment,
    /// Absent unless the whole of it was fetched.
    pub bytes: Option<Vec<u8>>,
}

/// A part of a message as a file; `None` where there is no such part.
pub fn file(fetched: &Fetched, section: &Section) -> Option<File> {
    let leaf = fetched.structure.leaf(section)?;
    let part = fetched.parts.iter().find(|part| part.section == *section);
    let whole = part.filter(|part| !part.truncated);
    let bytes = whole.map(|part| transfer::decode(&part.bytes, &leaf.encoding));
    let changes = &mut Changes::default();
    let size = bytes.as_ref().map(|bytes| bytes.len() as u64);
    Some(File {
        about: Attachment {
            filename: leaf
                .filename
                .as_ref()
                .and_then(|raw| base_name(raw, changes)),
            content_type: content_type(leaf, changes),
            detected_type: None,
            size_bytes: size.unwrap_or_else(|| decoded_size(leaf, None)),
            part_id: leaf.section.clone(),
            extracted_text: None,
            uncertain_text: Vec::new(),
        },
        bytes: bytes.map(|bytes| bytes.to_vec()),
    })
}

/// The attachments that are listed under this file name.
pub fn sections_named(structure: &Structure, name: &str) -> Vec<Section> {
    let roles = roles(structure);
    let mut changes = Changes::default();
    let mut is_named = |leaf: &Leaf| {
        let raw = leaf.filename.as_ref();
        let listed = raw.and_then(|raw| base_name(raw, &mut changes));
        listed.is_some_and(|listed| listed == name)
    };
    let all = attached(structure, &roles).take(MOST_ATTACHMENTS);
    all.filter(|leaf| is_named(leaf))
        .map(|leaf| leaf.section.clone())
        .collect()
}

pub(crate) fn attachments(
    fetched: &Fetched,
    roles: &[Role],
    parts: &Parts<'_>,
    wish: &BodyWish,
    extracts: Option<&Extracts<'_>>,
    changes: &mut Changes,
    notes: &mut Vec<Note>,
) -> Vec<Attachment> {
    let all = attached(&fetched.structure, roles).count();
    if all > MOST_ATTACHMENTS && wish.only.is_none() {
        notes.push(Note::MoreAttachments {
            unlisted: all - MOST_ATTACHMENTS,
        });
    }
    looked_at(&fetched.structure, roles, wish)
        .map(|leaf| {
            let piece = parts.piece(leaf);
            // What is noted as empty may only not be here.
            let is_absent = fetched.not_downloaded.contains(&leaf.section);
            if is_absent && leaf.octets == 0 {
                notes.push(Note::PartMissing {
                    part: leaf.section.clone(),
                });
            }
            let extracted = extracts.and_then(|extracts| extracts.text(leaf, parts, notes));
            let (extracted_text, uncertain_text) = match extracted {
                Some(found) => (Some(found.text), found.uncertain),
                None => (None, Vec::new()),
            };
            Attachment {
                filename: leaf
                    .filename
                    .as_ref()
                    .and_then(|raw| base_name(raw, changes)),
                content_type: content_type(leaf, changes),
                detected_type: piece.and_then(|piece| judge(leaf, piece, notes)),
                size_bytes: decoded_size(leaf, piece),
                part_id: leaf.section.clone(),
                extracted_text,
                uncertain_text,
            }
        })
        .collect()
}

/// The type by the bytes, when it is news; a note when the sender's claim is false.
fn judge(leaf: &Leaf, piece: Piece<'_>, notes: &mut Vec<Note>) -> Option<&'static str> {
    let look = piece.bytes.get(..MOST_LOOK).unwrap_or(piece.bytes);
    let decoded = transfer::decode(look, &leaf.encoding);
    // A few printable characters are no evidence of anything.
    let found = sniff(&decoded).filter(|found| {
        decoded.len() >= LEAST_TEXT || found.family != Family::Text || is_undeclared(leaf)
    })?;
    if let Some(claimed) = sniff::false_claim(leaf, found) {
        notes.push(Note::TypeDiffers {
            part: leaf.section.clone(),
            claimed: shield::bounded(&claimed, Shape::Line, 128, &mut Changes::default()),
            found: found.mime_type,
        });
    }
    sniff::is_news(leaf, found).then_some(found.mime_type)
}

fn is_undeclared(leaf: &Leaf) -> bool {
    says_nothing(&leaf.mime_type) && leaf.filename.is_none()
}

fn content_type(leaf: &Leaf, changes: &mut Changes) -> String {
    shield::bounded(&leaf.mime_type, Shape::Line, 128, changes)
}

/// The last component: a name is no path.
pub(crate) fn base_name(raw: &mail::Raw, changes: &mut Changes) -> Option<String> {
    let name = words::filename(raw, changes);
    let base = name.rsplit(['/', '\\']).next()?.trim();
    let says_something = !base.chars().all(|c| c == '.');
    // What stood in the middle may stand at the beginning now.
    says_something.then(|| shield::bounded(base, Shape::Line, 1_000, changes))
}

/// Counted where the whole is here; else by the length of the lines, as far as they are known.
pub(crate) fn decoded_size(leaf: &Leaf, piece: Option<Piece<'_>>) -> u64 {
    if let Some(piece) = piece.filter(|piece| !piece.is_cut() && piece.bytes.len() <= MOST_COUNT) {
        let length = transfer::decode(piece.bytes, &leaf.encoding).len();
        return u64::try_from(length).unwrap_or(u64::MAX);
    }
    if leaf.encoding != "base64" {
        return leaf.octets;
    }
    let seen = piece.map(|piece| piece.bytes).unwrap_or_default();
    let line = memchr::memchr(b'\n', seen);
    let (line, ending) = match line {
        Some(end) if end > 0 && seen.get(end - 1) == Some(&b'\r') => (end + 1, 2),
        Some(end) => (end + 1, 1),
        // RFC 2045 section 6.8: lines of 76 characters; unless so much was seen without any end.
        None if seen.len() > 200 => return leaf.octets / 4 * 3,
        None => (78, 2),
    };
    let line = u64::try_from(line).unwrap_or(78);
    let line_endings = leaf.octets / line * ending;
    (leaf.octets - line_endings) / 4 * 3
}

#[cfg(test)]
mod tests {
    use super::*;
    use mail::{Flow, Raw};

    use crate::outline::Completeness;

    #[test]
    fn names_are_no_paths() {
        for (raw, want) in [
            ("plan.pdf", Some("plan.pdf")),
            ("../../etc/passwd", Some("passwd")),
            ("C:\\dir\\x.doc", Some("x.doc")),
            ("..", None),
            ("a/", None),
            ("a/[b]: c:d", Some("[b]: c:d")),
            ("", None),
            ("exe\u{202E}fdp.x", Some("exefdp.x")),
        ] {
            assert_eq!(
                base_name(&Raw::copied(raw.as_bytes()), &mut Changes::default()).as_deref(),
                want
            );
        }
    }

    #[test]
    fn sizes_are_those_of_the_decoded_bytes() {
        let lines =
            |width: usize, ending: &str| format!("{}{ending}", "A".repeat(width)).repeat(100);
        for (width, ending, want) in [(76, "\r\n", 5_700), (76, "\n", 5_700), (60, "\r\n", 4_500)] {
            let text = lines(width, ending);
            let leaf = Leaf {
                section: Section::parse("2").unwrap(),
                mime_type: "application/pdf".to_owned(),
                charset: None,
                encoding: "base64".to_owned(),
                octets: text.len() as u64,
                disposition: None,
                filename: None,
                content_id: None,
                flow: Flow::Fixed,
            };
            let piece = |bytes, whole| Some(Piece { bytes, whole });
            let whole = piece(text.as_bytes(), Completeness::Complete);
            assert_eq!(decoded_size(&leaf, whole), want);
            let cut = piece(&text.as_bytes()[..500], Completeness::Cut);
            assert_eq!(decoded_size(&leaf, cut), want);
        }
    }
}
