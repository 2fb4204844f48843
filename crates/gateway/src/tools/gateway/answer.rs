//! What the tools answer that read one message: which it was, what is shown of it, and how much that is.

use audit::Seen;
use mail::{Level, MessageRef};
use schemars::JsonSchema;
use serde::Serialize;

use super::visibility::Visibility;
use super::which::{Placed, Which};
use crate::envelope::{Done, Link, Reply, Status};
use crate::tools::Tool;
use crate::trouble::{Issue, NextAction};

/// `T` is an object with what one tool shows.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Answer<T> {
    status: Status,
    issues: Vec<Issue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_action: Option<NextAction>,
    #[serde(flatten)]
    at: Placed,
    #[serde(flatten)]
    shown: Option<T>,
    #[serde(flatten)]
    visibility: Option<Visibility>,
}

/// What a tool shows of a message.
pub(crate) trait Shown: Serialize + JsonSchema + Send {
    /// Where more of it can be read.
    fn link(&self) -> Option<Link> {
        None
    }
}

impl<T> Answer<T> {
    pub(super) fn of(at: &MessageRef, shown: T, level: Level) -> Self {
        Self {
            status: Status::Ok,
            issues: Vec::new(),
            next_action: None,
            at: Placed::at(at),
            shown: Some(shown),
            visibility: Some(Visibility::of(level)),
        }
    }

    /// Not all of it could be shown.
    pub(super) fn with_issues(self, issues: Vec<Issue>) -> Self {
        let status = match issues.is_empty() {
            true => Status::Ok,
            false => Status::Partial,
        };
        Self {
            status,
            issues,
            ..self
        }
    }

    /// The source could not do it.
    pub(super) fn failed<U: Tool>(which: &Which, args: &U::Args, issue: Issue) -> Done<Self>
    where
        U::Args: Serialize,
    {
        Done::new(
            format!("it could not be read: {}", issue.message),
            Self {
                status: Status::Failed,
                next_action: Some(NextAction::again::<U>(&issue, args)),
                issues: vec![issue],
                at: Placed::asked(which),
                shown: None,
                visibility: None,
            },
        )
    }
}

impl<T: Shown> Reply for Answer<T> {
    fn status(&self) -> Status {
        self.status
    }

    fn issues(&self) -> &[Issue] {
        &self.issues
    }

    fn shown(&self) -> usize {
        usize::from(self.shown.is_some())
    }

    fn seen(&self) -> Option<Seen> {
        self.at.seen().filter(|_| self.shown.is_some())
    }

    fn links(&self) -> Vec<Link> {
        self.shown.iter().filter_map(Shown::link).collect()
    }
}
