//! What the tracer's thread and the test both know of a trapped program. Traces nothing.

use super::call::Call;
use super::{End, Outcome};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

#[derive(Debug)]
pub(super) struct Shared {
    leader: Pid,
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    seen: Vec<Call>,
    hits: Vec<Call>,
    /// The error says why the tracer lost the program.
    end: Option<Result<End, String>>,
}

impl Shared {
    pub(super) fn new(leader: Pid) -> Self {
        Self {
            leader,
            state: Mutex::default(),
            ended: Condvar::new(),
        }
    }

    /// The program's process, which is its first thread as well and leads its group.
    pub(super) fn leader(&self) -> Pid {
        self.leader
    }

    /// Notes a call and tells its number, from 1.
    pub(super) fn note(&self, call: Call) -> usize {
        let mut state = self.lock();
        state.seen.push(call);
        state.seen.len()
    }

    /// Notes that something was done at a call.
    pub(super) fn note_hit(&self, number: usize) {
        let mut state = self.lock();
        let hit = state.seen.get(number - 1).cloned();
        state.hits.extend(hit);
    }

    pub(super) fn seen(&self) -> Vec<Call> {
        self.lock().seen.clone()
    }

    pub(super) fn hits(&self) -> Vec<Call> {
        self.lock().hits.clone()
    }

    /// Kills the program if it is still there.
    pub(super) fn kill(&self) {
        // INVARIANT: the process is reaped under this lock, so its number cannot belong to another yet.
        let state = self.lock();
        if state.end.is_none() {
            let _ = kill(self.leader, Signal::SIGKILL);
        }
    }

    /// Reaps the program and notes how it ended.
    pub(super) fn end(&self, reap: impl FnOnce() -> Result<End, String>) {
        let mut state = self.lock();
        if state.end.is_none() {
            state.end = Some(reap());
        }
        self.ended.notify_all();
    }

    /// Waits for the end; none if it has not come after `limit`. Panics when the tracer lost the program.
    pub(super) fn wait(&self, limit: Duration) -> Option<Outcome> {
        let state = self.await_end(limit);
        match state.end.as_ref()? {
            Ok(end) => Some(Outcome {
                end: *end,
                hits: state.hits.clone(),
                seen: state.seen.clone(),
            }),
            Err(why) => panic!("the trap lost the program: {why}"),
        }
    }

    /// Waits for the end, whichever it is, as long as `limit` allows.
    pub(super) fn settle(&self, limit: Duration) {
        drop(self.await_end(limit));
    }

    fn await_end(&self, limit: Duration) -> MutexGuard<'_, State> {
        let deadline = Instant::now() + limit;
        let mut state = self.lock();
        while state.end.is_none() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.ended.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
