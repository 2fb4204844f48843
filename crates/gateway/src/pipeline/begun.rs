//! When a call began and the name it goes by, and what is said of it when it is over.

use std::time::Instant;

use jiff::Timestamp;
use mail::Cx;

use crate::envelope::Facts;
use crate::setup::Standing;

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

/// When a call began, and the name it goes by.
pub(super) struct Begun {
    pub(super) now: Timestamp,
    instant: Instant,
    pub(super) request_id: String,
    telemetry: bool,
}

impl Begun {
    /// What it took is told to the owner alone.
    pub(super) fn by(standing: &Standing) -> Self {
        Self {
            telemetry: standing.policy.is_owner(),
            ..Self::now()
        }
    }

    /// It came then, and waited.
    pub(super) fn since(self, instant: Instant) -> Self {
        Self { instant, ..self }
    }

    pub(super) fn now() -> Self {
        Self {
            now: Timestamp::now(),
            instant: Instant::now(),
            // Only a name for tracing: without randomness all calls share one, and nothing else breaks.
            request_id: format!("req_{:016x}", random().unwrap_or(0)),
            telemetry: false,
        }
    }

    pub(super) fn facts(&self, cx: &Cx) -> Facts {
        Facts {
            request_id: self.request_id.clone(),
            fence: fence(random(), self.now),
            now: Timestamp::now(),
            duration_ms: u64::try_from(self.instant.elapsed().as_millis()).unwrap_or(u64::MAX),
            round_trips: cx.round_trips(),
            cache_hit: cx.cache_hit(),
            telemetry: self.telemetry,
            receipt: None,
        }
    }
}
