//! One message from disk: its header, its structure, the parts that were chosen, or its bytes as they lie.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use content::Completeness;
use jiff::Timestamp;
use mail::{
    Fault, FaultKind, Fetched, Flag, FolderName, Links, MessageRef, Part, PartWish, RawMessage,
    Section, Snippets, Stage, Structure, Summary, TextPrefix, Uid,
};

use super::catalog::Catalog;
use super::folders::Place;
use super::open::{MOST_HEADER, Opened, Shelf};
use super::scan::{Entry, Sharing};
use super::work::{Stop, unreadable};

/// Files up to this size are read whole, of larger ones only the beginning.
const MOST_WHOLE: u64 = 64 * 1024 * 1024;
const BEGINNING: u64 = 4 * 1024 * 1024;

/// A message in memory, before anyone chose parts of it.
pub(super) struct Loaded {
    pub(super) structure: Structure,
    flags: Vec<Flag>,
    arrived: Option<Timestamp>,
    size: u64,
    /// Octets in memory.
    held: u64,
    header: Bytes,
    header_truncated: bool,
    text: Bytes,
    parts: Vec<(Section, Bytes, Completeness)>,
}

pub(super) fn load(
    catalog: &Catalog,
    folder: &FolderName,
    uid: Uid,
    stop: &Stop,
) -> Result<Loaded, Fault> {
    read(catalog, folder, uid, stop, Loaded::read)
}

/// As many of them as fit into memory together, and at least one.
pub(super) fn load_some(
    catalog: &Catalog,
    wanted: Vec<Result<MessageRef, Fault>>,
    stop: &Stop,
) -> Result<Vec<Result<Loaded, Fault>>, Fault> {
    let mut held = 0;
    let mut all = Vec::new();
    for at in wanted {
        stop.check().map_err(unreadable(Stage::Fetch))?;
        let loaded = at.and_then(|at| load(catalog, &at.folder, at.uid, stop));
        held += loaded.as_ref().map_or(0, |loaded| loaded.held);
        all.push(loaded);
        if held >= MOST_WHOLE {
            break;
        }
    }
    Ok(all)
}

pub(super) fn raw(
    catalog: &Catalog,
    folder: &FolderName,
    uid: Uid,
    max_bytes: u64,
    stop: &Stop,
) -> Result<RawMessage, Fault> {
    read(catalog, folder, uid, stop, |opened| {
        Ok(RawMessage {
            size: opened.size,
            bytes: opened.bytes(max_bytes)?,
        })
    })
}

/// The file of a message that has one of its own.
pub(super) fn file(
    catalog: &Catalog,
    folder: &FolderName,
    uid: Uid,
    stop: &Stop,
) -> Result<Option<PathBuf>, Fault> {
    let place = catalog.place(folder, stop)?;
    let path = place.path.clone();
    let entry = entry(catalog, &place, uid, stop)?;
    if entry.within().is_some() {
        return Ok(None);
    }
    // Opened, so that it is a path to a regular file that was there a moment ago.
    let opened = Shelf::new(place, stop).open(&entry);
    let opened = opened.map_err(unreadable(Stage::Fetch))?.ok_or_else(none)?;
    Ok(Some(opened.entry.path(&path)))
}

/// Opens a message and reads of it, again if it was written to meanwhile.
pub(super) fn read<T>(
    catalog: &Catalog,
    folder: &FolderName,
    uid: Uid,
    stop: &Stop,
    read: impl FnMut(&mut Opened) -> io::Result<T>,
) -> Result<T, Fault> {
    let place = catalog.place(folder, stop)?;
    let entry = entry(catalog, &place, uid, stop)?;
    Shelf::new(place, stop)
        .read(&entry, read)
        .map_err(unreadable(Stage::Fetch))?
        .ok_or_else(none)
}

/// INVARIANT: a uid that several files share opens none of them.
fn entry(catalog: &Catalog, place: &Place, uid: Uid, stop: &Stop) -> Result<Entry, Fault> {
    let scan = catalog
        .scan(place, stop)
        .map_err(unreadable(Stage::OpenFolder))?;
    let entry = scan.get(uid).ok_or_else(none)?;
    match entry.sharing {
        Sharing::Alone => Ok(entry.clone()),
        Sharing::Shared => Err(Fault::saying(
            FaultKind::Conflict,
            Stage::Fetch,
            "several files have this uid",
        )),
    }
}

fn none() -> Fault {
    Fault::new(FaultKind::NoSuchMessage, Stage::Fetch)
}

impl Loaded {
    pub(super) fn read(opened: &mut Opened) -> io::Result<Self> {
        let (most, file) = if opened.size > MOST_WHOLE {
            (BEGINNING, Completeness::Cut)
        } else {
            (MOST_WHOLE, Completeness::Complete)
        };
        let bytes = opened.bytes(most)?;
        let outline = content::outline(&bytes);
        let leaves = outline.structure.leaves.iter();
        let mut parts: Vec<_> = leaves
            .filter_map(|leaf| Some((leaf.section.clone(), outline.part(&leaf.section)?.0)))
            .map(|(section, part)| (section, bytes.slice_ref(part), Completeness::Complete))
            .collect();
        // Only a file that was not read to its end has more of a part than is here.
        if let Some((_, _, end)) = parts.last_mut() {
            *end = file;
        }
        let header_len = outline.header_len;
        let mut structure = outline.structure;
        structure.cut |= file == Completeness::Cut;
        Ok(Self {
            structure,
            flags: opened.entry.flags(),
            arrived: opened.entry.arrived(),
            size: opened.size,
            held: u64::try_from(bytes.len()).unwrap_or(u64::MAX),
            header: bytes.slice(..header_len.min(MOST_HEADER)),
            header_truncated: header_len > MOST_HEADER,
            text: bytes.slice(header_len.min(bytes.len())..),
            parts,
        })
    }

    pub(super) fn links(&self) -> Links {
        content::links(&self.header)
    }

    /// The message in a line, its structure with it.
    pub(super) fn summary(self, entry: &Entry, snippets: Snippets) -> Summary {
        // Copied, so that a line does not hold a message in memory.
        let text = match snippets {
            Snippets::Without => None,
            Snippets::Bytes(bytes) => {
                let wanted = usize::try_from(bytes).unwrap_or_default();
                let text = self.text.get(..wanted).unwrap_or(&self.text);
                let shown = u64::try_from(self.header.len() + text.len()).unwrap_or(u64::MAX);
                Some(TextPrefix {
                    header: Bytes::copy_from_slice(&self.header),
                    text: Bytes::copy_from_slice(text),
                    truncated: self.size > shown,
                })
            }
        };
        Summary {
            uid: entry.uid,
            order: entry.order().0,
            flags: Some(self.flags),
            arrived: self.arrived,
            size: Some(self.size),
            envelope: Some(match self.header_truncated {
                true => content::envelope_of_beginning(&self.header),
                false => content::envelope(&self.header),
            }),
            structure: Some(Arc::new(self.structure)),
            text,
        }
    }

    /// A wish for a part that does not exist is passed over.
    pub(super) fn fetched(self, wishes: &[PartWish]) -> Fetched {
        let parts = wishes.iter().filter_map(|wish| self.part(wish)).collect();
        Fetched {
            not_downloaded: Vec::new(),
            flags: Some(self.flags),
            arrived: self.arrived,
            size: self.size,
            // Copied, so that a small answer does not hold a large message in memory.
            header: Bytes::copy_from_slice(&self.header),
            header_truncated: self.header_truncated,
            structure: self.structure,
            parts,
        }
    }

    fn part(&self, wish: &PartWish) -> Option<Part> {
        let (_, bytes, end) = self
            .parts
            .iter()
            .find(|(section, _, _)| *section == wish.section)?;
        let most = usize::try_from(wish.max_bytes).unwrap_or(usize::MAX);
        let taken = bytes.get(..most).unwrap_or(bytes);
        Some(Part {
            section: wish.section.clone(),
            bytes: Bytes::copy_from_slice(taken),
            truncated: taken.len() < bytes.len() || *end == Completeness::Cut,
        })
    }
}
