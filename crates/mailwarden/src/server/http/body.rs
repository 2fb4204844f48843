//! The body of a request, read whole and within bounds: so large, so slow, and so much of all bodies together and of one
//! caller's.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::HeaderMap;
use axum::http::header::CONTENT_LENGTH;
use bytes::{Bytes, BytesMut};
use gateway::Caller;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use crate::watched::Unserved;

/// The largest request: a draft with what is attached to it.
pub(super) const MOST: usize = 4 << 20;
/// Most requests are no larger, and none of those waits for room that drafts take.
const SMALL: usize = 64 << 10;
/// Of all requests that are read or answered at a time: small ones, and others.
const SMALL_IN_ALL: usize = 16 << 20;
const LARGE_IN_ALL: usize = 48 << 20;
/// What one caller may have of each.
const SHARE: usize = 4;
/// Nothing may come for so long.
const SILENCE: Duration = Duration::from_secs(10);
/// And it must be here after that.
const WHOLE: Duration = Duration::from_secs(30);

/// Room for bodies. Clones are the same one.
#[derive(Clone)]
pub(super) struct Room(Arc<Mutex<Shelves>>);

struct Shelves {
    small: Shelf,
    large: Shelf,
}

/// So many bytes, and whose they are.
struct Shelf {
    most: usize,
    taken: usize,
    of: HashMap<String, usize>,
}

/// A body, and the room that it takes until it is dropped.
pub(super) struct Read {
    pub bytes: Bytes,
    pub room: Taken,
}

/// Room that is free again when this is dropped.
pub(super) struct Taken {
    room: Room,
    caller: String,
    bytes: usize,
}

/// Why a body is not read to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unread {
    TooLarge,
    Slow,
    /// Cut off, or framed so that nobody can read it.
    Broken,
    NoRoom,
}

impl From<Unread> for Unserved {
    fn from(unread: Unread) -> Self {
        match unread {
            Unread::TooLarge => Self::TooLarge,
            Unread::Slow => Self::Slow,
            Unread::Broken => Self::BadBody,
            Unread::NoRoom => Self::NoRoom,
        }
    }
}

impl Room {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(Shelves {
            small: Shelf::new(SMALL_IN_ALL),
            large: Shelf::new(LARGE_IN_ALL),
        })))
    }

    /// Nobody waits for room: who finds none is told to come back.
    pub(super) async fn read(
        &self,
        caller: &Caller,
        headers: &HeaderMap,
        body: Incoming,
    ) -> Result<Read, Unread> {
        let said = headers.get(CONTENT_LENGTH);
        let said = said.and_then(|said| said.to_str().ok()?.parse::<usize>().ok());
        if said.is_some_and(|said| said > MOST) {
            return Err(Unread::TooLarge);
        }
        let whole = tokio::time::timeout(WHOLE, self.collect(caller, body));
        whole.await.unwrap_or(Err(Unread::Slow))
    }

    async fn collect(&self, caller: &Caller, mut body: Incoming) -> Result<Read, Unread> {
        let mut bytes = BytesMut::new();
        let mut room = self.for_one_of(caller.as_str());
        loop {
            let frame = tokio::time::timeout(SILENCE, body.frame()).await;
            let frame = match frame.map_err(|_| Unread::Slow)? {
                None => break,
                Some(Err(_)) => return Err(Unread::Broken),
                Some(Ok(frame)) => frame,
            };
            let Ok(data) = frame.into_data() else {
                continue;
            };
            let length = bytes.len() + data.len();
            if length > MOST {
                return Err(Unread::TooLarge);
            }
            if !room.grows_to(length) {
                return Err(Unread::NoRoom);
            }
            bytes.extend_from_slice(&data);
        }
        Ok(Read {
            bytes: bytes.freeze(),
            room,
        })
    }

    fn for_one_of(&self, caller: &str) -> Taken {
        Taken {
            room: self.clone(),
            caller: caller.to_owned(),
            bytes: 0,
        }
    }

    fn shelves(&self) -> MutexGuard<'_, Shelves> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    /// False where there is no room for it; then it has none.
    fn grows_to(&mut self, bytes: usize) -> bool {
        let mut shelves = self.room.shelves();
        shelves.of(self.bytes).give_back(&self.caller, self.bytes);
        let fits = shelves.of(bytes).take(&self.caller, bytes);
        self.bytes = if fits { bytes } else { 0 };
        fits
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut shelves = self.room.shelves();
        shelves.of(self.bytes).give_back(&self.caller, self.bytes);
    }
}

impl Shelves {
    fn of(&mut self, bytes: usize) -> &mut Shelf {
        match bytes <= SMALL {
            true => &mut self.small,
            false => &mut self.large,
        }
    }
}

impl Shelf {
    fn new(most: usize) -> Self {
        Self {
            most,
            taken: 0,
            of: HashMap::new(),
        }
    }

    /// INVARIANT: never more than there is, and never more of one caller than its share.
    fn take(&mut self, caller: &str, bytes: usize) -> bool {
        let own = self.of.get(caller).copied().unwrap_or_default() + bytes;
        let fits = self.taken + bytes <= self.most && own <= self.most / SHARE;
        if fits && bytes > 0 {
            self.taken += bytes;
            self.of.insert(caller.to_owned(), own);
        }
        fits
    }

    fn give_back(&mut self, caller: &str, bytes: usize) {
        self.taken = self.taken.saturating_sub(bytes);
        match self.of.get_mut(caller) {
            Some(own) if *own > bytes => *own -= bytes,
            _ => drop(self.of.remove(caller)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// So many bodies of this length find room.
    fn fill(room: &Room, caller: &str, length: usize) -> Vec<Taken> {
        let all = std::iter::repeat_with(|| {
            let mut one = room.for_one_of(caller);
            one.grows_to(length).then_some(one)
        });
        all.map_while(|one| one).collect()
    }

    #[test]
    fn one_callers_drafts_leave_room_for_others_and_for_small_requests() {
        let room = Room::new();
        let greedy = fill(&room, "greedy", MOST - 1);
        assert_eq!(greedy.len(), LARGE_IN_ALL / SHARE / MOST);
        assert!(!fill(&room, "greedy", SMALL).is_empty());
        let others: Vec<_> = (0..8)
            .flat_map(|other| fill(&room, &format!("other{other}"), MOST))
            .collect();
        assert_eq!(greedy.len() + others.len(), LARGE_IN_ALL / MOST);
        // Nothing is left for drafts, and who asks for little does not notice.
        assert!(!room.for_one_of("modest").grows_to(SMALL + 1));
        assert!(room.for_one_of("modest").grows_to(SMALL));
        drop((greedy, others));
        let shelves = room.shelves();
        assert!(shelves.large.of.is_empty() && shelves.small.of.is_empty());
    }

    proptest! {
        /// However bodies come, grow and go: the books are right.
        #[test]
        fn what_is_taken_is_what_is_held(
            steps in proptest::collection::vec((0..4usize, 0..MOST, any::<bool>()), 1..200),
        ) {
            let room = Room::new();
            let mut held: Vec<Taken> = Vec::new();
            for (who, length, grows) in steps {
                let last = held.last_mut().filter(|_| grows);
                if let Some(last) = last {
                    last.grows_to(length);
                } else if length % 3 == 0 && !held.is_empty() {
                    drop(held.swap_remove(0));
                } else {
                    let mut one = room.for_one_of(&format!("caller{who}"));
                    one.grows_to(length);
                    held.push(one);
                }
                let sum = |small: bool| -> usize {
                    let those = held.iter().filter(|one| (one.bytes <= SMALL) == small);
                    those.map(|one| one.bytes).sum()
                };
                let (small, large) = (sum(true), sum(false));
                let shelves = room.shelves();
                prop_assert_eq!((shelves.small.taken, shelves.large.taken), (small, large));
                for shelf in [&shelves.small, &shelves.large] {
                    prop_assert!(shelf.taken <= shelf.most);
                    prop_assert!(shelf.of.values().all(|own| *own <= shelf.most / SHARE));
                }
            }
            drop(held);
            let shelves = room.shelves();
            prop_assert_eq!((shelves.small.taken, shelves.large.taken), (0, 0));
        }
    }
}
