//! A forwarded message as text: who, when, what about, its body by the same rules, and what is attached to it.

use mail::{Leaf, Section, UncertainText};

use crate::address::addresses;
use crate::attachment::{base_name, decoded_size};
use crate::body::{Readable, body};
use crate::changes::Changes;
use crate::choose::{BodyWish, HtmlWish};
use crate::date::date;
use crate::envelope::envelope;
use crate::note::Note;
use crate::outline::{Completeness, outline};
use crate::parts::Parts;
use crate::roles::{attached, selection};
use crate::shield::{self, Shape};
use crate::transfer;
use crate::words;

/// Messages in messages that are read; deeper ones are only listed.
const MOST_DEPTH: usize = 3;
const MOST_LISTED: usize = 50;
/// Messages that are read inside one.
const MOST_INSIDE: usize = 5;

/// Where a message lies in the one around it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place<'a> {
    /// IMAP numbers its parts below this one (RFC 3501 section 6.4.5).
    Numbered(&'a Section),
    /// Encoded or not declared as a message: IMAP does not look inside.
    Opaque,
}

/// How a message lies in the one around it, and whether it is all there.
#[derive(Clone, Copy)]
struct Around<'a> {
    place: Place<'a>,
    whole: Completeness,
}

pub(crate) struct Told {
    pub read: Readable,
    pub notes: Vec<Note>,
}

/// The message as text, about `max_chars` of its body. `whole` says whether these are all its bytes.
pub(crate) fn tell(raw: &[u8], place: Place<'_>, whole: Completeness, max_chars: usize) -> Told {
    let mut told = Told {
        read: Readable {
            cut: whole == Completeness::Cut,
            ..Readable::default()
        },
        notes: Vec::new(),
    };
    let around = Around { place, whole };
    message(raw, around, max_chars, 1, &mut told);
    told
}

fn message(raw: &[u8], around: Around<'_>, max_chars: usize, depth: usize, told: &mut Told) {
    let Around { place, whole } = around;
    let outline = outline(raw);
    let wish = BodyWish {
        offset: 0,
        max_chars,
        html: HtmlWish::Skip,
        attachment_text: None,
        only: None,
    };
    let fetched = outline.fetched(&wish, whole);
    let selection = selection(&fetched.structure);
    let parts = Parts::new(&fetched, &wish);
    let mut notes = Vec::new();
    // What may not be visible is left out, or marked, with the text of the whole attachment.
    let show = UncertainText::Show;
    let body = body(&fetched, &selection, &parts, &wish, show, &mut notes);
    told.read.cut |= body.truncated.is_some() || fetched.structure.cut;
    told.notes
        .extend(notes.into_iter().filter(concerns_the_reader));
    let changes = &mut told.read.findings.changes;
    let out = &mut told.read.text;
    out.push_str(&head(&fetched.header, changes));
    if let Some(text) = &body.text {
        out.push_str("\n\n");
        told.read.uncertain.append(out.len(), &body.uncertain);
        out.push_str(text);
    }
    let attached: Vec<&Leaf> = attached(&fetched.structure, &selection.roles).collect();
    list(&attached, place, &parts, out, changes);
    if depth >= MOST_DEPTH {
        return;
    }
    let inside = attached
        .iter()
        .filter(|leaf| leaf.mime_type == "message/rfc822");
    for leaf in inside.take(MOST_INSIDE) {
        // Output that is full already takes no more.
        if told.read.text.len() > max_chars.saturating_mul(4) {
            return;
        }
        let Some((bytes, _)) = outline.part(&leaf.section) else {
            continue;
        };
        let section = within(place, &leaf.section);
        told.read.text.push_str("\n\nAttached message:\n");
        let decoded;
        let (bytes, place) = match (leaf.encoding.as_str(), &section) {
            ("base64" | "quoted-printable", _) => {
                decoded = transfer::decode(bytes, &leaf.encoding);
                (decoded.as_slice(), Place::Opaque)
            }
            (_, Some(section)) => (bytes, Place::Numbered(section)),
            (_, None) => (bytes, Place::Opaque),
        };
        message(bytes, Around { place, whole }, max_chars, depth + 1, told);
    }
}

/// What is true of a part of the message inside says nothing about the parts of the one around it.
fn concerns_the_reader(note: &Note) -> bool {
    matches!(
        note,
        Note::HiddenText { .. }
            | Note::PlainDiffers { .. }
            | Note::HtmlShowsNothing { .. }
            | Note::VersionsLeftOut { .. }
            | Note::InvisibleRemoved { .. }
            | Note::LinkNamesOther { .. }
            | Note::LookAlike { .. }
            | Note::MarkersBroken { .. }
            | Note::TooDeep { .. }
    )
}

fn head(header: &[u8], changes: &mut Changes) -> String {
    let envelope = envelope(header);
    let subject = envelope.subject.as_ref();
    let lines = [
        ("From", addresses(&envelope.from, changes)),
        ("To", addresses(&envelope.to, changes)),
        ("Cc", addresses(&envelope.cc, changes)),
        (
            "Date",
            date(envelope.date.as_ref(), None).map(|date| date.text),
        ),
        (
            "Subject",
            subject.map(|raw| words::header_text(raw, changes)),
        ),
    ];
    let lines = lines
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name}: {}", value?)));
    lines.collect::<Vec<_>>().join("\n")
}

fn list(
    attached: &[&Leaf],
    place: Place<'_>,
    parts: &Parts<'_>,
    out: &mut String,
    changes: &mut Changes,
) {
    if attached.is_empty() {
        return;
    }
    out.push_str("\n\nAttachments:");
    for leaf in attached.iter().take(MOST_LISTED) {
        let name = leaf.filename.as_ref();
        let name = name.and_then(|raw| base_name(raw, changes));
        let name = name.as_deref().unwrap_or("(no name)");
        let kind = shield::bounded(&leaf.mime_type, Shape::Line, 128, changes);
        let size = decoded_size(leaf, parts.piece(leaf));
        let part = within(place, &leaf.section)
            .map(|section| format!(", part {section}"))
            .unwrap_or_default();
        out.push_str(&format!("\n- {name} ({kind}, {size} bytes{part})"));
    }
    if attached.len() > MOST_LISTED {
        out.push_str(&format!("\n- … and {} more", attached.len() - MOST_LISTED));
    }
}

fn within(place: Place<'_>, section: &Section) -> Option<Section> {
    match place {
        Place::Numbered(around) => Section::new([around.path(), section.path()].concat()),
        Place::Opaque => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INNER: &str = "From: Ann <a@b.c>\r\nTo: d@e.f\r\nDate: Fri, 21 Nov 1997 09:55:06 -0600\r\nSubject: =?utf-8?Q?=C3=A4?=\r\nContent-Type: multipart/mixed; boundary=i\r\n\r\n--i\r\n\r\nInner text\r\n--i\r\nContent-Type: application/pdf; name=a.pdf\r\nContent-Transfer-Encoding: base64\r\n\r\nQUJD\r\n--i--\r\n";

    fn told(raw: &str) -> String {
        let section = Section::parse("2").unwrap();
        let place = Place::Numbered(&section);
        tell(raw.as_bytes(), place, Completeness::Complete, 2_000)
            .read
            .text
    }

    #[test]
    fn a_message_is_told_with_its_parts_numbers() {
        assert_eq!(
            told(INNER),
            "From: Ann <a@b.c>\nTo: d@e.f\nDate: 1997-11-21T15:55:06Z\nSubject: ä\n\nInner text\n\nAttachments:\n- a.pdf (application/pdf, 3 bytes, part 2.2)"
        );
    }

    #[test]
    fn messages_in_messages_are_told_down_to_a_depth() {
        let mut raw = "Subject: innermost\r\n\r\ntext".to_owned();
        for depth in 0..8 {
            raw = format!(
                "Subject: s{depth}\r\nContent-Type: multipart/mixed; boundary=b{depth}\r\n\r\n--b{depth}\r\nContent-Type: message/rfc822\r\n\r\n{raw}\r\n--b{depth}--\r\n"
            );
        }
        let found = told(&raw);
        assert_eq!(found.matches("Subject:").count(), MOST_DEPTH, "{found}");
        assert!(found.contains("part 2.1.1.1)"), "{found}");
    }
}
