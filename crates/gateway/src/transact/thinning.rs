//! A copy that was made twice, because a slow server did what it was thought not to have done: one of the two goes.
//!
//! INVARIANT: what goes is the one whose number the server gave us, and only while the other is ours and there. Where it
//! cannot be told which is which both stay, and the answer says so.

use ledger::{LedgerFault, StepName, StepState};
use mail::{Landing, Step, Subject, Uid, UidValidity};

use super::drive::{Driver, Flow, is_verdict};
use super::origin::what_was_put;
use super::plan::{self, MAYBE_TWICE};
use super::work::Work;

impl Driver<'_> {
    /// After a step that was taken again.
    pub(super) async fn withdraw_second(&self, work: &mut Work) -> Result<(), LedgerFault> {
        // Where a message is in a folder or is not, it is never there twice.
        if work.transaction.known.store_id.is_some() {
            return Ok(());
        }
        let Some(ours) = work.transaction.known.landed else {
            doubt(work);
            return Ok(());
        };
        let copies = match self.likeness(work).await {
            Ok(Some(likeness)) => self.copies(work, likeness).await.ok(),
            Ok(None) | Err(_) => None,
        };
        let Some(copies) = copies else {
            doubt(work);
            return Ok(());
        };
        // A server that lied about the number keeps both.
        if !copies.iter().any(|one| one.landing == ours) {
            let oldest = copies.first().map(|one| one.landing);
            work.know(|known| known.landed = oldest);
            if copies.len() != 1 {
                doubt(work);
            }
            return Ok(());
        }
        let Some(other) = copies.iter().find(|one| one.landing != ours) else {
            return Ok(());
        };
        let other = other.landing;
        // INVARIANT: the other is ours before ours goes. If it is another's after all, the ledger says so.
        work.know(|known| known.landed = Some(other));
        work.step(StepName::Thin, StepState::Intended, Some(&spelled(ours)));
        self.write(work).await?;
        self.thin(work).await;
        Ok(())
    }

    /// Takes the one away that is too many; what was begun before is begun again, since it is always the same one.
    pub(super) async fn thin(&self, work: &mut Work) -> Flow {
        let number = plan::last(&work.transaction, StepName::Thin).and_then(|(_, why)| read(why?));
        let second = number.and_then(|number| work.at_target(number));
        let Some(at) = second else {
            work.step(StepName::Thin, StepState::Refused, Some(MAYBE_TWICE));
            return Flow::On;
        };
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
                work.step(StepName::Thin, StepState::Done, None);
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
            Ok(_) => work.step(StepName::Thin, StepState::Done, None),
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

/// Nobody can tell.
pub(super) fn doubt(work: &mut Work) {
    work.step(StepName::Thin, StepState::Intended, None);
    work.step(StepName::Thin, StepState::Refused, Some(MAYBE_TWICE));
}

/// As the ledger keeps the number of the one that goes.
fn spelled(landing: Landing) -> String {
    format!("{}:{}", landing.uidvalidity.0, landing.uid.0)
}

fn read(spelled: &str) -> Option<Landing> {
    let (uidvalidity, uid) = spelled.split_once(':')?;
    Some(Landing {
        uidvalidity: UidValidity(uidvalidity.parse().ok()?),
        uid: Uid(uid.parse().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_read_as_it_was_spelled() {
        let landing = Landing {
            uidvalidity: UidValidity(7),
            uid: Uid(42),
        };
        assert_eq!(read(&spelled(landing)), Some(landing));
        for other in ["", "7", "7:", ":7", "maybe_twice", "7:x"] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
