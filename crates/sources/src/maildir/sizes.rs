//! How many octets messages have on the wire: counted once, as long as their files stay as they are.
//!
//! To count them takes the whole file, and a listing is asked for again and again. Nothing else of a message is kept.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::stamp::Stamp;

/// More than this are not kept: then it begins anew.
const MOST: usize = 200_000;

/// A state of a file, and where in it the message begins that is meant.
pub(super) type Of = (Stamp, u64);

#[derive(Default)]
pub(super) struct Sizes(Mutex<Counted>);

#[derive(Default)]
struct Counted {
    octets: HashMap<Of, u64>,
    #[cfg(test)]
    times: usize,
}

impl Sizes {
    pub(super) fn get(&self, of: &Of) -> Option<u64> {
        self.locked(|counted| counted.octets.get(of).copied())
    }

    pub(super) fn keep(&self, of: Of, octets: u64) {
        self.locked(|counted| {
            if counted.octets.len() >= MOST {
                counted.octets.clear();
            }
            counted.octets.insert(of, octets);
            #[cfg(test)]
            {
                counted.times += 1;
            }
        });
    }

    /// How often one had to be counted.
    #[cfg(test)]
    pub(super) fn times(&self) -> usize {
        self.locked(|counted| counted.times)
    }

    fn locked<T>(&self, work: impl FnOnce(&mut Counted) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
