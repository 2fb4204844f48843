//! A transaction in hand: what is written of it, what is about to be, and what the calls in between learned.

use bytes::Bytes;
use jiff::Timestamp;
use ledger::{
    Ending, Known, Lease, Ledger, LedgerFault, Note, State, StepName, StepRecord, StepState,
    Transaction,
};
use mail::{Broken, Changed, Effect, Fault, FaultKind, Landing, MessageRef, Subject, Witness};
use tokio::sync::OwnedRwLockReadGuard;

use super::plan;

/// INVARIANT: `transaction` is what the ledger says once `unwritten` is written.
pub(crate) struct Work {
    pub transaction: Transaction,
    unwritten: Vec<Note>,
    /// The first step, if this process has just written that it is intended and has not taken it.
    pub(super) fresh: Option<StepName>,
    /// What went wrong last.
    pub fault: Option<Fault>,
    /// It was made by an earlier call of the same name.
    pub repeated: bool,
    /// Whether a server may have been asked for the change itself, rather than only for what it has.
    was_asked: bool,
    /// The beginning of the message, where it was read for this.
    pub(super) beginning: Option<Bytes>,
    /// Others who look for what came of their steps in the same folder wait until this is written.
    pub(super) turn: Option<OwnedRwLockReadGuard<()>>,
}

impl Work {
    /// It has just begun: its first step is intended.
    pub(super) fn begun(transaction: Transaction, beginning: Option<Bytes>) -> Self {
        let fresh = transaction.steps.last().map(|step| step.name);
        Self {
            fresh,
            beginning,
            was_asked: false,
            ..Self::resumed(transaction)
        }
    }

    /// Nobody knows how far it came but the ledger.
    pub(crate) fn resumed(transaction: Transaction) -> Self {
        Self {
            transaction,
            unwritten: Vec::new(),
            fresh: None,
            fault: None,
            repeated: false,
            was_asked: true,
            beginning: None,
            turn: None,
        }
    }

    /// The message as it is asked for, and what it has to be.
    pub(super) fn subject(&self) -> Option<Subject> {
        let at = self.transaction.asked.source.clone()?;
        let size = self.transaction.known.size;
        Some(Subject { at, size })
    }

    /// Where it came to lie.
    pub(super) fn landed(&self) -> Option<MessageRef> {
        let landing = self.transaction.known.landed?;
        self.at_target(landing)
    }

    pub(super) fn at_target(&self, landing: Landing) -> Option<MessageRef> {
        let target = self.transaction.asked.target.as_ref()?;
        // Nothing else can be written to.
        Some(MessageRef {
            source: mail::SourceKind::Imap,
            account: target.account.clone(),
            folder: target.folder.clone(),
            uidvalidity: landing.uidvalidity,
            uid: landing.uid,
        })
    }

    /// Whether it goes to another folder of the account it is in.
    pub(super) fn stays_in_account(&self) -> bool {
        let asked = &self.transaction.asked;
        let from = asked.source.as_ref().map(|at| &at.account);
        let to = asked.target.as_ref().map(|target| &target.account);
        from.is_some() && from == to
    }

    /// Whether it came after the target ended.
    pub(super) fn is_beyond(&self, landing: Landing) -> bool {
        plan::is_beyond(&self.transaction, landing)
    }

    /// Whether the flags that were told last are as they were to be.
    pub(super) fn has_its_marks(&self) -> bool {
        let Some(flags) = &self.transaction.known.flags_after else {
            return true;
        };
        let mut marks = self.transaction.asked.marks.iter();
        marks.all(|mark| mark.is_so(flags))
    }

    /// When a step was last begun.
    pub(super) fn begun_at(&self, step: StepName) -> Option<Timestamp> {
        let mut backwards = self.transaction.steps.iter().rev();
        backwards
            .find(|record| record.name == step)
            .map(|record| record.at)
    }

    /// How often a step was begun.
    pub(super) fn attempts(&self, step: StepName) -> usize {
        let steps = self.transaction.steps.iter();
        steps.filter(|record| record.name == step).count()
    }

    /// Whether anything is changed by now, as far as is known.
    pub(super) fn has_done_something(&self) -> bool {
        let steps = self.transaction.steps.iter();
        let mut done = steps.filter(|record| record.state == StepState::Done);
        done.any(|record| record.name != StepName::Confirm)
    }

    /// The same, and what may be.
    pub(super) fn may_have_done_something(&self) -> bool {
        self.has_done_something() || plan::has_half_done(&self.transaction)
    }

    pub(super) fn step(&mut self, step: StepName, state: StepState, why: Option<&str>) {
        let why = why.map(str::to_owned);
        self.unwritten.push(Note::Step(step, state, why.clone()));
        let steps = &mut self.transaction.steps;
        let current = steps.iter_mut().rev().find(|record| record.name == step);
        match current {
            Some(record) if state != StepState::Intended && is_waiting(record.state) => {
                record.state = state;
                record.why = why;
            }
            _ => steps.push(StepRecord {
                name: step,
                state,
                at: Timestamp::now(),
                why,
            }),
        }
    }

    /// What is known already is not put aside for what was seen later: a step may have changed it.
    pub(super) fn learn(&mut self, seen: Option<Witness>) {
        let Some(mut seen) = seen else { return };
        // INVARIANT: what half a change has left is not what was there before it.
        if plan::has_half_done(&self.transaction) {
            seen.flags = None;
        }
        let crosses = plan::crosses(&self.transaction);
        self.know(|known| {
            // What one store calls it says nothing of another.
            let id = match crosses {
                true => &mut known.source_id,
                false => &mut known.store_id,
            };
            *id = id.or(seen.store_id);
            known.size = known.size.or(seen.size);
            known.digest = known.digest.or(seen.digest);
            known.arrived = known.arrived.or(seen.arrived);
            known.flags = known.flags.take().or(seen.flags);
            known.message_id = known.message_id.take().or(seen.message_id);
        });
    }

    pub(super) fn know(&mut self, change: impl FnOnce(&mut Known)) {
        change(&mut self.transaction.known);
        let known = self.transaction.known.clone();
        self.unwritten
            .retain(|note| !matches!(note, Note::Knows(_)));
        self.unwritten.push(Note::Knows(known));
    }

    /// What came back when a source was told to do it.
    pub(super) fn hear(&mut self, came: &Result<Changed, Broken>) {
        self.was_asked |= match came {
            Ok(_) => true,
            Err(broken) => broken.effect == Effect::Unknown || is_answer(broken.fault.kind),
        };
    }

    /// It was looked for, and nothing of it is there: whoever asks again under its key asks anew.
    pub(super) fn was_never_asked(&mut self) {
        self.was_asked = false;
    }

    /// INVARIANT: a key stands for what was asked of a server under it, and for nothing else.
    pub(super) fn end(&mut self, state: State, ending: Ending) {
        if state == State::Undone && !self.was_asked && self.transaction.asked.key.take().is_some()
        {
            self.unwritten.push(Note::FreesKey);
        }
        self.transaction.state = state;
        self.transaction.ending = Some(ending.clone());
        self.transaction.ended = Some(Timestamp::now());
        self.unwritten.push(Note::Ends(state, ending));
    }

    /// As the ledger has it, which could not be written.
    pub(super) fn forget_the_end(&mut self) {
        self.transaction.state = State::Open;
        self.transaction.ending = None;
        self.transaction.ended = None;
    }

    pub(super) fn put_off(&mut self, until: Timestamp) {
        self.transaction.next_try = Some(until);
        self.unwritten.push(Note::Later(until));
    }

    /// The outcomes of steps that the next write makes durable.
    pub(super) fn unwritten_outcomes(&self) -> Vec<(StepName, StepState, Option<String>)> {
        let outcome = |note: &Note| match note {
            Note::Step(step, state, why) if *state != StepState::Intended => {
                Some((*step, *state, why.clone()))
            }
            _ => None,
        };
        self.unwritten.iter().filter_map(outcome).collect()
    }

    /// Durable when it returns.
    pub(super) async fn write(
        &mut self,
        ledger: &Ledger,
        lease: &Lease,
    ) -> Result<(), LedgerFault> {
        if !self.unwritten.is_empty() {
            ledger
                .write(lease, std::mem::take(&mut self.unwritten))
                .await?;
        }
        self.turn = None;
        Ok(())
    }
}

/// The server has looked at the change itself, and will not have it.
fn is_answer(kind: FaultKind) -> bool {
    matches!(
        kind,
        FaultKind::Denied
            | FaultKind::Rejected
            | FaultKind::Protocol
            | FaultKind::OverQuota
            | FaultKind::TooLarge
    )
}

/// For its outcome.
fn is_waiting(state: StepState) -> bool {
    matches!(state, StepState::Intended | StepState::Unknown)
}
