//! The right to work on a transaction. Who has it is for the databases to say.

use crate::{Transaction, TransactionId};

/// Of one claim and no other.
///
/// INVARIANT: who was cut off, lost its lease and claims the transaction anew gets another one. What still works under the
/// first, in whichever process, writes nothing and gives nothing back.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Lease {
    pub(crate) id: TransactionId,
    /// What the claim is called.
    pub(crate) claim: String,
}

impl Lease {
    pub(crate) fn new(id: TransactionId, claim: &str) -> Self {
        let claim = claim.to_owned();
        Self { id, claim }
    }

    /// A transaction begins once, so its first lease may be called as it is.
    pub(crate) fn of_beginning(id: &TransactionId) -> Self {
        Self::new(id.clone(), id.as_str())
    }

    /// Of the transaction.
    pub fn id(&self) -> &TransactionId {
        &self.id
    }
}

/// A transaction that is this process's to bring to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Claimed {
    pub lease: Lease,
    pub transaction: Transaction,
    pub answered: Answered,
}

/// Whether whoever began a transaction knows that it began.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answered {
    Yes,
    /// Its process is gone and wrote nothing behind the beginning. It may have said that nothing was begun, because its server
    /// did not answer in time; it may also have begun the first step.
    Unknown,
}

impl Claimed {
    pub(crate) fn new(transaction: Transaction, claim: &str) -> Self {
        let lease = Lease::new(transaction.id.clone(), claim);
        Self {
            lease,
            transaction,
            answered: Answered::Yes,
        }
    }
}
