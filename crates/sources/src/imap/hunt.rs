//! Looking for messages in many folders at once: a search in each, and a description of what it found.
//!
//! One flight where a server keeps what it found (`SEARCHRES`, RFC 5182), two where it does not. It knows how to ask and what
//! was seen already; what belongs together is for others to say.

use std::collections::HashMap;
use std::sync::Mutex;

use imap::command::{Key, SearchReturn};
use imap::{Command, Fetch, SequenceSet, Status, StatusKind, ThreadId};
use mail::{
    AccountId, Cx, Fault, FolderName, Member, MessageRef, Snippets, SourceKind, Stage, Uid, UidSet,
    UidValidity,
};

use super::cache::Cache;
use super::closure::Found;
use super::describe::{self, Shelf};
use super::in_thread::{InThread, Knowledge};
use super::needles::{self, Needle, Reach, Seeking};
use super::session::{Pace, Session};
use super::sightings::Sightings;
use super::summaries;
use super::tour::{Stop, Visit, tour};
use super::{conditions, convert, sift};

/// With threads and without, and in each of the three forms of an answer.
const MOST_TRIES: usize = 5;

/// What was seen already is left out of a search, if it is said in so many octets.
const MOST_LEFT_OUT: usize = 1_500;

/// What of an account is needed to hunt in it.
#[derive(Clone, Copy)]
pub(super) struct Gear<'a> {
    pub account: &'a AccountId,
    pub cache: &'a Mutex<Cache>,
    pub sightings: &'a Sightings,
    pub in_thread: &'a InThread,
    pub manner: Manner,
}

/// Whether what is found may be described in the flight that finds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Manner {
    /// Where the server keeps what it found.
    Together,
    /// Never: it may be more than a flight can carry.
    Apart,
}

/// What is looked for.
#[derive(Clone, Copy)]
pub(super) struct Question<'a> {
    pub needles: &'a [Needle],
    pub seeking: Seeking,
    pub threads: &'a [ThreadId],
}

pub(super) struct Hunt<'a> {
    gear: Gear<'a>,
    grounds: HashMap<FolderName, Ground>,
    failed: Vec<FolderName>,
    /// So many more may be described.
    room: u64,
    cut: bool,
    /// The server refused threads once, for reasons of its own.
    direct: bool,
}

/// What was seen of a folder.
struct Ground {
    uidvalidity: UidValidity,
    seen: UidSet,
}

/// How answers come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    /// `ESEARCH`, with descriptions of what was found.
    Saved,
    Extended,
    Plain,
}

/// Messages that were found and are not described yet.
struct Undescribed<'a> {
    folder: &'a FolderName,
    uidvalidity: UidValidity,
    uids: UidSet,
}

/// What a folder's answer comes to.
enum Heard {
    Found {
        uids: UidSet,
        described: Vec<(u32, Fetch)>,
    },
    /// Ask in another way.
    Again,
    Failed,
}

impl<'a> Hunt<'a> {
    pub(super) fn new(gear: Gear<'a>, most: u64) -> Self {
        Self {
            gear,
            grounds: HashMap::new(),
            failed: Vec::new(),
            room: most,
            cut: false,
            direct: false,
        }
    }

    /// Folders that could not be opened or searched.
    pub(super) fn failed(&self) -> &[FolderName] {
        &self.failed
    }

    /// Something that may belong to it was found and not described.
    pub(super) fn is_cut(&self) -> bool {
        self.cut
    }

    /// What failed while a hint was followed may be searched all the same.
    pub(super) fn forgive(&mut self) {
        self.failed.clear();
        self.cut = false;
    }

    /// What was not seen yet and may be what is asked for.
    pub(super) async fn ask(
        &mut self,
        session: &mut Session,
        cx: &Cx,
        folders: &[FolderName],
        question: Question<'_>,
    ) -> Result<Vec<Found>, Fault> {
        cx.enter(Stage::Search);
        let mut all = Vec::new();
        let open = |folder: &&FolderName| !self.failed.contains(folder);
        let mut left: Vec<&FolderName> = folders.iter().filter(open).collect();
        for _ in 0..MOST_TRIES {
            if left.is_empty() {
                break;
            }
            let form = self.form(session);
            let reaches: Vec<Reach> = (0..left.len())
                .map(|place| self.reach(session, question.seeking, place))
                .collect();
            let stops = left.iter().zip(&reaches).map(|(folder, reach)| {
                let commands = self.commands(session, folder, question, *reach, form)?;
                Ok(Stop { folder, commands })
            });
            let stops: Vec<Stop<'_>> = stops.collect::<Result<_, Fault>>()?;
            let visits = tour(session, cx, &stops, Pace::Slow).await?;
            let (mut again, mut undescribed) = (Vec::new(), Vec::new());
            for ((folder, reach), visit) in left.into_iter().zip(reaches).zip(visits) {
                let visit = visit.ok().filter(|visit| self.enter(folder, visit));
                let Some(visit) = visit else {
                    self.failed.push(folder.clone());
                    continue;
                };
                let uidvalidity = visit.uidvalidity;
                match self.hear(session, folder, reach, form, visit) {
                    Heard::Again => again.push(folder),
                    Heard::Failed => self.failed.push(folder.clone()),
                    Heard::Found {
                        mut uids,
                        described,
                    } => {
                        let told = described.iter().map(|(uid, _)| Uid(*uid)).collect();
                        uids = uids.difference(&told);
                        all.extend(self.bring_in(folder, uidvalidity, described));
                        // Of those that it did not describe at once some may be there all the same.
                        if !uids.is_empty() {
                            undescribed.push(Undescribed {
                                folder,
                                uidvalidity,
                                uids,
                            });
                        }
                    }
                }
            }
            all.extend(self.describe(session, cx, undescribed).await?);
            left = again;
        }
        self.failed.extend(left.into_iter().cloned());
        Ok(all)
    }

    /// Messages of which it is known where they lie, or lay. What is not there is left out.
    pub(super) async fn look(
        &mut self,
        session: &mut Session,
        cx: &Cx,
        at: &[(FolderName, UidValidity, UidSet)],
    ) -> Result<Vec<Found>, Fault> {
        let each = at.iter().map(|(folder, uidvalidity, uids)| Undescribed {
            folder,
            uidvalidity: *uidvalidity,
            uids: uids.clone(),
        });
        self.describe(session, cx, each.collect()).await
    }

    fn form(&self, session: &Session) -> Form {
        if self.gear.manner == Manner::Together && conditions::has_searchres(session) {
            Form::Saved
        } else if conditions::has_esearch(session) {
            Form::Extended
        } else {
            Form::Plain
        }
    }

    fn reach(&self, session: &Session, seeking: Seeking, place: usize) -> Reach {
        match (seeking, self.direct) {
            (Seeking::HavingOrNaming, false) => self.gear.in_thread.reach(session, place),
            _ => Reach::Direct,
        }
    }

    fn commands(
        &self,
        session: &Session,
        folder: &FolderName,
        question: Question<'_>,
        reach: Reach,
        form: Form,
    ) -> Result<Vec<Command>, Fault> {
        let seen = self.grounds.get(folder).map(|ground| &ground.seen);
        let seen = seen.map(|seen| SequenceSet::from_ranges(seen.ranges().to_vec()));
        let seen = seen.filter(|seen| !seen.is_empty() && seen.to_string().len() <= MOST_LEFT_OUT);
        let unseen = seen.map(|seen| Key::Not(Box::new(Key::Uid(seen))));
        let returns = match form {
            Form::Saved => SearchReturn::SaveAll,
            Form::Extended => SearchReturn::CountAll,
            Form::Plain => SearchReturn::Plain,
        };
        let mut batches = needles::batches(question.needles, question.seeking);
        if batches.is_empty() {
            batches.push(&[]);
        }
        let mut commands = Vec::new();
        for (place, batch) in batches.into_iter().enumerate() {
            let threads = match place {
                0 => question.threads,
                _ => &[],
            };
            let mut keys: Vec<Key<'_>> = unseen.iter().cloned().collect();
            keys.push(needles::key(batch, question.seeking, reach, threads));
            commands.push(conditions::command(returns, &keys)?);
            if form == Form::Saved {
                commands.push(Command::uid_fetch_saved(&describe::tied_items(
                    session.capabilities(),
                )));
            }
        }
        Ok(commands)
    }

    /// Whether it is the folder that was seen before.
    fn enter(&mut self, folder: &FolderName, visit: &Visit) -> bool {
        let ground = self.grounds.entry(folder.clone()).or_insert(Ground {
            uidvalidity: visit.uidvalidity,
            seen: UidSet::default(),
        });
        ground.uidvalidity == visit.uidvalidity
    }

    fn hear(
        &mut self,
        session: &mut Session,
        folder: &FolderName,
        reach: Reach,
        form: Form,
        visit: Visit,
    ) -> Heard {
        let every = match form {
            Form::Saved => 2,
            Form::Extended | Form::Plain => 1,
        };
        let landed = visit.landed;
        let refused = landed
            .statuses
            .iter()
            .step_by(every)
            .find(|one| !one.is_ok());
        if let Some(status) = refused {
            return self.refused(session, reach, form, status);
        }
        if reach == Reach::Thread {
            self.gear.in_thread.learn(Knowledge::Known);
        }
        let places: Vec<_> = landed.places.iter().step_by(every).copied().collect();
        let found = match form {
            Form::Plain => Ok(Some(sift::of_all(&landed.data))),
            Form::Saved | Form::Extended => sift::by_tag(&landed.data, &places).map(|sets| {
                let sets = sets?.into_iter();
                Some(sets.fold(SequenceSet::default(), |all, one| all.union(&one)))
            }),
        };
        let found = match found {
            Ok(Some(found)) => sift::bounded(&found, visit.most),
            Ok(None) => {
                session.esearch_fails = true;
                return Heard::Again;
            }
            Err(fault) => Err(fault),
        };
        let Ok(found) = found else {
            return Heard::Failed;
        };
        let uids = self.claim(folder, &found);
        let mut fetches = landed.statuses.iter().skip(1).step_by(2);
        session.searchres_fails |= form == Form::Saved && !fetches.all(Status::is_ok);
        Heard::Found {
            described: describe::told_of(landed.data, &uids),
            uids,
        }
    }

    fn refused(
        &mut self,
        session: &mut Session,
        reach: Reach,
        form: Form,
        status: &Status,
    ) -> Heard {
        let bad = status.kind == StatusKind::Bad;
        match (reach, form) {
            (Reach::Thread, _) => {
                // A server that knows it and could not do it now knows it still.
                match bad {
                    true => self.gear.in_thread.learn(Knowledge::Unknown),
                    false => self.direct = true,
                }
                Heard::Again
            }
            (Reach::Direct, Form::Saved) if bad => {
                session.searchres_fails = true;
                Heard::Again
            }
            (Reach::Direct, Form::Extended) if bad => {
                session.esearch_fails = true;
                Heard::Again
            }
            _ => Heard::Failed,
        }
    }

    /// What is new of it, as far as there is room: the newest.
    fn claim(&mut self, folder: &FolderName, found: &UidSet) -> UidSet {
        let Some(ground) = self.grounds.get_mut(folder) else {
            return UidSet::default();
        };
        let mut new = found.difference(&ground.seen);
        if new.len() > self.room {
            self.cut = true;
            let room = usize::try_from(self.room).unwrap_or(usize::MAX);
            new = new.iter().rev().take(room).collect();
        }
        self.room = self.room.saturating_sub(new.len());
        ground.seen = ground.seen.union(&new);
        new
    }

    /// Asks for what was found; and for less of those that nobody can read, such as a message to fifty thousand people.
    async fn describe(
        &mut self,
        session: &mut Session,
        cx: &Cx,
        wanted: Vec<Undescribed<'_>>,
    ) -> Result<Vec<Found>, Fault> {
        let mut all = Vec::new();
        let mut left = wanted;
        let lists = [
            describe::tied_items(session.capabilities()),
            describe::fewer_tied_items(),
        ];
        for items in lists {
            if left.is_empty() {
                return Ok(all);
            }
            cx.enter(Stage::Fetch);
            let stops = left.iter().map(|one| Stop {
                folder: one.folder,
                commands: summaries::commands(&one.uids, &items),
            });
            let stops: Vec<Stop<'_>> = stops.collect();
            let visits = tour(session, cx, &stops, Pace::Prompt).await?;
            let mut unread = Vec::new();
            for (mut one, visit) in left.into_iter().zip(visits) {
                let visit = visit
                    .ok()
                    .filter(|visit| visit.uidvalidity == one.uidvalidity);
                let answered = |visit: &Visit| visit.landed.statuses.iter().all(Status::is_ok);
                let Some(visit) = visit.filter(answered) else {
                    self.failed.push(one.folder.clone());
                    continue;
                };
                let unreadable = visit.landed.data.iter().any(convert::is_unreadable_fetch);
                let described = describe::told_of(visit.landed.data, &one.uids);
                let told = described.iter().map(|(uid, _)| Uid(*uid)).collect();
                one.uids = one.uids.difference(&told);
                all.extend(self.bring_in(one.folder, one.uidvalidity, described));
                if unreadable && !one.uids.is_empty() {
                    unread.push(one);
                }
            }
            left = unread;
        }
        // INVARIANT: a description that could not be read is not the absence of a message.
        self.cut |= !left.is_empty();
        Ok(all)
    }

    fn bring_in(
        &self,
        folder: &FolderName,
        uidvalidity: UidValidity,
        described: Vec<(u32, Fetch)>,
    ) -> Vec<Found> {
        let shelf = Shelf {
            cache: self.gear.cache,
            sightings: self.gear.sightings,
            folder,
            uidvalidity,
        };
        let each = described.into_iter().map(|(uid, fetch)| {
            let links = describe::links(&fetch);
            let thread = fetch.thread.clone();
            let summary = describe::summary(uid, fetch, Snippets::Without);
            shelf.remember(&summary);
            let at = MessageRef {
                source: SourceKind::Imap,
                account: self.gear.account.clone(),
                folder: folder.clone(),
                uidvalidity,
                uid: Uid(uid),
            };
            Found {
                member: Member { at, links, summary },
                thread,
            }
        });
        each.collect()
    }
}
