//! Why somebody is not served, as a line on stderr: the first of a minute as it happens, the others by how often they were.

use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::watched::Unserved;

/// In this time each reason is told once as it happens, and once by how often it was.
const SPAN: Duration = Duration::from_secs(60);

#[derive(Default)]
pub(super) struct Asides(Mutex<Vec<Said>>);

struct Said {
    why: Unserved,
    since: Instant,
    /// How often after the first time.
    again: u64,
}

/// Whether a line is worth it where nobody asked for more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Weight {
    /// An operator may have to do something.
    Warning,
    /// What clients do by themselves, or what the audit log has.
    Remark,
}

impl Asides {
    pub(super) fn note(&self, why: Unserved, peer: IpAddr, named: impl FnOnce() -> Option<String>) {
        let (before, first) = self.count(why, Instant::now());
        say_again(why, before);
        if first {
            say(why, peer, named());
        }
    }

    /// What was counted and not told.
    pub(super) fn tell(&self) {
        let all = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *all)
        };
        all.into_iter()
            .for_each(|said| say_again(said.why, said.again));
    }

    /// How often it was in a time that is over, and whether this is the first of another.
    fn count(&self, why: Unserved, now: Instant) -> (u64, bool) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match all.iter_mut().find(|said| said.why == why) {
            Some(said) if now.duration_since(said.since) < SPAN => {
                said.again += 1;
                (0, false)
            }
            Some(said) => {
                said.since = now;
                (std::mem::take(&mut said.again), true)
            }
            None => {
                all.push(Said {
                    why,
                    since: now,
                    again: 0,
                });
                (0, true)
            }
        }
    }
}

fn say(why: Unserved, peer: IpAddr, named: Option<String>) {
    let (words, weight) = words(why);
    let (reason, from) = (why.name(), peer.to_string());
    let named = named.unwrap_or_default();
    match (weight, named.is_empty()) {
        (Weight::Warning, true) => tracing::warn!(reason, from, "not served: {words}"),
        (Weight::Warning, false) => tracing::warn!(reason, from, named, "not served: {words}"),
        (Weight::Remark, _) => tracing::info!(reason, from, "not served: {words}"),
    }
}

fn say_again(why: Unserved, times: u64) {
    let (words, weight) = words(why);
    let reason = why.name();
    match weight {
        _ if times == 0 => {}
        Weight::Warning => tracing::warn!(reason, times, "not served again: {words}"),
        Weight::Remark => tracing::info!(reason, times, "not served again: {words}"),
    }
}

fn words(why: Unserved) -> (&'static str, Weight) {
    use Weight::{Remark, Warning};
    match why {
        Unserved::Host => (
            "a request for a name that this server does not go by (--allowed-host lists one)",
            Warning,
        ),
        Unserved::UnclearHost => ("a request without one readable name", Warning),
        Unserved::Origin => (
            "a page of an origin that is not listed (--allowed-origin lists one)",
            Warning,
        ),
        Unserved::Path => ("a path that there is not", Remark),
        Unserved::Method => ("a method that there is not", Remark),
        Unserved::NoToken => ("a request without a token", Remark),
        Unserved::UnknownToken => ("a token that is nobody's", Remark),
        Unserved::ExpiredToken => ("a token that has expired", Remark),
        Unserved::InvalidToken => ("a token that the issuer does not vouch for", Remark),
        Unserved::InsufficientScope => ("a token without the scopes that are needed", Remark),
        Unserved::IssuerUnavailable => ("the issuer's keys cannot be had", Remark),
        Unserved::Session => ("a session that there is not", Remark),
        Unserved::BadHead => ("a head that is too large, or none", Remark),
        Unserved::BadBody => ("a body that ended early, or cannot be read", Remark),
        Unserved::TooLarge => ("a body that is too large", Warning),
        Unserved::Slow => ("a body that came too slowly", Warning),
        Unserved::Unread => ("an answer that was not read", Warning),
        Unserved::Unproven => ("a connection that proved nothing in time", Remark),
        Unserved::Tls => ("a connection that came to no agreement on TLS", Remark),
        Unserved::NoRoom => ("there is no room for more bodies", Warning),
        Unserved::TooManyStreams => ("there are too many streams that listen", Warning),
        Unserved::TooManyConnections => ("there are too many connections", Warning),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_becomes_a_line_in_a_minute_and_a_count() {
        let (asides, begin) = (Asides::default(), Instant::now());
        let mut lines = 0;
        for number in 0..10_000_u32 {
            let at = begin + Duration::from_millis(u64::from(number) * 5);
            lines += usize::from(asides.count(Unserved::Host, at).1);
        }
        assert_eq!(lines, 1);
        // Another reason has a line of its own, and the next minute says how often it was in the one before.
        assert_eq!(asides.count(Unserved::Origin, begin), (0, true));
        assert_eq!(asides.count(Unserved::Host, begin + SPAN), (9_999, true));
        assert_eq!(asides.count(Unserved::Host, begin + SPAN), (0, false));
    }
}
