//! The ledger in a file, shared by the processes of one machine: SQLite, behind one thread that writes and one that reads.

use std::path::Path;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use mail::{Uid, UidValidity};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::identity::Identity;
use crate::owners::{Life, Owners};
use crate::pace::{Draw, Drawn, Price};
use crate::pacer::Pacer;
use crate::reader::{self, Question};
use crate::request::Beginning;
use crate::shared::{Lock, Locked, Record};
use crate::sqlite::lease::Taker;
use crate::sqlite::pace::Buckets;
use crate::sqlite::shared;
use crate::sqlite::{self, find, lease, write};
use crate::task::{self, Leases, Task};
use crate::writer::{Clock, Desk, Order, Writer};
use crate::{
    Begun, Claimed, Filter, Lease, LedgerFault, Note, Place, State, Transaction, TransactionId,
    Unsettled,
};

/// Whoever drops it waits for what is under way.
pub(crate) struct Filed {
    owners: Owners,
    /// Of this process, once it has had a lease.
    name: Arc<OnceLock<String>>,
    pacer: Pacer,
    clock: Clock,
    orders: Option<Sender<Order>>,
    questions: Option<Sender<Question>>,
    threads: Vec<JoinHandle<()>>,
}

/// When to look again at what another process works on.
pub(crate) const LOOK_AGAIN: SignedDuration = SignedDuration::from_secs(30);

impl Filed {
    pub(crate) fn open(path: &Path, clock: Clock) -> Result<Self, LedgerFault> {
        let reading = sqlite::open(path)?;
        let file = Identity::of(path)?;
        let writing = sqlite::open(path)?;
        // What is written to is what stands there now, unless it changed in between.
        file.check()?;
        let owners = Owners::of(path);
        let (orders, to_write) = mpsc::channel();
        let (questions, to_read) = mpsc::channel();
        let writer = Writer::new(writing, file, to_write, owners.clone(), Arc::clone(&clock));
        let name = writer.name();
        let threads = vec![
            thread::Builder::new()
                .name("ledger-writer".to_owned())
                .spawn(move || writer.run())?,
            thread::Builder::new()
                .name("ledger-reader".to_owned())
                .spawn(move || reader::run(reading, to_read))?,
        ];
        Ok(Self {
            owners,
            name,
            pacer: Pacer::new(Buckets::path(path), Arc::clone(&clock)),
            clock,
            orders: Some(orders),
            questions: Some(questions),
            threads,
        })
    }

    /// Durable when it returns: what was asked, and that its first step is intended.
    pub(crate) async fn begin(&self, new: Beginning) -> Result<Begun, LedgerFault> {
        self.write_down(move |desk| sqlite::begin::begin(desk.conn, &new, desk.owner, desk.now))
            .await
    }

    /// Durable when it returns, all of it or nothing. [`LedgerFault::Leased`] where the lease is none any more.
    pub(crate) async fn write(&self, lease: &Lease, notes: Vec<Note>) -> Result<(), LedgerFault> {
        let lease = lease.clone();
        self.write_down(move |desk| {
            let erased = write::notes(desk.conn, &lease, &notes, desk.owner, desk.now)?;
            if erased == write::Erased::Content {
                desk.erased_content();
            }
            Ok(())
        })
        .await
    }

    pub(crate) async fn get(&self, id: &TransactionId) -> Result<Option<Transaction>, LedgerFault> {
        let id = id.clone();
        self.look_up(move |conn| find::get(conn, &id)).await
    }

    pub(crate) async fn by_key(
        &self,
        caller: &str,
        key: &str,
    ) -> Result<Option<Transaction>, LedgerFault> {
        let (caller, key) = (caller.to_owned(), key.to_owned());
        self.look_up(move |conn| find::by_key(conn, &caller, &key))
            .await
    }

    pub(crate) async fn list(&self, filter: Filter) -> Result<Vec<Transaction>, LedgerFault> {
        self.look_up(move |conn| find::list(conn, &filter)).await
    }

    pub(crate) async fn unsettled(&self) -> Result<Unsettled, LedgerFault> {
        self.look_up(find::unsettled).await
    }

    /// What a draft says, as long as its transaction is not over.
    pub(crate) async fn content(&self, id: &TransactionId) -> Result<Option<Bytes>, LedgerFault> {
        let id = id.clone();
        self.look_up(move |conn| find::content(conn, &id)).await
    }

    /// Leases open transactions that nobody works on and whose time has come, the oldest first.
    pub(crate) async fn claim_due(
        &self,
        now: Timestamp,
        most: usize,
        homes: Option<Vec<String>>,
    ) -> Result<Vec<Claimed>, LedgerFault> {
        let homes = homes.map(json);
        let claim = Owners::new_name()?;
        self.write_down(move |desk| {
            lease::free_forsaken(desk.conn, desk.owners, desk.owner, desk.now)?;
            let taker = Taker::new(desk, &claim);
            lease::claim_due(desk.conn, now, most, homes.as_deref(), &taker)
        })
        .await
    }

    pub(crate) async fn claim(
        &self,
        id: &TransactionId,
        states: &'static [State],
    ) -> Result<Claimed, LedgerFault> {
        let id = id.clone();
        let claim = Owners::new_name()?;
        self.write_down(move |desk| {
            lease::free_forsaken(desk.conn, desk.owners, desk.owner, desk.now)?;
            lease::claim(desk.conn, &id, states, &Taker::new(desk, &claim))
        })
        .await
    }

    /// This process no longer works on it, and wrote neither an end nor a time for another try: it is due at once.
    /// Nobody waits for this; it holds as soon as the ledger can be written.
    pub(crate) fn release(&self, lease: &Lease) {
        self.order(Order::Release(lease.clone()));
    }

    /// When the next open transaction is due that this process does not work on. It may be past.
    pub(crate) async fn next_due(
        &self,
        homes: Option<Vec<String>>,
    ) -> Result<Option<Timestamp>, LedgerFault> {
        let (owners, me) = (self.owners.clone(), Arc::clone(&self.name));
        let homes = homes.map(json);
        let look_again = (self.clock)()
            .saturating_add(LOOK_AGAIN)
            .unwrap_or(Timestamp::MAX);
        self.look_up(move |conn| {
            let (dead, living): (Vec<_>, Vec<_>) = lease::holders(conn)?
                .into_iter()
                .filter(|owner| me.get() != Some(owner))
                .partition(|owner| owners.life(owner) == Life::Dead);
            let due = lease::first_due(conn, &dead, homes.as_deref())?;
            // What others work on may be left to us at any time, and nobody would say so.
            let others = (!living.is_empty()).then_some(look_again);
            Ok([due, others].into_iter().flatten().min())
        })
        .await
    }

    /// What transactions other than this one are known to have put into a folder.
    pub(crate) async fn landed(
        &self,
        place: &Place,
        uidvalidity: UidValidity,
        but: &TransactionId,
    ) -> Result<Vec<Uid>, LedgerFault> {
        let (place, but) = (place.clone(), but.clone());
        self.look_up(move |conn| find::landed(conn, &place, uidvalidity, &but))
            .await
    }

    /// Forgets what ended before then, and the keys it was asked for by.
    pub(crate) async fn forget_before(&self, then: Timestamp) -> Result<u64, LedgerFault> {
        self.write_down(move |desk| write::forget_before(desk.conn, then))
            .await
    }

    pub(crate) async fn key(&self, name: String, fresh: [u8; 32]) -> Result<Vec<u8>, LedgerFault> {
        self.write_down(move |desk| shared::key(desk.conn, &name, &fresh))
            .await
    }

    pub(crate) async fn record(&self, name: String) -> Result<Option<Record>, LedgerFault> {
        self.look_up(move |conn| shared::record(conn, &name)).await
    }

    pub(crate) async fn replace_record(
        &self,
        name: String,
        turn: String,
        octets: Vec<u8>,
    ) -> Result<u64, LedgerFault> {
        self.write_down(move |desk| shared::replace(desk.conn, &name, &turn, &octets))
            .await
    }

    pub(crate) async fn try_lock(&self, lock: Lock) -> Result<Option<Lock>, LedgerFault> {
        let (name, turn) = (lock.name.clone(), lock.turn.clone());
        // Where nobody waits for this any more, the lock is dropped, and given back behind its taking.
        let locked = self
            .write_down(move |desk| shared::lock(desk, &name, &turn))
            .await?;
        Ok(match locked {
            Locked::Now => Some(lock),
            Locked::ByAnother => {
                lock.missed();
                None
            }
        })
    }

    pub(crate) fn unlock(&self, name: &str, turn: &str) {
        let (name, turn) = (name.to_owned(), turn.to_owned());
        let (task, _) = Task::new(move |desk: &Desk<'_>| shared::unlock(desk.conn, &name, &turn));
        self.order(Order::Job(Box::new(task)));
    }

    pub(crate) async fn paced(&self, draws: Vec<Draw>, price: Price) -> Result<Drawn, LedgerFault> {
        self.pacer.draw(draws, price).await
    }

    async fn write_down<T: Leases + Send + 'static>(
        &self,
        work: impl FnOnce(&Desk<'_>) -> Result<T, LedgerFault> + Send + 'static,
    ) -> Result<T, LedgerFault> {
        let (task, answer) = Task::new(work);
        // Where nobody takes it, it is dropped, and its answer with it.
        self.order(Order::Job(Box::new(task)));
        let release = |lease| self.order(Order::Release(lease));
        answer.received(&release).await
    }

    async fn look_up<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Connection) -> Result<T, LedgerFault> + Send + 'static,
    ) -> Result<T, LedgerFault> {
        let (reply, answer) = oneshot::channel();
        let question: Question = Box::new(move |conn| {
            let _ = reply.send(question(conn));
        });
        if let Some(questions) = &self.questions {
            let _ = questions.send(question);
        }
        answer.await.unwrap_or_else(|_| Err(task::gone()))
    }

    fn order(&self, order: Order) {
        if let Some(orders) = &self.orders {
            // It fails where the writer is gone, and its leases with it.
            let _ = orders.send(order);
        }
    }
}

impl Drop for Filed {
    fn drop(&mut self) {
        (self.orders, self.questions) = (None, None);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn json(homes: Vec<String>) -> String {
    serde_json::Value::from(homes).to_string()
}
