//! Which message a call is about: account, folder, uid, and the folder's generation where the caller knows it.

use audit::Summary;
use mail::{Level, MessageRef, Uid, UidValidity};
use policy::{Ask, Deed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::args::{Account, Mailbox, Within};

pub(super) type Number = Within<1, { u32::MAX }>;

/// The arguments of tools that want nothing else.
#[derive(Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Which {
    pub(super) account_id: Account,
    pub(super) folder: Mailbox,
    /// From search.
    pub(super) uid: Number,
    /// From the same search: refused when the folder was rebuilt since.
    pub(super) uidvalidity: Option<Number>,
}

impl Which {
    pub(super) fn ask(&self, level: Level) -> Ask {
        Ask::Messages {
            account: self.account_id.0.clone(),
            folder: self.folder.0.clone(),
            level,
        }
    }

    pub(super) fn changing(&self, deed: Deed) -> Ask {
        Ask::Change {
            account: self.account_id.0.clone(),
            folder: self.folder.0.clone(),
            deed,
        }
    }

    pub(super) fn kept(&self) -> Summary {
        Summary::new()
            .account(&self.account_id.0)
            .folder(&self.folder.0)
            .number("uid", self.uid.0)
            .number_if("uidvalidity", self.uidvalidity.map(|n| n.0))
    }

    pub(super) fn uid(&self) -> Uid {
        Uid(self.uid.0)
    }

    pub(super) fn generation(&self) -> Option<UidValidity> {
        self.uidvalidity.map(|n| UidValidity(n.0))
    }
}

/// The same in an answer.
#[derive(Clone, Serialize, JsonSchema)]
pub(super) struct Placed {
    account_id: String,
    folder: String,
    uid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    uidvalidity: Option<u32>,
}

impl Placed {
    pub(super) fn at(at: &MessageRef) -> Self {
        Self {
            account_id: at.account.to_string(),
            folder: at.folder.to_string(),
            uid: at.uid.0,
            uidvalidity: Some(at.uidvalidity.0),
        }
    }

    /// For the audit log: which message it was, where the caller did not say the whole.
    pub(super) fn seen(&self) -> Option<audit::Seen> {
        Some(audit::Seen {
            uidvalidity: self.uidvalidity?,
            uids: vec![self.uid],
        })
    }

    pub(super) fn asked(which: &Which) -> Self {
        Self {
            account_id: which.account_id.0.to_string(),
            folder: which.folder.0.to_string(),
            uid: which.uid.0,
            uidvalidity: which.uidvalidity.map(|n| n.0),
        }
    }
}
