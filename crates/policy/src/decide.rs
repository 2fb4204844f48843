//! The decision.

use mail::{AccountId, Level};

use crate::Ask;

/// What one caller may do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Policy {
    /// The person whose accounts these are: everything may be read.
    Owner,
}

/// Leave to do what was asked, and no more. Only [`decide`] makes one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Permit {
    account: Option<AccountId>,
    level: Level,
    reason: Reason,
}

/// Why it was given. The contract lists the names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// No rule spoke: what holds for the whole folder does. The owner has no other.
    FolderDefaultApplied,
}

impl Reason {
    pub fn name(self) -> &'static str {
        match self {
            Self::FolderDefaultApplied => "folder_default_applied",
        }
    }
}

pub fn decide(policy: &Policy, ask: &Ask) -> Permit {
    let level = match (policy, ask) {
        (Policy::Owner, Ask::Messages { level, .. }) => *level,
        (Policy::Owner, Ask::Accounts | Ask::Account { .. } | Ask::Folders { .. }) => Level::Count,
    };
    Permit {
        account: ask.account().cloned(),
        level,
        reason: Reason::FolderDefaultApplied,
    }
}

impl Permit {
    /// The one account it is for.
    pub fn account(&self) -> Option<&AccountId> {
        self.account.as_ref()
    }

    /// How much of a message may be seen.
    pub fn level(&self) -> Level {
        self.level
    }

    pub fn reason(&self) -> Reason {
        self.reason
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mail::FolderName;

    #[test]
    fn the_owner_gets_what_was_asked_and_no_more() {
        let account = AccountId::new("work").unwrap();
        let folder = FolderName::new("INBOX").unwrap();
        let ask = Ask::Messages {
            account: account.clone(),
            folder,
            level: Level::Envelope,
        };
        let permit = decide(&Policy::Owner, &ask);
        assert_eq!(permit.level(), Level::Envelope);
        assert_eq!(permit.account(), Some(&account));
        let permit = decide(&Policy::Owner, &Ask::Accounts);
        assert_eq!((permit.account(), permit.level()), (None, Level::Count));
    }
}
