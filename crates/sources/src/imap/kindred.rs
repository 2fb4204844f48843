//! The job that gathers a conversation: every message that has or names an id of it, round by round, until no new id comes up.
//! One that was gathered before, or that lies in folders of which it is known who names whom, is looked at instead, and is the
//! answer where nothing has come to any folder since.
//!
//! A round is one flight over all folders where the server lets it be. What the folders' own threads tie together comes with
//! the first round that touches it; what only another folder ties needs another.
//!
//! It judges nobody: a message that its caller will not be shown counts towards the bounds as any other in a folder that may be
//! searched. Folders that may not be searched are never opened, and count towards nothing.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use imap::ThreadId;
use jiff::Timestamp;
use mail::{Cx, Fault, FaultKind, FolderName, HeaderId, Kindred, Member, Sought, Within};

use super::catalogue::{Catalogue, Places};
use super::closure::{Bounds, Closure, Found, Tie};
use super::descent;
use super::describe;
use super::gatherings::{Edge, Gathering, Gatherings};
use super::hunt::{Gear, Hunt, Manner, Question};
use super::job::Job;
use super::lineages::{Lineages, Readiness};
use super::needles::{Needle, Seeking};
use super::pool::Wish;
use super::revisit::revisit;
use super::scope::{End, Scope};
use super::session::Session;

/// Ids of one flight: as many as two searches hold, or about.
const MOST_AT_ONCE: usize = 40;

/// Beside those of the messages that are wanted, so many ids are asked for: of messages that are lost, or never were.
const MOST_WITHOUT_A_MESSAGE: usize = 500;

/// And so many that stand in the middle of long lists: those of ten messages whose neighbours are all lost.
const MOST_AFAR: usize = 1_000;

/// What was found by then is the answer: invented ids keep nobody waiting for ever.
const PATIENCE: Duration = Duration::from_secs(60);

/// Threads of one flight, which one search holds however long their ids are.
const MOST_THREADS_AT_ONCE: usize = 16;

pub(super) struct GatherKindred<'a> {
    pub sought: &'a Sought,
    pub catalogue: &'a Catalogue,
    pub gatherings: &'a Gatherings,
    pub lineages: &'a Lineages,
    pub gear: Gear<'a>,
}

impl Job for GatherKindred<'_> {
    type Out = Kindred;

    fn folder(&self) -> Option<&FolderName> {
        None
    }

    fn wish(&self) -> Wish<'_> {
        Wish::Unselected
    }

    async fn run(&self, session: &mut Session, cx: &Cx) -> Result<Kindred, Fault> {
        let Sought {
            ids,
            within,
            effort,
        } = self.sought;
        let sightings = self.gear.sightings;
        let folders = self.catalogue.read(session, cx, sightings).await?;
        let since = Instant::now();
        let begun = sightings.begin(since, Timestamp::now());
        let places = Places::of(&folders, within, session.keeping());
        let mut scope = Scope::new(places, effort.folders);
        if *within == Within::All {
            scope.take_up(&sightings.folders_of(ids));
        }
        if let Some(found) = self.as_it_was(session, cx, &scope).await? {
            return Ok(found);
        }
        if let Some(found) = self.by_lineage(session, cx, &scope).await? {
            return Ok(found);
        }
        let mut hunt = Hunt::new(self.gear, most_described(effort.messages));
        let mut closure = self.closure();
        let mut unspeakable = false;
        let until = Instant::now() + PATIENCE;
        let mut late_by_now = false;
        for round in 0..effort.rounds {
            let asked = Asked::of(closure.take_frontier());
            unspeakable |= asked.unspeakable;
            for question in asked.questions() {
                late_by_now |= round > 0 && Instant::now() > until;
                if closure.met_bound() || late_by_now {
                    break;
                }
                for found in hunt.ask(session, cx, scope.searched(), question).await? {
                    closure.add(found);
                }
            }
            // Nobody who has such an id was found: it may have been thrown away.
            let late = match round == 0 && !has_anchor(&closure, ids) {
                true => scope.take_discarded(),
                false => Vec::new(),
            };
            if !late.is_empty() {
                let mut thrown = Vec::new();
                for question in asked.questions() {
                    thrown.extend(hunt.ask(session, cx, &late, question).await?);
                }
                let has = |one: &&Found| {
                    one.member
                        .links
                        .id
                        .as_ref()
                        .is_some_and(|id| ids.contains(id))
                };
                let joined = thrown
                    .iter()
                    .filter(has)
                    .map(|one| one.member.at.folder.clone());
                let joined: HashSet<FolderName> = joined.collect();
                let late: Vec<FolderName> = late
                    .into_iter()
                    .filter(|folder| !hunt.failed().contains(folder))
                    .collect();
                let left = scope.join(&late, &joined);
                let stays = |one: &Found| !left.contains(&one.member.at.folder);
                for found in thrown.into_iter().filter(stays) {
                    closure.add(found);
                }
            }
            if closure.is_closed() || closure.met_bound() || late_by_now {
                break;
            }
            hunt.end_round();
        }
        let end = match closure.is_whole() && !unspeakable && !late_by_now {
            true => End::Whole,
            false => End::Early,
        };
        let coverage = scope.coverage(&hunt, end);
        let members = closure.into_members();
        if coverage.exhausted && !scope.has_discarded() {
            self.keep(session, &scope, &hunt, &members, since);
        }
        // Every id of theirs was looked for in every folder. Where trash was among these, junk may not have been.
        if *within == Within::All && coverage.exhausted && !scope.has_discarded() {
            sightings.settle_all(begun, &members, &coverage);
        }
        Ok(Kindred { members, coverage })
    }
}

impl GatherKindred<'_> {
    fn closure(&self) -> Closure {
        let messages = self.sought.effort.messages;
        let bounds = Bounds {
            members: messages,
            asked: messages.saturating_add(MOST_WITHOUT_A_MESSAGE),
            asked_afar: MOST_AFAR,
        };
        Closure::of(&self.sought.ids, bounds)
    }

    /// What was gathered before, where a search would find the same. Where it would not, or nobody knows, that is forgotten.
    async fn as_it_was(
        &self,
        session: &mut Session,
        cx: &Cx,
        scope: &Scope,
    ) -> Result<Option<Kindred>, Fault> {
        let memory = self.gatherings;
        let Some(known) = memory.find(self.sought, scope.searched(), Instant::now()) else {
            return Ok(None);
        };
        let look = self.look_again(session, cx, scope, &known).await;
        match &look {
            Ok(Look::Found(_)) => {}
            // A connection that had died by then says nothing of it.
            Err(_) if session.is_silent() => {}
            _ => memory.forget(&known),
        }
        Ok(look?.found())
    }

    /// Without a search, where the folders are so small that it can be known who names whom. It is read by whoever asks for
    /// a second conversation: one alone is found faster by a search.
    async fn by_lineage(
        &self,
        session: &mut Session,
        cx: &Cx,
        scope: &Scope,
    ) -> Result<Option<Kindred>, Fault> {
        // Whoever failed at it before searches.
        if self.gear.manner == Manner::Apart {
            return Ok(None);
        }
        let found = self.try_lineage(session, cx, scope).await;
        // A connection that had died says nothing of it.
        if found.is_ok() || session.is_silent() {
            return found;
        }
        // INVARIANT: what a server chokes on is not asked for by the next one too.
        self.lineages.give_up(scope.searched());
        found.map_err(unread)
    }

    async fn try_lineage(
        &self,
        session: &mut Session,
        cx: &Cx,
        scope: &Scope,
    ) -> Result<Option<Kindred>, Fault> {
        let folders = scope.searched();
        let memory = self.lineages;
        // What a server says of conversations is not in their headers.
        if describe::tells_threads(session.capabilities()) {
            return Ok(None);
        }
        let readiness = memory.readiness(folders, Instant::now());
        match readiness {
            Readiness::Out => return Ok(None),
            Readiness::Unread => descent::read(session, cx, memory, folders).await?,
            Readiness::Ready => {}
        }
        for _ in 0..2 {
            let Some(known) = memory.gather(&self.sought.ids, folders) else {
                return Ok(None);
            };
            match self.look_again(session, cx, scope, &known).await? {
                Look::Changed => {}
                look => return Ok(look.found()),
            }
            // Something has come, most likely.
            descent::read(session, cx, memory, folders).await?;
        }
        match readiness {
            // Something is gone, most likely.
            Readiness::Ready => memory.forget(folders),
            Readiness::Unread | Readiness::Out => memory.doubt(folders),
        }
        Ok(None)
    }

    /// INVARIANT: all that is told is as it is now; the memory only stands for the search. Sightings learn of no search that
    /// was not made.
    async fn look_again(
        &self,
        session: &mut Session,
        cx: &Cx,
        scope: &Scope,
        known: &Gathering,
    ) -> Result<Look, Fault> {
        let hunt = Hunt::new(self.gear, most_described(self.sought.effort.messages));
        let coverage = scope.coverage(&hunt, End::Whole);
        if !coverage.exhausted {
            return Ok(Look::Insufficient);
        }
        let folders = scope.searched();
        let Some(all) = revisit(&hunt, session, cx, folders, known).await? else {
            return Ok(Look::Changed);
        };
        let mut closure = self.closure();
        for found in all {
            closure.add(found);
        }
        if closure.met_bound() || !has_anchor(&closure, &self.sought.ids) {
            return Ok(Look::Insufficient);
        }
        let members = known.in_order(folders, closure.into_members());
        Ok(members.map_or(Look::Changed, |members| {
            Look::Found(Kindred { members, coverage })
        }))
    }

    /// For whoever asks again, where it can be told then that a search would find the same.
    fn keep(
        &self,
        session: &Session,
        scope: &Scope,
        hunt: &Hunt<'_>,
        members: &[Member],
        since: Instant,
    ) {
        // What a server says of conversations may change while nothing comes.
        if describe::tells_threads(session.capabilities()) {
            return;
        }
        // Of those that nobody can read less was told than will be asked for.
        let told = |one: &Member| one.summary.header.is_some();
        let folders = scope.searched();
        let edges: Option<Vec<Edge>> = folders.iter().map(|one| hunt.edge(one)).collect();
        for (folder, edge) in folders.iter().zip(edges.iter().flatten()) {
            self.lineages.see(folder, *edge);
        }
        if let Some(edges) = edges
            && members.iter().all(told)
        {
            self.gatherings
                .keep(self.sought, folders, edges, members, since);
        }
    }
}

/// INVARIANT: what a search may answer fails for no other reason. Whoever broke off is not waited for again, and is taken for
/// one that cannot say so much at once: it is begun again, and searched.
fn unread(fault: Fault) -> Fault {
    match fault.kind {
        FaultKind::TimedOut | FaultKind::Lost | FaultKind::Bye => Fault {
            kind: FaultKind::Protocol,
            ..fault
        },
        _ => fault,
    }
}

/// What came of a look where a conversation should be.
enum Look {
    Found(Kindred),
    /// It is not as it was.
    Changed,
    /// Only a search answers this question, however well it is known where to look.
    Insufficient,
}

impl Look {
    fn found(self) -> Option<Kindred> {
        match self {
            Self::Found(kindred) => Some(kindred),
            Self::Changed | Self::Insufficient => None,
        }
    }
}

/// What is found by its words and turns out to be another is described as well.
pub(super) fn most_described(messages: usize) -> u64 {
    u64::try_from(messages)
        .unwrap_or(u64::MAX)
        .saturating_mul(2)
        .saturating_add(500)
}

fn has_anchor(closure: &Closure, sought: &[HeaderId]) -> bool {
    let sought: HashSet<&HeaderId> = sought.iter().collect();
    let mut ids = closure
        .members()
        .iter()
        .filter_map(|one| one.links.id.as_ref());
    ids.any(|id| sought.contains(id))
}

/// What one round asks for.
struct Asked {
    needles: Vec<Needle>,
    threads: Vec<ThreadId>,
    /// There are ids that no server can be searched for.
    unspeakable: bool,
}

impl Asked {
    fn of(ties: Vec<Tie>) -> Self {
        let mut asked = Self {
            needles: Vec::new(),
            threads: Vec::new(),
            unspeakable: false,
        };
        for tie in ties {
            match tie {
                Tie::Thread(id) => asked.threads.push(id),
                Tie::Id(id) => match Needle::of(&id) {
                    Some(needle) => asked.needles.push(needle),
                    None => asked.unspeakable = true,
                },
            }
        }
        asked
    }

    /// In flights that no server chokes on.
    fn questions(&self) -> impl Iterator<Item = Question<'_>> {
        let needles = self.needles.len().div_ceil(MOST_AT_ONCE);
        let threads = self.threads.len().div_ceil(MOST_THREADS_AT_ONCE);
        (0..needles.max(threads)).map(|place| Question {
            needles: self
                .needles
                .chunks(MOST_AT_ONCE)
                .nth(place)
                .unwrap_or_default(),
            threads: self
                .threads
                .chunks(MOST_THREADS_AT_ONCE)
                .nth(place)
                .unwrap_or_default(),
            seeking: Seeking::HavingOrNaming,
        })
    }
}
