//! How long calls took, tool by tool. Keeps every one of them: a percentile is one that was measured.

use std::collections::BTreeMap;
use std::time::Duration;

use super::mix::Tool;

#[derive(Clone, Default)]
pub(super) struct Samples {
    by_tool: BTreeMap<Tool, Vec<u32>>,
}

/// In milliseconds.
#[derive(Clone, Copy, Default)]
pub(crate) struct Spread {
    pub calls: usize,
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
    pub max: f64,
}

impl Samples {
    pub(super) fn add(&mut self, tool: Tool, took: Duration) {
        let micros = u32::try_from(took.as_micros()).unwrap_or(u32::MAX);
        self.by_tool.entry(tool).or_default().push(micros);
    }

    pub(super) fn join(&mut self, other: Self) {
        for (tool, times) in other.by_tool {
            self.by_tool.entry(tool).or_default().extend(times);
        }
    }

    pub(super) fn all(&self) -> Spread {
        spread(self.by_tool.values().flatten().copied().collect())
    }

    pub(super) fn tools(&self) -> impl Iterator<Item = (Tool, Spread)> {
        self.by_tool
            .iter()
            .map(|(tool, times)| (*tool, spread(times.clone())))
    }
}

pub(crate) fn spread(mut micros: Vec<u32>) -> Spread {
    micros.sort_unstable();
    let at = |share: f64| {
        let index = (micros.len() as f64 * share).ceil() as usize;
        let one = micros.get(index.clamp(1, micros.len().max(1)) - 1);
        one.map_or(0.0, |micros| f64::from(*micros) / 1e3)
    };
    Spread {
        calls: micros.len(),
        p50: at(0.50),
        p95: at(0.95),
        p99: at(0.99),
        max: at(1.0),
    }
}

/// What a series gains in a second, by least squares: its values are a second apart.
pub(super) fn slope(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    if values.len() < 2 {
        return 0.0;
    }
    let middle = (count - 1.0) / 2.0;
    let mean = values.iter().sum::<f64>() / count;
    let (mut above, mut below) = (0.0, 0.0);
    for (at, value) in (0u32..).zip(values) {
        let from_middle = f64::from(at) - middle;
        above += from_middle * (value - mean);
        below += from_middle * from_middle;
    }
    above / below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let mut samples = Samples::default();
        for ms in 1..=100 {
            samples.add(Tool::FetchBody, Duration::from_millis(ms));
        }
        let all = samples.all();
        assert_eq!(
            (all.calls, all.p50, all.p99, all.max),
            (100, 50.0, 99.0, 100.0)
        );
    }

    #[test]
    fn a_slope_is_what_is_gained_in_a_second() {
        assert!((slope(&[1.0, 3.0, 5.0, 7.0]) - 2.0).abs() < 1e-9);
        assert!(slope(&[4.0, 4.0, 4.0]).abs() < 1e-9);
    }
}
