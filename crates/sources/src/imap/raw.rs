//! The job that reads a message's source: one flight, no more octets than asked for.

use imap::command::{Item, Part};
use imap::{Command, SequenceSet};
use mail::{Cx, Fault, FaultKind, FolderName, MessageRef, RawMessage, Stage};

use super::job::Job;
use super::session::{Opened, Pace, Session};
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
        let opened = ask(session, cx, self.at, &items).await?;
        let fetch = fetched(&opened, self.at)?;
        let bytes = fetch.section("").ok_or(Fault::new(FaultKind::NoSuchMessage, Stage::Fetch))?;
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        Ok(RawMessage {
            // QUIRK: sizes are estimates on some servers; never claim less than was received.
            size: fetch.size.unwrap_or(length).max(length),
            bytes: bytes.clone(),
        })
    }
}

/// One flight: the folder opened if need be, and `items` of one message.
pub(super) async fn ask(
    session: &mut Session,
    cx: &Cx,
    at: &MessageRef,
    items: &[Item],
) -> Result<Opened, Fault> {
    // UID 0 does not exist (RFC 3501 section 2.3.1.1), and a set cannot say it.
    if at.uid.0 == 0 {
        return Err(Fault::new(FaultKind::NoSuchMessage, Stage::Fetch));
    }
    let command = Command::uid_fetch(&SequenceSet::of([at.uid.0]), items);
    let opened = session.ask_in(cx, &at.folder, vec![command], Pace::Prompt).await?;
    if opened.uidvalidity != at.uidvalidity {
        return Err(Fault::new(FaultKind::Conflict, Stage::OpenFolder));
    }
    Ok(opened)
}

/// The one message that was asked for, or that it is not there.
pub(super) fn fetched(opened: &Opened, at: &MessageRef) -> Result<imap::Fetch, Fault> {
    for reply in &opened.replies {
        faults::check(&reply.status, Stage::Fetch)?;
    }
    let data = opened.replies.iter().flat_map(|reply| &reply.data);
    let mut found = convert::by_uid(data);
    found.remove(&at.uid.0).ok_or(Fault::new(FaultKind::NoSuchMessage, Stage::Fetch))
}
