//! Durations and small numbers, many times the same thing. No opinion on them.

use std::fmt;
use std::time::Duration;

/// Durations in milliseconds, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    pub(crate) fn add(&mut self, time: Duration) {
        let ms = time.as_secs_f64() * 1000.0;
        let at = self.0.partition_point(|one| *one < ms);
        self.0.insert(at, ms);
    }

    pub(crate) fn p50(&self) -> f64 {
        self.at(50)
    }

    pub(crate) fn p95(&self) -> f64 {
        self.at(95)
    }

    pub(crate) fn append(&mut self, other: Self) {
        self.0.extend(other.0);
        self.0.sort_by(f64::total_cmp);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The nearest rank.
    pub(crate) fn at(&self, percent: usize) -> f64 {
        let rank = (self.0.len() * percent).div_ceil(100).max(1);
        self.0[rank - 1]
    }
}

/// The least and the most of a count.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Span(Option<(u64, u64)>);

impl Span {
    pub(crate) fn add(&mut self, number: u64) {
        let (least, most) = self.0.unwrap_or((number, number));
        self.0 = Some((least.min(number), most.max(number)));
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("–"),
            Some((least, most)) if least == most => write!(f, "{most}"),
            Some((least, most)) => write!(f, "{least}–{most}"),
        }
    }
}
