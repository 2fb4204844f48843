//! The one connection of a process to the ledger that replicas share, and what is known of tokens kept there.
//!
//! Tokens are made when a configuration is read, so it is connected to when the first of them is wanted, or a gateway is made.

mod absence;

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use ledger::{Ledger, LedgerFault, Lock, Server};
use secrets::{HeldLock, Reach, Records, Stamp};

use absence::Absence;

static OPEN: Mutex<Vec<(Server, Ledger)>> = Mutex::new(Vec::new());
/// All accounts of a process ask the same server.
static ABSENT: Mutex<Vec<(Server, Absence)>> = Mutex::new(Vec::new());

/// One for all who ask in this process: replicas know it by one name.
pub(crate) async fn connect(server: &Server) -> Result<Ledger, LedgerFault> {
    if let Some(ledger) = known(server) {
        return Ok(ledger);
    }
    let ledger = Ledger::connect(server.clone()).await?;
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    // Of two who connected at once the first one counts.
    if let Some((_, first)) = open.iter().find(|(one, _)| one == server) {
        return Ok(first.clone());
    }
    open.push((server.clone(), ledger.clone()));
    Ok(ledger)
}

/// Whoever ends says good-bye: the others need not wait until it counts as dead. A server that does not answer is not
/// waited for any longer than this.
pub(crate) fn close(longest: Duration) {
    let open = std::mem::take(&mut *OPEN.lock().unwrap_or_else(PoisonError::into_inner));
    if !open.is_empty() {
        drop_within(longest, open);
    }
}

/// Where the time is up it goes on being dropped, and ends with the process.
fn drop_within<T: Send + 'static>(longest: Duration, what: T) {
    let (over, ended) = std::sync::mpsc::channel::<()>();
    let ending = std::thread::Builder::new().spawn(move || {
        drop(what);
        drop(over);
    });
    if ending.is_ok() {
        let _ = ended.recv_timeout(longest);
    }
}

fn known(server: &Server) -> Option<Ledger> {
    let open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let found = open.iter().find(|(one, _)| one == server);
    found.map(|(_, ledger)| ledger.clone())
}

/// A provider has replaced a token, and only this process knows the new one: that is worth more than one try.
const TRIES: usize = 3;

/// What is known of tokens, where all replicas find it.
#[derive(Debug)]
pub(crate) struct SharedRecords {
    server: Server,
    stamps: Mutex<BTreeMap<String, u64>>,
    /// The locks that this process holds: a record is written under one alone.
    held: Mutex<BTreeMap<String, Weak<Lock>>>,
}

impl SharedRecords {
    pub(crate) fn on(server: &Server) -> Self {
        Self {
            server: server.clone(),
            stamps: Mutex::default(),
            held: Mutex::default(),
        }
    }

    /// Not while the server is known to be away: then this is told at once.
    fn ask<T>(&self, ask: impl AsyncFnOnce(&Ledger) -> Result<T, LedgerFault>) -> io::Result<T> {
        self.absence(|absence| absence.ask_at(Instant::now()))
            .map_err(io::Error::other)?;
        self.insist(ask)
    }

    /// On a thread that may wait. A ledger has threads of its own, so that nothing else need run here.
    fn insist<T>(&self, ask: impl AsyncFnOnce(&Ledger) -> Result<T, LedgerFault>) -> io::Result<T> {
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        let asked = runtime.block_on(async {
            let ledger = connect(&self.server).await?;
            ask(&ledger).await
        });
        self.absence(|absence| match &asked {
            Err(fault @ (LedgerFault::Unwritable(_) | LedgerFault::Away { .. })) => {
                absence.failed_at(Instant::now(), fault.to_string());
            }
            _ => absence.answered(),
        });
        asked.map_err(io::Error::other)
    }

    fn absence<T>(&self, look: impl FnOnce(&mut Absence) -> T) -> T {
        let mut all = ABSENT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, absence)) = all.iter_mut().find(|(one, _)| *one == self.server) {
            return look(absence);
        }
        let mut absence = Absence::default();
        let looked = look(&mut absence);
        all.push((self.server.clone(), absence));
        looked
    }

    fn note(&self, name: &str, stamp: u64) {
        let mut stamps = self.stamps.lock().unwrap_or_else(PoisonError::into_inner);
        stamps.insert(name.to_owned(), stamp);
    }
}

/// Beside other records.
fn named(name: &str) -> String {
    format!("oauth/{name}")
}

impl Records for SharedRecords {
    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let found = self.ask(async |ledger| ledger.record(&named(name)).await)?;
        Ok(found.map(|record| {
            self.note(name, record.stamp);
            record.octets
        }))
    }

    fn replace(&self, name: &str, octets: &[u8]) -> io::Result<()> {
        let held = {
            let all = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            all.get(name).and_then(Weak::upgrade)
        };
        let Some(lock) = held else {
            return Err(io::Error::other(LedgerFault::LockLost));
        };
        let mut tried = 0;
        let stamp = loop {
            tried += 1;
            let replace =
                async |ledger: &Ledger| ledger.replace_record(&lock, octets.to_vec()).await;
            match self.insist(replace) {
                Err(_) if tried < TRIES => {}
                answer => break answer?,
            }
        };
        self.note(name, stamp);
        Ok(())
    }

    fn try_lock(&self, name: &str) -> io::Result<Option<HeldLock>> {
        let lock = self.ask(async |ledger| ledger.try_lock(&named(name)).await)?;
        Ok(lock.map(|lock| {
            let lock = Arc::new(lock);
            let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            held.insert(name.to_owned(), Arc::downgrade(&lock));
            Box::new(lock) as HeldLock
        }))
    }

    fn stamp(&self, name: &str) -> Option<Stamp> {
        let stamps = self.stamps.lock().unwrap_or_else(PoisonError::into_inner);
        stamps.get(name).copied().map(Stamp::numbered)
    }

    fn reach(&self) -> Reach {
        Reach::Replicas
    }

    fn place(&self) -> String {
        self.server.to_string()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// Ends when it is told to.
    struct Stuck(mpsc::Receiver<()>);

    impl Drop for Stuck {
        fn drop(&mut self) {
            let _ = self.0.recv();
        }
    }

    #[test]
    fn a_ledger_that_does_not_answer_holds_up_no_end() {
        let (end, stuck) = mpsc::channel();
        drop_within(Duration::from_millis(10), Stuck(stuck));
        // Reached, though nothing has ended it.
        drop(end);
    }
}
