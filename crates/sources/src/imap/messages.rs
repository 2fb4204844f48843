//! The job that reads many messages: over several folders, in as few flights as there are things to learn.
//!
//! What nobody knows yet is described first, and then the chosen parts of all of them come together; of what is known the
//! parts come at once. Nothing is guessed at: the beginnings of many texts would be more than one flight is worth.

use std::sync::{Mutex, PoisonError};

use imap::command::{Item, Part as Wire};
use imap::{Command, Fetch, SequenceSet};
use mail::{
    Choose, Cx, Fault, FaultKind, Fetched, Flag, FolderName, MessageRef, Part, PartWish, Stage,
    Structure, Urgency,
};

use super::cache::{Body, Cache, Key, Known};
use super::convert;
use super::describe::Shelf;
use super::faults;
use super::job::Job;
use super::message::{self, MOST_HEADER};
use super::pool::Wish;
use super::raw::Spot;
use super::session::{Pace, Session};
use super::sightings::Sightings;
use super::source_fallback::{self, MAX_SOURCE_BYTES};
use super::tour::{Stop, Visit, tour};

/// What a message was taken for may turn out wrong once, and be learned and read then.
const MOST_PASSES: usize = 4;
/// UIDs in one command: servers take lines of 8,192 octets at least (RFC 7162 section 4).
const MOST_OF_A_SET: usize = 600;
/// Octets that one flight may bring at worst.
const MOST_AT_ONCE: u64 = 24 << 20;
/// Beside header and parts.
const AROUND: u64 = 8 << 10;

pub(super) struct ReadMessages<'a> {
    pub wanted: &'a [MessageRef],
    pub choose: Choose<'a>,
    pub cache: &'a Mutex<Cache>,
    pub sightings: &'a Sightings,
}

/// One message on its way.
struct Task<'a> {
    /// Its place among those that are wanted.
    index: usize,
    at: Spot<'a>,
    step: Step,
}

/// What is asked next.
enum Step {
    /// Nothing is known.
    Learn,
    /// Everything is here: is it still there?
    Look { known: Known, parts: Vec<Part> },
    /// Header and parts of a message whose structure is known.
    Read { known: Known, wishes: Vec<PartWish> },
    /// A message whose structure is of no use.
    Source,
    /// The parts of a message that was learned a moment ago.
    Rest {
        known: Known,
        body: Body,
        flags: Option<Vec<Flag>>,
        wishes: Vec<PartWish>,
    },
}

enum Turn {
    Over(Result<Fetched, Fault>),
    Next(Step),
}

/// One command, and the tasks that it is for.
struct Order {
    items: Vec<Item>,
    tasks: Vec<usize>,
}

/// How tasks are put into commands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Grouping {
    /// Those that ask for the same things share one.
    Together,
    Alone,
}

impl Job for ReadMessages<'_> {
    type Out = Vec<Result<Fetched, Fault>>;

    fn folder(&self) -> Option<&FolderName> {
        None
    }

    fn wish(&self) -> Wish<'_> {
        Wish::Unselected
    }

    async fn run(&self, session: &mut Session, cx: &Cx) -> Result<Self::Out, Fault> {
        cx.enter(Stage::Fetch);
        let unread = || Err(Fault::new(FaultKind::Protocol, Stage::Fetch));
        let mut answers: Self::Out = self.wanted.iter().map(|_| unread()).collect();
        let mut pending = Vec::new();
        for ((index, at), answer) in self.wanted.iter().enumerate().zip(&mut answers) {
            match Spot::of(at) {
                Ok(at) => pending.push(Task {
                    index,
                    at,
                    step: self.first(at),
                }),
                Err(fault) => *answer = Err(fault),
            }
        }
        for _ in 0..MOST_PASSES {
            if pending.is_empty() {
                break;
            }
            let told = fly(session, cx, &pending).await?;
            let mut next = Vec::new();
            for (task, outcome) in pending.into_iter().zip(told) {
                match self.take(cx, task.at, task.step, outcome) {
                    Turn::Next(step) => next.push(Task { step, ..task }),
                    Turn::Over(answer) => {
                        if let Some(place) = answers.get_mut(task.index) {
                            *place = answer;
                        }
                    }
                }
            }
            pending = next;
        }
        Ok(answers)
    }
}

impl ReadMessages<'_> {
    fn first(&self, at: Spot<'_>) -> Step {
        let Some(known) = self.with_cache(|cache| cache.find(&key(at))) else {
            return Step::Learn;
        };
        if source_fallback::is_needed(&known.structure) {
            return Step::Source;
        }
        let wishes = (self.choose)(&known.structure);
        let kept = known.body.as_ref().and_then(|body| body.parts_for(&wishes));
        match kept {
            Some(parts) => Step::Look { known, parts },
            None => Step::Read { known, wishes },
        }
    }

    fn take(&self, cx: &Cx, at: Spot<'_>, step: Step, told: Result<Fetch, Fault>) -> Turn {
        let fetch = match told {
            Ok(fetch) => fetch,
            Err(fault) => return Turn::Over(Err(fault)),
        };
        match step {
            Step::Learn => self.learn(at, &fetch),
            Step::Source => Turn::Over(source_fallback::fetched(&fetch, self.choose)),
            Step::Look { known, .. } | Step::Read { known, .. } | Step::Rest { known, .. }
                if !message::same(&fetch, &known) =>
            {
                // QUIRK: UIDs that move (Proton Bridge). What we knew was another message.
                self.with_cache(|cache| cache.forget(&key(at)));
                Turn::Next(Step::Learn)
            }
            Step::Look { known, parts } => {
                cx.note_cache_hit();
                let body = known.body.clone().unwrap_or_default();
                let flags = convert::flags(&fetch);
                Turn::Over(Ok(message::assemble(flags, &known, &body, parts)))
            }
            Step::Read { known, .. } if !source_fallback::is_declared(&fetch, &known.structure) => {
                Turn::Next(Step::Source)
            }
            Step::Read { known, wishes } => {
                cx.note_cache_hit();
                let parts = message::parts(&fetch, &known.structure, &wishes);
                let body = message::body(&fetch, parts);
                self.over(at, known, body, convert::flags(&fetch))
            }
            Step::Rest {
                known,
                body,
                flags,
                wishes,
            } => {
                let parts = message::parts(&fetch, &known.structure, &wishes);
                self.over(at, known, Body { parts, ..body }, flags)
            }
        }
    }

    fn learn(&self, at: Spot<'_>, fetch: &Fetch) -> Turn {
        let known = message::known(fetch);
        if source_fallback::is_needed(&known.structure)
            || !source_fallback::is_declared(fetch, &known.structure)
        {
            return Turn::Next(Step::Source);
        }
        let wishes = (self.choose)(&known.structure);
        let (body, flags) = (message::body(fetch, Vec::new()), convert::flags(fetch));
        // What is only convenient comes along with what is needed, or not at all.
        match wishes.iter().any(|wish| wish.urgency == Urgency::Needed) {
            true => Turn::Next(Step::Rest {
                known,
                body,
                flags,
                wishes,
            }),
            false => self.over(at, known, body, flags),
        }
    }

    fn over(&self, at: Spot<'_>, known: Known, body: Body, flags: Option<Vec<Flag>>) -> Turn {
        let parts = body.parts.clone();
        let fetched = message::assemble(flags, &known, &body, parts);
        let shelf = Shelf {
            cache: self.cache,
            sightings: self.sightings,
            folder: at.folder,
            uidvalidity: at.uidvalidity,
        };
        shelf.keep(at.uid, known, body);
        Turn::Over(Ok(fetched))
    }

    fn with_cache<T>(&self, work: impl FnOnce(&mut Cache) -> T) -> T {
        work(&mut self.cache.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Step {
    fn items(&self) -> Vec<Item> {
        let outside = [Item::Flags, Item::InternalDate, Item::Size];
        let header = || Item::Peek(Wire::Header, Some(MOST_HEADER));
        let mut items = match self {
            // Parts of the message whose header was read, and of no other that has its UID by now.
            Self::Rest { .. } => vec![Item::InternalDate, Item::Size],
            Self::Source => return source_fallback::items(),
            Self::Learn | Self::Look { .. } | Self::Read { .. } => outside.to_vec(),
        };
        match self {
            Self::Learn => items.extend([Item::BodyStructure, header()]),
            Self::Look { .. } | Self::Source => {}
            Self::Read { wishes, .. } => {
                items.push(header());
                items.extend(wishes.iter().map(message::item));
            }
            Self::Rest { wishes, .. } => items.extend(wishes.iter().map(message::item)),
        }
        items
    }

    /// So many octets the answer has at worst, if the server's structures are true.
    fn weight(&self) -> u64 {
        match self {
            Self::Look { .. } => AROUND,
            Self::Learn => AROUND + u64::from(MOST_HEADER),
            Self::Source => AROUND + u64::from(MAX_SOURCE_BYTES),
            Self::Read { known, wishes } => {
                AROUND + u64::from(MOST_HEADER) + octets(&known.structure, wishes)
            }
            Self::Rest { known, wishes, .. } => AROUND + octets(&known.structure, wishes),
        }
    }
}

fn octets(structure: &Structure, wishes: &[PartWish]) -> u64 {
    let each = wishes.iter().map(|wish| {
        let leaf = structure.leaf(&wish.section);
        leaf.map_or(wish.max_bytes, |leaf| leaf.octets.min(wish.max_bytes))
    });
    each.fold(0, u64::saturating_add)
}

fn key(at: Spot<'_>) -> Key {
    Key {
        folder: at.folder.clone(),
        uidvalidity: at.uidvalidity.0,
        uid: at.uid.0,
    }
}

/// What the server says to each of the tasks.
async fn fly(
    session: &mut Session,
    cx: &Cx,
    tasks: &[Task<'_>],
) -> Result<Vec<Result<Fetch, Fault>>, Fault> {
    let mut told = Vec::with_capacity(tasks.len());
    let mut rest = tasks;
    while !rest.is_empty() {
        let (load, later) = rest.split_at(fitting(rest).clamp(1, rest.len()));
        rest = later;
        let all: Vec<usize> = (0..load.len()).collect();
        let mut answers = ask(session, cx, load, &all, Grouping::Together).await?;
        // One message that the server cannot read is no reason to refuse its neighbours.
        let refused = |fault: &Fault| matches!(fault.kind, FaultKind::Denied | FaultKind::Rejected);
        let doubtful = answers.iter().enumerate().filter_map(|(index, answer)| {
            let (outcome, company) = answer;
            let again = *company == Grouping::Together && outcome.as_ref().is_err_and(refused);
            again.then_some(index)
        });
        let doubtful: Vec<usize> = doubtful.collect();
        if !doubtful.is_empty() {
            let alone = ask(session, cx, load, &doubtful, Grouping::Alone).await?;
            for (index, answer) in doubtful.into_iter().zip(alone) {
                if let Some(place) = answers.get_mut(index) {
                    *place = answer;
                }
            }
        }
        told.extend(answers.into_iter().map(|(outcome, _)| outcome));
    }
    Ok(told)
}

fn fitting(tasks: &[Task<'_>]) -> usize {
    let mut weight = 0u64;
    let fits = tasks.iter().take_while(|task| {
        weight = weight.saturating_add(task.step.weight());
        weight <= MOST_AT_ONCE
    });
    fits.count()
}

/// The answer for each of those chosen, and whether it shared its command with others.
async fn ask(
    session: &mut Session,
    cx: &Cx,
    tasks: &[Task<'_>],
    chosen: &[usize],
    grouping: Grouping,
) -> Result<Vec<(Result<Fetch, Fault>, Grouping)>, Fault> {
    let plan = plan(tasks, chosen, grouping);
    let stops: Vec<Stop<'_>> = plan
        .iter()
        .map(|(folder, orders)| Stop {
            folder,
            commands: orders.iter().map(|order| order.command(tasks)).collect(),
        })
        .collect();
    let visits = tour(session, cx, &stops, Pace::Prompt).await?;
    let mut answers: Vec<Option<(Result<Fetch, Fault>, Grouping)>> =
        tasks.iter().map(|_| None).collect();
    for ((_, orders), visit) in plan.iter().zip(visits) {
        let data = visit.as_ref().map(|visit| visit.landed.data.as_slice());
        let described = convert::by_uid(data.unwrap_or_default());
        for (place, order) in orders.iter().enumerate() {
            for index in &order.tasks {
                let (Some(task), Some(answer)) = (tasks.get(*index), answers.get_mut(*index))
                else {
                    continue;
                };
                let missing = match &visit {
                    Ok(visit) => check(visit, place, task.at),
                    Err(fault) => Err(fault.clone()),
                };
                let outcome = missing.and_then(|missing| {
                    let found = described.get(&task.at.uid.0).cloned();
                    found.ok_or(Fault::new(missing, Stage::Fetch))
                });
                *answer = Some((outcome, order.company()));
            }
        }
    }
    let unanswered = || {
        (
            Err(Fault::new(FaultKind::Protocol, Stage::Fetch)),
            Grouping::Alone,
        )
    };
    let each = chosen.iter().map(|index| {
        let answer = answers.get_mut(*index).and_then(Option::take);
        answer.unwrap_or_else(unanswered)
    });
    Ok(each.collect())
}

/// What it means if the message is not described.
fn check(visit: &Visit, place: usize, at: Spot<'_>) -> Result<FaultKind, Fault> {
    if visit.uidvalidity != at.uidvalidity {
        return Err(Fault::new(FaultKind::Conflict, Stage::OpenFolder));
    }
    let status = visit.landed.statuses.get(place);
    let status = status.ok_or(Fault::new(FaultKind::Protocol, Stage::Fetch))?;
    faults::check(status, Stage::Fetch)?;
    // INVARIANT: a description that could not be read is not the absence of a message.
    let unreadable = visit.landed.data.iter().any(convert::is_unreadable_fetch);
    Ok(match unreadable {
        true => FaultKind::Protocol,
        false => FaultKind::NoSuchMessage,
    })
}

/// Folders in the order in which they are wanted, and the commands in each.
fn plan<'a>(
    tasks: &[Task<'a>],
    chosen: &[usize],
    grouping: Grouping,
) -> Vec<(&'a FolderName, Vec<Order>)> {
    let mut plan: Vec<(&'a FolderName, Vec<Order>)> = Vec::new();
    for (index, task) in chosen
        .iter()
        .filter_map(|index| Some((*index, tasks.get(*index)?)))
    {
        let place = plan
            .iter()
            .position(|(folder, _)| *folder == task.at.folder);
        let place = place.unwrap_or_else(|| {
            plan.push((task.at.folder, Vec::new()));
            plan.len() - 1
        });
        let Some((_, orders)) = plan.get_mut(place) else {
            continue;
        };
        let items = task.step.items();
        let shared = orders.iter_mut().find(|order| {
            grouping == Grouping::Together
                && order.tasks.len() < MOST_OF_A_SET
                && order.items == items
        });
        match shared {
            Some(order) => order.tasks.push(index),
            None => orders.push(Order {
                items,
                tasks: vec![index],
            }),
        }
    }
    plan
}

impl Order {
    fn company(&self) -> Grouping {
        match self.tasks.as_slice() {
            [_, _, ..] => Grouping::Together,
            _ => Grouping::Alone,
        }
    }

    fn command(&self, tasks: &[Task<'_>]) -> Command {
        let uids = self.tasks.iter().filter_map(|index| tasks.get(*index));
        let uids = SequenceSet::of(uids.map(|task| task.at.uid.0));
        Command::uid_fetch(&uids, &self.items)
    }
}
