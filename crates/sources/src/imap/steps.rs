//! Steps as a session takes them: lent, taken once, and never again where something may have been changed.

use mail::{
    Append, Body, Broken, Changed, Cx, Effect, Fault, FaultKind, MailSource as _, Stage, Step,
};

use super::cargo::Cargo;
use super::gmail::names;
use super::job::Change;
use super::pool::{Lease, Wish};
use super::transfer::{Manner, Transfer};
use super::{ImapSource, append, mark, remove};

impl ImapSource {
    /// INVARIANT: nothing is changed where what was granted does not let it, whoever asks.
    pub(super) fn lets_change(&self) -> Result<(), Fault> {
        match self.reach().is_for_reading() {
            false => Ok(()),
            true => Err(Fault::new(FaultKind::ReadingOnly, Stage::Start)),
        }
    }

    /// A session for a change. What was granted may have become known only when it was made.
    async fn lend(&self, cx: &Cx, wish: Wish<'_>) -> Result<Lease, Fault> {
        let lease = self.pool.take(cx, wish).await?;
        self.lets_change()?;
        Ok(lease)
    }

    pub(super) async fn carry_out(&self, cx: &Cx, step: &Step) -> Result<Changed, Broken> {
        self.lets_change().map_err(Broken::before_anything)?;
        match step {
            Step::Mark {
                subject,
                add,
                remove,
            } => {
                let mark = mark::Mark {
                    subject,
                    add,
                    remove,
                };
                self.change(cx, mark).await
            }
            Step::Copy { subject, to } => {
                let manner = Manner::Copy;
                let copy = Transfer {
                    subject,
                    to,
                    manner,
                };
                let changed = self.change(cx, copy).await?;
                self.note_landing(to, &changed);
                Ok(changed)
            }
            Step::Move { subject, to } => {
                let manner = Manner::Move;
                let transfer = Transfer {
                    subject,
                    to,
                    manner,
                };
                let changed = self.change(cx, transfer).await?;
                self.note_landing(to, &changed);
                self.forget(&subject.at);
                Ok(changed)
            }
            Step::Remove { subject, what } => {
                let what = *what;
                let changed = self.change(cx, remove::Remove { subject, what }).await?;
                self.forget(&subject.at);
                Ok(changed)
            }
        }
    }

    /// Makes a change on a lent session. One that turns out dead costs a retry on another only where it is certain that
    /// nothing was asked of it.
    async fn change<C: Change>(&self, cx: &Cx, change: C) -> Result<Changed, Broken> {
        let outcome = self.attempt_change(cx, change).await;
        outcome.map_err(|broken| Broken {
            fault: self.tell(broken.fault),
            ..broken
        })
    }

    async fn attempt_change<C: Change>(&self, cx: &Cx, change: C) -> Result<Changed, Broken> {
        let nothing = Broken::before_anything;
        cx.enter(Stage::Queue);
        let mut lease = self.lend(cx, change.wish()).await.map_err(nothing)?;
        let mut outcome = change.run(lease.session(), cx).await;
        if let Err(broken) = &outcome
            && broken.effect == Effect::Nothing
            && lease.was_dead(broken.fault.kind)
        {
            drop(lease);
            self.pool.forget_idle();
            lease = self.lend(cx, change.wish()).await.map_err(nothing)?;
            outcome = change.run(lease.session(), cx).await;
        }
        if let Err(broken) = &outcome
            && broken.effect == Effect::Nothing
            && names::mend(lease.session(), cx, broken.fault.kind).await
        {
            outcome = change.run(lease.session(), cx).await;
        }
        if let Wish::Open(folder) | Wish::Selected(folder) = change.wish() {
            self.note_end(lease.session(), folder);
        }
        outcome
    }

    pub(super) async fn add(
        &self,
        cx: &Cx,
        append: &Append,
        body: &mut dyn Body,
    ) -> Result<Changed, Broken> {
        let nothing = Broken::before_anything;
        let mut cargo = Cargo::new(body, append.size);
        cx.enter(Stage::Queue);
        let mut lease = self.lend(cx, Wish::Any).await.map_err(nothing)?;
        let outcome = append::append(lease.session(), cx, append, &mut cargo).await;
        let outcome = match outcome {
            // A message of which something was taken cannot be sent from its beginning.
            Err(broken) if cargo.is_untouched() && lease.was_dead(broken.fault.kind) => {
                drop(lease);
                self.pool.forget_idle();
                lease = self.lend(cx, Wish::Any).await.map_err(nothing)?;
                append::append(lease.session(), cx, append, &mut cargo).await
            }
            Err(broken)
                if cargo.is_untouched()
                    && broken.effect == Effect::Nothing
                    && names::mend(lease.session(), cx, broken.fault.kind).await =>
            {
                append::append(lease.session(), cx, append, &mut cargo).await
            }
            outcome => outcome,
        };
        outcome.map_err(|broken| Broken {
            fault: self.tell(broken.fault),
            ..broken
        })
    }
}
