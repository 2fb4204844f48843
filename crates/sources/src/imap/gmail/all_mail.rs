//! All Mail, where every message is once, trash and spam aside: the number of a message there, by `X-GM-MSGID`.
//!
//! Numbers are remembered for a while, within one generation of the folder. What the owner hides from mail programs is not
//! looked for.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use imap::Command;
use imap::command::{Item, Key};
use mail::{
    Cx, Fault, FaultKind, FolderName, Horizon, InAll, Keeping, Landing, MessageRef, SpecialUse,
    Stage, Uid, UidValidity,
};

use super::super::horizon::AskHorizon;
use super::super::job::Job;
use super::super::link::Landed;
use super::super::pool::Wish;
use super::super::raw::{Spot, fetch_at};
use super::super::session::{Entry, Opened, Pace, Session};
use super::super::sift::Form;
use super::super::{ImapSource, faults};
use super::names::{self, Names, Place};

/// More are not remembered.
const MOST: usize = 50_000;

/// A message that was in the trash and came back has another number.
const KEPT: Duration = Duration::from_secs(600);

/// Octets of one flight: as much as fits into the buffers between here and there, while nobody reads.
const MOST_OCTETS: u64 = 48 << 10;

#[derive(Default)]
pub(in super::super) struct Numbers(Mutex<Known>);

#[derive(Default)]
struct Known {
    uidvalidity: Option<UidValidity>,
    by_id: HashMap<u64, (Uid, Instant)>,
    /// What is in other folders, as far as somebody reads it from here.
    anchored: HashMap<Elsewhere, u64>,
}

type Elsewhere = (FolderName, UidValidity, Uid);

/// So many are read at once, and more.
const MOST_ANCHORED: usize = 1_000;

impl Numbers {
    pub(in super::super) fn of(&self, id: u64) -> Option<Landing> {
        let known = self.lock();
        let (uid, since) = known.by_id.get(&id)?;
        let uidvalidity = known.uidvalidity?;
        (since.elapsed() < KEPT).then_some(Landing {
            uidvalidity,
            uid: *uid,
        })
    }

    /// Where a message of another folder was found to be here, whatever has become of it there.
    pub(in super::super) fn anchor(&self, at: &MessageRef, names: &Names) -> Option<MessageRef> {
        let key = (at.folder.clone(), at.uidvalidity, at.uid);
        let id = *self.lock().anchored.get(&key)?;
        let landing = self.of(id)?;
        Some(MessageRef {
            folder: names.of_use(SpecialUse::All).ok()?,
            uidvalidity: landing.uidvalidity,
            uid: landing.uid,
            ..at.clone()
        })
    }

    fn note_anchor(&self, at: &MessageRef, id: u64) {
        let mut known = self.lock();
        if known.anchored.len() >= MOST_ANCHORED {
            known.anchored.clear();
        }
        let key = (at.folder.clone(), at.uidvalidity, at.uid);
        known.anchored.insert(key, id);
    }

    pub(in super::super) fn forget(&self, id: u64) {
        self.lock().by_id.remove(&id);
    }

    fn keep(&self, uidvalidity: UidValidity, found: impl Iterator<Item = (u64, Uid)>) {
        let mut known = self.lock();
        if known.uidvalidity != Some(uidvalidity) || known.by_id.len() >= MOST {
            known.by_id.clear();
            known.uidvalidity = Some(uidvalidity);
        }
        let now = Instant::now();
        known
            .by_id
            .extend(found.map(|(id, uid)| (id, (uid, now))).take(MOST));
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One flight into All Mail; none where it is hidden.
pub(in super::super) async fn enter(
    session: &mut Session,
    cx: &Cx,
    entry: Entry,
    commands: Vec<Command>,
) -> Result<Option<Opened>, Fault> {
    if session.names.hides_all() {
        return Ok(None);
    }
    let all = session.names.of_use(SpecialUse::All)?;
    let opened = session
        .enter(cx, &all, entry, commands.clone(), Pace::Prompt)
        .await;
    let missing = match opened {
        Err(fault) if fault.kind == FaultKind::NoSuchFolder => fault,
        opened => return opened.map(Some),
    };
    if !names::mend(session, cx, missing.kind).await || session.names.hides_all() {
        return Ok(None);
    }
    let all = session.names.of_use(SpecialUse::All)?;
    let opened = session.enter(cx, &all, entry, commands, Pace::Prompt).await;
    match opened {
        Err(fault) if fault.kind == FaultKind::NoSuchFolder => Ok(None),
        opened => opened.map(Some),
    }
}

/// A search for each of these, in the form that the server answers.
pub(in super::super) fn searches(form: Form, ids: &[u64]) -> Result<Vec<Command>, Fault> {
    let keys: Vec<_> = ids.iter().map(|id| vec![Key::GmailMessage(*id)]).collect();
    form.commands(&keys)
}

impl ImapSource {
    /// What is remembered is not asked for.
    pub(in super::super) async fn numbers_in_all(
        &self,
        cx: &Cx,
        folder: &FolderName,
        messages: &[(Uid, u64)],
    ) -> Result<InAll, Fault> {
        match self.names.place(folder) {
            Place::All => {
                let each = messages.iter().map(|(uid, id)| (*id, *uid));
                return Ok(Some(each.collect()));
            }
            Place::Discarded => return Ok(Some(HashMap::new())),
            Place::Label(_) | Place::Unlabelled => {}
        }
        if self.names.hides_all() {
            return Ok(None);
        }
        let (mut found, mut wanted) = (HashMap::new(), Vec::new());
        for (_, id) in messages {
            match self.in_all.of(*id) {
                Some(known) => {
                    found.insert(*id, known.uid);
                }
                None => wanted.push(*id),
            }
        }
        if wanted.is_empty() {
            return Ok(Some(found));
        }
        let memory = &self.in_all;
        let job = FindInAll {
            wanted: &wanted,
            memory,
        };
        Ok(self.run(cx, job).await?.map(|more| {
            found.extend(more);
            found
        }))
    }
}

impl ImapSource {
    /// Where a message is here, whatever has become of it in its folder.
    pub(in super::super) async fn recall(
        &self,
        cx: &Cx,
        at: &MessageRef,
        id: u64,
    ) -> Result<Option<MessageRef>, Fault> {
        let all = self.names.of_use(SpecialUse::All)?;
        let job = FindStanding { folder: &all, id };
        let found = match self.hides_all() {
            true => None,
            false => unless_hidden(self.run(cx, job).await)?.flatten(),
        };
        Ok(found.map(|landing| MessageRef {
            folder: all,
            uidvalidity: landing.uidvalidity,
            uid: landing.uid,
            ..at.clone()
        }))
    }

    /// INVARIANT: asked now, so that what came before is never taken for new.
    pub(in super::super) async fn ask_end_of_all(&self, cx: &Cx) -> Result<Option<Horizon>, Fault> {
        if self.hides_all() {
            return Ok(None);
        }
        let all = self.names.of_use(SpecialUse::All)?;
        unless_hidden(self.run(cx, AskHorizon { folder: &all }).await)
    }

    fn hides_all(&self) -> bool {
        self.names.keeping() == Some(Keeping::Apart) || self.names.hides_all()
    }
}

fn unless_hidden<T>(told: Result<T, Fault>) -> Result<Option<T>, Fault> {
    match told {
        Err(fault) if matches!(fault.kind, FaultKind::NoSuchFolder | FaultKind::NotOffered) => {
            Ok(None)
        }
        told => told.map(Some),
    }
}

/// The number that each of these searches found; none where the message is not there.
pub(in super::super) fn numbers(
    form: Form,
    landed: &Landed,
    session: &Session,
) -> Result<Vec<Option<Uid>>, Fault> {
    faults::check_all(&landed.statuses, Stage::Search)?;
    let broken = |said| Fault::saying(FaultKind::Protocol, Stage::Search, said);
    let sets = form.read(landed, session)?;
    let sets = sets.ok_or_else(|| broken("a search was left without an answer"))?;
    let each = sets.iter().map(|set| match set.len() {
        0 => Ok(None),
        1 => Ok(set.iter().next()),
        _ => Err(broken("the server found several messages of one id")),
    });
    each.collect()
}

/// The job that asks for the numbers of many messages: one flight for a page.
pub(in super::super) struct FindInAll<'a> {
    pub wanted: &'a [u64],
    pub memory: &'a Numbers,
}

impl Job for FindInAll<'_> {
    type Out = InAll;

    fn folder(&self) -> Option<&FolderName> {
        None
    }

    async fn run(&self, session: &mut Session, cx: &Cx) -> Result<InAll, Fault> {
        cx.enter(Stage::Search);
        let form = Form::of(session);
        // Answers that do not name their commands are not told apart.
        let most = match form {
            Form::Extended => usize::MAX,
            Form::Plain => 1,
        };
        let mut found = HashMap::new();
        let mut rest = self.wanted;
        while !rest.is_empty() {
            let all = searches(form, rest.get(..most).unwrap_or(rest))?;
            let mut octets = 0;
            let fits = all.iter().take_while(|one| {
                octets += one.octets() + 16;
                octets <= MOST_OCTETS
            });
            let (now, later) = rest.split_at(fits.count().clamp(1, rest.len()));
            let commands: Vec<Command> = all.into_iter().take(now.len()).collect();
            let opened = enter(session, cx, Entry::Reading, commands.clone()).await?;
            let Some(opened) = opened else {
                return Ok(None);
            };
            let (uidvalidity, stale) = (opened.uidvalidity, opened.is_stale());
            let landed = match stale {
                true => session.ask_again(cx, commands, Pace::Prompt).await?,
                false => opened.landed,
            };
            let told = now.iter().copied().zip(numbers(form, &landed, session)?);
            let told: Vec<(u64, Uid)> = told.filter_map(|(id, uid)| Some((id, uid?))).collect();
            self.memory.keep(uidvalidity, told.iter().copied());
            found.extend(told);
            rest = later;
        }
        Ok(Some(found))
    }
}

/// The job that finds out where in All Mail a message of another folder is: there nothing is moved.
pub(in super::super) struct AnchorMessage<'a> {
    pub at: &'a MessageRef,
    pub memory: &'a Numbers,
}

impl Job for AnchorMessage<'_> {
    type Out = MessageRef;

    fn folder(&self) -> Option<&FolderName> {
        Some(&self.at.folder)
    }

    async fn run(&self, session: &mut Session, cx: &Cx) -> Result<MessageRef, Fault> {
        cx.enter(Stage::Fetch);
        let is_label = |place: Place| matches!(place, Place::Label(_) | Place::Unlabelled);
        if !session.is_gmail() || !is_label(session.names.place(&self.at.folder)) {
            return Ok(self.at.clone());
        }
        let at = Spot::of(self.at)?;
        let found = fetch_at(session, cx, at, &[Item::GmailMessage], Entry::Reading).await?;
        let Some(id) = found.gmail_message else {
            return Ok(self.at.clone());
        };
        let known = match self.memory.of(id) {
            Some(known) => Some(known),
            None => number(session, cx, Entry::Reading, id).await?,
        };
        let Some(landing) = known else {
            return Ok(self.at.clone());
        };
        let found = std::iter::once((id, landing.uid));
        self.memory.keep(landing.uidvalidity, found);
        self.memory.note_anchor(self.at, id);
        let anchored = self.memory.anchor(self.at, &session.names);
        Ok(anchored.unwrap_or_else(|| self.at.clone()))
    }
}

/// The number of one message in All Mail, which is open then; none where it is not there, or where All Mail is hidden.
pub(in super::super) async fn number(
    session: &mut Session,
    cx: &Cx,
    entry: Entry,
    id: u64,
) -> Result<Option<Landing>, Fault> {
    let form = Form::of(session);
    let commands = searches(form, &[id])?;
    let Some(opened) = enter(session, cx, entry, commands.clone()).await? else {
        return Ok(None);
    };
    let (uidvalidity, stale) = (opened.uidvalidity, opened.is_stale());
    let landed = match stale {
        true => session.ask_again(cx, commands, Pace::Prompt).await?,
        false => opened.landed,
    };
    let uid = numbers(form, &landed, session)?
        .into_iter()
        .next()
        .flatten();
    Ok(uid.map(|uid| Landing { uidvalidity, uid }))
}

/// The job that finds out whether a message is in a folder.
pub(in super::super) struct FindStanding<'a> {
    pub folder: &'a FolderName,
    pub id: u64,
}

impl Job for FindStanding<'_> {
    type Out = Option<Landing>;

    fn folder(&self) -> Option<&FolderName> {
        Some(self.folder)
    }

    fn wish(&self) -> Wish<'_> {
        Wish::Unselected
    }

    async fn run(&self, session: &mut Session, cx: &Cx) -> Result<Option<Landing>, Fault> {
        cx.enter(Stage::Confirm);
        if !session.is_gmail() {
            return Err(Fault::new(FaultKind::NotOffered, Stage::Confirm));
        }
        // INVARIANT: opened now, so that what came a moment ago is seen.
        let form = Form::of(session);
        let commands = searches(form, &[self.id])?;
        let opened = session
            .enter(cx, self.folder, Entry::Anew, commands, Pace::Prompt)
            .await?;
        let uidvalidity = opened.uidvalidity;
        let uid = numbers(form, &opened.landed, session)?;
        let uid = uid.into_iter().next().flatten();
        Ok(uid.map(|uid| Landing { uidvalidity, uid }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_of_one_generation() {
        let numbers = Numbers::default();
        assert_eq!(numbers.of(1), None);
        let keep = |generation, id, uid| {
            let found = std::iter::once((id, Uid(uid)));
            numbers.keep(UidValidity(generation), found);
        };
        keep(7, u64::MAX, 3);
        keep(7, 2, 4);
        let landing = |generation, uid| {
            Some(Landing {
                uidvalidity: UidValidity(generation),
                uid: Uid(uid),
            })
        };
        assert_eq!(numbers.of(u64::MAX), landing(7, 3));
        assert_eq!(numbers.of(2), landing(7, 4));
        keep(8, 2, 1);
        assert_eq!((numbers.of(u64::MAX), numbers.of(2)), (None, landing(8, 1)));
        numbers.forget(2);
        assert_eq!(numbers.of(2), None);
    }
}
