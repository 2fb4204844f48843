//! Buckets in the memory of one process: where nobody else shares them, or while the ledger cannot be asked.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::pace::{self, Draw, Drawn, Level, Levels, Price};

/// More are not remembered without need: those that are full by now say nothing.
const MOST: usize = 4_096;

/// They are gone with the process.
#[derive(Debug, Default)]
pub struct Pails(BTreeMap<String, Pail>);

#[derive(Clone, Copy, Debug)]
struct Pail {
    level: f64,
    at: Instant,
    full_at: Option<Instant>,
}

impl Pails {
    /// From all of them, or from none.
    pub fn draw(&mut self, draws: &[Draw], now: Instant) -> Drawn {
        self.change(draws, Price::Known, now)
    }

    /// What is known only afterwards: a bucket may come to owe.
    pub fn charge(&mut self, draws: &[Draw], now: Instant) -> Vec<Level> {
        match self.change(draws, Price::Owed, now) {
            Drawn::Granted(levels) | Drawn::Short { levels, .. } => levels,
        }
    }

    /// What a draw would come to. One of which nothing is known is full.
    pub fn look(&self, draws: &[Draw], now: Instant) -> Drawn {
        pace::draw(&mut self.levels(draws, now), draws, Price::Known)
    }

    /// What the ledger says is in them.
    pub fn learn(&mut self, draws: &[Draw], found: &[Level], now: Instant) {
        for (draw, level) in draws.iter().zip(found) {
            // The time tells more than the number: also what is owed.
            let missing = level.full_in.as_secs_f64() * draw.rate();
            self.put(draw, draw.most() - missing, now);
        }
    }

    fn change(&mut self, draws: &[Draw], price: Price, now: Instant) -> Drawn {
        let mut levels = self.levels(draws, now);
        let drawn = pace::draw(&mut levels, draws, price);
        for draw in draws {
            if let Some(level) = levels.get(&draw.bucket) {
                self.put(draw, *level, now);
            }
        }
        drawn
    }

    fn levels(&self, draws: &[Draw], now: Instant) -> Levels {
        let known = draws.iter().filter_map(|draw| {
            let pail = self.0.get(&draw.bucket)?;
            let elapsed = now.saturating_duration_since(pail.at);
            Some((draw.bucket.clone(), draw.filled(pail.level, elapsed)))
        });
        known.collect()
    }

    fn put(&mut self, draw: &Draw, level: f64, now: Instant) {
        if self.0.len() >= MOST {
            self.0
                .retain(|_, pail| pail.full_at.is_none_or(|full_at| full_at > now));
        }
        let pail = Pail {
            level,
            at: now,
            full_at: now.checked_add(draw.full_in(level)),
        };
        self.0.insert(draw.bucket.clone(), pail);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn of(bucket: &str, capacity: u64, per_second: f64, cost: u64) -> Draw {
        Draw {
            bucket: bucket.to_owned(),
            capacity,
            per_second,
            cost,
        }
    }

    #[test]
    fn looking_draws_nothing_and_what_owes_refuses_even_what_is_free() {
        let (mut pails, now) = (Pails::default(), Instant::now());
        let free = [of("a", 10, 1.0, 0)];
        assert!(matches!(pails.look(&free, now), Drawn::Granted(_)));
        pails.charge(&[of("a", 10, 1.0, 25)], now);
        let Drawn::Short { retry_after, .. } = pails.look(&free, now) else {
            panic!("it owes 15");
        };
        assert_eq!(retry_after, Duration::from_secs(15));
        assert_eq!(pails.look(&free, now), pails.draw(&free, now));
        let later = now + retry_after;
        assert!(matches!(pails.look(&free, later), Drawn::Granted(_)));
    }

    #[test]
    fn many_buckets_are_forgotten_when_they_are_full_again() {
        let (mut pails, now) = (Pails::default(), Instant::now());
        for number in 0..MOST {
            pails.draw(&[of(&number.to_string(), 2, 1.0, 1)], now);
        }
        pails.charge(&[of("0", 2, 1.0, 9)], now);
        pails.draw(&[of("new", 2, 1.0, 1)], now + Duration::from_secs(2));
        assert_eq!(pails.0.keys().collect::<Vec<_>>(), ["0", "new"]);
    }

    proptest! {
        /// Who learns what another has counted says the same from then on.
        #[test]
        fn what_is_learnt_is_what_was_counted(
            capacity in 1u64..10_000,
            rate in 0.01f64..1_000.0,
            costs in proptest::collection::vec((0u64..3_000, 0u64..2_000, any::<bool>()), 1..30),
            after in 0u64..10_000,
        ) {
            let (mut one, mut other) = (Pails::default(), Pails::default());
            let mut now = Instant::now();
            for (cost, pause, owed) in costs {
                now += Duration::from_millis(pause);
                let ask = [of("a", capacity, rate, cost)];
                let levels = match owed {
                    true => one.charge(&ask, now),
                    false => match one.draw(&ask, now) {
                        Drawn::Granted(levels) | Drawn::Short { levels, .. } => levels,
                    },
                };
                other.learn(&ask, &levels, now);
            }
            now += Duration::from_millis(after);
            let level = |pails: &Pails| {
                let ask = of("a", capacity, rate, 0);
                let pail = pails.0["a"];
                ask.filled(pail.level, now.saturating_duration_since(pail.at))
            };
            // Times are told to the microsecond.
            prop_assert!((level(&one) - level(&other)).abs() <= rate * 2e-6 + 1e-6);
        }
    }
}
