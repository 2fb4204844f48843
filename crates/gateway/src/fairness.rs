//! Letting calls in, fairly between callers: so many are under way at a time, the others wait in turn, but not for long.
//!
//! What may be done is not decided here, nor how often: that is for policies and limits.

mod breath;
mod hall;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::knowledge::lock;
pub use breath::Strain;
use breath::{Breath, Queue};
use hall::{Arrival, Bounds, Hall, OF_LATE, Ticket};

/// Calls of one caller that wait at a time.
const QUEUE: usize = 32;
/// How long one waits among others.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long one waits where there is nobody else: longer than any call takes.
const PATIENCE_ALONE: Duration = Duration::from_secs(3_600);
/// For each core. Most calls wait for a mail server most of the time, if it is far away: then there may be many.
const MOST: usize = 128;
/// Before anything is known of how far it is.
const AT_FIRST: usize = 8;
/// While processors are what calls wait for, and those who ask for little wait for them too.
const LEAST: usize = 1;
/// Beside them, for callers that have nothing under way.
const SPARE: usize = 8;
/// So often it is looked how the machine does.
const LOOKS: Duration = Duration::from_millis(100);
const NEVER: u64 = u64::MAX;
/// The waits of so many turns tell how long a turn takes.
const TURNS: u32 = 4;

/// The door that all calls of a process pass.
#[derive(Clone)]
pub(crate) struct Door(Arc<Shared>);

struct Shared {
    inside: Mutex<Inside>,
    /// So many calls that are done may wait to be recorded without a place.
    most_parting: usize,
    /// Where nobody chose a number.
    paced: Option<Paced>,
}

struct Inside {
    hall: Hall,
    waiting: HashMap<u64, oneshot::Sender<()>>,
}

/// A number of places that follows what the machine can do.
struct Paced {
    gauge: Gauge,
    breath: Mutex<Breath>,
    since: Instant,
    /// When it was last looked, in milliseconds of that.
    looked: AtomicU64,
    /// And when it was last seen that somebody asks for little.
    modest: AtomicU64,
}

/// Tells what the threads of this process have had of the processors so far; nothing where that is not known.
pub(crate) type Gauge = fn() -> Option<Strain>;

/// How many calls there are, and how many could be under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Load {
    pub under_way: usize,
    pub waiting: usize,
    /// Done, and without a place; they wait to be recorded.
    pub parting: usize,
    pub places: usize,
}

/// There is no place, and there will be none soon: how long until there may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Crowded(pub Duration);

/// Whom a process serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Crowd {
    /// One caller: it holds up nobody but itself, so its calls wait as long as it likes.
    One,
    Many,
}

impl Default for Door {
    fn default() -> Self {
        Self::of(Crowd::Many, Places::Usual(|| None))
    }
}

/// How many calls are under way at a time.
#[derive(Clone, Copy)]
pub enum Places {
    Fixed(usize),
    /// As many as the machine does well with.
    Usual(fn() -> Option<Strain>),
}

impl Door {
    pub(crate) fn of(crowd: Crowd, places: Places) -> Self {
        let cores = std::thread::available_parallelism().map_or(2, |cores| cores.get().max(2));
        let (queue, patience) = match crowd {
            Crowd::One => (usize::MAX, PATIENCE_ALONE),
            Crowd::Many => (QUEUE, PATIENCE),
        };
        let most = cores * MOST;
        let (places, spare, parting, gauge) = match (places, crowd) {
            (Places::Fixed(places), _) => (places, 0, places, None),
            // It holds up nobody but itself.
            (Places::Usual(_), Crowd::One) => (most, 0, most, None),
            (Places::Usual(gauge), Crowd::Many) => {
                (cores * AT_FIRST, cores * SPARE, most, Some(gauge))
            }
        };
        let bounds = Bounds {
            places,
            spare,
            queue,
            patience,
        };
        let paced = gauge.map(|gauge| Paced {
            gauge,
            breath: Mutex::new(Breath::new(cores * LEAST, places, most)),
            since: Instant::now(),
            looked: AtomicU64::new(0),
            modest: AtomicU64::new(NEVER),
        });
        Self::new(bounds, parting, paced)
    }

    fn new(bounds: Bounds, most_parting: usize, paced: Option<Paced>) -> Self {
        Self(Arc::new(Shared {
            inside: Mutex::new(Inside {
                hall: Hall::new(bounds),
                waiting: HashMap::new(),
            }),
            most_parting,
            paced,
        }))
    }

    /// Waits for a place. Dropping this gives the turn to the next.
    pub(crate) async fn enter(&self, caller: &str) -> Result<Place, Crowded> {
        let place = || Place {
            door: self.clone(),
            caller: caller.to_owned(),
            held: Holds::Place,
        };
        let (mut wait, patience) = {
            let mut inside = lock(&self.0.inside);
            let patience = inside.hall.bounds().patience;
            match inside.hall.arrive(caller) {
                Arrival::Enters => return Ok(place()),
                Arrival::TurnedAway(wait) => return Err(Crowded(wait)),
                Arrival::Waits(ticket) => {
                    let (call, called) = oneshot::channel();
                    inside.waiting.insert(ticket.number(), call);
                    let wait = Wait {
                        door: self.clone(),
                        caller: caller.to_owned(),
                        ticket: Some(ticket),
                        called,
                    };
                    (wait, patience)
                }
            }
        };
        let called = tokio::time::timeout(patience, &mut wait.called).await;
        // It may have been called while its patience ended.
        if called.is_ok_and(|called| called.is_ok()) || wait.called.try_recv().is_ok() {
            wait.ticket = None;
            return Ok(place());
        }
        Err(Crowded(patience))
    }

    pub(crate) fn load(&self) -> Load {
        let inside = lock(&self.0.inside);
        Load {
            under_way: inside.hall.under_way(),
            waiting: inside.hall.waiting(),
            parting: inside.hall.parting(),
            places: inside.hall.bounds().places,
        }
    }

    /// How long a call of this caller would have to wait, where that is too long to wait at all.
    pub(crate) fn is_closed_to(&self, caller: &str) -> Option<Duration> {
        lock(&self.0.inside).hall.is_closed_to(caller)
    }

    fn end(&self, caller: &str) {
        self.leave_place(|hall, now| hall.end(caller, now));
    }

    /// Calls those who are let in, and looks now and then how the machine does.
    fn leave_place(&self, leave: impl FnOnce(&mut Hall, Instant) -> Vec<Ticket>) {
        let now = Instant::now();
        {
            let mut inside = lock(&self.0.inside);
            let entered = leave(&mut inside.hall, now);
            inside.call(entered);
        }
        if self.0.paced.as_ref().is_some_and(|paced| paced.is_due(now))
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(self.clone().breathe());
        }
    }

    /// Looks how the machine does, and has as many places as that allows.
    async fn breathe(self) {
        let Some(paced) = &self.0.paced else { return };
        let begun = Instant::now();
        for _ in 0..TURNS {
            // Behind all that could go on already.
            tokio::task::yield_now().await;
        }
        let lag = begun.elapsed() / TURNS;
        let Some(strain) = (paced.gauge)() else {
            return;
        };
        let (waiting, modest) = {
            let mut inside = lock(&self.0.inside);
            (inside.hall.waiting(), inside.hall.take_modest(begun))
        };
        if modest {
            paced.modest.store(paced.millis(begun), Ordering::Relaxed);
        }
        let queue = match waiting {
            0 => Queue::Empty,
            _ if paced.holds_up(begun) => Queue::HoldsUp,
            _ => Queue::Waits,
        };
        let places = lock(&paced.breath).draw(strain, lag, queue);
        let mut inside = lock(&self.0.inside);
        let entered = inside.hall.make_room(places);
        inside.call(entered);
    }
}

impl Inside {
    fn call(&mut self, entered: Vec<Ticket>) {
        for ticket in entered {
            if let Some(call) = self.waiting.remove(&ticket.number()) {
                // Who has gone meanwhile gives the place back itself.
                let _ = call.send(());
            }
        }
    }
}

impl Paced {
    fn millis(&self, now: Instant) -> u64 {
        let at = now.saturating_duration_since(self.since).as_millis();
        u64::try_from(at).unwrap_or(NEVER)
    }

    /// Whether somebody who asks for little came of late.
    fn holds_up(&self, now: Instant) -> bool {
        let modest = self.modest.load(Ordering::Relaxed);
        modest != NEVER && self.millis(now).saturating_sub(modest) < OF_LATE.as_millis() as u64
    }

    /// Only now and then, and only for one of those who come.
    fn is_due(&self, now: Instant) -> bool {
        let at = self.millis(now);
        let looked = self.looked.load(Ordering::Relaxed);
        let due = looked.saturating_add(LOOKS.as_millis() as u64);
        at >= due
            && self
                .looked
                .compare_exchange(looked, at, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }
}

/// A call under way. The place is free when this is dropped, however the call ended.
pub(crate) struct Place {
    door: Door,
    caller: String,
    held: Holds,
}

/// What a call has of the hall.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Holds {
    Place,
    /// A mark that it is on its way out.
    Parting,
}

impl Place {
    /// All that is left to do is to wait for a disk: another call can have the place meanwhile.
    ///
    /// INVARIANT: what waits like this is bounded, so that a disk that hangs does not let calls in without end.
    pub(crate) fn hand_on(&mut self) {
        let door = &self.door;
        if self.held == Holds::Parting {
            return;
        }
        door.leave_place(|hall, now| {
            if hall.parting() >= door.0.most_parting {
                return Vec::new();
            }
            self.held = Holds::Parting;
            hall.part(&self.caller, now)
        });
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        match self.held {
            Holds::Place => self.door.end(&self.caller),
            Holds::Parting => {
                let mut inside = lock(&self.door.0.inside);
                inside.hall.parted(&self.caller, Instant::now());
            }
        }
    }
}

/// A call that waits. One that goes leaves the queue, or gives back the place that it was just given.
struct Wait {
    door: Door,
    caller: String,
    ticket: Option<Ticket>,
    called: oneshot::Receiver<()>,
}

impl Drop for Wait {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket else { return };
        let left = {
            let mut inside = lock(&self.door.0.inside);
            inside.waiting.remove(&ticket.number());
            let left = inside.hall.leave(&self.caller, ticket, Instant::now());
            left.map(|entered| inside.call(entered))
        };
        if left.is_none() {
            self.door.end(&self.caller);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn door(places: usize, queue: usize) -> Door {
        let bounds = Bounds {
            places,
            spare: 0,
            queue,
            patience: PATIENCE,
        };
        Door::new(bounds, places, None)
    }

    fn is_empty(door: &Door) -> bool {
        let inside = lock(&door.0.inside);
        inside.waiting.is_empty() && inside.hall.is_empty()
    }

    #[tokio::test(start_paused = true)]
    async fn who_finds_no_place_waits_in_turn_and_not_for_long() {
        let door = door(1, 2);
        let first = door.enter("a").await.unwrap();
        let next = tokio::spawn({
            let door = door.clone();
            async move { door.enter("b").await.is_ok() }
        });
        tokio::task::yield_now().await;
        drop(first);
        assert!(next.await.unwrap());
        let held = door.enter("a").await.unwrap();
        assert_eq!(door.enter("b").await.err(), Some(Crowded(PATIENCE)));
        drop(held);
        assert!(is_empty(&door));
    }

    #[tokio::test(start_paused = true)]
    async fn who_leaves_the_queue_leaves_nothing_behind() {
        let door = door(1, 8);
        let held = door.enter("a").await.unwrap();
        let waiting: Vec<_> = (0..5)
            .map(|_| {
                let door = door.clone();
                tokio::spawn(async move { door.enter("b").await.map(drop) })
            })
            .collect();
        tokio::task::yield_now().await;
        for one in &waiting[1..4] {
            one.abort();
        }
        tokio::task::yield_now().await;
        drop(held);
        let mut served = 0;
        for one in waiting {
            served += usize::from(one.await.is_ok_and(|entered| entered.is_ok()));
        }
        assert_eq!(served, 2);
        assert!(is_empty(&door));
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_only_waits_to_be_recorded_leaves_its_place_but_not_without_bound() {
        let door = door(1, 8);
        let mut first = door.enter("a").await.unwrap();
        first.hand_on();
        first.hand_on();
        let mut second = door.enter("b").await.unwrap();
        // One is on its way out already, and the disk hangs.
        second.hand_on();
        assert_eq!(door.enter("c").await.err(), Some(Crowded(PATIENCE)));
        drop(first);
        second.hand_on();
        drop(door.enter("c").await.unwrap());
        drop(second);
        assert!(is_empty(&door));
    }

    /// Called and cancelled in the same moment: the place goes on to the next.
    #[tokio::test(start_paused = true)]
    async fn a_place_given_to_one_who_goes_is_not_lost() {
        let door = door(1, 8);
        let held = door.enter("a").await.unwrap();
        let mut entering = Box::pin(door.enter("b"));
        assert!(futures_pending(&mut entering).await);
        let next = tokio::spawn({
            let door = door.clone();
            async move { door.enter("c").await.is_ok() }
        });
        tokio::task::yield_now().await;
        drop(held);
        drop(entering);
        assert!(next.await.unwrap());
        assert!(is_empty(&door));
    }

    async fn futures_pending<F: Future + Unpin>(future: &mut F) -> bool {
        std::future::poll_fn(|cx| {
            let pending = std::pin::Pin::new(&mut *future).poll(cx).is_pending();
            std::task::Poll::Ready(pending)
        })
        .await
    }
}
