//! How many connections there may be, and who has to go when there are too many. It reads and writes none of them.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

/// Connections at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Bounds {
    pub in_all: usize,
    /// Of those who have not proven who they are.
    pub unproven: usize,
    /// From one address; behind a proxy all come from one.
    pub from_one: usize,
}

pub(super) struct Doors {
    bounds: Bounds,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    held: HashMap<u64, Held>,
}

struct Held {
    peer: IpAddr,
    proven: bool,
    under_way: usize,
    /// Since when it has been as it is.
    since: Instant,
    hang_up: Arc<Notify>,
}

impl Held {
    fn is_idle(&self) -> bool {
        self.proven && self.under_way == 0
    }
}

/// One connection, from when it is accepted until it is gone.
pub(super) struct Door {
    doors: Arc<Doors>,
    number: u64,
    hang_up: Arc<Notify>,
    pub peer: SocketAddr,
    /// Where it arrived.
    pub local: SocketAddr,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Standing {
    Proven,
    /// Has proven nothing so far, and it is our turn.
    Asked,
    Nobody,
}

/// A request under way.
pub(super) struct Busy(Arc<Door>);

impl Doors {
    pub(super) fn new(bounds: Bounds) -> Arc<Self> {
        Arc::new(Self {
            bounds,
            state: Mutex::default(),
        })
    }

    /// Lets a connection in; none where there is no room, and nobody who could go instead.
    ///
    /// INVARIANT: nobody goes who has a request under way. Who has proven nothing goes before who is idle, and who has
    /// been so for longest goes first.
    pub(super) fn enter(
        self: &Arc<Self>,
        peer: SocketAddr,
        local: SocketAddr,
    ) -> Option<Arc<Door>> {
        let mut state = self.state();
        let address = peer.ip().to_canonical();
        let from_one = |held: &Held| held.peer == address;
        if state.count(from_one) >= self.bounds.from_one && !state.make_room(from_one) {
            return None;
        }
        let unproven = |held: &Held| !held.proven;
        if state.count(unproven) >= self.bounds.unproven && !state.make_room(unproven) {
            return None;
        }
        if state.held.len() >= self.bounds.in_all && !state.make_room(|_| true) {
            return None;
        }
        let number = state.next;
        state.next += 1;
        let hang_up = Arc::new(Notify::new());
        let held = Held {
            peer: address,
            proven: false,
            under_way: 0,
            since: Instant::now(),
            hang_up: Arc::clone(&hang_up),
        };
        state.held.insert(number, held);
        Some(Arc::new(Door {
            doors: Arc::clone(self),
            number,
            hang_up,
            peer,
            local,
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn count(&self, of: impl Fn(&Held) -> bool) -> usize {
        self.held.values().filter(|held| of(held)).count()
    }

    fn make_room(&mut self, among: impl Fn(&Held) -> bool) -> bool {
        let may_go = |held: &&Held| held.under_way == 0 && among(held);
        let first = self
            .held
            .iter()
            .filter(|(_, held)| may_go(held))
            .min_by_key(|(_, held)| (held.is_idle(), held.since));
        let Some(number) = first.map(|(number, _)| *number) else {
            return false;
        };
        if let Some(gone) = self.held.remove(&number) {
            gone.hang_up.notify_one();
        }
        true
    }
}

impl Door {
    /// Somebody who is known speaks here.
    pub(super) fn proven(&self) {
        if let Some(held) = self.doors.state().held.get_mut(&self.number) {
            held.proven = true;
        }
    }

    /// What is to be thought of whoever is there.
    pub(super) fn standing(&self) -> Standing {
        let state = self.doors.state();
        match state.held.get(&self.number) {
            Some(held) if held.proven => Standing::Proven,
            Some(held) if held.under_way > 0 => Standing::Asked,
            _ => Standing::Nobody,
        }
    }

    pub(super) fn begin(self: &Arc<Self>) -> Busy {
        if let Some(held) = self.doors.state().held.get_mut(&self.number) {
            held.under_way += 1;
        }
        Busy(Arc::clone(self))
    }

    /// When somebody else needs the room.
    pub(super) async fn hung_up(&self) {
        self.hang_up.notified().await;
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        if let Some(held) = self.0.doors.state().held.get_mut(&self.0.number) {
            held.under_way = held.under_way.saturating_sub(1);
            held.since = Instant::now();
        }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.doors.state().held.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds {
        in_all: 4,
        unproven: 2,
        from_one: 3,
    };

    fn from(address: &str) -> (SocketAddr, SocketAddr) {
        (
            SocketAddr::new(address.parse().unwrap(), 5),
            "127.0.0.1:80".parse().unwrap(),
        )
    }

    fn enter(doors: &Arc<Doors>, address: &str) -> Option<Arc<Door>> {
        let (peer, local) = from(address);
        doors.enter(peer, local)
    }

    fn is_there(door: &Door) -> bool {
        door.doors.state().held.contains_key(&door.number)
    }

    #[test]
    fn who_has_proven_nothing_makes_room_for_the_next() {
        let doors = Doors::new(BOUNDS);
        let proven = enter(&doors, "192.0.2.1").unwrap();
        proven.proven();
        let first = enter(&doors, "192.0.2.2").unwrap();
        let second = enter(&doors, "192.0.2.3").unwrap();
        let third = enter(&doors, "192.0.2.4").unwrap();
        assert!(!is_there(&first) && is_there(&second) && is_there(&third) && is_there(&proven));
    }

    /// Also while whoever vouches for them does not answer.
    #[test]
    fn those_who_have_proven_nothing_are_never_more_than_they_may_be() {
        let doors = Doors::new(BOUNDS);
        let asked = ["192.0.2.2", "192.0.2.3"].map(|peer| enter(&doors, peer).unwrap());
        let busy: Vec<_> = asked.iter().map(Door::begin).collect();
        assert!(enter(&doors, "192.0.2.4").is_none());
        drop(busy);
        assert!(enter(&doors, "192.0.2.4").is_some());
        assert!(!is_there(&asked[0]) && is_there(&asked[1]));
    }

    #[test]
    fn one_address_takes_room_from_itself_alone() {
        let doors = Doors::new(BOUNDS);
        let all: Vec<_> = (0..3)
            .map(|_| {
                let door = enter(&doors, "192.0.2.1").unwrap();
                door.proven();
                door
            })
            .collect();
        let _busy: Vec<_> = all.iter().map(Door::begin).collect();
        assert!(enter(&doors, "192.0.2.1").is_none());
        let other = enter(&doors, "192.0.2.2").unwrap();
        other.proven();
        assert_eq!(doors.state().held.len(), 4);
        // Full: who is idle goes, and who is busy never does.
        let next = enter(&doors, "192.0.2.3").unwrap();
        next.proven();
        assert!(!is_there(&other) && is_there(&next));
        let _busy = next.begin();
        assert!(enter(&doors, "192.0.2.4").is_none());
    }

    #[test]
    fn whoever_leaves_leaves_nothing() {
        let doors = Doors::new(BOUNDS);
        let door = enter(&doors, "::ffff:192.0.2.1").unwrap();
        let busy = door.begin();
        drop(door);
        assert_eq!(doors.state().held.len(), 1);
        drop(busy);
        assert_eq!(doors.state().held.len(), 0);
    }
}
