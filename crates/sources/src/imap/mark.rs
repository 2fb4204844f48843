//! The change that sets and takes flags: both or neither.

use imap::command::{FlagName, Item, Stored, Which};
use imap::{Command, Data, SequenceSet};
use mail::{Broken, Changed, Cx, Fault, Flag, Stage, Subject};

use super::change::{Aim, Answered, Told, names, unspeakable};
use super::convert;
use super::job::Change;
use super::pool::Wish;
use super::session::{Entry, Session};
use super::witness::with_head;

pub(super) struct Mark<'a> {
    pub subject: &'a Subject,
    pub add: &'a [Flag],
    pub remove: &'a [Flag],
}

/// One `STORE` of the flight.
struct Part {
    stored: Stored,
    flags: Vec<FlagName>,
}

impl Change for Mark<'_> {
    fn wish(&self) -> Wish<'_> {
        Wish::Selected(&self.subject.at.folder)
    }

    async fn run(&self, session: &mut Session, cx: &Cx) -> Result<Changed, Broken> {
        cx.enter(Stage::Mark);
        let aim = Aim {
            subject: self.subject,
            stage: Stage::Mark,
            entry: Entry::Writing,
            witness: with_head(session.capabilities()),
            flags: self.add.iter().chain(self.remove).collect(),
        };
        let parts = self.parts().map_err(Broken::before_anything)?;
        let told = aim
            .strike(session, cx, &|which| self.commands(&parts, which))
            .await?;
        self.judge(session, cx, &parts, told).await
    }
}

impl Mark<'_> {
    fn parts(&self) -> Result<Vec<Part>, Fault> {
        let both = [(Stored::Added, self.add), (Stored::Removed, self.remove)];
        let some = both.into_iter().filter(|(_, flags)| !flags.is_empty());
        let parts = some.map(|(stored, flags)| {
            Ok(Part {
                stored,
                flags: names(flags, Stage::Mark)?,
            })
        });
        parts.collect()
    }

    fn commands(&self, parts: &[Part], which: &Which) -> Result<Vec<Command>, Fault> {
        let stores = parts
            .iter()
            .map(|part| Command::uid_store(which, part.stored, &part.flags));
        let mut commands: Vec<Command> = stores
            .collect::<Result<_, _>>()
            .map_err(|_| unspeakable(Stage::Mark))?;
        commands.push(self.ask_flags());
        Ok(commands)
    }

    fn ask_flags(&self) -> Command {
        Command::uid_fetch(&self.uids(), &[Item::Flags])
    }

    fn uids(&self) -> SequenceSet {
        SequenceSet::of([self.subject.at.uid.0])
    }

    async fn judge(
        &self,
        session: &mut Session,
        cx: &Cx,
        parts: &[Part],
        told: Told,
    ) -> Result<Changed, Broken> {
        if let Some(broken) = told.missed() {
            return Err(broken);
        }
        let (mut done, mut refused) = (Vec::new(), None);
        for (at, part) in parts.iter().enumerate() {
            match told.answered(at) {
                Answered::Done => done.push(part),
                Answered::Refused(fault) => refused = Some(fault),
                Answered::Lost => return Err(told.lost()),
            }
        }
        if let Some(fault) = refused {
            return Err(self.take_back(session, cx, &told, &done, fault).await);
        }
        let flags = last_flags(&told.data, self.subject.at.uid.0);
        if flags.is_none() && told.before.is_none() {
            return Err(told.doubtful("the server does not say what flags the message has"));
        }
        Ok(Changed {
            flags,
            before: told.before,
            ..Changed::default()
        })
    }

    /// One half was refused: the other is taken back, as far as it changed anything.
    async fn take_back(
        &self,
        session: &mut Session,
        cx: &Cx,
        told: &Told,
        done: &[&Part],
        fault: Fault,
    ) -> Broken {
        let before = told.before.as_ref().and_then(|one| one.flags.as_ref());
        let Some(before) = before.filter(|_| session.is_sound()) else {
            return match done.is_empty() {
                true => told.refused(fault),
                false => told.half_done(fault),
            };
        };
        let had = |name: &FlagName| before.iter().any(|flag| flag.is(&name.to_string()));
        let which = Which::Uids(self.uids());
        let mut commands = Vec::new();
        for part in done {
            let changed = part.flags.iter().filter(|name| match part.stored {
                Stored::Added => !had(name),
                Stored::Removed => had(name),
            });
            let changed: Vec<FlagName> = changed.cloned().collect();
            let back = match part.stored {
                Stored::Added => Stored::Removed,
                Stored::Removed => Stored::Added,
            };
            if !changed.is_empty()
                && let Ok(command) = Command::uid_store(&which, back, &changed)
            {
                commands.push(command);
            }
        }
        let count = commands.len();
        let flown = match count {
            0 => return told.refused(fault),
            _ => session.strike(cx, commands).await.flown,
        };
        let is_back = |at: usize| flown.status(at).is_some_and(imap::Status::is_ok);
        match (0..count).all(is_back) {
            true => told.refused(fault),
            false => told.half_done(fault),
        }
    }
}

/// The flags that were told last.
fn last_flags(data: &[Data], uid: u32) -> Option<Vec<Flag>> {
    let mut told = data.iter().rev().filter_map(|one| match one {
        Data::Fetch(fetch) if fetch.uid == Some(uid) => Some(fetch),
        _ => None,
    });
    told.find_map(|fetch| convert::flags(fetch))
}
