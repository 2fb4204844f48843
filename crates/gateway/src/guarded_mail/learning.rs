//! Learning facts: in groups, two at a time, read while the next ones travel.

use std::sync::{Arc, Mutex};

use mail::{
    FactsBuf, Fault, FaultKind, FolderName, Snippets, Stage, Summary, Uid, UidSet, UidValidity,
};
use tokio::task::JoinHandle;

use super::GuardedMail;
use crate::knowledge::{MOST, Shelf, lock};
use crate::pipeline::{LITTLE, at_once};

/// Facts of so many messages are asked for at once.
const GROUP: u32 = 1_000;
/// Octets of facts that one folder may have while it is judged: twice what is kept of an account
/// afterwards.
const MAX_FOLDER_BYTES: usize = 2 * MOST;
/// Messages that are too large to be described together are asked for in groups down to this.
const LEAST_GROUP: u64 = 1;
/// A server that fails so often fails at something else.
const MOST_SPLITS: usize = 64;
/// So many are read by one thread.
const PIECE: usize = 300;

/// What is learned, and where it is kept.
pub(super) struct Lesson<'l> {
    pub folder: &'l FolderName,
    pub uidvalidity: UidValidity,
    /// INVARIANT: one shelf from the first look to the judgement, whatever becomes of it meanwhile.
    pub shelf: &'l Arc<Mutex<Shelf>>,
}

impl Lesson<'_> {
    pub(super) fn keep(&self, facts: &[(Uid, FactsBuf)]) {
        let mut shelf = lock(self.shelf);
        // The source just said that this is the folder's generation.
        shelf.settle(self.uidvalidity);
        shelf.keep(self.uidvalidity, facts);
    }
}

impl GuardedMail<'_> {
    /// Fetches the facts of these messages and says which there were.
    pub(super) async fn learn(&self, lesson: &Lesson<'_>, uids: &UidSet) -> Result<UidSet, Fault> {
        let learned = self.learn_in_groups(lesson, uids).await;
        self.account.knowledge.tidy();
        learned
    }

    async fn learn_in_groups(&self, lesson: &Lesson<'_>, uids: &UidSet) -> Result<UidSet, Fault> {
        let mut described: Vec<UidSet> = Vec::new();
        let mut reading: Vec<JoinHandle<Vec<(Uid, FactsBuf)>>> = Vec::new();
        let mut rest = uids.clone();
        while !rest.is_empty() {
            let (one, other) = (rest.split_lowest(GROUP), rest.split_lowest(GROUP));
            let asked = one.len() + other.len();
            let (one, other) =
                tokio::join!(self.described(lesson, one), self.described(lesson, other));
            for earlier in reading.drain(..) {
                lesson.keep(&earlier.await.map_err(fell)?);
            }
            let (one, other) = (one?, other?);
            // INVARIANT: a server that names messages and describes none of them is not asked about
            // billions of them.
            if asked == 2 * u64::from(GROUP) && one.is_empty() && other.is_empty() {
                return Err(stumbled());
            }
            let is_more_to_come = !rest.is_empty();
            if is_more_to_come && lock(lesson.shelf).weight() > MAX_FOLDER_BYTES {
                return Err(stumbled());
            }
            for found in [one, other] {
                described.push(found.iter().map(|one| one.uid).collect());
                for some in pieces(found) {
                    reading.push(tokio::task::spawn_blocking(move || facts(&some)));
                }
            }
        }
        for last in reading {
            lesson.keep(&last.await.map_err(fell)?);
        }
        let ranges = described
            .iter()
            .flat_map(|some| some.ranges().iter().copied());
        Ok(UidSet::from_ranges(ranges))
    }

    /// INVARIANT: nobody can hide a folder by sending mail whose envelopes are too large together.
    pub(super) async fn described(
        &self,
        lesson: &Lesson<'_>,
        uids: UidSet,
    ) -> Result<Vec<Summary>, Fault> {
        let source = self.account.source();
        let mut found = Vec::new();
        let mut left: Vec<UidSet> = Some(uids)
            .filter(|uids| !uids.is_empty())
            .into_iter()
            .collect();
        let mut splits = 0;
        while let Some(group) = left.pop() {
            let (folder, uidvalidity) = (lesson.folder, lesson.uidvalidity);
            let asked = source.summaries(self.cx, folder, uidvalidity, &group, Snippets::Without);
            match asked.await {
                Ok(some) => found.extend(some.into_iter().filter(|one| group.contains(one.uid))),
                Err(fault)
                    if fault.kind == FaultKind::Protocol
                        && group.len() > LEAST_GROUP
                        && splits < MOST_SPLITS =>
                {
                    splits += 1;
                    left.extend(split(&group, group.len() / 2));
                }
                Err(fault) => return Err(fault),
            }
        }
        Ok(found)
    }
}

pub(super) fn facts(found: &[Summary]) -> Vec<(Uid, FactsBuf)> {
    let each = found.iter();
    each.map(|one| (one.uid, content::facts(one))).collect()
}

/// So that several threads can read them.
fn pieces(mut found: Vec<Summary>) -> Vec<Vec<Summary>> {
    let mut pieces = Vec::new();
    while !found.is_empty() {
        pieces.push(found.split_off(found.len().saturating_sub(PIECE)));
    }
    pieces
}

/// The first so many, and the others.
fn split(uids: &UidSet, first: u64) -> [UidSet; 2] {
    let mut others = uids.clone();
    let first = others.split_lowest(u32::try_from(first).unwrap_or(u32::MAX));
    [first, others]
}

/// Reads so many octets that strangers wrote: a few at once, more where that holds up nobody else.
pub(super) async fn read<R: Send + 'static>(
    octets: usize,
    work: impl FnOnce() -> R + Send + 'static,
) -> Result<R, Fault> {
    if octets > LITTLE {
        return tokio::task::spawn_blocking(work).await.map_err(fell);
    }
    at_once(work).ok_or_else(stumbled)
}

fn stumbled() -> Fault {
    Fault::new(FaultKind::Protocol, Stage::Fetch)
}

pub(super) fn fell(_: tokio::task::JoinError) -> Fault {
    stumbled()
}
