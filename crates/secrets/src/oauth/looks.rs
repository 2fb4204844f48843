//! How often a secret store is looked at while nobody wants a token: once at a time, and seldom where a look may ask a person.
//!
//! What is seen there is not known here.

use std::time::{Duration, Instant};

/// What a look costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cost {
    /// A file, or nothing.
    Little,
    /// A program is run, and a person may have to answer it.
    Program,
}

impl Cost {
    /// So long nobody looks again who has looked so often in vain.
    fn pause(self, in_vain: u32) -> Duration {
        match self {
            Self::Little => Duration::from_secs(1),
            Self::Program => Duration::from_secs(30 << in_vain.min(5)),
        }
    }
}

/// The looks of one process at one account's token.
#[derive(Default, Debug)]
pub(crate) struct Looks {
    last: Option<Instant>,
    under_way: bool,
    /// How often nothing had changed.
    in_vain: u32,
}

/// What a look has shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shown {
    Same,
    Other,
}

impl Looks {
    pub(crate) fn is_first(&self) -> bool {
        self.last.is_none()
    }

    /// Whether another one is worth it now.
    pub(crate) fn is_due(&self, cost: Cost, now: Instant) -> bool {
        let pause = cost.pause(self.in_vain);
        let rested = |last: Instant| now.saturating_duration_since(last) >= pause;
        !self.under_way && self.last.is_none_or(rested)
    }

    pub(crate) fn begin(&mut self) {
        self.under_way = true;
    }

    pub(crate) fn end(&mut self, shown: Shown, now: Instant) {
        self.in_vain = match (shown, self.last) {
            (Shown::Same, Some(_)) => self.in_vain.saturating_add(1),
            (Shown::Same, None) | (Shown::Other, _) => 0,
        };
        self.under_way = false;
        self.last = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_run_one_at_a_time_and_ever_more_seldom() {
        let begun = Instant::now();
        let after = |seconds: u64| begun + Duration::from_secs(seconds);
        let mut looks = Looks::default();
        assert!(looks.is_first() && looks.is_due(Cost::Program, begun));
        looks.begin();
        // However long it takes.
        assert!(!looks.is_due(Cost::Program, after(9_000)));
        looks.end(Shown::Same, begun);
        for (last, next) in [
            (0, 30),
            (30, 90),
            (90, 210),
            (210, 450),
            (450, 930),
            (930, 1890),
            (1890, 2850),
        ] {
            let _ = last;
            assert!(!looks.is_due(Cost::Program, after(next - 1)), "{next}");
            assert!(looks.is_due(Cost::Program, after(next)), "{next}");
            assert!(looks.is_due(Cost::Little, after(last + 1)), "{next}");
            looks.begin();
            looks.end(Shown::Same, after(next));
        }
        looks.end(Shown::Other, after(5_000));
        assert!(!looks.is_due(Cost::Program, after(5_029)));
        assert!(looks.is_due(Cost::Program, after(5_030)));
    }
}
