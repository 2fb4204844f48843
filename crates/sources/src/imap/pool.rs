//! The connections of one account: never more than allowed, reused where the folder is open, closed when idle.
//!
//! Who waits is served first come, first served, by whatever frees up first: a returned session or a new one.
//! Dialling happens in a task of its own, so that a caller who gives up does not waste it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use mail::{Cx, Fault, FaultKind, FolderName, Stage};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::gmail::names::Names;
use super::quirks::Findings;
use super::session::Session;
use super::settings::{Login, Settings};

/// After the server refused one more connection, none is tried for this long while others are open.
const CROWDED: Duration = Duration::from_secs(60);

/// Answers that come this fast are bound by the processor, not by the distance.
const QUICK: Duration = Duration::from_millis(5);

/// While answers are quick, a caller waits this long for a session in use before another one is brought in:
/// it is usually done sooner, and more sessions would only compete for the same processors.
const PATIENCE: Duration = Duration::from_millis(25);

/// A refused password is not tried again for this long: an agent in a loop must not lock its owner out.
const REFUSED: Duration = Duration::from_secs(10);

pub(super) struct Pool {
    settings: Arc<Settings>,
    names: Arc<Names>,
    findings: Arc<Findings>,
    state: Mutex<State>,
    itself: Weak<Self>,
}

/// What an account has open, and what became of its attempts. They name nobody.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Connections {
    /// Lent, idle or being dialled.
    pub open: u64,
    pub lent: u64,
    /// Callers that wait for one.
    pub waiting: u64,
    /// Ever begun, and how many of them came to nothing.
    pub dials: u64,
    pub failures: u64,
}

impl std::ops::AddAssign for Connections {
    fn add_assign(&mut self, other: Self) {
        self.open += other.open;
        self.lent += other.lent;
        self.waiting += other.waiting;
        self.dials += other.dials;
        self.failures += other.failures;
    }
}

#[derive(Default)]
struct State {
    /// The longest idle first.
    idle: Vec<Idle>,
    /// When each session that is lent was lent.
    lent: Vec<Instant>,
    /// Lent, idle or being dialled.
    open: usize,
    waiting: VecDeque<oneshot::Sender<Result<Lease, Fault>>>,
    /// How long a flight to this server lately took at best.
    flight: Option<Duration>,
    crowded_until: Option<Instant>,
    refused: Option<Refused>,
    /// Since when no connection can be made, while there is none.
    away: Option<Instant>,
    reaping: bool,
    dials: u64,
    failures: u64,
}

/// What the server said of a login, and of which.
struct Refused {
    when: Instant,
    fault: Fault,
    attempt: u64,
}

struct Idle {
    session: Session,
    since: Instant,
}

/// Which session suits best.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wish<'a> {
    Any,
    /// One that has the folder open.
    Open(&'a FolderName),
    /// One that has it open for writing.
    Selected(&'a FolderName),
    /// One that has nothing open for writing: it is going to open something else.
    Unselected,
}

/// How a caller waits for a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Manner {
    /// Whatever frees up first, an idle one or a new one.
    Eager,
    /// First a while for one that is in use.
    Patient,
}

/// Where a lent session came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Origin {
    /// It lay idle, and may have died meanwhile.
    Idle,
    /// It was handed on by another caller, alive a moment ago.
    HandedOn,
    /// It was dialled for this caller, in so many round trips.
    Dialled(u32),
}

/// A session on loan; it goes back when dropped, unless it was torn.
pub(super) struct Lease {
    /// INVARIANT: a lease that a caller holds has it.
    session: Option<Session>,
    pool: Weak<Pool>,
    origin: Origin,
    since: Instant,
}

/// Room for one more connection, kept while it is being made.
pub(super) struct Slot {
    pool: Option<Arc<Pool>>,
}

impl Pool {
    pub(super) fn new(settings: Arc<Settings>, names: Arc<Names>) -> Arc<Self> {
        Arc::new_cyclic(|itself| Self {
            settings,
            names,
            findings: Arc::default(),
            state: Mutex::new(State::default()),
            itself: itself.clone(),
        })
    }

    /// What is known of the account's server.
    pub(super) fn findings(&self) -> &Arc<Findings> {
        &self.findings
    }

    pub(super) fn connections(&self) -> Connections {
        let state = self.lock();
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        Connections {
            open: count(state.open),
            lent: count(state.lent.len()),
            waiting: count(state.waiting.len()),
            dials: state.dials,
            failures: state.failures,
        }
    }

    /// Lends a session, best one as is wished.
    pub(super) async fn take(&self, cx: &Cx, wish: Wish<'_>) -> Result<Lease, Fault> {
        let (turn, manner) = {
            let mut state = self.lock();
            if let Some(fault) = state.recent_refusal(&self.settings.login) {
                return Err(fault);
            }
            let manner = state.manner();
            if manner == Manner::Eager
                && state.waiting.is_empty()
                && let Some(session) = state.pick(wish)
            {
                return Ok(self.lend(&mut state, session, Origin::Idle));
            }
            let turn = state.queue();
            if manner == Manner::Eager {
                cx.enter(Stage::Connect);
                self.bring_in_another(&mut state);
            }
            (turn, manner)
        };
        let lease = self.await_turn(turn, manner).await?;
        if let Origin::Dialled(trips) = lease.origin {
            (0..trips).for_each(|_| cx.count_round_trip());
        }
        Ok(lease)
    }

    /// Room for a connection of one's own, within the same bound as all others.
    pub(super) async fn slot(&self) -> Result<Slot, Fault> {
        let turn = {
            let mut state = self.lock();
            if state.open < self.most() {
                state.open += 1;
                return Ok(self.own_slot());
            }
            if !state.idle.is_empty() {
                state.idle.remove(0);
                return Ok(self.own_slot());
            }
            state.queue()
        };
        let mut lease = self.await_turn(turn, Manner::Eager).await?;
        // The session makes room: closed, but still counted.
        self.lock().take_out(&mut lease);
        Ok(self.own_slot())
    }

    /// One idle session was dead, so the others are suspects: better to dial than to try them in turn.
    pub(super) fn forget_idle(&self) {
        let mut state = self.lock();
        state.open -= state.idle.len().min(state.open);
        state.idle.clear();
    }

    async fn await_turn(
        &self,
        mut turn: oneshot::Receiver<Result<Lease, Fault>>,
        manner: Manner,
    ) -> Result<Lease, Fault> {
        let gone = |_| Fault::new(FaultKind::Lost, Stage::Queue);
        if manner == Manner::Patient {
            if let Ok(outcome) = tokio::time::timeout(PATIENCE, &mut turn).await {
                return outcome.map_err(gone)?;
            }
            self.bring_in_another(&mut self.lock());
        }
        turn.await.map_err(gone)?
    }

    /// An idle session for whoever is first in line, or a new one.
    fn bring_in_another(&self, state: &mut State) {
        if state.waiting.is_empty() {
            return;
        }
        match state.pick(Wish::Any) {
            Some(session) => self.place(state, session, Origin::Idle),
            None if self.may_dial(state) => self.dial(state),
            None => {}
        }
    }

    fn own_slot(&self) -> Slot {
        Slot {
            pool: self.itself.upgrade(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that runs under the lock can panic half-way through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lend(&self, state: &mut State, mut session: Session, origin: Origin) -> Lease {
        session.unproven = origin == Origin::Idle;
        let since = Instant::now();
        state.lent.push(since);
        Lease {
            session: Some(session),
            pool: self.itself.clone(),
            origin,
            since,
        }
    }

    /// So many connections may be open.
    fn most(&self) -> usize {
        self.names.bound(self.settings.max_connections)
    }

    fn may_dial(&self, state: &State) -> bool {
        let crowded = state
            .crowded_until
            .is_some_and(|until| until > Instant::now());
        state.open == 0 || (state.open < self.most() && !crowded)
    }

    /// Dials in the background; whoever waits longest gets the outcome.
    fn dial(&self, state: &mut State) {
        state.open += 1;
        state.dials += 1;
        let slot = self.own_slot();
        let (settings, names) = (Arc::clone(&self.settings), Arc::clone(&self.names));
        let findings = Arc::clone(&self.findings);
        tokio::spawn(async move {
            let cx = Cx::new();
            match Session::open(&settings, &names, &findings, &cx).await {
                Ok(session) => slot.fill(session, &cx),
                Err(fault) => slot.give_up(&fault),
            }
        });
    }

    /// Whoever runs this hears of it once, and again when it is over; what calls say of it is told to their callers alone.
    fn say_away(&self, fault: &Fault) {
        let (host, port) = (&self.settings.host, self.settings.port);
        tracing::warn!(
            host,
            port,
            stage = fault.stage.name(),
            kind = ?fault.kind,
            "no connection to a mail server: calls of its account fail until there is one"
        );
    }

    fn say_back(&self, since: Instant) {
        let (host, port) = (&self.settings.host, self.settings.port);
        let seconds = since.elapsed().as_secs();
        tracing::warn!(host, port, seconds, "a mail server is back");
    }

    /// To the first who still waits, else to rest: in one step, so that nobody queues up in between.
    fn place(&self, state: &mut State, mut session: Session, origin: Origin) {
        while let Some(next) = state.waiting.pop_front() {
            let lease = self.lend(state, session, origin);
            let Err(Ok(mut refused)) = next.send(Ok(lease)) else {
                return;
            };
            match state.take_out(&mut refused) {
                Some(back) => session = back,
                None => return,
            }
        }
        state.idle.push(Idle {
            session,
            since: Instant::now(),
        });
        if !state.reaping {
            state.reaping = true;
            tokio::spawn(reap(self.itself.clone(), self.settings.timeouts.idle));
        }
    }

    /// A connection is gone; somebody may be waiting for its place.
    fn close_one(&self, state: &mut State) {
        state.open = state.open.saturating_sub(1);
        if !state.waiting.is_empty() && self.may_dial(state) {
            self.dial(state);
        }
    }

    /// Takes out what has been idle for too long; when the next one will have been.
    fn expired(&self, idle: Duration) -> (Vec<Session>, Option<Instant>) {
        let mut state = self.lock();
        let now = Instant::now();
        let fresh = state.idle.iter().position(|one| one.since + idle > now);
        let old = fresh.unwrap_or(state.idle.len());
        let gone: Vec<Session> = state.idle.drain(..old).map(|one| one.session).collect();
        state.open = state.open.saturating_sub(gone.len());
        let next = state.idle.first().map(|one| one.since + idle);
        state.reaping = next.is_some();
        (gone, next)
    }
}

impl State {
    fn queue(&mut self) -> oneshot::Receiver<Result<Lease, Fault>> {
        let (sender, turn) = oneshot::channel();
        self.waiting.push_back(sender);
        turn
    }

    /// Patient where a session in use is likely to come back at once.
    fn manner(&self) -> Manner {
        let quick = self.flight.is_some_and(|time| time < QUICK);
        let soon = self.lent.iter().any(|since| since.elapsed() < PATIENCE);
        if quick && soon {
            Manner::Patient
        } else {
            Manner::Eager
        }
    }

    /// The best of the last few; a server that moved away is noticed after some.
    fn note_flight(&mut self, session: &mut Session) {
        if let Some(time) = session.take_fastest() {
            self.flight = Some(self.flight.map_or(time, |before| time.min(before * 2)));
        }
    }

    fn recent_refusal(&self, login: &Login) -> Option<Fault> {
        let refused = self.refused.as_ref()?;
        let holds = refused.when.elapsed() < REFUSED && refused.attempt == login.attempt();
        holds.then(|| refused.fault.clone())
    }

    /// The session of a lease that ends here.
    fn take_out(&mut self, lease: &mut Lease) -> Option<Session> {
        let session = lease.session.take()?;
        if let Some(index) = self.lent.iter().position(|since| *since == lease.since) {
            self.lent.swap_remove(index);
        }
        Some(session)
    }

    fn pick(&mut self, wish: Wish<'_>) -> Option<Session> {
        if self.idle.is_empty() {
            return None;
        }
        let suits = |one: &Idle| match wish {
            Wish::Any => true,
            Wish::Open(folder) => one.session.has_open(folder),
            Wish::Selected(folder) => one.session.has_selected(folder),
            Wish::Unselected => !one.session.may_write(),
        };
        // Another folder's session is best disturbed when it has not been used for long.
        let index = self.idle.iter().rposition(suits).unwrap_or(0);
        Some(self.idle.remove(index).session)
    }
}

/// Closes idle sessions as their time comes, and ends with the last of them or with the pool.
async fn reap(pool: Weak<Pool>, idle: Duration) {
    let mut next = Some(Instant::now() + idle);
    while let Some(at) = next {
        tokio::time::sleep_until(at).await;
        let Some(strong) = pool.upgrade() else { return };
        let (gone, later) = strong.expired(idle);
        next = later;
        drop(strong);
        for session in gone {
            session.goodbye().await;
        }
    }
}

impl Slot {
    /// The connection is made.
    pub(super) fn fill(mut self, mut session: Session, cx: &Cx) {
        let Some(pool) = self.pool.take() else { return };
        let mut state = pool.lock();
        state.note_flight(&mut session);
        state.crowded_until = None;
        state.refused = None;
        if let Some(since) = state.away.take() {
            pool.say_back(since);
        }
        pool.place(&mut state, session, Origin::Dialled(cx.round_trips()));
    }

    /// The connection could not be made. Those who wait are told, unless open sessions will serve them.
    fn give_up(mut self, fault: &Fault) {
        let Some(pool) = self.pool.take() else { return };
        let mut state = pool.lock();
        state.open = state.open.saturating_sub(1);
        state.failures += 1;
        let crowded = matches!(fault.kind, FaultKind::Busy | FaultKind::Bye);
        if crowded {
            state.crowded_until = Some(Instant::now() + CROWDED);
        }
        if matches!(fault.kind, FaultKind::AuthFailed | FaultKind::TokenRefused) {
            state.refused = Some(Refused {
                when: Instant::now(),
                fault: fault.clone(),
                attempt: pool.settings.login.attempt(),
            });
        }
        if state.open == 0 && state.away.is_none() {
            state.away = Some(Instant::now());
            pool.say_away(fault);
        }
        let told = match state.open {
            0 => state.waiting.len(),
            _ if crowded => 0,
            _ => 1.min(state.waiting.len()),
        };
        for waiter in state.waiting.drain(..told) {
            let _ = waiter.send(Err(fault.clone()));
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.take() {
            pool.close_one(&mut pool.lock());
        }
    }
}

impl Lease {
    #[expect(
        clippy::expect_used,
        reason = "the session is taken out only where the lease ends"
    )]
    pub(super) fn session(&mut self) -> &mut Session {
        self.session
            .as_mut()
            .expect("a lease holds its session until it ends")
    }

    /// Whether a fault only shows that the session had died before, which says nothing about the question.
    pub(super) fn was_dead(&self, kind: FaultKind) -> bool {
        let silent = self.session.as_ref().is_some_and(Session::is_silent);
        match kind {
            FaultKind::Lost | FaultKind::Bye => !matches!(self.origin, Origin::Dialled(_)),
            // INVARIANT: whoever showed life and then fell silent is not waited for twice.
            FaultKind::TimedOut => silent,
            // It may be this session's alone.
            FaultKind::NoMailbox => true,
            _ => false,
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(pool) = self.pool.upgrade() else {
            return;
        };
        if self.session.is_none() {
            return;
        }
        let mut state = pool.lock();
        match state.take_out(self) {
            Some(mut session) if session.is_sound() => {
                state.note_flight(&mut session);
                pool.place(&mut state, session, Origin::HandedOn);
            }
            _ => pool.close_one(&mut state),
        }
    }
}
