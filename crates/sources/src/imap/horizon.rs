//! Where folders end: remembered for a short while, else asked for without opening them.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use imap::{Command, Data};
use mail::{Cx, Fault, FaultKind, FolderName, Horizon, Landing, Stage, Uid, UidValidity};

use super::faults;
use super::job::Job;
use super::pool::Wish;
use super::session::{Pace, Session};

const MOST_FOLDERS: usize = 1_000;

/// An end that is older is asked for anew: the fewer messages lie between it and now, the fewer can be taken for one
/// that we put there.
const KEPT: Duration = Duration::from_secs(30);

#[derive(Default)]
pub(super) struct Horizons(Mutex<HashMap<FolderName, (Horizon, Instant)>>);

impl Horizons {
    pub(super) fn of(&self, folder: &FolderName) -> Option<Horizon> {
        let known = self.lock();
        let (horizon, since) = known.get(folder)?;
        (since.elapsed() < KEPT).then_some(*horizon)
    }

    /// The folder ended there. Within a generation it never ends earlier than it did.
    pub(super) fn note(&self, folder: &FolderName, ends: Horizon) {
        let mut known = self.lock();
        if known.len() >= MOST_FOLDERS && !known.contains_key(folder) {
            known.clear();
        }
        let next = match known.get(folder) {
            Some((before, _)) if before.uidvalidity == ends.uidvalidity => {
                before.next.max(ends.next)
            }
            _ => ends.next,
        };
        let ends = Horizon { next, ..ends };
        known.insert(folder.clone(), (ends, Instant::now()));
    }

    /// A message came to lie there.
    pub(super) fn note_landing(&self, folder: &FolderName, landed: Landing) {
        let next = Uid(landed.uid.0.saturating_add(1));
        let uidvalidity = landed.uidvalidity;
        self.note(folder, Horizon { uidvalidity, next });
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<FolderName, (Horizon, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The job that asks.
pub(super) struct AskHorizon<'a> {
    pub folder: &'a FolderName,
}

impl Job for AskHorizon<'_> {
    type Out = Horizon;

    fn folder(&self) -> Option<&FolderName> {
        None
    }

    fn wish(&self) -> Wish<'_> {
        Wish::Any
    }

    async fn run(&self, session: &mut Session, cx: &Cx) -> Result<Horizon, Fault> {
        cx.enter(Stage::OpenFolder);
        let fault = |kind| Fault::new(kind, Stage::OpenFolder);
        let command = Command::status(&session.names.wire(self.folder));
        let command = command.map_err(|_| fault(FaultKind::NoSuchFolder))?;
        let landed = session.ask(cx, vec![command], Pace::Prompt).await?;
        let status = landed.statuses.first().ok_or(fault(FaultKind::Protocol))?;
        if !status.is_ok() {
            return Err(faults::folder_refused(status));
        }
        let told = landed.data.iter().find_map(|one| match one {
            Data::MailboxStatus(status) => {
                let number = |number: Option<u64>| u32::try_from(number?).ok();
                Some((number(status.uidvalidity)?, number(status.uidnext)?))
            }
            _ => None,
        });
        let (uidvalidity, next) = told.ok_or(fault(FaultKind::Protocol))?;
        Ok(Horizon {
            uidvalidity: UidValidity(uidvalidity),
            next: Uid(next),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_ends_where_it_was_last_seen_to_end_in_its_generation() {
        let horizons = Horizons::default();
        let folder = FolderName::new("INBOX").unwrap();
        assert_eq!(horizons.of(&folder), None);
        for (generation, next, want) in [(1, 5, 5), (1, 9, 9), (1, 6, 9), (2, 3, 3), (1, 4, 4)] {
            let ends = |next| Horizon {
                uidvalidity: UidValidity(generation),
                next: Uid(next),
            };
            horizons.note(&folder, ends(next));
            assert_eq!(horizons.of(&folder), Some(ends(want)));
        }
        let landed = Landing {
            uidvalidity: UidValidity(1),
            uid: Uid(40),
        };
        horizons.note_landing(&folder, landed);
        assert_eq!(horizons.of(&folder).unwrap().next, Uid(41));
    }
}
