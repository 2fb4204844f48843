//! Memory that the caches of all accounts share: a process with hundreds of accounts stays as small as its operator expects.
//! Holds nothing itself, and lets nothing go: each cache does that.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Octets that all caches together may hold before each must keep to its share.
const TOGETHER: usize = 48 << 20;
/// A share is never smaller: a message that was just read can be read on.
const LEAST: usize = 128 << 10;

/// That of this process.
pub(super) static ROOM: Room = Room::new();

pub(super) struct Room {
    held: AtomicUsize,
    caches: AtomicUsize,
}

impl Room {
    pub(super) const fn new() -> Self {
        Self {
            held: AtomicUsize::new(0),
            caches: AtomicUsize::new(0),
        }
    }

    pub(super) fn enter(&self) {
        self.caches.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn leave(&self, held: usize) {
        self.caches.fetch_sub(1, Ordering::Relaxed);
        self.give_back(held);
    }

    pub(super) fn take(&self, octets: usize) {
        self.held.fetch_add(octets, Ordering::Relaxed);
    }

    pub(super) fn give_back(&self, octets: usize) {
        self.held.fetch_sub(octets, Ordering::Relaxed);
    }

    /// So much one cache may hold now, and never more than `most`. While there is room nobody's share counts.
    pub(super) fn bound(&self, most: usize) -> usize {
        if self.held.load(Ordering::Relaxed) <= TOGETHER {
            return most;
        }
        let caches = self.caches.load(Ordering::Relaxed).max(1);
        (TOGETHER / caches).max(LEAST).min(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_count_once_the_room_is_full() {
        let room = Room::new();
        (0..200).for_each(|_| room.enter());
        assert_eq!(room.bound(4 << 20), 4 << 20);
        room.take(TOGETHER + 1);
        assert_eq!(room.bound(4 << 20), TOGETHER / 200);
        (0..1_800).for_each(|_| room.enter());
        assert_eq!(room.bound(4 << 20), LEAST);
        room.leave(2);
        assert_eq!(room.bound(4 << 20), 4 << 20);
    }
}
