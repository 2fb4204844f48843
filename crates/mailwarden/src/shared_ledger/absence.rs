//! What is known of a server that does not answer: who asks it holds a thread until it gives up, so one asks for all.
//!
//! It asks nobody itself, and reads no clock.

use std::time::{Duration, Instant};

/// So long nobody asks after somebody had no answer.
const PAUSE: Duration = Duration::from_secs(1);
/// So long the others leave it to the one who asks: longer than a ledger tries.
const ASKING: Duration = Duration::from_secs(15);

#[derive(Debug, Default)]
pub(super) struct Absence(Option<Away>);

#[derive(Debug)]
struct Away {
    until: Instant,
    why: String,
}

impl Absence {
    /// An error is what somebody else was told a moment ago. Whoever may ask says what came of it.
    pub(super) fn ask_at(&mut self, now: Instant) -> Result<(), String> {
        match &mut self.0 {
            Some(away) if now < away.until => Err(away.why.clone()),
            Some(away) => {
                away.until = now + ASKING;
                Ok(())
            }
            None => Ok(()),
        }
    }

    pub(super) fn answered(&mut self) {
        self.0 = None;
    }

    pub(super) fn failed_at(&mut self, now: Instant, why: String) {
        let until = now + PAUSE;
        self.0 = Some(Away { until, why });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn while_a_server_is_away_one_asks_for_all() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut absence = Absence::default();
        // Nobody knows yet, so everybody asks.
        assert_eq!(absence.ask_at(start), Ok(()));
        assert_eq!(absence.ask_at(start), Ok(()));
        absence.failed_at(after(10), "gone".to_owned());
        assert_eq!(absence.ask_at(after(10)), Err("gone".to_owned()));
        // One asks, and the others are told at once while it does.
        assert_eq!(absence.ask_at(after(11)), Ok(()));
        for second in 11..26 {
            assert_eq!(absence.ask_at(after(second)), Err("gone".to_owned()));
        }
        // Should it never come back, another does.
        assert_eq!(absence.ask_at(after(26)), Ok(()));
        absence.answered();
        assert_eq!(absence.ask_at(after(26)), Ok(()));
        assert_eq!(absence.ask_at(after(26)), Ok(()));
    }
}
