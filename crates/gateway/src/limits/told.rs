//! What a caller is told of where it stands: `meta.rate_limit`.

use std::time::Duration;

use jiff::Timestamp;
use ledger::Level;
use serde_json::{Value, json};

use super::Bucket;
use crate::envelope;

/// Of the bucket that is nearest to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RateLimit {
    /// How much it holds.
    pub limit: u64,
    pub remaining: u64,
    pub full_in: Duration,
    /// None unless the call was refused.
    pub retry_after: Option<Duration>,
}

impl RateLimit {
    pub(crate) fn of(bucket: &Bucket, level: Level) -> Self {
        Self {
            limit: bucket.capacity,
            remaining: level.remaining,
            full_in: level.full_in,
            retry_after: None,
        }
    }

    /// None where nothing is limited.
    pub(crate) fn tightest<'a>(levels: impl Iterator<Item = (&'a Bucket, Level)>) -> Option<Self> {
        let told = levels.map(|(bucket, level)| Self::of(bucket, level));
        // What share is left; of two that have the same, the one that takes longer.
        let share = |one: &Self| one.remaining as f64 / one.limit.max(1) as f64;
        told.min_by(|one, other| {
            let shares = share(one).total_cmp(&share(other));
            shares.then(other.full_in.cmp(&one.full_in))
        })
    }

    pub(crate) fn json(self, now: Timestamp) -> Value {
        let reset_at = now.saturating_add(self.full_in).unwrap_or(Timestamp::MAX);
        json!({
            "limit": self.limit,
            "remaining": self.remaining,
            "reset_at": envelope::utc(reset_at),
            "retry_after_seconds": self.retry_after.map(whole_seconds),
        })
    }
}

/// Rounded up, so that whoever waits so long has waited long enough.
pub(crate) fn whole_seconds(wait: Duration) -> u64 {
    let more = u64::from(wait.subsec_nanos() > 0);
    wait.as_secs().saturating_add(more).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{Limit, Scope};

    fn bucket(limit: Limit, capacity: u64) -> Bucket {
        Bucket {
            name: "x".to_owned(),
            limit,
            scope: Scope::Caller,
            capacity,
            per_second: 1.0,
        }
    }

    #[test]
    fn the_one_with_the_least_share_is_told() {
        let (calls, bytes) = (bucket(Limit::Calls, 30), bucket(Limit::Bytes, 1_000));
        let level = |remaining, seconds| Level {
            remaining,
            full_in: Duration::from_secs(seconds),
        };
        for (calls_left, bytes_left, limit) in [(29, 900, 1_000), (3, 500, 30), (0, 0, 1_000)] {
            let levels = [
                (&calls, level(calls_left, 1)),
                (&bytes, level(bytes_left, 9)),
            ];
            let told = RateLimit::tightest(levels.into_iter()).unwrap();
            assert_eq!(told.limit, limit);
        }
        assert_eq!(RateLimit::tightest(std::iter::empty()), None);
    }

    #[test]
    fn it_is_told_by_the_names_of_the_contract() {
        let told = RateLimit {
            limit: 30,
            remaining: 0,
            full_in: Duration::from_millis(14_500),
            retry_after: None,
        };
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let expected = json!({ "limit": 30, "remaining": 0, "reset_at": "2027-01-15T08:00:14.500Z", "retry_after_seconds": null });
        assert_eq!(told.json(now), expected);
        let refused = RateLimit {
            retry_after: Some(Duration::from_millis(1_001)),
            ..told
        };
        assert_eq!(refused.json(now)["retry_after_seconds"], 2);
        assert_eq!(whole_seconds(Duration::ZERO), 1);
    }
}
