//! What is kept of a change: what was asked, what is known of the message, which steps were taken, how it ended.

use jiff::Timestamp;
use mail::{AccountId, Digest, Flag, FolderName, Horizon, Landing, MessageRef};

use crate::TransactionId;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transaction {
    pub id: TransactionId,
    pub asked: Asked,
    pub known: Known,
    /// In the order in which they were begun. A step that was tried again stands there again.
    pub steps: Vec<StepRecord>,
    pub state: State,
    pub ending: Option<Ending>,
    pub began: Timestamp,
    pub ended: Option<Timestamp>,
    /// How often recovery has tried to bring it to an end.
    pub attempts: u32,
    /// Not before then.
    pub next_try: Option<Timestamp>,
    /// The transaction that undid it, or is about to.
    pub undone_by: Option<TransactionId>,
}

/// What was asked, as it was when it began. It never changes, but that a key may be given back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asked {
    pub kind: Kind,
    pub caller: String,
    pub tool: String,
    /// The name that the audit log knows the call by.
    pub request_id: String,
    /// The policy that it was permitted under, by name and by the digest of what it says.
    pub policy: String,
    /// The message; none for one that is new.
    pub source: Option<MessageRef>,
    /// Where it is to go.
    pub target: Option<Place>,
    /// Which mailboxes the two accounts were, by the names that their sources give themselves: an account of the same
    /// name may be another mailbox by now, or in another process.
    pub source_home: Option<String>,
    pub target_home: Option<String>,
    /// Where the target ended.
    pub horizon: Option<Horizon>,
    pub marks: Vec<Mark>,
    pub key: Option<Key>,
    /// The transaction whose inverse this is.
    pub undoes: Option<TransactionId>,
}

/// A flag that is set, or taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mark {
    Set(Flag),
    Take(Flag),
}

impl Mark {
    /// Whether a message with these flags is as it says.
    pub fn is_so(&self, flags: &[Flag]) -> bool {
        let has = |flag: &Flag| flags.iter().any(|one| one.is(flag.as_str()));
        match self {
            Self::Set(flag) => has(flag),
            Self::Take(flag) => !has(flag),
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    pub account: AccountId,
    pub folder: FolderName,
}

/// What a caller calls its request, and what it asked for then: a digest of tool and arguments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Key {
    pub name: String,
    pub arguments: [u8; 32],
}

/// INVARIANT: a copy and a move are different kinds. Whoever resumes a copy has no business with its source.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    Flags,
    Copy,
    Move,
    /// Into the trash where there is a target, else for good.
    Delete,
    Draft,
}

/// What is known of the message; it grows with every step.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Known {
    pub size: Option<u64>,
    pub digest: Option<Digest>,
    pub message_id: Option<String>,
    /// Flags and keywords before.
    pub flags: Option<Vec<Flag>>,
    pub flags_after: Option<Vec<Flag>>,
    pub arrived: Option<Timestamp>,
    /// Where it came to lie in the target.
    pub landed: Option<Landing>,
    /// What the store that it stays in or comes to calls it, wherever it lies there.
    pub store_id: Option<u64>,
    /// What the store that it comes from calls it, where it goes to another account.
    pub source_id: Option<u64>,
    /// Where the folder that holds all of the target's account ended before the message was added there last: what lies beyond
    /// is new.
    pub end_of_all: Option<Horizon>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StepRecord {
    pub name: StepName,
    pub state: StepState,
    pub at: Timestamp,
    /// A code of what went wrong.
    pub why: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StepName {
    Mark,
    Copy,
    Move,
    Append,
    /// The copy is read back and compared.
    Confirm,
    Remove,
    /// A copy is taken away again.
    Withdraw,
    /// Of two copies, where a slow server made both, one is taken away.
    Thin,
}

impl StepName {
    /// Where the message is to go, rather than where it is.
    pub fn is_at_the_target(self) -> bool {
        matches!(
            self,
            Self::Append | Self::Confirm | Self::Withdraw | Self::Thin
        )
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StepState {
    /// About to be done: it may have been.
    Intended,
    Done,
    /// It was refused, and has changed nothing.
    Refused,
    /// It was asked for, and the answer did not come.
    Unknown,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum State {
    /// Not at its end.
    Open,
    Done,
    /// Nothing is changed, or what was changed is put back.
    Undone,
    /// A person has to decide; `ending` says what.
    NeedsOperator,
}

/// How it ended.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Ending {
    /// `flagged_only`, or the code of what went wrong; none where all went well.
    pub code: Option<String>,
    /// For people: what happened, or what is to be decided. No word of mail.
    pub words: Option<String>,
}

macro_rules! named {
    ($type:ident { $($variant:ident = $name:literal),+ $(,)? }) => {
        impl $type {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.name() == name)
            }
        }
    };
}

named!(Kind { Flags = "flags", Copy = "copy", Move = "move", Delete = "delete", Draft = "draft" });
named!(State { Open = "open", Done = "done", Undone = "undone", NeedsOperator = "needs_operator" });
named!(StepState { Intended = "intended", Done = "done", Refused = "refused", Unknown = "unknown" });
named!(StepName {
    Mark = "mark",
    Copy = "copy",
    Move = "move",
    Append = "append",
    Confirm = "confirm",
    Remove = "remove",
    Withdraw = "withdraw",
    Thin = "thin",
});
