//! The judgement of a whole folder: each message by its facts, and how many have which level.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use mail::{Facts, Fault, FaultKind, Level, Stage, UidSet, UidValidity};
use policy::Permit;

use crate::criteria::Criteria;
use crate::knowledge::{Shelf, lock};

/// Facts of more octets than this are judged where that holds up nobody else: about 5,000 messages, or far fewer to a
/// thousand people each.
const MUCH: usize = 1 << 20;

/// How many messages of a folder have each level.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Tally([u64; 7]);

impl Tally {
    pub(crate) fn at(&self, level: Level) -> u64 {
        self.0.get(level as usize).copied().unwrap_or(0)
    }

    pub(crate) fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Too low to be found.
    pub(crate) fn hidden(&self) -> u64 {
        self.at(Level::None) + self.at(Level::Count)
    }

    fn add(&mut self, level: Level, messages: u64) {
        if let Some(count) = self.0.get_mut(level as usize) {
            *count += messages;
        }
    }
}

/// What a search has to look at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Looks {
    /// At the facts of each message.
    AtFacts,
    /// All messages are alike, and the source found what matches.
    AtNothing,
    /// Nothing can match for this caller.
    Nowhere,
}

/// Tells a thread that the call it works for is over.
#[derive(Default)]
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Everything that a judgement needs, so that it can be made on any thread.
pub(super) struct Judging {
    pub permit: Permit,
    pub shelf: Arc<Mutex<Shelf>>,
    pub uidvalidity: UidValidity,
    pub all: UidSet,
    /// What the source found for the conditions, where there are some.
    pub matching: Option<UidSet>,
    pub criteria: Criteria,
    pub looks: Looks,
    pub now: i64,
}

impl Judging {
    /// On a thread of its own where there is much to judge, so that it delays no other call. It
    /// ends with its call.
    pub(super) async fn off_thread(self) -> Result<(UidSet, Tally), Fault> {
        let stop = StopOnDrop::default();
        if self.looks != Looks::AtFacts || lock(&self.shelf).weight() <= MUCH {
            return self.run(&stop.0);
        }
        let stopped = Arc::clone(&stop.0);
        let judged = tokio::task::spawn_blocking(move || self.run(&stopped)).await;
        judged.map_err(|_| Fault::new(FaultKind::Protocol, Stage::Search))?
    }

    fn run(self, stopped: &AtomicBool) -> Result<(UidSet, Tally), Fault> {
        let scope = self.permit.scope();
        let mut tally = Tally::default();
        let unseen = scope.judge(&Facts::default(), self.now).level;
        if self.looks != Looks::AtFacts {
            tally.add(unseen, self.all.len());
            let hits = match self.looks {
                Looks::AtNothing => self.matching.unwrap_or(self.all),
                Looks::AtFacts | Looks::Nowhere => UidSet::default(),
            };
            return Ok((hits, tally));
        }
        // INVARIANT: what a sender makes long to judge holds up no other call, so nobody waits for this to end.
        let shelf = lock(&self.shelf).snapshot();
        // INVARIANT: facts of another generation are not those of these messages, and no answer about them.
        if shelf.uidvalidity() != Some(self.uidvalidity) {
            return Err(Fault::new(FaultKind::Conflict, Stage::Search));
        }
        let mut hits: Vec<(u32, u32)> = Vec::new();
        let mut seen = 0;
        for (uid, facts) in shelf.iter().filter(|(uid, _)| self.all.contains(*uid)) {
            if stopped.load(Ordering::Relaxed) {
                return Err(Fault::new(FaultKind::Lost, Stage::Search));
            }
            let level = scope.judge(&facts, self.now).level;
            tally.add(level, 1);
            seen += 1;
            if level >= self.criteria.reads
                && self.matching.as_ref().is_none_or(|set| set.contains(uid))
                && self.fits(&facts)
            {
                hits.push((uid.0, uid.0));
            }
        }
        // What was not looked at has what holds without any fact.
        tally.add(unseen, self.all.len().saturating_sub(seen));
        Ok((UidSet::from_ranges(hits), tally))
    }

    fn fits(&self, facts: &Facts<'_>) -> bool {
        let mut predicates = self.criteria.predicates.iter();
        predicates.all(|one| one.holds(facts, self.now))
    }
}
