//! When a call began and the name it goes by, and what is said of it when it is over.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use audit::Decision;
use jiff::Timestamp;
use mail::{Cx, TraceParent};

use super::Gateway;
use crate::envelope::Facts;
use crate::knowledge::lock;
use crate::setup::Standing;
use crate::watch::{self, Cache, Ended, OTHER, Watch};

fn random() -> Option<u64> {
    let mut random = [0u8; 8];
    getrandom::fill(&mut random).ok()?;
    Some(u64::from_le_bytes(random))
}

/// Not the request's name, which callers may show to others. Without randomness the time has to do.
fn fence(random: Option<u64>, now: Timestamp) -> String {
    let number = random.unwrap_or_else(|| now.as_nanosecond().unsigned_abs() as u64);
    format!("{number:016x}")
}

/// When a call began, and the name it goes by. Whoever watches is told when it is dropped.
pub(super) struct Begun {
    pub(super) now: Timestamp,
    instant: Instant,
    pub(super) request_id: String,
    telemetry: bool,
    watch: Option<Arc<dyn Watch>>,
    ending: Mutex<Ending>,
}

/// What is known so far of how it ends.
#[derive(Clone, Copy, Debug)]
struct Ending {
    tool: &'static str,
    decision: Decision,
    reason: &'static str,
    result: &'static str,
    round_trips: u32,
    cache: Cache,
    parent: Option<TraceParent>,
}

impl Begun {
    /// What it took is told to the owner alone.
    pub(super) fn by(standing: &Standing) -> Self {
        let mut begun = Self::now();
        begun.telemetry = standing.policy.is_owner();
        begun
    }

    /// It came then, and waited.
    pub(super) fn since(mut self, instant: Instant) -> Self {
        self.instant = instant;
        self
    }

    pub(super) fn now() -> Self {
        Self {
            now: Timestamp::now(),
            instant: Instant::now(),
            // Only a name for tracing: without randomness all calls share one, and nothing else breaks.
            request_id: format!("req_{:016x}", random().unwrap_or(0)),
            telemetry: false,
            watch: None,
            // Whoever says nothing more was given up.
            ending: Mutex::new(Ending {
                tool: OTHER,
                decision: Decision::Allow,
                reason: "",
                result: "cancelled",
                round_trips: 0,
                cache: Cache::Miss,
                parent: None,
            }),
        }
    }

    /// Somebody wants to know how it ends.
    pub(super) fn watched(mut self, gateway: &Gateway, tool: &str, cx: &Cx) -> Self {
        self.watch.clone_from(&gateway.watch);
        if self.watch.is_some() {
            let mut ending = lock(&self.ending);
            (ending.tool, ending.parent) = (watch::known(tool), cx.parent());
        }
        self
    }

    pub(super) fn decided(&self, decision: Decision, reason: &'static str) {
        let mut ending = lock(&self.ending);
        (ending.decision, ending.reason) = (decision, reason);
    }

    pub(super) fn came_to(&self, result: &'static str) {
        lock(&self.ending).result = result;
    }

    pub(super) fn facts(&self, cx: &Cx) -> Facts {
        let mut ending = lock(&self.ending);
        ending.round_trips = cx.round_trips();
        ending.cache = match cx.cache_hit() {
            true => Cache::Hit,
            false => Cache::Miss,
        };
        Facts {
            request_id: self.request_id.clone(),
            fence: fence(random(), self.now),
            now: Timestamp::now(),
            duration_ms: u64::try_from(self.instant.elapsed().as_millis()).unwrap_or(u64::MAX),
            round_trips: cx.round_trips(),
            cache_hit: cx.cache_hit(),
            telemetry: self.telemetry,
        }
    }

    fn tell(&self, watch: &dyn Watch) {
        let ending = *lock(&self.ending);
        watch.ended(&Ended {
            tool: ending.tool,
            decision: ending.decision,
            reason: ending.reason,
            result: ending.result,
            took: self.instant.elapsed(),
            round_trips: ending.round_trips,
            cache: ending.cache,
            request_id: &self.request_id,
            parent: ending.parent,
        });
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        if let Some(watch) = self.watch.take() {
            self.tell(watch.as_ref());
        }
    }
}
