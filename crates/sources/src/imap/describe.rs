//! One message in a line: what is asked of the server for it, and what is made of the answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use imap::command::{Item, Part as Wire};
use imap::{Capabilities, Data, Fetch, SectionData, ThreadId};
use mail::{
    FolderName, HeaderFields, HeaderId, Links, Raw, Snippets, StoreId, Structure, Summary,
    SummaryHeader, TextPrefix, Uid, UidSet, UidValidity,
};

use super::cache::{Body, Cache, Key, Known, Label};
use super::sightings::{Place, Sightings};
use super::{convert, gmail, source_fallback};

/// The fields that lists show and policies judge. ENVELOPE is the server's own reading of them, and
/// servers differ.
const LIST_FIELDS: Wire = Wire::HeaderFields(&HeaderFields::NAMES);

/// The same with enough to read the text behind the header, and to know that it is text of the
/// message and no attachment.
const SNIPPET_FIELDS: Wire = Wire::HeaderFields(&[
    "FROM",
    "TO",
    "CC",
    "SUBJECT",
    "DATE",
    "MESSAGE-ID",
    "IN-REPLY-TO",
    "CONTENT-TYPE",
    "CONTENT-TRANSFER-ENCODING",
    "CONTENT-DISPOSITION",
]);

/// Only the fields that tie messages together.
const LINKS: Wire = Wire::HeaderFields(&["MESSAGE-ID", "IN-REPLY-TO", "REFERENCES"]);

/// A longer block is cut off by the server.
const MAX_FIELD_BYTES: u32 = 64 * 1024;
const _: () = assert!(MAX_FIELD_BYTES as usize == HeaderFields::MAX_BYTES);

pub(super) fn items(offered: &Capabilities, snippets: Snippets) -> Vec<Item> {
    match snippets {
        Snippets::Without => items_with(offered, LIST_FIELDS),
        Snippets::Bytes(bytes) => {
            let mut items = items_with(offered, SNIPPET_FIELDS);
            items.push(Item::Peek(Wire::Text, Some(bytes)));
            items
        }
    }
}

fn items_with(offered: &Capabilities, fields: Wire) -> Vec<Item> {
    let mut items = vec![
        Item::Flags,
        Item::InternalDate,
        Item::Size,
        Item::Peek(fields, Some(MAX_FIELD_BYTES)),
        Item::BodyStructure,
    ];
    if gmail::is_offered(offered) {
        items.extend([Item::GmailMessage, Item::GmailThread]);
    }
    items
}

/// The same without text, and with what ties it to others.
pub(super) fn tied_items(offered: &Capabilities) -> Vec<Item> {
    // Apart from the listed fields: a long References field would cut those off.
    let mut items = items_with(offered, LIST_FIELDS);
    items.push(Item::Peek(LINKS, None));
    if !gmail::is_offered(offered) && offered.has("OBJECTID") {
        items.push(Item::ObjectThread);
    }
    items
}

/// Only what ties a message to others.
pub(super) fn links_items() -> Vec<Item> {
    vec![Item::Peek(LINKS, None)]
}

/// Whether the server has its own word on which messages are of one conversation.
pub(super) fn tells_threads(offered: &Capabilities) -> bool {
    gmail::is_offered(offered) || offered.has("OBJECTID")
}

/// For a message whose structure cannot be read.
pub(super) fn fewer_tied_items() -> Vec<Item> {
    vec![
        Item::Flags,
        Item::InternalDate,
        Item::Size,
        Item::Peek(LINKS, None),
    ]
}

/// What was told of those that were asked for, by UID. Servers tell of other messages too, when their flags change.
pub(super) fn told_of(data: Vec<Data>, asked: &UidSet) -> Vec<(u32, Fetch)> {
    let mut found = HashMap::new();
    for one in data {
        let Data::Fetch(fetch) = one else { continue };
        let Some(uid) = fetch.uid.filter(|uid| asked.contains(Uid(*uid))) else {
            continue;
        };
        convert::keep(&mut found, uid, *fetch);
    }
    let mut found: Vec<(u32, Fetch)> = found.into_iter().collect();
    // Flags alone are no description.
    found.retain(|(_, fetch)| link_fields(fetch).is_some());
    found.sort_unstable_by_key(|(uid, _)| *uid);
    found
}

pub(super) fn links(fetch: &Fetch) -> Links {
    let told = link_fields(fetch).and_then(|section| section.data.as_ref());
    told.map(|header| content::links(header))
        .unwrap_or_default()
}

/// QUIRK: some servers name the fields in another order, or in their own spelling.
fn fields_with<'f>(fetch: &'f Fetch, name: &str) -> Option<&'f SectionData> {
    let mut sections = fetch.sections.iter();
    sections.find(|one| one.section.starts_with("HEADER.FIELDS") && one.section.contains(name))
}

fn link_fields(fetch: &Fetch) -> Option<&SectionData> {
    fields_with(fetch, "REFERENCES")
}

/// The section with the fields of [`LIST_FIELDS`]; those of [`LINKS`] alone are none.
fn list_fields(fetch: &Fetch) -> Option<HeaderFields> {
    let data = fields_with(fetch, "SUBJECT")?.data.as_ref()?;
    Some(HeaderFields {
        block: Raw::new(data.slice(..data.len().min(HeaderFields::MAX_BYTES))),
        truncated: data.len() >= HeaderFields::MAX_BYTES,
    })
}

/// What the server did not tell is absent.
pub(super) fn summary(uid: u32, fetch: Fetch, snippets: Snippets) -> Summary {
    let structure = fetch.structure.as_ref();
    let structure = structure.map(|wire| Arc::new(convert::structure(wire)));
    Summary {
        uid: Uid(uid),
        order: 0,
        flags: convert::flags(&fetch),
        arrived: convert::arrived(&fetch),
        size: fetch.size,
        text: text(&fetch, snippets, structure.as_ref()),
        store_id: store_id(&fetch),
        structure,
        header: list_fields(&fetch).map(SummaryHeader::Fields),
    }
}

/// The same of a message that was described before, and is still the same: only its flags are new.
pub(super) fn recalled(uid: u32, fetch: &Fetch, known: &Known) -> Option<Summary> {
    let label = known.label.as_ref()?;
    Some(Summary {
        uid: Uid(uid),
        order: 0,
        flags: convert::flags(fetch),
        arrived: known.arrived,
        size: Some(known.size),
        text: None,
        store_id: label.store_id,
        structure: Some(Arc::clone(&known.structure)),
        header: Some(SummaryHeader::Fields(label.fields.clone())),
    })
}

fn store_id(fetch: &Fetch) -> Option<StoreId> {
    let thread = match &fetch.thread {
        Some(ThreadId::Gmail(thread)) => Some(*thread),
        Some(ThreadId::Object(_)) | None => None,
    };
    let message = fetch.gmail_message?;
    Some(StoreId { message, thread })
}

fn text(
    fetch: &Fetch,
    snippets: Snippets,
    structure: Option<&Arc<Structure>>,
) -> Option<TextPrefix> {
    let Snippets::Bytes(asked) = snippets else {
        return None;
    };
    let text = fetch.section("TEXT")?.clone();
    Some(TextPrefix {
        header: fields_with(fetch, "CONTENT-TYPE")
            .and_then(|section| section.data.clone())
            .unwrap_or_default(),
        truncated: text.len() >= asked as usize,
        text,
        structure: structure
            .filter(|structure| !source_fallback::is_needed(structure))
            .cloned(),
    })
}

/// Where that is kept which came along: structures, so that reading one of these messages takes one flight, and which
/// Message-ID lies where.
pub(super) struct Shelf<'a> {
    pub cache: &'a Mutex<Cache>,
    pub sightings: &'a Sightings,
    pub folder: &'a FolderName,
    pub uidvalidity: UidValidity,
}

impl Shelf<'_> {
    pub(super) fn remember(&self, summary: &Summary) {
        self.sight_one(summary);
        let Some(structure) = &summary.structure else {
            return;
        };
        let known = Known {
            structure: Arc::clone(structure),
            size: summary.size.unwrap_or(0),
            arrived: summary.arrived,
            // Without its size it could not be told from another.
            label: summary.size.and_then(|_| Label::of(summary)).map(Arc::new),
            body: None,
        };
        self.put(summary.uid, known);
    }

    /// Notes where it lies.
    pub(super) fn sight_one(&self, summary: &Summary) {
        if let Some(SummaryHeader::Fields(fields)) = &summary.header {
            self.sight(summary.uid, content::links(fields.block.bytes()).id);
        }
    }

    /// Those of these messages whose description is kept.
    pub(super) fn described(&self, uids: &UidSet) -> HashMap<u32, Known> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let found = uids.iter().filter_map(|uid| {
            let known = cache.find(&self.key(uid))?;
            known.label.is_some().then_some((uid.0, known))
        });
        found.collect()
    }

    pub(super) fn keep(&self, uid: Uid, known: Known, body: Body) {
        self.sight(uid, content::links(&body.header).id);
        let body = Some(body);
        self.put(uid, Known { body, ..known });
    }

    fn sight(&self, uid: Uid, id: Option<HeaderId>) {
        let Some(id) = id else { return };
        let place = Place {
            folder: self.folder.clone(),
            uidvalidity: self.uidvalidity,
            uid,
        };
        self.sightings.note(&id, place);
    }

    fn key(&self, uid: Uid) -> Key {
        Key {
            folder: self.folder.clone(),
            uidvalidity: self.uidvalidity.0,
            uid: uid.0,
        }
    }

    fn put(&self, uid: Uid, known: Known) {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.keep(self.key(uid), known);
    }
}
