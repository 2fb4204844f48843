//! What goes and what stays where a message may have been before, or lies in two places at once: Gmail keeps each once.
//!
//! Part of `drive`. How a removal is carried out is for the source to say.

use ledger::{StepName, Transaction};
use mail::{Broken, Changed, Effect, Fault, Keeping, MessageRef, Removed, Witness};

use super::drive::{Driver, is_verdict, unwritten};
use super::plan;
use super::work::Work;

impl Driver<'_> {
    /// Where a message that is to go from its account is, whatever became of the folder it was in (Gmail's labels).
    pub(super) async fn original(&self, work: &Work, at: &MessageRef) -> Result<MessageRef, Fault> {
        let known = &work.transaction.known;
        let id = match plan::crosses(&work.transaction) {
            true => known.source_id,
            false => known.store_id,
        };
        let Some(id) = id else {
            return Ok(at.clone());
        };
        let source = self.source(work, &at.account)?;
        let there = source.recalled(self.cx, at, id).await?;
        Ok(there.unwrap_or_else(|| at.clone()))
    }

    /// Rather than a copy of it, or a label.
    pub(super) fn takes_the_message(&self, work: &Work) -> bool {
        let transaction = &work.transaction;
        transaction.asked.undoes.is_none()
            && !work.stays_in_account()
            && !plan::is_one_message(transaction)
    }

    /// INVARIANT: what is written down of what an account had is never older than what is added to it.
    pub(super) async fn note_end_of_all(&self, work: &mut Work) {
        let target = work.transaction.asked.target.clone();
        let end = match target.map(|target| self.source(work, &target.account)) {
            Some(Ok(source)) => source.end_of_all(self.cx).await.ok().flatten(),
            _ => None,
        };
        work.know(|known| known.end_of_all = end);
    }

    /// Nothing is to be taken away: a copy that is taken back lay there before, or source and target are one place.
    pub(super) fn leaves_it_there(&self, work: &Work, step: StepName) -> bool {
        let transaction = &work.transaction;
        match step {
            StepName::Withdraw => plan::was_there(transaction),
            StepName::Remove if plan::is_one_message(transaction) => {
                let one = work.transaction.asked.source.as_ref().zip(work.landed());
                one.is_some_and(|(from, to)| is_same_place(from, &to))
            }
            _ => false,
        }
    }

    /// Gmail keeps one of two equal messages: where it had one, what was added lies where that does.
    pub(super) async fn name_what_came(
        &self,
        work: &mut Work,
        changed: Changed,
    ) -> Result<Changed, Broken> {
        let copy = changed.landed.and_then(|landing| work.at_target(landing));
        let Some(copy) = copy.filter(|_| plan::crosses(&work.transaction)) else {
            return Ok(changed);
        };
        let source = self.source(work, &copy.account);
        let source = source.map_err(Broken::before_anything)?;
        if source.keeping() != Some(Keeping::Labels) {
            return Ok(changed);
        }
        match source.look(self.cx, &copy, 0).await {
            Ok(Some((seen, _))) => {
                work.know(|known| known.store_id = known.store_id.or(seen.store_id));
                Ok(changed)
            }
            Err(fault) if !is_verdict(fault.kind) => Err(Broken {
                fault,
                effect: Effect::Unknown,
                before: None,
            }),
            Ok(None) | Err(_) => Ok(changed),
        }
    }

    /// What a removal takes away: the message itself, or what was put there before.
    pub(super) async fn what_goes(&self, work: &Work, step: StepName) -> Result<Removed, Fault> {
        let asked = &work.transaction.asked;
        match (step, &asked.undoes) {
            // What lies in the same account under another name by now is the same message, and only its label goes.
            (StepName::Remove, _) if work.stays_in_account() => Ok(Removed::Copy),
            (StepName::Remove, _) if plan::is_one_message(&work.transaction) => Ok(Removed::Copy),
            (StepName::Withdraw | StepName::Thin, _) => Ok(what_was_put(&work.transaction)),
            (StepName::Remove, Some(undone)) if asked.target.is_none() => {
                let undone = self.desk.ledger.get(undone).await;
                let undone = undone.map_err(|fault| unwritten(&fault))?;
                Ok(undone.as_ref().map_or(NOT_KNOWN_TO_BE_NEW, what_was_put))
            }
            _ => Ok(Removed::Message),
        }
    }
}

/// What lies in the target of this one by now.
pub(super) fn what_was_put(transaction: &Transaction) -> Removed {
    let asked = &transaction.asked;
    let from = asked.source.as_ref().map(|at| &at.account);
    let to = asked.target.as_ref().map(|target| &target.account);
    match from.is_some() && from == to {
        true => Removed::Copy,
        false => Removed::Addition {
            beyond: transaction.known.end_of_all,
        },
    }
}

const NOT_KNOWN_TO_BE_NEW: Removed = Removed::Addition { beyond: None };

/// What is seen in the target is not called there as it is where it comes from.
pub(super) fn as_seen(step: StepName, seen: Witness) -> Witness {
    match step.is_at_the_target() {
        true => Witness {
            store_id: None,
            ..seen
        },
        false => seen,
    }
}

/// Labels are the same in any case.
fn is_same_place(one: &MessageRef, other: &MessageRef) -> bool {
    let name = |at: &MessageRef| at.folder.as_str().to_lowercase();
    name(one) == name(other) && (one.uidvalidity, one.uid) == (other.uidvalidity, other.uid)
}
