//! The job that finds messages: newest first, one page, two flights.
//!
//! A folder without conditions is read from its end by message number, so its size does not matter.
//! With conditions the server searches, and only the page's messages are described. What it found before it is not asked to
//! find again while nothing has come or gone: then that is one flight.

use std::sync::Mutex;
use std::time::Instant;

use imap::command::{Key, SearchReturn};
use imap::{Command, Data, Esearch, SequenceSet};
use mail::{
    Anchor, Condition, Cx, Fault, FaultKind, FolderName, Found, Search, Stage, Uid, UidValidity,
};

use super::answered::{Answered, Hits, Question};
use super::cache::Cache;
use super::describe::{self, Shelf};
use super::job::Job;
use super::link::Landed;
use super::quirks::false_esearch::{self, is_believed};
use super::response_limits::Bounds;
use super::session::{Entry, Pace, Session};
use super::sightings::Sightings;
use super::{conditions, convert, faults, sift};
use crate::offload::block_in_place_if_large;

pub(super) struct FindMessages<'a> {
    pub search: &'a Search,
    pub cache: &'a Mutex<Cache>,
    pub sightings: &'a Sightings,
    pub answered: &'a Answered,
}

impl Job for FindMessages<'_> {
    type Out = Found;

    fn folder(&self) -> Option<&FolderName> {
        Some(&self.search.folder)
    }

    async fn run(&self, session: &mut Session, cx: &Cx) -> Result<Found, Fault> {
        cx.enter(Stage::Search);
        if self.search.query.is_everything() {
            self.list(session, cx).await
        } else {
            self.find(session, cx).await
        }
    }
}

impl FindMessages<'_> {
    /// No conditions: the last messages of the folder, or the last below the anchor.
    async fn list(&self, session: &mut Session, cx: &Cx) -> Result<Found, Fault> {
        let folder = &self.search.folder;
        let Some(below) = self.search.below else {
            // The folder's size may be known from before: then its end is asked for at once.
            let guess = session.known_size(folder).filter(|size| *size > 0);
            let commands = guess.map(|size| self.fetch_end(session, size));
            let commands = commands.into_iter().collect();
            let opened = session.ask_in(cx, folder, commands, Pace::Prompt).await?;
            if guess == Some(opened.exists) && !opened.is_stale() {
                let total = u64::from(opened.exists);
                return self.page(
                    opened.uidvalidity,
                    total,
                    &opened.landed,
                    self.end(opened.exists),
                );
            }
            return self
                .read_end(session, cx, opened.uidvalidity, opened.exists)
                .await;
        };
        let set = everything_below(below);
        let returns = if conditions::has_esearch(session) {
            SearchReturn::Count
        } else {
            SearchReturn::Plain
        };
        let found = self
            .ask_search(session, cx, returns, &[Key::Uid(set)], Pace::Prompt)
            .await?;
        let left = u32::try_from(found.count)
            .unwrap_or(u32::MAX)
            .min(found.exists);
        self.read_end(session, cx, found.uidvalidity, left).await
    }

    /// The last messages up to message number `last`.
    async fn read_end(
        &self,
        session: &mut Session,
        cx: &Cx,
        uidvalidity: UidValidity,
        last: u32,
    ) -> Result<Found, Fault> {
        if last == 0 {
            return Ok(self.empty(uidvalidity));
        }
        cx.enter(Stage::Fetch);
        let fetch = self.fetch_end(session, last);
        let landed = session.ask_again(cx, vec![fetch], Pace::Prompt).await?;
        self.page(uidvalidity, u64::from(last), &landed, self.end(last))
    }

    fn fetch_end(&self, session: &Session, last: u32) -> Command {
        let numbers = SequenceSet::range(self.first_of(last), last);
        let items = describe::items(session.capabilities(), self.search.snippets);
        Command::fetch(&numbers, &items)
    }

    /// Where the page begins that ends with message number `last`.
    fn first_of(&self, last: u32) -> u32 {
        let limit = u32::try_from(self.search.limit).unwrap_or(u32::MAX);
        last.saturating_sub(limit).saturating_add(1)
    }

    fn end(&self, last: u32) -> Asked<'static> {
        Asked::Numbers {
            first: self.first_of(last),
            last,
        }
    }

    /// With conditions: the server searches, then the newest of what it found are described.
    async fn find(&self, session: &mut Session, cx: &Cx) -> Result<Found, Fault> {
        let search = self.search;
        let condition = Condition::from(&search.query);
        let mut keys = conditions::keys(&condition)?;
        keys.extend(search.below.map(|below| Key::Uid(everything_below(below))));
        let asked = Instant::now();
        let question = Question::to(session, &keys);
        if let Some(question) = &question
            && let Some(found) = self.find_again(session, cx, question, asked).await?
        {
            return Ok(found);
        }
        let returns = self.returns(session);
        let found = self
            .ask_search(session, cx, returns, &keys, Pace::Slow)
            .await?;
        if found.count > search.most_matches {
            let kind = FaultKind::TooMany {
                matches: found.count,
            };
            return Err(Fault::new(kind, Stage::Search));
        }
        let below = search.below.map_or(u32::MAX, |anchor| anchor.uid.0);
        let lower = found.uids.below(below);
        let uids: Vec<u32> = lower.descending().take(search.limit).collect();
        // A stamp is of a folder that nothing came to or left in all flights since it was opened.
        if let (Some(question), Some(stamp)) = (question, session.stamp(&search.folder)) {
            let hits = Hits {
                count: found.count,
                newest: uids.iter().map(|uid| Uid(*uid)).collect(),
            };
            self.answered
                .keep(&search.folder, question, stamp, hits, asked);
        }
        if uids.is_empty() {
            return Ok(self.empty(found.uidvalidity));
        }
        cx.enter(Stage::Fetch);
        let fetch = self.fetch_each(session, &uids);
        let landed = session.ask_again(cx, vec![fetch], Pace::Prompt).await?;
        self.page(found.uidvalidity, found.count, &landed, Asked::Uids(&uids))
    }

    /// Describes what the search found before, in the flight that tells whether anything came or went since; `None` where
    /// the server has to search.
    async fn find_again(
        &self,
        session: &mut Session,
        cx: &Cx,
        question: &Question,
        now: Instant,
    ) -> Result<Option<Found>, Fault> {
        let search = self.search;
        let folder = &search.folder;
        let stamp = session.stamp(folder);
        // A folder that is opened on the way can be searched on the way.
        let stamp = stamp.filter(|_| session.is_in(folder, Entry::Reading).is_some());
        let fits = |uidvalidity| {
            let below = search.below;
            below.is_none_or(|below| below.uidvalidity == uidvalidity)
        };
        let Some(stamp) = stamp.filter(|stamp| fits(stamp.uidvalidity)) else {
            return Ok(None);
        };
        let hits = self.answered.recall(folder, question, stamp, now);
        let hits = hits.filter(|hits| hits.count <= search.most_matches);
        let page = |hits: Hits| Some((hits.count, hits.page(search.limit)?));
        let Some((count, uids)) = hits.and_then(page) else {
            return Ok(None);
        };
        let fetch = (!uids.is_empty()).then(|| self.fetch_each(session, &uids));
        let commands = fetch.into_iter().collect();
        let opened = session.ask_in(cx, folder, commands, Pace::Prompt).await?;
        if session.stamp(folder) != Some(stamp) {
            return Ok(None);
        }
        if uids.is_empty() {
            return Ok(Some(self.empty(stamp.uidvalidity)));
        }
        let asked = Asked::Uids(&uids);
        let found = self.page(stamp.uidvalidity, count, &opened.landed, asked)?;
        // INVARIANT: what is not as it was is searched for.
        Ok(found.missing.is_empty().then_some(found))
    }

    fn fetch_each(&self, session: &Session, uids: &[u32]) -> Command {
        let wanted = SequenceSet::of(uids.iter().copied());
        let items = describe::items(session.capabilities(), self.search.snippets);
        Command::uid_fetch(&wanted, &items)
    }

    /// Searches in the folder, opened on the way. Once more if the folder, or flags that count, changed under the first look,
    /// or if the server does not keep what it promised.
    async fn ask_search(
        &self,
        session: &mut Session,
        cx: &Cx,
        returns: SearchReturn,
        keys: &[Key<'_>],
        pace: Pace,
    ) -> Result<Matches, Fault> {
        let command = conditions::command(returns, keys)?;
        let commands = vec![command.clone()];
        let opened = session
            .ask_in(cx, &self.search.folder, commands, pace)
            .await?;
        if let Some(below) = self.search.below
            && opened.uidvalidity != below.uidvalidity
        {
            return Err(Fault::new(FaultKind::Conflict, Stage::OpenFolder));
        }
        let (uidvalidity, exists) = (opened.uidvalidity, opened.exists);
        let place = |(count, uids)| Matches {
            uidvalidity,
            exists,
            count,
            uids,
        };
        let reflagged = opened.is_reflagged() && conditions::heed_flags(keys);
        let told = match matches(&opened.landed, returns, session.bounds())? {
            Some(_) if opened.is_stale() || reflagged => {
                let landed = session.ask_again(cx, vec![command], pace).await?;
                matches(&landed, returns, session.bounds())?
            }
            told => told,
        };
        if let Some(found) = told
            && (returns == SearchReturn::Plain
                || is_believed(session, cx, &self.search.folder, found.0).await?)
        {
            return Ok(place(found));
        }
        false_esearch::doubt(session, cx, &self.search.folder).await;
        let plain = conditions::command(SearchReturn::Plain, keys)?;
        let landed = session.ask_again(cx, vec![plain], pace).await?;
        let told = matches(&landed, SearchReturn::Plain, session.bounds())?;
        Ok(place(told.unwrap_or_default()))
    }

    fn returns(&self, session: &Session) -> SearchReturn {
        if !conditions::has_esearch(session) {
            SearchReturn::Plain
        } else if session.capabilities().has("PARTIAL") {
            SearchReturn::Newest(u32::try_from(self.search.limit).unwrap_or(50))
        } else {
            SearchReturn::CountAll
        }
    }

    /// Puts a page together from what was asked for.
    fn page(
        &self,
        uidvalidity: UidValidity,
        matches: u64,
        landed: &Landed,
        asked: Asked<'_>,
    ) -> Result<Found, Fault> {
        faults::check_all(&landed.statuses, Stage::Fetch)?;
        let mut fetched = convert::by_uid(&landed.data);
        let mut uids: Vec<u32> = match asked {
            Asked::Uids(wanted) => wanted.to_vec(),
            // Flag changes of other messages may arrive in between, and numbers move when messages go.
            Asked::Numbers { first, last } => {
                let below = self.search.below.map_or(u32::MAX, |anchor| anchor.uid.0);
                fetched
                    .retain(|uid, fetch| (first..=last).contains(&fetch.sequence) && *uid < below);
                let uids: Vec<u32> = fetched.keys().copied().collect();
                // INVARIANT: a page is not longer than was asked for.
                if uids.len() > usize::try_from(last - first).unwrap_or(usize::MAX) + 1 {
                    let said = "the server describes more messages than there are";
                    return Err(Fault::saying(FaultKind::Protocol, Stage::Fetch, said));
                }
                uids
            }
        };
        uids.sort_unstable_by(|a, b| b.cmp(a));
        let mut found = Found {
            uidvalidity: uidvalidity.0,
            matches,
            ..Found::default()
        };
        // Reading one of these messages takes one flight then.
        let shelf = Shelf {
            cache: self.cache,
            sightings: self.sightings,
            folder: &self.search.folder,
            uidvalidity,
        };
        for uid in &uids {
            match fetched.remove(uid) {
                Some(fetch) => {
                    let summary = describe::summary(*uid, fetch, self.search.snippets);
                    shelf.remember(&summary);
                    found.summaries.push(summary);
                }
                None => found.missing.push(Uid(*uid)),
            }
        }
        // INVARIANT: a description that could not be read is not the absence of a message.
        let unreadable = landed
            .data
            .iter()
            .filter(|data| convert::is_unreadable_fetch(data));
        if let Asked::Numbers { .. } = asked {
            found.undescribed = unreadable.count();
        }
        if found.summaries.is_empty() && found.undescribed > 0 {
            return Err(Fault::new(FaultKind::Protocol, Stage::Fetch));
        }
        let attempted = uids.len() + found.undescribed;
        let more = matches > u64::try_from(attempted).unwrap_or(u64::MAX);
        found.next = match uids.last() {
            Some(last) if more => Some(Anchor {
                uidvalidity,
                order: 0,
                uid: Uid(*last),
            }),
            _ => None,
        };
        Ok(found)
    }

    fn empty(&self, uidvalidity: UidValidity) -> Found {
        Found {
            uidvalidity: uidvalidity.0,
            ..Found::default()
        }
    }
}

/// How a page's messages were asked for.
#[derive(Clone, Copy)]
enum Asked<'a> {
    Uids(&'a [u32]),
    /// By message number, both ends included.
    Numbers {
        first: u32,
        last: u32,
    },
}

/// What a search found, and where.
struct Matches {
    uidvalidity: UidValidity,
    exists: u32,
    count: u64,
    uids: SequenceSet,
}

/// How many and which, in whichever form the server answered; `None` when it did not answer as promised.
fn matches(
    landed: &Landed,
    asked: SearchReturn,
    bounds: Bounds,
) -> Result<Option<(u64, SequenceSet)>, Fault> {
    faults::check_all(&landed.statuses, Stage::Search)?;
    let extended = landed.data.iter().rev().find_map(|data| match data {
        Data::Esearch(found) if found.uid && is_for(found, landed) => Some(found.as_ref()),
        _ => None,
    });
    if let Some(found) = extended {
        let partial = found.partial.as_ref().map(|partial| &partial.set);
        let uids = partial.or(found.all.as_ref()).cloned().unwrap_or_default();
        let count = found.count.unwrap_or(uids.len());
        bounds.check(&uids)?;
        bounds.check_count(count)?;
        check_length(&uids, count, asked)?;
        // INVARIANT: matches that are counted and not named are not "no matches".
        let whole = asked == SearchReturn::Count || count == 0 || !uids.is_empty();
        let answered = whole && (found.count.is_some() || !uids.is_empty());
        return Ok(answered.then_some((count, uids)));
    }
    let mut lines = landed.data.iter();
    let any = lines.any(|one| matches!(one, Data::Search(_)));
    if !any && asked != SearchReturn::Plain {
        return Ok(None);
    }
    let found = block_in_place_if_large(sift::ranges(&landed.data), || sift::only(&landed.data));
    let uids = found?;
    bounds.check(&uids)?;
    Ok(Some((uids.len(), uids)))
}

/// Whether it answers a command of the flight.
fn is_for(found: &Esearch, landed: &Landed) -> bool {
    let tag = found.tag.as_ref();
    tag.is_none_or(|tag| landed.places.iter().any(|place| place.tag.is(tag)))
}

/// INVARIANT: a list is not longer than its count, nor a page than was asked for.
fn check_length(uids: &SequenceSet, count: u64, asked: SearchReturn) -> Result<(), Fault> {
    let most = match asked {
        SearchReturn::Newest(limit) => count.min(u64::from(limit.max(1))),
        _ => count,
    };
    if uids.len() <= most {
        return Ok(());
    }
    let said = "the server's list of matches is longer than it may be";
    Err(Fault::saying(FaultKind::Protocol, Stage::Search, said))
}

/// An empty set when nothing can be below, and then the search matches nothing.
fn everything_below(anchor: Anchor) -> SequenceSet {
    SequenceSet::range(1, anchor.uid.0.saturating_sub(1))
}
