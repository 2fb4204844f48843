//! Brings a transaction to its end: intent before effect, outcome after, and what is not known is found out.
//!
//! The same machine runs for a call and after a crash; what to do next is `plan`'s to say.

use std::time::Duration;

use audit::{Event, TransactionStep};
use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use ledger::{Ending, Kind, Lease, LedgerFault, Mark, State, StepName, StepState, Transaction};
use mail::{
    AccountId, Broken, Changed, Cx, Effect, Fault, FaultKind, Landing, MailSource, Removal,
    Removed, Stage, Step, Subject,
};

use super::lookup::Found;
use super::origin::as_seen;
use super::plan::{self, Next};
use super::withdrawal::Last;
use super::work::Work;
use super::{Desk, code, given_up};
use crate::setup::Setup;

/// In one go a step is taken so often, if it turns out that it was not done.
const TRIES: usize = 3;
/// A server is usually done with a command whose connection is gone by then.
const SETTLES: [Duration; 2] = [Duration::from_millis(200), Duration::from_millis(800)];
pub(super) struct Driver<'a> {
    pub(super) desk: &'a Desk,
    pub(super) setup: &'a Setup,
    pub(super) cx: &'a Cx,
    pub(super) manner: Manner,
    pub(super) lease: &'a Lease,
}

/// Who waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Manner {
    /// A caller: what cannot be begun now is not begun.
    Called,
    /// Nobody: it is tried until it is done.
    Recovering,
    /// Nobody, and whoever asked for it may have been told that nothing is done: what is not done by now never is.
    Clearing,
    /// An operator, who knows how old it is.
    Insisting,
}

pub(super) enum Flow {
    On,
    /// Not now.
    Pause,
    /// Not before then.
    Wait(Timestamp),
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
                None => self.unless_given_up(work, plan::next(&work.transaction)),
            };
            let flow = match self.follow(work, next, &mut taken).await {
                Ok(Flow::Ended) => self.write(work).await.map(|()| Flow::Ended),
                flow => flow,
            };
            let flow = match flow {
                // Somebody else has claimed what was taken for ours: it is found out anew, from what is written.
                Err(LedgerFault::Taken) => {
                    let written = self.desk.ledger.get(&work.transaction.id).await?;
                    let written = written.ok_or(LedgerFault::Unknown)?;
                    *work = Work::resumed(written);
                    continue;
                }
                flow => flow?,
            };
            match flow {
                Flow::On => {}
                Flow::Pause if self.is_left_to_a_person(work) => {
                    work.end(State::NeedsOperator, given_up::hopeless());
                    return self.write(work).await;
                }
                Flow::Pause => return self.pause(work).await,
                Flow::Wait(until) => return self.wait(work, until).await,
                Flow::Ended => return Ok(()),
            }
        }
    }

    /// Durable when it returns.
    pub(super) async fn write(&self, work: &mut Work) -> Result<(), LedgerFault> {
        let outcomes = work.unwritten_outcomes();
        work.write(&self.desk.ledger, self.lease).await?;
        if plan::crosses(&work.transaction) {
            self.record_steps(&work.transaction, &outcomes);
        }
        Ok(())
    }

    /// Adds a record to the audit log for each step that has an outcome. The log keeps the order, so these records are
    /// durable before the one that ends the call.
    fn record_steps(
        &self,
        transaction: &Transaction,
        outcomes: &[(StepName, StepState, Option<String>)],
    ) {
        let asked = &transaction.asked;
        for (step, state, why) in outcomes {
            self.desk
                .log
                .note(Event::transaction_step(&TransactionStep {
                    transaction: transaction.id.as_str(),
                    caller: &asked.caller,
                    tool: &asked.tool,
                    request_id: &asked.request_id,
                    step: step.name(),
                    state: state.name(),
                    issue: why.as_deref(),
                }));
        }
    }

    async fn follow(
        &self,
        work: &mut Work,
        next: Next,
        taken: &mut usize,
    ) -> Result<Flow, LedgerFault> {
        Ok(match next {
            Next::End(state, ending) => {
                work.end(state, ending);
                Flow::Ended
            }
            Next::Take(step) if *taken >= TRIES => self.give_up(work, step),
            Next::Take(step) => {
                *taken += usize::from(work.attempts(step) > 0);
                self.take(work, step).await?
            }
            Next::FindOut(StepName::Thin) => self.thin(work).await?,
            Next::FindOut(step) => self.find_out(work, step).await?,
        })
    }

    /// It has been tried often enough for now.
    fn give_up(&self, work: &mut Work, step: StepName) -> Flow {
        if work.may_have_done_something() || self.manner != Manner::Called {
            return Flow::Pause;
        }
        let why = work
            .fault
            .as_ref()
            .map_or("failed", |fault| code(fault.kind));
        work.step(step, StepState::Refused, Some(why));
        Flow::On
    }

    /// Another attempt is due later, by whoever gets to it.
    async fn pause(&self, work: &mut Work) -> Result<(), LedgerFault> {
        let exponent = work.transaction.attempts.min(8);
        let wait = SignedDuration::from_secs(1_i64 << exponent);
        self.wait(work, Timestamp::now() + wait).await
    }

    async fn wait(&self, work: &mut Work, until: Timestamp) -> Result<(), LedgerFault> {
        work.put_off(until);
        self.write(work).await?;
        self.desk.left_open.notify_one();
        Ok(())
    }

    async fn take(&self, work: &mut Work, step: StepName) -> Result<Flow, LedgerFault> {
        if puts_something(step)
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
            if step == StepName::Append {
                self.note_end_of_all(work).await;
            }
            work.step(step, StepState::Intended, None);
            self.write(work).await?;
            work.turn = turn.filter(|_| puts_something(step));
        }
        let again = work.attempts(step) > 1;
        match self.is_another(work, step).await {
            Ok(false) => {}
            Ok(true) => {
                work.fault = None;
                work.step(step, StepState::Refused, Some("another_message"));
                return Ok(Flow::On);
            }
            Err(fault) => {
                return Ok(self.note_broken(work, step, Broken::before_anything(fault)));
            }
        }
        if self.leaves_it_there(work, step) {
            work.fault = None;
            work.step(step, StepState::Done, None);
            return Ok(Flow::On);
        }
        if step == StepName::Remove {
            match self.is_the_last(work).await? {
                Last::No => {}
                Last::Yes(why) => {
                    work.fault = None;
                    work.step(step, StepState::Refused, Some(why));
                    return Ok(Flow::On);
                }
                Last::Untold => {
                    work.step(step, StepState::Refused, Some(plan::NOT_DONE));
                    return Ok(Flow::Pause);
                }
            }
        }
        if step == StepName::Withdraw {
            if let Some(flow) = self.keep_the_last(work).await {
                return Ok(flow);
            }
            // INVARIANT: what is taken away is ours before it goes.
            self.write(work).await?;
        }
        let came = match step {
            StepName::Confirm => return Ok(self.confirm(work).await),
            StepName::Append => match self.append(work).await {
                Ok(changed) => self.name_what_came(work, changed).await,
                broken => broken,
            },
            step => self.apply(work, step).await,
        };
        work.hear(&came);
        Ok(match came {
            Ok(changed) => {
                self.note_done(work, step, changed);
                if again && matches!(step, StepName::Copy | StepName::Append) {
                    self.withdraw_second(work).await?;
                }
                Flow::On
            }
            Err(broken) => self.note_broken(work, step, broken),
        })
    }

    fn note_done(&self, work: &mut Work, step: StepName, changed: Changed) {
        work.fault = None;
        work.learn(changed.before.map(|seen| as_seen(step, seen)));
        // QUIRK: a number that was there before is not the number of what came, unless it is known by more than that.
        let certain = work.transaction.known.store_id.is_some();
        let landed = changed.landed.filter(|one| certain || work.is_beyond(*one));
        if let Some(landing) = landed {
            work.know(|known| known.landed = Some(landing));
        }
        if let Some(flags) = changed.flags {
            work.know(|known| known.flags_after = Some(flags));
        }
        // INVARIANT: a label that an earlier attempt of ours put on was not there before.
        let was_old = |one: Landing| certain && !work.is_beyond(one);
        let was_there =
            changed.was_there && work.attempts(step) == 1 || landed.is_some_and(was_old);
        let why = match changed.removal {
            None if was_there && puts_something(step) => Some(plan::WAS_THERE),
            Some(Removal::Flagged) => Some(plan::FLAGGED_ONLY),
            Some(Removal::Trashed) if deletes_for_good(&work.transaction) => Some(plan::IN_TRASH),
            Some(Removal::Trashed) => None,
            Some(Removal::Gone) | None if step == StepName::Mark && !work.has_its_marks() => {
                Some("flags_not_set")
            }
            Some(Removal::Gone) | None => None,
        };
        work.step(step, StepState::Done, why);
    }

    fn note_broken(&self, work: &mut Work, step: StepName, broken: Broken) -> Flow {
        let fault = as_of(step, broken.fault);
        let kind = fault.kind;
        work.learn(broken.before.map(|seen| as_seen(step, seen)));
        work.fault = Some(fault);
        match broken.effect {
            Effect::Unknown => work.step(step, StepState::Unknown, Some(code(kind))),
            // The copy is there, and somebody took the original away before we did: it may be in two places.
            Effect::Nothing
                if kind == FaultKind::NoSuchMessage
                    && step == StepName::Remove
                    && work.attempts(step) == 1
                    && plan::has_left_a_copy(&work.transaction) =>
            {
                work.fault = None;
                work.step(step, StepState::Done, Some("original_gone"));
            }
            // INVARIANT: who finds nothing there where something may have been done before has to find out what.
            Effect::Nothing if kind == FaultKind::NoSuchMessage && may_be_late(work, step) => {
                work.step(step, StepState::Unknown, Some(code(kind)));
            }
            Effect::Nothing if is_verdict(kind) => {
                work.step(step, StepState::Refused, Some(code(kind)));
            }
            // The server was not even asked.
            Effect::Nothing => {
                match work.may_have_done_something() || self.manner != Manner::Called {
                    true => {
                        work.step(step, StepState::Refused, Some(plan::NOT_DONE));
                        return Flow::Pause;
                    }
                    false => work.step(step, StepState::Refused, Some(code(kind))),
                }
            }
        }
        Flow::On
    }

    async fn find_out(&self, work: &mut Work, step: StepName) -> Result<Flow, LedgerFault> {
        work.turn = None;
        // INVARIANT: whoever looks for a copy of its own sees what others have put there, and that it is theirs.
        let turn = match &work.transaction.asked.target {
            Some(target) if puts_something(step) => Some(self.desk.turns.of(target)),
            _ => None,
        };
        let _alone = match turn {
            Some(turn) => Some(turn.write_owned().await),
            None => None,
        };
        let mut found = self.look_up(work, step).await;
        for wait in SETTLES {
            if !puts_something(step) || !matches!(found, Ok(Found::NotDone)) {
                break;
            }
            tokio::time::sleep(wait).await;
            found = self.look_up(work, step).await;
        }
        // INVARIANT: what may be done twice is not done again while the server may still come to it.
        if matches!(step, StepName::Copy | StepName::Append)
            && work.transaction.known.store_id.is_none()
            && matches!(found, Ok(Found::NotDone))
            && let Some(settled) = work.begun_at(step).map(|at| at + self.desk.settle)
            && settled > Timestamp::now()
        {
            return Ok(Flow::Wait(settled));
        }
        let flow = match found {
            Ok(found) => self.note_found(work, step, found),
            Err(fault) if fault.kind == FaultKind::Conflict => {
                let rebuilt = Found::Undecided(
                    "the folder was rebuilt meanwhile, so the message can no longer be found by its number: look where \
                     it is, then resolve this as done or undone",
                );
                work.fault = Some(fault);
                self.note_found(work, step, rebuilt)
            }
            Err(fault) => {
                work.fault = Some(fault);
                Flow::Pause
            }
        };
        if !matches!(flow, Flow::Pause | Flow::Wait(_)) {
            // INVARIANT: what was found is claimed before anybody else looks for it.
            self.write(work).await?;
        }
        Ok(flow)
    }

    fn note_found(&self, work: &mut Work, step: StepName, found: Found) -> Flow {
        if !matches!(found, Found::NotDone | Found::Half | Found::Undecided(_)) {
            work.fault = None;
        }
        match found {
            Found::Done => work.step(step, StepState::Done, None),
            Found::DoneAt(landing) => {
                work.know(|known| known.landed = Some(landing));
                let certain = work.transaction.known.store_id.is_some();
                let why = (certain && !work.is_beyond(landing)).then_some(plan::WAS_THERE);
                work.step(step, StepState::Done, why);
            }
            Found::Trashed if deletes_for_good(&work.transaction) => {
                work.step(step, StepState::Done, Some(plan::IN_TRASH));
            }
            Found::Trashed => work.step(step, StepState::Done, None),
            Found::PutBack => work.step(step, StepState::Refused, Some(plan::PUT_BACK)),
            // The server has copied it and not come to the rest: that is ours to do.
            Found::Copied(landing) => {
                work.know(|known| known.landed = Some(landing));
                work.step(step, StepState::Refused, Some(plan::NOT_OFFERED));
                work.step(StepName::Copy, StepState::Intended, None);
                work.step(StepName::Copy, StepState::Done, None);
            }
            Found::DoneSomewhere => work.step(step, StepState::Done, Some("landing_unknown")),
            Found::Half => work.step(step, StepState::Refused, Some(plan::HALF_DONE)),
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
        let nothing = Broken::before_anything;
        let what = self.what_goes(work, step).await.map_err(nothing)?;
        let mut planned = self.planned(work, step, what).map_err(nothing)?;
        if let Step::Remove { subject, what } = &mut planned
            && *what == Removed::Message
        {
            subject.at = self.original(work, &subject.at).await.map_err(nothing)?;
        }
        let account = &planned.subject().at.account;
        let source = self
            .source(work, account)
            .map_err(Broken::before_anything)?;
        source.apply(self.cx, &planned).await
    }

    fn planned(&self, work: &Work, step: StepName, what: Removed) -> Result<Step, Fault> {
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
                what,
            },
            StepName::Remove => Step::Remove {
                subject: subject?,
                what,
            },
            // Those are no steps of one source alone.
            StepName::Append | StepName::Confirm | StepName::Thin => return Err(missing()),
        })
    }

    /// What a draft says.
    pub(super) async fn content(&self, work: &Work) -> Result<Option<Bytes>, Fault> {
        if let Some(content) = &work.beginning {
            return Ok(Some(content.clone()));
        }
        let kept = self.desk.ledger.content(&work.transaction.id).await;
        kept.map_err(|fault| unwritten(&fault))
    }

    /// INVARIANT: an account that is another mailbox now is not the one that was meant.
    pub(super) fn source(
        &self,
        work: &Work,
        account: &AccountId,
    ) -> Result<&'a dyn MailSource, Fault> {
        let asked = &work.transaction.asked;
        let source = asked.source.as_ref().map(|at| &at.account);
        let home = match source == Some(account) {
            true => asked.source_home.as_deref(),
            false => asked.target_home.as_deref(),
        };
        self.at_home(account, home)
    }

    pub(super) fn at_home(
        &self,
        account: &AccountId,
        home: Option<&str>,
    ) -> Result<&'a dyn MailSource, Fault> {
        let gone = || {
            let said = "the account is no longer configured, or as another mailbox";
            Fault::saying(FaultKind::Unreachable, Stage::Start, said)
        };
        let account = self.setup.account(account).ok_or_else(gone)?;
        match home.is_none_or(|home| account.home() == home) {
            true => Ok(account.source()),
            false => Err(gone()),
        }
    }
}

/// Nobody asked for the trash.
fn deletes_for_good(transaction: &Transaction) -> bool {
    let asked = &transaction.asked;
    asked.kind == Kind::Delete && asked.target.is_none() && asked.undoes.is_none()
}

fn puts_something(step: StepName) -> bool {
    matches!(step, StepName::Copy | StepName::Append | StepName::Move)
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

/// Whether the server has spoken on the matter itself, rather than been out of reach.
pub(crate) fn is_verdict(kind: FaultKind) -> bool {
    matches!(
        kind,
        FaultKind::NoSuchFolder
            | FaultKind::NoSuchMessage
            | FaultKind::Conflict
            | FaultKind::Denied
            | FaultKind::Rejected
            | FaultKind::Protocol
            | FaultKind::ReadingOnly
            | FaultKind::ReadOnly
            | FaultKind::NoSuchTarget
            | FaultKind::OverQuota
            | FaultKind::FlagNotKept
            | FaultKind::AnotherMessage
            | FaultKind::NotOffered
            | FaultKind::StaysInAll
            | FaultKind::NoCopyThere
            | FaultKind::TooLarge
    )
}

/// The ledger is out of order, which is no fault of any mail server.
pub(super) fn unwritten(fault: &LedgerFault) -> Fault {
    Fault::saying(FaultKind::Unreadable, Stage::Start, fault.to_string())
}
