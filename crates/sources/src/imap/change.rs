//! How one message is changed: found, checked and changed in one flight, where the server lets it be done so.
//!
//! The check is a search for that number and that size whose result is kept at the server (`SEARCHRES`, RFC 5182); the
//! change is asked for what was found, so that nothing happens to another message. Other servers are asked first and
//! told after.

use imap::command::{FlagName, Item, Key, SearchReturn, Which};
use imap::{Code, Command, Data, Fetch, SequenceSet, Status};
use mail::{Broken, Cx, Effect, Fault, FaultKind, Flag, Stage, Subject, Witness};

use super::departure::has_left;
use super::link::Flown;
use super::raw::{Spot, fetch_at};
use super::session::{Access, Entry, Session, Struck};
use super::witness::{outside, witness};
use super::{conditions, faults};

/// One change is flown again this often at most, and only if it is certain that nothing was changed.
const MOST_FLIGHTS: usize = 3;

/// Some servers count in 31 bits; what they cannot read must not reach them in such a flight.
const MOST_SEARCHED: u64 = (1 << 31) - 2;

/// The message, and how it is got at.
pub(super) struct Aim<'a> {
    pub subject: &'a Subject,
    pub stage: Stage,
    pub entry: Entry,
    /// What is asked of the message before it is changed.
    pub witness: Vec<Item>,
    /// Flags that the folder must keep.
    pub flags: Vec<&'a Flag>,
}

/// The commands that make up a change of the messages that are named.
pub(super) type Commands<'a> = &'a (dyn Fn(&Which) -> Result<Vec<Command>, Fault> + Send + Sync);

/// What came of the flight with the change.
pub(super) struct Told {
    stage: Stage,
    pub before: Option<Witness>,
    met: Met,
    /// Those of the change's commands; absent where none came.
    statuses: Vec<Option<Status>>,
    pub data: Vec<Data>,
    /// The server said that it is no longer in its folder.
    pub left: bool,
    fault: Option<Fault>,
    spoken: bool,
}

/// Whether the message was the one that was meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Met {
    Yes,
    /// It was not, so that nothing was changed.
    No(FaultKind),
    /// Nobody said that it was not.
    Untold,
    /// It does not seem to be, and what was done to it is not known.
    Doubtful,
}

/// What the server said to one command.
pub(super) enum Answered {
    Done,
    Refused(Fault),
    /// The answer did not come.
    Lost,
}

impl Aim<'_> {
    pub(super) async fn strike(
        &self,
        session: &mut Session,
        cx: &Cx,
        commands: Commands<'_>,
    ) -> Result<Told, Broken> {
        let nothing = Broken::before_anything;
        let mut told = self.strike_once(session, cx, commands).await;
        for _ in 1..MOST_FLIGHTS {
            match told.map_err(nothing)? {
                (_, Verdict::Again) => told = self.strike_once(session, cx, commands).await,
                (told, Verdict::Final) => return Ok(told),
            }
        }
        told.map(|(told, _)| told).map_err(nothing)
    }

    /// The fault is of what went before the flight with the change.
    async fn strike_once(
        &self,
        session: &mut Session,
        cx: &Cx,
        commands: Commands<'_>,
    ) -> Result<(Told, Verdict), Fault> {
        let which = self.approach(session, cx).await?;
        cx.enter(self.stage);
        let uids = SequenceSet::of([self.subject.at.uid.0]);
        let changes = commands(&which)?;
        let (count, mut flight) = (changes.len(), Vec::new());
        if which == Which::Saved {
            flight.push(self.search(&uids)?);
        }
        flight.push(Command::uid_fetch(&uids, &self.witness));
        let first = flight.len();
        flight.extend(changes);
        if which == Which::Saved {
            flight.push(forget(&uids)?);
        }
        let mut struck = session.strike(cx, flight).await;
        let statuses = (first..first + count).map(|at| struck.flown.status(at).cloned());
        let statuses = statuses.collect();
        let (met, verdict) = match which {
            Which::Saved => self.judge(session, &struck, first + count),
            Which::Uids(_) => (Met::Untold, Verdict::Final),
        };
        let told = Told {
            stage: self.stage,
            before: first_told(&struck.flown.data, self.subject.at.uid.0).map(|one| witness(&one)),
            met,
            statuses,
            left: has_left(&struck.flown.data, self.subject.at.uid.0),
            data: std::mem::take(&mut struck.flown.data),
            fault: struck.flown.fault.take(),
            spoken: struck.flown.spoken,
        };
        Ok((told, verdict))
    }

    /// Sees to it that the folder is open in the right generation and, where the check cannot be made with the change,
    /// that the message is the one that is meant.
    async fn approach(&self, session: &mut Session, cx: &Cx) -> Result<Which, Fault> {
        let at = Spot::of(&self.subject.at)?;
        let open = session.is_in(at.folder, self.entry);
        if open != Some(at.uidvalidity) {
            // A folder of another generation is opened again before it is believed.
            session.leave();
        }
        let together = self.can_be_checked_together(session);
        if open != Some(at.uidvalidity) || !together {
            cx.enter(Stage::OpenFolder);
            let items = outside(session.capabilities());
            let found = fetch_at(session, cx, at, &items, self.entry).await;
            // A folder that nothing can be done to is the better answer, wherever the message is.
            if session.is_sound() {
                self.check_grant(session)?;
            }
            self.check(&found?)?;
        }
        self.check_grant(session)?;
        Ok(match together {
            true => Which::Saved,
            false => Which::Uids(SequenceSet::of([at.uid.0])),
        })
    }

    fn check_grant(&self, session: &Session) -> Result<(), Fault> {
        let grant = session.grant(&self.subject.at.folder);
        let Some(grant) = grant.filter(|_| self.entry == Entry::Writing) else {
            return Ok(());
        };
        if grant.access == Access::ReadOnly {
            return Err(Fault::new(FaultKind::ReadOnly, Stage::OpenFolder));
        }
        let kept = |flag: &&&Flag| match &grant.keeps {
            Some(keeps) => keeps.keeps(flag.as_str()),
            None => true,
        };
        match self.flags.iter().find(|flag| !kept(flag)) {
            Some(flag) => Err(not_kept(flag, self.stage)),
            None => Ok(()),
        }
    }

    fn check(&self, found: &Fetch) -> Result<(), Fault> {
        match (self.subject.size, found.size) {
            (Some(meant), Some(is)) if meant != is => {
                Err(Fault::new(FaultKind::AnotherMessage, self.stage))
            }
            (Some(_), None) => Err(Fault::new(FaultKind::Protocol, self.stage)),
            _ => Ok(()),
        }
    }

    fn can_be_checked_together(&self, session: &Session) -> bool {
        conditions::has_searchres(session)
            && self.subject.size.is_none_or(|size| size <= MOST_SEARCHED)
    }

    fn search(&self, uids: &SequenceSet) -> Result<Command, Fault> {
        let mut keys = vec![Key::Uid(uids.clone())];
        if let Some(size) = self.subject.size {
            keys.extend(of_size(size));
        }
        Command::uid_search(SearchReturn::Save, &keys).map_err(|_| unspeakable(self.stage))
    }

    /// INVARIANT: nothing is kept at the server when such a flight begins. A search that fails leaves it so, and the
    /// change is then one of no message.
    fn judge(&self, session: &mut Session, struck: &Struck, forgotten: usize) -> (Met, Verdict) {
        let flown = &struck.flown;
        let refused = |at: usize| flown.status(at).is_some_and(|status| !status.is_ok());
        let tag = flown.outcomes.first().and_then(Option::as_ref);
        let count = flown.data.iter().find_map(|data| match (data, tag) {
            (Data::Esearch(found), Some((_, place))) if is_for(found, place.tag) => found.count,
            _ => None,
        });
        if refused(forgotten) || refused(0) || (tag.is_some() && count.is_none()) {
            session.searchres_fails = true;
        }
        let verdict = match flown.fault {
            Some(_) => Verdict::Final,
            None => Verdict::Again,
        };
        let seen = first_told(&flown.data, self.subject.at.uid.0);
        match (count, seen) {
            // A server that found nothing and took something all the same is not asked again.
            (Some(0), _) if took_any(flown) => (Met::Doubtful, Verdict::Final),
            (None, _) if refused(0) && took_any(flown) => (Met::Doubtful, Verdict::Final),
            (Some(1), _) => (Met::Yes, Verdict::Final),
            (Some(0), None) if struck.grew => (Met::No(FaultKind::NoSuchMessage), verdict),
            (Some(0), None) => (Met::No(FaultKind::NoSuchMessage), Verdict::Final),
            // QUIRK: a server that counts octets in one way when it is searched and in another when it is asked.
            (Some(0), Some(seen))
                if seen.size == self.subject.size || self.subject.size.is_none() =>
            {
                session.searchres_fails = true;
                (Met::No(FaultKind::NoSuchMessage), verdict)
            }
            (Some(0), Some(_)) => (Met::No(FaultKind::AnotherMessage), Verdict::Final),
            _ if refused(0) => (Met::No(FaultKind::Rejected), verdict),
            (_, Some(seen)) if self.subject.size.is_some() && seen.size != self.subject.size => {
                (Met::Doubtful, Verdict::Final)
            }
            _ => (Met::Untold, Verdict::Final),
        }
    }
}

/// Whether a flight may be flown again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Final,
    /// It certainly changed nothing, and another one may.
    Again,
}

impl Told {
    pub(super) fn answered(&self, command: usize) -> Answered {
        match self.statuses.get(command).and_then(Option::as_ref) {
            Some(status) if status.is_ok() => Answered::Done,
            Some(status) => Answered::Refused(faults::change_refused(status, self.stage)),
            None => Answered::Lost,
        }
    }

    pub(super) fn status(&self, command: usize) -> Option<&Status> {
        self.statuses.get(command)?.as_ref()
    }

    /// The message was not there or not the one that was meant.
    pub(super) fn missed(&self) -> Option<Broken> {
        if let Some(conflict) = self.conflict() {
            return Some(conflict);
        }
        match self.met {
            Met::No(kind) => Some(self.refused(Fault::new(kind, self.stage))),
            Met::Doubtful => Some(
                self.doubtful("the server does not say whether it was the message that is meant"),
            ),
            Met::Yes | Met::Untold => None,
        }
    }

    /// The folder became another one while the flight was under way. INVARIANT: whatever was done
    /// then is not known to have been done to the message that was meant.
    fn conflict(&self) -> Option<Broken> {
        let fault = self.fault.as_ref()?;
        if fault.kind != FaultKind::Conflict {
            return None;
        }
        let is_refused = |one: &Option<Status>| one.as_ref().is_some_and(|one| !one.is_ok());
        let effect = if !self.spoken || self.statuses.iter().all(is_refused) {
            Effect::Nothing
        } else {
            Effect::Unknown
        };
        Some(self.broken(fault.clone(), effect))
    }

    /// Refused as a whole.
    pub(super) fn refused(&self, fault: Fault) -> Broken {
        self.broken(fault, Effect::Nothing)
    }

    /// An answer is missing.
    pub(super) fn lost(&self) -> Broken {
        let unanswered = || Fault::new(FaultKind::Protocol, self.stage);
        let fault = self.fault.clone().unwrap_or_else(unanswered);
        match self.spoken {
            true => self.broken(fault, Effect::Unknown),
            false => self.broken(fault, Effect::Nothing),
        }
    }

    /// The server's words leave open what it did.
    pub(super) fn doubtful(&self, said: &str) -> Broken {
        let fault = Fault::saying(FaultKind::Protocol, self.stage, said);
        self.broken(fault, Effect::Unknown)
    }

    /// A part of it was done and could not be taken back.
    pub(super) fn half_done(&self, fault: Fault) -> Broken {
        self.broken(fault, Effect::Unknown)
    }

    fn broken(&self, fault: Fault, effect: Effect) -> Broken {
        Broken {
            fault,
            effect,
            before: self.before.clone(),
        }
    }
}

/// What a search for exactly this size asks for.
pub(super) fn of_size(size: u64) -> Vec<Key<'static>> {
    let number = |size: u64| u32::try_from(size).ok();
    let larger = size.checked_sub(1).and_then(number).map(Key::Larger);
    let smaller = size.checked_add(1).and_then(number).map(Key::Smaller);
    larger.into_iter().chain(smaller).collect()
}

/// A flag that the folder, or IMAP, does not keep.
fn not_kept(flag: &Flag, stage: Stage) -> Fault {
    Fault::saying(FaultKind::FlagNotKept, stage, flag.as_str())
}

/// Flags as they go to the server.
pub(super) fn names(flags: &[Flag], stage: Stage) -> Result<Vec<FlagName>, Fault> {
    let named = |flag: &Flag| FlagName::new(flag.as_str()).map_err(|_| not_kept(flag, stage));
    flags.iter().map(named).collect()
}

/// A command whose arguments cannot be sent.
pub(super) fn unspeakable(stage: Stage) -> Fault {
    Fault::new(FaultKind::Rejected, stage)
}

/// A search that finds nothing, so that nothing is kept.
fn forget(uids: &SequenceSet) -> Result<Command, Fault> {
    let keys = [Key::Uid(uids.clone()), Key::Not(Box::new(Key::All))];
    Command::uid_search(SearchReturn::Save, &keys).map_err(|_| unspeakable(Stage::Search))
}

/// Whether the server says of any message that it lies elsewhere now.
fn took_any(flown: &Flown) -> bool {
    let tagged = flown.outcomes.iter().flatten().map(|(status, _)| status);
    let untagged = flown.data.iter().filter_map(|one| match one {
        Data::Status(status) => Some(status),
        _ => None,
    });
    let mut codes = tagged.chain(untagged).filter_map(|one| one.code.as_ref());
    codes.any(is_copyuid)
}

/// Readable or not.
pub(super) fn is_copyuid(code: &Code) -> bool {
    code.is("COPYUID")
}

fn is_for(found: &imap::Esearch, tag: imap::Tag) -> bool {
    found.tag.as_ref().is_some_and(|wire| tag.is(wire))
}

/// The message as it was described first, before anything was done to it: in the answer that holds its size, which is
/// asked for only there.
fn first_told(data: &[Data], uid: u32) -> Option<Fetch> {
    let mut told = data.iter().filter_map(|one| match one {
        Data::Fetch(fetch) if fetch.uid == Some(uid) => Some(fetch.as_ref()),
        _ => None,
    });
    // QUIRK: Dovecot describes a message that is gone already as one of no octets.
    let found = told.find(|fetch| fetch.size.is_some())?;
    (found.size != Some(0)).then(|| found.clone())
}
