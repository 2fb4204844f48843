//! The end of a process, in order: from when it is told to end it says so, and it is gone within ten seconds.
//!
//! It ends nothing itself. Transports begin it, bound what they wait for by it, and health tells of it.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// From being told to end until the end.
pub(crate) const LONGEST: Duration = Duration::from_secs(10);

/// What is kept of that for what comes after the last call: traces, tokens that are being refreshed, the log, the ledger.
const LAST: Duration = Duration::from_secs(3);

/// When this process was told to end: there is one end for all that has to come before it.
static TOLD: OnceLock<Instant> = OnceLock::new();

/// What is left until this process is gone; all of it while nobody has told it to end.
pub(crate) fn left() -> Duration {
    until(TOLD.get().copied(), LONGEST, Instant::now())
}

fn until(begun: Option<Instant>, longest: Duration, now: Instant) -> Duration {
    begun.map_or(longest, |begun| {
        longest.saturating_sub(now.duration_since(begun))
    })
}

/// Shared by all who serve; clones are the same one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draining(Arc<OnceLock<Instant>>);

impl Draining {
    /// The countdown runs from the first time.
    pub(crate) fn begin(&self) {
        let now = Instant::now();
        let _ = TOLD.set(now);
        self.begin_at(now);
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.0.get().is_some()
    }

    /// How long calls may still take; all of their time while nobody has begun.
    pub(crate) fn left(&self) -> Duration {
        self.left_at(Instant::now())
    }

    fn begin_at(&self, now: Instant) {
        let _ = self.0.set(now);
    }

    fn left_at(&self, now: Instant) -> Duration {
        until(self.0.get().copied(), LONGEST - LAST, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_countdown_runs_from_the_first_word() {
        let draining = Draining::default();
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        assert!(!draining.has_begun());
        assert_eq!(draining.left_at(after(60)), LONGEST - LAST);
        draining.begin_at(after(60));
        draining.clone().begin_at(after(64));
        assert!(draining.has_begun());
        assert_eq!(draining.left_at(after(64)), Duration::from_secs(3));
        // What comes after the last call has what calls did not get, and no more.
        let told = Some(after(60));
        assert_eq!(until(told, LONGEST, after(67)), LAST);
        assert_eq!(until(told, LONGEST, after(71)), Duration::ZERO);
        assert_eq!(draining.left_at(after(100)), Duration::ZERO);
    }
}
