//! One call under way: opened before it is carried out, closed before it is answered, and never forgotten.

use std::sync::Arc;
use std::time::Instant;

use super::{Jobs, Log, State};
use crate::event::{Asked, Decision, Ended, Event};
use crate::status::{Receipt, Unavailable};
use crate::writer::Job;

/// How a call ends that nobody is answered for, because it could not be recorded in time.
pub(super) const UNRECORDED: &str = "audit_unavailable";

/// Whether a call could change something; then its intent is in the log, under this number as soon as that is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Reading,
    Changing { intent: Option<u64> },
}

impl Kind {
    pub(super) fn ended(self, asked: &Asked, ended: &Ended) -> Event {
        match self {
            Self::Reading => Event::call(asked, ended),
            Self::Changing { intent } => Event::outcome(intent, asked, ended),
        }
    }
}

/// A call under way. Nothing reaches a mail store without one, and none ends unsaid: one that is dropped was cancelled.
pub struct Entry {
    log: Log,
    id: u64,
    asked: Arc<Asked>,
    kind: Kind,
    begun: Instant,
}

impl Entry {
    /// On the list of open calls from now on.
    pub(super) fn open(log: &Log, asked: Arc<Asked>, kind: Kind) -> Result<Self, Unavailable> {
        let mut open = log.0.open();
        // INVARIANT: once the log is closed nobody would say how it ended.
        if open.state == State::Closed {
            return Err(Unavailable::Closed);
        }
        let id = open.next;
        open.next += 1;
        open.calls.insert(id, (Arc::clone(&asked), kind));
        log.0.status.count(open.calls.len());
        drop(open);
        Ok(Self {
            log: log.clone(),
            id,
            asked,
            kind,
            begun: Instant::now(),
        })
    }

    /// Its intent is durable, under this number.
    pub(super) fn intended(&mut self, intent: u64) {
        let intent = Some(intent);
        self.kind = Kind::Changing { intent };
        if let Some((_, kind)) = self.log.0.open().calls.get_mut(&self.id) {
            *kind = self.kind;
        }
    }

    /// What was decided once what was asked for had been looked at.
    pub fn decide(&mut self, decision: Decision, reason: &'static str, rule: Option<u64>) {
        let decided = Asked {
            decision,
            reason,
            rule,
            ..self.asked.as_ref().clone()
        };
        self.asked = Arc::new(decided);
        if let Some((asked, _)) = self.log.0.open().calls.get_mut(&self.id) {
            *asked = Arc::clone(&self.asked);
        }
    }

    /// What was decided, as far as is known.
    pub fn decision(&self) -> Decision {
        self.asked.decision
    }

    pub fn reason(&self) -> &'static str {
        self.asked.reason
    }

    /// Makes the outcome durable.
    pub async fn close(self, ended: Ended) -> Result<Receipt, Unavailable> {
        let event = self.kind.ended(&self.asked, &ended);
        let answer = self.say(|jobs| jobs.post(|reply| Job::Append(event, reply)));
        match answer {
            Some(answer) => self.log.answered(answer).await.inspect_err(|why| {
                // The record may still become durable and say that all was well, but nobody was told so.
                if *why == Unavailable::NoAnswer {
                    self.note(UNRECORDED);
                }
            }),
            None => Err(Unavailable::Closed),
        }
    }

    /// Ends it with a word, for which nobody waits.
    pub(super) fn give_up(&self, result: &'static str) {
        self.say(|_| self.note(result));
    }

    fn note(&self, result: &'static str) {
        let ended = Ended {
            latency_ms: u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            ..Ended::of(result)
        };
        self.log.note(self.kind.ended(&self.asked, &ended));
    }

    /// Takes the call off the list of open ones and says how it ended, as one step: whoever closes the log sees it
    /// before both or after both. None when it was closed before.
    fn say<T>(&self, how: impl FnOnce(&Jobs) -> T) -> Option<T> {
        let shared = &self.log.0;
        let mut open = shared.open();
        open.calls.remove(&self.id)?;
        shared.status.count(open.calls.len());
        Some(how(&shared.jobs))
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.give_up(match std::thread::panicking() {
            true => "internal",
            false => "cancelled",
        });
    }
}
