//! Drawing from buckets: in the ledger, where all processes share them, else in the memory of this one.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use ledger::{Draw, Drawn, Ledger, LedgerFault, Level, Pails};

use super::Bucket;
use crate::knowledge::lock;

/// A ledger that does not answer in this time is not waited for.
const PATIENCE: Duration = Duration::from_millis(500);
/// And for so long it is not asked again.
const REST: Duration = Duration::from_secs(1);

/// The buckets of all callers.
#[derive(Default)]
pub(crate) struct Buckets {
    shared: Option<Ledger>,
    /// Follows what the ledger says, so that it can stand for it.
    own: Mutex<Pails>,
    silent: Mutex<Silent>,
}

/// Since when the ledger could not be asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Silent {
    #[default]
    No,
    Until(Instant),
}

impl Buckets {
    pub(crate) fn shared(ledger: Ledger) -> Self {
        Self {
            shared: Some(ledger),
            ..Self::default()
        }
    }

    /// What is known here, without asking anybody: others may have drawn since, but nobody has put anything in.
    pub(crate) fn known(&self, buckets: &[Bucket]) -> Drawn {
        lock(&self.own).look(&asked(buckets), Instant::now())
    }

    /// From all of them, or from none.
    pub(crate) async fn draw(&self, buckets: &[Bucket]) -> Drawn {
        let draws = asked(buckets);
        if draws.is_empty() {
            return Drawn::Granted(Vec::new());
        }
        let shared = self
            .of_ledger(async |ledger| ledger.draw(draws.clone()).await)
            .await;
        match shared {
            Some(drawn) => {
                let (Drawn::Granted(levels) | Drawn::Short { levels, .. }) = &drawn;
                lock(&self.own).learn(&draws, levels, Instant::now());
                drawn
            }
            None => lock(&self.own).draw(&draws, Instant::now()),
        }
    }

    /// What a call has cost, once that is known.
    pub(crate) async fn charge(&self, costs: &[(&Bucket, u64)]) -> Vec<Level> {
        if costs.is_empty() {
            return Vec::new();
        }
        let draws: Vec<Draw> = costs.iter().map(|(one, cost)| one.draw(*cost)).collect();
        let shared = self
            .of_ledger(async |ledger| ledger.charge(draws.clone()).await)
            .await;
        match shared {
            Some(levels) => {
                lock(&self.own).learn(&draws, &levels, Instant::now());
                levels
            }
            None => lock(&self.own).charge(&draws, Instant::now()),
        }
    }

    /// None where there is no ledger, or none that answers.
    ///
    /// INVARIANT: a ledger that cannot be asked is neither an outage nor a free pass: this process goes on from what it
    /// knew last, at the same rates.
    async fn of_ledger<T>(
        &self,
        ask: impl AsyncFnOnce(&Ledger) -> Result<T, LedgerFault>,
    ) -> Option<T> {
        let ledger = self.shared.as_ref()?;
        if matches!(*lock(&self.silent), Silent::Until(then) if Instant::now() < then) {
            return None;
        }
        let answer = tokio::time::timeout(PATIENCE, ask(ledger)).await;
        let why = match answer {
            Ok(Ok(answer)) => {
                if std::mem::take(&mut *lock(&self.silent)) != Silent::No {
                    tracing::warn!("limits are counted in the ledger again");
                }
                return Some(answer);
            }
            Ok(Err(fault)) => fault.to_string(),
            Err(_) => "it does not answer".to_owned(),
        };
        if self.rest() == Silent::No {
            tracing::warn!(
                why,
                "limits cannot be counted in the ledger; until they can, each process counts by itself"
            );
        }
        None
    }

    /// It is not asked for a while; how it was before. Of many who waited for the same answer one finds it out first.
    fn rest(&self) -> Silent {
        let until = Silent::Until(Instant::now() + REST);
        std::mem::replace(&mut *lock(&self.silent), until)
    }
}

impl Bucket {
    fn draw(&self, cost: u64) -> Draw {
        Draw {
            bucket: self.name.clone(),
            capacity: self.capacity,
            per_second: self.per_second,
            cost,
        }
    }
}

/// A call costs one of those that count calls; of the others it is known only later, and they must not owe.
fn asked(buckets: &[Bucket]) -> Vec<Draw> {
    let cost = |bucket: &Bucket| u64::from(bucket.limit == super::Limit::Calls);
    buckets.iter().map(|one| one.draw(cost(one))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{Limits, Measure, Rate};

    fn buckets() -> Vec<Bucket> {
        let limits = Limits {
            own: Measure {
                calls: Some(Rate {
                    per_minute: 1,
                    burst: 3,
                }),
                bytes_per_hour: Some(1_000),
                ..Measure::default()
            },
            ..Limits::default()
        };
        limits.of_call("bot", "search").buckets
    }

    fn is_granted(drawn: &Drawn) -> bool {
        matches!(drawn, Drawn::Granted(_))
    }

    #[tokio::test]
    async fn two_processes_draw_from_one_bucket() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("wal.db");
        let open = || Buckets::shared(Ledger::open(&path).unwrap());
        let (one, other, wanted) = (open(), open(), buckets());
        assert!(is_granted(&one.draw(&wanted).await));
        assert!(is_granted(&other.draw(&wanted).await));
        assert!(is_granted(&one.draw(&wanted).await));
        assert!(!is_granted(&other.draw(&wanted).await));
        assert!(!is_granted(&other.known(&wanted)), "and it is known here");
        assert!(is_granted(&Buckets::default().draw(&wanted).await));
    }

    #[tokio::test]
    async fn answers_that_cost_more_than_there_is_refuse_the_next_call() {
        let (own, wanted) = (Buckets::default(), buckets());
        assert!(is_granted(&own.draw(&wanted).await));
        let bytes = wanted.last().unwrap();
        own.charge(&[(bytes, 1_900)]).await;
        let Drawn::Short {
            which, retry_after, ..
        } = own.draw(&wanted).await
        else {
            panic!("it owes 900 bytes");
        };
        assert_eq!(which, 1);
        let hour = 3_600.0 * 900.0 / 1_000.0;
        assert!((retry_after.as_secs_f64() - hour).abs() < 10.0);
    }

    #[test]
    fn of_many_who_find_out_at_once_one_is_the_first() {
        let buckets = Buckets::default();
        let found: Vec<Silent> = (0..3).map(|_| buckets.rest()).collect();
        assert_eq!(found[0], Silent::No);
        assert!(found[1..].iter().all(|before| *before != Silent::No));
    }

    /// What was learnt from the ledger holds when it is gone.
    #[tokio::test]
    async fn a_ledger_that_is_gone_is_no_free_pass() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("wal.db");
        let shared = Buckets::shared(Ledger::open(&path).unwrap());
        let wanted = buckets();
        assert!(is_granted(&shared.draw(&wanted).await));
        assert!(is_granted(&shared.draw(&wanted).await));
        // Nothing can be opened where a directory stands.
        std::fs::remove_dir_all(dir.path()).unwrap();
        assert!(
            is_granted(&shared.draw(&wanted).await),
            "the third of three"
        );
        assert_ne!(*lock(&shared.silent), Silent::No);
        assert!(!is_granted(&shared.draw(&wanted).await));
    }
}
