//! Taking a copy away again: never the last one of a message, and never somebody else's.

use ledger::{Ending, Kind, LedgerFault, State, StepName, StepState};
use mail::{Landing, MessageRef, Step, Subject};

use super::drive::{Driver, Flow, is_verdict};
use super::plan;
use super::work::Work;

impl Driver<'_> {
    /// INVARIANT: the last copy of a message is never removed. A copy is taken back only where its original still is;
    /// where that is gone, a move has come to its end.
    pub(super) async fn keep_the_last(&self, work: &mut Work) -> Option<Flow> {
        let at = work.transaction.asked.source.clone()?;
        let original = match self.source(work, &at.account) {
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

    /// The same for an undoing that removes a copy: the message that it was made from has to be there still.
    pub(super) async fn is_the_last(&self, work: &mut Work) -> Result<Last, LedgerFault> {
        let asked = &work.transaction.asked;
        let Some(undone) = asked.undoes.as_ref().filter(|_| asked.target.is_none()) else {
            return Ok(Last::No);
        };
        let undone = self.desk.ledger.get(undone).await?;
        let copied = undone.filter(|one| one.asked.kind == Kind::Copy);
        let Some((copied, at)) = copied.and_then(|one| Some((one.clone(), one.asked.source?)))
        else {
            return Ok(Last::No);
        };
        let original = match self.at_home(&at.account, copied.asked.source_home.as_deref()) {
            Ok(source) => source.look(self.cx, &at, 0).await,
            Err(fault) => Err(fault),
        };
        Ok(match original {
            Ok(Some((seen, _))) if seen.size == copied.known.size => Last::No,
            Err(fault) if !is_verdict(fault.kind) => {
                work.fault = Some(fault);
                Last::Untold
            }
            Ok(_) | Err(_) => Last::Yes,
        })
    }

    /// A step that was taken twice, because the first was thought not to be done, may have been done twice: a server
    /// that was slow. Then ours goes, and the other is taken for ours.
    ///
    /// INVARIANT: the other is ours before ours goes. If it is another's after all, the ledger says so.
    pub(super) async fn withdraw_second(&self, work: &mut Work) -> Result<(), LedgerFault> {
        let Some(ours) = work.transaction.known.landed else {
            return Ok(());
        };
        let Ok(Some(likeness)) = self.likeness(work).await else {
            return Ok(());
        };
        let Ok(copies) = self.copies(work, likeness).await else {
            return Ok(());
        };
        let Some(other) = copies.iter().find(|one| one.landing != ours) else {
            return Ok(());
        };
        let other = other.landing;
        work.know(|known| known.landed = Some(other));
        work.step(StepName::Withdraw, StepState::Intended, None);
        work.write(&self.desk.ledger).await?;
        let state = match self.remove_second(work, ours).await {
            Some(()) => StepState::Done,
            None => StepState::Unknown,
        };
        work.step(StepName::Withdraw, state, None);
        Ok(())
    }

    async fn remove_second(&self, work: &Work, ours: Landing) -> Option<()> {
        let at: MessageRef = work.at_target(ours)?;
        let source = self.source(work, &at.account).ok()?;
        let size = work.transaction.known.size;
        let subject = Subject { at, size };
        let step = Step::Remove { subject };
        source.apply(self.cx, &step).await.ok().map(|_| ())
    }
}

/// Whether there is no other copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Last {
    No,
    Yes,
    /// The server cannot be asked.
    Untold,
}
