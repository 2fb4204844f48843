//! Copying and moving where folders are labels: a move puts one label on and takes another off, in All Mail.
//!
//! A copy is `COPY`: it puts the label on, says where the message came to lie, and refuses a label that is not there, where a
//! `STORE` of labels would make it. Into and out of trash and spam, and where All Mail is hidden, a move is `MOVE`.

use imap::command::{Item, Stored, Which};
use imap::{Command, Data, Fetch, SequenceSet, Status};
use mail::{
    Broken, Changed, Cx, Effect, Fault, FaultKind, FolderName, Landing, SpecialUse, Stage, Subject,
    Uid, Witness,
};

use super::super::change::unspeakable;
use super::super::link::Flown;
use super::super::raw::Spot;
use super::super::session::{Access, Entry, Pace, Session};
use super::super::sift::Form;
use super::super::transfer::{Manner, Transfer};
use super::super::witness::{with_beginning, witness};
use super::super::{convert, faults};
use super::all_mail;
use super::names::{self, Place};

/// None where the message is copied or moved as on any other server.
pub(in super::super) async fn transfer(
    wanted: &Transfer<'_>,
    session: &mut Session,
    cx: &Cx,
) -> Result<Option<Changed>, Broken> {
    let nothing = Broken::before_anything;
    let from = &wanted.subject.at.folder;
    let settled = names::settle(session, cx, &[from, wanted.to]).await;
    settled.map_err(nothing)?;
    let stage = wanted.stage();
    let refused = |kind| nothing(Fault::new(kind, stage));
    let places = (session.names.place(from), session.names.place(wanted.to));
    let swap = match (wanted.manner, places) {
        (Manner::Copy, (Place::Discarded, _) | (_, Place::Discarded)) => {
            return Err(refused(FaultKind::NoCopyThere));
        }
        // It is there.
        (Manner::Copy, (_, Place::All)) => Swap::default(),
        (Manner::Copy, _) => return Ok(None),
        (Manner::Move, (Place::Discarded, _) | (_, Place::Discarded)) => return Ok(None),
        // INVARIANT: no label goes through `X-GM-LABELS` that it would take for another.
        (Manner::Move, (Place::Unlabelled, _) | (_, Place::Unlabelled)) => return Ok(None),
        (Manner::Move, (Place::All, _)) => return Err(refused(FaultKind::StaysInAll)),
        (Manner::Move, (Place::Label(from), Place::All)) => Swap {
            off: Some(from),
            on: None,
        },
        // It has it, in another spelling.
        (Manner::Move, (Place::Label(from), Place::Label(to))) if is_same(&from, &to) => {
            Swap::default()
        }
        (Manner::Move, (Place::Label(from), Place::Label(to))) => Swap {
            off: Some(from),
            on: Some(to),
        },
    };
    let relabelling = Relabelling {
        subject: wanted.subject,
        to: Some(wanted.to),
        stage,
        swap,
    };
    relabelling.run(session, cx).await
}

/// Takes the label of its folder off a message, and nothing else. None where All Mail is hidden.
pub(in super::super) async fn take_off(
    subject: &Subject,
    session: &mut Session,
    cx: &Cx,
) -> Result<Option<Changed>, Broken> {
    let off = match session.names.place(&subject.at.folder) {
        Place::Label(label) => Some(label),
        Place::Unlabelled => return Ok(None),
        Place::All | Place::Discarded => {
            let fault = Fault::new(FaultKind::StaysInAll, Stage::Remove);
            return Err(Broken::before_anything(fault));
        }
    };
    let relabelling = Relabelling {
        subject,
        to: None,
        stage: Stage::Remove,
        swap: Swap { off, on: None },
    };
    relabelling.run(session, cx).await
}

/// A message, as it is in the folder that it is to be changed in.
pub(in super::super) struct Seen {
    pub fetch: Fetch,
    pub witness: Witness,
}

/// The message that is meant, and that it is there; that the folder it goes to is there, too.
pub(in super::super) async fn see(
    subject: &Subject,
    to: Option<&FolderName>,
    stage: Stage,
    session: &mut Session,
    cx: &Cx,
) -> Result<Seen, Fault> {
    let at = Spot::of(&subject.at)?;
    let mut items = with_beginning(session.capabilities());
    items.push(Item::GmailLabels);
    let mut commands = vec![Command::uid_fetch(&SequenceSet::of([at.uid.0]), &items)];
    if let Some(to) = to {
        let status = Command::status(&session.names.wire(to));
        commands.push(status.map_err(|_| Fault::new(FaultKind::NoSuchTarget, stage))?);
    }
    let opened = session
        .enter(cx, at.folder, Entry::Anew, commands, Pace::Prompt)
        .await?;
    if opened.uidvalidity != at.uidvalidity {
        return Err(Fault::new(FaultKind::Conflict, Stage::OpenFolder));
    }
    let mut statuses = opened.landed.statuses.iter();
    let fetched = statuses.next();
    fetched.map_or(Ok(()), |status| faults::check(status, Stage::Fetch))?;
    if let Some(status) = statuses.next().filter(|status| !status.is_ok()) {
        let fault = faults::folder_refused(status);
        return Err(match fault.kind {
            FaultKind::NoSuchFolder => Fault::new(FaultKind::NoSuchTarget, stage),
            _ => fault,
        });
    }
    let mut found = convert::by_uid(&opened.landed.data);
    let Some(fetch) = found.remove(&at.uid.0) else {
        let unreadable = opened.landed.data.iter().any(convert::is_unreadable_fetch);
        return Err(Fault::new(
            match unreadable {
                true => FaultKind::Protocol,
                false => FaultKind::NoSuchMessage,
            },
            stage,
        ));
    };
    match (subject.size, fetch.size) {
        (Some(meant), Some(is)) if meant != is => {
            return Err(Fault::new(FaultKind::AnotherMessage, stage));
        }
        (Some(_), None) => return Err(Fault::new(FaultKind::Protocol, stage)),
        _ => {}
    }
    let witness = witness(&fetch);
    Ok(Seen { fetch, witness })
}

/// Labels that go and come, as `X-GM-LABELS` names them.
#[derive(Default)]
struct Swap {
    off: Option<String>,
    on: Option<String>,
}

struct Relabelling<'a> {
    subject: &'a Subject,
    to: Option<&'a FolderName>,
    stage: Stage,
    swap: Swap,
}

impl Relabelling<'_> {
    async fn run(&self, session: &mut Session, cx: &Cx) -> Result<Option<Changed>, Broken> {
        let nothing = Broken::before_anything;
        cx.enter(self.stage);
        let seen = see(self.subject, self.to, self.stage, session, cx).await;
        let before = seen.map_err(nothing)?.witness;
        let Some(id) = before.store_id else {
            return Ok(None);
        };
        let number = all_mail::number(session, cx, Entry::Writing, id).await;
        let Some(in_all) = number.map_err(nothing)? else {
            return Ok(None);
        };
        self.check_grant(session).map_err(nothing)?;
        let was_there = match self.swap.off.is_some() || self.swap.on.is_some() {
            true => self.strike(session, cx, in_all, &before).await?,
            false => true,
        };
        let landed = match self.to.map(|to| (to, session.names.place(to))) {
            None => None,
            Some((_, Place::All)) => Some(in_all),
            Some((to, _)) => landing(session, cx, to, id).await,
        };
        Ok(Some(Changed {
            before: Some(before),
            landed,
            was_there,
            ..Changed::default()
        }))
    }

    fn check_grant(&self, session: &Session) -> Result<(), Fault> {
        let grant = session.grant(&session.names.of_use(SpecialUse::All)?);
        match grant.is_some_and(|grant| grant.access == Access::ReadOnly) {
            true => Err(Fault::new(FaultKind::ReadOnly, Stage::OpenFolder)),
            false => Ok(()),
        }
    }

    /// Both labels in one flight: either may be changed again without harm, and a message that lost its last one is in All
    /// Mail still. Whether it was where it goes before.
    async fn strike(
        &self,
        session: &mut Session,
        cx: &Cx,
        in_all: Landing,
        before: &Witness,
    ) -> Result<bool, Broken> {
        cx.enter(self.stage);
        let nothing = Broken::before_anything;
        let which = Which::Uids(SequenceSet::of([in_all.uid.0]));
        let look = Command::uid_fetch(
            &SequenceSet::of([in_all.uid.0]),
            &[Item::GmailMessage, Item::GmailLabels],
        );
        let changes = [
            (Stored::Added, &self.swap.on),
            (Stored::Removed, &self.swap.off),
        ];
        let mut flight = vec![look.clone()];
        for (stored, label) in changes {
            if let Some(label) = label {
                let command = Command::uid_store_labels(&which, stored, &[label]);
                flight.push(command.map_err(|_| nothing(unspeakable(self.stage)))?);
            }
        }
        flight.push(look);
        let flown = session.strike(cx, flight).await.flown;
        let broken = |fault, effect| Broken {
            fault,
            effect,
            before: Some(before.clone()),
        };
        if let Some(fault) = flown.fault {
            let effect = match flown.spoken {
                true => Effect::Unknown,
                false => Effect::Nothing,
            };
            return Err(broken(fault, effect));
        }
        let statuses = flown.outcomes.iter().flatten().map(|(status, _)| status);
        let refused = statuses.clone().find(|status| !status.is_ok());
        let looks = [0, flown.outcomes.len().saturating_sub(1)];
        let [first, last] = looks.map(|at| looked(&flown, at, in_all.uid, before.store_id));
        match (refused, last) {
            (None, Some(last)) if self.is_swapped(last) => {
                let has = |label: &String| first.is_some_and(|first| has(first, label));
                Ok(self.swap.on.as_ref().is_none_or(has))
            }
            (refused, last) => {
                let fault = match refused {
                    Some(status) => faults::change_refused(status, self.stage),
                    None => Fault::saying(
                        FaultKind::Denied,
                        self.stage,
                        "the server keeps the message under its labels",
                    ),
                };
                // What was done by halves is put back, as far as it is known how it was.
                let effect = match first.zip(last) {
                    Some((first, last)) => self.put_back(session, cx, &which, first, last).await,
                    None => Effect::Unknown,
                };
                Err(broken(fault, effect))
            }
        }
    }

    fn is_swapped(&self, labels: &[String]) -> bool {
        let has = |label: &String| has(labels, label);
        self.swap.on.as_ref().is_none_or(has) && !self.swap.off.as_ref().is_some_and(has)
    }

    async fn put_back(
        &self,
        session: &mut Session,
        cx: &Cx,
        which: &Which,
        before: &[String],
        now: &[String],
    ) -> Effect {
        let came = self.swap.on.as_ref();
        let came = came.filter(|label| has(now, label) && !has(before, label));
        let went = self.swap.off.as_ref();
        let went = went.filter(|label| has(before, label) && !has(now, label));
        let back = [(Stored::Removed, came), (Stored::Added, went)];
        let back = back
            .into_iter()
            .filter_map(|(stored, label)| Command::uid_store_labels(which, stored, &[label?]).ok());
        let commands: Vec<Command> = back.collect();
        if commands.is_empty() {
            return Effect::Nothing;
        }
        let flown = session.strike(cx, commands).await.flown;
        let mut outcomes = flown.outcomes.iter();
        let done = |one: &Option<(Status, _)>| one.as_ref().is_some_and(|(told, _)| told.is_ok());
        match outcomes.all(done) && flown.fault.is_none() {
            true => Effect::Nothing,
            false => Effect::Unknown,
        }
    }
}

/// Whether a message that is told in these answers has the label of a folder, as it is told of first.
pub(in super::super) fn had_label_of(
    session: &Session,
    folder: &FolderName,
    data: &[Data],
    uid: Uid,
) -> bool {
    let Place::Label(label) = session.names.place(folder) else {
        return false;
    };
    let told = labels_told(data, uid);
    told.first().is_some_and(|labels| has(labels, &label))
}

fn has(labels: &[String], label: &str) -> bool {
    labels.iter().any(|one| is_same(one, label))
}

/// Gmail keeps no two labels that differ in case alone.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    one == other || one.to_lowercase() == other.to_lowercase()
}

/// The labels that the answer to this very look tells; none where it tells nothing of the message, or of another.
///
/// INVARIANT: what another command's answer, or nobody's, says of a message is how it was before, or after.
fn looked(flown: &Flown, at: usize, uid: Uid, id: Option<u64>) -> Option<&[String]> {
    let over = |at: usize| Some(flown.outcomes.get(at)?.as_ref()?.1.after);
    let begin = match at.checked_sub(1) {
        Some(before) => over(before)?,
        None => 0,
    };
    let own = flown.data.get(begin..over(at)?)?;
    let told = own.iter().filter_map(|one| match one {
        Data::Fetch(fetch) if fetch.uid == Some(uid.0) && fetch.gmail_message == id => {
            fetch.gmail_labels.as_deref()
        }
        _ => None,
    });
    told.last()
}

/// Each time that the labels of this message were told, in order.
fn labels_told(data: &[Data], uid: Uid) -> Vec<&[String]> {
    let told = data.iter().filter_map(|one| match one {
        Data::Fetch(fetch) if fetch.uid == Some(uid.0) => fetch.gmail_labels.as_deref(),
        _ => None,
    });
    told.collect()
}

/// Where it came to lie. It is done whether that is told or not.
async fn landing(session: &mut Session, cx: &Cx, to: &FolderName, id: u64) -> Option<Landing> {
    let form = Form::of(session);
    let commands = all_mail::searches(form, &[id]).ok()?;
    let opened = session
        .enter(cx, to, Entry::Anew, commands, Pace::Prompt)
        .await
        .ok()?;
    let uid = all_mail::numbers(form, &opened.landed, session).ok()?;
    let uid = uid.into_iter().next().flatten()?;
    Some(Landing {
        uidvalidity: opened.uidvalidity,
        uid,
    })
}
