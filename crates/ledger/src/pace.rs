//! Buckets that fill by themselves, and what may be drawn from them: arithmetic alone, without clock and database.
//!
//! What a bucket stands for, and what it means that one is short, is for others to say.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::{Ledger, LedgerFault};

/// A bucket that fills by itself: `capacity` at most, `per_second` by the second. One that nobody has drawn from is full.
///
/// What costs more than a bucket can hold is granted when that is full, and leaves it owing.
#[derive(Clone, PartialEq, Debug)]
pub struct Draw {
    pub bucket: String,
    pub capacity: u64,
    pub per_second: f64,
    pub cost: u64,
}

/// Where one stands, after what was asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Level {
    pub remaining: u64,
    pub full_in: Duration,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Drawn {
    /// In the order of what was asked.
    Granted(Vec<Level>),
    /// Nothing was drawn from any. `which` is the one that takes longest, `retry_after` when it has enough.
    Short {
        which: usize,
        retry_after: Duration,
        levels: Vec<Level>,
    },
}

impl Ledger {
    /// From all of them, or from none.
    pub async fn draw(&self, draws: Vec<Draw>) -> Result<Drawn, LedgerFault> {
        self.paced(draws, Price::Known).await
    }

    /// What is known only afterwards: a bucket may come to owe.
    pub async fn charge(&self, draws: Vec<Draw>) -> Result<Vec<Level>, LedgerFault> {
        match self.paced(draws, Price::Owed).await? {
            Drawn::Granted(levels) | Drawn::Short { levels, .. } => Ok(levels),
        }
    }
}

/// Whether there is still a choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Price {
    Known,
    Owed,
}

/// Longer than anybody waits, and short enough to be added to any time.
pub(crate) const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// What is in the buckets by now, by name. Below zero where one owes.
pub(crate) type Levels = BTreeMap<String, f64>;

impl Draw {
    /// What a bucket of this kind holds that held `level` so long ago.
    pub(crate) fn filled(&self, level: f64, elapsed: Duration) -> f64 {
        (level + elapsed.as_secs_f64() * self.rate()).min(self.most())
    }

    pub(crate) fn most(&self) -> f64 {
        precise(self.capacity)
    }

    pub(crate) fn rate(&self) -> f64 {
        if self.per_second.is_finite() {
            self.per_second.max(0.0)
        } else {
            0.0
        }
    }

    /// Until that much more is in it.
    fn wait(&self, missing: f64) -> Duration {
        let seconds = match (missing, self.rate()) {
            (missing, _) if missing <= 0.0 => return Duration::ZERO,
            (_, rate) if rate <= 0.0 => return LONGEST,
            (missing, rate) => missing / rate,
        };
        // Rounded up to what databases know of time: who comes back then finds enough.
        let micros = (seconds * 1e6).ceil() / 1e6;
        Duration::try_from_secs_f64(micros).map_or(LONGEST, |wait| wait.min(LONGEST))
    }

    pub(crate) fn full_in(&self, level: f64) -> Duration {
        self.wait(self.most() - level)
    }

    fn told(&self, level: f64) -> Level {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a float becomes the nearest whole number there is, none below zero"
        )]
        let remaining = (level + NOTHING).floor() as u64;
        Level {
            remaining,
            full_in: self.full_in(level),
        }
    }
}

/// Less than this is lost in rounding.
const NOTHING: f64 = 1e-6;

/// Draws from the levels, which are those of now; they stay as they are where one is short.
pub(crate) fn draw(levels: &mut Levels, draws: &[Draw], price: Price) -> Drawn {
    let mut after = levels.clone();
    let mut short: Option<(usize, Duration)> = None;
    for (index, draw) in draws.iter().enumerate() {
        let level = after.entry(draw.bucket.clone()).or_insert(draw.most());
        let missing = precise(draw.cost).min(draw.most()) - *level;
        if price == Price::Known && missing > NOTHING {
            let wait = draw.wait(missing);
            if short.is_none_or(|(_, longest)| wait > longest) {
                short = Some((index, wait));
            }
        }
        *level -= precise(draw.cost);
    }
    if short.is_none() {
        *levels = after;
    }
    let told = |draw: &Draw| {
        let level = levels.get(&draw.bucket).copied();
        draw.told(level.unwrap_or(draw.most()))
    };
    let levels: Vec<Level> = draws.iter().map(told).collect();
    match short {
        None => Drawn::Granted(levels),
        Some((which, retry_after)) => Drawn::Short {
            which,
            retry_after,
            levels,
        },
    }
}

/// Exact up to 2^53, which is more than anybody allows.
#[expect(
    clippy::cast_precision_loss,
    reason = "what is lost is lost of numbers that nobody counts to"
)]
pub(crate) fn precise(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
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
    fn from_all_or_from_none_and_the_slowest_is_named() {
        let mut levels = Levels::from([("a".to_owned(), 5.0), ("b".to_owned(), 0.5)]);
        let ask = [of("a", 10, 1.0, 6), of("b", 10, 0.1, 1), of("c", 3, 1.0, 1)];
        let before = levels.clone();
        let Drawn::Short {
            which,
            retry_after,
            levels: told,
        } = draw(&mut levels, &ask, Price::Known)
        else {
            panic!("two of them are short");
        };
        assert_eq!((which, retry_after), (1, Duration::from_secs(5)));
        assert_eq!(levels, before);
        assert_eq!(
            told.iter().map(|it| it.remaining).collect::<Vec<_>>(),
            [5, 0, 3]
        );

        let Drawn::Granted(told) = draw(&mut levels, &ask, Price::Owed) else {
            panic!("there is no choice");
        };
        assert_eq!(
            told.iter().map(|it| it.remaining).collect::<Vec<_>>(),
            [0, 0, 2]
        );
        assert_eq!(told[0].full_in, Duration::from_secs(11));
        assert_eq!(levels["a"], -1.0);
    }

    #[test]
    fn what_never_fills_is_waited_for_a_year_and_what_is_too_dear_until_it_is_full() {
        for (rate, wait) in [
            (0.0, LONGEST),
            (-1.0, LONGEST),
            (f64::NAN, LONGEST),
            (f64::INFINITY, LONGEST),
            (1e-300, LONGEST),
            (2.0, Duration::from_secs(1)),
        ] {
            let mut levels = Levels::from([("a".to_owned(), 1.0)]);
            let drawn = draw(&mut levels, &[of("a", 3, rate, 3)], Price::Known);
            assert!(
                matches!(drawn, Drawn::Short { retry_after, .. } if retry_after == wait),
                "{rate}"
            );
        }
        let mut levels = Levels::new();
        let dear = [of("a", 3, 1.0, 30)];
        assert!(matches!(
            draw(&mut levels, &dear, Price::Known),
            Drawn::Granted(_)
        ));
        let Drawn::Short { retry_after, .. } = draw(&mut levels, &dear, Price::Known) else {
            panic!("it owes");
        };
        assert_eq!(retry_after, Duration::from_secs(30));
    }

    proptest! {
        #[test]
        fn who_waits_as_told_is_granted(
            capacity in 1u64..1_000_000,
            rate in 0.001f64..100_000.0,
            cost in 0u64..2_000_000,
            level in -1e6f64..1e6,
        ) {
            let ask = of("a", capacity, rate, cost);
            let level = level.min(ask.most());
            let mut levels = Levels::from([("a".to_owned(), level)]);
            if let Drawn::Short { retry_after, .. } = draw(&mut levels, std::slice::from_ref(&ask), Price::Known) {
                prop_assert!(retry_after > Duration::ZERO);
                levels.insert("a".to_owned(), ask.filled(level, retry_after));
                prop_assert!(matches!(draw(&mut levels, &[ask], Price::Known), Drawn::Granted(_)));
            }
        }

        /// Never more in any stretch of time than what was there and what flowed in.
        #[test]
        fn no_more_comes_out_than_was_in(
            capacity in 1u64..1_000,
            rate in 0.01f64..100.0,
            asks in proptest::collection::vec((0u64..2_000, 0u64..50), 1..60),
        ) {
            let mut levels = Levels::new();
            let (mut out, mut passed) = (0u64, Duration::ZERO);
            for (pause, cost) in asks {
                let pause = Duration::from_millis(pause);
                passed += pause;
                let ask = of("a", capacity, rate, cost.min(capacity));
                if let Some(level) = levels.get_mut("a") {
                    *level = ask.filled(*level, pause);
                }
                if let Drawn::Granted(_) = draw(&mut levels, std::slice::from_ref(&ask), Price::Known) {
                    out += ask.cost;
                }
                prop_assert!(precise(out) <= precise(capacity) + passed.as_secs_f64() * rate + 0.001);
            }
        }
    }
}
