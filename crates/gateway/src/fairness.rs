//! Letting calls in, fairly between callers: so many are under way at a time, the others wait in turn, but not for long.
//!
//! What may be done is not decided here, nor how often: that is for policies and limits.

mod hall;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::knowledge::lock;
pub use hall::Load;
use hall::{Arrival, Bounds, Hall, Ticket};

/// Calls of one caller that wait at a time.
const QUEUE: usize = 32;
/// How long one waits among others.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long one waits where there is nobody else: longer than any call takes.
const PATIENCE_ALONE: Duration = Duration::from_secs(3_600);
/// For each core. Most calls wait for a mail server most of the time.
const PLACES_PER_CORE: usize = 128;

/// The door that all calls of a process pass.
#[derive(Clone)]
pub(crate) struct Door(Arc<Mutex<Inside>>);

struct Inside {
    hall: Hall,
    waiting: HashMap<u64, oneshot::Sender<()>>,
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
        Self::of(Crowd::Many, None)
    }
}

impl Door {
    /// With as many places as are usual, unless another number was given.
    pub(crate) fn of(crowd: Crowd, places: Option<usize>) -> Self {
        let cores = std::thread::available_parallelism().map_or(2, |cores| cores.get().max(2));
        let (queue, patience) = match crowd {
            Crowd::One => (usize::MAX, PATIENCE_ALONE),
            Crowd::Many => (QUEUE, PATIENCE),
        };
        Self::new(Bounds {
            places: places.unwrap_or(cores * PLACES_PER_CORE),
            queue,
            patience,
        })
    }

    fn new(bounds: Bounds) -> Self {
        Self(Arc::new(Mutex::new(Inside {
            hall: Hall::new(bounds),
            waiting: HashMap::new(),
        })))
    }

    /// Waits for a place. Dropping this gives the turn to the next.
    pub(crate) async fn enter(&self, caller: &str) -> Result<Place, Crowded> {
        let place = || Place {
            door: self.clone(),
            caller: caller.to_owned(),
        };
        let (mut wait, patience) = {
            let mut inside = lock(&self.0);
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
        lock(&self.0).hall.load()
    }

    fn end(&self, caller: &str) {
        let mut inside = lock(&self.0);
        for ticket in inside.hall.end(caller, Instant::now()) {
            if let Some(call) = inside.waiting.remove(&ticket.number()) {
                // Who has gone meanwhile gives the place back itself.
                let _ = call.send(());
            }
        }
    }
}

/// A call under way. The place is free when this is dropped, however the call ended.
pub(crate) struct Place {
    door: Door,
    caller: String,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.door.end(&self.caller);
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
            let mut inside = lock(&self.door.0);
            inside.waiting.remove(&ticket.number());
            inside.hall.leave(&self.caller, ticket)
        };
        if !left {
            self.door.end(&self.caller);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn door(places: usize, queue: usize) -> Door {
        Door::new(Bounds {
            places,
            queue,
            patience: PATIENCE,
        })
    }

    fn is_empty(door: &Door) -> bool {
        let inside = lock(&door.0);
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
