//! The end of a process, in order: from when it is told to end it says so, and it is gone within ten seconds.
//!
//! It ends nothing itself. Transports begin it, bound what they wait for by it, and health tells of it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// From being told to end until the end.
pub(crate) const LONGEST: Duration = Duration::from_secs(10);

/// Shared by all who serve; clones are the same one.
#[derive(Clone, Debug)]
pub(crate) struct Draining(Arc<watch::Sender<Option<Instant>>>);

impl Default for Draining {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(None)))
    }
}

impl Draining {
    /// The countdown runs from the first time.
    pub(crate) fn begin(&self) {
        self.0.send_if_modified(|begun| {
            let first = begun.is_none();
            begun.get_or_insert_with(Instant::now);
            first
        });
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// What is left of the time; all of it while nobody has begun.
    pub(crate) fn left(&self) -> Duration {
        let begun = *self.0.borrow();
        begun.map_or(LONGEST, |begun| LONGEST.saturating_sub(begun.elapsed()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_countdown_runs_from_the_first_word() {
        let draining = Draining::default();
        assert!(!draining.has_begun());
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(draining.left(), LONGEST);
        draining.begin();
        tokio::time::advance(Duration::from_secs(4)).await;
        draining.clone().begin();
        assert!(draining.has_begun());
        assert_eq!(draining.left(), Duration::from_secs(6));
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(draining.left(), Duration::ZERO);
    }
}
