//! The ledger as its users know it: a handle that many tasks share, whichever database stands behind it.
//!
//! A file (SQLite) is shared by the processes of one machine, a server (PostgreSQL) by replicas on as many as there are. What is
//! asked and what is answered is the same.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use mail::{Uid, UidValidity};

use crate::filed::Filed;
use crate::pace::{Draw, Drawn, Price};
use crate::postgres::{Replica, Server};
use crate::request::Beginning;
use crate::shared::{Lock, Record};
use crate::writer::Clock;
use crate::{
    Asked, Begun, Claimed, Filter, Known, Lease, LedgerFault, Note, Place, State, StepName,
    Transaction, TransactionId, Unsettled,
};

/// Shared by all calls of a process; cheap to clone. The last one that is dropped waits for what is under way.
#[derive(Clone, Debug)]
pub struct Ledger(pub(crate) Arc<Shared>);

pub(crate) struct Shared {
    /// For people.
    place: String,
    clock: Clock,
    /// The mailboxes that this process works on.
    served: Mutex<Option<Vec<String>>>,
    backend: Backend,
}

enum Backend {
    File(Filed),
    Server(Replica),
}

/// The same question to whichever it is.
macro_rules! ask {
    ($ledger:expr, $one:ident => $question:expr) => {
        match &$ledger.0.backend {
            Backend::File($one) => $question.await,
            Backend::Server($one) => $question.await,
        }
    };
}

impl Ledger {
    /// Opens a file, or makes it. Several processes of one machine may share it.
    pub fn open(path: &Path) -> Result<Self, LedgerFault> {
        Self::open_with(path, Timestamp::now)
    }

    /// With another clock, so that a test can let time pass.
    pub fn open_with(
        path: &Path,
        clock: impl Fn() -> Timestamp + Send + Sync + 'static,
    ) -> Result<Self, LedgerFault> {
        let clock: Clock = Arc::new(clock);
        let filed = Filed::open(path, Arc::clone(&clock))?;
        let place = path.display().to_string();
        Ok(Self::of(place, clock, Backend::File(filed)))
    }

    /// Connects to a server, and makes there what is missing. Any number of processes may share it.
    pub async fn connect(server: Server) -> Result<Self, LedgerFault> {
        let (place, clock) = (server.to_string(), server.clock());
        let replica = Replica::enter(server).await?;
        Ok(Self::of(place, clock, Backend::Server(replica)))
    }

    fn of(place: String, clock: Clock, backend: Backend) -> Self {
        Self(Arc::new(Shared {
            place,
            clock,
            served: Mutex::default(),
            backend,
        }))
    }

    /// From now on only what is between these mailboxes is due here; before that, everything is.
    pub fn serve(&self, homes: &[String]) {
        let mut served = self.0.served.lock().unwrap_or_else(PoisonError::into_inner);
        *served = Some(homes.to_vec());
    }

    /// An error where its server is known to be away: what is asked then is refused at once.
    pub fn present(&self) -> Result<(), LedgerFault> {
        match &self.0.backend {
            Backend::File(_) => Ok(()),
            Backend::Server(one) => one.present(),
        }
    }

    /// The process ends: a server that does not answer is waited for no longer than this from now on, by whoever waits for it
    /// already too.
    pub fn end_within(&self, longest: Duration) {
        match &self.0.backend {
            Backend::File(_) => {}
            Backend::Server(one) => one.end_within(longest),
        }
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
        ask!(self, one => one.begin(new))
    }

    /// Durable when it returns, all of it or nothing. [`LedgerFault::Leased`] where the lease is none any more.
    pub async fn write(&self, lease: &Lease, notes: Vec<Note>) -> Result<(), LedgerFault> {
        ask!(self, one => one.write(lease, notes))
    }

    pub async fn get(&self, id: &TransactionId) -> Result<Option<Transaction>, LedgerFault> {
        ask!(self, one => one.get(id))
    }

    pub async fn by_key(
        &self,
        caller: &str,
        key: &str,
    ) -> Result<Option<Transaction>, LedgerFault> {
        ask!(self, one => one.by_key(caller, key))
    }

    pub async fn list(&self, filter: Filter) -> Result<Vec<Transaction>, LedgerFault> {
        ask!(self, one => one.list(filter))
    }

    /// However many there are.
    pub async fn unsettled(&self) -> Result<Unsettled, LedgerFault> {
        ask!(self, one => one.unsettled())
    }

    /// What a draft says, as long as its transaction is not over.
    pub async fn content(&self, id: &TransactionId) -> Result<Option<Bytes>, LedgerFault> {
        ask!(self, one => one.content(id))
    }

    /// Leases open transactions that nobody works on and whose time has come, the oldest first.
    pub async fn claim_due(
        &self,
        now: Timestamp,
        most: usize,
    ) -> Result<Vec<Claimed>, LedgerFault> {
        ask!(self, one => one.claim_due(now, most, self.0.homes()))
    }

    /// Leases this one, whatever its time. [`LedgerFault::Leased`] where somebody works on it, this process included;
    /// [`LedgerFault::Over`] where it is not open.
    pub async fn claim(&self, id: &TransactionId) -> Result<Claimed, LedgerFault> {
        ask!(self, one => one.claim(id, &[State::Open]))
    }

    /// The same, and one that waits for an operator is open again.
    pub async fn reopen(&self, id: &TransactionId) -> Result<Claimed, LedgerFault> {
        ask!(self, one => one.claim(id, &[State::Open, State::NeedsOperator]))
    }

    /// The same for none but one that waits for an operator: [`LedgerFault::UnderWay`] where it is open.
    pub async fn take_to_decide(&self, id: &TransactionId) -> Result<Claimed, LedgerFault> {
        ask!(self, one => one.claim(id, &[State::NeedsOperator]))
    }

    /// Nobody works under it any more, and neither an end was written nor a time for another try: the transaction is due at
    /// once. Nobody waits for this; it holds as soon as the ledger can be written. A lease that is none any more gives
    /// nothing back.
    pub fn release(&self, lease: &Lease) {
        match &self.0.backend {
            Backend::File(one) => one.release(lease),
            Backend::Server(one) => one.release(lease),
        }
    }

    /// When the next open transaction is due that this process does not work on. It may be past.
    pub async fn next_due(&self) -> Result<Option<Timestamp>, LedgerFault> {
        ask!(self, one => one.next_due(self.0.homes()))
    }

    /// What transactions other than this one are known to have put into a folder, and what of it they take away again.
    pub async fn landed(
        &self,
        place: &Place,
        uidvalidity: UidValidity,
        but: &TransactionId,
    ) -> Result<Vec<Uid>, LedgerFault> {
        ask!(self, one => one.landed(place, uidvalidity, but))
    }

    /// Forgets what ended before then, and the keys it was asked for by.
    pub async fn forget_before(&self, then: Timestamp) -> Result<u64, LedgerFault> {
        ask!(self, one => one.forget_before(then))
    }

    pub(crate) async fn key(&self, name: String, fresh: [u8; 32]) -> Result<Vec<u8>, LedgerFault> {
        ask!(self, one => one.key(name, fresh))
    }

    pub(crate) async fn find_record(&self, name: String) -> Result<Option<Record>, LedgerFault> {
        ask!(self, one => one.record(name))
    }

    pub(crate) async fn put_record(
        &self,
        name: String,
        turn: String,
        octets: Vec<u8>,
    ) -> Result<u64, LedgerFault> {
        ask!(self, one => one.replace_record(name, turn, octets))
    }

    pub(crate) async fn take_lock(&self, lock: Lock) -> Result<Option<Lock>, LedgerFault> {
        ask!(self, one => one.try_lock(lock))
    }

    pub(crate) async fn paced(&self, draws: Vec<Draw>, price: Price) -> Result<Drawn, LedgerFault> {
        ask!(self, one => one.paced(draws, price))
    }
}

impl Shared {
    pub(crate) fn unlock(&self, name: &str, turn: &str) {
        match &self.backend {
            Backend::File(one) => one.unlock(name, turn),
            Backend::Server(one) => one.unlock(turn),
        }
    }

    fn homes(&self) -> Option<Vec<String>> {
        let served = self.served.lock().unwrap_or_else(PoisonError::into_inner);
        served.clone()
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

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place)
    }
}
