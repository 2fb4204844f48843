//! A copy that was made twice, because a slow server did what it was thought not to have done: one of the two goes.
//!
//! INVARIANT: what goes is the one whose number the server gave us, and only while the other is ours and there. Where it
//! cannot be told which is which both stay, and the answer says so.

use ledger::{LedgerFault, StepName, StepState, going, read_going};
use mail::{Landing, Step, Subject};

use super::drive::{Driver, Flow, is_verdict};
use super::origin::what_was_put;
use super::plan::{self, MAYBE_TWICE};
use super::work::Work;

impl Driver<'_> {
    /// After a step that was taken again.
    ///
    /// INVARIANT: what the server gave us is ours before another is looked for: somebody else who looks for a copy of its own may
    /// have taken it for that. Then the ledger says so, and it is found out anew what came of ours.
    pub(super) async fn withdraw_second(&self, work: &mut Work) -> Result<(), LedgerFault> {
        // Where a message is in a folder or is not, it is never there twice.
        if work.transaction.known.store_id.is_some() {
            return Ok(());
        }
        if work.transaction.known.landed.is_none() {
            doubt(work);
            return Ok(());
        }
        work.step(StepName::Thin, StepState::Intended, None);
        self.write(work).await
    }

    /// Looks whether there are two, and takes the one away that is too many. What was begun before is begun again, since it is
    /// always the same one.
    pub(super) async fn thin(&self, work: &mut Work) -> Result<Flow, LedgerFault> {
        let intended = plan::last(&work.transaction, StepName::Thin);
        let known = intended.and_then(|(_, why)| read_going(why?));
        let number = match known {
            Some(number) => number,
            None => match self.second(work).await {
                Second::Is(number) => {
                    // INVARIANT: the other is ours before ours goes, and ours is nobody else's while it goes. If the other is
                    // another's after all, the ledger says so.
                    work.step(StepName::Thin, StepState::Unknown, Some(&going(number)));
                    self.write(work).await?;
                    number
                }
                Second::IsNot => {
                    work.step(StepName::Thin, StepState::Done, None);
                    return Ok(Flow::On);
                }
                Second::Untold => {
                    work.step(StepName::Thin, StepState::Refused, Some(MAYBE_TWICE));
                    return Ok(Flow::On);
                }
            },
        };
        Ok(self.take_away(work, number).await)
    }

    /// The number of the one that goes. What is known to have landed is then the other.
    async fn second(&self, work: &mut Work) -> Second {
        let copies = match self.likeness(work).await {
            Ok(Some(likeness)) => self.copies(work, likeness).await.ok(),
            Ok(None) | Err(_) => None,
        };
        let Some((ours, copies)) = work.transaction.known.landed.zip(copies) else {
            return Second::Untold;
        };
        // A server that lied about the number keeps both.
        if !copies.iter().any(|one| one.landing == ours) {
            let oldest = copies.first().map(|one| one.landing);
            work.know(|known| known.landed = oldest);
            return match copies.len() {
                1 => Second::IsNot,
                _ => Second::Untold,
            };
        }
        let Some(other) = copies.iter().find(|one| one.landing != ours) else {
            return Second::IsNot;
        };
        let other = other.landing;
        work.know(|known| known.landed = Some(other));
        Second::Is(ours)
    }

    async fn take_away(&self, work: &mut Work, number: Landing) -> Flow {
        let Some(at) = work.at_target(number) else {
            work.step(StepName::Thin, StepState::Refused, Some(MAYBE_TWICE));
            return Flow::On;
        };
        let done = going(number);
        let size = work.transaction.known.size;
        let digest = work.transaction.known.digest;
        let source = match self.source(work, &at.account) {
            Ok(source) => source,
            Err(fault) => {
                work.fault = Some(fault);
                return Flow::Pause;
            }
        };
        let octets = digest.map_or(0, |digest| digest.octets);
        match source.look(self.cx, &at, octets).await {
            Ok(None) => {
                work.step(StepName::Thin, StepState::Done, Some(&done));
                return Flow::On;
            }
            Ok(Some((seen, _))) if seen.digest == digest && seen.size == size => {}
            Err(fault) if !is_verdict(fault.kind) => {
                work.fault = Some(fault);
                return Flow::Pause;
            }
            Ok(Some(_)) | Err(_) => {
                work.step(StepName::Thin, StepState::Refused, Some(MAYBE_TWICE));
                return Flow::On;
            }
        }
        let step = Step::Remove {
            subject: Subject { at, size },
            what: what_was_put(&work.transaction),
        };
        match source.apply(self.cx, &step).await {
            Ok(_) => work.step(StepName::Thin, StepState::Done, Some(&done)),
            Err(broken) if is_verdict(broken.fault.kind) => {
                work.step(StepName::Thin, StepState::Refused, Some(MAYBE_TWICE));
            }
            Err(broken) => {
                work.fault = Some(broken.fault);
                return Flow::Pause;
            }
        }
        Flow::On
    }
}

/// Whether there are two.
enum Second {
    /// And which of them goes.
    Is(Landing),
    IsNot,
    Untold,
}

/// Nobody can tell.
pub(super) fn doubt(work: &mut Work) {
    work.step(StepName::Thin, StepState::Intended, None);
    work.step(StepName::Thin, StepState::Refused, Some(MAYBE_TWICE));
}
