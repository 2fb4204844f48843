//! What is allowed and still worth a second look: warnings for the author of policies.
//!
//! Nothing here changes a decision. What is certainly wrong is a [`Flaw`](crate::Flaw) and is not accepted at all.

mod flow;
mod limits;
mod patterns;
mod tools;

use std::fmt;

use mail::AccountId;

use crate::{FolderPattern, FolderPolicy, Policy};

/// One thing to look at again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Warning {
    pub code: Code,
    /// Whose policy it is in.
    pub caller: String,
    pub spot: Spot,
    /// One line: what may happen, and what to do about it.
    pub text: String,
}

/// Where in a caller's policy.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Spot {
    Whole,
    Folder(AccountId, FolderPattern),
    /// The rule with this index.
    Rule(AccountId, FolderPattern, usize),
}

/// The closed list.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Code {
    /// Mail that is private to one caller can be put where another reads.
    LeaksToCaller,
    /// What is moved to this folder would show more of itself there.
    TargetShowsMore,
    /// Every message of every folder, whole.
    CallerWithoutLimits,
    /// Every message of the folder, whole.
    FolderWithoutLimits,
    /// A blacklist that names senders: it is open to all others, and a sender is easily forged.
    BlacklistBySender,
    /// A grant of text to a sender whom nothing proves.
    SenderNotProven,
    /// Text that no mail has.
    NeverMatches,
    /// A pattern that matches next to everything.
    AlwaysMatches,
    /// A capability that works on messages, where none can be seen.
    NothingToChange,
    /// Mail may leave, and there is nowhere to put it.
    NowhereToMove,
    /// Mail may be put here, and there is none to put.
    NothingToAccept,
    /// Nothing can be seen or done here.
    FolderWithoutUse,
    /// A pattern that gives text or a capability in Trash, Junk, Drafts and Sent too.
    PatternOpensAll,
}

/// How much a warning matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Weight {
    /// It may be just as intended.
    Hint,
    /// It is hardly as intended.
    Warning,
}

/// Over all callers at once, because what one may write another may read. In the order of callers, then of their policies.
pub fn lint(callers: &[(&str, &Policy)]) -> Vec<Warning> {
    let mut found = Vec::new();
    for (caller, policy) in callers {
        limits::look(caller, policy, &mut found);
        for (account, folder) in policy.written() {
            patterns::look(&Site::new(caller, account, folder), &mut found);
        }
        tools::look(caller, policy, &mut found);
        flow::look(caller, policy, callers, &mut found);
    }
    found
}

impl Code {
    pub const ALL: [Self; 13] = [
        Self::LeaksToCaller,
        Self::TargetShowsMore,
        Self::CallerWithoutLimits,
        Self::FolderWithoutLimits,
        Self::BlacklistBySender,
        Self::SenderNotProven,
        Self::NeverMatches,
        Self::AlwaysMatches,
        Self::NothingToChange,
        Self::NowhereToMove,
        Self::NothingToAccept,
        Self::FolderWithoutUse,
        Self::PatternOpensAll,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::LeaksToCaller => "leaks_to_caller",
            Self::TargetShowsMore => "target_shows_more",
            Self::CallerWithoutLimits => "caller_without_limits",
            Self::FolderWithoutLimits => "folder_without_limits",
            Self::BlacklistBySender => "blacklist_by_sender",
            Self::SenderNotProven => "sender_not_proven",
            Self::NeverMatches => "never_matches",
            Self::AlwaysMatches => "always_matches",
            Self::NothingToChange => "nothing_to_change",
            Self::NowhereToMove => "nowhere_to_move",
            Self::NothingToAccept => "nothing_to_accept",
            Self::FolderWithoutUse => "folder_without_use",
            Self::PatternOpensAll => "pattern_opens_all",
        }
    }

    pub fn weight(self) -> Weight {
        match self {
            Self::TargetShowsMore | Self::SenderNotProven | Self::FolderWithoutUse => Weight::Hint,
            Self::LeaksToCaller
            | Self::CallerWithoutLimits
            | Self::FolderWithoutLimits
            | Self::BlacklistBySender
            | Self::NeverMatches
            | Self::AlwaysMatches
            | Self::NothingToChange
            | Self::NowhereToMove
            | Self::NothingToAccept
            | Self::PatternOpensAll => Weight::Warning,
        }
    }
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.write_str("the policy"),
            Self::Folder(account, folder) => write!(f, "{account} / {folder}"),
            Self::Rule(account, folder, index) => {
                write!(f, "{account} / {folder}, rule {}", index + 1)
            }
        }
    }
}

/// A folder in a caller's policy.
#[derive(Clone, Copy)]
struct Site<'a> {
    caller: &'a str,
    account: &'a AccountId,
    folder: &'a FolderPolicy,
}

impl<'a> Site<'a> {
    fn new(caller: &'a str, account: &'a AccountId, folder: &'a FolderPolicy) -> Self {
        Self {
            caller,
            account,
            folder,
        }
    }

    fn all(caller: &'a str, policy: &'a Policy) -> impl Iterator<Item = Self> {
        let each = policy.written();
        each.map(move |(account, folder)| Self::new(caller, account, folder))
    }

    /// Both are one folder. Under a pattern mail can go from one folder to another.
    fn is(&self, other: &Self) -> bool {
        let exact = self.folder.path.exact().is_some();
        exact && self.account == other.account && self.folder.path == other.folder.path
    }

    fn warn(&self, code: Code, text: String) -> Warning {
        Warning {
            code,
            caller: self.caller.to_owned(),
            spot: Spot::Folder(self.account.clone(), self.folder.path.clone()),
            text,
        }
    }

    fn warn_rule(&self, code: Code, index: usize, text: String) -> Warning {
        Warning {
            spot: Spot::Rule(self.account.clone(), self.folder.path.clone(), index),
            ..self.warn(code, text)
        }
    }
}

impl fmt::Display for Site<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} / {}", self.account, self.folder.path)
    }
}

#[cfg(test)]
mod tests;
