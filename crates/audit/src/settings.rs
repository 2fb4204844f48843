//! Where a log is, what time it is, and what is done with it beside being written.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::retention::Retention;

/// What time it is. Given from outside, so that a test can let days pass.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

#[derive(Clone, Debug)]
pub struct Settings {
    /// None when the program has nowhere to keep a log: then nothing can be recorded, and nothing is done.
    pub dir: Option<PathBuf>,
    pub clock: Clock,
    /// Without it the log is only written: whoever does not know how long days are to be kept, keeps them.
    pub keeping: Option<Keeping>,
}

/// What is done with a log beside being written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Keeping {
    pub retention: Retention,
    /// A program that is handed the root of the tree.
    pub root_hook: Option<PathBuf>,
    /// How often a checkpoint is signed, and the root handed on.
    pub checkpoint_every: Duration,
}

impl Settings {
    /// A log that is only written.
    pub fn new(dir: Option<PathBuf>) -> Self {
        Self {
            dir,
            clock: Clock::new(Timestamp::now),
            keeping: None,
        }
    }
}

impl Default for Keeping {
    fn default() -> Self {
        Self {
            retention: Retention::default(),
            root_hook: None,
            checkpoint_every: Duration::from_secs(3_600),
        }
    }
}
