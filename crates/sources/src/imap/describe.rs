//! One message in a line: what is asked of the server for it, and what is made of the answer.

use std::sync::{Arc, Mutex, PoisonError};

use imap::Fetch;
use imap::command::{Item, Part as Wire};
use mail::{FolderName, Snippets, Summary, TextPrefix, Uid, UidValidity};

use super::cache::{Cache, Key, Known};
use super::convert;

/// Enough of the header to read the text behind it, and to know that it is text of the message and no attachment.
const CONTENT_FIELDS: Wire = Wire::HeaderFields(&[
    "CONTENT-TYPE",
    "CONTENT-TRANSFER-ENCODING",
    "CONTENT-DISPOSITION",
]);

pub(super) fn items(snippets: Snippets) -> Vec<Item> {
    let mut items = vec![
        Item::Flags,
        Item::InternalDate,
        Item::Size,
        Item::Envelope,
        Item::BodyStructure,
    ];
    if let Snippets::Bytes(bytes) = snippets {
        items.push(Item::Peek(CONTENT_FIELDS, None));
        items.push(Item::Peek(Wire::Text, Some(bytes)));
    }
    items
}

/// What the server did not tell is absent.
pub(super) fn summary(uid: u32, fetch: Fetch, snippets: Snippets) -> Summary {
    Summary {
        uid: Uid(uid),
        order: 0,
        flags: convert::flags(&fetch),
        arrived: convert::arrived(&fetch),
        size: fetch.size,
        text: text(&fetch, snippets),
        structure: fetch
            .structure
            .as_ref()
            .map(|wire| Arc::new(convert::structure(wire))),
        envelope: fetch.envelope.map(convert::envelope),
    }
}

fn text(fetch: &Fetch, snippets: Snippets) -> Option<TextPrefix> {
    let Snippets::Bytes(asked) = snippets else {
        return None;
    };
    let text = fetch.section("TEXT")?.clone();
    Some(TextPrefix {
        header: fetch
            .section(&CONTENT_FIELDS.name())
            .cloned()
            .unwrap_or_default(),
        truncated: text.len() >= asked as usize,
        text,
    })
}

/// Where structures are kept that came along, so that reading one of these messages takes one flight.
pub(super) struct Shelf<'a> {
    pub cache: &'a Mutex<Cache>,
    pub folder: &'a FolderName,
    pub uidvalidity: UidValidity,
}

impl Shelf<'_> {
    pub(super) fn remember(&self, summary: &Summary) {
        let Some(structure) = &summary.structure else {
            return;
        };
        let key = Key {
            folder: self.folder.clone(),
            uidvalidity: self.uidvalidity.0,
            uid: summary.uid.0,
        };
        let known = Known {
            structure: Arc::clone(structure),
            size: summary.size.unwrap_or(0),
            arrived: summary.arrived,
            body: None,
        };
        self.cache
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .keep(key, known);
    }
}
