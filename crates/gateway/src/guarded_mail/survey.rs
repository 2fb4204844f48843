//! A folder as a caller sees it: which messages there are for it, and how many there are besides.
//!
//! The source narrows, facts of what is left are fetched once, and the policy judges each message by them, in every call
//! anew.

use std::collections::HashMap;
use std::sync::Mutex;

use mail::{
    Anchor, Condition, Fault, FaultKind, FolderName, Found, Level, Likely, Order, Search, Sifted,
    Snippets, Stage, Summary, Uid, UidSet, UidValidity,
};
use policy::{Judged, Scope};

use super::judging::{Judging, Looks, Tally};
use super::learning::Lesson;
use super::{GuardedMail, Halt, strip};
use crate::criteria::Criteria;
use crate::knowledge::{Shelf, lock};
use crate::pipeline::over_ranges;

/// So few messages are looked at without asking the source which of them matter.
const FEW: u64 = 500;
/// So many of the newest are looked at whatever the source says of them.
const LAST: usize = 50;

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

impl GuardedMail<'_> {
    /// How many messages have each level.
    pub(crate) async fn tally(&self, folder: &FolderName) -> Result<Tally, Halt> {
        self.needs(folder, Level::Count).await?;
        let survey = self.survey(folder, &Criteria::default(), None).await?;
        Ok(survey.tally)
    }

    pub(crate) async fn find(
        &self,
        folder: &FolderName,
        wanted: &Wanted<'_>,
    ) -> Result<Sighting, Halt> {
        self.needs(folder, Level::Metadata).await?;
        let likely = self.likely(folder, wanted);
        let likely = likely.as_ref().map(|(uidvalidity, uids)| Likely {
            uidvalidity: *uidvalidity,
            uids,
        });
        let mut survey = self.survey(folder, wanted.criteria, likely).await?;
        let uidvalidity = survey.uidvalidity;
        if wanted
            .below
            .is_some_and(|below| below.uidvalidity != uidvalidity)
        {
            return Err(Fault::new(FaultKind::Conflict, Stage::OpenFolder).into());
        }
        let described = std::mem::take(&mut survey.described);
        let (uids, left) = survey.newest(wanted.below, wanted.limit);
        let behind = left.saturating_sub(u64::try_from(uids.len()).unwrap_or(u64::MAX));
        let page = self
            .page(folder, uidvalidity, &uids, wanted, described)
            .await?;
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
        )
        .await?;
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

    /// What was shown last of the same search: it is described together with the search, which spares a round trip where it is
    /// what will be shown.
    fn likely(&self, folder: &FolderName, wanted: &Wanted<'_>) -> Option<(UidValidity, UidSet)> {
        // INVARIANT: what cannot match for this caller is not even looked for.
        let can_match = self.permit.ceiling() >= wanted.criteria.reads;
        if wanted.snippets != Snippets::Without || !can_match {
            return None;
        }
        let shelf = self.account.knowledge.shelf(folder);
        let shelf = lock(&shelf);
        let page = shelf.page(self.permit.scope(), wanted)?;
        Some((shelf.uidvalidity()?, page.clone()))
    }

    async fn page(
        &self,
        folder: &FolderName,
        uidvalidity: UidValidity,
        uids: &[(i64, Uid)],
        wanted: &Wanted<'_>,
        described: Vec<Summary>,
    ) -> Result<Vec<(Summary, Level)>, Halt> {
        if uids.is_empty() {
            return Ok(Vec::new());
        }
        self.cx.enter(Stage::Fetch);
        let set: UidSet = uids.iter().map(|(_, uid)| *uid).collect();
        let told: UidSet = described.iter().map(|one| one.uid).collect();
        // Judged again by what is shown: a server whose UIDs move gains nothing by it.
        let found = match set.difference(&told).is_empty() {
            true => self.judged(folder, uidvalidity, &set, described).await,
            false => {
                self.described_and_judged(folder, uidvalidity, set.clone(), wanted.snippets)
                    .await
            }
        };
        if wanted.snippets == Snippets::Without {
            let shelf = self.account.knowledge.shelf(folder);
            lock(&shelf).note_page(uidvalidity, self.permit.scope(), wanted, set);
        }
        let mut found: HashMap<Uid, (Summary, Judged)> =
            found?.into_iter().map(|one| (one.0.uid, one)).collect();
        // One that is gone since is passed over.
        let page = uids.iter().filter_map(|(_, uid)| {
            let (mut summary, judged) = found.remove(uid)?;
            strip(&mut summary, judged.level);
            (judged.level >= wanted.criteria.reads).then_some((summary, judged.level))
        });
        Ok(page.collect())
    }

    async fn survey(
        &self,
        folder: &FolderName,
        criteria: &Criteria,
        likely: Option<Likely<'_>>,
    ) -> Result<Survey, Halt> {
        self.cx.enter(Stage::Search);
        let scope = self.permit.scope();
        // INVARIANT: what cannot match for this caller is not even looked for.
        let can_match = self.permit.ceiling() >= criteria.reads;
        let mut tests = vec![Condition::EVERYTHING];
        if can_match && !criteria.conditions.is_empty() {
            tests.push(Condition::All(criteria.conditions.clone()));
        }
        let sieve = match scope {
            Scope::Alike(_) if !can_match => Sieve::NoFacts,
            Scope::Alike(_) if criteria.predicates.is_empty() => Sieve::NoFacts,
            Scope::Alike(_) => Sieve::of(criteria.superset(self.now)),
            Scope::Each(folder) => Sieve::of(folder.candidates(self.now)),
        };
        let shelf = self.account.knowledge.shelf(folder);
        let unsifted = match &sieve {
            Sieve::Through(search) => lock(&shelf).passed_over(search).is_none().then_some(search),
            Sieve::NoFacts | Sieve::Everything => None,
        };
        tests.extend(unsifted.cloned());
        let source = self.account.source();
        let sifted = match likely {
            Some(likely) => source.sift_ahead(self.cx, folder, &tests, likely).await,
            None => {
                let sifted = source.sift(self.cx, folder, &tests).await;
                sifted.map(|sifted| (sifted, Vec::new()))
            }
        };
        let ((mut sifted, described), sieve) = match sifted {
            // A server may not like what narrows; then everything is looked at.
            Err(fault) if is_refusal(&fault) && unsifted.is_some() => {
                tests.pop();
                let sifted = source.sift(self.cx, folder, &tests).await?;
                ((sifted, Vec::new()), Sieve::Everything)
            }
            sifted => (sifted?, sieve.clone()),
        };
        let candidates = match sieve {
            Sieve::Through(_) => unsifted.and_then(|_| sifted.sets.pop()),
            Sieve::NoFacts | Sieve::Everything => None,
        };
        let matching = (sifted.sets.len() > 1).then(|| sifted.sets.pop()).flatten();
        let Sifted {
            uidvalidity,
            sets,
            order,
        } = sifted;
        let mut all = sets.into_iter().next().unwrap_or_default();
        over_ranges(all.ranges().len(), || {
            let mut shelf = lock(&shelf);
            shelf.settle(uidvalidity);
            shelf.retain(&all);
        });
        if let Some(wanted) = self
            .to_look_at(folder, &shelf, &sieve, (uidvalidity, &all), candidates)
            .await?
        {
            let lesson = Lesson {
                folder,
                uidvalidity,
                shelf: &shelf,
            };
            let described = self.learn(&lesson, &wanted).await?;
            // What was not described is gone.
            all = over_ranges(all.ranges().len(), || {
                all.difference(&wanted.difference(&described))
            });
        }
        let judging = Judging {
            permit: self.permit.clone(),
            shelf,
            uidvalidity,
            matching: over_ranges(all.ranges().len(), || {
                matching.map(|set| set.intersection(&all))
            }),
            all,
            criteria: criteria.clone(),
            looks: match &sieve {
                Sieve::NoFacts if can_match => Looks::AtNothing,
                Sieve::NoFacts => Looks::Nowhere,
                Sieve::Everything | Sieve::Through(_) => Looks::AtFacts,
            },
            now: self.now,
        };
        let (hits, tally) = judging.off_thread().await?;
        Ok(Survey {
            uidvalidity,
            order,
            hits,
            tally,
            described,
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
            Sieve::Everything => {
                let unknown = over_ranges(all.ranges().len(), unknown);
                return Ok(Some(unknown).filter(|set| !set.is_empty()));
            }
            Sieve::Through(search) => search,
        };
        let new = over_ranges(all.ranges().len(), || {
            let shelf = lock(shelf);
            let passed = shelf.passed_over(search).cloned().unwrap_or_default();
            all.difference(&shelf.uids()).difference(&passed)
        });
        let candidates = match candidates {
            Some(candidates) => candidates,
            None if new.len() <= FEW => new.clone(),
            None => {
                let tests = [search.clone()];
                let source = self.account.source();
                match source.sift(self.cx, folder, &tests).await {
                    Err(fault) if is_refusal(&fault) => new.clone(),
                    sifted => sifted?.sets.into_iter().next().unwrap_or_default(),
                }
            }
        };
        // What came last is looked at in any case: a server's index may lag behind.
        let last: UidSet = new.iter().rev().take(LAST).collect();
        let ranges = new.ranges().len().max(candidates.ranges().len());
        let (wanted, passed) = over_ranges(ranges, || {
            let candidates = candidates.union(&last);
            (new.intersection(&candidates), new.difference(&candidates))
        });
        // A search of the caller's own making is not worth a place.
        if let Scope::Each(_) = self.permit.scope() {
            lock(shelf).note_passed_over(uidvalidity, search, &passed);
        }
        Ok(Some(wanted).filter(|set| !set.is_empty()))
    }
}

/// Which messages have to be looked at.
#[derive(Clone, PartialEq, Eq)]
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
    /// Messages that were described on the way, whoever may see them.
    described: Vec<Summary>,
}

impl Survey {
    /// The newest so many, newest first, and how many there are with those behind them.
    fn newest(&self, below: Option<Anchor>, limit: usize) -> (Vec<(i64, Uid)>, u64) {
        match &self.order {
            // INVARIANT: counted from ranges, for a server may claim billions of messages in a few
            // octets.
            Order::ByUid => {
                let lower = below.map(|at| self.hits.below(at.uid));
                let hits = lower.as_ref().unwrap_or(&self.hits);
                let newest = hits.iter().rev().take(limit).map(|uid| (0, uid));
                (newest.collect(), hits.len())
            }
            Order::Listed(list) => {
                let fits = |at: &&(i64, Uid)| {
                    below.is_none_or(|below| **at < (below.order, below.uid))
                        && self.hits.contains(at.1)
                };
                let mut hits = list.iter().filter(fits).copied();
                let newest: Vec<(i64, Uid)> = hits.by_ref().take(limit).collect();
                let left = newest.len().saturating_add(hits.count());
                (newest, u64::try_from(left).unwrap_or(u64::MAX))
            }
        }
    }
}

/// The server understood, or did not, and will not.
fn is_refusal(fault: &Fault) -> bool {
    matches!(fault.kind, FaultKind::Rejected | FaultKind::Denied)
}
