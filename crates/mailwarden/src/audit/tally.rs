//! Counts of calls and how long they took, in memory that does not grow with them.

use std::collections::BTreeMap;

use super::record::Record;

/// Into how many steps each doubling is divided: a time is told to about three percent.
const STEPS: u32 = 5;

/// Times in microseconds, by rough size.
#[derive(Clone, Default, Debug)]
struct Times(BTreeMap<u32, u64>);

impl Times {
    fn add(&mut self, micros: u64) {
        let shift = (u64::BITS - micros.leading_zeros()).saturating_sub(STEPS + 1);
        let step = u32::try_from(micros >> shift).unwrap_or(u32::MAX);
        *self.0.entry((shift << (STEPS + 1)) + step).or_default() += 1;
    }

    /// What so many percent of the times do not exceed (nearest rank), in milliseconds.
    fn percentile(&self, percent: u64) -> Option<f64> {
        let count: u64 = self.0.values().sum();
        let nth = (count * percent).div_ceil(100).max(1);
        let mut seen = 0;
        let place = self.0.iter().find(|(_, times)| {
            seen += *times;
            seen >= nth
        });
        place.map(|(place, _)| {
            let step = u64::from(place & ((1 << (STEPS + 1)) - 1));
            let shift = place >> (STEPS + 1);
            // The middle of the step.
            (((step << shift) + (1 << shift) / 2) as f64) / 1000.0
        })
    }
}

#[derive(Clone, Default, Debug)]
pub(super) struct Tally {
    pub(super) calls: u64,
    pub(super) denied: u64,
    pub(super) failed: u64,
    pub(super) round_trips: u64,
    times: Times,
}

impl Tally {
    /// A call is one record, or an intent and later its outcome.
    pub(super) fn add(&mut self, record: &Record) {
        let event = record.text("event");
        if matches!(event, "call" | "intent") {
            self.calls += 1;
            self.denied += u64::from(record.text("decision") == "DENY");
        }
        if matches!(event, "call" | "outcome") && record.text("decision") != "DENY" {
            let result = record.text("result");
            self.failed += u64::from(!matches!(result, "" | "ok"));
            if let Some(ms) = record.number("latency_ms") {
                self.times.add((ms * 1000.0) as u64);
            }
        }
        self.round_trips += record.number("round_trips").unwrap_or_default() as u64;
    }

    pub(super) fn p50(&self) -> Option<f64> {
        self.times.percentile(50)
    }

    pub(super) fn p99(&self) -> Option<f64> {
        self.times.percentile(99)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_within_a_few_percent() {
        let mut times = Times::default();
        assert_eq!(times.percentile(50), None);
        (1..=100_000).for_each(|micros| times.add(micros));
        for (percent, expected) in [(50, 50.0), (99, 99.0), (1, 1.0)] {
            let told = times.percentile(percent).unwrap();
            assert!(
                (told - expected).abs() <= expected * 0.04,
                "{percent}: {told}"
            );
        }
        let mut one = Times::default();
        one.add(7_000);
        one.add(u64::MAX);
        assert!(
            one.0.len() == 2 && one.percentile(1) == Some(6.976),
            "{:?}",
            one.percentile(1)
        );
    }
}
