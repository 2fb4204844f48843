//! The job that finds the messages which have a Message-ID: first where it was last seen, then where mail usually lies, then
//! everywhere.
//!
//! Whoever is found in one tier of folders is not looked for in the next; what was left out is said.

use mail::{Coverage, Cx, Fault, FolderName, HeaderId, Kindred, Member, Sought, UidSet, Within};

use super::catalogue::{Catalogue, Places};
use super::closure::Found;
use super::hunt::{Gear, Hunt, Question};
use super::job::Job;
use super::kindred::{coverage, keeping, most_described};
use super::needles::{Needle, Seeking};
use super::pool::Wish;
use super::session::Session;
use super::sightings::Place;

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
        let effort = self.sought.effort;
        let mut hunt = Hunt::new(self.gear, most_described(effort.messages));
        let mut members = self.where_last_seen(session, cx, &mut hunt).await?;
        if self.missing(&members).is_empty() && !self.sought.ids.is_empty() {
            return Ok(remembered(members));
        }
        let folders = self.catalogue.read(session, cx).await?;
        let places = Places::of(&folders, &self.sought.within, keeping(session));
        let tiers = match self.sought.within {
            Within::All => [places.first, places.rest, places.discarded],
            Within::Only(_) => [[places.first, places.rest].concat(), Vec::new(), Vec::new()],
        };
        let (mut asked, mut left) = (Vec::new(), Vec::new());
        let (mut unspeakable, mut cut) = (false, false);
        for (rank, tier) in tiers.into_iter().enumerate() {
            let missing = self.missing(&members);
            let room = effort.folders.saturating_sub(asked.len());
            let open = rank < effort.rounds && !missing.is_empty();
            let mut tier = tier;
            left.push(tier.split_off(if open { room.min(tier.len()) } else { 0 }));
            if tier.is_empty() {
                continue;
            }
            let needles: Vec<Needle> = missing.iter().filter_map(|id| Needle::of(id)).collect();
            unspeakable |= needles.len() < missing.len();
            for batch in needles.chunks(MOST_AT_ONCE) {
                let question = Question {
                    needles: batch,
                    seeking: Seeking::Having,
                    threads: &[],
                };
                let found = hunt.ask(session, cx, &tier, question).await?;
                cut |= self.take(&mut members, found);
            }
            asked.extend(tier);
        }
        let discarded = left.pop().unwrap_or_default();
        let mut coverage = coverage(&hunt, asked, left.concat(), discarded);
        coverage.exhausted &= !cut && !unspeakable && !places.nameless;
        Ok(Kindred { members, coverage })
    }
}

impl LocateMessages<'_> {
    /// INVARIANT: what is remembered is looked at before it counts.
    async fn where_last_seen(
        &self,
        session: &mut Session,
        cx: &Cx,
        hunt: &mut Hunt<'_>,
    ) -> Result<Vec<Member>, Fault> {
        let mut hints: Vec<(&HeaderId, Place)> = Vec::new();
        if self.sought.within != Within::All {
            return Ok(Vec::new());
        }
        for id in &self.sought.ids {
            let places = self.gear.sightings.of(id).into_iter();
            hints.extend(places.map(|place| (id, place)));
        }
        hints.sort_unstable_by(|(_, a), (_, b)| a.cmp(b));
        let mut at: Vec<(FolderName, mail::UidValidity, UidSet)> = Vec::new();
        for (_, place) in &hints {
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
        if at.is_empty() {
            return Ok(Vec::new());
        }
        let found = hunt.look(session, cx, &at).await?;
        let mut members = Vec::new();
        self.take(&mut members, found);
        for (id, place) in hints {
            let there = |one: &Member| {
                one.links.id.as_ref() == Some(id)
                    && one.at.folder == place.folder
                    && one.at.uid == place.uid
            };
            if !members.iter().any(there) {
                self.gear.sightings.forget(id, &place);
            }
        }
        hunt.forgive();
        Ok(members)
    }

    fn missing(&self, members: &[Member]) -> Vec<&HeaderId> {
        let has = |id: &HeaderId| members.iter().any(|one| one.links.id.as_ref() == Some(id));
        self.sought.ids.iter().filter(|id| !has(id)).collect()
    }

    /// Those that have one of the ids; whether there were more than are wanted.
    fn take(&self, members: &mut Vec<Member>, found: Vec<Found>) -> bool {
        for Found { member, .. } in found {
            let id = member.links.id.as_ref();
            let wanted = id.is_some_and(|id| self.sought.ids.contains(id));
            if !wanted || members.iter().any(|one| one.at == member.at) {
                continue;
            }
            if members.len() >= self.sought.effort.messages {
                return true;
            }
            members.push(member);
        }
        false
    }
}

/// No folder was searched, so that there may be other copies.
fn remembered(members: Vec<Member>) -> Kindred {
    Kindred {
        members,
        coverage: Coverage::default(),
    }
}
