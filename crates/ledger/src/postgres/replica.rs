//! The ledger as one process among replicas: a thread of its own that speaks to the server, whatever else the process does.
//!
//! That others hear of it does not depend on how busy the process is.

use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use mail::{Uid, UidValidity};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinSet, LocalSet};
use tokio::time::timeout;

use super::beat::{beat, erase, unlock};
use super::conn::Conn;
use super::desk::{Attempt, Desk, Doubt, Erased, Turns, chance};
use super::patience::Patience;
use super::server::Server;
use super::trouble::Trouble;
use super::{begin, find, lease, open, pace, shared, write};
use crate::pace::{Draw, Drawn, Price};
use crate::request::Beginning;
use crate::shared::{Lock, Locked, Record};
use crate::task::{self, Leases, Waiting};
use crate::writer::Clock;
use crate::{
    Begun, Claimed, Filter, Lease, LedgerFault, Note, Place, State, Transaction, TransactionId,
    Unsettled,
};

/// So long leaving may take. Who cannot say good-bye is missed later.
const GOOD_BYE: Duration = Duration::from_secs(2);

type Work = Pin<Box<dyn Future<Output = ()>>>;
type Request = Box<dyn FnOnce(Rc<Desk>) -> Work + Send>;

enum Order {
    Do(Request),
    /// Nobody waits for these.
    Release(Lease),
    Unlock(String),
}

pub(crate) struct Replica {
    orders: Option<mpsc::UnboundedSender<Order>>,
    clock: Clock,
    patience: Arc<Patience>,
    thread: Option<JoinHandle<()>>,
}

impl Replica {
    pub(crate) async fn enter(server: Server) -> Result<Self, LedgerFault> {
        let clock = server.clock();
        let (orders, ordered) = mpsc::unbounded_channel();
        let (ready, entered) = oneshot::channel();
        let patience = Arc::new(Patience::with(server.to_string()));
        let tried = Arc::clone(&patience);
        let thread = thread::Builder::new()
            .name("ledger-postgres".to_owned())
            .spawn(move || run(server, tried, ordered, ready))?;
        let replica = Self {
            orders: Some(orders),
            clock,
            patience,
            thread: Some(thread),
        };
        entered.await.unwrap_or_else(|_| Err(task::gone()))?;
        Ok(replica)
    }

    pub(crate) fn present(&self) -> Result<(), LedgerFault> {
        self.patience.present()
    }

    pub(crate) fn end_within(&self, longest: Duration) {
        self.patience.end_within(longest);
    }

    pub(crate) async fn begin(&self, new: Beginning) -> Result<Begun, LedgerFault> {
        self.present()?;
        self.write_down(async move |desk: &Desk| {
            let begun = desk
                .ask(async |conn, attempt| begin::begin(desk, conn, &new, attempt).await)
                .await;
            match &begun {
                Ok(Begun::New(lease)) => desk.has_begun(lease),
                Err(fault) if leaves_doubt(fault) => {
                    desk.doubt(Doubt::Beginning(new.id.clone()));
                }
                _ => {}
            }
            begun
        })
        .await
    }

    pub(crate) async fn write(&self, lease: &Lease, notes: Vec<Note>) -> Result<(), LedgerFault> {
        let lease = lease.clone();
        self.write_down(async move |desk: &Desk| {
            let request = chance()?;
            desk.writes(&lease, &request);
            // It says what was done at a mail server, which nobody else knows.
            let written = desk
                .insist(async |conn, attempt| {
                    settle(desk, conn).await?;
                    write::notes(desk, conn, &lease, &notes, &request, attempt).await
                })
                .await;
            match &written {
                Ok(()) if notes.iter().any(gives_back) => desk.forget(&lease),
                Ok(()) => desk.wrote(&lease, &request),
                // It may have been, and nobody knows.
                Err(fault) if leaves_doubt(fault) => {}
                Err(LedgerFault::Leased) => desk.forget(&lease),
                Err(_) => desk.wrote_not(&lease, &request),
            }
            written
        })
        .await
    }

    pub(crate) async fn claim_due(
        &self,
        now: Timestamp,
        most: usize,
        homes: Option<Vec<String>>,
    ) -> Result<Vec<Claimed>, LedgerFault> {
        self.present()?;
        self.write_down(async move |desk: &Desk| {
            claiming(desk, async |conn, request, _| {
                lease::claim_due(desk, conn, now, most, homes.as_deref(), request).await
            })
            .await
        })
        .await
    }

    pub(crate) async fn claim(
        &self,
        id: &TransactionId,
        states: &'static [State],
    ) -> Result<Claimed, LedgerFault> {
        self.present()?;
        let id = id.clone();
        self.write_down(async move |desk: &Desk| {
            claiming(desk, async |conn, request, lost| {
                lease::claim(desk, conn, &id, states, request, lost).await
            })
            .await
        })
        .await
    }

    pub(crate) fn release(&self, lease: &Lease) {
        self.order(Order::Release(lease.clone()));
    }

    pub(crate) async fn get(&self, id: &TransactionId) -> Result<Option<Transaction>, LedgerFault> {
        let id = id.clone();
        self.look_up(async move |desk, conn| find::get(desk, conn, &id).await)
            .await
    }

    pub(crate) async fn by_key(
        &self,
        caller: &str,
        key: &str,
    ) -> Result<Option<Transaction>, LedgerFault> {
        let (caller, key) = (caller.to_owned(), key.to_owned());
        self.look_up(async move |desk, conn| find::by_key(desk, conn, &caller, &key).await)
            .await
    }

    pub(crate) async fn list(&self, filter: Filter) -> Result<Vec<Transaction>, LedgerFault> {
        self.look_up(async move |desk, conn| find::list(desk, conn, &filter).await)
            .await
    }

    pub(crate) async fn unsettled(&self) -> Result<Unsettled, LedgerFault> {
        self.look_up(async move |desk, conn| find::unsettled(desk, conn).await)
            .await
    }

    pub(crate) async fn content(&self, id: &TransactionId) -> Result<Option<Bytes>, LedgerFault> {
        let id = id.clone();
        self.look_up(async move |_, conn| find::content(conn, &id).await)
            .await
    }

    pub(crate) async fn next_due(
        &self,
        homes: Option<Vec<String>>,
    ) -> Result<Option<Timestamp>, LedgerFault> {
        let now = (self.clock)();
        self.look_up(async move |desk, conn| {
            settle(desk, conn).await?;
            lease::next_due(desk, conn, homes.as_deref(), now).await
        })
        .await
    }

    pub(crate) async fn landed(
        &self,
        place: &Place,
        uidvalidity: UidValidity,
        but: &TransactionId,
    ) -> Result<Vec<Uid>, LedgerFault> {
        let (place, but) = (place.clone(), but.clone());
        self.look_up(async move |_, conn| find::landed(conn, &place, uidvalidity, &but).await)
            .await
    }

    pub(crate) async fn forget_before(&self, then: Timestamp) -> Result<u64, LedgerFault> {
        self.look_up(async move |desk, conn| write::forget_before(desk, conn, then).await)
            .await
    }

    pub(crate) async fn key(&self, name: String, fresh: [u8; 32]) -> Result<Vec<u8>, LedgerFault> {
        self.look_up(async move |_, conn| shared::key(conn, &name, &fresh).await)
            .await
    }

    pub(crate) async fn record(&self, name: String) -> Result<Option<Record>, LedgerFault> {
        self.look_up(async move |_, conn| shared::record(conn, &name).await)
            .await
    }

    pub(crate) async fn replace_record(
        &self,
        name: String,
        turn: String,
        octets: Vec<u8>,
    ) -> Result<u64, LedgerFault> {
        // A token that was replaced is known to nobody else.
        self.order_and_wait(async move |desk: &Desk| {
            desk.insist(async |conn, _| shared::replace(conn, &name, &turn, &octets).await)
                .await
        })
        .await
    }

    pub(crate) async fn try_lock(&self, lock: Lock) -> Result<Option<Lock>, LedgerFault> {
        if let Err(fault) = self.present() {
            lock.missed();
            return Err(fault);
        }
        let (reply, answer) = oneshot::channel();
        self.order(Order::Do(Box::new(move |desk| {
            Box::pin(async move {
                let desk: &Desk = &desk;
                let locked = desk
                    .ask(async |conn, _| {
                        unlock(desk, conn, Turns::New).await?;
                        shared::lock(desk, conn, &lock.name, &lock.turn).await
                    })
                    .await;
                // Where nobody waits for it any more, or nobody knows whether it holds, it is dropped and given back.
                let _ = reply.send(match locked {
                    Ok(Locked::Now) => Ok(Some(lock)),
                    Ok(Locked::ByAnother) => {
                        lock.missed();
                        Ok(None)
                    }
                    Err(fault) => Err(fault),
                });
            })
        })));
        answer.await.unwrap_or_else(|_| Err(task::gone()))
    }

    pub(crate) fn unlock(&self, turn: &str) {
        self.order(Order::Unlock(turn.to_owned()));
    }

    pub(crate) async fn paced(&self, draws: Vec<Draw>, price: Price) -> Result<Drawn, LedgerFault> {
        self.look_up(async move |_, conn| pace::draw(conn, &draws, price).await)
            .await
    }

    /// Goes on also where its caller no longer waits; what that would have leased is then given back.
    async fn write_down<T: Leases + Send + 'static>(
        &self,
        work: impl AsyncFnOnce(&Desk) -> Result<T, LedgerFault> + Send + 'static,
    ) -> Result<T, LedgerFault> {
        let (reply, answer) = oneshot::channel();
        self.order(Order::Do(Box::new(move |desk| {
            Box::pin(async move {
                if let Err(Ok(unwanted)) = reply.send(work(&desk).await) {
                    unwanted
                        .leases()
                        .into_iter()
                        .for_each(|lease| desk.release(lease));
                }
            })
        })));
        let release = |lease| self.order(Order::Release(lease));
        Waiting::new(answer).received(&release).await
    }

    /// Nothing that hangs on who asks: it may be asked again, and dropped.
    pub(super) async fn look_up<T: Send + 'static>(
        &self,
        mut question: impl AsyncFnMut(&Desk, &Conn) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, LedgerFault> {
        self.present()?;
        self.order_and_wait(async move |desk: &Desk| {
            desk.ask(async |conn, _| question(desk, conn).await).await
        })
        .await
    }

    async fn order_and_wait<T: Send + 'static>(
        &self,
        work: impl AsyncFnOnce(&Desk) -> Result<T, LedgerFault> + Send + 'static,
    ) -> Result<T, LedgerFault> {
        let (reply, answer) = oneshot::channel();
        self.order(Order::Do(Box::new(move |desk| {
            Box::pin(async move {
                let _ = reply.send(work(&desk).await);
            })
        })));
        answer.await.unwrap_or_else(|_| Err(task::gone()))
    }

    fn order(&self, order: Order) {
        if let Some(orders) = &self.orders {
            // It fails where the thread is gone, and the answer with it.
            let _ = orders.send(order);
        }
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.orders = None;
        // The last one may be dropped by the thread itself, which then ends without being waited for.
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

/// With it the lease ends.
fn gives_back(note: &Note) -> bool {
    matches!(note, Note::Ends(..) | Note::Later(_))
}

/// What was asked may hold all the same.
fn leaves_doubt(fault: &LedgerFault) -> bool {
    matches!(fault, LedgerFault::Unwritable(_) | LedgerFault::Away { .. })
}

/// What was released before this was asked is free when this is done.
async fn settle(desk: &Desk, conn: &Conn) -> Result<(), Trouble> {
    match desk.has_released() {
        true => desk.settle(conn).await,
        false => Ok(()),
    }
}

/// Each attempt has a name of its own. What one has leased whose answer was lost is leased to nobody, unless a later one
/// takes it over.
async fn claiming<T: Leases>(
    desk: &Desk,
    mut claim: impl AsyncFnMut(&Conn, &str, &[String]) -> Result<T, Trouble>,
) -> Result<T, LedgerFault> {
    let mut lost: Vec<String> = Vec::new();
    let mut current = chance()?;
    let claimed = desk
        .ask(async |conn, attempt| {
            if attempt == Attempt::Again {
                lost.push(std::mem::replace(&mut current, chance()?));
            }
            settle(desk, conn).await?;
            claim(conn, &current, &lost).await
        })
        .await;
    match &claimed {
        Ok(claimed) => {
            let leases = claimed.leases();
            leases.iter().for_each(|lease| desk.has(lease));
        }
        Err(fault) if leaves_doubt(fault) => lost.push(current),
        Err(_) => {}
    }
    lost.into_iter()
        .for_each(|request| desk.doubt(Doubt::Claim(request)));
    claimed
}

fn run(
    server: Server,
    patience: Arc<Patience>,
    ordered: mpsc::UnboundedReceiver<Order>,
    ready: oneshot::Sender<Result<(), LedgerFault>>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            let _ = ready.send(Err(error.into()));
            return;
        }
    };
    let all = LocalSet::new();
    all.block_on(&runtime, serve(server, patience, ordered, ready));
}

/// Ends when nobody can ask any more, and all that was asked is answered.
async fn serve(
    server: Server,
    patience: Arc<Patience>,
    mut ordered: mpsc::UnboundedReceiver<Order>,
    ready: oneshot::Sender<Result<(), LedgerFault>>,
) {
    let desk = match Desk::new(server, patience) {
        Ok(desk) => Rc::new(desk),
        Err(fault) => {
            let _ = ready.send(Err(fault));
            return;
        }
    };
    let entered = desk
        .ask(async |conn, _| {
            open::migrate(conn).await?;
            lease::beat(&desk, conn).await
        })
        .await;
    let failed = entered.is_err();
    if ready.send(entered).is_err() || failed {
        return;
    }
    let beating = tokio::task::spawn_local(beat(Rc::clone(&desk)));
    let mut work = JoinSet::new();
    loop {
        tokio::select! {
            order = ordered.recv() => match order {
                None => break,
                Some(Order::Do(request)) => {
                    work.spawn_local(request(Rc::clone(&desk)));
                }
                Some(order @ (Order::Release(_) | Order::Unlock(_))) => {
                    match order {
                        Order::Release(lease) => desk.release(lease),
                        Order::Unlock(turn) => desk.unlock(turn),
                        Order::Do(_) => {}
                    }
                    let desk = Rc::clone(&desk);
                    work.spawn_local(async move {
                        let released = desk
                            .ask(async |conn, _| {
                                settle(&desk, conn).await?;
                                unlock(&desk, conn, Turns::New).await
                            })
                            .await;
                        match released {
                            // That is told already, and the next beat gives it back.
                            Ok(()) | Err(LedgerFault::Away { .. }) => {}
                            Err(fault) => {
                                tracing::warn!(%fault, "a lease or a lock is not given back yet");
                            }
                        }
                    });
                }
            },
            Some(_) = work.join_next() => {}
        }
    }
    while work.join_next().await.is_some() {}
    beating.abort();
    let leaving = async {
        let conn = desk.connect().await?;
        // What nobody was told of must not be taken for something that was left unfinished.
        desk.settle(&conn).await?;
        lease::leave(&conn, &desk.name).await?;
        // Behind it: the others need not wait for this.
        if desk.erased.get() == Erased::NotYet {
            erase(&desk).await;
        }
        Ok::<_, Trouble>(())
    };
    if !matches!(timeout(GOOD_BYE, leaving).await, Ok(Ok(()))) {
        tracing::debug!("the other replicas are not told that this one leaves");
    }
}
