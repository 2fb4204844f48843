//! The jobs that look at a message as it is now, and that read it piece by piece: never from memory, nor much into it.

use bytes::{Bytes, BytesMut};
use imap::Fetch;
use imap::command::{Item, Part};
use mail::{Cx, Fault, FaultKind, FolderName, MessageRef, Stage, Witness};

use super::job::Job;
use super::pool::Wish;
use super::raw::{Spot, fetch_at};
use super::session::{Entry, Session};
use super::witness::{add_beginning, outside, witness};
use crate::beginning::Digesting;

/// So many octets of a message are asked for at once.
pub(super) const PIECE: u32 = 256 << 10;

/// So many octets of a message are handed out; the digest covers as many as are asked for.
const MOST_SHOWN: u64 = 1 << 20;

/// As it is now, whatever a session that has the folder open has seen of it.
pub(super) struct Look<'a> {
    pub at: &'a MessageRef,
    pub octets: u64,
}

impl Job for Look<'_> {
    type Out = Option<(Witness, Bytes)>;

    fn folder(&self) -> Option<&FolderName> {
        Some(&self.at.folder)
    }

    fn wish(&self) -> Wish<'_> {
        Wish::Unselected
    }

    async fn run(&self, session: &mut Session, cx: &Cx) -> Result<Self::Out, Fault> {
        cx.enter(Stage::Confirm);
        let mut items = outside(session.capabilities());
        items.extend(first_piece(self.octets));
        let at = Spot::of(self.at)?;
        let found = fetch_at(session, cx, at, &items, Entry::Anew).await;
        let fetch = match found {
            Err(fault) if fault.kind == FaultKind::NoSuchMessage => return Ok(None),
            other => other?,
        };
        read_on(session, cx, at, &fetch, self.octets).await
    }
}

pub(super) struct ReadOctets<'a> {
    pub at: &'a MessageRef,
    pub from: u64,
    pub most: u32,
}

impl Job for ReadOctets<'_> {
    type Out = Bytes;

    fn folder(&self) -> Option<&FolderName> {
        Some(&self.at.folder)
    }

    async fn run(&self, session: &mut Session, cx: &Cx) -> Result<Bytes, Fault> {
        cx.enter(Stage::Fetch);
        match self.most {
            0 => Ok(Bytes::new()),
            most => octets(session, cx, Spot::of(self.at)?, self.from, most).await,
        }
    }
}

/// The beginning that comes with the first flight.
pub(super) fn first_piece(octets: u64) -> Option<Item> {
    let most = u32::try_from(octets).unwrap_or(u32::MAX).min(PIECE);
    (most > 0).then_some(Item::Peek(Part::Whole, Some(most)))
}

/// The rest of the octets that the digest covers, piece by piece. `None` if the message is gone meanwhile.
pub(super) async fn read_on(
    session: &mut Session,
    cx: &Cx,
    at: Spot<'_>,
    fetch: &Fetch,
    wanted: u64,
) -> Result<Option<(Witness, Bytes)>, Fault> {
    let mut witness = witness(fetch);
    if wanted == 0 {
        return Ok(Some((witness, Bytes::new())));
    }
    let Some(first) = fetch.section("") else {
        return Err(Fault::new(FaultKind::Protocol, cx.stage()));
    };
    let mut digesting = Digesting::default();
    let mut shown = BytesMut::from(first.as_ref());
    let mut piece = first.clone();
    loop {
        digesting.take(&piece);
        let left = wanted.saturating_sub(digesting.octets());
        // A short piece is the last one.
        if left == 0 || piece.len() < PIECE as usize {
            break;
        }
        let most = u32::try_from(left).unwrap_or(PIECE).min(PIECE);
        piece = match octets(session, cx, at, digesting.octets(), most).await {
            Err(fault) if fault.kind == FaultKind::NoSuchMessage => return Ok(None),
            other => other?,
        };
        if digesting.octets() < MOST_SHOWN {
            shown.extend_from_slice(&piece);
        }
    }
    let shown = shown.freeze();
    add_beginning(&mut witness, &shown, digesting);
    Ok(Some((witness, shown)))
}

/// One piece, and not what a server gives instead of it.
async fn octets(
    session: &mut Session,
    cx: &Cx,
    at: Spot<'_>,
    from: u64,
    most: u32,
) -> Result<Bytes, Fault> {
    // No message is so long that it has a middle out of reach.
    let Ok(from) = u32::try_from(from) else {
        return Ok(Bytes::new());
    };
    let item = Item::Slice {
        part: Part::Whole,
        from,
        most,
    };
    let fetch = fetch_at(session, cx, at, &[item], Entry::Reading).await?;
    let octets = fetch.section_from("", from).cloned();
    // QUIRK: beyond the end some give NIL.
    let ended = || {
        let named = |one: &&imap::SectionData| one.section.is_empty() && one.data.is_none();
        fetch.sections.iter().find(named).map(|_| Bytes::new())
    };
    let octets = octets.or_else(ended);
    let fits = |octets: &Bytes| octets.len() <= most as usize;
    octets
        .filter(fits)
        .ok_or(Fault::new(FaultKind::Protocol, Stage::Fetch))
}
