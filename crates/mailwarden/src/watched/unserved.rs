//! Why a request or a connection over HTTP was not served, and how often. It names nobody.

use std::sync::atomic::{AtomicU64, Ordering};

/// A word of ours for each; the same as in the audit log, where that has one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unserved {
    /// For a name that this server does not go by.
    Host,
    /// Nobody could say for which name.
    UnclearHost,
    Origin,
    Path,
    Method,
    NoToken,
    UnknownToken,
    ExpiredToken,
    InvalidToken,
    InsufficientScope,
    IssuerUnavailable,
    /// Of another caller, or one that never was.
    Session,
    /// A head that is too large, or none.
    BadHead,
    BadBody,
    TooLarge,
    Slow,
    /// An answer that nobody reads.
    Unread,
    /// Nothing was proven for too long.
    Unproven,
    Tls,
    NoRoom,
    TooManyStreams,
    TooManyConnections,
}

/// How many reasons there are.
const REASONS: usize = Unserved::ALL.len();

/// How often, by reason.
#[derive(Default)]
pub(super) struct Counts([AtomicU64; REASONS]);

impl Unserved {
    pub(crate) const ALL: [Self; 22] = [
        Self::Host,
        Self::UnclearHost,
        Self::Origin,
        Self::Path,
        Self::Method,
        Self::NoToken,
        Self::UnknownToken,
        Self::ExpiredToken,
        Self::InvalidToken,
        Self::InsufficientScope,
        Self::IssuerUnavailable,
        Self::Session,
        Self::BadHead,
        Self::BadBody,
        Self::TooLarge,
        Self::Slow,
        Self::Unread,
        Self::Unproven,
        Self::Tls,
        Self::NoRoom,
        Self::TooManyStreams,
        Self::TooManyConnections,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::UnclearHost => "unclear_host",
            Self::Origin => "origin",
            Self::Path => "path",
            Self::Method => "method",
            Self::NoToken => "no_token",
            Self::UnknownToken => "unknown_token",
            Self::ExpiredToken => "expired_token",
            Self::InvalidToken => "invalid_token",
            Self::InsufficientScope => "insufficient_scope",
            Self::IssuerUnavailable => "issuer_unavailable",
            Self::Session => "session",
            Self::BadHead => "bad_head",
            Self::BadBody => "bad_body",
            Self::TooLarge => "too_large",
            Self::Slow => "slow",
            Self::Unread => "unread",
            Self::Unproven => "unproven",
            Self::Tls => "tls",
            Self::NoRoom => "no_room",
            Self::TooManyStreams => "too_many_streams",
            Self::TooManyConnections => "too_many_connections",
        }
    }
}

impl Counts {
    pub(super) fn count(&self, why: Unserved) {
        for (count, which) in self.0.iter().zip(Unserved::ALL) {
            if which == why {
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (Unserved, u64)> {
        let counts = self.0.iter().map(|count| count.load(Ordering::Relaxed));
        Unserved::ALL.into_iter().zip(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_counted_by_a_word_of_its_own() {
        let counts = Counts::default();
        for (times, why) in (1..).zip(Unserved::ALL) {
            (0..times).for_each(|_| counts.count(why));
        }
        for (times, (why, counted)) in (1..).zip(counts.all()) {
            assert_eq!(counted, times, "{why:?}");
        }
        let mut names = Unserved::ALL.map(Unserved::name);
        names.sort_unstable();
        assert!(names.windows(2).all(|two| two[0] != two[1]), "{names:?}");
    }
}
