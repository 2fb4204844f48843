//! Calls that were too many: the first of a kind in a minute is a record of its own, the others are counted and recorded together.
//!
//! So a flood is told, and cannot fill the disk.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use audit::{Event, Log};
use tokio::runtime::Handle;

use crate::knowledge::lock;

const A_MINUTE: Duration = Duration::from_secs(60);

/// Whose calls, of what, and why they were refused.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Kind {
    pub caller: String,
    /// INVARIANT: one of ours, or one word for all others, so that there are only so many kinds.
    pub tool: &'static str,
    pub reason: &'static str,
}

/// How one of them is recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Recorded {
    Singly,
    /// With others, when the minute is over.
    Counted,
}

/// Those of this minute: how many came after the first.
#[derive(Clone)]
pub(crate) struct Excess {
    counted: Arc<Mutex<HashMap<Kind, u64>>>,
    log: Log,
}

impl Excess {
    pub(crate) fn new(log: Log) -> Self {
        Self {
            counted: Arc::default(),
            log,
        }
    }

    pub(crate) fn one_more(&self, kind: Kind) -> Recorded {
        let mut counted = lock(&self.counted);
        if count(&mut counted, &kind) {
            return Recorded::Counted;
        }
        counted.insert(kind.clone(), 0);
        drop(counted);
        let later = self.clone();
        // A call may also be dropped where no task can be begun any more; then the process ends.
        let Ok(runtime) = Handle::try_current() else {
            return Recorded::Singly;
        };
        runtime.spawn(async move {
            tokio::time::sleep(A_MINUTE).await;
            let count = lock(&later.counted).remove(&kind);
            later.record(&kind, count.unwrap_or_default());
        });
        Recorded::Singly
    }

    /// Counts it, where the first of its kind has a record already.
    pub(crate) fn is_one_of_many(&self, kind: &Kind) -> bool {
        count(&mut lock(&self.counted), kind)
    }

    /// How many of a kind came after the first.
    #[cfg(test)]
    pub(crate) fn so_far(&self, kind: &Kind) -> Option<u64> {
        lock(&self.counted).get(kind).copied()
    }

    /// Before the process ends.
    pub(crate) fn record_all(&self) {
        let counted = std::mem::take(&mut *lock(&self.counted));
        for (kind, count) in counted {
            self.record(&kind, count);
        }
    }

    fn record(&self, kind: &Kind, count: u64) {
        if count > 0 {
            let event = Event::throttled(&kind.caller, kind.tool, kind.reason, count);
            self.log.note(event);
        }
    }
}

/// One more, unless it is the first.
fn count(counted: &mut HashMap<Kind, u64>, kind: &Kind) -> bool {
    let known = counted.get_mut(kind);
    known
        .map(|count| *count = count.saturating_add(1))
        .is_some()
}
