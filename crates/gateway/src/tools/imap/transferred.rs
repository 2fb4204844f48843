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

#[derive(Serialize, JsonSchema)]
pub(crate) struct Transferred {
    #[serde(flatten)]
    came: Came,
    #[serde(skip_serializing_if = "Option::is_none")]
    account_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source_account_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    destination_account_id: Option<String>,
    source_mailbox: String,
    destination_mailbox: String,
    message_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    new_message_id: Option<String>,
    steps_attempted: usize,
    steps_succeeded: usize,
}

impl Transferred {
    /// Between accounts, or within one.
    pub(super) fn copied(at: &MessageRef, to: &Target, told: &Told, shows: Landing) -> Self {
        Self {
            account_id: None,
            source_account_id: Some(at.account.to_string()),
            destination_account_id: Some(to.account.to_string()),
            ..Self::moved(at, to, told, shows)
        }
    }

    pub(super) fn moved(at: &MessageRef, to: &Target, told: &Told, shows: Landing) -> Self {
        Self {
            came: Came::of(told),
            account_id: Some(at.account.to_string()),
            source_account_id: None,
            destination_account_id: None,
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

pub(super) fn kept(at: &MessageRef, target: &Target) -> Summary {
    Summary::new()
        .account(&at.account)
        .message(at)
        .target(&target.account, &target.folder)
}
