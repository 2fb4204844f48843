//! Memory that what is remembered of all accounts shares: a process with hundreds of accounts stays as small as its operator
//! expects. Holds nothing itself, and lets nothing go: whoever remembers does that.

use std::sync::atomic::{AtomicUsize, Ordering};

/// One for each kind of thing that is remembered.
pub struct Room {
    /// Octets that all together may hold before each must keep to its share.
    together: usize,
    /// A share is never smaller.
    least: usize,
    held: AtomicUsize,
    guests: AtomicUsize,
}

impl Room {
    pub const fn new(together: usize, least: usize) -> Self {
        Self {
            together,
            least,
            held: AtomicUsize::new(0),
            guests: AtomicUsize::new(0),
        }
    }

    pub fn enter(&self) {
        self.guests.fetch_add(1, Ordering::Relaxed);
    }

    /// With all that it held.
    pub fn leave(&self, held: usize) {
        self.guests.fetch_sub(1, Ordering::Relaxed);
        self.give_back(held);
    }

    pub fn take(&self, octets: usize) {
        self.held.fetch_add(octets, Ordering::Relaxed);
    }

    pub fn give_back(&self, octets: usize) {
        self.held.fetch_sub(octets, Ordering::Relaxed);
    }

    /// So much one guest may hold now, and never more than `most`. While there is room nobody's share counts.
    pub fn bound(&self, most: usize) -> usize {
        if self.held.load(Ordering::Relaxed) <= self.together {
            return most;
        }
        let guests = self.guests.load(Ordering::Relaxed).max(1);
        (self.together / guests).max(self.least).min(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_count_once_the_room_is_full() {
        let room = Room::new(48 << 20, 128 << 10);
        (0..200).for_each(|_| room.enter());
        assert_eq!(room.bound(4 << 20), 4 << 20);
        room.take((48 << 20) + 1);
        assert_eq!(room.bound(4 << 20), (48 << 20) / 200);
        (0..1_800).for_each(|_| room.enter());
        assert_eq!(room.bound(4 << 20), 128 << 10);
        room.leave(2);
        assert_eq!(room.bound(4 << 20), 4 << 20);
    }
}
