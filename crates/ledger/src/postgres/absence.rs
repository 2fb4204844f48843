//! What is known of a server that does not answer: since when, why, and whether that is long enough to say so.
//!
//! It asks nobody, and reads no clock.

use std::time::Duration;

use tokio::time::Instant;

/// Who is silent for so long is away. One that restarts is back before, and nobody is refused for it.
const AWAY_AFTER: Duration = Duration::from_secs(10);
/// When it is worth asking again, at the least and at the most: the longer it is away, the later.
const SOONEST: Duration = Duration::from_secs(3);
const LATEST: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(super) struct Absence(Option<Silence>);

#[derive(Debug)]
struct Silence {
    since: Instant,
    why: String,
    standing: Standing,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Standing {
    /// It may be back in a moment.
    Missed,
    Away,
}

/// What an operator should hear of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum News {
    /// It is away from now on, because of this.
    Away(String),
    /// It is back, after so long.
    Back(Duration),
}

impl Absence {
    /// Somebody had an answer.
    pub(super) fn answered_at(&mut self, now: Instant) -> Option<News> {
        let silence = self.0.take()?;
        let is_news = silence.standing == Standing::Away;
        is_news.then(|| News::Back(now.duration_since(silence.since)))
    }

    /// Somebody had none.
    pub(super) fn missed_at(&mut self, now: Instant, why: &str) -> Option<News> {
        let silence = self.0.get_or_insert_with(|| Silence {
            since: now,
            why: String::new(),
            standing: Standing::Missed,
        });
        why.clone_into(&mut silence.why);
        let is_long = now.duration_since(silence.since) >= AWAY_AFTER;
        if silence.standing == Standing::Away || !is_long {
            return None;
        }
        silence.standing = Standing::Away;
        Some(News::Away(why.to_owned()))
    }

    /// Why it is away, once that is known.
    pub(super) fn why(&self) -> Option<&str> {
        let silence = self.0.as_ref()?;
        (silence.standing == Standing::Away).then_some(silence.why.as_str())
    }

    /// After how long it is worth asking again.
    pub(super) fn again_at(&self, now: Instant) -> Duration {
        let silent = self
            .0
            .as_ref()
            .map_or(Duration::ZERO, |one| now.duration_since(one.since));
        (silent / 2).clamp(SOONEST, LATEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_silent_for_long_is_away_until_it_answers_and_both_are_told_once() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut absence = Absence::default();
        assert_eq!(absence.answered_at(start), None);
        for second in 0..10 {
            assert_eq!(absence.missed_at(after(second), "refused"), None);
            assert_eq!(absence.why(), None);
        }
        let away = News::Away("refused".to_owned());
        assert_eq!(absence.missed_at(after(10), "refused"), Some(away));
        assert_eq!(absence.missed_at(after(13), "no route"), None);
        assert_eq!(absence.why(), Some("no route"));
        let back = News::Back(Duration::from_secs(40));
        assert_eq!(absence.answered_at(after(40)), Some(back));
        assert_eq!(absence.why(), None);
        assert_eq!(absence.answered_at(after(41)), None);
    }

    #[test]
    fn a_restart_is_no_absence() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut absence = Absence::default();
        for round in 0..5 {
            let begun = round * 20;
            assert_eq!(absence.missed_at(after(begun), "starting"), None);
            assert_eq!(absence.missed_at(after(begun + 9), "starting"), None);
            assert_eq!(absence.answered_at(after(begun + 9)), None);
        }
        // One look that took long, such as that of a machine which slept, is none either.
        assert_eq!(absence.missed_at(after(500), "late"), None);
    }

    #[test]
    fn the_longer_it_is_away_the_later_it_is_worth_asking() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut absence = Absence::default();
        assert_eq!(absence.again_at(start), SOONEST);
        absence.missed_at(start, "gone");
        assert_eq!(absence.again_at(after(1)), SOONEST);
        assert_eq!(absence.again_at(after(40)), Duration::from_secs(20));
        assert_eq!(absence.again_at(after(4_000)), LATEST);
    }
}
