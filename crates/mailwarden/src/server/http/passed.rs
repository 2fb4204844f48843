//! What comes out of the gate: an answer, what has to stay as long as it is sent, and when it is given.

use std::pin::Pin;

use super::answers::Answer;

/// An answer, and what goes with it.
pub(super) struct Passed {
    pub answer: Answer,
    pub until: Option<Pin<Box<dyn Future<Output = ()> + Send + Sync>>>,
    pub held: Option<Box<dyn Send + Sync>>,
    pub at: Moment,
}

/// When an answer is given.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    Now,
    /// After a second.
    Later,
}

/// What is answered in place of what was asked for.
pub(super) struct Refused {
    answer: Box<Answer>,
    at: Moment,
}

impl Refused {
    pub(super) fn now(answer: Answer) -> Self {
        Self {
            answer: Box::new(answer),
            at: Moment::Now,
        }
    }

    pub(super) fn later(answer: Answer) -> Self {
        Self {
            at: Moment::Later,
            ..Self::now(answer)
        }
    }
}

impl From<Refused> for Passed {
    fn from(refused: Refused) -> Self {
        Self {
            at: refused.at,
            ..Self::from(*refused.answer)
        }
    }
}

impl From<Answer> for Passed {
    fn from(answer: Answer) -> Self {
        Self {
            answer,
            until: None,
            held: None,
            at: Moment::Now,
        }
    }
}
