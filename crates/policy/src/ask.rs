//! What a call wants, in the words that a policy judges.

use mail::{AccountId, FolderName, Level};

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ask {
    /// What this caller is and may do.
    Own,
    /// Which accounts there are.
    Accounts,
    /// Whether an account can be reached.
    Account { account: AccountId },
    /// Which folders an account has.
    Folders { account: AccountId },
    /// To see messages of a folder, so much of each.
    Messages {
        account: AccountId,
        folder: FolderName,
        level: Level,
    },
}

impl Ask {
    /// The account that is asked about, if it is one.
    pub fn account(&self) -> Option<&AccountId> {
        match self {
            Self::Own | Self::Accounts => None,
            Self::Account { account }
            | Self::Folders { account }
            | Self::Messages { account, .. } => Some(account),
        }
    }
}
