//! The job that finds the messages which have a Message-ID: all copies there are, so that nobody's stands for another's.
//!
//! Every folder is searched, in one flight where the server lets it be; trash and junk for what is nowhere else. What an
//! earlier search of all folders found is looked at instead, where nothing speaks against it. What was seen in passing says
//! only where to look first: a copy that somebody forged is seen as well.

use std::time::Instant;

use jiff::Timestamp;
use mail::{Coverage, Cx, Fault, FolderName, HeaderId, Kindred, Member, Sought, UidSet, Within};

use super::catalogue::{Catalogue, Places};
use super::closure::Found;
use super::hunt::{Gear, Hunt, Question};
use super::job::Job;
use super::kindred::most_described;
use super::needles::{Needle, Seeking};
use super::pool::Wish;
use super::scope::{End, Scope};
use super::session::Session;
use super::sightings::{Place, order};

/// Ids of one flight.
const MOST_AT_ONCE: usize = 100;

pub(super) struct LocateMessages<'a> {
    pub sought: &'a Sought,
    pub catalogue: &'a Catalogue,
    pub gear: Gear<'a>,
}

impl Job for LocateMessages<'_> {
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
        let mut hunt = Hunt::new(self.gear, most_described(effort.messages));
        if let Some(found) = self.where_it_was(session, cx, &mut hunt).await? {
            return Ok(found);
        }
        let folders = self.catalogue.read(session, cx, sightings).await?;
        let begun = sightings.begin(Instant::now(), Timestamp::now());
        let places = Places::of(&folders, within, session.keeping());
        let room = match effort.rounds {
            0 => 0,
            _ => effort.folders,
        };
        let mut scope = Scope::new(places, room);
        if *within == Within::All {
            scope.take_up(&sightings.folders_of(ids));
        }
        // INVARIANT: however many copies somebody sends, that which came first is among those that are looked at.
        hunt.share_among(scope.searched().len());
        let all: Vec<&HeaderId> = ids.iter().collect();
        let mut members = Vec::new();
        let mut end = self
            .search(session, cx, &mut hunt, scope.searched(), &all, &mut members)
            .await?;
        let mut coverage = scope.coverage(&hunt, end);
        if *within == Within::All && coverage.exhausted {
            sightings.settle_all(begun, &members, &coverage);
        }
        let missing = self.missing(&members);
        if !missing.is_empty() && effort.rounds > 1 {
            let late = scope.take_discarded();
            hunt.share_among(late.len());
            let mut thrown = Vec::new();
            let ended = self
                .search(session, cx, &mut hunt, &late, &missing, &mut thrown)
                .await?;
            end = end.and(ended);
            coverage = scope.coverage(&hunt, end);
            if *within == Within::All && coverage.is_complete() {
                for id in missing {
                    let has = |one: &&Member| one.links.id.as_ref() == Some(id);
                    sightings.settle(id, begun, thrown.iter().filter(has), &coverage);
                }
            }
            members.extend(thrown);
        }
        Ok(self.bounded(members, coverage))
    }
}

impl LocateMessages<'_> {
    /// INVARIANT: what is remembered is looked at before it counts, and counts only where all of it is as it was: where one is
    /// gone, the one that came first may lie elsewhere now.
    async fn where_it_was(
        &self,
        session: &mut Session,
        cx: &Cx,
        hunt: &mut Hunt<'_>,
    ) -> Result<Option<Kindred>, Fault> {
        let Some((places, coverage)) = self.remembered() else {
            return Ok(None);
        };
        let mut at: Vec<(FolderName, mail::UidValidity, UidSet)> = Vec::new();
        for (_, place) in &places {
            let uid: UidSet = std::iter::once(place.uid).collect();
            match at.last_mut() {
                Some((folder, uidvalidity, uids))
                    if *folder == place.folder && *uidvalidity == place.uidvalidity =>
                {
                    *uids = uids.union(&uid);
                }
                _ => at.push((place.folder.clone(), place.uidvalidity, uid)),
            }
        }
        at.truncate(self.sought.effort.folders);
        let mut members = Vec::new();
        self.take(&mut members, hunt.look(session, cx, &at).await?);
        hunt.forgive();
        let is_there = |id: &HeaderId, place: &Place| {
            let mut each = members.iter();
            each.any(|one| one.links.id.as_ref() == Some(id) && Place::of(one) == *place)
        };
        let mut sound = true;
        for (id, place) in &places {
            if !is_there(id, place) {
                self.gear.sightings.doubt(id);
                sound = false;
            }
        }
        Ok(sound.then(|| self.bounded(members, coverage)))
    }

    /// Where all that is sought lies, by searches that went alike.
    fn remembered(&self) -> Option<(Vec<(&HeaderId, Place)>, Coverage)> {
        if self.sought.within != Within::All || self.sought.effort.rounds == 0 {
            return None;
        }
        let now = Instant::now();
        let mut at = Vec::new();
        let mut behind: Option<Coverage> = None;
        for id in &self.sought.ids {
            let whole = self.gear.sightings.whole(id, now)?;
            at.extend(whole.places.into_iter().map(|place| (id, place)));
            behind = Some(match behind {
                None => whole.coverage,
                Some(known) => alike(known, &whole.coverage)?,
            });
        }
        at.sort_unstable_by(|(_, a), (_, b)| a.cmp(b));
        Some((at, behind?))
    }

    /// Adds those who have one of the ids.
    async fn search(
        &self,
        session: &mut Session,
        cx: &Cx,
        hunt: &mut Hunt<'_>,
        folders: &[FolderName],
        ids: &[&HeaderId],
        members: &mut Vec<Member>,
    ) -> Result<End, Fault> {
        let needles: Vec<Needle> = ids.iter().filter_map(|id| Needle::of(id)).collect();
        if !folders.is_empty() {
            for batch in needles.chunks(MOST_AT_ONCE) {
                let question = Question {
                    needles: batch,
                    seeking: Seeking::Having,
                    threads: &[],
                };
                self.take(members, hunt.ask(session, cx, folders, question).await?);
            }
        }
        Ok(match needles.len() == ids.len() {
            true => End::Whole,
            false => End::Early,
        })
    }

    fn missing(&self, members: &[Member]) -> Vec<&HeaderId> {
        let has = |id: &HeaderId| members.iter().any(|one| one.links.id.as_ref() == Some(id));
        self.sought.ids.iter().filter(|id| !has(id)).collect()
    }

    fn take(&self, members: &mut Vec<Member>, found: Vec<Found>) {
        for Found { member, .. } in found {
            let id = member.links.id.as_ref();
            let wanted = id.is_some_and(|id| self.sought.ids.contains(id));
            if wanted && !members.iter().any(|one| one.at == member.at) {
                members.push(member);
            }
        }
    }

    /// As many as are wanted: those that came first.
    fn bounded(&self, mut members: Vec<Member>, mut coverage: Coverage) -> Kindred {
        members.sort_by(|one, other| order(one).cmp(&order(other)));
        coverage.exhausted &= members.len() <= self.sought.effort.messages;
        members.truncate(self.sought.effort.messages);
        Kindred { members, coverage }
    }
}

/// What stands behind both; none where they went through different folders.
fn alike(one: Coverage, other: &Coverage) -> Option<Coverage> {
    let same = one.searched == other.searched && one.skipped == other.skipped;
    same.then(|| Coverage {
        as_of: one.as_of.min(other.as_of),
        exhausted: one.exhausted && other.exhausted,
        ..one
    })
}
