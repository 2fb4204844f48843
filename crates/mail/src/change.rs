//! What can be done to mail: one step at one source, what it met and what came of it.
//!
//! Which steps make up a change, and what is remembered of them, is for others to say.

use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;
use jiff::Timestamp;

use crate::{Fault, Flag, FolderName, MessageRef, Uid, UidValidity};

/// One step at one source, which it does wholly or not at all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// Sets some flags and takes others.
    Mark {
        subject: Subject,
        add: Vec<Flag>,
        remove: Vec<Flag>,
    },
    /// Makes a second one in a folder of the same account.
    Copy { subject: Subject, to: FolderName },
    /// Takes it to another folder of the same account at once (RFC 6851). [`crate::FaultKind::NotOffered`] where the
    /// source has no such thing.
    Move { subject: Subject, to: FolderName },
    /// Takes it out of its folder: this one, and no other that somebody flagged `\Deleted`.
    Remove { subject: Subject, what: Removed },
}

impl Step {
    pub fn subject(&self) -> &Subject {
        match self {
            Self::Mark { subject, .. }
            | Self::Copy { subject, .. }
            | Self::Move { subject, .. }
            | Self::Remove { subject, .. } => subject,
        }
    }
}

/// What a removal takes away. Where each folder keeps messages of its own this is all the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Removed {
    /// The message: it shall be in this account no longer.
    Message,
    /// One that a copy within this account made: the others stay.
    Copy,
    /// One that was added to this account when the folder that holds all ended there. What was there before stays, and so
    /// does what may have been: where that end is not known.
    Addition { beyond: Option<Horizon> },
}

/// Which message, and what it must be: nothing is done to another that took its number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subject {
    pub at: MessageRef,
    /// Its size in octets, where it is known.
    pub size: Option<u64>,
}

/// A message that does not exist yet, apart from its octets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Append {
    pub to: FolderName,
    pub flags: Vec<Flag>,
    /// When it arrived first; now, where that is not known.
    pub arrived: Option<Timestamp>,
    /// Exactly so many octets follow.
    pub size: u64,
}

/// Where the octets of a message come from, piece by piece.
pub trait Body: Send {
    /// The next piece; an empty one ends it.
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Result<Bytes, Fault>> + Send + '_>>;
}

/// What came of a step, on its way. Dropping it leaves open whether anything was changed.
pub type Changing<'a> = Pin<Box<dyn Future<Output = Result<Changed, Broken>> + Send + 'a>>;

/// A step that the source says is done.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Changed {
    /// The message as it stood before, as far as that was told.
    pub before: Option<Witness>,
    /// After a mark: all flags it has now.
    pub flags: Option<Vec<Flag>>,
    /// Where it came to lie; absent where the source does not tell (no UIDPLUS).
    pub landed: Option<Landing>,
    /// It lay there before already: a label that it had (Gmail).
    pub was_there: bool,
    /// After a removal.
    pub removal: Option<Removal>,
}

/// A number in a generation of a folder.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Landing {
    pub uidvalidity: UidValidity,
    pub uid: Uid,
}

/// How far a removal went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Removal {
    Gone,
    /// Flagged `\Deleted` and still there: the source cannot take out one message alone.
    Flagged,
    /// In the account's trash, where the store itself empties it some day.
    Trashed,
}

/// A step that was not reported as done.
#[derive(Clone, Debug)]
pub struct Broken {
    pub fault: Fault,
    pub effect: Effect,
    /// The message as it stood before, as far as that was told.
    pub before: Option<Witness>,
}

/// What a step that failed may have left behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    Nothing,
    /// It was asked for, and the answer did not come.
    Unknown,
}

impl Broken {
    /// It was not even asked for, or it was refused.
    pub fn before_anything(fault: Fault) -> Self {
        Self {
            fault,
            effect: Effect::Nothing,
            before: None,
        }
    }
}

/// What a message was seen to be.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Witness {
    pub flags: Option<Vec<Flag>>,
    pub arrived: Option<Timestamp>,
    pub size: Option<u64>,
    /// The header field, without brackets.
    pub message_id: Option<String>,
    pub digest: Option<Digest>,
    /// What its store calls it, see [`crate::StoreId`].
    pub store_id: Option<u64>,
}

/// SHA-256 over the first octets of a message, or over all of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Digest {
    pub sha256: [u8; 32],
    /// How many octets it covers.
    pub octets: u64,
}

/// How much of a message a digest covers where it need not travel anyway.
pub const MOST_DIGESTED: u64 = 64 << 10;

/// Where a folder ended: what comes later has a higher number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Horizon {
    pub uidvalidity: UidValidity,
    /// The next message's number was this or higher.
    pub next: Uid,
}

/// A message of a folder that may be the one that is looked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Candidate {
    pub landing: Landing,
    pub witness: Witness,
}
