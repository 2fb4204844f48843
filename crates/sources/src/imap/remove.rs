//! The change that takes a message out of its folder: this one, whatever else is flagged `\Deleted` there.

use imap::command::{FlagName, Stored, Which};
use imap::{Command, Data, SequenceSet};
use mail::{Broken, Changed, Cx, Fault, FaultKind, Flag, Removal, Removed, Stage, Subject};

use super::change::{Aim, Answered, Told, unspeakable};
use super::gmail::removal;
use super::job::Change;
use super::pool::Wish;
use super::session::{Entry, Session};
use super::witness::with_beginning;

const DELETED: &str = "\\Deleted";

pub(super) struct Remove<'a> {
    pub subject: &'a Subject,
    pub what: Removed,
}

/// The places of the commands in the flight.
const STORE: usize = 0;
const EXPUNGE: usize = 1;

impl Change for Remove<'_> {
    fn wish(&self) -> Wish<'_> {
        Wish::Selected(&self.subject.at.folder)
    }

    async fn run(&self, session: &mut Session, cx: &Cx) -> Result<Changed, Broken> {
        cx.enter(Stage::Remove);
        if session.is_gmail()
            && let Some(changed) = removal::remove(self.subject, self.what, session, cx).await?
        {
            return Ok(changed);
        }
        let deleted = Flag::new(DELETED);
        let aim = Aim {
            subject: self.subject,
            stage: Stage::Remove,
            entry: Entry::Writing,
            witness: with_beginning(session.capabilities()),
            flags: vec![&deleted],
        };
        let offered = session.capabilities();
        let alone = offered.has("UIDPLUS") || offered.has("IMAP4REV2");
        let commands = |which: &Which| match alone {
            true => self.commands(which),
            // INVARIANT: a plain EXPUNGE would take out others as well.
            false => Ok(vec![flag(which, Stored::Added)?]),
        };
        let told = aim.strike(session, cx, &commands).await?;
        if let Some(broken) = told.missed() {
            return Err(broken);
        }
        match alone {
            true => self.judge(session, cx, told).await,
            false => judge_flagged(told, self.subject.at.uid.0),
        }
    }
}

impl Remove<'_> {
    /// A message that is not flagged is not expunged, so that the two need not wait for each other.
    fn commands(&self, which: &Which) -> Result<Vec<Command>, Fault> {
        let expunge = Command::uid_expunge(which).map_err(|_| unspeakable(Stage::Remove))?;
        Ok(vec![flag(which, Stored::Added)?, expunge])
    }

    async fn judge(&self, session: &mut Session, cx: &Cx, told: Told) -> Result<Changed, Broken> {
        match (told.answered(STORE), told.answered(EXPUNGE)) {
            (Answered::Done, Answered::Done) if told.left => Ok(removed(told, Removal::Gone)),
            // QUIRK: Dovecot says OK and leaves the message where it is, while others work in the folder.
            (Answered::Done, Answered::Done) => {
                Err(told.doubtful("the server does not say that the message went"))
            }
            // Gone, though something was refused.
            (Answered::Refused(fault), Answered::Done | Answered::Refused(_))
            | (Answered::Done, Answered::Refused(fault))
                if told.left =>
            {
                Err(told.half_done(fault))
            }
            (Answered::Done, Answered::Refused(fault)) => {
                Err(self.take_back(session, cx, &told, fault).await)
            }
            // It may have been flagged before, and gone though it could not be flagged again.
            (Answered::Refused(fault), Answered::Done) if was_deleted(&told) != Some(false) => {
                Err(told.half_done(fault))
            }
            (Answered::Refused(fault), Answered::Done | Answered::Refused(_)) => {
                Err(told.refused(fault))
            }
            (_, Answered::Lost) | (Answered::Lost, _) => Err(told.lost()),
        }
    }

    /// It was flagged and is not taken out: the flag goes again, unless somebody else had set it.
    async fn take_back(&self, session: &mut Session, cx: &Cx, told: &Told, fault: Fault) -> Broken {
        match was_deleted(told) {
            Some(true) => return told.refused(fault),
            Some(false) if session.is_sound() => {}
            _ => return told.half_done(fault),
        }
        let Ok(command) = flag(
            &Which::Uids(SequenceSet::of([self.subject.at.uid.0])),
            Stored::Removed,
        ) else {
            return told.half_done(fault);
        };
        let flown = session.strike(cx, vec![command]).await.flown;
        match flown.status(0).is_some_and(imap::Status::is_ok) {
            true => told.refused(fault),
            false => told.half_done(fault),
        }
    }
}

#[expect(
    clippy::result_large_err,
    reason = "what a message was before is told in either case"
)]
fn judge_flagged(told: Told, uid: u32) -> Result<Changed, Broken> {
    match told.answered(STORE) {
        Answered::Done if told.before.is_none() && !tells_of(&told.data, uid) => {
            Err(told.doubtful("the server does not say that the message is flagged"))
        }
        Answered::Done => Ok(removed(told, Removal::Flagged)),
        Answered::Refused(fault) => Err(told.refused(fault)),
        Answered::Lost => Err(told.lost()),
    }
}

fn flag(which: &Which, stored: Stored) -> Result<Command, Fault> {
    let deleted = FlagName::new(DELETED);
    let command = deleted.and_then(|deleted| Command::uid_store(which, stored, &[deleted]));
    command.map_err(|_| Fault::new(FaultKind::Rejected, Stage::Remove))
}

fn removed(told: Told, removal: Removal) -> Changed {
    Changed {
        before: told.before,
        removal: Some(removal),
        ..Changed::default()
    }
}

fn was_deleted(told: &Told) -> Option<bool> {
    let flags = told.before.as_ref()?.flags.as_ref()?;
    Some(flags.iter().any(|flag| flag.is(DELETED)))
}

fn tells_of(data: &[Data], uid: u32) -> bool {
    let is = |one: &Data| matches!(one, Data::Fetch(fetch) if fetch.uid == Some(uid));
    data.iter().any(is)
}
