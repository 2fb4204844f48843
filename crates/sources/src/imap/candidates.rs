//! The job that looks for a message that may have come to a folder: by its size, beyond where the folder ended.

use imap::command::{Key, SearchReturn};
use imap::{Command, Data, SequenceSet};
use mail::{
    Candidate, Cx, Fault, FaultKind, FolderName, Horizon, Landing, Stage, Uid, UidValidity,
};

use super::change::{of_size, unspeakable};
use super::job::Job;
use super::link::Landed;
use super::pool::Wish;
use super::raw::Spot;
use super::response_limits::Bounds;
use super::session::{Entry, Pace, Session};
use super::witness::outside;
use super::{convert, faults, look};

/// So many are looked at in any case, and never more than so many.
const LEAST: u64 = 50;
const MOST: u64 = 2_000;

/// As many of them as hold so many octets that are looked at: a folder that gets many small messages of one size is no
/// reason not to find out.
const MOST_OCTETS: u64 = 8 << 20;

/// So many are described in one flight.
const MOST_AT_ONCE: usize = 10;

pub(super) struct FindCandidates<'a> {
    pub folder: &'a FolderName,
    pub beyond: Option<Horizon>,
    pub size: u64,
    pub octets: u64,
}

impl Job for FindCandidates<'_> {
    type Out = Vec<Candidate>;

    fn folder(&self) -> Option<&FolderName> {
        Some(self.folder)
    }

    fn wish(&self) -> Wish<'_> {
        Wish::Unselected
    }

    async fn run(&self, session: &mut Session, cx: &Cx) -> Result<Vec<Candidate>, Fault> {
        cx.enter(Stage::Confirm);
        let first = self.beyond.map_or(1, |beyond| beyond.next.0);
        // INVARIANT: opened now, so that what came a moment ago is seen.
        let opened = session
            .enter(
                cx,
                self.folder,
                Entry::Anew,
                vec![self.search(first)?],
                Pace::Slow,
            )
            .await?;
        let uidvalidity = opened.uidvalidity;
        let same = self
            .beyond
            .is_none_or(|beyond| beyond.uidvalidity == uidvalidity);
        let landed = match same {
            true => opened.landed,
            false => {
                let again = vec![self.search(1)?];
                session.ask_again(cx, again, Pace::Slow).await?
            }
        };
        let first = if same { first } else { 1 };
        let most = self.most();
        let found = found(&landed, first, most, session.bounds())?;
        if found.len() > most {
            let matches = found.len() as u64;
            return Err(Fault::new(FaultKind::TooMany { matches }, Stage::Confirm));
        }
        let mut candidates = Vec::with_capacity(found.len());
        for batch in found.chunks(MOST_AT_ONCE) {
            candidates.extend(self.describe(session, cx, uidvalidity, batch).await?);
        }
        Ok(candidates)
    }
}

impl FindCandidates<'_> {
    /// More than that is no answer: it would take too long.
    fn most(&self) -> usize {
        let each = self.size.min(self.octets).max(1);
        let most = (MOST_OCTETS / each).clamp(LEAST, MOST);
        usize::try_from(most).unwrap_or(usize::MAX)
    }

    /// Not `next:*`, which names the last message even if its number is lower.
    fn search(&self, first: u32) -> Result<Command, Fault> {
        let mut keys = vec![Key::Uid(SequenceSet::range(first.max(1), u32::MAX))];
        keys.extend(of_size(self.size));
        Command::uid_search(SearchReturn::Plain, &keys).map_err(|_| unspeakable(Stage::Confirm))
    }

    async fn describe(
        &self,
        session: &mut Session,
        cx: &Cx,
        uidvalidity: UidValidity,
        uids: &[u32],
    ) -> Result<Vec<Candidate>, Fault> {
        let mut items = outside(session.capabilities());
        items.extend(look::first_piece(self.octets));
        let command = Command::uid_fetch(&SequenceSet::of(uids.iter().copied()), &items);
        let landed = session.ask_again(cx, vec![command], Pace::Slow).await?;
        faults::check_all(&landed.statuses, Stage::Confirm)?;
        // INVARIANT: a description that could not be read is not the absence of a message.
        if landed.data.iter().any(convert::is_unreadable_fetch) {
            return Err(Fault::new(FaultKind::Protocol, Stage::Confirm));
        }
        let described = convert::by_uid(&landed.data);
        let mut candidates = Vec::new();
        for uid in uids {
            // One that is gone by now is none.
            let Some(fetch) = described
                .get(uid)
                .filter(|fetch| fetch.size == Some(self.size))
            else {
                continue;
            };
            let landing = Landing {
                uidvalidity,
                uid: Uid(*uid),
            };
            let at = Spot {
                folder: self.folder,
                uidvalidity,
                uid: landing.uid,
            };
            let read = look::read_on(session, cx, at, fetch, self.octets).await?;
            candidates.extend(read.map(|(witness, _)| Candidate { landing, witness }));
        }
        Ok(candidates)
    }
}

/// The numbers that the search found, ascending; a few more than are wanted at most.
fn found(landed: &Landed, first: u32, most: usize, bounds: Bounds) -> Result<Vec<u32>, Fault> {
    faults::check_all(&landed.statuses, Stage::Confirm)?;
    let sets = landed.data.iter().filter_map(|one| match one {
        Data::Search(set) => Some(set),
        _ => None,
    });
    // INVARIANT: no answer is not an answer that nothing was found.
    if sets.clone().next().is_none() {
        return Err(Fault::new(FaultKind::Protocol, Stage::Confirm));
    }
    let all = SequenceSet::union_of(sets);
    bounds.check(&all)?;
    let newest = all.descending().take_while(|uid| *uid >= first);
    let mut found: Vec<u32> = newest.take(most + 1).collect();
    found.reverse();
    Ok(found)
}
