//! Looking for messages in many folders at once: a search in each, and a description of what it found.
//!
//! One flight where a server keeps what it found (`SEARCHRES`, RFC 5182), two where it does not. It knows how to ask and what
//! was seen already; what belongs together is for others to say.

use std::collections::HashMap;
use std::sync::Mutex;

use imap::command::{Key, SearchReturn};
use imap::{Command, Data, Fetch, SequenceSet, Status, StatusKind, ThreadId};
use mail::{
    AccountId, Cx, Fault, FolderName, Member, MessageRef, Snippets, SourceKind, Stage, Uid, UidSet,
    UidValidity,
};

use super::answers::{self, Role};
use super::cache::Cache;
use super::closure::Found;
use super::describe::{self, Shelf};
use super::gatherings::Edge;
use super::in_thread::{InThread, Knowledge};
use super::needles::{self, Grip, Needle, Reach, Seeking};
use super::quirks::{Finding, false_esearch, short_lines};
use super::session::{Pace, Session};
use super::sightings::Sightings;
use super::summaries;
use super::tour::{Stop, Visit, tour};
use super::{conditions, convert, sift};

/// With threads and without, and in each of the three forms of an answer.
const MOST_TRIES: usize = 5;

/// So many that were found by a part of an id are described. They are few where nobody plays tricks, and they take no room
/// from those that were found by a whole one.
const MOST_BY_PARTS: u64 = 500;

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
    /// So many more may be described that were found by whole ids, or by threads.
    room: u64,
    room_for_parts: u64,
    /// So many of one folder, those that came there first; all that there is room for, the newest first, where it is not said.
    share: Option<u64>,
    cut: bool,
    /// The server refused threads once, for reasons of its own.
    direct: bool,
}

/// What was seen of a folder.
struct Ground {
    uidvalidity: UidValidity,
    /// As it was before anything was asked in it.
    edge: Option<Edge>,
    seen: UidSet,
    probed: Probed,
    /// From the next round on.
    then: Probed,
}

/// How a folder was searched last. Its threads are asked for once, and again when what is not in them was found there: that
/// may be part of another. To look for that the ids themselves are enough, and cost a server far less.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Probed {
    /// Something was found that its threads were not asked for.
    Loose,
    Whole,
}

/// How answers come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    /// `ESEARCH`, with descriptions of what was found.
    Saved,
    Extended,
    Plain,
}

/// A folder, and what is asked in it.
struct Errand<'f> {
    folder: &'f FolderName,
    reach: Reach,
    /// Beside the commands.
    roles: Vec<Role>,
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
            room_for_parts: MOST_BY_PARTS,
            share: None,
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

    /// How the folder was when it was first opened, if it was and the server said so.
    pub(super) fn edge(&self, folder: &FolderName) -> Option<Edge> {
        self.grounds.get(folder)?.edge
    }

    /// What failed while a hint was followed may be searched all the same.
    pub(super) fn forgive(&mut self) {
        self.failed.clear();
        self.cut = false;
    }

    /// From now on no folder takes the room of another, and in each what came first is described first.
    pub(super) fn share_among(&mut self, folders: usize) {
        let folders = u64::try_from(folders).unwrap_or(u64::MAX).max(1);
        self.share = Some((self.room / folders).max(1));
    }

    /// All of a round was asked.
    pub(super) fn end_round(&mut self) {
        for ground in self.grounds.values_mut() {
            ground.probed = ground.then;
        }
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
            let (mut errands, mut stops) = (Vec::new(), Vec::new());
            for (place, folder) in left.into_iter().enumerate() {
                let reach = self.reach(session, question.seeking, place, folder);
                let orders = self.orders(session, folder, question, reach, form)?;
                let (roles, commands) = orders.into_iter().unzip();
                stops.push(Stop { folder, commands });
                errands.push(Errand {
                    folder,
                    reach,
                    roles,
                });
            }
            let visits = tour(session, cx, &stops, Pace::Slow).await?;
            let (mut again, mut undescribed) = (Vec::new(), Vec::new());
            let mut empty = Vec::new();
            for (errand, visit) in errands.into_iter().zip(visits) {
                let folder = errand.folder;
                let visit = visit.ok().filter(|visit| self.enter(folder, visit));
                let Some(visit) = visit else {
                    self.failed.push(folder.clone());
                    continue;
                };
                let uidvalidity = visit.uidvalidity;
                let holds_any = visit.most > 0;
                match self.hear(session, &errand, form, visit) {
                    Heard::Again => again.push(folder),
                    Heard::Failed => self.failed.push(folder.clone()),
                    Heard::Found {
                        mut uids,
                        described,
                    } => {
                        match form {
                            Form::Plain => {}
                            _ if !uids.is_empty() => session.find_out(Finding::EsearchHolds),
                            _ if holds_any => empty.push(folder),
                            _ => {}
                        }
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
            if let Some(folder) = empty.first()
                && !false_esearch::is_believed(session, cx, folder, 0).await?
            {
                again.extend(empty);
            }
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

    fn reach(
        &self,
        session: &Session,
        seeking: Seeking,
        place: usize,
        folder: &FolderName,
    ) -> Reach {
        let probed = self.grounds.get(folder).map(|ground| ground.probed);
        match (seeking, self.direct, probed) {
            (_, _, Some(Probed::Whole)) => Reach::Direct,
            (Seeking::HavingOrNaming, false, _) => self.gear.in_thread.reach(session, place),
            _ => Reach::Direct,
        }
    }

    /// What was found by whole ids is described at once where it can be; what was found by parts of them never, for it may
    /// be the whole folder.
    fn orders(
        &self,
        session: &Session,
        folder: &FolderName,
        question: Question<'_>,
        reach: Reach,
        form: Form,
    ) -> Result<Vec<(Role, Command)>, Fault> {
        let seen = self.grounds.get(folder).map(|ground| &ground.seen);
        let seen = seen.map(|seen| SequenceSet::from_ranges(seen.ranges().to_vec()));
        let seen = seen.filter(|seen| {
            !seen.is_empty() && seen.to_string().len() <= short_lines::MOST_LEFT_OUT
        });
        let unseen = seen.map(|seen| Key::Not(Box::new(Key::Uid(seen))));
        let mut orders = Vec::new();
        for grip in [Grip::Whole, Grip::Part] {
            let (reach, threads, returns) = match (grip, form) {
                (Grip::Whole, Form::Saved) => (reach, question.threads, SearchReturn::SaveAll),
                (Grip::Whole, Form::Extended) => (reach, question.threads, SearchReturn::CountAll),
                (Grip::Whole, Form::Plain) => (reach, question.threads, SearchReturn::Plain),
                // Not with the threads of strangers.
                (Grip::Part, Form::Plain) => (Reach::Direct, &[][..], SearchReturn::Plain),
                (Grip::Part, _) => (Reach::Direct, &[][..], SearchReturn::CountAll),
            };
            let words = needles::words(question.needles, question.seeking, grip);
            let batches = needles::batches(&words, threads).into_iter();
            for (place, batch) in batches.enumerate() {
                let threads = match place {
                    0 => threads,
                    _ => &[],
                };
                let mut keys: Vec<Key<'_>> = unseen.iter().cloned().collect();
                keys.push(needles::key(batch, reach, threads));
                orders.push((Role::Search(grip), conditions::command(returns, &keys)?));
                if returns == SearchReturn::SaveAll {
                    let items = describe::tied_items(session.capabilities());
                    orders.push((Role::Description, Command::uid_fetch_saved(&items)));
                }
            }
        }
        Ok(orders)
    }

    /// Whether it is the folder that was seen before.
    fn enter(&mut self, folder: &FolderName, visit: &Visit) -> bool {
        let ground = self.grounds.entry(folder.clone()).or_insert(Ground {
            uidvalidity: visit.uidvalidity,
            edge: Edge::of(visit),
            seen: UidSet::default(),
            probed: Probed::Loose,
            then: Probed::Loose,
        });
        ground.uidvalidity == visit.uidvalidity
    }

    fn hear(
        &mut self,
        session: &mut Session,
        errand: &Errand<'_>,
        form: Form,
        visit: Visit,
    ) -> Heard {
        let bounds = visit.bounds();
        let landed = visit.landed;
        let told = errand.roles.iter().zip(&landed.statuses);
        let refusal = told.clone().find_map(|(role, status)| match role {
            Role::Search(grip) if !status.is_ok() => Some((*grip, status)),
            _ => None,
        });
        match refusal {
            Some((Grip::Whole, status)) => {
                return self.refused(session, errand.reach, form, status);
            }
            Some((Grip::Part, status)) => {
                let form = match form {
                    Form::Saved | Form::Extended => Form::Extended,
                    Form::Plain => Form::Plain,
                };
                return self.refused(session, Reach::Direct, form, status);
            }
            None => {}
        }
        if errand.reach == Reach::Thread {
            self.gear.in_thread.learn(Knowledge::Known);
        }
        let found = match form {
            Form::Plain => sift::check_form(&landed.data)
                .map(|()| Some(answers::by_place(&landed, &errand.roles))),
            Form::Saved | Form::Extended => answers::by_tag(&landed, &errand.roles),
        };
        let [whole, part] = match found {
            Ok(Some(found)) => found.map(|one| bounds.checked(&one)),
            Ok(None) => {
                session.esearch_fails = true;
                return Heard::Again;
            }
            Err(_) => return Heard::Failed,
        };
        let (Ok(whole), Ok(part)) = (whole, part) else {
            return Heard::Failed;
        };
        let part = part.difference(&whole);
        let uids = self.claim(errand.folder, &whole, Grip::Whole);
        let uids = uids.union(&self.claim(errand.folder, &part, Grip::Part));
        if let Some(ground) = self.grounds.get_mut(errand.folder) {
            ground.then = match errand.reach {
                Reach::Thread => Probed::Whole,
                Reach::Direct if uids.is_empty() => ground.then,
                Reach::Direct => Probed::Loose,
            };
        }
        let mut descriptions = told.filter(|(role, _)| **role == Role::Description);
        session.searchres_fails |= !descriptions.all(|(_, status)| status.is_ok());
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

    /// What is new of it, as far as there is room.
    fn claim(&mut self, folder: &FolderName, found: &UidSet, grip: Grip) -> UidSet {
        let Some(ground) = self.grounds.get_mut(folder) else {
            return UidSet::default();
        };
        let room = match grip {
            Grip::Whole => &mut self.room,
            Grip::Part => &mut self.room_for_parts,
        };
        let mut new = found.difference(&ground.seen);
        let most = self.share.unwrap_or(u64::MAX).min(*room);
        if new.len() > most {
            self.cut = true;
            let most = usize::try_from(most).unwrap_or(usize::MAX);
            new = match self.share {
                Some(_) => new.iter().take(most).collect(),
                None => new.iter().rev().take(most).collect(),
            };
        }
        *room = room.saturating_sub(new.len());
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
                let mentioned = mentioned(&visit.landed.data);
                let described = describe::told_of(visit.landed.data, &one.uids);
                let told = described.iter().map(|(uid, _)| Uid(*uid)).collect();
                one.uids = one.uids.difference(&told);
                all.extend(self.bring_in(one.folder, one.uidvalidity, described));
                let is_there = !one.uids.intersection(&mentioned).is_empty();
                if is_there || (unreadable && !one.uids.is_empty()) {
                    unread.push(one);
                }
            }
            left = unread;
        }
        // INVARIANT: a description that could not be read is not the absence of a message.
        self.cut |= !left.is_empty();
        Ok(all)
    }

    pub(super) fn bring_in(
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

/// Messages of which anything was said at all: they are there.
fn mentioned(data: &[Data]) -> UidSet {
    let each = data.iter().filter_map(|one| match one {
        Data::Fetch(fetch) => fetch.uid.map(Uid),
        _ => None,
    });
    each.collect()
}
