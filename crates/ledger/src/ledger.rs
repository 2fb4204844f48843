//! The ledger as its users know it: a handle that many tasks share, behind which one thread writes.

use std::path::Path;

use bytes::Bytes;
use jiff::Timestamp;
use mail::{Landing, Uid, UidValidity};

use crate::{Asked, Ending, Known, Place, State, StepName, StepState, Transaction, TransactionId};

/// Shared by all calls of a process; cheap to clone.
#[derive(Clone, Debug)]
pub struct Ledger {}

/// What came of beginning a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Begun {
    /// It is durable, its first step intended, and leased to this process.
    New(TransactionId),
    /// The same caller asked for the same under this key before.
    Known(Box<Transaction>),
    /// The same caller asked for something else under this key.
    Conflict,
    /// What it would undo has been undone, or is being undone.
    Undone,
}

/// One thing to write down of a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Note {
    /// Everything that is known of the message by now.
    Knows(Known),
    /// The last step of this name that is intended came to this; `Intended` begins another.
    Step(StepName, StepState, Option<String>),
    /// It is over: the lease ends, and what recovery needed is removed.
    Ends(State, Ending),
    /// It is to be tried again, then; the lease ends.
    Later(Timestamp),
}

/// Which transactions a list is of; the newest first.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Filter {
    pub caller: Option<String>,
    pub states: Vec<State>,
    pub limit: usize,
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum LedgerFault {
    #[error("the ledger cannot be written: {0}")]
    Unwritable(String),
    #[error("the ledger is not one of this program, or of a newer one: {0}")]
    Foreign(String),
    /// Another process has the lease.
    #[error("another process is working on this transaction")]
    Leased,
    #[error("there is no such transaction")]
    Unknown,
}

impl Ledger {
    /// Opens or makes it. Several processes of one machine may share a file.
    pub fn open(_path: &Path) -> Result<Self, LedgerFault> {
        Ok(Self {})
    }

    /// Durable when it returns: what was asked, and that its first step is intended. One that undoes another is written
    /// down there too, as long as it does not end undone itself.
    pub async fn begin(
        &self,
        _asked: Asked,
        _known: Known,
        _first: StepName,
        _content: Option<Bytes>,
    ) -> Result<Begun, LedgerFault> {
        Err(LedgerFault::Unknown)
    }

    /// Durable when it returns, all of it or nothing. [`LedgerFault::Leased`] where this process has no lease.
    pub async fn write(&self, _id: &TransactionId, _notes: Vec<Note>) -> Result<(), LedgerFault> {
        Err(LedgerFault::Unknown)
    }

    pub async fn get(&self, _id: &TransactionId) -> Result<Option<Transaction>, LedgerFault> {
        Ok(None)
    }

    pub async fn by_key(
        &self,
        _caller: &str,
        _key: &str,
    ) -> Result<Option<Transaction>, LedgerFault> {
        Ok(None)
    }

    pub async fn list(&self, _filter: Filter) -> Result<Vec<Transaction>, LedgerFault> {
        Ok(Vec::new())
    }

    /// What a draft says, as long as its transaction is open.
    pub async fn content(&self, _id: &TransactionId) -> Result<Option<Bytes>, LedgerFault> {
        Ok(None)
    }

    /// Leases open transactions that nobody works on and whose time has come, the oldest first.
    pub async fn claim_due(
        &self,
        _now: Timestamp,
        _most: usize,
    ) -> Result<Vec<Transaction>, LedgerFault> {
        Ok(Vec::new())
    }

    /// Leases this one, whatever its time, if it is open. [`LedgerFault::Leased`] where somebody works on it or it has
    /// ended.
    pub async fn claim(&self, _id: &TransactionId) -> Result<Transaction, LedgerFault> {
        Err(LedgerFault::Unknown)
    }

    /// Leases this one, and one that needs an operator is open again.
    pub async fn reopen(&self, _id: &TransactionId) -> Result<Transaction, LedgerFault> {
        Err(LedgerFault::Unknown)
    }

    /// When the next open transaction is due that this process does not work on.
    pub async fn next_due(&self) -> Result<Option<Timestamp>, LedgerFault> {
        Ok(None)
    }

    /// What transactions other than this one are known to have put into a folder.
    pub async fn landed(
        &self,
        _place: &Place,
        _uidvalidity: UidValidity,
        _but: &TransactionId,
    ) -> Result<Vec<Uid>, LedgerFault> {
        let _: Option<Landing> = None;
        Ok(Vec::new())
    }

    /// Forgets what ended before then.
    pub async fn forget_before(&self, _then: Timestamp) -> Result<u64, LedgerFault> {
        Ok(0)
    }
}
