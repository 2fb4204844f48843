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

use super::session::Session;
use super::settings::Settings;

/// After the server refused one more connection, none is tried for this long while others are open.
const CROWDED: Duration = Duration::from_secs(60);

/// Answers that come this fast are bound by the processor, not by the distance.
const QUICK: Duration = Duration::from_millis(2);

/// While answers are quick, a caller waits this long for a session in use before another one is brought in:
/// it is usually done sooner, and more sessions would only compete for the same processors.
const PATIENCE: Duration = Duration::from_millis(25);

pub(super) struct Pool {
    settings: Arc<Settings>,
    state: Mutex<State>,
    itself: Weak<Self>,
}

#[derive(Default)]
struct State {
    /// The longest idle first.
    idle: Vec<Idle>,
    /// Lent, idle or being dialled.
    open: usize,
    waiting: VecDeque<oneshot::Sender<Result<Lease, Fault>>>,
    crowded_until: Option<Instant>,
    reaping: bool,
    /// How long sessions have lately been lent for; none before the first came back.
    lent_for: Option<Duration>,
}

struct Idle {
    session: Session,
    since: Instant,
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
    /// INVARIANT: taken by `Drop` alone.
    session: Option<Session>,
    pool: Weak<Pool>,
    origin: Origin,
    since: Instant,
}

impl Pool {
    pub(super) fn new(settings: Arc<Settings>) -> Arc<Self> {
        Arc::new_cyclic(|itself| Self {
            settings,
            state: Mutex::new(State::default()),
            itself: itself.clone(),
        })
    }

    /// Lends a session, best one that has `folder` open.
    pub(super) async fn take(&self, cx: &Cx, folder: Option<&FolderName>) -> Result<Lease, Fault> {
        let (turn, manner) = {
            let mut state = self.lock();
            let manner = state.manner();
            if manner == Manner::Eager
                && let Some(session) = state.pick(folder)
            {
                return Ok(self.lend(session, Origin::Idle));
            }
            let (sender, turn) = oneshot::channel();
            state.waiting.push_back(sender);
            if manner == Manner::Eager && self.may_dial(&state) {
                cx.enter(Stage::Connect);
                self.dial(&mut state);
            }
            (turn, manner)
        };
        let lease = self.await_turn(turn, manner).await?;
        if let Origin::Dialled(trips) = lease.origin {
            for _ in 0..trips {
                cx.count_round_trip();
            }
        }
        Ok(lease)
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
            self.bring_in_another();
        }
        turn.await.map_err(gone)?
    }

    /// Somebody has waited long enough: an idle session for whoever is first in line, or a new one.
    fn bring_in_another(&self) {
        let mut state = self.lock();
        if state.waiting.is_empty() {
            return;
        }
        match state.pick(None) {
            Some(session) => {
                drop(state);
                self.hand_over(self.lend(session, Origin::Idle));
            }
            None if self.may_dial(&state) => self.dial(&mut state),
            None => {}
        }
    }

    /// One idle session was dead, so the others are suspects: better to dial than to try them in turn.
    pub(super) fn forget_idle(&self) {
        let mut state = self.lock();
        state.open -= state.idle.len().min(state.open);
        state.idle.clear();
    }

    /// Takes over a session that was opened elsewhere, if there is room for it.
    pub(super) fn donate(&self, session: Session) {
        let mut state = self.lock();
        if state.open < self.settings.max_connections {
            state.open += 1;
            drop(state);
            self.give_back(session);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that runs under the lock can panic half-way through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lend(&self, mut session: Session, origin: Origin) -> Lease {
        session.unproven = origin == Origin::Idle;
        Lease {
            session: Some(session),
            pool: self.itself.clone(),
            origin,
            since: Instant::now(),
        }
    }

    fn may_dial(&self, state: &State) -> bool {
        let crowded = state
            .crowded_until
            .is_some_and(|until| until > Instant::now());
        state.open == 0 || (state.open < self.settings.max_connections && !crowded)
    }

    /// Dials in the background; whoever waits longest gets the outcome.
    fn dial(&self, state: &mut State) {
        state.open += 1;
        let Some(pool) = self.itself.upgrade() else {
            return;
        };
        tokio::spawn(async move {
            let cx = Cx::new();
            match Session::open(&pool.settings, &cx).await {
                Ok(session) => {
                    let lease = pool.lend(session, Origin::Dialled(cx.round_trips()));
                    pool.hand_over(lease);
                }
                Err(fault) => pool.give_up(&fault),
            }
        });
    }

    /// To the first who still waits; else the lease is dropped here, and the session becomes idle.
    fn hand_over(&self, lease: Lease) {
        let mut lease = Ok(lease);
        loop {
            let Some(next) = self.lock().waiting.pop_front() else {
                break;
            };
            match next.send(lease) {
                Ok(()) => return,
                Err(refused) => lease = refused,
            }
        }
        if let Ok(mut lease) = lease
            && let Some(session) = lease.session.take()
        {
            self.rest(session);
        }
    }

    /// A dial failed. Those who wait are told, unless open sessions will serve them.
    fn give_up(&self, fault: &Fault) {
        let waiting = {
            let mut state = self.lock();
            state.open = state.open.saturating_sub(1);
            if state.open > 0 {
                state.crowded_until = Some(Instant::now() + CROWDED);
                return;
            }
            std::mem::take(&mut state.waiting)
        };
        for waiter in waiting {
            let _ = waiter.send(Err(fault.clone()));
        }
    }

    fn give_back(&self, session: Session) {
        if session.is_sound() {
            self.hand_over(self.lend(session, Origin::HandedOn));
            return;
        }
        let mut state = self.lock();
        state.open = state.open.saturating_sub(1);
        if !state.waiting.is_empty() && self.may_dial(&state) {
            self.dial(&mut state);
        }
    }

    fn rest(&self, session: Session) {
        let mut state = self.lock();
        state.idle.push(Idle {
            session,
            since: Instant::now(),
        });
        if !state.reaping {
            state.reaping = true;
            tokio::spawn(reap(self.itself.clone(), self.settings.timeouts.idle));
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
    /// Patient where a session in use is likely to come back at once.
    fn manner(&self) -> Manner {
        let in_use = self.open > self.idle.len();
        match self.lent_for {
            Some(time) if in_use && time < QUICK => Manner::Patient,
            _ => Manner::Eager,
        }
    }

    /// A moving average, in which the last few count most.
    fn note_lent(&mut self, time: Duration) {
        let before = self.lent_for.unwrap_or(time);
        self.lent_for = Some((before * 3 + time) / 4);
    }

    fn pick(&mut self, folder: Option<&FolderName>) -> Option<Session> {
        if self.idle.is_empty() {
            return None;
        }
        let open_there = |one: &Idle| folder.is_some_and(|folder| one.session.has_open(folder));
        let index = match folder {
            // Another folder's session is best disturbed when it has not been used for long.
            Some(_) => self.idle.iter().rposition(open_there).unwrap_or(0),
            None => self.idle.len() - 1,
        };
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

impl Lease {
    #[expect(
        clippy::expect_used,
        reason = "only Drop takes the session, and nothing runs after that"
    )]
    pub(super) fn session(&mut self) -> &mut Session {
        self.session
            .as_mut()
            .expect("a lease holds its session until it is dropped")
    }

    /// Whether it lay idle before, so that finding it dead says nothing about the server.
    pub(super) fn was_idle(&self) -> bool {
        self.origin == Origin::Idle
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(session) = self.session.take()
            && let Some(pool) = self.pool.upgrade()
        {
            pool.lock().note_lent(self.since.elapsed());
            pool.give_back(session);
        }
    }
}
