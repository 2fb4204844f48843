//! Judging a message that is to be changed: as it is, and as it would be seen wherever it comes to stand by it.

use mail::{
    AccountId, Facts, Fault, Flag, Folder, FolderName, Keeping, Level, MessageRef, Snippets,
    SpecialUse, Subject, UidSet, Witness,
};
use policy::{Capability, Deed, Denial, Refused, Scope};

use super::learning::Lesson;
use super::{About, GuardedMail, Halt};
use crate::knowledge::lock;
use crate::setup::Account;

/// Folders that a message comes to stand in besides the one it goes to. None but where folders are labels.
#[derive(Default)]
pub(crate) struct Beside {
    always: Vec<(AccountId, FolderName)>,
    /// If it is flagged.
    starred: Option<(AccountId, FolderName)>,
}

impl GuardedMail<'_> {
    /// INVARIANT: what is below METADATA is neither marked, copied nor moved, and nothing goes where its caller would see
    /// more of it, or where rules read a field that the caller does not see: whether they match
    /// would tell what stands there.
    pub(crate) async fn judge_change(
        &self,
        at: &MessageRef,
        beside: &Beside,
    ) -> Result<Subject, Halt> {
        self.needs(&at.folder, Level::Metadata).await?;
        let admitted = self.admit(at, Level::Metadata).await?;
        let mut size = match admitted.about {
            About::Whatever => None,
            About::Size(size) => size,
        };
        let level = admitted.judged.level;
        let rises = || Err(Denial::of(Refused::VisibilityWouldRise).into());
        let scope =
            |(account, folder): &(AccountId, FolderName)| self.permit.scope_beside(account, folder);
        let always = beside.always.iter().map(scope);
        for there in std::iter::once(self.permit.scope_of_target()).chain(always) {
            if there.reads() > level {
                return rises();
            }
            let (most, judged) = self.most_in(there, at).await?;
            size = size.or(judged);
            if most > level {
                return rises();
            }
        }
        if let Some(starred) = &beside.starred {
            let (most, judged) = self.most_in(scope(starred), at).await?;
            size = size.or(judged);
            let tells = scope(starred).reads() > level || most > level;
            if tells && self.may_be_flagged(at).await? {
                return rises();
            }
        }
        Ok(Subject {
            at: at.clone(),
            size,
        })
    }

    /// Where a message comes to stand besides its target, if it goes to this account and gets these flags.
    ///
    /// INVARIANT: where folders are labels, one that is flagged is in the folder for these, and one that was not in the
    /// account, or in trash or junk, is in the folder for all.
    pub(crate) async fn beside(
        &self,
        at: &MessageRef,
        there: &Account,
        gets: &[&Flag],
    ) -> Result<Beside, Fault> {
        let target = self.permit.deed().and_then(Deed::target);
        let stars = gets.iter().any(|flag| flag.is("\\Flagged"));
        // Nobody is asked where nothing else is open wider than what its caller sees anyway.
        let floor = match self.permit.scope() {
            Scope::Alike(level) => level,
            Scope::Each(folder) => folder.floor(),
        };
        let mut open = self.permit.policy().folders(there.id());
        let is_apart = || there.source().keeping() == Some(Keeping::Apart);
        if (target.is_none() && !stars)
            || is_apart()
            || !open.any(|one| one.ceiling().max(one.reads()) > floor)
        {
            return Ok(Beside::default());
        }
        let folders = there.folders(self.cx).await?.folders;
        // INVARIANT: asked again, for before a login nobody knows.
        if is_apart() {
            return Ok(Beside::default());
        }
        let of_use = |special_use| {
            let mut found = folders.iter();
            let found = found.find(|one| one.special_use == Some(special_use));
            found.map(|one| (there.id().clone(), one.name.clone()))
        };
        let Some(target) = target else {
            return Ok(Beside {
                always: of_use(SpecialUse::Flagged).into_iter().collect(),
                starred: None,
            });
        };
        let is_there = at.account == *there.id() && !is_discarded(&folders, &at.folder);
        if is_there || is_discarded(&folders, &target.folder) {
            return Ok(Beside::default());
        }
        Ok(Beside {
            always: of_use(SpecialUse::All).into_iter().collect(),
            starred: of_use(SpecialUse::Flagged),
        })
    }

    /// Whether it is flagged, or could be by the time that it goes.
    async fn may_be_flagged(&self, at: &MessageRef) -> Result<bool, Halt> {
        let here = self.permit.policy().folder(self.id(), &at.folder);
        if here.is_none_or(|here| here.capabilities.has(Capability::MarkTagged)) {
            return Ok(true);
        }
        let only = UidSet::range(at.uid, at.uid);
        let source = self.account.source();
        let found = source.summaries(
            self.cx,
            &at.folder,
            at.uidvalidity,
            &only,
            Snippets::Without,
        );
        let found = found.await?.into_iter().find(|one| one.uid == at.uid);
        let flags = found.ok_or(Denial::absent())?.flags;
        // INVARIANT: flags that were not told are not no flags.
        Ok(flags.is_none_or(|flags| flags.iter().any(|flag| flag.is("\\Flagged"))))
    }

    /// What a message is that its caller may know of; none if it is gone.
    pub(crate) async fn is_there(&self, at: &MessageRef) -> Result<Option<Witness>, Halt> {
        self.needs(&at.folder, Level::Metadata).await?;
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
        if let Scope::Alike(level) = scope {
            return Ok((level, None));
        }
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

/// Where a message is nowhere else.
fn is_discarded(folders: &[Folder], name: &FolderName) -> bool {
    let mut named = folders.iter().filter(|one| one.name == *name);
    named.any(|one| matches!(one.special_use, Some(SpecialUse::Trash | SpecialUse::Junk)))
}
