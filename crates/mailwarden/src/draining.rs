//! The end of a process, in order: from when it is told to end it says so, and it is gone within ten seconds.
//!
//! It ends nothing itself. Transports begin it, bound what they wait for by it, and health tells of it.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// From being told to end until the end.
pub(crate) const LONGEST: Duration = Duration::from_secs(10);

/// Shared by all who serve; clones are the same one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draining(Arc<OnceLock<Instant>>);

impl Draining {
    /// The countdown runs from the first time.
    pub(crate) fn begin(&self) {
        self.begin_at(Instant::now());
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.0.get().is_some()
    }

    /// What is left of the time; all of it while nobody has begun.
    pub(crate) fn left(&self) -> Duration {
        self.left_at(Instant::now())
    }

    fn begin_at(&self, now: Instant) {
        let _ = self.0.set(now);
    }

    fn left_at(&self, now: Instant) -> Duration {
        let begun = self.0.get();
        begun.map_or(LONGEST, |begun| {
            LONGEST.saturating_sub(now.duration_since(*begun))
        })
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
        assert_eq!(draining.left_at(after(60)), LONGEST);
        draining.begin_at(after(60));
        draining.clone().begin_at(after(64));
        assert!(draining.has_begun());
        assert_eq!(draining.left_at(after(64)), Duration::from_secs(6));
        assert_eq!(draining.left_at(after(100)), Duration::ZERO);
    }
}
