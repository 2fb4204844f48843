//! What `move` and `copy` of the gateway share: which message, where to, and what they answer.

use audit::{Seen, Summary};
use mail::MessageRef;
use policy::Target;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::which::{Number, Placed, Which};
use crate::Refusal;
use crate::args::{Account, IdempotencyKey, Mailbox};
use crate::envelope::{Reply, Status};
use crate::tools::changing::{self, Came, Landing};
use crate::transact::Told;
use crate::trouble::Issue;

#[derive(Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    account_id: Account,
    folder: Mailbox,
    /// From search.
    uid: Number,
    /// From the same search: refused when the folder was rebuilt since.
    uidvalidity: Option<Number>,
    target_folder: Mailbox,
    /// The message's own account if left out.
    target_account_id: Option<Account>,
    pub(super) idempotency_key: Option<IdempotencyKey>,
}

impl Args {
    pub(super) fn which(&self) -> Which {
        Which {
            account_id: self.account_id.clone(),
            folder: self.folder.clone(),
            uid: self.uid,
            uidvalidity: self.uidvalidity,
        }
    }

    /// Somewhere else than where it is.
    pub(super) fn target(&self) -> Result<Target, Refusal> {
        let account = self.target_account_id.as_ref().unwrap_or(&self.account_id);
        let target = Target {
            account: account.0.clone(),
            folder: self.target_folder.0.clone(),
        };
        let at = (&self.account_id.0, &self.folder.0);
        changing::elsewhere(at, &target, "target_folder")?;
        Ok(target)
    }

    pub(super) fn kept(&self) -> Summary {
        let account = self.target_account_id.as_ref().unwrap_or(&self.account_id);
        self.which()
            .kept()
            .target(&account.0, &self.target_folder.0)
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Moved {
    #[serde(flatten)]
    came: Came,
    #[serde(flatten)]
    at: Placed,
    target_account_id: String,
    target_folder: String,
    /// Its number there, where that is open to you.
    #[serde(skip_serializing_if = "Option::is_none")]
    new_uid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new_uidvalidity: Option<u32>,
}

impl Moved {
    pub(super) fn of(at: &MessageRef, target: &Target, told: &Told, shows: Landing) -> Self {
        let landed = shows.of(told);
        Self {
            came: Came::of(told),
            at: Placed::at(at),
            target_account_id: target.account.to_string(),
            target_folder: target.folder.to_string(),
            new_uid: landed.as_ref().map(|at| at.uid.0),
            new_uidvalidity: landed.as_ref().map(|at| at.uidvalidity.0),
        }
    }

    /// Of a change that was made before, or of none.
    pub(super) fn again(args: &Args, target: &Target, told: &Told, shows: Landing) -> Self {
        match told.source() {
            Some(at) => Self::of(at, target, told, shows),
            None => Self {
                came: Came::of(told),
                at: Placed::asked(&args.which()),
                target_account_id: target.account.to_string(),
                target_folder: target.folder.to_string(),
                new_uid: None,
                new_uidvalidity: None,
            },
        }
    }
}

impl Reply for Moved {
    fn status(&self) -> Status {
        self.came.status
    }

    fn issues(&self) -> &[Issue] {
        &self.came.issues
    }

    fn shown(&self) -> usize {
        usize::from(self.new_uid.is_some())
    }

    fn seen(&self) -> Option<Seen> {
        self.at.seen()
    }

    fn transaction(&self) -> Option<String> {
        self.came.transaction_id.clone()
    }
}
