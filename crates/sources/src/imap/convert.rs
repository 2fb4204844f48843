//! From the protocol's words to ours.

use std::collections::HashMap;

use bytes::Bytes;
use imap::{Data, Fetch};
use jiff::Timestamp;
use mail::{Disposition, Flag, Flow, Leaf, Multipart, Raw, Section, Structure};

/// The messages that replies describe, by UID. A server may describe one in several pieces.
pub(super) fn by_uid<'r>(data: impl IntoIterator<Item = &'r Data>) -> HashMap<u32, Fetch> {
    let mut found: HashMap<u32, Fetch> = HashMap::new();
    for one in data {
        let Data::Fetch(fetch) = one else { continue };
        // Flag changes that nobody asked for may come without a UID.
        let Some(uid) = fetch.uid else { continue };
        keep(&mut found, uid, fetch.as_ref().clone());
    }
    found
}

pub(super) fn keep(found: &mut HashMap<u32, Fetch>, uid: u32, fetch: Fetch) {
    match found.get_mut(&uid) {
        Some(known) => merge(known, fetch),
        None => {
            found.insert(uid, fetch);
        }
    }
}

/// A `FETCH` response so damaged that it has no typed view.
pub(super) fn is_unreadable_fetch(data: &Data) -> bool {
    let Data::Other(line) = data else {
        return false;
    };
    let second = line.split(|b| *b == b' ').nth(1).unwrap_or_default();
    second.eq_ignore_ascii_case(b"FETCH")
}

fn merge(known: &mut Fetch, more: Fetch) {
    known.flags = more.flags.or(known.flags.take());
    known.internal_date = known.internal_date.or(more.internal_date);
    known.size = known.size.or(more.size);
    known.structure = known.structure.take().or(more.structure);
    known.thread = known.thread.take().or(more.thread);
    known.gmail_message = known.gmail_message.or(more.gmail_message);
    known.gmail_labels = more.gmail_labels.or(known.gmail_labels.take());
    known.sections.extend(more.sections);
}

pub(super) fn flags(fetch: &Fetch) -> Option<Vec<Flag>> {
    // `\Recent` tells which session looked first, not anything about the message; IMAP4rev2 dropped it.
    let told = fetch.flags.as_ref()?.iter();
    let flags = told.filter(|flag| !flag.eq_ignore_ascii_case("\\Recent"));
    Some(flags.map(|flag| Flag::new(flag.clone())).collect())
}

pub(super) fn arrived(fetch: &Fetch) -> Option<Timestamp> {
    Timestamp::from_second(fetch.internal_date?).ok()
}

/// Copies, so that a structure that is kept does not keep the whole response. One with gaps is of no use and becomes
/// empty: which of its parts are the body is not known.
pub(super) fn structure(wire: &imap::BodyStructure) -> Structure {
    if wire.has_gaps || has_empty_multipart(wire) {
        return Structure::default();
    }
    let leaves: Vec<Leaf> = wire.leaves.iter().filter_map(leaf).collect();
    Structure {
        cut: wire.cut || leaves.len() < wire.leaves.len(),
        leaves,
        multiparts: wire.multiparts.iter().map(multipart).collect(),
    }
}

/// QUIRK: Dovecot describes a multipart in which it finds no parts, for want of a boundary or of its delimiters, as one
/// with a single empty part.
fn has_empty_multipart(wire: &imap::BodyStructure) -> bool {
    let mut rest = wire.leaves.as_slice();
    while let [leaf, after @ ..] = rest {
        rest = after;
        let Some((1, around)) = leaf.section.split_last() else {
            continue;
        };
        let is_empty = leaf.octets == 0 && leaf.within.is_some();
        let mut next = after.iter().take(1);
        let is_sole = !next.any(|next| next.section.starts_with(around));
        if is_empty && is_sole && leaf.mime_type == "text/plain" {
            return true;
        }
    }
    false
}

fn multipart(wire: &imap::Multipart) -> Multipart {
    let start = content::parameter(&wire.parameters, "start");
    Multipart {
        path: wire.path.clone(),
        subtype: wire.subtype.clone(),
        start: start
            .filter(|start| start.len() <= Multipart::MAX_START_BYTES)
            .map(Raw::new),
    }
}

fn leaf(wire: &imap::Leaf) -> Option<Leaf> {
    let parameter = |name: &str| {
        let found = wire.parameters.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value)
    };
    let mime_type = match wire.mime_type.as_str() {
        "/" => "application/octet-stream".to_owned(),
        known => known.to_owned(),
    };
    let filename = content::parameter(&wire.disposition_parameters, "filename")
        .or_else(|| content::parameter(&wire.parameters, "name"));
    Some(Leaf {
        section: Section::new(wire.section.clone())?,
        mime_type,
        charset: parameter("charset").map(|value| text(value).to_ascii_lowercase()),
        encoding: wire.encoding.clone(),
        octets: wire.octets,
        disposition: match wire.disposition.as_deref() {
            Some("inline") => Some(Disposition::Inline),
            // RFC 2183 section 2.8: what is not known is an attachment.
            Some(_) => Some(Disposition::Attachment),
            None => None,
        },
        filename: filename.map(Raw::new),
        content_id: wire.id.as_ref().map(|id| Raw::copied(id)),
        flow: Flow::from_parameters(
            parameter("format").map(|value| value.as_ref()),
            parameter("delsp").map(|value| value.as_ref()),
        ),
    })
}

fn text(bytes: &Bytes) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
