//! The ledger as its users know it: a handle that many tasks share, behind which one thread writes.
//!
//! The interface names no database. SQLite stands in a directory of its own, and another could stand beside it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
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
use crate::sqlite::begin::Beginning;
use crate::sqlite::pace::Buckets;
use crate::sqlite::{self, find, lease, write};
use crate::task::{self, Leases, Task};
use crate::writer::{Clock, Desk, Order, Writer};
use crate::{
    Asked, Begun, Filter, Known, LedgerFault, Note, Place, State, StepName, Transaction,
    TransactionId,
};

/// Shared by all calls of a process; cheap to clone. The last one that is dropped waits for what is under way.
#[derive(Clone, Debug)]
pub struct Ledger(Arc<Shared>);

/// When to look again at what another process works on.
const LOOK_AGAIN: SignedDuration = SignedDuration::from_secs(30);

impl Ledger {
    /// Opens or makes it. Several processes of one machine may share a file.
    pub fn open(path: &Path) -> Result<Self, LedgerFault> {
        Self::open_with(path, Timestamp::now)
    }

    /// With another clock, so that a test can let time pass.
    pub fn open_with(
        path: &Path,
        clock: impl Fn() -> Timestamp + Send + Sync + 'static,
    ) -> Result<Self, LedgerFault> {
        let reading = sqlite::open(path)?;
        let file = Identity::of(path)?;
        let writing = sqlite::open(path)?;
        // What is written to is what stands there now, unless it changed in between.
        file.check()?;
        let owners = Owners::of(path);
        let clock: Clock = Arc::new(clock);
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
        Ok(Self(Arc::new(Shared {
            path: path.to_owned(),
            owners,
            name,
            served: Mutex::default(),
            pacer: Pacer::new(Buckets::path(path), Arc::clone(&clock)),
            clock,
            orders: Some(orders),
            questions: Some(questions),
            threads,
        })))
    }

    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// From now on only what is between these mailboxes is due here; before that, everything is.
    pub fn serve(&self, homes: &[String]) {
        let list = serde_json::Value::from_iter(homes.iter().map(String::as_str)).to_string();
        *self.0.served.lock().unwrap_or_else(PoisonError::into_inner) = Some(list);
    }

    /// Durable when it returns: what was asked, and that its first step is intended.
    pub async fn begin(
        &self,
        asked: Asked,
        known: Known,
        first: StepName,
        content: Option<Bytes>,
    ) -> Result<Begun, LedgerFault> {
        let new = Beginning {
            id: self.0.new_id()?,
            asked,
            known,
            first,
            content,
        };
        self.write_down(move |desk| sqlite::begin::begin(desk.conn, &new, desk.owner, desk.now))
            .await
    }

    /// Durable when it returns, all of it or nothing. [`LedgerFault::Leased`] where this process has no lease.
    pub async fn write(&self, id: &TransactionId, notes: Vec<Note>) -> Result<(), LedgerFault> {
        let id = id.clone();
        self.write_down(move |desk| {
            let erased = write::notes(desk.conn, &id, &notes, desk.owner, desk.now)?;
            if erased == write::Erased::Content {
                desk.erased_content();
            }
            Ok(())
        })
        .await
    }

    pub async fn get(&self, id: &TransactionId) -> Result<Option<Transaction>, LedgerFault> {
        let id = id.clone();
        self.look_up(move |conn| find::get(conn, &id)).await
    }

    pub async fn by_key(
        &self,
        caller: &str,
        key: &str,
    ) -> Result<Option<Transaction>, LedgerFault> {
        let (caller, key) = (caller.to_owned(), key.to_owned());
        self.look_up(move |conn| find::by_key(conn, &caller, &key))
            .await
    }

    pub async fn list(&self, filter: Filter) -> Result<Vec<Transaction>, LedgerFault> {
        self.look_up(move |conn| find::list(conn, &filter)).await
    }

    /// What a draft says, as long as its transaction is not over.
    pub async fn content(&self, id: &TransactionId) -> Result<Option<Bytes>, LedgerFault> {
        let id = id.clone();
        self.look_up(move |conn| find::content(conn, &id)).await
    }

    /// Leases open transactions that nobody works on and whose time has come, the oldest first.
    pub async fn claim_due(
        &self,
        now: Timestamp,
        most: usize,
    ) -> Result<Vec<Transaction>, LedgerFault> {
        let homes = self.0.homes();
        self.write_down(move |desk| {
            lease::free_forsaken(desk.conn, desk.owners, desk.owner, desk.now)?;
            lease::claim_due(desk.conn, now, most, homes.as_deref(), desk.owner, desk.now)
        })
        .await
    }

    /// Leases this one, whatever its time. [`LedgerFault::Leased`] where somebody works on it, this process included;
    /// [`LedgerFault::Over`] where it is not open.
    pub async fn claim(&self, id: &TransactionId) -> Result<Transaction, LedgerFault> {
        self.claim_one_of(id, &[State::Open]).await
    }

    /// The same, and one that waits for an operator is open again.
    pub async fn reopen(&self, id: &TransactionId) -> Result<Transaction, LedgerFault> {
        self.claim_one_of(id, &[State::Open, State::NeedsOperator])
            .await
    }

    /// The same for none but one that waits for an operator: [`LedgerFault::UnderWay`] where it is open.
    pub async fn take_to_decide(&self, id: &TransactionId) -> Result<Transaction, LedgerFault> {
        self.claim_one_of(id, &[State::NeedsOperator]).await
    }

    async fn claim_one_of(
        &self,
        id: &TransactionId,
        states: &'static [State],
    ) -> Result<Transaction, LedgerFault> {
        let id = id.clone();
        self.write_down(move |desk| {
            lease::free_forsaken(desk.conn, desk.owners, desk.owner, desk.now)?;
            lease::claim(desk.conn, &id, states, desk.owner, desk.now)
        })
        .await
    }

    /// This process no longer works on it, and wrote neither an end nor a time for another try: it is due at once.
    /// Nobody waits for this; it holds as soon as the ledger can be written.
    pub fn release(&self, id: &TransactionId) {
        self.0.order(Order::Release(id.clone()));
    }

    /// When the next open transaction is due that this process does not work on. It may be past.
    pub async fn next_due(&self) -> Result<Option<Timestamp>, LedgerFault> {
        let (owners, me) = (self.0.owners.clone(), Arc::clone(&self.0.name));
        let homes = self.0.homes();
        let look_again = (self.0.clock)()
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
    pub async fn landed(
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
    pub async fn forget_before(&self, then: Timestamp) -> Result<u64, LedgerFault> {
        self.write_down(move |desk| write::forget_before(desk.conn, then))
            .await
    }

    pub(crate) async fn paced(&self, draws: Vec<Draw>, price: Price) -> Result<Drawn, LedgerFault> {
        self.0.pacer.draw(draws, price).await
    }

    async fn write_down<T: Leases + Send + 'static>(
        &self,
        work: impl FnOnce(&Desk<'_>) -> Result<T, LedgerFault> + Send + 'static,
    ) -> Result<T, LedgerFault> {
        let (task, answer) = Task::new(work);
        // Where nobody takes it, it is dropped, and its answer with it.
        self.0.order(Order::Job(Box::new(task)));
        let release = |id| self.0.order(Order::Release(id));
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
        if let Some(questions) = &self.0.questions {
            let _ = questions.send(question);
        }
        answer.await.unwrap_or_else(|_| Err(task::gone()))
    }
}

struct Shared {
    path: PathBuf,
    owners: Owners,
    /// Of this process, once it has had a lease.
    name: Arc<OnceLock<String>>,
    /// The mailboxes that it works on, as a JSON list.
    served: Mutex<Option<String>>,
    pacer: Pacer,
    clock: Clock,
    orders: Option<Sender<Order>>,
    questions: Option<Sender<Question>>,
    threads: Vec<JoinHandle<()>>,
}

impl Shared {
    fn homes(&self) -> Option<String> {
        let served = self.served.lock().unwrap_or_else(PoisonError::into_inner);
        served.clone()
    }

    fn order(&self, order: Order) {
        if let Some(orders) = &self.orders {
            // It fails where the writer is gone, and its leases with it.
            let _ = orders.send(order);
        }
    }

    fn new_id(&self) -> Result<TransactionId, LedgerFault> {
        let mut chance = [0u8; 10];
        getrandom::fill(&mut chance)
            .map_err(|error| LedgerFault::Unwritable(format!("no random numbers: {error}")))?;
        let now = (self.clock)().as_millisecond();
        Ok(TransactionId::new(
            now.try_into().unwrap_or_default(),
            chance,
        ))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        (self.orders, self.questions) = (None, None);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())
    }
}
