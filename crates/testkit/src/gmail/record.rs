//! What connections said and how often they had to wait, and the faults that are to befall them. Touches no socket.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::time::Instant;

const PATIENCE: Duration = Duration::from_secs(10);

/// One command that came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// Which connection it came over, from 0.
    pub connection: usize,
    /// Without tag and CRLF, literals as they are; what logs in is cut short behind its mechanism or name.
    pub text: String,
}

/// What has happened since the start or the last reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub connections: usize,
    /// Logins that were granted.
    pub logins: usize,
    pub commands: usize,
    /// How often a client spoke after having heard something since it last spoke, its first words included. A flight that
    /// reaches the server in pieces may count more than once.
    pub flights: usize,
}

/// What befalls a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The connection ends and nothing is done.
    CloseBefore,
    /// It is done, and the connection ends before anything of it is answered.
    CloseAfter,
    /// It is done, and the connection ends after so many octets of the answer.
    CutAnswer(usize),
    /// It is not done, but answered with this: `NO [UNAVAILABLE] not now`.
    Answer(&'static str),
    /// It is done, and nothing is heard any more until the client leaves.
    Stall,
}

#[derive(Debug, Default)]
pub(super) struct Record {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    heard: Vec<Heard>,
    tally: Tally,
    /// Command, how many of it are still to pass, and what then happens.
    faults: Vec<(String, usize, Fault)>,
}

impl Record {
    pub(super) fn connected(&self) {
        self.lock().tally.connections += 1;
    }

    pub(super) fn logged_in(&self) {
        self.lock().tally.logins += 1;
    }

    pub(super) fn flight(&self) {
        self.lock().tally.flights += 1;
    }

    /// Notes a command, and says what is to befall it.
    pub(super) fn command(&self, connection: usize, verb: &str, text: String) -> Option<Fault> {
        let mut state = self.lock();
        state.heard.push(Heard { connection, text });
        state.tally.commands += 1;
        self.changed.notify_all();
        let due = state
            .faults
            .iter_mut()
            .enumerate()
            .filter(|(_, one)| one.0 == verb);
        let mut struck = None;
        for (at, (_, left, _)) in due {
            *left -= 1;
            if *left == 0 && struck.is_none() {
                struck = Some(at);
            }
        }
        struck.map(|at| state.faults.remove(at).2)
    }

    pub(super) fn arm(&self, verb: &str, nth: usize, fault: Fault) {
        assert!(nth > 0, "commands are counted from 1");
        self.lock()
            .faults
            .push((verb.to_ascii_uppercase(), nth, fault));
    }

    pub(super) fn armed(&self) -> usize {
        self.lock().faults.len()
    }

    pub(super) fn heard(&self) -> Vec<Heard> {
        self.lock().heard.clone()
    }

    pub(super) fn tally(&self) -> Tally {
        self.lock().tally
    }

    pub(super) fn reset(&self) {
        let mut state = self.lock();
        state.heard.clear();
        state.tally = Tally::default();
    }

    /// Waits until a command that begins with `verb` has come.
    pub(super) fn await_command(&self, verb: &str) -> Heard {
        let deadline = Instant::now() + PATIENCE;
        let mut state = self.lock();
        loop {
            if let Some(found) = state.heard.iter().find(|one| one.text.starts_with(verb)) {
                return found.clone();
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero(),
                "no {verb} came; heard were {:?}",
                state.heard
            );
            let woken = self.changed.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
