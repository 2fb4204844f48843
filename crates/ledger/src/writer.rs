//! The one thread that writes: it takes everything that waits, commits it with one sync, and answers all.
//!
//! What is written is for the jobs to say.

use std::cell::Cell;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rusqlite::{Connection, TransactionBehavior};

use crate::identity::Identity;
use crate::owners::{Owner, Owners};
use crate::sqlite::{self, Cut, lease};
use crate::{Lease, LedgerFault};

pub(crate) type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// A disk that is slow is not to make those wait who came first.
const MOST_AT_ONCE: usize = 256;
/// How often leases are renewed: well within their time.
const ROUND: Duration = Duration::from_secs(30);

/// One request. It is run within a transaction of the database, and answered when that is on disk.
pub(crate) trait Job: Send {
    /// Whatever it wrote is taken back where it fails.
    fn run(&mut self, desk: &Desk<'_>) -> Result<(), LedgerFault>;

    /// Tells its caller. Returns the leases that went to a caller who no longer waits.
    fn answer(self: Box<Self>, written: Result<(), LedgerFault>) -> Vec<Lease>;
}

/// What the writer is asked for.
pub(crate) enum Order {
    Job(Box<dyn Job>),
    /// A lease that nobody wants any more; nobody waits for it.
    Release(Lease),
}

/// What a job works with.
pub(crate) struct Desk<'a> {
    pub(crate) conn: &'a Connection,
    pub(crate) owner: &'a str,
    pub(crate) owners: &'a Owners,
    pub(crate) now: Timestamp,
    erased: &'a Cell<Erased>,
}

/// Whether content of mail that was removed may still stand in the write-ahead log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Erased {
    Wholly,
    NotYet,
}

impl Desk<'_> {
    /// Content of mail is removed by this job.
    pub(crate) fn erased_content(&self) {
        self.erased.set(Erased::NotYet);
    }
}

pub(crate) struct Writer {
    conn: Connection,
    file: Identity,
    orders: Receiver<Order>,
    owners: Owners,
    clock: Clock,
    /// Known to others from its first lease on.
    owner: Option<Owner>,
    name: Arc<OnceLock<String>>,
    /// Leases to be given back with the next commit, before anything else.
    released: Vec<Lease>,
    erased: Cell<Erased>,
}

impl Writer {
    pub(crate) fn new(
        conn: Connection,
        file: Identity,
        orders: Receiver<Order>,
        owners: Owners,
        clock: Clock,
    ) -> Self {
        Self {
            conn,
            file,
            orders,
            owners,
            clock,
            owner: None,
            name: Arc::default(),
            released: Vec::new(),
            erased: Cell::new(Erased::Wholly),
        }
    }

    /// Of this process as an owner of leases, from its first lease on.
    pub(crate) fn name(&self) -> Arc<OnceLock<String>> {
        Arc::clone(&self.name)
    }

    /// Ends when nobody can ask any more, and all that was asked is answered.
    pub(crate) fn run(mut self) {
        let mut round = Instant::now();
        loop {
            match self.orders.recv_timeout(ROUND) {
                Ok(order) => self.commit(order),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if round.elapsed() >= ROUND {
                self.tend();
                round = Instant::now();
            }
        }
        self.leave();
    }

    /// Writes this and everything that waits behind it.
    fn commit(&mut self, first: Order) {
        let mut orders = vec![first];
        while orders.len() < MOST_AT_ONCE
            && let Ok(order) = self.orders.try_recv()
        {
            orders.push(order);
        }
        let written = self.try_commit(&mut orders);
        if let Err(fault) = &written {
            tracing::error!(%fault, requests = orders.len(), "nothing is written: changes to mail are refused");
        }
        for order in orders {
            match order {
                Order::Job(job) => self.released.extend(job.answer(written.clone())),
                Order::Release(lease) if written.is_err() => self.released.push(lease),
                Order::Release(_) => {}
            }
        }
        self.erase();
    }

    fn try_commit(&mut self, orders: &mut [Order]) -> Result<(), LedgerFault> {
        let now = (self.clock)();
        self.file.check()?;
        if self.owner.is_none() {
            let owner = self.owners.enter()?;
            self.name.get_or_init(|| owner.name().to_owned());
            self.owner = Some(owner);
            self.bury();
        }
        let owner = self.owner.as_ref().map(Owner::name).unwrap_or_default();
        let mut tx = self
            .conn
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        for lease in &self.released {
            lease::free(&tx, lease, owner)?;
        }
        for order in orders {
            let job = match order {
                Order::Job(job) => job,
                Order::Release(lease) => {
                    lease::free(&tx, lease, owner)?;
                    continue;
                }
            };
            let savepoint = tx.savepoint()?;
            let desk = Desk {
                conn: &savepoint,
                owner,
                owners: &self.owners,
                now,
                erased: &self.erased,
            };
            match job.run(&desk) {
                Ok(()) => savepoint.commit()?,
                Err(fault) => {
                    drop(savepoint);
                    // INVARIANT: nobody is told of what is not there. A full disk takes back the whole transaction, and
                    // what came before this job with it.
                    if tx.is_autocommit() {
                        return Err(fault);
                    }
                }
            }
        }
        // INVARIANT: nobody is told that something is written which nobody will find.
        self.file.check()?;
        tx.commit()?;
        self.released.clear();
        Ok(())
    }

    /// What is done from time to time: others see that the leases are still wanted, and the dead are forgotten.
    fn tend(&mut self) {
        let Some(owner) = &self.owner else {
            return;
        };
        let now = (self.clock)();
        if let Err(fault) = self.file.check() {
            tracing::error!(%fault, "leases are not renewed");
            return;
        }
        let written = self
            .conn
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(LedgerFault::from)
            .and_then(|tx| {
                for lease in &self.released {
                    lease::free(&tx, lease, owner.name())?;
                }
                lease::renew(&tx, owner.name(), now)?;
                Ok(tx.commit()?)
            });
        match written {
            Ok(()) => self.released.clear(),
            Err(fault) => tracing::warn!(%fault, "leases are not renewed"),
        }
        self.bury();
        self.erase();
    }

    fn bury(&self) {
        let conn = &self.conn;
        self.owners.bury(|name| {
            lease::wanted(conn).map_or(true, |wanted| wanted.iter().any(|one| one == name))
        });
    }

    /// Those who asked have their answer by now.
    fn erase(&mut self) {
        if self.erased.get() == Erased::NotYet
            // The log that bears its name may be another's by now.
            && self.file.check().is_ok()
            && sqlite::cut_log(&self.conn) == Cut::Done
        {
            self.erased.set(Erased::Wholly);
        }
    }

    /// Whoever comes next need not wait for leases to run out.
    fn leave(mut self) {
        self.erase();
        if let Some(owner) = self.owner.take()
            && self.file.check().is_ok()
            && lease::free_all(&self.conn, owner.name()).is_ok()
        {
            owner.leave();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use super::*;

    /// Inserts so many octets; says how it went.
    struct Insert {
        octets: usize,
        done: Result<(), LedgerFault>,
        said: Sender<Result<(), LedgerFault>>,
    }

    impl Job for Insert {
        fn run(&mut self, desk: &Desk<'_>) -> Result<(), LedgerFault> {
            let octets = vec![b'x'; self.octets];
            let done = desk.conn.execute("INSERT INTO extra VALUES (?1)", [octets]);
            self.done = done.map(|_| ()).map_err(LedgerFault::from);
            self.done.clone()
        }

        fn answer(self: Box<Self>, written: Result<(), LedgerFault>) -> Vec<Lease> {
            self.said.send(self.done.and(written)).unwrap();
            Vec::new()
        }
    }

    #[test]
    fn a_full_disk_takes_back_what_shares_the_commit_and_nobody_is_told_otherwise() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ledger.db");
        let conn = sqlite::open(&path).unwrap();
        conn.execute_batch("CREATE TABLE extra (octets BLOB)")
            .unwrap();
        let pages: i64 = conn
            .pragma_query_value(None, "page_count", |row| row.get(0))
            .unwrap();
        let limit = |pages: i64, conn: &Connection| {
            conn.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))
                .unwrap();
        };
        limit(pages + 10, &conn);
        let (orders, to_write) = channel();
        let clock: Clock = Arc::new(|| Timestamp::UNIX_EPOCH);
        let file = Identity::of(&path).unwrap();
        let mut writer = Writer::new(conn, file, to_write, Owners::of(&path), clock);
        let rows = |writer: &Writer| -> i64 {
            let count = "SELECT count(*) FROM extra";
            writer.conn.query_row(count, [], |row| row.get(0)).unwrap()
        };
        let batch = |writer: &mut Writer, sizes: &[usize]| -> Vec<bool> {
            let (said, hears) = channel();
            let mut jobs = sizes.iter().map(|size| {
                let (done, said) = (Ok(()), said.clone());
                Order::Job(Box::new(Insert {
                    octets: *size,
                    done,
                    said,
                }))
            });
            let first = jobs.next().unwrap();
            jobs.for_each(|job| orders.send(job).unwrap());
            writer.commit(first);
            hears.try_iter().map(|answer| answer.is_ok()).collect()
        };

        assert_eq!(batch(&mut writer, &[10, 10]), [true, true]);
        let told = batch(&mut writer, &[10, 1_000_000, 10]);
        assert!(!told[1], "{told:?}");
        let there = told.iter().filter(|told| **told).count();
        assert_eq!(rows(&writer), 2 + i64::try_from(there).unwrap());
        limit(1_000_000, &writer.conn);
        assert_eq!(batch(&mut writer, &[1_000_000, 10]), [true, true]);
    }
}
