//! What `mark_seen` and `mark_tagged` answer: which message it was, and the flags it has now.

use audit::Seen;
use content::Changes;
use mail::MessageRef;
use schemars::JsonSchema;
use serde::Serialize;

use super::which::{Placed, Which};
use crate::envelope::{Done, Reply, Status};
use crate::tools::changing::Came;
use crate::tools::shown;
use crate::transact::Told;
use crate::trouble::Issue;

#[derive(Serialize, JsonSchema)]
pub(crate) struct Marked {
    #[serde(flatten)]
    came: Came,
    #[serde(flatten)]
    at: Placed,
    /// All flags it has now, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    flags: Option<Vec<String>>,
}

impl Marked {
    pub(super) fn of(what: &str, at: &MessageRef, told: &Told) -> Done<Self> {
        let known = told.transaction.as_ref().map(|one| &one.known);
        let after = known.and_then(|known| known.flags_after.as_deref());
        let mut changes = Changes::default();
        let data = Self {
            came: Came::of(told),
            at: Placed::at(at),
            flags: shown::flags(after.filter(|_| told.is_done()), &mut changes),
        };
        let mut done = Done::new(format!("{what}: {}", told.words()), data);
        done.warnings = shown::warnings(changes);
        done
    }

    /// Of a change that was made before, or of none.
    pub(super) fn again(what: &str, which: &Which, told: &Told) -> Done<Self> {
        if let Some(at) = told.source() {
            return Self::of(what, at, told);
        }
        let data = Self {
            came: Came::of(told),
            at: Placed::asked(which),
            flags: None,
        };
        Done::new(format!("{what}: {}", told.words()), data)
    }
}

impl Reply for Marked {
    fn status(&self) -> Status {
        self.came.status
    }

    fn issues(&self) -> &[Issue] {
        &self.came.issues
    }

    fn shown(&self) -> usize {
        usize::from(self.flags.is_some())
    }

    fn seen(&self) -> Option<Seen> {
        self.at.seen()
    }

    fn transaction(&self) -> Option<String> {
        self.came.transaction_id.clone()
    }
}
