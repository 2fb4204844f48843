//! Taking a copy away again: never the last one of a message, and never somebody else's.

use bytes::Bytes;
use ledger::{Ending, Kind, LedgerFault, State, StepName, StepState};
use mail::{Candidate, Fault, FaultKind, Flag, MOST_DIGESTED, MessageRef, Step, Subject, Witness};

use super::drive::{Driver, Flow, is_verdict};
use super::plan;
use super::work::Work;

impl Driver<'_> {
    /// INVARIANT: the last copy of a message is never removed. A copy is taken back only where its original still is;
    /// where that is gone, a move has come to its end.
    pub(super) async fn keep_the_last(&self, work: &mut Work) -> Option<Flow> {
        if let Some(flow) = self.know_the_copy(work).await {
            return Some(flow);
        }
        let at = work.transaction.asked.source.clone()?;
        let original = self.look_at_original(work, &at).await;
        let differs = matches!(
            plan::last(&work.transaction, StepName::Confirm),
            Some((StepState::Refused, _))
        );
        let moves = work.transaction.asked.kind != Kind::Copy && !differs;
        match original {
            Ok(Some((seen, _))) if is_kept(&seen, work.transaction.known.size) => None,
            Ok(None) if moves => Some(self.end_as_moved(work).await),
            Err(fault) if !is_verdict(fault.kind) => Some(self.put_off_withdrawal(work, fault)),
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

    async fn look_at_original(
        &self,
        work: &Work,
        at: &MessageRef,
    ) -> Result<Option<(Witness, Bytes)>, Fault> {
        let source = self.source(work, &at.account)?;
        let at = match self.takes_the_message(work) {
            true => self.original(work, at).await?,
            false => at.clone(),
        };
        source.look(self.cx, &at, 0).await
    }

    /// The original is gone, and the copy was to be taken back: what is left of the message is what stays.
    async fn end_as_moved(&self, work: &mut Work) -> Flow {
        let copied = match self.has_its_copy(work).await {
            Ok(Copied::Lost) if plan::was_half_done(&work.transaction, StepName::Withdraw) => {
                self.spare_the_copy(work).await
            }
            copied => copied,
        };
        match copied {
            Ok(Copied::Kept) => {
                work.step(
                    StepName::Withdraw,
                    StepState::Refused,
                    Some("original_gone"),
                );
                work.step(StepName::Remove, StepState::Intended, None);
                work.step(StepName::Remove, StepState::Done, None);
                Flow::On
            }
            Err(fault) if !is_verdict(fault.kind) => self.put_off_withdrawal(work, fault),
            Ok(Copied::Lost) | Err(_) => {
                let ending = Ending {
                    code: Some("copy_missing".to_owned()),
                    words: Some(
                        "the original is gone from where it was, and the copy is gone or flagged \\Deleted: take that flag \
                         off if it is there, else look for the message, then resolve this as done or undone"
                            .to_owned(),
                    ),
                };
                work.step(StepName::Withdraw, StepState::Refused, Some("copy_missing"));
                work.end(State::NeedsOperator, ending);
                Flow::Ended
            }
        }
    }

    /// Takes off the flag that half a withdrawal has put on what is the last copy now.
    async fn spare_the_copy(&self, work: &mut Work) -> Result<Copied, Fault> {
        let Some(at) = work.landed() else {
            return Ok(Copied::Lost);
        };
        let source = self.source(work, &at.account)?;
        let size = work.transaction.known.size;
        let step = Step::Mark {
            subject: Subject { at, size },
            add: Vec::new(),
            remove: vec![Flag::new("\\Deleted")],
        };
        let spared = source.apply(self.cx, &step).await;
        spared.map_err(|broken| broken.fault)?;
        self.has_its_copy(work).await
    }

    /// INVARIANT: what lies where the copy should be is taken away only if it is the copy, octet for octet.
    async fn know_the_copy(&self, work: &mut Work) -> Option<Flow> {
        let likeness = match self.likeness(work).await {
            Ok(likeness) => likeness,
            Err(fault) => return Some(self.put_off_withdrawal(work, fault)),
        };
        if let Some((copy, like)) = work.landed().zip(likeness) {
            let seen = match self.source(work, &copy.account) {
                Ok(source) => source.look(self.cx, &copy, like.digest.octets).await,
                Err(fault) => Err(fault),
            };
            match seen {
                Ok(Some((seen, _))) if seen.digest == Some(like.digest) => return None,
                // Gone already, which the removal itself will find.
                Ok(None) => return None,
                Ok(Some(_)) => work.know(|known| known.landed = None),
                Err(fault) => return Some(self.put_off_withdrawal(work, fault)),
            }
        }
        let found = match likeness {
            Some(like) => self.copies(work, like).await,
            None => Ok(Vec::new()),
        };
        match found {
            Ok(found) if !found.is_empty() => {
                let one = found.first();
                let id = one.and_then(|one| one.witness.store_id);
                let landing = one.map(|one| one.landing);
                work.know(|known| {
                    known.landed = landing;
                    known.store_id = known.store_id.or(id);
                });
                None
            }
            Ok(_) => {
                let ending = Ending {
                    code: Some("copy_differs".to_owned()),
                    words: Some(
                        "what lies in the target is not the same as the original, so nothing was removed there: look at \
                         both, remove what should not be there, then resolve this as done or undone"
                            .to_owned(),
                    ),
                };
                work.step(StepName::Withdraw, StepState::Refused, Some("copy_differs"));
                work.end(State::NeedsOperator, ending);
                Some(Flow::Ended)
            }
            Err(fault) => Some(self.put_off_withdrawal(work, fault)),
        }
    }

    fn put_off_withdrawal(&self, work: &mut Work, fault: Fault) -> Flow {
        work.step(StepName::Withdraw, StepState::Refused, Some(plan::NOT_DONE));
        work.fault = Some(fault);
        Flow::Pause
    }

    /// Whether an undoing would meet another message than the one that was changed, which a server that lied about its
    /// number would make it do.
    pub(super) async fn is_another(&self, work: &Work, step: StepName) -> Result<bool, Fault> {
        let asked = &work.transaction.asked;
        let takes = matches!(step, StepName::Remove | StepName::Move | StepName::Copy);
        let at = asked.source.as_ref();
        let at = at.filter(|_| asked.undoes.is_some() && takes);
        let Some((at, digest)) = at.zip(work.transaction.known.digest) else {
            return Ok(false);
        };
        let source = self.source(work, &at.account)?;
        let seen = source.look(self.cx, at, digest.octets).await?;
        // One that is gone is found to be by the step itself.
        Ok(seen.is_some_and(|(seen, _)| seen.digest != Some(digest)))
    }

    /// Whether the other one is gone: of an original the copy that was made before, of a copy that an undoing removes the
    /// original.
    pub(super) async fn is_the_last(&self, work: &mut Work) -> Result<Last, LedgerFault> {
        if plan::has_left_a_copy(&work.transaction) {
            return Ok(match self.has_its_copy(work).await {
                Ok(Copied::Kept) => Last::No,
                Ok(Copied::Lost) => Last::Yes("copy_missing"),
                Err(fault) => {
                    work.fault = Some(fault);
                    Last::Untold
                }
            });
        }
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
            Ok(Some((seen, _))) if is_kept(&seen, copied.known.size) => Last::No,
            Err(fault) if !is_verdict(fault.kind) => {
                work.fault = Some(fault);
                Last::Untold
            }
            Ok(_) | Err(_) => Last::Yes("last_copy"),
        })
    }

    /// By its number, and where another lies there or nothing, by its octets.
    async fn has_its_copy(&self, work: &mut Work) -> Result<Copied, Fault> {
        let known = &work.transaction.known;
        let mut flags = known.flags.iter().flatten();
        let doomed = flags.any(|flag| flag.is("\\Deleted"));
        // Of a longer one all was read back already.
        let digest = known.digest.filter(|one| one.octets <= MOST_DIGESTED);
        let size = known.size;
        if let Some(copy) = work.landed() {
            let source = self.source(work, &copy.account)?;
            let octets = digest.map_or(0, |digest| digest.octets);
            let seen = match source.look(self.cx, &copy, octets).await {
                // Its number means nothing any more; what it says does.
                Err(fault) if fault.kind == FaultKind::Conflict => None,
                Err(fault) if fault.kind == FaultKind::NoSuchFolder => return Ok(Copied::Lost),
                seen => seen?,
            };
            if let Some((seen, _)) = seen
                && (is_kept(&seen, size) || doomed && seen.size == size)
                && (digest.is_none() || seen.digest == digest)
            {
                return Ok(Copied::Kept);
            }
        }
        let Some(like) = self.likeness(work).await? else {
            return Ok(Copied::Lost);
        };
        let found = match self.copies(work, like).await {
            Err(fault) if fault.kind == FaultKind::NoSuchFolder => return Ok(Copied::Lost),
            found => found?,
        };
        let kept = |one: &&Candidate| doomed || is_kept(&one.witness, size);
        let Some(copy) = found.iter().find(kept) else {
            return Ok(Copied::Lost);
        };
        let (landing, id) = (copy.landing, copy.witness.store_id);
        work.know(|known| {
            known.landed = Some(landing);
            known.store_id = known.store_id.or(id);
        });
        Ok(Copied::Kept)
    }
}

/// Whether there is no other copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Last {
    No,
    /// In one word for the ledger.
    Yes(&'static str),
    /// The server cannot be asked.
    Untold,
}

/// What became of a copy that was made before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Copied {
    Kept,
    /// Nowhere to be found, or about to go.
    Lost,
}

/// What is flagged `\Deleted` goes with the next mail program that clears its folder.
pub(crate) fn is_kept(seen: &Witness, size: Option<u64>) -> bool {
    let mut flags = seen.flags.iter().flatten();
    seen.size == size && !flags.any(|flag: &Flag| flag.is("\\Deleted"))
}
