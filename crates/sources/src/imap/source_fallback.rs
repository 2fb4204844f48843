//! A message read by its source, where the server's description of its parts is of no use: damaged, cut, or of
//! another message than the source is.

use bytes::Bytes;
use content::{Completeness, Outline};
use imap::Fetch;
use imap::command::{Item, Part as Wire};
use mail::{Choose, Fault, FaultKind, Fetched, Leaf, Multipart, Stage, Structure};

use super::convert;
use super::message::MOST_HEADER;
use crate::local::loaded::{Loaded, Marks};

/// Of a longer source, the beginning is read.
pub(super) const MAX_SOURCE_BYTES: u32 = 16 << 20;

pub(super) fn items() -> Vec<Item> {
    vec![
        Item::Flags,
        Item::InternalDate,
        Item::Size,
        Item::Peek(Wire::Whole, Some(MAX_SOURCE_BYTES)),
    ]
}

/// Whether parts cannot be fetched by this structure.
pub(super) fn is_needed(structure: &Structure) -> bool {
    structure.cut || structure.leaves.is_empty()
}

/// From the answer to [`items`].
pub(super) fn fetched(fetch: &Fetch, choose: Choose<'_>) -> Result<Fetched, Fault> {
    let source = fetch
        .section("")
        .ok_or(Fault::new(FaultKind::NoSuchMessage, Stage::Fetch))?;
    let length = u32::try_from(source.len()).unwrap_or(u32::MAX);
    let message = if length < MAX_SOURCE_BYTES {
        Completeness::Complete
    } else {
        Completeness::Cut
    };
    Ok(chosen(source, fetch, message, choose))
}

/// The parts of a message all of which is here.
pub(super) fn chosen(
    source: &Bytes,
    fetch: &Fetch,
    message: Completeness,
    choose: Choose<'_>,
) -> Fetched {
    let flags = convert::flags(fetch);
    let marks = Marks {
        flags: flags.clone().unwrap_or_default(),
        arrived: convert::arrived(fetch),
        size: fetch.size.unwrap_or(0),
    };
    let loaded = Loaded::new(source, marks, message);
    let wishes = choose(&loaded.structure);
    Fetched {
        flags,
        ..loaded.fetched(&wishes)
    }
}

/// Whether the header may be that of a message with this structure.
pub(super) fn is_declared(fetch: &Fetch, structure: &Structure) -> bool {
    let header = fetch.section("HEADER");
    let whole = header.filter(|header| header.len() < MOST_HEADER as usize);
    whole.is_none_or(|header| content::is_declared(header, structure))
}

/// Whether the server describes the message that begins so: the parts whose ends are here, and the multiparts they
/// lie in.
pub(super) fn agrees(structure: &Structure, outline: &Outline<'_>, message: Completeness) -> bool {
    let ours = &outline.structure;
    let is_whole = |leaf: &&Leaf| {
        let part = outline.part(&leaf.section);
        part.is_some_and(|(_, end)| end == Completeness::Complete)
    };
    let same = |leaf: &Leaf| {
        let theirs = structure.leaf(&leaf.section);
        theirs.is_some_and(|theirs| theirs.mime_type == leaf.mime_type)
    };
    let same_multipart = |ours: &Multipart| {
        let mut theirs = structure.multiparts.iter();
        theirs.any(|theirs| theirs.path == ours.path && theirs.subtype == ours.subtype)
    };
    let nothing_more = ours.leaves.len() == structure.leaves.len()
        && ours.multiparts.len() == structure.multiparts.len();
    let (mut leaves, mut multiparts) = (ours.leaves.iter(), ours.multiparts.iter());
    multiparts.all(same_multipart)
        && match message {
            Completeness::Complete => leaves.all(same) && nothing_more,
            // What seems to be the only part of a message whose parts are not here yet is none.
            Completeness::Cut if ours.multiparts.is_empty() => true,
            Completeness::Cut => leaves.filter(is_whole).all(same),
        }
}
