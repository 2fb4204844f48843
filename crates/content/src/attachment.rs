//! The attachments of a message: everything that is not body text, each with its IMAP section number.

use mail::{Fetched, Leaf, PartWish, Section};

use crate::body;
use crate::changes::Changes;
use crate::choose::{BodyWish, Role, choose, has_text};
use crate::note::Note;
use crate::shield::{self, Shape};
use crate::words;

const MOST: usize = 50;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attachment {
    pub filename: Option<String>,
    pub content_type: String,
    /// Decoded size; exact only up to padding and line endings.
    pub size_bytes: u64,
    pub part_id: Section,
    pub extracted_text: Option<String>,
}

pub(crate) fn attachments(
    fetched: &Fetched,
    roles: &[Role],
    wish: &BodyWish,
    changes: &mut Changes,
    notes: &mut Vec<Note>,
) -> Vec<Attachment> {
    let leaves = fetched.structure.leaves.iter().zip(roles);
    let wished = choose(&fetched.structure, wish);
    let all: Vec<&Leaf> = leaves
        .filter(|(_, role)| **role == Role::Attachment)
        .map(|(leaf, _)| leaf)
        .collect();
    if all.len() > MOST {
        notes.push(Note::MoreAttachments {
            unlisted: all.len() - MOST,
        });
    }
    all.into_iter()
        .take(MOST)
        .map(|leaf| Attachment {
            filename: leaf
                .filename
                .as_ref()
                .and_then(|raw| base_name(raw, changes)),
            content_type: content_type(leaf, changes),
            size_bytes: decoded_size(leaf),
            part_id: leaf.section.clone(),
            extracted_text: wish
                .attachment_text
                .and_then(|max_chars| extracted(fetched, leaf, &wished, max_chars, notes)),
        })
        .collect()
}

fn extracted(
    fetched: &Fetched,
    leaf: &Leaf,
    wished: &[PartWish],
    max_chars: usize,
    notes: &mut Vec<Note>,
) -> Option<String> {
    let section = || leaf.section.clone();
    if !has_text(leaf) {
        notes.push(Note::ExtractionUnsupported {
            part: section(),
            content_type: content_type(leaf, &mut Changes::default()),
        });
        return None;
    }
    let Some(part) = body::part(fetched, leaf) else {
        notes.push(if wished.iter().any(|part| part.section == leaf.section) {
            Note::PartMissing { part: section() }
        } else {
            Note::ExtractionSkipped { part: section() }
        });
        return None;
    };
    let read = body::readable(leaf, &part.bytes, body::whole(part), max_chars);
    if read.guessed {
        notes.push(Note::CharsetGuessed { part: section() });
    }
    if read.hidden > 0 {
        notes.push(Note::HiddenText { chars: read.hidden });
    }
    let mut text = read.text;
    let kept = shield::cut(&text, max_chars).map(str::len);
    if let Some(kept) = kept {
        text.truncate(kept);
    }
    if kept.is_some() || read.cut || part.truncated {
        notes.push(Note::AttachmentTruncated { part: section() });
    }
    Some(text)
}

fn content_type(leaf: &Leaf, changes: &mut Changes) -> String {
    shield::bounded(&leaf.mime_type, Shape::Line, 128, changes)
}

/// The last component: a name is no path.
fn base_name(raw: &mail::Raw, changes: &mut Changes) -> Option<String> {
    let name = words::filename(raw, changes);
    let base = name.rsplit(['/', '\\']).next()?.trim();
    let says_something = !base.chars().all(|c| c == '.');
    // What stood in the middle may stand at the beginning now.
    says_something.then(|| shield::bounded(base, Shape::Line, 1_000, changes))
}

/// Base64 in lines of 76 characters; other encodings change little.
fn decoded_size(leaf: &Leaf) -> u64 {
    if leaf.encoding != "base64" {
        return leaf.octets;
    }
    let line_endings = leaf.octets / 78 * 2;
    (leaf.octets - line_endings) / 4 * 3
}

#[cfg(test)]
mod tests {
    use super::*;
    use mail::Raw;

    #[test]
    fn names_are_no_paths() {
        for (raw, want) in [
            ("plan.pdf", Some("plan.pdf")),
            ("../../etc/passwd", Some("passwd")),
            ("C:\\dir\\x.doc", Some("x.doc")),
            ("..", None),
            ("a/", None),
            ("a/[b]: c:d", Some("[b] : c:d")),
            ("", None),
            ("exe\u{202E}fdp.x", Some("exefdp.x")),
        ] {
            let found = base_name(&Raw::copied(raw.as_bytes()), &mut Changes::default());
            assert_eq!(found.as_deref(), want);
        }
    }
}
