//! Brings a transaction to its end: intent before effect, outcome after, and what is not known is found out.
//!
//! The same machine runs for a call and after a crash; what to do next is `plan`'s to say.

use std::time::Duration;

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use ledger::{Ending, LedgerFault, Mark, State, StepName, StepState};
use mail::{
    AccountId, Append, Broken, Changed, Cx, Effect, Fault, FaultKind, Flag, MailSource, Removal,
    Stage, Step, Subject,
};

use super::lookup::Found;
use super::plan::{self, Next};
use super::stream::{self, Relay, Whole};
use super::work::Work;
use super::{Desk, code};
use crate::setup::Setup;

/// In one go a step is taken so often, if it turns out that it was not done.
const TRIES: usize = 3;
/// A server may still be at a command whose connection is gone: so long is waited before it is believed not to be done.
const SETTLES: [Duration; 2] = [Duration::from_millis(200), Duration::from_millis(800)];
/// What has changed nothing by then is not begun any more.
const STALE: SignedDuration = SignedDuration::from_hours(1);
/// What could not be found out by then is for a person to decide.
const HOPELESS: SignedDuration = SignedDuration::from_hours(72);

pub(super) struct Driver<'a> {
    pub(super) desk: &'a Desk,
    pub(super) setup: &'a Setup,
    pub(super) cx: &'a Cx,
    pub(super) manner: Manner,
}

/// Who waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Manner {
    /// A caller: what cannot be begun now is not begun.
    Called,
    /// Nobody: it is tried until it is done.
    Recovering,
}

enum Flow {
    On,
    /// Not now.
    Pause,
    /// Its end is said.
    Ended,
}

impl<'a> Driver<'a> {
    /// Until it ends, or nothing can be done about it now. What is written then is durable.
    pub(super) async fn run(&self, work: &mut Work) -> Result<(), LedgerFault> {
        let mut taken = 0;
        loop {
            let next = match work.fresh.take() {
                Some(step) => Next::Take(step),
                None => self.unless_stale(work, plan::next(&work.transaction)),
            };
            let flow = match next {
                Next::End(state, ending) => {
                    work.end(state, ending);
                    return work.write(&self.desk.ledger).await;
                }
                Next::Take(step) if taken >= TRIES => self.give_up(work, step),
                Next::Take(step) => {
                    taken += usize::from(work.attempts(step) > 0);
                    self.take(work, step).await?
                }
                Next::FindOut(step) => self.find_out(work, step).await,
            };
            match flow {
                Flow::On => {}
                Flow::Pause => return self.pause(work).await,
                Flow::Ended => return work.write(&self.desk.ledger).await,
            }
        }
    }

    /// It has been tried often enough for now.
    fn give_up(&self, work: &mut Work, step: StepName) -> Flow {
        if work.has_done_something() || self.manner == Manner::Recovering {
            return Flow::Pause;
        }
        let why = work
            .fault
            .as_ref()
            .map_or("failed", |fault| code(fault.kind));
        work.step(step, StepState::Refused, Some(why));
        Flow::On
    }

    /// Old intentions are not carried out any more, and what nobody can find out is handed to a person.
    fn unless_stale(&self, work: &Work, next: Next) -> Next {
        let age = Timestamp::now().duration_since(work.transaction.began);
        match next {
            Next::Take(_) if age > STALE && !work.has_done_something() => Next::End(
                State::Undone,
                Ending {
                    code: Some("expired".to_owned()),
                    words: Some("it could not be begun for an hour, and nothing was changed".to_owned()),
                },
            ),
            Next::Take(_) | Next::FindOut(_) if age > HOPELESS => Next::End(
                State::NeedsOperator,
                Ending {
                    code: Some("expired".to_owned()),
                    words: Some(
                        "the server could not be asked for three days: look where the message is, then resolve this \
                         as done or undone, or retry it"
                            .to_owned(),
                    ),
                },
            ),
            next => next,
        }
    }

    /// Another attempt is due later, by whoever gets to it.
    async fn pause(&self, work: &mut Work) -> Result<(), LedgerFault> {
        let exponent = work.transaction.attempts.min(8);
        let wait = SignedDuration::from_secs(1_i64 << exponent);
        work.put_off(Timestamp::now() + wait);
        work.write(&self.desk.ledger).await?;
        self.desk.left_open.notify_one();
        Ok(())
    }

    async fn take(&self, work: &mut Work, step: StepName) -> Result<Flow, LedgerFault> {
        if self.puts_something(step)
            && let Some(target) = &work.transaction.asked.target
        {
            let turn = self.desk.turns.of(target);
            work.turn = Some(turn.read_owned().await);
        }
        let last = plan::last(&work.transaction, step);
        let intended = matches!(last, Some((StepState::Intended, _)));
        // INVARIANT: nothing changes before the intent is durable.
        if step != StepName::Confirm && !intended {
            let turn = work.turn.take();
            work.step(step, StepState::Intended, None);
            work.write(&self.desk.ledger).await?;
            work.turn = turn;
        }
        let again = work.attempts(step) > 1;
        if step == StepName::Withdraw
            && let Some(flow) = self.keep_the_last(work).await
        {
            return Ok(flow);
        }
        let came = match step {
            StepName::Confirm => return Ok(self.confirm(work).await),
            StepName::Append => self.append(work).await,
            step => self.apply(work, step).await,
        };
        Ok(match came {
            Ok(changed) => {
                self.note_done(work, step, changed);
                if again && matches!(step, StepName::Copy | StepName::Append) {
                    self.withdraw_second(work).await;
                }
                Flow::On
            }
            Err(broken) => self.note_broken(work, step, broken),
        })
    }

    /// INVARIANT: the last copy of a message is never removed. A copy is taken back only where its original still is;
    /// where that is gone, a move has come to its end.
    async fn keep_the_last(&self, work: &mut Work) -> Option<Flow> {
        let at = work.transaction.asked.source.clone()?;
        let original = match self.source(&at.account) {
            Ok(source) => source.look(self.cx, &at, 0).await,
            Err(fault) => Err(fault),
        };
        let differs = matches!(
            plan::last(&work.transaction, StepName::Confirm),
            Some((StepState::Refused, _))
        );
        let moves = work.transaction.asked.kind != ledger::Kind::Copy && !differs;
        match original {
            Ok(Some((seen, _))) if seen.size == work.transaction.known.size => None,
            Ok(None) if moves => {
                work.step(
                    StepName::Withdraw,
                    StepState::Refused,
                    Some("original_gone"),
                );
                work.step(StepName::Remove, StepState::Intended, None);
                work.step(StepName::Remove, StepState::Done, None);
                Some(Flow::On)
            }
            Err(fault) if !is_verdict(fault.kind) => {
                work.step(StepName::Withdraw, StepState::Refused, Some(plan::NOT_DONE));
                work.fault = Some(fault);
                Some(Flow::Pause)
            }
            Ok(_) | Err(_) => {
                let ending = Ending {
                    code: Some("original_gone".to_owned()),
                    words: Some(
                        "the copy was to be taken back, and the original can no longer be found where it was: keep the \
                         copy unless you find the message elsewhere, then resolve this as done or undone"
                            .to_owned(),
                    ),
                };
                work.step(
                    StepName::Withdraw,
                    StepState::Refused,
                    Some("original_gone"),
                );
                work.end(State::NeedsOperator, ending);
                Some(Flow::Ended)
            }
        }
    }

    fn puts_something(&self, step: StepName) -> bool {
        matches!(step, StepName::Copy | StepName::Append | StepName::Move)
    }

    fn note_done(&self, work: &mut Work, step: StepName, changed: Changed) {
        work.learn(changed.before);
        if let Some(landing) = changed.landed {
            work.know(|known| known.landed = Some(landing));
        }
        if let Some(flags) = changed.flags {
            work.know(|known| known.flags_after = Some(flags));
        }
        let why = match changed.removal {
            Some(Removal::Flagged) => Some(plan::FLAGGED_ONLY),
            Some(Removal::Gone) | None => None,
        };
        work.step(step, StepState::Done, why);
    }

    fn note_broken(&self, work: &mut Work, step: StepName, broken: Broken) -> Flow {
        let fault = as_of(step, broken.fault);
        let kind = fault.kind;
        work.learn(broken.before);
        work.fault = Some(fault);
        match broken.effect {
            Effect::Unknown => work.step(step, StepState::Unknown, Some(code(kind))),
            // INVARIANT: who finds nothing there where something may have been done before has to find out what.
            Effect::Nothing if kind == FaultKind::NoSuchMessage && may_be_late(work, step) => {
                work.step(step, StepState::Unknown, Some(code(kind)));
            }
            Effect::Nothing if is_verdict(kind) => {
                work.step(step, StepState::Refused, Some(code(kind)));
            }
            // The server was not even asked.
            Effect::Nothing => match work.has_done_something() || self.manner == Manner::Recovering
            {
                true => {
                    work.step(step, StepState::Refused, Some(plan::NOT_DONE));
                    return Flow::Pause;
                }
                false => work.step(step, StepState::Refused, Some(code(kind))),
            },
        }
        Flow::On
    }

    async fn find_out(&self, work: &mut Work, step: StepName) -> Flow {
        work.turn = None;
        // INVARIANT: whoever looks for a copy of its own sees what others have put there, and that it is theirs.
        let turn = match &work.transaction.asked.target {
            Some(target) if self.puts_something(step) => Some(self.desk.turns.of(target)),
            _ => None,
        };
        let _alone = match turn {
            Some(turn) => Some(turn.write_owned().await),
            None => None,
        };
        let mut found = self.look_up(work, step).await;
        if self.puts_something(step) {
            for wait in SETTLES {
                if !matches!(found, Ok(Found::NotDone)) {
                    break;
                }
                tokio::time::sleep(wait).await;
                found = self.look_up(work, step).await;
            }
        }
        match found {
            Ok(found) => self.note_found(work, step, found),
            Err(fault) if is_verdict(fault.kind) => {
                let words = match fault.kind {
                    FaultKind::Conflict => {
                        "the folder was rebuilt meanwhile, so the message can no longer be found by its number: look \
                         where it is, then resolve this as done or undone"
                    }
                    _ => {
                        "the server refuses to tell what came of it: look where the message is, then resolve this \
                          as done or undone"
                    }
                };
                let undecided = Found::Undecided(words);
                work.fault = Some(fault);
                self.note_found(work, step, undecided)
            }
            Err(fault) => {
                work.fault = Some(fault);
                Flow::Pause
            }
        }
    }

    fn note_found(&self, work: &mut Work, step: StepName, found: Found) -> Flow {
        match found {
            Found::Done => work.step(step, StepState::Done, None),
            Found::DoneAt(landing) => {
                work.know(|known| known.landed = Some(landing));
                work.step(step, StepState::Done, None);
            }
            Found::DoneSomewhere => work.step(step, StepState::Done, Some("landing_unknown")),
            Found::NotDone => work.step(step, StepState::Refused, Some(plan::NOT_DONE)),
            Found::Gone => work.step(step, StepState::Refused, Some("not_found")),
            Found::Undecided(words) => {
                let ending = Ending {
                    code: work.fault.as_ref().map(|fault| code(fault.kind).to_owned()),
                    words: Some(words.to_owned()),
                };
                work.end(State::NeedsOperator, ending);
                return Flow::Ended;
            }
        }
        Flow::On
    }

    async fn apply(&self, work: &mut Work, step: StepName) -> Result<Changed, Broken> {
        let planned = self.planned(work, step).map_err(Broken::before_anything)?;
        let account = &planned.subject().at.account;
        let source = self.source(account).map_err(Broken::before_anything)?;
        source.apply(self.cx, &planned).await
    }

    fn planned(&self, work: &Work, step: StepName) -> Result<Step, Fault> {
        let missing = || Fault::new(FaultKind::NoSuchMessage, Stage::Start);
        let asked = &work.transaction.asked;
        let subject = work.subject().ok_or_else(missing);
        let to = asked.target.as_ref().map(|target| target.folder.clone());
        let to = to.ok_or(Fault::new(FaultKind::NoSuchTarget, Stage::Start));
        Ok(match step {
            StepName::Mark => {
                let (mut add, mut remove) = (Vec::new(), Vec::new());
                for mark in &asked.marks {
                    match mark {
                        Mark::Set(flag) => add.push(flag.clone()),
                        Mark::Take(flag) => remove.push(flag.clone()),
                    }
                }
                Step::Mark {
                    subject: subject?,
                    add,
                    remove,
                }
            }
            StepName::Copy => Step::Copy {
                subject: subject?,
                to: to?,
            },
            StepName::Move => Step::Move {
                subject: subject?,
                to: to?,
            },
            StepName::Withdraw => Step::Remove {
                subject: Subject {
                    at: work.landed().ok_or_else(missing)?,
                    size: work.transaction.known.size,
                },
            },
            StepName::Remove => Step::Remove { subject: subject? },
            // Those are no steps of one source alone.
            StepName::Append | StepName::Confirm => return Err(missing()),
        })
    }

    async fn append(&self, work: &mut Work) -> Result<Changed, Broken> {
        let nothing = Broken::before_anything;
        let Some(target) = work.transaction.asked.target.clone() else {
            return Err(nothing(Fault::new(FaultKind::NoSuchTarget, Stage::Append)));
        };
        let to = self.source(&target.account).map_err(nothing)?;
        let Some(at) = work.transaction.asked.source.clone() else {
            let content = self.content(work).await.map_err(nothing)?;
            let gone = || Fault::new(FaultKind::NoSuchMessage, Stage::Append);
            let content = content.ok_or_else(|| nothing(gone()))?;
            let append = Append {
                to: target.folder,
                flags: vec![Flag::new("\\Draft"), Flag::new("\\Seen")],
                arrived: work.transaction.known.arrived,
                size: u64::try_from(content.len()).unwrap_or(u64::MAX),
            };
            return to.append(self.cx, &append, &mut Whole::new(content)).await;
        };
        let from = self.source(&at.account).map_err(nothing)?;
        let beginning = match work.beginning.take() {
            Some(beginning) => beginning,
            None => {
                let seen = from.read(self.cx, &at, u64::from(stream::PIECE)).await;
                let gone = || Fault::new(FaultKind::NoSuchMessage, Stage::Fetch);
                let (witness, beginning) = seen.map_err(nothing)?.ok_or_else(|| nothing(gone()))?;
                work.learn(Some(witness));
                beginning
            }
        };
        let known = &work.transaction.known;
        let untold = || Fault::new(FaultKind::Protocol, Stage::Fetch);
        let size = known.size.ok_or_else(|| nothing(untold()))?;
        let flags = known.flags.iter().flatten().cloned();
        let append = Append {
            to: target.folder,
            flags: flags.filter(|flag| !flag.is("\\Recent")).collect(),
            arrived: known.arrived,
            size,
        };
        let relay = Relay::new(from, self.cx, &at, size, beginning);
        let (sent, digest) = stream::send(relay, to, self.cx, &append).await;
        if let Some(digest) = digest {
            work.know(|known| known.digest = Some(digest));
        }
        sent
    }

    /// Reads the copy back: by its number, and every octet of it.
    async fn confirm(&self, work: &mut Work) -> Flow {
        work.step(StepName::Confirm, StepState::Intended, None);
        self.cx.enter(Stage::Confirm);
        match self.compare(work).await {
            Ok(Compared::Same) => work.step(StepName::Confirm, StepState::Done, None),
            Ok(Compared::Lost(why)) if work.transaction.asked.kind == ledger::Kind::Copy => {
                work.step(StepName::Confirm, StepState::Done, Some(why));
            }
            Ok(Compared::Lost(why) | Compared::Differs(why)) => {
                work.step(StepName::Confirm, StepState::Refused, Some(why));
            }
            Err(fault) => {
                work.fault = Some(fault);
                work.step(StepName::Confirm, StepState::Refused, Some(plan::NOT_DONE));
                return Flow::Pause;
            }
        }
        Flow::On
    }

    async fn compare(&self, work: &mut Work) -> Result<Compared, Fault> {
        if work.transaction.known.landed.is_none()
            && let Some(likeness) = self.likeness(work).await?
            && let Some(one) = self.copies(work, likeness).await?.first()
        {
            work.know(|known| known.landed = Some(one.landing));
        }
        let Some(copy) = work.landed() else {
            return Ok(Compared::Differs("copy_missing"));
        };
        let there = self.source(&copy.account)?;
        let Some((seen, theirs)) = stream::digest(there, self.cx, &copy).await? else {
            return Ok(Compared::Differs("copy_missing"));
        };
        let known = &work.transaction.known;
        let ours = match known.digest {
            Some(digest) if Some(digest.octets) == known.size => digest,
            _ => {
                let gone = || Fault::new(FaultKind::NoSuchMessage, Stage::Confirm);
                let at = work.transaction.asked.source.clone().ok_or_else(gone)?;
                let here = self.source(&at.account)?;
                let read = stream::digest(here, self.cx, &at).await?;
                let (witness, digest) = read.ok_or_else(gone)?;
                work.learn(Some(witness));
                work.know(|known| known.digest = Some(digest));
                digest
            }
        };
        if ours != theirs {
            return Ok(Compared::Differs("copy_differs"));
        }
        let known = &work.transaction.known;
        let flags = known.flags.as_deref().unwrap_or_default();
        let kept = seen.flags.unwrap_or_default();
        let mut wanted = flags.iter().filter(|flag| !flag.is("\\Recent"));
        if !wanted.all(|flag| kept.iter().any(|one| one.is(flag.as_str()))) {
            return Ok(Compared::Lost("flags_not_kept"));
        }
        let second = |time: Option<Timestamp>| time.map(Timestamp::as_second);
        if known.arrived.is_some() && second(known.arrived) != second(seen.arrived) {
            return Ok(Compared::Lost("date_not_kept"));
        }
        Ok(Compared::Same)
    }

    /// A step that was taken twice, because the first was thought not to be done, may have been done twice: a server
    /// that was slow. Then ours goes, and the other is taken for ours.
    async fn withdraw_second(&self, work: &mut Work) {
        let Some(ours) = work.transaction.known.landed else {
            return;
        };
        let Ok(Some(likeness)) = self.likeness(work).await else {
            return;
        };
        let Ok(copies) = self.copies(work, likeness).await else {
            return;
        };
        let Some(other) = copies.iter().find(|one| one.landing != ours) else {
            return;
        };
        let Ok(withdraw) = self.planned(work, StepName::Withdraw) else {
            return;
        };
        let Ok(source) = self.source(&withdraw.subject().at.account) else {
            return;
        };
        if source.apply(self.cx, &withdraw).await.is_ok() {
            work.know(|known| known.landed = Some(other.landing));
        }
    }

    /// What a draft says.
    pub(super) async fn content(&self, work: &Work) -> Result<Option<Bytes>, Fault> {
        if let Some(content) = &work.beginning {
            return Ok(Some(content.clone()));
        }
        let kept = self.desk.ledger.content(&work.transaction.id).await;
        kept.map_err(|fault| unwritten(&fault))
    }

    pub(super) fn source(&self, account: &AccountId) -> Result<&'a dyn MailSource, Fault> {
        let gone = || {
            let said = "the account is no longer configured";
            Fault::saying(FaultKind::Unreachable, Stage::Start, said)
        };
        let account = self.setup.account(account).ok_or_else(gone)?;
        Ok(account.source())
    }
}

/// Whether an earlier attempt, or an earlier step, may have done it.
fn may_be_late(work: &Work, step: StepName) -> bool {
    work.attempts(step) > 1 || plan::has_left_a_copy(&work.transaction)
}

/// Where a message may not be flagged `\Deleted` none may be removed; nobody asked for that flag.
fn as_of(step: StepName, fault: Fault) -> Fault {
    match (step, fault.kind) {
        (StepName::Remove | StepName::Withdraw, FaultKind::FlagNotKept) => {
            Fault::new(FaultKind::ReadOnly, fault.stage)
        }
        _ => fault,
    }
}

enum Compared {
    Same,
    /// The octets are the same, but not everything about them was kept.
    Lost(&'static str),
    Differs(&'static str),
}

/// Whether the server has spoken on the matter itself, rather than been out of reach.
pub(super) fn is_verdict(kind: FaultKind) -> bool {
    matches!(
        kind,
        FaultKind::NoSuchFolder
            | FaultKind::NoSuchMessage
            | FaultKind::Conflict
            | FaultKind::Denied
            | FaultKind::Rejected
            | FaultKind::Protocol
            | FaultKind::NotServed
            | FaultKind::ReadOnly
            | FaultKind::NoSuchTarget
            | FaultKind::OverQuota
            | FaultKind::FlagNotKept
            | FaultKind::AnotherMessage
            | FaultKind::NotOffered
            | FaultKind::TooLarge
    )
}

/// The ledger is out of order, which is no fault of any mail server.
pub(super) fn unwritten(fault: &LedgerFault) -> Fault {
    Fault::saying(FaultKind::Unreadable, Stage::Start, fault.to_string())
}
