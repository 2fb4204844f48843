//! How many connections there may be, and who has to go when there are too many. It reads and writes none of them.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    /// Numbers connections, and what becomes of them: the lower, the longer ago. No clock is asked.
    last: u64,
    held: HashMap<u64, Held>,
    from: Tally,
    strangers: Strangers,
}

struct Held {
    peer: IpAddr,
    proven: bool,
    under_way: usize,
    held_back: usize,
    /// Since when it has been as it is.
    since: u64,
    hang_up: Arc<Notify>,
}

/// What a connection is that has no request under way, in the order in which they go.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rest {
    Unproven,
    HeldBack,
    Idle,
}

impl Held {
    fn rest(&self) -> Option<Rest> {
        match self {
            _ if self.under_way > 0 => None,
            _ if !self.proven => Some(Rest::Unproven),
            _ if self.held_back > 0 => Some(Rest::HeldBack),
            _ => Some(Rest::Idle),
        }
    }
}

/// Those who have proven nothing. Their number and order are kept, not looked for: they may come by the thousand in a
/// second.
#[derive(Default)]
struct Strangers {
    in_all: usize,
    /// Who of them may go, by since when.
    line: BTreeMap<u64, (u64, IpAddr)>,
    /// Where those of the line are from.
    from: Tally,
}

/// How many there are from each address.
#[derive(Default)]
struct Tally(HashMap<IpAddr, usize>);

/// Whose room is needed.
#[derive(Clone, Copy)]
enum Among {
    All,
    Strangers,
    From(IpAddr),
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

/// A request whose answer is held back. Its connection may go meanwhile.
pub(super) struct HeldBack(Arc<Door>);

impl Doors {
    pub(super) fn new(bounds: Bounds) -> Arc<Self> {
        Arc::new(Self {
            bounds,
            state: Mutex::default(),
        })
    }

    /// Lets a connection in; none where there is no room, and nobody who could go instead.
    ///
    /// INVARIANT: nobody goes who has a request under way. Who has proven nothing goes before who is held back, who is
    /// held back before who is idle, and who has been so for longest goes first. But of those who have proven nothing, one
    /// goes whose address has the most of them: else one address could keep all others from proving anything.
    pub(super) fn enter(
        self: &Arc<Self>,
        peer: SocketAddr,
        local: SocketAddr,
    ) -> Option<Arc<Door>> {
        let mut state = self.state();
        let address = peer.ip().to_canonical();
        if state.from.of(address) >= self.bounds.from_one && !state.make_room(Among::From(address))
        {
            return None;
        }
        if state.strangers.in_all >= self.bounds.unproven && !state.make_room(Among::Strangers) {
            return None;
        }
        if state.held.len() >= self.bounds.in_all && !state.make_room(Among::All) {
            return None;
        }
        let hang_up = Arc::new(Notify::new());
        let number = state.let_in(address, Arc::clone(&hang_up));
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
    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn let_in(&mut self, peer: IpAddr, hang_up: Arc<Notify>) -> u64 {
        let number = self.next();
        let held = Held {
            peer,
            proven: false,
            under_way: 0,
            held_back: 0,
            since: number,
            hang_up,
        };
        self.from.add(peer);
        self.strangers.add(number, &held);
        self.held.insert(number, held);
        number
    }

    /// INVARIANT: no connection changes but here, so that what is counted stays true.
    fn change(&mut self, number: u64, change: impl FnOnce(&mut Held)) {
        if let Some(held) = self.held.get_mut(&number) {
            self.strangers.remove(held);
            change(held);
            self.strangers.add(number, held);
        }
    }

    fn remove(&mut self, number: u64) -> Option<Held> {
        let gone = self.held.remove(&number)?;
        self.from.remove(gone.peer);
        self.strangers.remove(&gone);
        Some(gone)
    }

    fn make_room(&mut self, among: Among) -> bool {
        let first = match among {
            Among::All => {
                let stranger = self.strangers.first();
                stranger.or_else(|| self.first_known(|_| true))
            }
            Among::Strangers => self.strangers.first(),
            Among::From(peer) => {
                let stranger = self.strangers.first_from(peer);
                stranger.or_else(|| self.first_known(|held| held.peer == peer))
            }
        };
        let Some(gone) = first.and_then(|number| self.remove(number)) else {
            return false;
        };
        gone.hang_up.notify_one();
        true
    }

    /// Looks at everybody, which only who has a token can make it do again and again.
    fn first_known(&self, among: impl Fn(&Held) -> bool) -> Option<u64> {
        self.held
            .iter()
            .filter(|(_, held)| held.proven && among(held))
            .filter_map(|(number, held)| Some((held.rest()?, held.since, *number)))
            .min()
            .map(|(_, _, number)| number)
    }
}

impl Strangers {
    /// Who is known is none of them.
    fn add(&mut self, number: u64, held: &Held) {
        if held.proven {
            return;
        }
        self.in_all += 1;
        if held.rest().is_some() {
            self.line.insert(held.since, (number, held.peer));
            self.from.add(held.peer);
        }
    }

    fn remove(&mut self, held: &Held) {
        if held.proven {
            return;
        }
        self.in_all = self.in_all.saturating_sub(1);
        if held.rest().is_some() {
            self.line.remove(&held.since);
            self.from.remove(held.peer);
        }
    }

    /// Where many are from one address, one of those is near the front.
    fn first(&self) -> Option<u64> {
        let most = self.from.most();
        self.first_of(|peer| self.from.of(peer) == most)
    }

    fn first_from(&self, address: IpAddr) -> Option<u64> {
        (self.from.of(address) > 0)
            .then(|| self.first_of(|peer| peer == address))
            .flatten()
    }

    fn first_of(&self, from: impl Fn(IpAddr) -> bool) -> Option<u64> {
        let mut line = self.line.values();
        line.find(|(_, peer)| from(*peer))
            .map(|(number, _)| *number)
    }
}

impl Tally {
    fn of(&self, address: IpAddr) -> usize {
        self.0.get(&address).copied().unwrap_or_default()
    }

    fn most(&self) -> usize {
        self.0.values().copied().max().unwrap_or_default()
    }

    fn add(&mut self, address: IpAddr) {
        *self.0.entry(address).or_default() += 1;
    }

    fn remove(&mut self, address: IpAddr) {
        match self.of(address) {
            0 | 1 => self.0.remove(&address),
            more => self.0.insert(address, more - 1),
        };
    }
}

impl Door {
    /// Somebody who is known speaks here.
    pub(super) fn proven(&self) {
        self.change(|held| held.proven = true);
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
        self.change(|held| held.under_way += 1);
        Busy(Arc::clone(self))
    }

    /// When somebody else needs the room.
    pub(super) async fn hung_up(&self) {
        self.hang_up.notified().await;
    }

    fn change(&self, change: impl FnOnce(&mut Held)) {
        self.doors.state().change(self.number, change);
    }
}

impl Busy {
    pub(super) fn hold_back(self) -> HeldBack {
        self.0.change(|held| held.held_back += 1);
        HeldBack(Arc::clone(&self.0))
    }
}

impl HeldBack {
    pub(super) fn go_on(self) -> Busy {
        self.0.begin()
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let mut state = self.0.doors.state();
        let now = state.next();
        state.change(self.0.number, |held| {
            held.under_way = held.under_way.saturating_sub(1);
            held.since = now;
        });
    }
}

impl Drop for HeldBack {
    fn drop(&mut self) {
        let over = |held: &mut Held| held.held_back = held.held_back.saturating_sub(1);
        self.0.change(over);
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.doors.state().remove(self.number);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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

    fn known(doors: &Arc<Doors>, address: &str) -> Arc<Door> {
        let door = enter(doors, address).unwrap();
        door.proven();
        door
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

    /// Whatever came first: who is held back has been so for a second at most, and others have been idle for longer.
    #[test]
    fn who_is_held_back_goes_after_who_has_proven_nothing_and_before_who_is_idle() {
        let doors = Doors::new(BOUNDS);
        let [later_idle, idle, held_back] =
            ["192.0.2.1", "192.0.2.2", "192.0.2.3"].map(|address| known(&doors, address));
        drop(idle.begin());
        drop(later_idle.begin());
        let held = held_back.begin().hold_back();
        let stranger = enter(&doors, "192.0.2.4").unwrap();
        let mut came = Vec::new();
        for (first, address) in [
            (&stranger, "192.0.2.5"),
            (&held_back, "192.0.2.6"),
            (&idle, "192.0.2.7"),
            (&later_idle, "192.0.2.8"),
        ] {
            assert!(is_there(first), "gone before {address} came");
            let door = known(&doors, address);
            came.push((door.begin(), door));
            assert!(!is_there(first), "still there after {address} came");
        }
        drop(held);
    }

    #[test]
    fn who_was_held_back_is_busy_when_it_is_answered_and_idle_afterwards() {
        let doors = Doors::new(BOUNDS);
        let door = known(&doors, "192.0.2.1");
        let rest = || doors.state().held[&door.number].rest();
        let held_back = door.begin().hold_back();
        assert!(rest() == Some(Rest::HeldBack));
        let busy = held_back.go_on();
        assert!(rest().is_none());
        drop(busy);
        assert!(rest() == Some(Rest::Idle));
        drop(door.begin().hold_back());
        assert!(rest() == Some(Rest::Idle));
    }

    #[test]
    fn an_address_that_comes_without_end_takes_room_from_itself_alone() {
        let doors = Doors::new(Bounds {
            in_all: 20,
            unproven: 8,
            from_one: 16,
        });
        let slow = enter(&doors, "192.0.2.1").unwrap();
        let flood = || enter(&doors, "192.0.2.9").unwrap();
        let mut came: Vec<_> = (0..100).map(|_| flood()).collect();
        let another = enter(&doors, "192.0.2.2").unwrap();
        came.extend((0..100).map(|_| flood()));
        assert!(is_there(&slow) && is_there(&another));
        let there: Vec<_> = came.iter().map(|door| is_there(door)).collect();
        assert_eq!(there.iter().rposition(|there| !there), Some(193));
        assert_eq!(there.iter().filter(|there| **there).count(), 6);
    }

    #[test]
    fn behind_a_proxy_who_has_proven_nothing_for_longest_goes_first() {
        let doors = Doors::new(Bounds {
            from_one: usize::MAX,
            ..BOUNDS
        });
        let came: Vec<_> = (0..5)
            .map(|_| enter(&doors, "192.0.2.1").unwrap())
            .collect();
        let there: Vec<_> = came.iter().map(|door| is_there(door)).collect();
        assert_eq!(there, [false, false, false, true, true]);
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
        assert_eq!(counted(&doors.state()), Counted::default());
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Enter(u8),
        Prove,
        Begin,
        End,
        HoldBack,
        GoOn,
        Leave,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (1u8..4).prop_map(Step::Enter),
            1 => Just(Step::Prove),
            2 => Just(Step::Begin),
            1 => Just(Step::End),
            1 => Just(Step::HoldBack),
            1 => Just(Step::GoOn),
            1 => Just(Step::Leave),
        ]
    }

    proptest! {
        #[test]
        fn what_is_counted_is_what_there_is(steps in prop::collection::vec((step(), any::<prop::sample::Index>()), 1..80)) {
            let doors = Doors::new(BOUNDS);
            let (mut all, mut busy, mut held_back) = (Vec::new(), Vec::new(), Vec::new());
            for (step, which) in steps {
                match step {
                    Step::Enter(host) => all.extend(enter(&doors, &format!("192.0.2.{host}"))),
                    Step::Prove => if !all.is_empty() { which.get(&all).proven() },
                    Step::Begin => if !all.is_empty() { busy.push(which.get(&all).begin()) },
                    Step::End => drop(taken(&mut busy, which)),
                    Step::HoldBack => held_back.extend(taken(&mut busy, which).map(Busy::hold_back)),
                    Step::GoOn => busy.extend(taken(&mut held_back, which).map(HeldBack::go_on)),
                    Step::Leave => drop(taken(&mut all, which)),
                }
                let state = doors.state();
                prop_assert_eq!(counted(&state), recounted(&state));
            }
        }
    }

    fn taken<T>(from: &mut Vec<T>, which: prop::sample::Index) -> Option<T> {
        (!from.is_empty()).then(|| from.swap_remove(which.index(from.len())))
    }

    /// What is kept of many, put so that it can be compared.
    #[derive(Default, PartialEq, Debug)]
    struct Counted {
        from: BTreeMap<IpAddr, usize>,
        strangers: usize,
        line: BTreeMap<u64, (u64, IpAddr)>,
        strangers_from: BTreeMap<IpAddr, usize>,
    }

    fn counted(state: &State) -> Counted {
        let sorted = |tally: &Tally| tally.0.iter().map(|(peer, many)| (*peer, *many)).collect();
        Counted {
            from: sorted(&state.from),
            strangers: state.strangers.in_all,
            line: state.strangers.line.clone(),
            strangers_from: sorted(&state.strangers.from),
        }
    }

    fn recounted(state: &State) -> Counted {
        let mut found = Counted::default();
        for (number, held) in &state.held {
            *found.from.entry(held.peer).or_default() += 1;
            found.strangers += usize::from(!held.proven);
            if held.rest() == Some(Rest::Unproven) {
                found.line.insert(held.since, (*number, held.peer));
                *found.strangers_from.entry(held.peer).or_default() += 1;
            }
        }
        found
    }
}
