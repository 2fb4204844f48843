//! Judging a message that is to be changed: as it is, and as it would be seen where it is to go.

use mail::{Facts, Level, MessageRef, Subject, UidSet, Witness};
use policy::{Denial, Refused, Scope};

use super::learning::Lesson;
use super::{About, GuardedMail, Halt};
use crate::knowledge::lock;

impl GuardedMail<'_> {
    /// INVARIANT: what is below METADATA is neither marked, copied nor moved, and nothing goes where its caller would see
    /// more of it.
    pub(crate) async fn judge_change(&self, at: &MessageRef) -> Result<Subject, Halt> {
        self.needs(&at.folder, Level::Metadata)?;
        let admitted = self.admit(at, Level::Metadata).await?;
        let mut size = match admitted.about {
            About::Whatever => None,
            About::Size(size) => size,
        };
        let there = self.permit.scope_of_target();
        let most = match there {
            Scope::Alike(level) => level,
            Scope::Each(_) => {
                let (most, judged) = self.most_in(there, at).await?;
                size = size.or(judged);
                most
            }
        };
        if most > admitted.judged.level {
            return Err(Denial::of(Refused::VisibilityWouldRise).into());
        }
        Ok(Subject {
            at: at.clone(),
            size,
        })
    }

    /// What a message is that its caller may know of; none if it is gone.
    pub(crate) async fn is_there(&self, at: &MessageRef) -> Result<Option<Witness>, Halt> {
        self.needs(&at.folder, Level::Metadata)?;
        self.admit(at, Level::Metadata).await?;
        let seen = self.account.source().look(self.cx, at, 0).await?;
        Ok(seen.map(|(seen, _)| seen))
    }

    /// The most that a message could turn out to have by other rules, and the size of the one that was judged.
    async fn most_in(
        &self,
        scope: Scope<'_>,
        at: &MessageRef,
    ) -> Result<(Level, Option<u64>), Halt> {
        let shelf = self.account.knowledge.shelf(&at.folder);
        let judge = || {
            let shelf = lock(&shelf);
            let current = shelf.uidvalidity() == Some(at.uidvalidity);
            let facts = shelf.facts(at.uid).filter(|_| current)?;
            // Time goes by, and a target need not keep the date: what a rule says of it holds only for now.
            let timeless = Facts {
                arrived: None,
                ..facts
            };
            Some((scope.judge_at_most(&timeless, self.now), facts.size))
        };
        if let Some(judged) = judge() {
            return Ok(judged);
        }
        let lesson = Lesson {
            folder: &at.folder,
            uidvalidity: at.uidvalidity,
            shelf: &shelf,
        };
        let learned = self.learn(&lesson, &UidSet::range(at.uid, at.uid)).await;
        learned.inspect_err(|fault| self.note_conflict(at, fault))?;
        judge().ok_or(Denial::absent().into())
    }
}
