//! Those who are not served, as operators hear of them: all of them counted; in the audit log those who did not prove who they
//! are, on stderr why; both soon, and never so often that it fills the disk.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use audit::{Event, Log};

use super::asides::Asides;
use crate::watched::{Unserved, Watched};

/// In this time each address is told of once as it happens, and once by how often it was, for each reason.
const SPAN: Duration = Duration::from_secs(60);
/// Addresses and reasons that are told apart in that time; all others are counted together.
const MOST: usize = 64;

pub(super) struct Refusals {
    log: Log,
    watched: Watched,
    state: Mutex<State>,
    asides: Asides,
}

struct State {
    since: Instant,
    /// How often after the first time.
    again: HashMap<(IpAddr, Why), u64>,
    others: u64,
}

/// Why somebody is nobody. It is told to the log and not to them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Why {
    NoToken,
    UnknownToken,
    Expired,
    /// One that another server should vouch for.
    Unvouched,
    Scope,
    /// Whoever should vouch for it cannot be asked.
    IssuerAway,
}

impl From<Why> for Unserved {
    fn from(why: Why) -> Self {
        match why {
            Why::NoToken => Self::NoToken,
            Why::UnknownToken => Self::UnknownToken,
            Why::Expired => Self::ExpiredToken,
            Why::Unvouched => Self::InvalidToken,
            Why::Scope => Self::InsufficientScope,
            Why::IssuerAway => Self::IssuerUnavailable,
        }
    }
}

impl Why {
    fn word(self) -> &'static str {
        Unserved::from(self).name()
    }
}

impl Refusals {
    pub(super) fn new(log: Log, watched: Watched) -> Self {
        Self {
            log,
            watched,
            state: Mutex::new(State::new(Instant::now())),
            asides: Asides::default(),
        }
    }

    /// Somebody is not served. What it named, if that tells an operator what to do, is asked for only when it is said.
    pub(super) fn turned_away(
        &self,
        peer: IpAddr,
        why: Unserved,
        named: impl FnOnce() -> Option<String>,
    ) {
        self.watched.turned_away(why);
        self.asides.note(why, peer.to_canonical(), named);
    }

    /// Records a caller without proof. A record that is made for it is durable when this returns, so that no answer
    /// leaves before; what is only counted costs no wait.
    pub(super) async fn record(&self, peer: IpAddr, why: Why) {
        self.turned_away(peer, why.into(), || None);
        let events = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.note(peer, why, Instant::now())
        };
        if !events.is_empty() {
            events.into_iter().for_each(|event| self.log.note(event));
            self.log.settle().await;
        }
    }

    /// What was counted and not told.
    pub(super) fn tell(&self) {
        let events = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.tell(Instant::now())
        };
        events.into_iter().for_each(|event| self.log.note(event));
        self.asides.tell();
    }

    /// Never ends: what is counted is told when its time is over, also where nobody comes any more.
    pub(super) async fn keep_telling(&self) {
        loop {
            tokio::time::sleep(SPAN).await;
            self.tell();
        }
    }
}

impl State {
    fn new(now: Instant) -> Self {
        Self {
            since: now,
            again: HashMap::new(),
            others: 0,
        }
    }

    fn note(&mut self, peer: IpAddr, why: Why, now: Instant) -> Vec<Event> {
        let mut events = match now.duration_since(self.since) < SPAN {
            true => Vec::new(),
            false => self.tell(now),
        };
        let room = self.again.len() < MOST;
        match self.again.get_mut(&(peer, why)) {
            Some(times) => *times += 1,
            None if room => {
                self.again.insert((peer, why), 0);
                events.push(Event::callers_refused(&address(peer), why.word(), 1));
            }
            None => self.others += 1,
        }
        events
    }

    fn tell(&mut self, now: Instant) -> Vec<Event> {
        let State { again, others, .. } = std::mem::replace(self, Self::new(now));
        let again = again.into_iter().filter(|(_, times)| *times > 0);
        let told = again
            .map(|((peer, why), times)| Event::callers_refused(&address(peer), why.word(), times));
        let others = (others > 0).then(|| Event::callers_refused("http:others", "again", others));
        told.chain(others).collect()
    }
}

/// Without the port: it is another each time.
fn address(peer: IpAddr) -> String {
    format!("http:{}", peer.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Behind a proxy all of them have one address.
    #[test]
    fn one_who_comes_often_hides_nobody_who_comes_for_another_reason() {
        let begin = Instant::now();
        let mut state = State::new(begin);
        let peer = IpAddr::from([127, 0, 0, 1]);
        let mut come = |why| state.note(peer, why, begin).len();
        let told = [Why::UnknownToken, Why::UnknownToken, Why::Expired].map(&mut come);
        assert_eq!(told, [1, 0, 1]);
        assert_eq!(come(Why::Expired), 0);
        assert_eq!(state.tell(begin).len(), 2);
    }

    #[test]
    fn a_flood_becomes_a_few_records() {
        let begin = Instant::now();
        let mut state = State::new(begin);
        let mut records = 0;
        for number in 0..100_000_u32 {
            let peer = IpAddr::from(std::net::Ipv4Addr::from(number % 1_000));
            let at = begin + Duration::from_millis(u64::from(number) / 10);
            records += state.note(peer, Why::NoToken, at).len();
        }
        records += state.tell(begin + SPAN).len();
        // Each of those told apart once and once more, and all others in one.
        assert_eq!(records, MOST + MOST + 1);
        assert!(state.tell(begin + SPAN).is_empty());
        let again = state.note(IpAddr::from([127, 0, 0, 1]), Why::NoToken, begin + SPAN);
        assert_eq!(again.len(), 1);
    }
}
