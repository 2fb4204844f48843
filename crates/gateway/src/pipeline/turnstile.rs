//! What all calls pass: the door, the buckets, the places of each caller, and the count of those who found no room.

use std::time::Duration;

use audit::Log;
use ledger::{Drawn, Ledger, Level as Fill};

use crate::Refusal;
use crate::fairness::Door;
use crate::limits::buckets::Buckets;
use crate::limits::excess::Excess;
use crate::limits::told::RateLimit;
use crate::limits::under_way::{Held, UnderWay};
use crate::limits::{Bucket, Limit, Scope, Wanted};

/// A call that is over makes room, and most are over soon.
pub(super) const SOON: Duration = Duration::from_secs(1);

/// What calls of all callers pass.
pub(super) struct Turnstile {
    pub door: Door,
    pub buckets: Buckets,
    under_way: UnderWay,
    pub excess: Excess,
}

/// There is no room, and where its caller stands.
pub(super) struct NoRoom {
    pub refusal: Box<Refusal>,
    pub stands: Option<RateLimit>,
}

impl Turnstile {
    pub(super) fn new(log: Log) -> Self {
        Self {
            door: Door::default(),
            buckets: Buckets::default(),
            under_way: UnderWay::default(),
            excess: Excess::new(log),
        }
    }

    /// From now on what is drawn is drawn for all who share this ledger.
    pub(super) fn share(&mut self, ledger: Ledger) {
        self.buckets = Buckets::shared(ledger);
    }

    /// From all of its buckets, or from none.
    pub(super) async fn draw(&self, wanted: Wanted) -> Result<Vec<(Bucket, Fill)>, NoRoom> {
        let Wanted { buckets, .. } = wanted;
        match self.buckets.draw(&buckets).await {
            Drawn::Granted(levels) => Ok(buckets.into_iter().zip(levels).collect()),
            short => Err(NoRoom::short(&buckets, short)),
        }
    }

    /// A place for each of these at once.
    pub(super) fn hold(&self, wanted: &Wanted) -> Result<Held, NoRoom> {
        self.under_way.hold(&wanted.rooms).map_err(|full| {
            let full = wanted.rooms.get(full);
            let most = full.map_or(0, |room| u64::from(room.most));
            let scope = full.map_or(Scope::Caller, |room| room.scope.clone());
            NoRoom {
                refusal: Box::new(Refusal::rate_limited(Limit::Concurrent, &scope, SOON)),
                stands: Some(RateLimit {
                    limit: most,
                    remaining: 0,
                    full_in: SOON,
                    retry_after: Some(SOON),
                }),
            }
        })
    }

    /// INVARIANT: what is known to be used up costs nothing to refuse: no wait, no disk, no network.
    pub(super) fn check_known(&self, wanted: &Wanted) -> Result<(), NoRoom> {
        if wanted.buckets.is_empty() {
            return Ok(());
        }
        match self.buckets.known(&wanted.buckets) {
            Drawn::Granted(_) => Ok(()),
            short => Err(NoRoom::short(&wanted.buckets, short)),
        }
    }
}

impl NoRoom {
    /// Others were there first.
    pub(super) fn crowded(wait: Duration) -> Self {
        Self {
            refusal: Box::new(Refusal::overloaded(wait)),
            stands: None,
        }
    }

    fn short(buckets: &[Bucket], drawn: Drawn) -> Self {
        let (which, wait, levels) = match drawn {
            Drawn::Short {
                which,
                retry_after,
                levels,
            } => (which, retry_after, levels),
            Drawn::Granted(levels) => (0, SOON, levels),
        };
        let named = buckets.get(which).zip(levels.get(which).copied());
        let stands = named.map(|(bucket, level)| RateLimit {
            retry_after: Some(wait),
            ..RateLimit::of(bucket, level)
        });
        let refusal = match buckets.get(which) {
            Some(bucket) => Refusal::rate_limited(bucket.limit, &bucket.scope, wait),
            None => Refusal::overloaded(wait),
        };
        Self {
            refusal: Box::new(refusal),
            stands,
        }
    }
}
