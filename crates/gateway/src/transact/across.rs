//! From one account to another: the message is sent piece by piece, and its copy read back octet for octet.

use jiff::Timestamp;
use ledger::{StepName, StepState};
use mail::{Append, Broken, Changed, Fault, FaultKind, Flag, Stage};

use super::drive::{Driver, Flow};
use super::plan;
use super::stream::{self, Relay, Whole};
use super::work::Work;

impl Driver<'_> {
    pub(super) async fn append(&self, work: &mut Work) -> Result<Changed, Broken> {
        let nothing = Broken::before_anything;
        let Some(target) = work.transaction.asked.target.clone() else {
            return Err(nothing(Fault::new(FaultKind::NoSuchTarget, Stage::Append)));
        };
        let to = self.source(work, &target.account).map_err(nothing)?;
        let Some(at) = work.transaction.asked.source.clone() else {
            let content = self.content(work).await.map_err(nothing)?;
            let gone = || Fault::new(FaultKind::NoSuchMessage, Stage::Append);
            let content = content.ok_or_else(|| nothing(gone()))?;
            let append = Append {
                to: target.folder,
                flags: vec![Flag::new("\\Draft"), Flag::new("\\Seen")],
                arrived: work.transaction.known.arrived,
                size: u64::try_from(content.len()).unwrap_or(u64::MAX),
            };
            return to.append(self.cx, &append, &mut Whole::new(content)).await;
        };
        let from = self.source(work, &at.account).map_err(nothing)?;
        // Whatever becomes of its folder meanwhile, it is read from one place.
        let at = from.anchored(self.cx, &at).await.map_err(nothing)?;
        let beginning = match work.beginning.take() {
            Some(beginning) => beginning,
            None => {
                let seen = from.read(self.cx, &at, u64::from(stream::PIECE)).await;
                let gone = || Fault::new(FaultKind::NoSuchMessage, Stage::Fetch);
                let (witness, beginning) = seen.map_err(nothing)?.ok_or_else(|| nothing(gone()))?;
                work.learn(Some(witness));
                beginning
            }
        };
        let known = &work.transaction.known;
        let untold = || Fault::new(FaultKind::Protocol, Stage::Fetch);
        let size = known.size.ok_or_else(|| nothing(untold()))?;
        let flags = known.flags.iter().flatten().cloned();
        let append = Append {
            to: target.folder,
            flags: flags.filter(|flag| !flag.is("\\Recent")).collect(),
            arrived: known.arrived,
            size,
        };
        let relay = Relay::new(from, self.cx, &at, size, beginning);
        let (sent, digest) = stream::send(relay, to, self.cx, &append).await;
        if let Some(digest) = digest {
            work.know(|known| known.digest = Some(digest));
        }
        sent
    }

    /// Reads the copy back: by its number, and every octet of it.
    pub(super) async fn confirm(&self, work: &mut Work) -> Flow {
        work.step(StepName::Confirm, StepState::Intended, None);
        self.cx.enter(Stage::Confirm);
        match self.compare(work).await {
            Ok(Compared::Same) => {
                work.fault = None;
                work.step(StepName::Confirm, StepState::Done, None);
            }
            Ok(Compared::Lost(why)) if work.transaction.asked.kind == ledger::Kind::Copy => {
                work.step(StepName::Confirm, StepState::Done, Some(why));
            }
            Ok(Compared::Lost(why) | Compared::Differs(why)) => {
                work.fault = None;
                work.step(StepName::Confirm, StepState::Refused, Some(why));
            }
            Err(fault) => {
                work.fault = Some(fault);
                work.step(StepName::Confirm, StepState::Refused, Some(plan::NOT_DONE));
                return Flow::Pause;
            }
        }
        Flow::On
    }

    async fn compare(&self, work: &mut Work) -> Result<Compared, Fault> {
        if work.transaction.known.landed.is_none()
            && let Some(likeness) = self.likeness(work).await?
            && let Some(one) = self.copies(work, likeness).await?.first()
        {
            work.know(|known| {
                known.landed = Some(one.landing);
                known.store_id = known.store_id.or(one.witness.store_id);
            });
        }
        let Some(copy) = work.landed() else {
            return Ok(Compared::Differs("copy_missing"));
        };
        let there = self.source(work, &copy.account)?;
        let Some((seen, theirs)) = stream::digest(there, self.cx, &copy).await? else {
            return Ok(Compared::Differs("copy_missing"));
        };
        let known = &work.transaction.known;
        let ours = match known.digest {
            Some(digest) if Some(digest.octets) == known.size => digest,
            _ => {
                let gone = || Fault::new(FaultKind::NoSuchMessage, Stage::Confirm);
                let at = work.transaction.asked.source.clone().ok_or_else(gone)?;
                let here = self.source(work, &at.account)?;
                let at = here.anchored(self.cx, &at).await?;
                let read = stream::digest(here, self.cx, &at).await?;
                let (witness, digest) = read.ok_or_else(gone)?;
                work.learn(Some(witness));
                work.know(|known| known.digest = Some(digest));
                digest
            }
        };
        if ours != theirs {
            return Ok(Compared::Differs("copy_differs"));
        }
        let known = &work.transaction.known;
        let flags = known.flags.as_deref().unwrap_or_default();
        let kept = seen.flags.unwrap_or_default();
        let mut wanted = flags.iter().filter(|flag| !flag.is("\\Recent"));
        if !wanted.all(|flag| kept.iter().any(|one| one.is(flag.as_str()))) {
            return Ok(Compared::Lost("flags_not_kept"));
        }
        let second = |time: Option<Timestamp>| time.map(Timestamp::as_second);
        if known.arrived.is_some() && second(known.arrived) != second(seen.arrived) {
            return Ok(Compared::Lost("date_not_kept"));
        }
        Ok(Compared::Same)
    }
}

enum Compared {
    Same,
    /// The octets are the same, but not everything about them was kept.
    Lost(&'static str),
    Differs(&'static str),
}
