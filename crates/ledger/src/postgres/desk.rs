//! What all requests of a process share: connections, its name among the replicas, and how often something is tried.
//!
//! It lives in one thread, and knows nothing of transactions but which leases are to be given back.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::{Mutex, Semaphore};
use tokio::time::{Instant, sleep};

use super::conn::Conn;
use super::lease;
use super::open;
use super::patience::{Insistence, Patience};
use super::server::{Server, Trust};
use super::tls::Tls;
use super::trouble::{Trouble, unwritable};
use super::write;
use crate::writer::Clock;
use crate::{Lease, LedgerFault, TransactionId};

/// So many requests are under way at once; the others wait for their turn.
const CONNECTIONS: usize = 8;
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// A request whose connection is gone may still hold in the server for this long: no statement takes longer, and no
/// flight has more than a few.
const IN_DOUBT: Duration = Duration::from_secs(60);
/// Who has not been heard of for this long says that it lives before it does anything.
const STALE: Duration = Duration::from_secs(9);

pub(super) struct Desk {
    server: Server,
    tls: Option<Tls>,
    /// Of this process, as others know it.
    pub(super) name: String,
    clock: Clock,
    /// What the server's clock is ahead of ours.
    ahead: Cell<SignedDuration>,
    idle: RefCell<Vec<Conn>>,
    turns: Semaphore,
    pub(super) patience: Arc<Patience>,
    heard: Cell<Instant>,
    /// Leases that nobody here wants any more.
    released: RefCell<Vec<Lease>>,
    /// By which writing a transaction may have been written last, for each lease that this process has: more than one where
    /// an answer is missing.
    written: RefCell<HashMap<Lease, Vec<String>>>,
    /// Begun by this process, which has its answer, and nothing is written of them since.
    begun: RefCell<Vec<TransactionId>>,
    releasing: Mutex<()>,
    /// What was given up without knowing what became of it.
    doubtful: RefCell<Vec<(Instant, Doubt)>>,
    /// Turns of locks that nobody holds any more. They are given back again and again while a late attempt to take one may
    /// still hold.
    unlocked: RefCell<Vec<(Instant, Turn)>>,
    pub(super) erased: Cell<Erased>,
}

/// One holding of a lock, as its row names it, and whether the server was told that it is over.
struct Turn {
    name: String,
    told: Told,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Told {
    NotYet,
    Once,
}

/// Which turns are given back now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turns {
    /// Those of which the server does not know.
    New,
    /// Those of the last minute as well.
    All,
}

/// Something that may hold in the server though nobody was told so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Doubt {
    /// What a request of this name leases is given back.
    Claim(String),
    /// INVARIANT: who asked was told that nothing is done, so it never is: it ends as undone, and nobody recovers it.
    Beginning(TransactionId),
}

/// Whether content of mail that was removed may still stand in the table's file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Erased {
    Wholly,
    NotYet,
    /// A replica that was killed may have left something.
    PerhapsNot,
}

impl Desk {
    pub(super) fn new(server: Server, patience: Arc<Patience>) -> Result<Self, LedgerFault> {
        Ok(Self {
            patience,
            tls: open::tls(&server)?,
            name: chance()?,
            clock: server.clock(),
            server,
            ahead: Cell::default(),
            idle: RefCell::default(),
            turns: Semaphore::new(CONNECTIONS),
            heard: Cell::new(Instant::now()),
            released: RefCell::default(),
            written: RefCell::default(),
            begun: RefCell::default(),
            releasing: Mutex::default(),
            doubtful: RefCell::default(),
            unlocked: RefCell::default(),
            erased: Cell::new(Erased::PerhapsNot),
        })
    }

    pub(super) async fn connect(&self) -> Result<Conn, Trouble> {
        open::connect(&self.server, self.tls.as_ref()).await
    }

    /// By the server's clock, as far as it is known.
    pub(super) fn now(&self) -> Timestamp {
        self.there((self.clock)())
    }

    /// A time of ours as the server's clock has it.
    pub(super) fn there(&self, here: Timestamp) -> Timestamp {
        here.saturating_add(self.ahead.get()).unwrap_or(here)
    }

    /// And back.
    pub(super) fn here(&self, there: Timestamp) -> Timestamp {
        there.saturating_sub(self.ahead.get()).unwrap_or(there)
    }

    /// To the second: clocks that are nearer count as the same. Who gave a clock of its own has it believed.
    pub(super) fn set_clock(&self, server_says: Timestamp) {
        if self.server.trust() == Trust::SetRight {
            let ahead = server_says.duration_since((self.clock)()).as_millis();
            let seconds = (ahead + 500 * ahead.signum()) / 1000;
            let seconds = i64::try_from(seconds).unwrap_or_default();
            self.ahead.set(SignedDuration::from_secs(seconds));
        }
    }

    pub(super) fn heard(&self) {
        self.heard.set(Instant::now());
    }

    /// Asks until there is an answer, or until it took too long. `ask` is given the number of the attempt, and must be good
    /// to be asked again, also where an earlier attempt holds without our knowing.
    pub(super) async fn ask<T>(
        &self,
        ask: impl AsyncFnMut(&Conn, Attempt) -> Result<T, Trouble>,
    ) -> Result<T, LedgerFault> {
        self.keep_asking(Insistence::None, ask).await
    }

    /// The same, also where the server is known to be away.
    pub(super) async fn insist<T>(
        &self,
        ask: impl AsyncFnMut(&Conn, Attempt) -> Result<T, Trouble>,
    ) -> Result<T, LedgerFault> {
        self.keep_asking(Insistence::Tries, ask).await
    }

    async fn keep_asking<T>(
        &self,
        insistence: Insistence,
        mut ask: impl AsyncFnMut(&Conn, Attempt) -> Result<T, Trouble>,
    ) -> Result<T, LedgerFault> {
        let begun = Instant::now();
        let last = RefCell::new("its server does not answer".to_owned());
        let asking = async {
            let mut pause = FIRST_PAUSE;
            let mut attempt = Attempt::First;
            loop {
                match self.ask_once(&mut ask, attempt).await {
                    Ok(answer) => {
                        self.patience.answered();
                        return Ok(answer);
                    }
                    Err(Trouble::Said(fault)) => return Err(fault),
                    Err(Trouble::Outrun) => {
                        last.replace("others were always faster".to_owned());
                    }
                    Err(Trouble::Lost(why)) => {
                        // Those that wait beside it have most likely lost theirs as well.
                        self.idle.borrow_mut().clear();
                        attempt = Attempt::Again;
                        self.patience.missed(&why);
                        last.replace(why);
                    }
                }
                sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        };
        tokio::select! {
            biased;
            answer = asking => answer,
            () = self.patience.run_out(begun, insistence) => Err(self.patience.fault(&last.borrow())),
        }
    }

    async fn ask_once<T>(
        &self,
        ask: &mut impl AsyncFnMut(&Conn, Attempt) -> Result<T, Trouble>,
        attempt: Attempt,
    ) -> Result<T, Trouble> {
        let turn = self.turns.acquire().await;
        let _turn = turn.map_err(|_| Trouble::Said(crate::task::gone()))?;
        let kept = {
            let mut idle = self.idle.borrow_mut();
            idle.retain(Conn::is_open);
            idle.pop()
        };
        let conn = match kept {
            Some(conn) => conn,
            None => self.connect().await?,
        };
        let answer = ask(&conn, attempt).await;
        // INVARIANT: one that may be within a transaction is not used again. It is dropped, also where this future is.
        if !matches!(answer, Err(Trouble::Lost(_))) {
            self.idle.borrow_mut().push(conn);
        }
        answer
    }

    /// Says that this replica lives, where it was not heard of for a while: else its leases may be another's in a moment.
    pub(super) async fn be_heard(&self, conn: &Conn) -> Result<(), Trouble> {
        if self.heard.get().elapsed() < STALE {
            return Ok(());
        }
        lease::beat(self, conn).await
    }

    /// This process has it from now on: the claim is what has written the transaction last.
    pub(super) fn has(&self, lease: &Lease) {
        let mut all = self.written.borrow_mut();
        all.insert(lease.clone(), vec![lease.claim.clone()]);
    }

    /// The same, and it has just begun.
    pub(super) fn has_begun(&self, lease: &Lease) {
        self.begun.borrow_mut().push(lease.id.clone());
        self.has(lease);
    }

    /// Others are told so where the next note does not come soon: they must not take it for one that was refused.
    pub(super) async fn answered(&self, conn: &Conn) -> Result<(), Trouble> {
        let ids = self.begun.borrow().clone();
        if !ids.is_empty() {
            lease::are_answered(conn, &self.name, &ids).await?;
            self.begun.borrow_mut().retain(|id| !ids.contains(id));
        }
        Ok(())
    }

    /// From now on it may have been written by this.
    pub(super) fn writes(&self, lease: &Lease, request: &str) {
        if let Some(last) = self.written.borrow_mut().get_mut(lease) {
            last.push(request.to_owned());
        }
    }

    /// It was written by this.
    pub(super) fn wrote(&self, lease: &Lease, request: &str) {
        self.begun.borrow_mut().retain(|id| *id != lease.id);
        if let Some(last) = self.written.borrow_mut().get_mut(lease) {
            *last = vec![request.to_owned()];
        }
    }

    /// And this was not, after all.
    pub(super) fn wrote_not(&self, lease: &Lease, request: &str) {
        if let Some(last) = self.written.borrow_mut().get_mut(lease) {
            last.retain(|one| one != request);
        }
    }

    /// Nothing, where this process has no such lease.
    pub(super) fn last_written(&self, lease: &Lease) -> Vec<String> {
        self.written
            .borrow()
            .get(lease)
            .cloned()
            .unwrap_or_default()
    }

    pub(super) fn forget(&self, lease: &Lease) {
        self.begun.borrow_mut().retain(|id| *id != lease.id);
        self.written.borrow_mut().remove(lease);
    }

    pub(super) fn release(&self, lease: Lease) {
        self.released.borrow_mut().push(lease);
    }

    /// It is settled should it turn out to hold.
    pub(super) fn doubt(&self, what: Doubt) {
        self.doubtful.borrow_mut().push((Instant::now(), what));
    }

    /// Gives back what nobody wants. Whoever comes after it finds it given back.
    pub(super) async fn settle(&self, conn: &Conn) -> Result<(), Trouble> {
        let _alone = self.releasing.lock().await;
        let released: Vec<(Lease, Vec<String>)> = {
            let all = self.released.borrow();
            let known = all
                .iter()
                .map(|lease| (lease.clone(), self.last_written(lease)));
            known.collect()
        };
        if !released.is_empty() {
            let writings = released.iter().flat_map(|(lease, last)| {
                let id = lease.id.as_str();
                last.iter().map(|last| (id.to_owned(), last.clone()))
            });
            let writings: Vec<_> = writings.collect();
            if !writings.is_empty() {
                lease::free(conn, &self.name, &writings).await?;
            }
            for (lease, last) in &released {
                // What was still writing meanwhile may have been faster: then it is given back once more.
                if self.last_written(lease) == *last {
                    self.released.borrow_mut().retain(|one| one != lease);
                    self.forget(lease);
                }
            }
        }
        let doubtful: Vec<Doubt> = {
            let mut all = self.doubtful.borrow_mut();
            all.retain(|(since, _)| since.elapsed() < IN_DOUBT);
            all.iter().map(|(_, what)| what.clone()).collect()
        };
        let mut requests = Vec::new();
        for what in doubtful {
            match what {
                Doubt::Claim(request) => requests.push(request),
                Doubt::Beginning(id) => write::never_begun(self, conn, &id).await?,
            }
        }
        if !requests.is_empty() {
            lease::free_requests(conn, &self.name, &requests).await?;
        }
        Ok(())
    }

    pub(super) fn unlock(&self, name: String) {
        let told = Told::NotYet;
        let turn = Turn { name, told };
        self.unlocked.borrow_mut().push((Instant::now(), turn));
    }

    pub(super) fn unlocked(&self, which: Turns) -> Vec<String> {
        let mut all = self.unlocked.borrow_mut();
        all.retain(|(since, turn)| turn.told == Told::NotYet || since.elapsed() < IN_DOUBT);
        let wanted = all
            .iter()
            .filter(|(_, turn)| which == Turns::All || turn.told == Told::NotYet);
        wanted.map(|(_, turn)| turn.name.clone()).collect()
    }

    pub(super) fn are_unlocked(&self, turns: &[String]) {
        for (_, turn) in self.unlocked.borrow_mut().iter_mut() {
            if turns.contains(&turn.name) {
                turn.told = Told::Once;
            }
        }
    }

    pub(super) fn has_released(&self) -> bool {
        !self.released.borrow().is_empty() || self.releasing.try_lock().is_err()
    }
}

/// Whether an earlier attempt may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Attempt {
    First,
    Again,
}

/// 128 bits, in hexadecimal.
pub(super) fn chance() -> Result<String, LedgerFault> {
    let mut octets = [0u8; 16];
    getrandom::fill(&mut octets)
        .map_err(|error| unwritable(&format!("no random numbers: {error}")))?;
    Ok(crate::rows::hex(&octets))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn desk(server: Server) -> Desk {
        let patience = Arc::new(Patience::with(server.to_string()));
        Desk::new(server, patience).unwrap()
    }

    #[test]
    fn what_a_killed_replica_has_left_is_looked_after_by_the_next() {
        let server = Server::parse("postgres://warden@localhost/mail").unwrap();
        let desk = desk(server);
        assert_eq!(desk.erased.get(), Erased::PerhapsNot);
    }

    #[test]
    fn a_turn_is_given_back_more_than_once() {
        let server = Server::parse("postgres://warden@localhost/mail").unwrap();
        let desk = desk(server);
        desk.unlock("a".to_owned());
        assert_eq!(desk.unlocked(Turns::New), ["a"]);
        desk.are_unlocked(&["a".to_owned()]);
        assert!(desk.unlocked(Turns::New).is_empty());
        assert_eq!(desk.unlocked(Turns::All), ["a"]);
    }
}
