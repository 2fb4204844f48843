//! What all who share a ledger have in common beside transactions: keys that are made once, sealed records, and the only right to
//! one of those. What they are for is for others to say.

use std::fmt;
use std::sync::{Arc, Weak};

use crate::ledger::Shared;
use crate::owners::Owners;
use crate::{Ledger, LedgerFault};

/// A record, and a number that changes whenever it is replaced.
#[derive(Clone, PartialEq, Eq)]
pub struct Record {
    pub octets: Vec<u8>,
    pub stamp: u64,
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Record({} octets)", self.octets.len())
    }
}

/// The only right to something, until it is dropped, or its process ends.
pub struct Lock {
    ledger: Weak<Shared>,
    pub(crate) name: String,
    /// Tells one holding from the next.
    pub(crate) turn: String,
    held: Held,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Held {
    Perhaps,
    Never,
}

/// What came of asking for one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Locked {
    Now,
    ByAnother,
}

impl Lock {
    /// Somebody else has it: there is nothing to give back.
    pub(crate) fn missed(mut self) {
        self.held = Held::Never;
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if self.held == Held::Perhaps
            // Without a ledger nobody holds anything.
            && let Some(ledger) = self.ledger.upgrade()
        {
            ledger.unlock(&self.name, &self.turn);
        }
    }
}

impl fmt::Debug for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lock")
    }
}

impl Ledger {
    /// Made once, and the same for all who share the ledger.
    pub async fn shared_key(&self, name: &str) -> Result<[u8; 32], LedgerFault> {
        let mut fresh = [0u8; 32];
        getrandom::fill(&mut fresh)
            .map_err(|error| LedgerFault::Unwritable(format!("no random numbers: {error}")))?;
        let name = name.to_owned();
        let key = self.key(name, fresh).await?;
        key.try_into()
            .map_err(|_| LedgerFault::Foreign("a key that all share is damaged".to_owned()))
    }

    pub async fn record(&self, name: &str) -> Result<Option<Record>, LedgerFault> {
        self.find_record(name.to_owned()).await
    }

    /// The record that is called as the lock. Durable when it returns, wholly or not at all; the new stamp is answered.
    /// [`LedgerFault::LockLost`] where another has the lock by now.
    pub async fn replace_record(&self, lock: &Lock, octets: Vec<u8>) -> Result<u64, LedgerFault> {
        let (name, turn) = (lock.name.clone(), lock.turn.clone());
        self.put_record(name, turn, octets).await
    }

    /// None where somebody has it who lives.
    pub async fn try_lock(&self, name: &str) -> Result<Option<Lock>, LedgerFault> {
        let lock = Lock {
            ledger: Arc::downgrade(&self.0),
            name: name.to_owned(),
            turn: Owners::new_name()?,
            held: Held::Perhaps,
        };
        self.take_lock(lock).await
    }
}
