//! Counts of what passed through a proxy. Counts only; cuts nothing.

use std::sync::{Mutex, MutexGuard, PoisonError};

const TRANSCRIPT_LIMIT: usize = 1 << 20;
const MOST_COMMANDS: usize = 100_000;

/// What has passed since the start, or since the last reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Connections accepted, refused ones included.
    pub connections: u64,
    /// Connections whose client is still there and which were not cut (a stalled one counts).
    pub live: u64,
    /// Connections to the server that it has not ended yet: what was sent over them may still be under way there.
    pub sessions: u64,
    /// The most that were live at once.
    pub peak: u64,
    /// Commands that clients sent in plain text.
    pub commands: u64,
    /// Bytes from clients.
    pub up: u64,
    /// Bytes passed on to clients.
    pub down: u64,
    /// How often a client spoke after having heard something since it last spoke, its first words included: the round
    /// trips it waited for. Exact when the delay is longer than a client takes to send one flight.
    pub flights: u64,
}

#[derive(Debug, Default)]
pub(super) struct Counters(Mutex<Counted>);

#[derive(Debug, Default)]
struct Counted {
    stats: Stats,
    transcript: Vec<u8>,
    commands: Vec<String>,
}

impl Counters {
    pub(super) fn read(&self) -> Stats {
        self.lock().stats
    }

    pub(super) fn reset(&self) {
        let mut inner = self.lock();
        let (live, sessions) = (inner.stats.live, inner.stats.sessions);
        *inner = Counted {
            stats: Stats {
                live,
                sessions,
                peak: live,
                ..Stats::default()
            },
            ..Counted::default()
        };
    }

    pub(super) fn transcript(&self) -> String {
        String::from_utf8_lossy(&self.lock().transcript).into_owned()
    }

    pub(super) fn commands(&self) -> Vec<String> {
        self.lock().commands.clone()
    }

    pub(super) fn command(&self, line: &str) {
        let counted = &mut self.lock();
        counted.stats.commands += 1;
        if counted.commands.len() < MOST_COMMANDS {
            counted.commands.push(line.to_owned());
        }
    }

    pub(super) fn session_begun(&self) {
        self.lock().stats.sessions += 1;
    }

    pub(super) fn session_ended(&self) {
        self.lock().stats.sessions -= 1;
    }

    pub(super) fn accepted(&self) {
        self.lock().stats.connections += 1;
    }

    pub(super) fn opened(&self) {
        let stats = &mut self.lock().stats;
        stats.live += 1;
        stats.peak = stats.peak.max(stats.live);
    }

    pub(super) fn closed(&self) {
        self.lock().stats.live -= 1;
    }

    pub(super) fn up(&self, bytes: &[u8], flights: u64) {
        let Counted {
            stats, transcript, ..
        } = &mut *self.lock();
        stats.up += bytes.len() as u64;
        stats.flights += flights;
        let room = TRANSCRIPT_LIMIT - transcript.len();
        transcript.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    pub(super) fn down(&self, bytes: usize) {
        self.lock().stats.down += bytes as u64;
    }

    fn lock(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
