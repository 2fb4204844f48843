//! A folder as a caller sees it: which messages there are for it, and how many there are besides.
//!
//! The source narrows, facts of what is left are fetched once, and the policy judges each message by them, in every call
//! anew.

use std::sync::{Arc, Mutex};

use mail::{
    Anchor, Condition, Facts, Fault, FaultKind, FolderName, Found, Level, Order, Search, Sifted,
    Snippets, Stage, Summary, Uid, UidSet, UidValidity,
};
use policy::{Permit, Scope};

use super::{GuardedMail, Halt, strip};
use crate::criteria::Criteria;
use crate::knowledge::{Shelf, lock};

/// Facts of so many messages are asked for at once.
const BATCH: usize = 4_000;
/// So few messages are looked at without asking the source which of them matter.
const FEW: u64 = 500;
/// More than this is judged where it holds up nobody else.
const MANY: u64 = 5_000;

/// Which messages are wanted.
pub(crate) struct Wanted<'w> {
    pub criteria: &'w Criteria,
    /// Continue below this message.
    pub below: Option<Anchor>,
    pub limit: usize,
    pub snippets: Snippets,
}

/// A page, cut after judging: it is full unless there is no more.
pub(crate) struct Sighting {
    pub uidvalidity: UidValidity,
    pub tally: Tally,
    /// All messages that match and may be seen.
    pub matched: u64,
    /// Those of them at and below the beginning of this page.
    pub left: u64,
    /// Newest first, each stripped to its level.
    pub page: Vec<(Summary, Level)>,
    pub next: Option<Anchor>,
}

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

impl GuardedMail<'_> {
    /// How many messages have each level.
    pub(crate) async fn tally(&self, folder: &FolderName) -> Result<Tally, Halt> {
        self.needs(folder, Level::Count)?;
        Ok(self.survey(folder, &Criteria::default()).await?.tally)
    }

    pub(crate) async fn find(
        &self,
        folder: &FolderName,
        wanted: &Wanted<'_>,
    ) -> Result<Sighting, Halt> {
        self.needs(folder, Level::Metadata)?;
        let survey = self.survey(folder, wanted.criteria).await?;
        let uidvalidity = survey.uidvalidity;
        if wanted
            .below
            .is_some_and(|below| below.uidvalidity != uidvalidity)
        {
            return Err(Fault::new(FaultKind::Conflict, Stage::OpenFolder).into());
        }
        let mut left = survey.newest_first(wanted.below);
        let uids: Vec<(i64, Uid)> = left.by_ref().take(wanted.limit).collect();
        let behind = left.count();
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        let left = count(uids.len()) + count(behind);
        let page = self.page(folder, uidvalidity, &uids, wanted).await?;
        let next = uids
            .last()
            .filter(|_| behind > 0)
            .map(|(order, uid)| Anchor {
                uidvalidity,
                order: *order,
                uid: *uid,
            });
        Ok(Sighting {
            uidvalidity,
            tally: survey.tally,
            matched: survey.hits.len(),
            left,
            page,
            next,
        })
    }

    /// A page as a source would give it, of what may be seen.
    pub(crate) async fn search(&self, search: &Search) -> Result<Found, Halt> {
        self.needs(
            &search.folder,
            match search.snippets {
                Snippets::Without => Level::Metadata,
                Snippets::Bytes(_) => Level::Body,
            },
        )?;
        let mut criteria = Criteria::default();
        if !search.query.is_everything() {
            criteria.evaluated(Condition::from(&search.query));
        }
        if let Scope::Alike(level) = self.permit.scope()
            && level >= criteria.reads
        {
            let mut found = self.account.source().search(self.cx, search).await?;
            for summary in &mut found.summaries {
                strip(summary, level);
            }
            return Ok(found);
        }
        let wanted = Wanted {
            criteria: &criteria,
            below: search.below,
            limit: search.limit,
            snippets: search.snippets,
        };
        let sighting = self.find(&search.folder, &wanted).await?;
        Ok(Found {
            uidvalidity: sighting.uidvalidity.0,
            matches: sighting.left,
            summaries: sighting
                .page
                .into_iter()
                .map(|(summary, _)| summary)
                .collect(),
            next: sighting.next,
            ..Found::default()
        })
    }

    async fn page(
        &self,
        folder: &FolderName,
        uidvalidity: UidValidity,
        uids: &[(i64, Uid)],
        wanted: &Wanted<'_>,
    ) -> Result<Vec<(Summary, Level)>, Halt> {
        if uids.is_empty() {
            return Ok(Vec::new());
        }
        self.cx.enter(Stage::Fetch);
        let set: UidSet = uids.iter().map(|(_, uid)| *uid).collect();
        let source = self.account.source();
        let found = source.summaries(self.cx, folder, uidvalidity, &set, wanted.snippets);
        let mut found = found.await?;
        let mut page = Vec::with_capacity(found.len());
        for (_, uid) in uids {
            // One that is gone since is passed over.
            let Some(at) = found.iter().position(|one| one.uid == *uid) else {
                continue;
            };
            let mut summary = found.swap_remove(at);
            // Judged again by what is shown: a server whose UIDs move gains nothing by it.
            let level = self.rejudge(&summary).level;
            if level < wanted.criteria.reads {
                continue;
            }
            strip(&mut summary, level);
            page.push((summary, level));
        }
        Ok(page)
    }

    async fn survey(&self, folder: &FolderName, criteria: &Criteria) -> Result<Survey, Halt> {
        self.cx.enter(Stage::Search);
        let scope = self.permit.scope();
        let ceiling = match scope {
            Scope::Alike(level) => level,
            Scope::Each(folder) => folder.ceiling(),
        };
        // INVARIANT: what cannot match for this caller is not even looked for.
        let can_match = ceiling >= criteria.reads;
        let mut tests = vec![Condition::EVERYTHING];
        if can_match && !criteria.conditions.is_empty() {
            tests.push(Condition::All(criteria.conditions.clone()));
        }
        let sieve = match scope {
            Scope::Alike(_) if !can_match => Sieve::NoFacts,
            Scope::Alike(_) if criteria.predicates.is_empty() => Sieve::NoFacts,
            Scope::Alike(_) => Sieve::of(criteria.superset(folder, self.now)),
            Scope::Each(folder) => Sieve::of(folder.candidates(self.now)),
        };
        let shelf = self.account.knowledge.shelf(folder);
        let unsifted = match &sieve {
            Sieve::Through(search) => lock(&shelf).passed_over(search).is_none().then_some(search),
            Sieve::NoFacts | Sieve::Everything => None,
        };
        tests.extend(unsifted.cloned());
        let source = self.account.source();
        let mut sifted = source.sift(self.cx, folder, &tests).await?;
        let candidates = unsifted.and_then(|_| sifted.sets.pop());
        let matching = (tests.len() > 1 + usize::from(unsifted.is_some()))
            .then(|| sifted.sets.pop())
            .flatten();
        let Sifted {
            uidvalidity,
            sets,
            order,
        } = sifted;
        let mut all = sets.into_iter().next().unwrap_or_default();
        {
            let mut shelf = lock(&shelf);
            shelf.settle(uidvalidity);
            shelf.retain(&all);
        }
        if let Some(wanted) = self
            .to_look_at(folder, &shelf, &sieve, (uidvalidity, &all), candidates)
            .await?
        {
            self.learn(folder, uidvalidity, &wanted).await?;
            // What was not described is gone.
            let gone = wanted.difference(&lock(&shelf).uids());
            all = all.difference(&gone);
        }
        let judging = Judging {
            permit: self.permit.clone(),
            shelf,
            uidvalidity,
            matching: matching.map(|set| set.intersection(&all)),
            all,
            criteria: criteria.clone(),
            facts: sieve != Sieve::NoFacts,
            can_match,
            now: self.now,
        };
        let many = judging.all.len() > MANY && judging.facts;
        let (hits, tally) = match many {
            true => tokio::task::spawn_blocking(move || judging.run())
                .await
                .map_err(|_| Fault::new(FaultKind::Protocol, Stage::Search))?,
            false => judging.run(),
        };
        Ok(Survey {
            uidvalidity,
            order,
            hits,
            tally,
        })
    }

    /// Messages whose facts are wanted and not known.
    async fn to_look_at(
        &self,
        folder: &FolderName,
        shelf: &Mutex<Shelf>,
        sieve: &Sieve,
        (uidvalidity, all): (UidValidity, &UidSet),
        candidates: Option<UidSet>,
    ) -> Result<Option<UidSet>, Fault> {
        let unknown = || all.difference(&lock(shelf).uids());
        let search = match sieve {
            Sieve::NoFacts => return Ok(None),
            Sieve::Everything => return Ok(Some(unknown()).filter(|set| !set.is_empty())),
            Sieve::Through(search) => search,
        };
        let new = {
            let shelf = lock(shelf);
            let passed = shelf.passed_over(search).cloned().unwrap_or_default();
            all.difference(&shelf.uids()).difference(&passed)
        };
        let candidates = match candidates {
            Some(candidates) => candidates,
            None if new.len() <= FEW => new.clone(),
            None => {
                let tests = [search.clone()];
                let source = self.account.source();
                let sifted = source.sift(self.cx, folder, &tests).await?;
                sifted.sets.into_iter().next().unwrap_or_default()
            }
        };
        let wanted = new.intersection(&candidates);
        let passed = new.difference(&candidates);
        // A search of the caller's own making is not worth a place.
        if let Scope::Each(_) = self.permit.scope() {
            lock(shelf).note_passed_over(uidvalidity, search, &passed);
        }
        Ok(Some(wanted).filter(|set| !set.is_empty()))
    }

    /// Fetches the facts of these messages. Those that are gone stay unknown.
    pub(super) async fn learn(
        &self,
        folder: &FolderName,
        uidvalidity: UidValidity,
        uids: &UidSet,
    ) -> Result<(), Fault> {
        let source = self.account.source();
        let shelf = self.account.knowledge.shelf(folder);
        let mut rest = uids.iter().peekable();
        while rest.peek().is_some() {
            let batch: UidSet = rest.by_ref().take(BATCH).collect();
            let found = source.summaries(self.cx, folder, uidvalidity, &batch, Snippets::Without);
            let found = found.await?;
            let read = move || -> Vec<_> {
                let asked = found.iter().filter(|one| batch.contains(one.uid));
                asked.map(|one| (one.uid, content::facts(one))).collect()
            };
            let facts = match uids.len() > FEW {
                true => tokio::task::spawn_blocking(read)
                    .await
                    .map_err(|_| Fault::new(FaultKind::Protocol, Stage::Fetch))?,
                false => read(),
            };
            let mut shelf = lock(&shelf);
            // The source just said that this is the folder's generation.
            shelf.settle(uidvalidity);
            shelf.keep(uidvalidity, &facts);
        }
        self.account.knowledge.tidy();
        Ok(())
    }
}

/// Which messages have to be looked at.
#[derive(PartialEq, Eq)]
enum Sieve {
    /// None: nothing depends on facts.
    NoFacts,
    Everything,
    /// Those that the source finds by this.
    Through(Condition),
}

impl Sieve {
    fn of(search: Option<Condition>) -> Self {
        search.map_or(Self::Everything, Self::Through)
    }
}

struct Survey {
    uidvalidity: UidValidity,
    order: Order,
    /// What matches and may be seen.
    hits: UidSet,
    tally: Tally,
}

impl Survey {
    fn newest_first(
        &self,
        below: Option<Anchor>,
    ) -> Box<dyn Iterator<Item = (i64, Uid)> + Send + '_> {
        match &self.order {
            Order::ByUid => {
                let uids = self.hits.iter().rev();
                let uids = uids.skip_while(move |uid| below.is_some_and(|at| *uid >= at.uid));
                Box::new(uids.map(|uid| (0, uid)))
            }
            Order::Listed(list) => {
                let fits = move |at: &&(i64, Uid)| {
                    below.is_none_or(|below| **at < (below.order, below.uid))
                };
                let hits = list.iter().filter(fits);
                Box::new(hits.copied().filter(|(_, uid)| self.hits.contains(*uid)))
            }
        }
    }
}

/// Everything that a judgement needs, so that it can be made on any thread.
struct Judging {
    permit: Permit,
    shelf: Arc<Mutex<Shelf>>,
    uidvalidity: UidValidity,
    all: UidSet,
    /// What the source found for the conditions, where there are some.
    matching: Option<UidSet>,
    criteria: Criteria,
    facts: bool,
    can_match: bool,
    now: i64,
}

impl Judging {
    fn run(self) -> (UidSet, Tally) {
        let scope = self.permit.scope();
        let mut tally = Tally::default();
        let unseen = scope.judge(&Facts::default(), self.now).level;
        if !self.facts {
            tally.add(unseen, self.all.len());
            let hits = match self.can_match {
                true => self.matching.unwrap_or(self.all),
                false => UidSet::default(),
            };
            return (hits, tally);
        }
        let shelf = lock(&self.shelf);
        let mut hits: Vec<(u32, u32)> = Vec::new();
        let mut seen = 0;
        if shelf.uidvalidity() == Some(self.uidvalidity) {
            for (uid, facts) in shelf.iter().filter(|(uid, _)| self.all.contains(*uid)) {
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
        }
        // What was not looked at has what holds without any fact.
        tally.add(unseen, self.all.len().saturating_sub(seen));
        (UidSet::from_ranges(hits), tally)
    }

    fn fits(&self, facts: &Facts<'_>) -> bool {
        let mut predicates = self.criteria.predicates.iter();
        predicates.all(|one| one.holds(facts, self.now))
    }
}
