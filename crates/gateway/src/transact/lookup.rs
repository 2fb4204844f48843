//! What came of a step whose answer was lost: found out by number, size and digest before anything is said or done again.

use ledger::{Mark, Place, StepName};
use mail::{
    Candidate, Digest, Fault, FaultKind, Flag, Landing, MOST_DIGESTED, Query, Removal, Search,
    Snippets, Stage, Step, Subject, Uid, UidValidity,
};

use super::drive::{Driver, is_verdict};
use super::stream;
use super::thinning;
use super::work::Work;

/// So many of a folder's last messages are looked at.
const MOST_NEWCOMERS: usize = 50;

const LOST: &str = "the message is neither where it was nor where it was to go: somebody else may have moved or \
                    deleted it, look for it, then resolve this as done or undone";

/// What was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Found {
    Done,
    /// Removed as far as its store lets anything be: into the trash.
    Trashed,
    /// Half of it was done, and is put back.
    PutBack,
    /// Where the message lies by now.
    DoneAt(Landing),
    /// The message has left its folder and something has come to the target, and what it looked like is not known.
    DoneSomewhere,
    /// A move that is copied and not removed.
    Copied(Landing),
    NotDone,
    /// Some of it.
    Half,
    /// It can never be done: the message is gone.
    Gone,
    /// A person has to look, at this.
    Undecided(&'static str),
}

/// What a message looks like, whoever copied it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Likeness {
    pub size: u64,
    pub digest: Digest,
}

impl Driver<'_> {
    pub(super) async fn look_up(&self, work: &mut Work, step: StepName) -> Result<Found, Fault> {
        match step {
            StepName::Mark => self.look_up_mark(work).await,
            StepName::Copy | StepName::Append => self.look_up_copy(work).await,
            StepName::Move => self.look_up_move(work).await,
            StepName::Remove => {
                let before = work.transaction.known.flags.clone();
                let at = match work.subject().map(|subject| subject.at) {
                    Some(at) if self.takes_the_message(work) => {
                        Some(self.original(work, &at).await?)
                    }
                    at => at,
                };
                self.look_up_removal(work, at, before).await
            }
            // One without a number is looked for by its octets when it is taken away.
            StepName::Withdraw if work.landed().is_none() => Ok(Found::NotDone),
            StepName::Withdraw => self.look_up_removal(work, work.landed(), None).await,
            // Reading again costs nothing.
            StepName::Confirm => Ok(Found::NotDone),
            // It is found out by being done.
            StepName::Thin => Ok(Found::NotDone),
        }
    }

    async fn look_up_mark(&self, work: &mut Work) -> Result<Found, Fault> {
        let Some(subject) = work.subject() else {
            return Ok(Found::Gone);
        };
        let source = self.source(work, &subject.at.account)?;
        let Some((witness, _)) = source.look(self.cx, &subject.at, 0).await? else {
            return Ok(Found::Gone);
        };
        let flags = told(witness.flags)?;
        let marks = &work.transaction.asked.marks;
        if !marks.iter().all(|mark| mark.is_so(&flags)) {
            let before = work.transaction.known.flags.as_deref();
            // Where it is not known what was before, only nothing of it is certainly not done.
            let same = |mark: &Mark| match before {
                Some(before) => mark.is_so(before) == mark.is_so(&flags),
                None => !mark.is_so(&flags),
            };
            return Ok(match marks.iter().all(same) {
                true => Found::NotDone,
                false => Found::Half,
            });
        }
        work.know(|known| known.flags_after = Some(flags));
        Ok(Found::Done)
    }

    /// A copy that nobody else is known to have made.
    async fn look_up_copy(&self, work: &mut Work) -> Result<Found, Fault> {
        if let Some(landing) = work.transaction.known.landed {
            return Ok(Found::DoneAt(landing));
        }
        if let Some(id) = self.store_id(work).await? {
            let stands = self.standing(work, id).await?;
            return Ok(stands.map_or(Found::NotDone, Found::DoneAt));
        }
        let Some(likeness) = self.likeness(work).await? else {
            return Ok(Found::Undecided(
                "whether the message was copied is not known, and its original is gone: look for it in the target, \
                 then resolve this as done or undone",
            ));
        };
        let found = self.copies(work, likeness).await?;
        let tried = work.attempts(StepName::Copy) + work.attempts(StepName::Append);
        if found.len() > 1 && tried > 1 {
            thinning::doubt(work);
        }
        let Some(one) = found.first() else {
            return Ok(Found::NotDone);
        };
        work.know(|known| known.store_id = known.store_id.or(one.witness.store_id));
        Ok(Found::DoneAt(one.landing))
    }

    async fn look_up_move(&self, work: &mut Work) -> Result<Found, Fault> {
        let Some(subject) = work.subject() else {
            return Ok(Found::Gone);
        };
        let source = self.source(work, &subject.at.account)?;
        let seen = source.look(self.cx, &subject.at, MOST_DIGESTED).await?;
        let still_there = seen.is_some();
        work.learn(seen.map(|(witness, _)| witness));
        if let Some(id) = work.transaction.known.store_id {
            let stands = self.standing(work, id).await?;
            return Ok(match (still_there, stands) {
                // Done by halves or not at all, it may be done again: a label is on or off, and never twice on.
                (true, _) => Found::NotDone,
                (false, Some(landing)) => Found::DoneAt(landing),
                (false, None) => self.put_back(work, id).await?,
            });
        }
        let known = &work.transaction.known;
        let likeness = known.size.zip(known.digest);
        let found = match likeness {
            Some((size, digest)) => self.copies(work, Likeness { size, digest }).await?,
            None => Vec::new(),
        };
        Ok(match found.first() {
            Some(one) if still_there => Found::Copied(one.landing),
            None if still_there => Found::NotDone,
            None if likeness.is_none() => self.look_up_newcomer(work).await?,
            Some(one) => Found::DoneAt(one.landing),
            None => Found::Undecided(LOST),
        })
    }

    /// What its store calls the message, as far as it does: from what is written, or from the message itself. Only of one
    /// that goes to another folder of its account.
    async fn store_id(&self, work: &mut Work) -> Result<Option<u64>, Fault> {
        let known = work.transaction.known.store_id;
        let at = work.transaction.asked.source.clone();
        let Some(at) = at.filter(|_| known.is_none() && work.stays_in_account()) else {
            return Ok(known);
        };
        let source = self.source(work, &at.account)?;
        let seen = source.look(self.cx, &at, MOST_DIGESTED).await?;
        work.learn(seen.map(|(witness, _)| witness));
        Ok(work.transaction.known.store_id)
    }

    /// A message that lost its label and did not get the other is where all are: it gets its own again. That may be done
    /// twice without harm.
    async fn put_back(&self, work: &Work, id: u64) -> Result<Found, Fault> {
        let Some(subject) = work.subject() else {
            return Ok(Found::Gone);
        };
        let source = self.source(work, &subject.at.account)?;
        let Some(at) = source.recalled(self.cx, &subject.at, id).await? else {
            return Ok(Found::Undecided(LOST));
        };
        let step = Step::Copy {
            to: subject.at.folder.clone(),
            subject: Subject { at, ..subject },
        };
        match source.apply(self.cx, &step).await {
            Ok(_) => Ok(Found::PutBack),
            Err(broken) if is_verdict(broken.fault.kind) => Ok(Found::Undecided(LOST)),
            Err(broken) => Err(broken.fault),
        }
    }

    /// INVARIANT: what has a name of its store's own is itself, whoever put it there.
    async fn standing(&self, work: &Work, id: u64) -> Result<Option<Landing>, Fault> {
        let Some(place) = &work.transaction.asked.target else {
            return Ok(None);
        };
        let source = self.source(work, &place.account)?;
        source.standing(self.cx, &place.folder, id).await
    }

    /// All that is known is that the message has left: if one has come to the target since, it is the one.
    async fn look_up_newcomer(&self, work: &Work) -> Result<Found, Fault> {
        let newcomers = self.newcomers(work).await?;
        Ok(match newcomers.as_slice() {
            [] => Found::Undecided(
                "the message has left its folder and has not come to the target: somebody else may have moved or \
                 deleted it, look for it, then resolve this as done or undone",
            ),
            [one] => Found::DoneAt(*one),
            _ => Found::DoneSomewhere,
        })
    }

    /// What came to the target since, and is not what another transaction put there.
    async fn newcomers(&self, work: &Work) -> Result<Vec<Landing>, Fault> {
        let asked = &work.transaction.asked;
        let Some((place, horizon)) = asked.target.as_ref().zip(asked.horizon) else {
            return Ok(Vec::new());
        };
        let search = Search {
            folder: place.folder.clone(),
            query: Query::default(),
            below: None,
            limit: MOST_NEWCOMERS,
            snippets: Snippets::Without,
            most_matches: u64::MAX,
        };
        let source = self.source(work, &place.account)?;
        let found = source.search(self.cx, &search).await?;
        let uidvalidity = UidValidity(found.uidvalidity);
        if uidvalidity != horizon.uidvalidity {
            return Ok(Vec::new());
        }
        let others = self.claimed(work, place, uidvalidity).await?;
        let uids = found.summaries.iter().map(|one| one.uid);
        let new = uids.filter(|uid| *uid >= horizon.next && !others.contains(uid));
        Ok(new.map(|uid| Landing { uidvalidity, uid }).collect())
    }

    async fn claimed(
        &self,
        work: &Work,
        place: &Place,
        uidvalidity: UidValidity,
    ) -> Result<Vec<Uid>, Fault> {
        let ledger = &self.desk.ledger;
        let others = ledger
            .landed(place, uidvalidity, &work.transaction.id)
            .await;
        others.map_err(|fault| super::drive::unwritten(&fault))
    }

    /// A message that is flagged and still there is one that the next mail program removes.
    async fn look_up_removal(
        &self,
        work: &Work,
        at: Option<mail::MessageRef>,
        before: Option<Vec<Flag>>,
    ) -> Result<Found, Fault> {
        let Some(at) = at else {
            return Ok(Found::Undecided(
                "the copy's number is not known: remove it by hand, then resolve this",
            ));
        };
        let source = self.source(work, &at.account)?;
        let Some((seen, _)) = source.look(self.cx, &at, 0).await? else {
            return Ok(match source.removes(&at.folder) {
                Removal::Trashed => Found::Trashed,
                Removal::Gone | Removal::Flagged => Found::Done,
            });
        };
        let deleted = Mark::Set(Flag::new("\\Deleted"));
        let flagged = deleted.is_so(&told(seen.flags)?);
        let was = before.map(|before| deleted.is_so(&before));
        Ok(match flagged && was != Some(true) {
            true => Found::Half,
            false => Found::NotDone,
        })
    }

    /// From what is written, from the original, or from the draft itself.
    pub(super) async fn likeness(&self, work: &mut Work) -> Result<Option<Likeness>, Fault> {
        let known = &work.transaction.known;
        if let Some((size, digest)) = known.size.zip(known.digest) {
            return Ok(Some(Likeness { size, digest }));
        }
        let Some(at) = work.transaction.asked.source.clone() else {
            let content = self.content(work).await?;
            let digest = content.map(|content| stream::of_bytes(&content));
            return Ok(digest.map(|digest| Likeness {
                size: digest.octets,
                digest,
            }));
        };
        let source = self.source(work, &at.account)?;
        let seen = source.look(self.cx, &at, MOST_DIGESTED).await?;
        work.learn(seen.map(|(witness, _)| witness));
        let known = &work.transaction.known;
        let both = known.size.zip(known.digest);
        Ok(both.map(|(size, digest)| Likeness { size, digest }))
    }

    /// What came into the target since, looks the same, and is not what another transaction put there. The oldest first.
    ///
    /// INVARIANT: the same Message-ID is no likeness; only the same octets are.
    pub(super) async fn copies(
        &self,
        work: &Work,
        like: Likeness,
    ) -> Result<Vec<Candidate>, Fault> {
        let asked = &work.transaction.asked;
        let Some(place) = &asked.target else {
            return Ok(Vec::new());
        };
        let Place { account, folder } = place;
        let source = self.source(work, account)?;
        let octets = like.digest.octets;
        let found = source
            .candidates(self.cx, folder, asked.horizon, like.size, octets)
            .await;
        let mut found = found?;
        found.retain(|one| one.witness.digest == Some(like.digest));
        let Some(generation) = found.first().map(|one| one.landing.uidvalidity) else {
            return Ok(found);
        };
        let others = self.claimed(work, place, generation).await?;
        // Where a store keeps one of equal messages it is everybody's who put it there.
        let is_free =
            |one: &Candidate| one.witness.store_id.is_some() || !others.contains(&one.landing.uid);
        found.retain(is_free);
        found.sort_by_key(|one| one.landing.uid);
        Ok(found)
    }
}

/// Flags that were not told are not no flags.
fn told(flags: Option<Vec<Flag>>) -> Result<Vec<Flag>, Fault> {
    let said = "the server does not tell the flags of the message";
    flags.ok_or_else(|| Fault::saying(FaultKind::Unreadable, Stage::Confirm, said))
}
