//! What copying and moving answer: from where, to where, and how far it went.

use audit::Summary;
use mail::MessageRef;
use policy::Target;
use schemars::JsonSchema;
use serde::Serialize;

use crate::envelope::{Reply, Status};
use crate::tools::changing::{Came, Landing};
use crate::transact::Told;
use crate::trouble::Issue;

/// Between accounts, or within one.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Copied {
    source_account_id: String,
    destination_account_id: String,
    #[serde(flatten)]
    transferred: Transferred,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Moved {
    account_id: String,
    #[serde(flatten)]
    transferred: Transferred,
}

#[derive(Serialize, JsonSchema)]
struct Transferred {
    #[serde(flatten)]
    came: Came,
    source_mailbox: String,
    destination_mailbox: String,
    message_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    new_message_id: Option<String>,
    steps_attempted: usize,
    steps_succeeded: usize,
}

impl Copied {
    pub(super) fn of(at: &MessageRef, to: &Target, told: &Told, shows: Landing) -> Self {
        Self {
            source_account_id: at.account.to_string(),
            destination_account_id: to.account.to_string(),
            transferred: Transferred::of(at, to, told, shows),
        }
    }
}

impl Moved {
    pub(super) fn of(at: &MessageRef, to: &Target, told: &Told, shows: Landing) -> Self {
        Self {
            account_id: at.account.to_string(),
            transferred: Transferred::of(at, to, told, shows),
        }
    }
}

impl Transferred {
    fn of(at: &MessageRef, to: &Target, told: &Told, shows: Landing) -> Self {
        Self {
            came: Came::of(told),
            source_mailbox: at.folder.to_string(),
            destination_mailbox: to.folder.to_string(),
            message_id: at.to_string(),
            new_message_id: shows.of(told).map(|at| at.to_string()),
            steps_attempted: told.attempted(),
            steps_succeeded: told.succeeded(),
        }
    }
}

impl Reply for Transferred {
    fn status(&self) -> Status {
        self.came.status
    }

    fn issues(&self) -> &[Issue] {
        &self.came.issues
    }

    fn shown(&self) -> usize {
        usize::from(self.new_message_id.is_some())
    }

    fn transaction(&self) -> Option<String> {
        self.came.transaction_id.clone()
    }
}

/// What is around a transfer answers as it does.
macro_rules! answers_as_a_transfer {
    ($($name:ident),+) => {$(
        impl Reply for $name {
            fn status(&self) -> Status {
                self.transferred.status()
            }

            fn issues(&self) -> &[Issue] {
                self.transferred.issues()
            }

            fn shown(&self) -> usize {
                self.transferred.shown()
            }

            fn transaction(&self) -> Option<String> {
                self.transferred.transaction()
            }
        }
    )+};
}

answers_as_a_transfer!(Copied, Moved);

pub(super) fn kept(at: &MessageRef, target: &Target) -> Summary {
    Summary::new()
        .account(&at.account)
        .message(at)
        .target(&target.account, &target.folder)
}
