//! What can be known of this process from outside: how it stands, and whether it can serve. It names nobody.

mod counted;
mod process;
mod unserved;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use audit::{Health, Lag, Log};
use gateway::{Gateway, Load};
use ledger::{Ledger, Unsettled};
use tokio::time::{Instant, timeout};

use crate::draining::Draining;

pub(crate) use counted::Counted;
pub(crate) use process::{Process, strain};
pub(crate) use unserved::Unserved;

/// A log that does not answer for so long, does not answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// And a ledger. Reading goes on without it, so health must be told before a balancer loses its patience, which is a second for
/// many.
const LEDGER_PATIENCE: Duration = Duration::from_millis(700);
/// So long an answer of the ledger is good enough, however often is asked.
const FRESH: Duration = Duration::from_secs(2);

/// Clones are the same one.
#[derive(Clone)]
pub(crate) struct Watched(Arc<Inner>);

struct Inner {
    log: Log,
    draining: Draining,
    serving: OnceLock<Serving>,
    reloads: [AtomicU64; 2],
    unserved: unserved::Counts,
    version: Mutex<String>,
    ledger: tokio::sync::Mutex<Option<(Instant, LedgerStands)>>,
}

/// What there is once the configuration is in force.
pub(crate) struct Serving {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) counted: Counted,
    pub(crate) changes: Changes,
}

/// Whether there must be a ledger.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Changes {
    Wanted,
    NotWanted,
}

/// How reading the configuration again came out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reloaded {
    InForce,
    Kept,
}

impl Reloaded {
    pub(crate) const ALL: [Self; 2] = [Self::InForce, Self::Kept];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::InForce => "in_force",
            Self::Kept => "kept",
        }
    }
}

/// How the ledger stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LedgerStands {
    /// There is none, and none is needed.
    Absent,
    /// It could not be opened, or does not answer.
    Down,
    Up(Unsettled),
}

/// How changes of mail stand, beside reading.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Changing {
    Available,
    /// They are refused until the ledger answers.
    Unavailable,
    NotOffered,
}

/// What keeps a process from serving anything; what a stranger may know of it.
///
/// A ledger that is away is not among them: reading goes on, and another replica could do no better.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lacking {
    Configuration,
    AuditLog,
    Draining,
}

impl Lacking {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::AuditLog => "audit_log",
            Self::Draining => "draining",
        }
    }
}

impl Watched {
    pub(crate) fn new(log: Log, version: &str) -> Self {
        Self(Arc::new(Inner {
            log,
            draining: Draining::default(),
            serving: OnceLock::new(),
            reloads: Default::default(),
            unserved: unserved::Counts::default(),
            version: Mutex::new(version.to_owned()),
            ledger: tokio::sync::Mutex::default(),
        }))
    }

    /// From now on there is somebody to answer.
    pub(crate) fn serves(&self, serving: Serving) {
        // It begins to serve once.
        let _ = self.0.serving.set(serving);
    }

    pub(crate) fn draining(&self) -> &Draining {
        &self.0.draining
    }

    pub(crate) fn reloaded(&self, how: Reloaded, version: &str) {
        for (count, which) in self.0.reloads.iter().zip(Reloaded::ALL) {
            count.fetch_add(u64::from(which == how), Ordering::Relaxed);
        }
        let mut known = self
            .0
            .version
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        version.clone_into(&mut known);
    }

    /// How often it was read again, by outcome.
    pub(crate) fn reloads(&self) -> impl Iterator<Item = (Reloaded, u64)> {
        let counts = self
            .0
            .reloads
            .iter()
            .map(|count| count.load(Ordering::Relaxed));
        Reloaded::ALL.into_iter().zip(counts)
    }

    /// Somebody over HTTP was not served.
    pub(crate) fn turned_away(&self, why: Unserved) {
        self.0.unserved.count(why);
    }

    /// How often somebody was not, by reason.
    pub(crate) fn unserved(&self) -> impl Iterator<Item = (Unserved, u64)> {
        self.0.unserved.all()
    }

    /// Which configuration is in force: a digest; empty without a directory.
    pub(crate) fn version(&self) -> String {
        let version = self
            .0
            .version
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        version.clone()
    }

    pub(crate) fn log(&self) -> (Health, Lag) {
        (self.0.log.health(), self.0.log.lag())
    }

    pub(crate) fn counted(&self) -> Option<&Counted> {
        Some(&self.0.serving.get()?.counted)
    }

    /// How many calls are here, as soon as there can be any.
    pub(crate) fn calls(&self) -> Option<Load> {
        Some(self.0.serving.get()?.gateway.load())
    }

    /// What keeps it from serving; nothing, if it is ready for reading.
    pub(crate) async fn lacking(&self) -> Vec<Lacking> {
        let mut lacking = Vec::new();
        if self.0.serving.get().is_none() {
            lacking.push(Lacking::Configuration);
        }
        if !matches!(timeout(PATIENCE, self.0.log.probe()).await, Ok(Ok(()))) {
            lacking.push(Lacking::AuditLog);
        }
        if self.0.draining.has_begun() {
            lacking.push(Lacking::Draining);
        }
        lacking
    }

    pub(crate) async fn changing(&self) -> Changing {
        let wanted = self.0.serving.get().map(|serving| serving.changes);
        match (wanted, self.ledger().await) {
            (Some(Changes::Wanted), LedgerStands::Up(_)) => Changing::Available,
            (Some(Changes::Wanted), LedgerStands::Down) => Changing::Unavailable,
            _ => Changing::NotOffered,
        }
    }

    /// One question at a time, and not more often than it is worth.
    pub(crate) async fn ledger(&self) -> LedgerStands {
        let Some(serving) = self.0.serving.get() else {
            return LedgerStands::Absent;
        };
        let mut known = self.0.ledger.lock().await;
        if let Some((when, stands)) = *known
            && when.elapsed() < FRESH
        {
            return stands;
        }
        let stands = match (serving.gateway.ledger(), serving.changes) {
            (Some(ledger), _) => ask(ledger, known.map(|(_, before)| before)).await,
            (None, Changes::Wanted) => LedgerStands::Down,
            (None, Changes::NotWanted) => LedgerStands::Absent,
        };
        *known = Some((Instant::now(), stands));
        stands
    }
}

/// A server that takes its time is not away: then it stands as it stood before.
async fn ask(ledger: &Ledger, before: Option<LedgerStands>) -> LedgerStands {
    match timeout(LEDGER_PATIENCE, ledger.unsettled()).await {
        Ok(Ok(unsettled)) => LedgerStands::Up(unsettled),
        Err(_) if ledger.present().is_ok() => before.unwrap_or(LedgerStands::Down),
        _ => LedgerStands::Down,
    }
}
