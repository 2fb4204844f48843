//! What is known of a log from outside: whether it can be written, how many calls are under way, and where a record is.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::{Hash, LogId};

/// When so many calls are under way, others are about to end too.
const CROWD: usize = 8;

/// Proof that something is in the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Receipt {
    pub log_id: LogId,
    pub seq: u64,
    pub leaf_hash: Hash,
}

/// The log cannot be written, and why, in words that name no path.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unavailable {
    #[error("{0}")]
    Failed(String),
    #[error("there is no directory for it; set MAILWARDEN_STATE_DIR")]
    Nowhere,
    #[error("the disk does not answer, or another process holds the log")]
    NoAnswer,
    #[error("the log is closed")]
    Closed,
    #[error("its writer has ended; please report this, and start mailwarden again")]
    NoWriter,
}

impl From<&io::Error> for Unavailable {
    fn from(error: &io::Error) -> Self {
        // Errors that carry a path keep it in their text alone.
        Self::Failed(match (error.raw_os_error(), error.kind()) {
            (Some(code), _) => io::Error::from_raw_os_error(code).to_string(),
            (None, io::ErrorKind::Other) => error.to_string(),
            (None, kind) => kind.to_string(),
        })
    }
}

/// How the log is doing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Health {
    /// Nothing was written yet.
    #[default]
    Untried,
    Good {
        log_id: LogId,
        records: u64,
    },
    Bad(Unavailable),
}

/// What was said and is not yet durable.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Lag {
    /// Records that wait.
    pub waiting: u64,
    /// How long the oldest of them has waited, at most.
    pub oldest: Option<Duration>,
    /// How often the log could not be written.
    pub failures: u64,
}

#[derive(Default)]
struct Queue {
    waiting: u64,
    since: Option<Instant>,
    failures: u64,
}

/// Shared between the writer and those who ask.
#[derive(Default)]
pub(crate) struct Status {
    health: Mutex<Health>,
    queue: Mutex<Queue>,
    /// Calls that have an entry and have not closed it.
    under_way: AtomicUsize,
}

impl Status {
    pub(crate) fn health(&self) -> Health {
        self.lock().clone()
    }

    pub(crate) fn set(&self, health: Health) {
        *self.lock() = health;
    }

    fn lock(&self) -> MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn lag(&self) -> Lag {
        let queue = self.queue();
        Lag {
            waiting: queue.waiting,
            oldest: queue.since.map(|since| since.elapsed()),
            failures: queue.failures,
        }
    }

    /// A record is to be made durable.
    pub(crate) fn queued(&self) {
        let mut queue = self.queue();
        queue.waiting += 1;
        queue.since.get_or_insert_with(Instant::now);
    }

    /// One that will never be.
    pub(crate) fn given_up(&self) {
        let mut queue = self.queue();
        queue.waiting = queue.waiting.saturating_sub(1);
    }

    /// So many records are durable. Those that still wait came after `gathered`.
    pub(crate) fn settled(&self, records: usize, gathered: Instant) {
        let mut queue = self.queue();
        let records = u64::try_from(records).unwrap_or(u64::MAX);
        queue.waiting = queue.waiting.saturating_sub(records);
        queue.since = match queue.waiting {
            0 => None,
            _ => queue.since.map(|since| since.max(gathered)),
        };
    }

    pub(crate) fn failed(&self) {
        self.queue().failures += 1;
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn count(&self, under_way: usize) {
        self.under_way.store(under_way, Ordering::Relaxed);
    }

    pub(crate) fn is_crowded(&self) -> bool {
        self.under_way.load(Ordering::Relaxed) >= CROWD
    }
}
