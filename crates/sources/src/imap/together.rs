//! Reads of several callers in one folder as one flight: whoever gets the turn reads for all that wait by then.
//!
//! A folder that grows while it is read has to be taken up anew by the server for every flight; many small ones would spend
//! its time on nothing else. Nothing is remembered: every caller gets what the server says after they asked.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use imap::{Command, SequenceSet};
use mail::{Cx, Fault, FaultKind, FolderName, MessageRef, Stage, UidValidity, Witness};
use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::{Mutex as Turn, oneshot};

use super::job::Job;
use super::look::{first_piece, read_on};
use super::pool::Wish;
use super::raw::Spot;
use super::session::{Entry, Pace, Session};
use super::witness::outside;
use super::{ImapSource, convert, faults};

/// So many are read in one flight.
const MOST: usize = 16;

pub(super) type Reading = Result<Option<(Witness, Bytes)>, Fault>;

#[derive(Default)]
pub(super) struct Together(Mutex<HashMap<Place, Arc<Group>>>);

/// Where, and how many octets of each.
type Place = (FolderName, UidValidity, u64);

/// Those who want to read in one folder.
#[derive(Default)]
struct Group {
    turn: Turn<()>,
    waiting: Mutex<VecDeque<Waiting>>,
}

struct Waiting {
    uid: u32,
    told: oneshot::Sender<Reading>,
}

impl Together {
    /// The message and its first octets; what is longer than travels at once is read on in the same turn.
    pub(super) async fn read(
        &self,
        source: &ImapSource,
        cx: &Cx,
        at: &MessageRef,
        octets: u64,
    ) -> Reading {
        let uid = Spot::of(at)?.uid.0;
        let group = self.group(at, octets);
        let mut heard = group.join(uid);
        loop {
            let turn = tokio::select! {
                biased;
                reading = &mut heard => match reading {
                    Ok(reading) => return waited(cx, reading),
                    // Whoever was to read it has given up.
                    Err(_) => {
                        heard = group.join(uid);
                        continue;
                    }
                },
                turn = group.turn.lock() => turn,
            };
            match heard.try_recv() {
                // It was read just before the turn came here.
                Ok(reading) => return waited(cx, reading),
                Err(TryRecvError::Closed) => heard = group.join(uid),
                Err(TryRecvError::Empty) => {}
            }
            // Who asks at the same moment comes along.
            tokio::task::yield_now().await;
            group.read(source, cx, at, octets).await;
            drop(turn);
            match heard.try_recv() {
                Ok(reading) => return reading,
                Err(TryRecvError::Closed) => heard = group.join(uid),
                // Others stood before it, and it is not read yet.
                Err(TryRecvError::Empty) => {}
            }
        }
    }

    fn group(&self, at: &MessageRef, octets: u64) -> Arc<Group> {
        let mut groups = lock(&self.0);
        // Nobody waits in those.
        groups.retain(|_, group| Arc::strong_count(group) > 1);
        let place = (at.folder.clone(), at.uidvalidity, octets);
        Arc::clone(groups.entry(place).or_default())
    }
}

/// What another's flight brought was waited for all the same.
fn waited(cx: &Cx, reading: Reading) -> Reading {
    cx.count_round_trip();
    reading
}

impl Group {
    fn join(&self, uid: u32) -> oneshot::Receiver<Reading> {
        let (told, heard) = oneshot::channel();
        lock(&self.waiting).push_back(Waiting { uid, told });
        heard
    }

    /// Reads for those who have waited longest.
    async fn read(&self, source: &ImapSource, cx: &Cx, at: &MessageRef, octets: u64) {
        let some: Vec<Waiting> = {
            let mut waiting = lock(&self.waiting);
            waiting.retain(|one| !one.told.is_closed());
            let count = waiting.len().min(MOST);
            waiting.drain(..count).collect()
        };
        if some.is_empty() {
            return;
        }
        let all = some.iter().map(|one| one.uid).collect();
        let read = source.run(cx, ReadAll::at(at, all, octets)).await;
        let several = some.len() > 1;
        for (place, one) in some.into_iter().enumerate() {
            let reading = match &read {
                Ok(readings) => readings
                    .get(place)
                    .cloned()
                    .unwrap_or_else(|| Err(garbled())),
                // INVARIANT: one message that a server stumbles over is nobody else's fault.
                Err(fault) if several && may_be_one(fault.kind) => {
                    let alone = source.run(cx, ReadAll::at(at, vec![one.uid], octets)).await;
                    alone.and_then(|all| all.into_iter().next().unwrap_or_else(|| Err(garbled())))
                }
                Err(fault) => Err(fault.clone()),
            };
            // Whoever left is not waiting for it.
            let _ = one.told.send(reading);
        }
    }
}

fn garbled() -> Fault {
    Fault::new(FaultKind::Protocol, Stage::Fetch)
}

/// Whether a flight may have failed for a single message in it. A server that fell silent would be waited for each time.
fn may_be_one(kind: FaultKind) -> bool {
    matches!(
        kind,
        FaultKind::Denied | FaultKind::Rejected | FaultKind::Protocol | FaultKind::Lost
    )
}

/// The job that reads several messages of a folder.
struct ReadAll<'a> {
    folder: &'a FolderName,
    uidvalidity: UidValidity,
    wanted: Vec<u32>,
    /// So many of each.
    octets: u64,
}

impl<'a> ReadAll<'a> {
    fn at(at: &'a MessageRef, wanted: Vec<u32>, octets: u64) -> Self {
        Self {
            folder: &at.folder,
            uidvalidity: at.uidvalidity,
            wanted,
            octets,
        }
    }
}

impl Job for ReadAll<'_> {
    type Out = Vec<Reading>;

    fn folder(&self) -> Option<&FolderName> {
        Some(self.folder)
    }

    fn wish(&self) -> Wish<'_> {
        Wish::Open(self.folder)
    }

    async fn run(&self, session: &mut Session, cx: &Cx) -> Result<Self::Out, Fault> {
        cx.enter(Stage::Confirm);
        let mut items = outside(session.capabilities());
        items.extend(first_piece(self.octets));
        let fetch = |uids: Vec<u32>| vec![Command::uid_fetch(&SequenceSet::of(uids), &items)];
        let all = self.wanted.clone();
        let opened = session
            .enter(
                cx,
                self.folder,
                Entry::Reading,
                fetch(all.clone()),
                Pace::Prompt,
            )
            .await?;
        if opened.uidvalidity != self.uidvalidity {
            return Err(Fault::new(FaultKind::Conflict, Stage::OpenFolder));
        }
        faults::check_all(&opened.landed.statuses, Stage::Fetch)?;
        let mut unread = opened.landed.data.iter().any(convert::is_unreadable_fetch);
        let mut found = convert::by_uid(&opened.landed.data);
        // What the server took up behind the question is asked for once more.
        let again: Vec<u32> = match (opened.shrank, opened.grew) {
            (true, _) => all,
            (false, true) => all
                .into_iter()
                .filter(|uid| !found.contains_key(uid))
                .collect(),
            (false, false) => Vec::new(),
        };
        if !again.is_empty() {
            let landed = session
                .ask_again(cx, fetch(again.clone()), Pace::Prompt)
                .await?;
            faults::check_all(&landed.statuses, Stage::Fetch)?;
            unread |= landed.data.iter().any(convert::is_unreadable_fetch);
            found.retain(|uid, _| !again.contains(uid));
            found.extend(convert::by_uid(&landed.data));
        }
        let mut readings = Vec::with_capacity(self.wanted.len());
        for uid in &self.wanted {
            let at = Spot {
                folder: self.folder,
                uidvalidity: self.uidvalidity,
                uid: mail::Uid(*uid),
            };
            readings.push(match found.get(uid) {
                Some(fetch) => read_on(session, cx, at, fetch, self.octets).await,
                // A description that could not be read is not the absence of a message.
                None if unread => Err(garbled()),
                None => Ok(None),
            });
        }
        Ok(readings)
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
