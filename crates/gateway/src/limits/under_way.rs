//! How many calls of each kind are under way in this process. A place ends with its call, however that ends.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::Room;
use crate::knowledge::lock;

#[derive(Clone, Default)]
pub(crate) struct UnderWay(Arc<Mutex<HashMap<String, u32>>>);

/// Places of one call.
pub(crate) struct Held {
    of: UnderWay,
    names: Vec<String>,
}

impl UnderWay {
    /// A place in all of them, or in none: then which of them is full.
    pub(crate) fn hold(&self, rooms: &[Room]) -> Result<Held, usize> {
        let mut counts = lock(&self.0);
        let is_full = |room: &Room| {
            counts
                .get(&room.name)
                .is_some_and(|held| *held >= room.most)
        };
        if let Some(full) = rooms.iter().position(is_full) {
            return Err(full);
        }
        for room in rooms {
            *counts.entry(room.name.clone()).or_default() += 1;
        }
        Ok(Held {
            of: self.clone(),
            names: rooms.iter().map(|room| room.name.clone()).collect(),
        })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut counts = lock(&self.of.0);
        for name in &self.names {
            if let Some(count) = counts.get_mut(name) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    counts.remove(name);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Scope;

    fn room(name: &str, most: u32) -> Room {
        Room {
            name: name.to_owned(),
            scope: Scope::Caller,
            most,
        }
    }

    #[test]
    fn a_place_in_all_or_in_none_and_free_again_afterwards() {
        let under_way = UnderWay::default();
        let (wide, narrow) = (room("a", 3), room("b", 1));
        let both = [wide.clone(), narrow.clone()];
        let first = under_way.hold(&both).ok().unwrap();
        assert_eq!(under_way.hold(&both).err(), Some(1));
        let second = under_way.hold(std::slice::from_ref(&wide)).ok().unwrap();
        let third = under_way.hold(std::slice::from_ref(&wide)).ok().unwrap();
        assert_eq!(under_way.hold(&both).err(), Some(0));
        drop((first, second, third));
        assert!(lock(&under_way.0).is_empty());
    }

    #[test]
    fn a_call_that_falls_over_leaves_its_place() {
        let under_way = UnderWay::default();
        let inside = under_way.clone();
        let fell = std::thread::spawn(move || {
            let _held = inside.hold(&[room("a", 1)]);
            panic!("on purpose");
        });
        assert!(fell.join().is_err());
        assert!(under_way.hold(&[room("a", 1)]).is_ok());
    }
}
