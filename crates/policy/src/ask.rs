//! What a call wants, in the words that a policy judges.

use mail::{AccountId, FolderName, Level};

use crate::{Capabilities, Capability};

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
    /// To see messages wherever they lie in an account, or in any of those there are.
    Wherever {
        account: Option<AccountId>,
        level: Level,
    },
    /// To do something with a message of a folder.
    Change {
        account: AccountId,
        folder: FolderName,
        deed: Deed,
    },
}

/// What is to be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Deed {
    /// Set and take flags that need these.
    Mark(Capabilities),
    Copy(Target),
    Move(Target),
    /// The owner's alone: no capability gives it.
    Delete,
    /// Add a draft to the folder.
    Draft,
    /// Take away again what the same caller put there by this.
    Withdraw(Capability),
}

/// Where a message is to go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    pub account: AccountId,
    pub folder: FolderName,
}

impl Deed {
    /// What it needs in the folder that the message is in, or is added to.
    pub(crate) fn needs(&self) -> Capabilities {
        match self {
            Self::Mark(needed) => *needed,
            Self::Copy(_) | Self::Delete => Capabilities::NONE,
            Self::Move(_) => Capabilities::NONE.with(Capability::MoveOut),
            Self::Draft => Capabilities::NONE.with(Capability::DraftAppend),
            Self::Withdraw(given) => Capabilities::NONE.with(*given),
        }
    }

    /// How much of the message its caller has to see.
    pub(crate) fn level(&self) -> Level {
        match self {
            Self::Mark(_) | Self::Copy(_) | Self::Move(_) | Self::Delete => Level::Metadata,
            Self::Draft | Self::Withdraw(_) => Level::None,
        }
    }

    pub fn target(&self) -> Option<&Target> {
        match self {
            Self::Copy(target) | Self::Move(target) => Some(target),
            Self::Mark(_) | Self::Delete | Self::Draft | Self::Withdraw(_) => None,
        }
    }
}

impl Ask {
    /// The account that is asked about, if it is one.
    pub fn account(&self) -> Option<&AccountId> {
        match self {
            Self::Own | Self::Accounts => None,
            Self::Wherever { account, .. } => account.as_ref(),
            Self::Account { account }
            | Self::Folders { account }
            | Self::Messages { account, .. }
            | Self::Change { account, .. } => Some(account),
        }
    }

    /// The folders that it names: where the messages are, and where one is to go.
    pub fn folders(&self) -> impl Iterator<Item = (&AccountId, &FolderName)> {
        let (here, deed) = match self {
            Self::Messages {
                account, folder, ..
            } => (Some((account, folder)), None),
            Self::Change {
                account,
                folder,
                deed,
            } => (Some((account, folder)), Some(deed)),
            Self::Own
            | Self::Accounts
            | Self::Account { .. }
            | Self::Folders { .. }
            | Self::Wherever { .. } => (None, None),
        };
        let target = deed.and_then(Deed::target);
        let there = target.map(|target| (&target.account, &target.folder));
        here.into_iter().chain(there)
    }

    /// Whether something in this account would become another.
    pub fn changes(&self, account: &AccountId) -> bool {
        let Self::Change {
            account: here,
            deed,
            ..
        } = self
        else {
            return false;
        };
        let there = deed.target().map(|target| &target.account);
        match deed {
            Deed::Copy(_) => there == Some(account),
            Deed::Move(_) => here == account || there == Some(account),
            Deed::Mark(_) | Deed::Delete | Deed::Draft | Deed::Withdraw(_) => here == account,
        }
    }

    /// All of them: a message may go from one to another.
    pub fn accounts(&self) -> impl Iterator<Item = &AccountId> {
        let target = match self {
            Self::Change { deed, .. } => deed.target(),
            _ => None,
        };
        let target = target.map(|target| &target.account);
        self.account().into_iter().chain(target)
    }
}
