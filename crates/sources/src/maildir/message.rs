//! One message from disk: its header, its structure, the parts that were chosen, or its bytes as they lie.

use std::io;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use content::Completeness;
use jiff::Timestamp;
use mail::{
    Fault, FaultKind, Fetched, Flag, FolderName, Part, PartWish, RawMessage, Section, Snippets,
    Stage, Structure, Summary, TextPrefix, Uid,
};

use super::folders::Tree;
use super::open::{MOST_HEADER, Opened, Shelf};
use super::scan::{Entry, Sharing, scan};
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
    header: Bytes,
    header_truncated: bool,
    text: Bytes,
    parts: Vec<(Section, Bytes, Completeness)>,
}

pub(super) fn load(
    root: &Path,
    folder: &FolderName,
    uid: Uid,
    stop: &Stop,
) -> Result<Loaded, Fault> {
    let mut opened = open(root, folder, uid, stop)?;
    Loaded::read(&mut opened).map_err(unreadable(Stage::Fetch))
}

pub(super) fn raw(
    root: &Path,
    folder: &FolderName,
    uid: Uid,
    max_bytes: u64,
    stop: &Stop,
) -> Result<RawMessage, Fault> {
    let mut opened = open(root, folder, uid, stop)?;
    Ok(RawMessage {
        size: opened.size,
        bytes: opened.bytes(max_bytes).map_err(unreadable(Stage::Fetch))?,
    })
}

/// INVARIANT: a uid that several files share opens none of them.
pub(super) fn open(
    root: &Path,
    folder: &FolderName,
    uid: Uid,
    stop: &Stop,
) -> Result<Opened, Fault> {
    let directory = Tree::directory(root, folder, stop)?;
    let scan = scan(&directory, stop).map_err(unreadable(Stage::OpenFolder))?;
    let none = || Fault::new(FaultKind::NoSuchMessage, Stage::Fetch);
    let entry = scan
        .entries
        .iter()
        .find(|entry| entry.uid == uid)
        .ok_or_else(none)?;
    if entry.sharing == Sharing::Shared {
        return Err(Fault::saying(
            FaultKind::Conflict,
            Stage::Fetch,
            "several files have this uid",
        ));
    }
    Shelf::new(directory, stop)
        .open(entry)
        .map_err(unreadable(Stage::Fetch))?
        .ok_or_else(none)
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
            header: bytes.slice(..header_len.min(MOST_HEADER)),
            header_truncated: header_len > MOST_HEADER,
            text: bytes.slice(header_len.min(bytes.len())..),
            parts,
        })
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
