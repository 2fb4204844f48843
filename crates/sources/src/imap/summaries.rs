//! The job that describes messages whose UIDs are known: as many as are asked for, one flight for thousands.

use std::collections::HashMap;
use std::sync::Mutex;

use imap::command::Item;
use imap::{Command, Data, Fetch, SequenceSet};
use mail::{Cx, Fault, FaultKind, FolderName, Snippets, Stage, Summary, Uid, UidSet, UidValidity};

use super::cache::{Cache, Known};
use super::describe::{self, Shelf};
use super::job::Job;
use super::link::Landed;
use super::quirks::Finding;
use super::quirks::short_lines::MOST_OF_A_SET;
use super::session::{Pace, Session};
use super::sightings::Sightings;
use super::{convert, faults};

/// Commands in one flight: as much as fits into the buffers between here and there, while nobody reads.
const MOST_AT_ONCE: usize = 8;
/// A page is read again soon; of more than that, nobody reads each.
const WORTH_KEEPING: u64 = 100;
/// Of a message whose description is known: whether it is still that one, and what may have changed. Or of one that cannot be
/// described.
const SHORT: [Item; 3] = [Item::Flags, Item::InternalDate, Item::Size];
/// What may have changed of one that is still that one if it is there.
const CHANGING: [Item; 1] = [Item::Flags];

pub(super) struct DescribeMessages<'a> {
    pub folder: &'a FolderName,
    pub uidvalidity: UidValidity,
    pub uids: &'a UidSet,
    pub snippets: Snippets,
    pub cache: &'a Mutex<Cache>,
    pub sightings: &'a Sightings,
}

impl Job for DescribeMessages<'_> {
    type Out = Vec<Summary>;

    fn folder(&self) -> Option<&FolderName> {
        Some(self.folder)
    }

    async fn run(&self, session: &mut Session, cx: &Cx) -> Result<Vec<Summary>, Fault> {
        cx.enter(Stage::Fetch);
        let known = self.known();
        let recall = Recall::at(session);
        let all = self.orders(session, &known, recall);
        let mut flights = all.chunks(MOST_AT_ONCE);
        let first = flights.next().unwrap_or_default();
        let opened = session
            .ask_in(cx, self.folder, first.to_vec(), Pace::Prompt)
            .await?;
        if opened.uidvalidity != self.uidvalidity {
            return Err(Fault::new(FaultKind::Conflict, Stage::OpenFolder));
        }
        let mut found = Descriptions::default();
        let grew = opened.grew;
        let landed = match opened.shrank {
            // Some of those that it described may be gone.
            true => session.ask_again(cx, first.to_vec(), Pace::Prompt).await?,
            false => opened.landed,
        };
        found.take(landed, self.uids)?;
        for flight in flights {
            let landed = session.ask_again(cx, flight.to_vec(), Pace::Prompt).await?;
            found.take(landed, self.uids)?;
        }
        let recalled = found.take_out(&known, recall);
        if grew || found.is_another {
            self.ask_once_more(session, cx, &mut found, &recalled)
                .await?;
        }
        if found.unreadable {
            self.ask_for_less(session, cx, &mut found, &recalled)
                .await?;
        }
        self.summaries(found, recalled)
    }
}

impl DescribeMessages<'_> {
    /// What need not be described again.
    fn known(&self) -> HashMap<u32, Known> {
        match self.snippets == Snippets::Without && self.uids.len() <= WORTH_KEEPING {
            true => self.shelf().described(self.uids),
            false => HashMap::new(),
        }
    }

    fn shelf(&self) -> Shelf<'_> {
        Shelf {
            cache: self.cache,
            sightings: self.sightings,
            folder: self.folder,
            uidvalidity: self.uidvalidity,
        }
    }

    fn missing(&self, found: &Descriptions, recalled: &[Summary]) -> UidSet {
        let recalled: UidSet = recalled.iter().map(|one| one.uid).collect();
        self.uids.difference(&found.uids()).difference(&recalled)
    }

    /// What came while the first flight was under way was not there for it yet.
    async fn ask_once_more(
        &self,
        session: &mut Session,
        cx: &Cx,
        found: &mut Descriptions,
        recalled: &[Summary],
    ) -> Result<(), Fault> {
        let missing = self.missing(found, recalled);
        let items = describe::items(session.capabilities(), self.snippets);
        for flight in commands(&missing, &items).chunks(MOST_AT_ONCE) {
            let landed = session.ask_again(cx, flight.to_vec(), Pace::Prompt).await?;
            found.take(landed, &missing)?;
        }
        Ok(())
    }

    /// One message whose envelope or structure nobody can read, such as one to fifty thousand people, must not stand
    /// before all others. Without these it is known to be there, and nothing is known of what it says.
    async fn ask_for_less(
        &self,
        session: &mut Session,
        cx: &Cx,
        found: &mut Descriptions,
        recalled: &[Summary],
    ) -> Result<(), Fault> {
        let missing = self.missing(found, recalled);
        found.unreadable = false;
        for flight in commands(&missing, &SHORT).chunks(MOST_AT_ONCE) {
            let landed = session.ask_again(cx, flight.to_vec(), Pace::Prompt).await?;
            found.take(landed, &missing)?;
        }
        Ok(())
    }

    fn summaries(
        &self,
        found: Descriptions,
        recalled: Vec<Summary>,
    ) -> Result<Vec<Summary>, Fault> {
        let described = found.by_uid.len() + recalled.len();
        let described = u64::try_from(described).unwrap_or(u64::MAX);
        // INVARIANT: a description that could not be read is not the absence of a message.
        if found.unreadable && described < self.uids.len() {
            return Err(Fault::new(FaultKind::Protocol, Stage::Fetch));
        }
        let shelf = self.shelf();
        recalled.iter().for_each(|summary| shelf.sight_one(summary));
        let each = found.by_uid.into_iter();
        let mut summaries: Vec<Summary> = each
            .map(|(uid, fetch)| describe::summary(uid, fetch, self.snippets))
            .collect();
        if described <= WORTH_KEEPING {
            summaries.iter().for_each(|summary| shelf.remember(summary));
        }
        summaries.extend(recalled);
        Ok(summaries)
    }
}

/// Descriptions that are asked for in a flight that has other business.
pub(super) struct Ahead {
    pub commands: Vec<Command>,
    known: HashMap<u32, Known>,
    recall: Recall,
}

impl DescribeMessages<'_> {
    /// None where they are too many for that.
    pub(super) fn ahead(&self, session: &Session) -> Option<Ahead> {
        let known = self.known();
        let recall = Recall::at(session);
        let commands = self.orders(session, &known, recall);
        let fits = self.uids.len() <= WORTH_KEEPING && commands.len() <= MOST_AT_ONCE;
        fits.then_some(Ahead {
            commands,
            known,
            recall,
        })
    }

    /// What came of it; nothing where anything would have to be asked again.
    pub(super) fn came(&self, ahead: &Ahead, landed: Landed) -> Vec<Summary> {
        let mut found = Descriptions::default();
        if found.take(landed, self.uids).is_err() || found.unreadable {
            return Vec::new();
        }
        let recalled = found.take_out(&ahead.known, ahead.recall);
        match found.is_another {
            true => Vec::new(),
            false => self.summaries(found, recalled).unwrap_or_default(),
        }
    }

    fn orders(
        &self,
        session: &Session,
        known: &HashMap<u32, Known>,
        recall: Recall,
    ) -> Vec<Command> {
        let items = describe::items(session.capabilities(), self.snippets);
        let old: UidSet = known.keys().map(|uid| Uid(*uid)).collect();
        let mut all = commands(&self.uids.difference(&old), &items);
        all.extend(commands(&old, recall.items()));
        all
    }
}

/// How it is known that a message is still the one that was described.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Recall {
    /// By its size and its arrival.
    Comparing,
    /// By its UID, at a server that never gives one to another.
    Trusting,
}

impl Recall {
    fn at(session: &Session) -> Self {
        match session.has_found_out(Finding::UidsStay) {
            true => Self::Trusting,
            false => Self::Comparing,
        }
    }

    fn items(self) -> &'static [Item] {
        match self {
            Self::Comparing => &SHORT,
            Self::Trusting => &CHANGING,
        }
    }
}

fn is_same(fetch: &Fetch, known: &Known) -> bool {
    let size = fetch.size;
    size.is_some_and(|size| known.is_of(size, convert::arrived(fetch)))
}

/// What the server said of the messages that were asked for.
#[derive(Default)]
struct Descriptions {
    by_uid: HashMap<u32, Fetch>,
    unreadable: bool,
    /// A message that was known is another one by now.
    is_another: bool,
}

impl Descriptions {
    fn uids(&self) -> UidSet {
        self.by_uid.keys().map(|uid| Uid(*uid)).collect()
    }

    /// Those that were known before, as they are now.
    fn take_out(&mut self, known: &HashMap<u32, Known>, recall: Recall) -> Vec<Summary> {
        let mut recalled = Vec::with_capacity(known.len());
        for (uid, known) in known {
            let Some(fetch) = self.by_uid.remove(uid) else {
                continue;
            };
            let same = match recall {
                Recall::Trusting => true,
                Recall::Comparing => is_same(&fetch, known),
            };
            match describe::recalled(*uid, &fetch, known).filter(|_| same) {
                Some(summary) => recalled.push(summary),
                // QUIRK: UIDs that move (Proton Bridge). What we knew was another message.
                None => self.is_another = true,
            }
        }
        recalled
    }

    /// Servers tell of other messages too, when their flags change.
    fn take(&mut self, landed: Landed, asked: &UidSet) -> Result<(), Fault> {
        faults::check_all(&landed.statuses, Stage::Fetch)?;
        self.unreadable |= landed.data.iter().any(convert::is_unreadable_fetch);
        for data in landed.data {
            let Data::Fetch(fetch) = data else { continue };
            let Some(uid) = fetch.uid.filter(|uid| asked.contains(Uid(*uid))) else {
                continue;
            };
            convert::keep(&mut self.by_uid, uid, *fetch);
        }
        Ok(())
    }
}

pub(super) fn commands(uids: &UidSet, items: &[Item]) -> Vec<Command> {
    let pieces = pieces(uids);
    let each = pieces.iter();
    each.map(|piece| Command::uid_fetch(piece, items)).collect()
}

/// Cut so that no command is too long for a server.
fn pieces(uids: &UidSet) -> Vec<SequenceSet> {
    let mut pieces = Vec::new();
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    let mut length = 0;
    for range in uids.ranges() {
        let (first, last) = *range;
        let digits = |number: u32| {
            number
                .checked_ilog10()
                .map_or(1, |digits| digits as usize + 1)
        };
        length += digits(first) + digits(last) + 2;
        if length > MOST_OF_A_SET && !ranges.is_empty() {
            pieces.push(SequenceSet::from_ranges(std::mem::take(&mut ranges)));
            length = digits(first) + digits(last) + 2;
        }
        ranges.push((first, last));
    }
    let last = SequenceSet::from_ranges(ranges);
    if !last.is_empty() {
        pieces.push(last);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_stay_short_and_ask_for_everything() {
        let scattered: UidSet = (0..5_000).map(|n| Uid(4_000_000_000 + n * 2)).collect();
        for (uids, least) in [
            (UidSet::default(), 0),
            (UidSet::range(Uid(1), Uid(u32::MAX)), 1),
            (UidSet::from_ranges([(3, 3), (5, 9)]), 1),
            (scattered, 8),
        ] {
            let pieces = pieces(&uids);
            assert!(pieces.len() >= least);
            assert!(
                pieces
                    .iter()
                    .all(|piece| piece.to_string().len() <= MOST_OF_A_SET)
            );
            let all = pieces
                .iter()
                .flat_map(|piece| piece.ranges().iter().copied());
            assert_eq!(UidSet::from_ranges(all), uids);
        }
    }
}
