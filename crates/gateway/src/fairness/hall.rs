//! Who is let in next: arithmetic alone, without clock and tasks.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

/// So many times what is free a caller may have under way itself: alone it gets three quarters of all places. However many
/// others are greedy, and however slow, one that asks for little finds a place free.
const SHARE: usize = 3;
/// Whoever asks for much has another call here sooner than this,
const A_WHILE: Duration = Duration::from_secs(1);
/// or has had more than these in that time.
const FEW: u32 = 4;
/// What was longer ago says nothing of now.
pub(super) const OF_LATE: Duration = Duration::from_secs(5);

/// A call that waits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Ticket(u64);

/// How much there is room for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bounds {
    /// Calls under way at a time.
    pub places: usize,
    /// So many more, each the only call of its caller.
    pub spare: usize,
    /// Calls of one caller that wait.
    pub queue: usize,
    /// How long one waits.
    pub patience: Duration,
}

impl Bounds {
    /// A place for one more call of a caller that has so many under way, while so many places of each kind are taken.
    ///
    /// INVARIANT: whoever has had another call here of late never gets a place that is kept for those who ask for little, though
    /// for a moment nothing of it is under way; and those who have these take none of the others, which all have in turn.
    fn place(&self, taken: Taken, own: usize, company: Company) -> Option<Kind> {
        let free = self.places.saturating_sub(taken.usual);
        if own < free.saturating_mul(SHARE) {
            return Some(Kind::Usual);
        }
        (company == Company::Alone && taken.spare < self.spare).then_some(Kind::Spare)
    }
}

/// Whether a call is the only one of its caller, and has been since its caller came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Company {
    Alone,
    Crowds,
}

/// What a place is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Usual,
    Spare,
}

/// How many places of each kind are taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Taken {
    usual: usize,
    spare: usize,
}

impl Taken {
    fn all(self) -> usize {
        self.usual + self.spare
    }

    fn of(&mut self, kind: Kind) -> &mut usize {
        match kind {
            Kind::Usual => &mut self.usual,
            Kind::Spare => &mut self.spare,
        }
    }
}

impl Ticket {
    pub(crate) fn number(self) -> u64 {
        self.0
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrival {
    Enters,
    Waits(Ticket),
    /// It is not worth waiting; after this it may be.
    TurnedAway(Duration),
}

#[derive(Debug)]
pub(crate) struct Hall {
    bounds: Bounds,
    /// By the calls under way.
    taken: Taken,
    /// Calls that are done and not over: they have no place any more.
    parting: usize,
    /// Of all callers.
    waiting: usize,
    /// Those with something under way, waiting or parting.
    callers: BTreeMap<String, Guest>,
    next: Ticket,
    /// How long it takes, of late, until another one is let in while some wait.
    pulse: Pulse,
    /// When the last one left, if somebody waited then.
    last: Option<Instant>,
    /// Who had nothing else here while it was served: one of many calls may end before the next comes, so it takes a while
    /// until this says that they ask for little.
    alone: BTreeMap<String, Alone>,
}

/// How long beats took of late, by two means of them. The lesser one counts: one beat that took long is no reason to send
/// hundreds away, nor are the first ones, which connect and open.
#[derive(Clone, Copy, Debug, Default)]
struct Pulse {
    late: Duration,
    long: Duration,
    beats: u32,
    /// All of them together.
    felt: Duration,
}

impl Pulse {
    /// About so many count.
    const LATE: u32 = 8;
    const LONG: u32 = 64;
    /// Before so many, or so much time, nothing is known.
    const ENOUGH: u32 = 32;
    const LONG_ENOUGH: Duration = Duration::from_secs(2);

    fn beat(&mut self, beat: Duration) {
        self.beats = self.beats.saturating_add(1);
        self.felt = self.felt.saturating_add(beat);
        let mean = |mean: Duration, of: u32| (mean * (of - 1) + beat) / of;
        self.late = mean(self.late, self.beats.min(Self::LATE));
        self.long = mean(self.long, self.beats.min(Self::LONG));
    }

    fn known(self) -> Option<Duration> {
        let enough = self.beats >= Self::ENOUGH || self.felt >= Self::LONG_ENOUGH;
        enough.then(|| self.late.min(self.long))
    }
}

/// Calls that were their caller's only ones, one after the other.
#[derive(Clone, Copy, Debug)]
struct Alone {
    since: Instant,
    calls: u32,
}

#[derive(Debug, Default)]
struct Guest {
    under_way: usize,
    parting: usize,
    waiting: VecDeque<Ticket>,
    /// Since when it waits, or was last let in while it waited: then it is behind all who waited already.
    turn: u64,
    /// It has had more than one call here since it came.
    crowds: bool,
    /// One of those under way has a place that is kept for those who ask for little.
    spared: bool,
}

impl Guest {
    fn company(&self) -> Company {
        match self.crowds {
            true => Company::Crowds,
            false => Company::Alone,
        }
    }

    /// It has nothing here any more.
    fn is_gone(&self) -> bool {
        self.under_way + self.parting + self.waiting.len() == 0
    }

    fn enters(&mut self, kind: Kind) {
        self.under_way += 1;
        self.spared |= kind == Kind::Spare;
    }

    /// One of its calls leaves its place: the kind of place that is free now.
    fn leaves(&mut self) -> Kind {
        self.under_way = self.under_way.saturating_sub(1);
        match std::mem::take(&mut self.spared) {
            true => Kind::Spare,
            false => Kind::Usual,
        }
    }
}

impl Hall {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self {
            bounds: Bounds {
                places: bounds.places.max(1),
                ..bounds
            },
            taken: Taken::default(),
            parting: 0,
            waiting: 0,
            callers: BTreeMap::new(),
            next: Ticket(0),
            pulse: Pulse::default(),
            last: None,
            alone: BTreeMap::new(),
        }
    }

    /// Whether somebody asks for little: has been here of late, for a while never with two calls at a time, and with few one
    /// after the other. Asked again, it speaks of those who came since.
    pub(crate) fn take_modest(&mut self, now: Instant) -> bool {
        let mut modest = false;
        self.alone.retain(|_, alone| {
            let age = now.saturating_duration_since(alone.since);
            modest |= (A_WHILE..A_WHILE + OF_LATE).contains(&age) && alone.calls <= FEW;
            age < A_WHILE
        });
        modest
    }

    pub(crate) fn under_way(&self) -> usize {
        self.taken.all()
    }

    pub(crate) fn parting(&self) -> usize {
        self.parting
    }

    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    pub(crate) fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// INVARIANT: whenever there is a place for somebody who waits, that one is let in at once. So nobody is passed over
    /// by one that comes and enters.
    pub(crate) fn arrive(&mut self, caller: &str) -> Arrival {
        let (own, queued) = self.calls_of(caller);
        if let Some(guest) = self.callers.get_mut(caller) {
            guest.crowds = true;
            self.alone.remove(caller);
        }
        if queued == 0
            && let Some(kind) = self.place_for(caller, own)
        {
            *self.taken.of(kind) += 1;
            self.guest(caller).enters(kind);
            return Arrival::Enters;
        }
        if let Some(expected) = self.too_long(caller, own, queued) {
            return Arrival::TurnedAway(expected);
        }
        let ticket = self.next;
        self.next = Ticket(ticket.0.wrapping_add(1));
        let guest = self.guest(caller);
        if guest.waiting.is_empty() {
            guest.turn = ticket.0;
        }
        guest.waiting.push_back(ticket);
        self.waiting += 1;
        Arrival::Waits(ticket)
    }

    /// How long a call would have to wait that came now, where that is too long. Nobody comes by this.
    pub(crate) fn is_closed_to(&self, caller: &str) -> Option<Duration> {
        let (own, queued) = self.calls_of(caller);
        if queued == 0 && self.place_for(caller, own).is_some() {
            return None;
        }
        self.too_long(caller, own, queued)
    }

    /// From now on there are so many places: those who are let in.
    pub(crate) fn make_room(&mut self, places: usize) -> Vec<Ticket> {
        self.bounds.places = places.max(1);
        self.let_in()
    }

    /// A call is over: those who are let in now.
    pub(crate) fn end(&mut self, caller: &str, now: Instant) -> Vec<Ticket> {
        self.leave_place(caller);
        self.forget(caller, now);
        self.feel_pulse(now);
        self.let_in()
    }

    /// A call is done, and not over: those who are let in now.
    pub(crate) fn part(&mut self, caller: &str, now: Instant) -> Vec<Ticket> {
        self.leave_place(caller);
        self.parting += 1;
        self.guest(caller).parting += 1;
        self.feel_pulse(now);
        self.let_in()
    }

    /// And now it is over.
    pub(crate) fn parted(&mut self, caller: &str, now: Instant) {
        self.parting = self.parting.saturating_sub(1);
        if let Some(guest) = self.callers.get_mut(caller) {
            guest.parting = guest.parting.saturating_sub(1);
        }
        self.forget(caller, now);
    }

    /// Whoever waited under this ticket goes: those who are let in now, where it was in their way. None where it was let in
    /// before.
    pub(crate) fn leave(
        &mut self,
        caller: &str,
        ticket: Ticket,
        now: Instant,
    ) -> Option<Vec<Ticket>> {
        let guest = self.callers.get_mut(caller)?;
        let at = guest.waiting.iter().position(|one| *one == ticket)?;
        guest.waiting.remove(at);
        self.waiting -= 1;
        self.forget(caller, now);
        Some(self.let_in())
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        let none = self.taken.all() + self.parting + self.waiting == 0;
        none && self.callers.is_empty()
    }

    fn guest(&mut self, caller: &str) -> &mut Guest {
        self.callers.entry(caller.to_owned()).or_default()
    }

    fn leave_place(&mut self, caller: &str) {
        if let Some(guest) = self.callers.get_mut(caller) {
            let taken = self.taken.of(guest.leaves());
            *taken = taken.saturating_sub(1);
        }
    }

    fn forget(&mut self, caller: &str, now: Instant) {
        let guest = self.callers.get(caller);
        let idle = guest.filter(|guest| guest.is_gone());
        let Some(crowds) = idle.map(|guest| guest.crowds) else {
            return;
        };
        self.callers.remove(caller);
        if !crowds {
            let (since, calls) = (now, 0);
            let alone = self.alone.entry(caller.to_owned());
            let alone = alone.or_insert(Alone { since, calls });
            alone.calls = alone.calls.saturating_add(1);
        }
    }

    /// Who has least under way comes first; those who have the same take turns.
    fn let_in(&mut self) -> Vec<Ticket> {
        let mut entered = Vec::new();
        while self.somebody_waits() {
            let (bounds, taken) = (self.bounds, self.taken);
            let waiting = self.callers.values_mut().filter_map(|guest| {
                guest.waiting.front()?;
                let kind = bounds.place(taken, guest.under_way, guest.company())?;
                Some(((guest.under_way, guest.turn), kind, guest))
            });
            let next = waiting.min_by_key(|(order, _, _)| *order);
            let Some((kind, guest, head)) = next.and_then(|(_, kind, guest)| {
                let head = guest.waiting.pop_front()?;
                Some((kind, guest, head))
            }) else {
                break;
            };
            guest.enters(kind);
            guest.turn = self.next.0;
            self.next = Ticket(self.next.0.wrapping_add(1));
            *self.taken.of(kind) += 1;
            self.waiting -= 1;
            entered.push(head);
        }
        entered
    }

    /// Those under way, and those that wait.
    fn calls_of(&self, caller: &str) -> (usize, usize) {
        let guest = self.callers.get(caller);
        guest.map_or((0, 0), |guest| (guest.under_way, guest.waiting.len()))
    }

    fn somebody_waits(&self) -> bool {
        self.waiting > 0
    }

    /// For a call that comes while none of its caller's waits.
    fn place_for(&self, caller: &str, own: usize) -> Option<Kind> {
        let company = match self.callers.contains_key(caller) {
            true => Company::Crowds,
            false => Company::Alone,
        };
        self.bounds.place(self.taken, own, company)
    }

    /// How long a call would wait that comes now, where the queue is full or that is longer than one waits.
    fn too_long(&self, caller: &str, own: usize, queued: usize) -> Option<Duration> {
        let expected = self.expected(caller, own, queued);
        let too_long = queued >= self.bounds.queue || expected > self.bounds.patience;
        too_long.then_some(expected)
    }

    /// How long a call would wait that comes now. What is not known yet is not held against it.
    fn expected(&self, caller: &str, own: usize, queued: usize) -> Duration {
        let others = self.callers.iter().filter(|(name, _)| *name != caller);
        // Others are let in before it only as long as they have no more under way than its caller will have.
        let before = others.map(|(_, guest)| {
            let ahead = (own + queued + 1).saturating_sub(guest.under_way);
            guest.waiting.len().min(ahead)
        });
        let turns = before
            .sum::<usize>()
            .saturating_add(queued)
            .saturating_add(1);
        let turns = u32::try_from(turns).unwrap_or(u32::MAX);
        let pulse = self.pulse.known();
        pulse.map_or(Duration::ZERO, |pulse| pulse.saturating_mul(turns))
    }

    fn feel_pulse(&mut self, now: Instant) {
        let somebody = self.somebody_waits();
        if let (true, Some(last)) = (somebody, self.last) {
            self.pulse.beat(now.saturating_duration_since(last));
        }
        self.last = somebody.then_some(now);
        if !somebody {
            // INVARIANT: what nobody waits for is not measured any more, and must not send anybody away for ever.
            self.pulse = Pulse::default();
        }
    }
}

#[cfg(test)]
mod tests;
