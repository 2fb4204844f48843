//! The job that sifts a folder: several tests, one flight, a set of messages for each.
//!
//! With `ESEARCH` each answer names its command. Plain answers do not: they are told apart by where they stand, and
//! where that leaves a doubt they are asked for one by one. What was found before is not asked for again while nothing has
//! come or gone.

use std::time::Instant;

use imap::command::{Key, SearchReturn};
use imap::{Command, Data, Esearch, SequenceSet};
use mail::{
    Condition, Cx, Fault, FaultKind, FolderName, Sifted, Stage, Summary, UidSet, UidValidity,
};

use super::ImapSource;
use super::answered::{Answered, Hits, Question};
use super::census::{Censuses, Stamp};
use super::job::Job;
use super::link::{Landed, Place};
use super::quirks::false_esearch::is_believed;
use super::quirks::short_lines;
use super::response_limits::Bounds;
use super::session::{Entry, Pace, Session};
use super::summaries::DescribeMessages;
use super::{conditions, faults};
use crate::offload::block_in_place_if_large;

pub(super) struct SiftFolder<'a> {
    pub folder: &'a FolderName,
    pub tests: &'a [Condition],
    pub censuses: &'a Censuses,
    pub answered: &'a Answered,
    /// What is described in the same flight, where it asks for nothing that flags decide.
    pub likely: Option<DescribeMessages<'a>>,
}

impl ImapSource {
    pub(super) fn sifting<'a>(
        &'a self,
        folder: &'a FolderName,
        tests: &'a [Condition],
        likely: Option<DescribeMessages<'a>>,
    ) -> SiftFolder<'a> {
        SiftFolder {
            folder,
            tests,
            censuses: &self.censuses,
            answered: &self.answered,
            likely,
        }
    }
}

impl Job for SiftFolder<'_> {
    type Out = (Sifted, Vec<Summary>);

    fn folder(&self) -> Option<&FolderName> {
        Some(self.folder)
    }

    async fn run(&self, session: &mut Session, cx: &Cx) -> Result<Self::Out, Fault> {
        cx.enter(Stage::Search);
        conditions::check(session, self.tests)?;
        let asked = Instant::now();
        if let Some(known) = self.recall(session, asked)?
            && let Some(sifted) = self.sift(session, cx, &known).await?
        {
            self.keep(session, &known, &sifted.0, asked);
            return Ok(sifted);
        }
        let nothing = Known {
            stamp: None,
            sets: vec![None; self.tests.len()],
        };
        let sifted = self.sift(session, cx, &nothing).await?;
        let sifted = sifted.ok_or_else(unanswered)?;
        self.keep(session, &nothing, &sifted.0, asked);
        Ok(sifted)
    }
}

/// What need not be asked.
struct Known {
    /// As long as the folder is in this state.
    stamp: Option<Stamp>,
    /// One for each test.
    sets: Vec<Option<UidSet>>,
}

impl SiftFolder<'_> {
    /// None where everything has to be asked.
    fn recall(&self, session: &Session, now: Instant) -> Result<Option<Known>, Fault> {
        let census = self.censuses.of(self.folder);
        let stamp = session.stamp(self.folder);
        let stamp = match session.is_in(self.folder, Entry::Reading) {
            Some(_) => stamp,
            // A folder that is open and has changed has to be listed anyway.
            None if session.has_open(self.folder) && stamp.is_none() => None,
            // The flight that opens it tells whether a list of thousands can be spared.
            None => census.as_ref().map(|(stamp, _)| *stamp),
        };
        let Some(stamp) = stamp else {
            return Ok(None);
        };
        let all = census.filter(|(then, _)| *then == stamp);
        let sets = self.tests.iter().map(|test| {
            if let Some((_, all)) = all.as_ref().filter(|_| test.is_everything()) {
                return Ok(Some(all.as_ref().clone()));
            }
            let question = Question::to(session, &conditions::keys(test)?);
            let hits = question
                .and_then(|question| self.answered.recall(self.folder, &question, stamp, now));
            Ok(hits.and_then(Hits::whole))
        });
        let sets: Vec<Option<UidSet>> = sets.collect::<Result<_, Fault>>()?;
        let stamp = Some(stamp);
        let any = sets.iter().any(Option::is_some);
        Ok(any.then_some(Known { stamp, sets }))
    }

    /// Of what was asked now, what may be told again.
    fn keep(&self, session: &Session, known: &Known, sifted: &Sifted, asked: Instant) {
        // INVARIANT: a stamp is of a folder that nothing came to or left in all flights since it was opened.
        let Some(stamp) = session.stamp(self.folder) else {
            return;
        };
        let each = self.tests.iter().zip(&sifted.sets).zip(&known.sets);
        for ((test, found), _) in each.filter(|(_, known)| known.is_none()) {
            if test.is_everything() {
                self.censuses.keep(self.folder, stamp, found);
            }
            if let Ok(keys) = conditions::keys(test)
                && let Some(question) = Question::to(session, &keys)
            {
                let hits = Hits::all(found);
                self.answered
                    .keep(self.folder, question, stamp, hits, asked);
            }
        }
    }

    /// Asks for what is not known; `None` where that is not so any more.
    async fn sift(
        &self,
        session: &mut Session,
        cx: &Cx,
        known: &Known,
    ) -> Result<Option<(Sifted, Vec<Summary>)>, Fault> {
        let each = self.tests.iter().zip(&known.sets);
        let told: Vec<Option<UidSet>> = each
            .map(|(test, known)| match test {
                // A test that nothing can meet is not worth asking.
                Condition::Any(any) if any.is_empty() => Some(UidSet::default()),
                _ => known.clone(),
            })
            .collect();
        let mut asked: Vec<Vec<Key<'_>>> = Vec::new();
        let mut shares = Vec::new();
        let each = self.tests.iter().zip(&told);
        let mut pace = Pace::Prompt;
        for (test, _) in each.filter(|(_, told)| told.is_none()) {
            let searches = short_lines::cut(conditions::keys(test)?)?;
            shares.push(searches.len());
            asked.extend(searches);
            if conditions::pace(std::slice::from_ref(test)) == Pace::Slow {
                pace = Pace::Slow;
            }
        }
        let likely = self.likely.as_ref();
        let ahead = likely.and_then(|likely| likely.ahead(session));
        let questions = Questions {
            keys: &asked,
            pace,
            given: known.stamp,
            beside: ahead.as_ref().map_or(&[], |ahead| &ahead.commands),
        };
        let Some(heard) = questions.ask(session, cx, self.folder).await? else {
            return Ok(None);
        };
        let Heard {
            uidvalidity,
            sets: found,
            beside,
        } = heard;
        if known.stamp.is_some() && session.stamp(self.folder) != known.stamp {
            return Ok(None);
        }
        let mut found = found.into_iter();
        let mut shares = shares.into_iter();
        let mut next = || {
            let share = shares.next()?;
            let own: Vec<UidSet> = found.by_ref().take(share).collect();
            let all = own
                .iter()
                .fold(UidSet::default(), |all, one| all.union(one));
            (own.len() == share).then_some(all)
        };
        let sets = told
            .into_iter()
            .map(|told| told.or_else(&mut next).ok_or_else(unanswered));
        let sifted = Sifted {
            uidvalidity,
            sets: sets.collect::<Result<_, _>>()?,
            order: mail::Order::ByUid,
        };
        let described = match (likely, ahead, beside) {
            (Some(likely), Some(ahead), Some(landed)) if likely.uidvalidity == uidvalidity => {
                likely.came(&ahead, landed)
            }
            _ => Vec::new(),
        };
        Ok(Some((sifted, described)))
    }
}

/// What came of questions.
struct Heard {
    uidvalidity: UidValidity,
    sets: Vec<UidSet>,
    /// What came of those beside them, if the folder stood still.
    beside: Option<Landed>,
}

/// What is asked, as often as it takes.
struct Questions<'a> {
    keys: &'a [Vec<Key<'a>>],
    pace: Pace,
    /// In another state of the folder there is more to ask.
    given: Option<Stamp>,
    /// Goes along with the first flight.
    beside: &'a [Command],
}

impl Questions<'_> {
    /// None where the folder is not in the state that is given.
    async fn ask(
        &self,
        session: &mut Session,
        cx: &Cx,
        folder: &FolderName,
    ) -> Result<Option<Heard>, Fault> {
        let form = Form::of(session);
        let together = match form == Form::Plain && session.searches_mingle {
            true => 1,
            false => self.keys.len(),
        };
        let (first, rest) = self.keys.split_at(together.min(self.keys.len()));
        let commands = form.commands(first)?;
        let by_flags = self.keys.iter().any(|keys| conditions::heed_flags(keys));
        // INVARIANT: answers that are told apart by where they stand have nothing between them.
        let along = match by_flags || (form == Form::Plain && !commands.is_empty()) {
            true => &[],
            false => self.beside,
        };
        let flight = [commands.as_slice(), along].concat();
        let mut opened = session.ask_in(cx, folder, flight, self.pace).await?;
        if self.given.is_some() && session.stamp(folder) != self.given {
            return Ok(None);
        }
        let uidvalidity = opened.uidvalidity;
        let stale = opened.is_stale() || (by_flags && opened.is_reflagged());
        let beside = (!along.is_empty()).then(|| opened.landed.split_off(commands.len()));
        let beside = beside.filter(|_| !stale);
        let landed = match stale {
            true => session.ask_again(cx, commands, self.pace).await?,
            false => opened.landed,
        };
        if let Some(mut sets) = form.read(&landed, session)?
            && (form == Form::Plain
                || is_believed(session, cx, folder, sets.iter().map(UidSet::len).sum()).await?)
        {
            sets.extend(self.one_by_one(session, cx, rest).await?);
            return Ok(Some(Heard {
                uidvalidity,
                sets,
                beside,
            }));
        }
        match form {
            // What is true of the account is found out where it is checked.
            Form::Extended => session.esearch_fails = true,
            Form::Plain => session.searches_mingle = true,
        }
        let sets = self.one_by_one(session, cx, self.keys).await?;
        Ok(Some(Heard {
            uidvalidity,
            sets,
            beside,
        }))
    }

    /// The only answer in a flight is the answer to its only question.
    async fn one_by_one(
        &self,
        session: &mut Session,
        cx: &Cx,
        asked: &[Vec<Key<'_>>],
    ) -> Result<Vec<UidSet>, Fault> {
        let mut sets = Vec::with_capacity(asked.len());
        for keys in asked {
            let commands = Form::Plain.commands(std::slice::from_ref(keys))?;
            let landed = session.ask_again(cx, commands, self.pace).await?;
            let found = Form::Plain.read(&landed, session)?;
            sets.extend(found.ok_or_else(unanswered)?);
        }
        Ok(sets)
    }
}

/// How answers come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `ESEARCH`.
    Extended,
    /// `SEARCH`.
    Plain,
}

impl Form {
    pub(super) fn of(session: &Session) -> Self {
        match conditions::has_esearch(session) {
            true => Self::Extended,
            false => Self::Plain,
        }
    }

    pub(super) fn commands(self, asked: &[Vec<Key<'_>>]) -> Result<Vec<Command>, Fault> {
        let returns = match self {
            // The count is a check on the list.
            Self::Extended => SearchReturn::CountAll,
            Self::Plain => SearchReturn::Plain,
        };
        let each = asked.iter();
        each.map(|keys| conditions::command(returns, keys))
            .collect()
    }

    /// A set for each command; `None` when it cannot be told which answer is whose.
    pub(super) fn read(
        self,
        landed: &Landed,
        session: &Session,
    ) -> Result<Option<Vec<UidSet>>, Fault> {
        // INVARIANT: a search that failed is never one without matches.
        faults::check_all(&landed.statuses, Stage::Search)?;
        let bounds = session.bounds();
        block_in_place_if_large(ranges(&landed.data), || self.sets(landed, bounds))
    }

    fn sets(self, landed: &Landed, bounds: Bounds) -> Result<Option<Vec<UidSet>>, Fault> {
        let found = match self {
            Self::Extended if landed.data.iter().any(is_malformed) => {
                return Err(broken("the server sent a malformed ESEARCH response"));
            }
            Self::Extended => by_tag(&landed.data, &landed.places)?,
            Self::Plain if landed.places.len() == 1 => Some(vec![only(&landed.data)?]),
            Self::Plain => by_place(landed),
        };
        let checked = |sets: Vec<SequenceSet>| {
            let sets = sets.iter().map(|set| bounds.checked(set));
            sets.collect::<Result<_, _>>()
        };
        found.map(checked).transpose()
    }
}

fn is_malformed(one: &Data) -> bool {
    matches!(one, Data::Malformed(_))
}

/// How many ranges searches found, which is how much work they make.
pub(super) fn ranges(data: &[Data]) -> usize {
    let each = data.iter().map(|one| match one {
        Data::Search(set) => set.ranges().len(),
        Data::Esearch(found) => found.all.as_ref().map_or(0, |set| set.ranges().len()),
        _ => 0,
    });
    each.sum()
}

/// The answers to these commands; `None` where one of them has none.
pub(super) fn by_tag(data: &[Data], places: &[Place]) -> Result<Option<Vec<SequenceSet>>, Fault> {
    let sets = places.iter().map(|place| {
        let mut own = data.iter().filter_map(|data| named(data, place));
        let (Some(answer), None) = (own.next(), own.next()) else {
            return Ok(None);
        };
        let all = answer.all.clone().unwrap_or_default();
        match answer.count {
            // Whoever keeps the promise counts; and whoever counts lists what is counted.
            None => Ok(None),
            Some(count) if count == all.len() => Ok(Some(all)),
            Some(_) => Err(broken(
                "the server's list of matches is not as long as it says",
            )),
        }
    });
    sets.collect()
}

/// How many messages the answer to the only command of a flight counts; none where that is not told.
pub(super) fn counted(landed: &Landed) -> Option<u64> {
    let place = landed.places.first()?;
    let mut own = landed.data.iter().filter_map(|data| named(data, place));
    own.next()?.count
}

/// The answer to this command. Numbers that are not UIDs are none.
fn named<'d>(data: &'d Data, place: &Place) -> Option<&'d Esearch> {
    let Data::Esearch(answer) = data else {
        return None;
    };
    let own = answer.tag.as_ref().is_some_and(|tag| place.tag.is(tag));
    (own && answer.uid).then_some(answer)
}

/// The answer to the only search of a flight.
///
/// QUIRK: some servers spread their matches over several lines, or say nothing when there are none.
pub(super) fn only(data: &[Data]) -> Result<SequenceSet, Fault> {
    check_form(data)?;
    Ok(SequenceSet::union_of(lines(data)))
}

/// INVARIANT: an answer in another form than was asked for is not an empty one.
pub(super) fn check_form(data: &[Data]) -> Result<(), Fault> {
    let extended = |one: &Data| matches!(one, Data::Esearch(_) | Data::Malformed(_));
    if data.iter().any(extended) && lines(data).next().is_none() {
        return Err(broken(
            "the server answers another search than it was asked",
        ));
    }
    Ok(())
}

/// A command's line comes before the command is over. So if exactly one line stands before the end of each command and
/// after that of the one before, it is its own.
fn by_place(landed: &Landed) -> Option<Vec<SequenceSet>> {
    let mut begin = 0;
    let mut sets = Vec::with_capacity(landed.places.len());
    for place in &landed.places {
        let between = landed.data.get(begin..place.after)?;
        let mut own = lines(between);
        let (Some(line), None) = (own.next(), own.next()) else {
            return None;
        };
        sets.push(line.clone());
        begin = place.after;
    }
    // What comes when everything is over belongs to nobody.
    let rest = landed.data.get(begin..)?;
    lines(rest).next().is_none().then_some(sets)
}

fn lines(data: &[Data]) -> impl Iterator<Item = &SequenceSet> {
    data.iter().filter_map(|data| match data {
        Data::Search(uids) => Some(uids),
        _ => None,
    })
}

fn unanswered() -> Fault {
    broken("a search was left without an answer")
}

fn broken(what: &str) -> Fault {
    Fault::saying(FaultKind::Protocol, Stage::Search, what)
}
