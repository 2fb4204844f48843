//! The body of a message: the text of its parts in order, and sanitized HTML when it is wished.

use mail::{Fetched, Leaf, Part};

use crate::choose::{BodyWish, HtmlWish, MOST_PART, Role, choose, is_html, is_wanted};
use crate::html;
use crate::note::Note;
use crate::outline::Completeness;
use crate::shield::{self, Shape, shield};
use crate::text;

/// The text is shorter than what the message holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Truncation {
    pub shown_chars: usize,
    /// Asking for more characters would show more.
    pub more: bool,
}

#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Body {
    pub text: Option<String>,
    pub truncated: Option<Truncation>,
    pub html: Option<String>,
}

/// One part as readable text: shielded and tidied.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Readable {
    pub text: String,
    pub cut: bool,
    pub hidden: usize,
    pub removed: usize,
    pub broken: usize,
    pub links: usize,
    pub guessed: bool,
}

pub(crate) fn body(
    fetched: &Fetched,
    roles: &[Role],
    wish: &BodyWish,
    notes: &mut Vec<Note>,
) -> Body {
    let wished = choose(&fetched.structure, wish);
    let mut gathered = Gathered::default();
    let mut out = String::new();
    let mut safe = String::new();
    for (leaf, role) in fetched.structure.leaves.iter().zip(roles) {
        if !is_wanted(leaf, *role, wish.html) {
            continue;
        }
        let Some(part) = part(fetched, leaf) else {
            // Too many parts, or too large ones, are left at the source on purpose.
            if !wished.iter().any(|part| part.section == leaf.section) {
                gathered.at_source = true;
                gathered.at_most = true;
            } else if leaf.octets > 0 {
                notes.push(Note::PartMissing {
                    part: leaf.section.clone(),
                });
            }
            continue;
        };
        if *role == Role::Body {
            let read = readable(leaf, &part.bytes, whole(part), wish.max_chars);
            gathered.add(leaf, part, &read, notes);
            if !out.is_empty() && !read.text.is_empty() {
                out.push_str("\n\n");
            }
            out.push_str(&read.text);
        }
        if wish.html == HtmlWish::Include && is_html(leaf) {
            let room = wish.max_chars.saturating_sub(safe.chars().count());
            let decoded = text::decode(
                &part.bytes,
                &leaf.encoding,
                leaf.charset.as_deref(),
                whole(part),
            );
            let rendered = html::sanitize(&decoded.text, room);
            gathered.html_cut |= rendered.cut || part.truncated;
            safe.push_str(&rendered.text);
        }
    }
    if let Some(kept) = shield::cut(&out, wish.max_chars).map(str::len) {
        out.truncate(kept);
        gathered.cut = true;
    }
    gathered.note(notes);
    Body {
        truncated: (gathered.cut || gathered.at_source).then(|| Truncation {
            shown_chars: out.chars().count(),
            more: gathered.cut || !gathered.at_most,
        }),
        text: (!out.is_empty()).then_some(out),
        html: (!safe.is_empty()).then_some(safe),
    }
}

/// A part's text, whatever text type it has.
pub(crate) fn readable(
    leaf: &Leaf,
    bytes: &[u8],
    whole: Completeness,
    max_chars: usize,
) -> Readable {
    let decoded = text::decode(bytes, &leaf.encoding, leaf.charset.as_deref(), whole);
    let mut read = Readable {
        guessed: decoded.guessed,
        ..Readable::default()
    };
    let plain = if is_html(leaf) {
        // One more than wished, so that a cut can be told from an end.
        let rendered = html::to_text(&decoded.text, max_chars.saturating_add(1));
        read.hidden = rendered.hidden.chars();
        read.cut = rendered.cut;
        rendered.text
    } else if leaf.flowed {
        text::unflow(&decoded.text)
    } else {
        decoded.text
    };
    let shielded = shield(&plain, Shape::Body);
    read.removed = shielded.changes.invisible;
    read.broken = shielded.changes.markers;
    read.links = shielded.changes.links;
    read.text = text::tidy(&shielded.text);
    read
}

pub(crate) fn part<'a>(fetched: &'a Fetched, leaf: &Leaf) -> Option<&'a Part> {
    fetched
        .parts
        .iter()
        .find(|part| part.section == leaf.section)
}

pub(crate) fn whole(part: &Part) -> Completeness {
    if part.truncated {
        Completeness::Cut
    } else {
        Completeness::Complete
    }
}

/// What the parts have in common to tell.
#[derive(Default)]
struct Gathered {
    cut: bool,
    html_cut: bool,
    at_source: bool,
    at_most: bool,
    converted: bool,
    hidden: usize,
    removed: usize,
    broken: usize,
    links: usize,
}

impl Gathered {
    fn add(&mut self, leaf: &Leaf, part: &Part, read: &Readable, notes: &mut Vec<Note>) {
        self.converted |= is_html(leaf);
        self.cut |= read.cut;
        self.at_source |= part.truncated;
        let bytes = u64::try_from(part.bytes.len()).unwrap_or(u64::MAX);
        self.at_most |= part.truncated && bytes >= MOST_PART;
        self.hidden += read.hidden;
        self.removed += read.removed;
        self.broken += read.broken;
        self.links += read.links;
        if read.guessed {
            notes.push(Note::CharsetGuessed {
                part: leaf.section.clone(),
            });
        }
    }

    fn note(&self, notes: &mut Vec<Note>) {
        if self.converted {
            notes.push(Note::HtmlConverted);
        }
        if self.hidden > 0 {
            notes.push(Note::HiddenText { chars: self.hidden });
        }
        if self.removed > 0 {
            notes.push(Note::InvisibleRemoved {
                chars: self.removed,
            });
        }
        if self.broken > 0 {
            notes.push(Note::MarkersBroken { count: self.broken });
        }
        if self.links > 0 {
            notes.push(Note::LinksInert { count: self.links });
        }
        if self.cut || self.at_source {
            notes.push(Note::BodyTruncated);
        }
        if self.html_cut {
            notes.push(Note::HtmlTruncated);
        }
    }
}
