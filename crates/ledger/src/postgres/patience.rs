//! How long a request is tried: as long as a server may take that restarts, not at all while it is known to be away, and shorter
//! when the process ends.
//!
//! Shared by the thread that speaks to the server and by those who ask it. It tells an operator when a server goes away and
//! when it is back, once each.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::absence::{Absence, News};
use crate::LedgerFault;

/// So long a request is tried, whatever happens to the server meanwhile.
const LONGEST: Duration = Duration::from_secs(10);
/// So long it is tried at the least, however near the end is: a server that is there answers in less.
const LEAST: Duration = Duration::from_secs(1);
const TOLD_AGAIN: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Patience {
    /// For people.
    place: String,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    absence: Absence,
    /// When this process wants to be done with it.
    ending: Option<Instant>,
    /// When it was last told that a request was given up on a server that is there.
    told: Option<Instant>,
}

/// Whether something is tried although its server is known to be away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Insistence {
    /// It can as well be asked later.
    None,
    /// What it says is known to nobody else, and the server may come back in time.
    Tries,
}

impl Patience {
    pub(super) fn with(place: String) -> Self {
        Self {
            place,
            state: Mutex::default(),
            changed: Notify::new(),
        }
    }

    /// An error where the server is known to be away: then nobody need ask.
    pub(super) fn present(&self) -> Result<(), LedgerFault> {
        let state = self.lock();
        match state.absence.why() {
            None => Ok(()),
            Some(why) => Err(LedgerFault::Away {
                why: why.to_owned(),
                again: state.absence.again_at(Instant::now()),
            }),
        }
    }

    pub(super) fn answered(&self) {
        let news = self.lock().absence.answered_at(Instant::now());
        self.tell(news);
    }

    pub(super) fn missed(&self, why: &str) {
        let news = self.lock().absence.missed_at(Instant::now(), why);
        self.tell(news);
    }

    /// What is asked from now on, and what is under way, is tried for no longer than this.
    pub(super) fn end_within(&self, longest: Duration) {
        self.lock().ending = Some(Instant::now() + longest);
        self.changed.notify_waiters();
    }

    /// Ends when what began then is tried no longer.
    pub(super) async fn run_out(&self, begun: Instant, insistence: Insistence) {
        loop {
            let changed = self.changed.notified();
            let Some(deadline) = self.lock().deadline(begun, insistence) else {
                return;
            };
            tokio::select! {
                () = sleep_until(deadline) => return,
                () = changed => {}
            }
        }
    }

    /// Of what was tried for long enough.
    pub(super) fn fault(&self, why: &str) -> LedgerFault {
        let now = Instant::now();
        let mut state = self.lock();
        let again = state.absence.again_at(now);
        // A server that is there and does not do what it is asked is told of too, now and then.
        let news =
            state.absence.why().is_none() && state.told.is_none_or(|told| now - told >= TOLD_AGAIN);
        if news {
            state.told = Some(now);
        }
        drop(state);
        if news {
            let place = &self.place;
            tracing::warn!("the ledger at {place} did not do what it was asked in time ({why})");
        }
        LedgerFault::Away {
            why: why.to_owned(),
            again,
        }
    }

    fn tell(&self, news: Option<News>) {
        let place = &self.place;
        match news {
            None => return,
            Some(News::Away(why)) => tracing::warn!(
                "the ledger at {place} is away ({why}): changes are refused until it is back, and reading goes on"
            ),
            Some(News::Back(after)) => tracing::warn!(
                "the ledger at {place} is back: it answers again after {} s",
                after.as_secs()
            ),
        }
        self.changed.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// None where it is over.
    fn deadline(&self, begun: Instant, insistence: Insistence) -> Option<Instant> {
        if insistence == Insistence::None && self.absence.why().is_some() {
            return None;
        }
        let usual = begun + LONGEST;
        Some(match self.ending {
            None => usual,
            Some(ending) => usual.min(ending.max(begun + LEAST)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn away(since: Instant) -> Absence {
        let mut absence = Absence::default();
        absence.missed_at(since, "gone");
        absence.missed_at(since + LONGEST, "gone");
        absence
    }

    #[test]
    fn nothing_is_tried_while_the_server_is_away_but_what_nobody_else_knows() {
        let begun = Instant::now();
        let state = State {
            absence: away(begun),
            ending: None,
            ..State::default()
        };
        assert_eq!(state.deadline(begun, Insistence::None), None);
        let usual = Some(begun + LONGEST);
        assert_eq!(state.deadline(begun, Insistence::Tries), usual);
        let well = State::default();
        assert_eq!(well.deadline(begun, Insistence::None), usual);
    }

    #[test]
    fn a_process_that_ends_shortens_what_is_under_way_and_gives_the_rest_a_moment() {
        let begun = Instant::now();
        let after = |seconds| begun + Duration::from_secs(seconds);
        let ending = State {
            ending: Some(after(4)),
            ..State::default()
        };
        for insistence in [Insistence::None, Insistence::Tries] {
            assert_eq!(ending.deadline(begun, insistence), Some(after(4)));
            assert_eq!(ending.deadline(after(6), insistence), Some(after(7)));
        }
        let late = State {
            ending: Some(after(60)),
            ..State::default()
        };
        assert_eq!(late.deadline(begun, Insistence::None), Some(after(10)));
    }

    #[tokio::test]
    async fn whoever_waits_is_told_at_once_when_the_server_is_known_to_be_away() {
        let patience = Patience::with("there".to_owned());
        assert_eq!(patience.present(), Ok(()));
        let long_ago = Instant::now() - LONGEST;
        patience.lock().absence.missed_at(long_ago, "gone");
        let waiting = patience.run_out(Instant::now(), Insistence::None);
        tokio::pin!(waiting);
        let mut is_over = async || {
            tokio::select! {
                biased;
                () = &mut waiting => true,
                () = std::future::ready(()) => false,
            }
        };
        assert!(!is_over().await);
        patience.missed("gone for good");
        assert!(is_over().await);
        let Err(LedgerFault::Away { why, .. }) = patience.present() else {
            panic!("it is away");
        };
        assert_eq!(why, "gone for good");
        patience.answered();
        assert_eq!(patience.present(), Ok(()));
    }
}
