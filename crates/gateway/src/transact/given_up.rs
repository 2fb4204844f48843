//! What is not tried any more: it was refused, it is too old, or it was tried too often. What comes next otherwise is `plan`'s
//! to say.

use jiff::{SignedDuration, Timestamp};
use ledger::{Ending, State};

use super::code;
use super::drive::{Driver, Manner};
use super::plan::Next;
use super::work::Work;

/// More attempts than this at one step are for a person to look at.
const MOST_ATTEMPTS: usize = 24;
/// What has changed nothing by then is not begun any more.
const STALE: SignedDuration = SignedDuration::from_hours(1);
/// What could not be found out by then is for a person to decide.
const HOPELESS: SignedDuration = SignedDuration::from_hours(72);

impl Driver<'_> {
    pub(super) fn unless_given_up(&self, work: &mut Work, next: Next) -> Next {
        let next = self.unless_refused(work, next);
        self.unless_stale(work, next)
    }

    /// INVARIANT: what a caller may have been told is refused is not carried out behind its back. What was done is found out
    /// before this.
    fn unless_refused(&self, work: &mut Work, next: Next) -> Next {
        match next {
            Next::Take(_) if self.manner == Manner::Clearing && !work.may_have_done_something() => {
                work.was_never_asked();
                Next::End(State::Undone, refused())
            }
            next => next,
        }
    }

    /// Old intentions are not carried out any more, and what nobody can find out is handed to a person.
    fn unless_stale(&self, work: &Work, next: Next) -> Next {
        if self.manner == Manner::Insisting {
            return next;
        }
        let age = Timestamp::now().duration_since(work.transaction.began);
        match next {
            Next::Take(_) if age > STALE && !work.may_have_done_something() => Next::End(
                State::Undone,
                Ending {
                    code: Some("expired".to_owned()),
                    words: Some(
                        "it could not be begun for an hour, and nothing was changed".to_owned(),
                    ),
                },
            ),
            Next::Take(step) if work.attempts(step) > MOST_ATTEMPTS => Next::End(
                State::NeedsOperator,
                Ending {
                    code: work.fault.as_ref().map(|fault| code(fault.kind).to_owned()),
                    words: Some(format!(
                        "it was tried {MOST_ATTEMPTS} times and never came to its end: look at the message and at the \
                         server, then resolve this as done or undone, or retry it"
                    )),
                },
            ),
            Next::Take(_) | Next::FindOut(_) if age > HOPELESS => {
                Next::End(State::NeedsOperator, hopeless())
            }
            next => next,
        }
    }

    /// An operator may insist on what nobody serves any more: then it is theirs to decide.
    pub(super) fn is_left_to_a_person(&self, work: &Work) -> bool {
        let age = Timestamp::now().duration_since(work.transaction.began);
        self.manner == Manner::Insisting && age > HOPELESS
    }
}

fn refused() -> Ending {
    Ending {
        code: Some("internal".to_owned()),
        words: Some(
            "its replica was gone before anything was known to be done, and nothing was changed"
                .to_owned(),
        ),
    }
}

pub(super) fn hopeless() -> Ending {
    let words = "the server could not be asked for three days: look where the message is, then resolve this as done or \
                 undone, or retry it";
    Ending {
        code: Some("expired".to_owned()),
        words: Some(words.to_owned()),
    }
}
