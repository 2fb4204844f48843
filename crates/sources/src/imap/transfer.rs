//! The changes that bring a message to another folder of the account: copying and moving.

use imap::command::{Item, Which};
use imap::{Code, Command, Data};
use mail::{
    Broken, Changed, Cx, Fault, FaultKind, FolderName, Landing, Stage, Subject, Uid, UidValidity,
};

use super::change::{Aim, Answered, Told, is_copyuid, unspeakable};
use super::gmail::relabel;
use super::job::Change;
use super::pool::Wish;
use super::session::{Entry, Session};
use super::witness::with_beginning;

pub(super) struct Transfer<'a> {
    pub subject: &'a Subject,
    pub to: &'a FolderName,
    pub manner: Manner,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Manner {
    Copy,
    Move,
}

/// What a server says of where a message went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reports {
    Landings,
    Nothing,
}

impl Change for Transfer<'_> {
    fn wish(&self) -> Wish<'_> {
        let folder = &self.subject.at.folder;
        match self.manner {
            // The folder that it comes from is only read.
            Manner::Copy => Wish::Open(folder),
            Manner::Move => Wish::Selected(folder),
        }
    }

    async fn run(&self, session: &mut Session, cx: &Cx) -> Result<Changed, Broken> {
        cx.enter(self.stage());
        if session.is_gmail()
            && let Some(changed) = relabel::transfer(self, session, cx).await?
        {
            return Ok(changed);
        }
        let offered = session.capabilities();
        if self.manner == Manner::Move && !offered.has("MOVE") && !offered.has("IMAP4REV2") {
            let fault = Fault::new(FaultKind::NotOffered, self.stage());
            return Err(Broken::before_anything(fault));
        }
        let mut witness = with_beginning(offered);
        if session.is_gmail() {
            witness.push(Item::GmailLabels);
        }
        let aim = Aim {
            subject: self.subject,
            stage: self.stage(),
            entry: match self.manner {
                Manner::Copy => Entry::Reading,
                Manner::Move => Entry::Writing,
            },
            witness,
            flags: Vec::new(),
        };
        let reports = match offered.has("UIDPLUS") || offered.has("IMAP4REV2") {
            true => Reports::Landings,
            false => Reports::Nothing,
        };
        // It is another one in the owner's language.
        let to = session.names.wire(self.to).into_owned();
        let told = aim
            .strike(session, cx, &|which| self.commands(which, &to))
            .await?;
        let uid = self.subject.at.uid;
        let was_there =
            session.is_gmail() && relabel::had_label_of(session, self.to, &told.data, uid);
        let changed = self.judge(told, reports)?;
        Ok(Changed {
            was_there,
            ..changed
        })
    }
}

impl Transfer<'_> {
    pub(super) fn stage(&self) -> Stage {
        match self.manner {
            Manner::Copy => Stage::Copy,
            Manner::Move => Stage::Move,
        }
    }

    fn commands(&self, which: &Which, to: &str) -> Result<Vec<Command>, Fault> {
        let command = match self.manner {
            Manner::Copy => Command::uid_copy(which, to),
            Manner::Move => Command::uid_move(which, to),
        };
        command
            .map(|command| vec![command])
            .map_err(|_| unspeakable(self.stage()))
    }

    #[expect(
        clippy::result_large_err,
        reason = "what a message was before is told in either case"
    )]
    fn judge(&self, told: Told, reports: Reports) -> Result<Changed, Broken> {
        if let Some(broken) = told.missed() {
            return Err(broken);
        }
        match told.answered(0) {
            Answered::Done => {}
            // Refused when it was done already, wholly or in part.
            Answered::Refused(fault) if told.left || codes(&told).any(is_copyuid) => {
                return Err(told.half_done(fault));
            }
            Answered::Refused(fault) => return Err(told.refused(fault)),
            Answered::Lost => return Err(told.lost()),
        }
        let landing = self.landing(&told)?;
        // QUIRK: Dovecot was seen to say OK to a removal that it had not made, where others were at the same file; a move is
        // one, too. So it is done when the message is said to have left.
        if self.manner == Manner::Move && !told.left {
            return Err(told.doubtful("the server does not say that the message left"));
        }
        match (landing, &told.before) {
            (Some(landed), _) => Ok(Changed {
                before: told.before,
                landed: Some(landed),
                ..Changed::default()
            }),
            // Without a word of where it lies, what else was said must fit: a copy takes nothing away.
            (None, Some(_))
                if reports == Reports::Nothing && (self.manner == Manner::Move || !told.left) =>
            {
                Ok(unseen(told))
            }
            // A server that tells where messages go and does not tell of this one may not have taken it.
            (None, _) => Err(told.doubtful("the server does not say where the message went")),
        }
    }

    /// Where the message lies now; doubtful if the server did something to another one.
    #[expect(
        clippy::result_large_err,
        reason = "what a message was before is told in either case"
    )]
    fn landing(&self, told: &Told) -> Result<Option<Landing>, Broken> {
        let Some(copied) = codes(told).find_map(Code::copy_uid) else {
            return Ok(None);
        };
        match copied.landing(self.subject.at.uid.0) {
            Some(uid) if copied.len() == 1 => Ok(Some(Landing {
                uidvalidity: UidValidity(copied.uidvalidity),
                uid: Uid(uid),
            })),
            _ => Err(told.doubtful("the server says that it took other messages")),
        }
    }
}

/// The codes of the command's own answer and of all that came before it.
fn codes(told: &Told) -> impl Iterator<Item = &Code> {
    let tagged = told.status(0).and_then(|status| status.code.as_ref());
    let untagged = told.data.iter().filter_map(|one| match one {
        Data::Status(status) => status.code.as_ref(),
        _ => None,
    });
    tagged.into_iter().chain(untagged)
}

/// Done, and where it lies is not known.
fn unseen(told: Told) -> Changed {
    Changed {
        before: told.before,
        ..Changed::default()
    }
}
