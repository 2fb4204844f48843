//! The job that reads a message: header, structure, and the parts that are wanted; nothing else travels.
//!
//! One flight when the structure is known or the message is small, two otherwise. What was read before is only
//! looked at again to see that it is still there.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use content::Completeness;
use imap::command::{Item, Part as Wire};
use imap::{Command, Fetch, SequenceSet};
use mail::{
    Choose, Cx, Fault, Fetched, Flag, FolderName, MessageRef, Part, PartWish, Section, Stage,
    Structure, Urgency,
};

use super::cache::{Body, Cache, Key, Known};
use super::describe::Shelf;
use super::job::Job;
use super::session::{Pace, Session};
use super::sightings::Sightings;
use super::{convert, faults, raw, source_fallback};

/// A header block beyond this is cut.
pub(super) const MOST_HEADER: u32 = 64 << 10;

/// So much text comes along unasked, in the hope that it is all that is wanted.
const GUESS: u32 = 12 << 10;

pub(super) struct ReadMessage<'a> {
    pub at: &'a MessageRef,
    pub choose: Choose<'a>,
    pub cache: &'a Mutex<Cache>,
    pub sightings: &'a Sightings,
}

impl Job for ReadMessage<'_> {
    type Out = Fetched;

    fn folder(&self) -> Option<&FolderName> {
        Some(&self.at.folder)
    }

    async fn run(&self, session: &mut Session, cx: &Cx) -> Result<Fetched, Fault> {
        cx.enter(Stage::Fetch);
        let Some(known) = self.with_cache(|cache| cache.find(&self.key())) else {
            return self.read_unknown(session, cx).await;
        };
        if source_fallback::is_needed(&known.structure) {
            return self.read_source(session, cx).await;
        }
        let wishes = (self.choose)(&known.structure);
        let kept = known
            .body
            .as_ref()
            .and_then(|body| Some((body, body.parts_for(&wishes)?)));
        let read = match kept {
            Some((body, parts)) => self.look_again(session, cx, &known, body, parts).await?,
            None => self.read_known(session, cx, &known, &wishes).await?,
        };
        match read {
            Some(fetched) => {
                cx.note_cache_hit();
                Ok(fetched)
            }
            // QUIRK: UIDs that move (Proton Bridge). What we knew was another message.
            None => {
                self.with_cache(|cache| cache.forget(&self.key()));
                self.read_unknown(session, cx).await
            }
        }
    }
}

impl ReadMessage<'_> {
    /// Everything is here already: one small flight shows that the message still is, and its flags.
    async fn look_again(
        &self,
        session: &mut Session,
        cx: &Cx,
        known: &Known,
        body: &Body,
        parts: Vec<Part>,
    ) -> Result<Option<Fetched>, Fault> {
        let items = [Item::Flags, Item::InternalDate, Item::Size];
        let fetch = raw::fetch_one(session, cx, self.at, &items).await?;
        Ok(same(&fetch, known).then(|| assemble(convert::flags(&fetch), known, body, parts)))
    }

    /// The structure is known: header and parts in one flight. A small message comes whole: to find its parts a server would
    /// have to read it through.
    async fn read_known(
        &self,
        session: &mut Session,
        cx: &Cx,
        known: &Known,
        wishes: &[PartWish],
    ) -> Result<Option<Fetched>, Fault> {
        let mut items = vec![
            Item::Flags,
            Item::InternalDate,
            Item::Size,
            Item::Peek(Wire::Header, Some(MOST_HEADER)),
        ];
        let small = !wishes.is_empty() && (1..=u64::from(GUESS)).contains(&known.size);
        match small {
            true => items.push(Item::Peek(Wire::Text, Some(GUESS))),
            false => items.extend(wishes.iter().map(item)),
        }
        let fetch = raw::fetch_one(session, cx, self.at, &items).await?;
        if !same(&fetch, known) {
            return Ok(None);
        }
        if !describes(&fetch, &known.structure) {
            return self.read_source(session, cx).await.map(Some);
        }
        let parts = match small {
            true => {
                self.complete(session, cx, &fetch, &known.structure, wishes)
                    .await?
            }
            false => parts(&fetch, &known.structure, wishes),
        };
        let body = body(&fetch, parts.clone());
        self.remember(known, &body);
        Ok(Some(assemble(convert::flags(&fetch), known, &body, parts)))
    }

    /// Nothing is known: structure, header and the beginning of the text first, then what is still missing.
    async fn read_unknown(&self, session: &mut Session, cx: &Cx) -> Result<Fetched, Fault> {
        let items = [
            Item::Flags,
            Item::InternalDate,
            Item::Size,
            Item::BodyStructure,
            Item::Peek(Wire::Header, Some(MOST_HEADER)),
            Item::Peek(Wire::Text, Some(GUESS)),
        ];
        let fetch = raw::fetch_one(session, cx, self.at, &items).await?;
        let mut known = known(&fetch);
        let guess = MessageHead::of(&fetch);
        if !describes(&fetch, &known.structure) {
            known.structure = Arc::default();
        }
        if source_fallback::is_needed(&known.structure) {
            let body = body(&fetch, Vec::new());
            self.remember(&known, &body);
            return match guess.end {
                Completeness::Complete => {
                    let source = Bytes::from(guess.bytes);
                    Ok(source_fallback::chosen(
                        &source,
                        &fetch,
                        guess.end,
                        self.choose,
                    ))
                }
                Completeness::Cut => self.read_source(session, cx).await,
            };
        }
        let wishes = (self.choose)(&known.structure);
        let parts = self
            .complete(session, cx, &fetch, &known.structure, &wishes)
            .await?;
        let body = body(&fetch, parts.clone());
        self.remember(&known, &body);
        Ok(assemble(convert::flags(&fetch), &known, &body, parts))
    }

    async fn read_source(&self, session: &mut Session, cx: &Cx) -> Result<Fetched, Fault> {
        let fetch = raw::fetch_one(session, cx, self.at, &source_fallback::items()).await?;
        source_fallback::fetched(&fetch, self.choose)
    }

    /// The parts that the beginning of the text holds, and those that are needed beside them.
    async fn complete(
        &self,
        session: &mut Session,
        cx: &Cx,
        fetch: &Fetch,
        structure: &Structure,
        wishes: &[PartWish],
    ) -> Result<Vec<Part>, Fault> {
        let mut have = parts_of_guess(fetch, structure, wishes);
        let missing: Vec<PartWish> = wishes
            .iter()
            .filter(|wish| !have.iter().any(|part| part.section == wish.section))
            .cloned()
            .collect();
        // What is only convenient comes along with what is needed, or not at all.
        if missing.iter().any(|wish| wish.urgency == Urgency::Needed) {
            let items: Vec<Item> = missing.iter().map(item).collect();
            let command = Command::uid_fetch(&SequenceSet::of([self.at.uid.0]), &items);
            let landed = session.ask_again(cx, vec![command], Pace::Prompt).await?;
            faults::check_all(&landed.statuses, Stage::Fetch)?;
            let mut found = convert::by_uid(&landed.data);
            if let Some(more) = found.remove(&self.at.uid.0) {
                have.extend(parts(&more, structure, &missing));
            }
        }
        Ok(have)
    }

    fn remember(&self, known: &Known, body: &Body) {
        let shelf = Shelf {
            cache: self.cache,
            sightings: self.sightings,
            folder: &self.at.folder,
            uidvalidity: self.at.uidvalidity,
        };
        shelf.keep(self.at.uid, known.clone(), body.clone());
    }

    fn key(&self) -> Key {
        Key {
            folder: self.at.folder.clone(),
            uidvalidity: self.at.uidvalidity.0,
            uid: self.at.uid.0,
        }
    }

    fn with_cache<T>(&self, work: impl FnOnce(&mut Cache) -> T) -> T {
        work(&mut self.cache.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The beginning of a message: its header, and what came of its text.
struct MessageHead {
    bytes: Vec<u8>,
    end: Completeness,
}

impl MessageHead {
    fn of(fetch: &Fetch) -> Self {
        let section = |name| fetch.section(name).map(|bytes| bytes.as_ref());
        let (header, text) = (section("HEADER"), section("TEXT"));
        let fits = |bytes: Option<&[u8]>, most: u32| bytes.is_some_and(|b| b.len() < most as usize);
        let whole = fits(header, MOST_HEADER) && fits(text, GUESS);
        Self {
            bytes: [header.unwrap_or_default(), text.unwrap_or_default()].concat(),
            end: if whole {
                Completeness::Complete
            } else {
                Completeness::Cut
            },
        }
    }
}

/// Whether the structure may be that of the message that came, as far as it came.
fn describes(fetch: &Fetch, structure: &Structure) -> bool {
    let guess = MessageHead::of(fetch);
    source_fallback::is_declared(fetch, structure)
        && source_fallback::agrees(structure, &content::outline(&guess.bytes), guess.end)
}

/// What a description tells that stays true.
pub(super) fn known(fetch: &Fetch) -> Known {
    let structure = fetch.structure.as_ref().map(convert::structure);
    Known {
        structure: Arc::new(structure.unwrap_or_default()),
        size: fetch.size.unwrap_or(0),
        arrived: convert::arrived(fetch),
        label: None,
        body: None,
    }
}

pub(super) fn assemble(
    flags: Option<Vec<Flag>>,
    known: &Known,
    body: &Body,
    parts: Vec<Part>,
) -> Fetched {
    Fetched {
        not_downloaded: Vec::new(),
        flags,
        arrived: known.arrived,
        size: known.size,
        header: body.header.clone(),
        header_truncated: body.header_truncated,
        structure: known.structure.as_ref().clone(),
        parts,
    }
}

pub(super) fn same(fetch: &Fetch, known: &Known) -> bool {
    known.is_of(fetch.size.unwrap_or(0), convert::arrived(fetch))
}

pub(super) fn item(wish: &PartWish) -> Item {
    let most = u32::try_from(wish.max_bytes).unwrap_or(u32::MAX);
    Item::Peek(Wire::Section(wish.section.path().to_vec()), Some(most))
}

/// Copied, so that what is kept does not keep the whole response.
pub(super) fn body(fetch: &Fetch, parts: Vec<Part>) -> Body {
    let header = fetch
        .section("HEADER")
        .map(|bytes| Bytes::copy_from_slice(bytes));
    let header = header.unwrap_or_default();
    Body {
        header_truncated: header.len() >= MOST_HEADER as usize,
        header,
        parts,
    }
}

pub(super) fn parts(fetch: &Fetch, structure: &Structure, wishes: &[PartWish]) -> Vec<Part> {
    let found = wishes.iter().filter_map(|wish| {
        let bytes = fetch.section(&wish.section.to_string())?;
        Some(part(wish.section.clone(), bytes, structure, wish.max_bytes))
    });
    found.collect()
}

fn part(section: Section, bytes: &[u8], structure: &Structure, asked: u64) -> Part {
    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let octets = structure.leaf(&section).map_or(0, |leaf| leaf.octets);
    Part {
        truncated: length >= asked && octets > length,
        section,
        bytes: Bytes::copy_from_slice(bytes),
    }
}

/// Parts that the guessed beginning of the text holds: whole, exactly as long as the server says they are,
/// or as much as is wished for.
fn parts_of_guess(fetch: &Fetch, structure: &Structure, wishes: &[PartWish]) -> Vec<Part> {
    let (Some(header), Some(text)) = (fetch.section("HEADER"), fetch.section("TEXT")) else {
        return Vec::new();
    };
    let mut message = Vec::with_capacity(header.len() + text.len());
    message.extend_from_slice(header);
    message.extend_from_slice(text);
    let outline = content::outline(&message);
    let found = wishes.iter().filter_map(|wish| {
        let leaf = structure.leaf(&wish.section)?;
        let ours = outline.structure.leaf(&wish.section)?;
        let (bytes, _) = outline.part(&wish.section)?;
        let length = u64::try_from(bytes.len()).ok()?;
        let most = usize::try_from(wish.max_bytes).ok()?;
        let enough = length == leaf.octets || (length >= wish.max_bytes && leaf.octets > length);
        let bytes = bytes.get(..most).unwrap_or(bytes);
        (enough && ours.mime_type == leaf.mime_type)
            .then(|| part(wish.section.clone(), bytes, structure, wish.max_bytes))
    });
    found.collect()
}
