//! A message in memory: its header, its structure and its parts, before anyone chose parts of it.
//!
//! Does not know where the bytes came from.

use std::sync::Arc;

use bytes::Bytes;
use content::Completeness;
use jiff::Timestamp;
use mail::{
    Fetched, Flag, Part, PartWish, Section, Snippets, Structure, Summary, SummaryHeader,
    TextPrefix, Uid,
};

/// A header is kept up to this length.
pub(crate) const MOST_HEADER: usize = 64 * 1024;

pub(crate) struct Loaded {
    pub(crate) structure: Structure,
    flags: Vec<Flag>,
    arrived: Option<Timestamp>,
    size: u64,
    /// Octets in memory.
    held: u64,
    header: Bytes,
    header_truncated: bool,
    text: Bytes,
    parts: Vec<(Section, Bytes, Completeness)>,
    pub(crate) not_downloaded: Vec<Section>,
}

/// What a store knows of a message beside its bytes.
pub(crate) struct Marks {
    pub(crate) flags: Vec<Flag>,
    pub(crate) arrived: Option<Timestamp>,
    /// Of the whole message.
    pub(crate) size: u64,
}

impl Loaded {
    /// `message` says whether these are all its bytes.
    pub(crate) fn new(bytes: &Bytes, marks: Marks, message: Completeness) -> Self {
        let outline = content::outline(bytes);
        let leaves = outline.structure.leaves.iter();
        let mut parts: Vec<_> = leaves
            .filter_map(|leaf| Some((leaf.section.clone(), outline.part(&leaf.section)?.0)))
            .map(|(section, part)| (section, bytes.slice_ref(part), Completeness::Complete))
            .collect();
        // Only a message that was not read to its end has more of a part than is here.
        if let Some((_, _, end)) = parts.last_mut() {
            *end = message;
        }
        let header_len = outline.header_len;
        let mut structure = outline.structure;
        structure.cut |= message == Completeness::Cut;
        Self {
            structure,
            flags: marks.flags,
            arrived: marks.arrived,
            size: marks.size,
            held: u64::try_from(bytes.len()).unwrap_or(u64::MAX),
            header: bytes.slice(..header_len.min(MOST_HEADER)),
            header_truncated: header_len > MOST_HEADER,
            text: bytes.slice(header_len.min(bytes.len())..),
            parts,
            not_downloaded: Vec::new(),
        }
    }

    /// Octets in memory.
    pub(crate) fn held(&self) -> u64 {
        self.held
    }

    pub(crate) fn header(&self) -> &[u8] {
        &self.header
    }

    /// Of the whole message.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// The message in a line, its structure with it; `order` is what comes before the UID.
    pub(crate) fn line(self, uid: Uid, order: i64, snippets: Snippets) -> Summary {
        // Copied, so that a line does not hold a message in memory.
        let structure = Arc::new(self.structure);
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
                    structure: Some(Arc::clone(&structure)),
                })
            }
        };
        Summary {
            store_id: None,
            uid,
            order,
            flags: Some(self.flags),
            arrived: self.arrived,
            size: Some(self.size),
            header: Some(SummaryHeader::Fields(content::list_fields(
                &self.header,
                self.header_truncated,
            ))),
            structure: Some(structure),
            text,
        }
    }

    /// A wish for a part that does not exist is passed over.
    pub(crate) fn fetched(self, wishes: &[PartWish]) -> Fetched {
        let parts = wishes.iter().filter_map(|wish| self.part(wish)).collect();
        Fetched {
            not_downloaded: self.not_downloaded,
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
