//! A message as a caller may see it.

use mail::Fetched;

use crate::address::{self, addresses};
use crate::attachment::{Attachment, attachments};
use crate::body::{self, Truncation};
use crate::choose::BodyWish;
use crate::crypto;
use crate::envelope::{date, envelope};
use crate::extract::{Extractions, Extracts};
use crate::header::fields;
use crate::note::Note;
use crate::parts::Parts;
use crate::roles::roles;
use crate::shield::{self, Shape};
use crate::words;

const MOST_HEADERS: usize = 500;
const MOST_HEADER_CHARS: usize = 100_000;

/// INVARIANT: every string in here has passed the shield and is bounded.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct View {
    /// RFC 3339, UTC.
    pub date: Option<String>,
    pub from: Option<String>,
    pub to: Option<String>,
    pub cc: Option<String>,
    pub subject: Option<String>,
    /// All of them, decoded, in order; see [`curated`].
    pub headers: Vec<(String, String)>,
    pub body_text: Option<String>,
    pub body_truncated: Option<Truncation>,
    /// Sanitized.
    pub body_html: Option<String>,
    pub attachments: Vec<Attachment>,
    pub notes: Vec<Note>,
}

/// `extractions` is what came of the jobs that [`crate::extractions`] gave; none is as good as none wished.
pub fn view(fetched: &Fetched, wish: &BodyWish, extractions: &Extractions) -> View {
    let roles = roles(&fetched.structure);
    let parts = Parts::new(fetched, wish);
    let mut notes = Vec::new();
    let headers = headers(fetched, &mut notes);
    if fetched.structure.cut {
        notes.push(Note::StructureCut);
    }
    let body = body::body(fetched, &roles, &parts, wish, &mut notes);
    notes.extend(crypto::recognize(fetched, &parts, body.text.as_deref()));
    let extracts = wish.attachment_text.map(|max_chars| Extracts {
        max_chars,
        done: extractions,
    });
    let attachments = attachments(fetched, &roles, &parts, extracts.as_ref(), &mut notes);
    let notes = merged(notes);
    let envelope = envelope(&fetched.header);
    View {
        date: date(envelope.date.as_ref(), fetched.arrived),
        from: addresses(&envelope.from),
        to: addresses(&envelope.to),
        cc: addresses(&envelope.cc),
        subject: envelope.subject.as_ref().map(words::header_text),
        headers,
        body_text: body.text,
        body_truncated: body.truncated,
        body_html: body.html,
        attachments,
        notes,
    }
}

/// What was counted in several places is said once.
fn merged(notes: Vec<Note>) -> Vec<Note> {
    let mut once: Vec<Note> = Vec::with_capacity(notes.len());
    for note in notes {
        if once.contains(&note) && !note.is_count() {
            continue;
        }
        if !once.iter_mut().any(|known| known.absorb(&note)) {
            once.push(note);
        }
    }
    once
}

/// The headers that most readers want, in their order, repeated ones included.
pub fn curated(headers: &[(String, String)]) -> Vec<(String, String)> {
    const KEPT: [&str; 11] = [
        "Date",
        "From",
        "To",
        "Cc",
        "Reply-To",
        "Subject",
        "Message-ID",
        "In-Reply-To",
        "References",
        "List-Id",
        "List-Unsubscribe",
    ];
    headers
        .iter()
        .filter(|(name, _)| KEPT.iter().any(|kept| kept.eq_ignore_ascii_case(name)))
        .cloned()
        .collect()
}

/// Address fields are written anew, so that a name cannot pass for an address beside it.
fn shown_value(name: &str, value: &[u8]) -> String {
    const ADDRESSES: [&str; 6] = ["From", "Sender", "Reply-To", "To", "Cc", "Bcc"];
    let written = ADDRESSES
        .iter()
        .any(|known| known.eq_ignore_ascii_case(name))
        .then(|| addresses(&address::parse(value)))
        .flatten();
    written.unwrap_or_else(|| words::shown(value))
}

fn headers(fetched: &Fetched, notes: &mut Vec<Note>) -> Vec<(String, String)> {
    let mut shown = Vec::new();
    let mut left = MOST_HEADER_CHARS;
    let mut cut = fetched.header_truncated;
    for field in fields(&fetched.header) {
        let name = shield::bounded(&String::from_utf8_lossy(field.name), Shape::Line, 128);
        let value = shown_value(&name, field.value);
        let chars = name.len() + value.chars().count();
        if shown.len() >= MOST_HEADERS || chars > left {
            cut = true;
            break;
        }
        left -= chars;
        shown.push((name, value));
    }
    if cut {
        notes.push(Note::HeadersTruncated);
    }
    shown
}
