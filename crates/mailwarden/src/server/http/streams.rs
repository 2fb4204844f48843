//! Streams that stay open until something happens: so many, and so many of one caller.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gateway::Caller;

const IN_ALL: usize = 512;
const OF_ONE: usize = 64;

#[derive(Default)]
pub(super) struct Streams(Mutex<HashMap<String, usize>>);

/// Room for one, until it is dropped.
pub(super) struct Listening {
    streams: Arc<Streams>,
    caller: String,
}

impl Streams {
    pub(super) fn begin(self: &Arc<Self>, caller: &Caller) -> Option<Listening> {
        let mut open = self.open();
        let own = open.get(caller.as_str()).copied().unwrap_or_default();
        if own >= OF_ONE || open.values().sum::<usize>() >= IN_ALL {
            return None;
        }
        open.insert(caller.as_str().to_owned(), own + 1);
        Some(Listening {
            streams: Arc::clone(self),
            caller: caller.as_str().to_owned(),
        })
    }

    fn open(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut open = self.streams.open();
        match open.get_mut(&self.caller) {
            Some(own) if *own > 1 => *own -= 1,
            _ => drop(open.remove(&self.caller)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_caller_leaves_room_for_others() {
        let streams = Arc::new(Streams::default());
        let caller = |id: &str| Caller::new(id, "", gateway::Credential::default());
        let greedy: Vec<_> = (0..OF_ONE).map(|_| streams.begin(&caller("a"))).collect();
        assert!(greedy.iter().all(Option::is_some));
        assert!(streams.begin(&caller("a")).is_none());
        assert!(streams.begin(&caller("b")).is_some());
        drop(greedy);
        assert!(streams.open().is_empty());
    }
}
