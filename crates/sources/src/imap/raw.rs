//! The job that reads a message's source: one flight, no more octets than asked for.

use imap::command::{Item, Part};
use imap::{Command, Fetch, SequenceSet};
use mail::{
    Cx, Fault, FaultKind, FolderName, MessageRef, RawMessage, SourceKind, Stage, Uid, UidValidity,
};

use super::job::Job;
use super::link::Landed;
use super::session::{Entry, Pace, Session};
use super::{convert, faults};

pub(super) struct ReadRaw<'a> {
    pub at: &'a MessageRef,
    pub max_bytes: u64,
}

impl Job for ReadRaw<'_> {
    type Out = RawMessage;

    fn folder(&self) -> Option<&FolderName> {
        Some(&self.at.folder)
    }

    async fn run(&self, session: &mut Session, cx: &Cx) -> Result<RawMessage, Fault> {
        cx.enter(Stage::Fetch);
        let most = u32::try_from(self.max_bytes).unwrap_or(u32::MAX);
        let items = [Item::Size, Item::Peek(Part::Whole, Some(most))];
        let fetch = fetch_one(session, cx, self.at, &items).await?;
        let bytes = fetch
            .section("")
            .ok_or(Fault::new(FaultKind::NoSuchMessage, Stage::Fetch))?;
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        Ok(RawMessage {
            // QUIRK: sizes are estimates on some servers; never claim less than was received.
            size: fetch.size.unwrap_or(length).max(length),
            bytes: bytes.clone(),
        })
    }
}

/// One flight: the folder opened if need be, and `items` of one message.
pub(super) async fn fetch_one(
    session: &mut Session,
    cx: &Cx,
    at: &MessageRef,
    items: &[Item],
) -> Result<Fetch, Fault> {
    fetch_at(session, cx, Spot::of(at)?, items, Entry::Reading).await
}

/// Where a message lies in this account.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot<'a> {
    pub folder: &'a FolderName,
    pub uidvalidity: UidValidity,
    pub uid: Uid,
}

impl<'a> Spot<'a> {
    /// UID 0 does not exist (RFC 3501 section 2.3.1.1), and an id of another kind of source names nothing here.
    pub(super) fn of(at: &'a MessageRef) -> Result<Self, Fault> {
        if at.uid.0 == 0 || at.source != SourceKind::Imap {
            return Err(Fault::new(FaultKind::NoSuchMessage, Stage::Fetch));
        }
        Ok(Self {
            folder: &at.folder,
            uidvalidity: at.uidvalidity,
            uid: at.uid,
        })
    }
}

/// The same, the folder entered in a way of one's choosing.
pub(super) async fn fetch_at(
    session: &mut Session,
    cx: &Cx,
    at: Spot<'_>,
    items: &[Item],
    entry: Entry,
) -> Result<Fetch, Fault> {
    let command = Command::uid_fetch(&SequenceSet::of([at.uid.0]), items);
    let opened = session
        .enter(cx, at.folder, entry, vec![command.clone()], Pace::Prompt)
        .await?;
    if opened.uidvalidity != at.uidvalidity {
        return Err(Fault::new(FaultKind::Conflict, Stage::OpenFolder));
    }
    let outcome = described(&opened.landed, at.uid);
    let doubtful = match &outcome {
        Ok(_) => opened.shrank,
        Err(fault) => opened.grew && fault.kind == FaultKind::NoSuchMessage,
    };
    if !doubtful {
        return outcome;
    }
    let landed = session.ask_again(cx, vec![command], Pace::Prompt).await?;
    described(&landed, at.uid)
}

/// The one message that was asked for, or that it is not there.
fn described(landed: &Landed, uid: Uid) -> Result<Fetch, Fault> {
    faults::check_all(&landed.statuses, Stage::Fetch)?;
    let mut found = convert::by_uid(&landed.data);
    if let Some(fetch) = found.remove(&uid.0) {
        return Ok(fetch);
    }
    // A description that could not be read is not the absence of a message.
    let kind = match landed.data.iter().any(convert::is_unreadable_fetch) {
        true => FaultKind::Protocol,
        false => FaultKind::NoSuchMessage,
    };
    Err(Fault::new(kind, Stage::Fetch))
}
