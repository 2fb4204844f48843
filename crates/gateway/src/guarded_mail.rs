//! The only place that holds a source: every question goes through a permit, only to the permitted account, and every
//! message is judged by its own facts before anything of it gets out.

mod changing;
mod inspection;
mod judging;
mod kin;
mod learning;
mod survey;

use std::sync::Mutex;

use mail::{
    AccountId, Choose, Cx, Described, Fault, FaultKind, Fetched, Folder, FolderName, Folders,
    InAll, Keeping, Level, MessageRef, RawMessage, Reach, Remedy, SourceKind, Stage, Structure,
    Summary, Uid, UidSet, UidValidity, Unadmitted, Verified,
};
use policy::{By, Denial, FolderPolicy, Judged, Permit, Reason, Refused, Scope};

use crate::Refusal;
use crate::knowledge::{Shelf, lock};
use crate::setup::{Account, Provider};
use crate::trouble::{self, Issue, Told};

pub use inspection::{Inspected, Inspection, Progress, Which};
use learning::Lesson;

pub(crate) use changing::Beside;
pub(crate) use judging::Tally;
pub(crate) use kin::{Kin, Known, Seeking};
pub(crate) use survey::{Sighting, Wanted};

/// One account's mail, as far as a permit reaches.
pub(crate) struct GuardedMail<'a> {
    account: &'a Account,
    permit: &'a Permit,
    cx: &'a Cx,
    /// Seconds since 1970.
    now: i64,
    verdict: &'a Mutex<Option<Verdict>>,
}

/// What was decided about the one message that was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Verdict {
    pub reason: Reason,
    pub rule: Option<usize>,
}

/// A message that may be seen, and what tells it from another.
struct Admitted {
    judged: Judged,
    about: About,
}

/// What was judged.
enum About {
    /// Any message of the folder.
    Whatever,
    /// One of this size, as far as that was told.
    Size(Option<u64>),
}

impl Admitted {
    /// INVARIANT: what was judged by its facts and what is shown are one message.
    fn is_about(&self, size: u64) -> bool {
        match self.about {
            About::Whatever => true,
            About::Size(judged) => judged == Some(size),
        }
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Halt {
    Fault(Fault),
    Denied(Denial),
}

impl From<Fault> for Halt {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<Denial> for Halt {
    fn from(denial: Denial) -> Self {
        Self::Denied(denial)
    }
}

/// The folders that a caller may know of.
pub(crate) struct Visible {
    pub folders: Vec<Folder>,
    pub unusable: usize,
    pub hidden: usize,
}

impl<'a> GuardedMail<'a> {
    /// Called by the pipeline's context alone, for the account that the permit is for.
    pub(crate) fn new(
        account: &'a Account,
        permit: &'a Permit,
        cx: &'a Cx,
        now: i64,
        verdict: &'a Mutex<Option<Verdict>>,
    ) -> Self {
        Self {
            account,
            permit,
            cx,
            now,
            verdict,
        }
    }

    /// INVARIANT: what lies above the permitted level, or in another folder, answers as what does not exist.
    async fn needs(&self, folder: &FolderName, level: Level) -> Result<(), Fault> {
        if self.permit.level() < level || self.permit.folder() != Some(folder) {
            return Err(Fault::new(FaultKind::NoSuchMessage, Stage::Start));
        }
        self.confirm(folder).await
    }

    /// Looks for a folder that a pattern covers in the server's list; any other needs no look.
    ///
    /// INVARIANT: a hidden folder takes the same time as one that does not exist, so its answer
    /// never comes from an earlier list.
    pub(crate) async fn confirm(&self, folder: &FolderName) -> Result<(), Fault> {
        let policy = self.permit.policy();
        if !policy.needs_listing(self.id(), folder) {
            return Ok(());
        }
        let shown = policy.shows_folder(self.id(), folder);
        if shown && self.account.listed_lately(folder) {
            return Ok(());
        }
        if self.account.lists(self.cx, folder).await? && shown {
            return Ok(());
        }
        Err(Fault::new(FaultKind::NoSuchFolder, Stage::OpenFolder))
    }

    /// The same in another account, where a message is to go.
    pub(crate) async fn confirm_at(
        &self,
        there: &'a Account,
        folder: &FolderName,
    ) -> Result<(), Fault> {
        let there = Self {
            account: there,
            ..*self
        };
        there.confirm(folder).await
    }

    pub(crate) fn id(&self) -> &AccountId {
        self.account.id()
    }

    pub(crate) fn describe(&self) -> Described {
        self.account.describe()
    }

    pub(crate) fn kind(&self) -> SourceKind {
        self.describe().kind
    }

    pub(crate) fn provider(&self) -> Provider {
        self.account.provider()
    }

    /// What a caller is told: an issue inside the answer, or a refusal. What does not exist and what is hidden is told
    /// alike.
    pub(crate) fn sort(&self, halt: Halt) -> Result<Issue, Refusal> {
        let mut fault = match halt {
            Halt::Denied(denial) => return Err(Refusal::denied(denial)),
            Halt::Fault(fault) => fault,
        };
        match fault.kind {
            FaultKind::NeedsLogin => return Err(self.needs_login()),
            FaultKind::ReadingOnly => {
                return Err(Refusal::reading_only(self.account.scopes()));
            }
            _ => {}
        }
        if !self.permit.policy().is_owner() {
            // INVARIANT: a server's own words may be about what is hidden, and where it is nobody needs to know who only reads.
            fault.said = None;
            match fault.kind {
                FaultKind::NoSuchFolder | FaultKind::NoSuchTarget => {
                    let hidden = Some(policy::Hidden::ObjectAbsent);
                    let denial = Denial {
                        hidden,
                        ..Denial::of(Refused::FolderHidden)
                    };
                    return Err(Refusal::denied(denial));
                }
                FaultKind::NoSuchMessage | FaultKind::AnotherMessage => {
                    return Err(Refusal::denied(Denial::absent()));
                }
                _ => return trouble::sort(&fault, Told::Caller),
            }
        }
        trouble::sort(&fault, Told::Owner(&self.describe()))
    }

    fn needs_login(&self) -> Refusal {
        let (why, remedy) = match self.account.reach() {
            Reach::Nothing(why, remedy) => (why, remedy),
            // Somebody logs in at this moment.
            Reach::Everything | Reach::ReadingOnly | Reach::Broken(_) => {
                (Unadmitted::Revoked, Remedy::LogIn)
            }
        };
        Refusal::needs_login(self.account.id(), why, &remedy)
    }

    /// The same of a fault at another account, where a message was to go.
    pub(crate) fn sort_at(&self, there: &'a Account, fault: Fault) -> Result<Issue, Refusal> {
        let there = Self {
            account: there,
            ..*self
        };
        there.sort(Halt::Fault(fault))
    }

    pub(crate) async fn verify(&self) -> Result<Verified, Halt> {
        Ok(self.account.source().verify(self.cx).await?)
    }

    pub(crate) async fn folders(&self) -> Result<Visible, Halt> {
        Ok(self.shown(self.account.folders(self.cx).await?))
    }

    /// The same, with how many messages lie in each of those whose messages are all alike to the caller.
    pub(crate) async fn counted_folders(&self) -> Result<Visible, Halt> {
        Ok(self.shown(self.account.counted_folders(self.cx).await?))
    }

    fn shown(&self, found: Folders) -> Visible {
        let policy = self.permit.policy();
        let all = found.folders.len();
        let shown = found.folders.into_iter();
        let mut shown: Vec<Folder> = shown
            .filter(|folder| policy.shows_folder(self.id(), &folder.name))
            .collect();
        for folder in &mut shown {
            self.withhold_counts(folder);
        }
        let hidden = all - shown.len();
        // A server's order may depend on folders that are hidden, and every store has another.
        shown.sort_by(|one, other| rank(one).cmp(&rank(other)));
        match policy.is_owner() {
            true => Visible {
                folders: shown,
                unusable: found.unusable,
                hidden,
            },
            // A name that cannot be spelled cannot be in a policy either.
            false => Visible {
                folders: shown,
                unusable: 0,
                hidden: hidden + found.unusable,
            },
        }
    }

    /// Whether the store's own search may be asked: whatever it looks at, labels of other folders among it, has to be open.
    pub(crate) async fn may_ask_the_store(&self) -> Result<bool, Halt> {
        let policy = self.permit.policy();
        if policy.is_owner() {
            return Ok(true);
        }
        // Where there is no such search, that is what is said. Before a login nobody knows.
        let has_none = || self.account.source().keeping() == Some(Keeping::Apart);
        if has_none() {
            return Ok(true);
        }
        let found = self.account.folders(self.cx).await?;
        if has_none() {
            return Ok(true);
        }
        let mut all = found.folders.iter();
        let open = |one: &Folder| {
            let named = policy.folder(self.id(), &one.name);
            named.is_some_and(|named| named.floor() == Level::Full)
        };
        // A name that cannot be spelled cannot be in a policy either.
        Ok(all.all(open) && found.unusable == 0)
    }

    /// Where messages of the permitted folder that may be seen lie in the one that holds all. A number says no more of a
    /// message than that there is one, which its caller knows.
    pub(crate) async fn in_all(
        &self,
        folder: &FolderName,
        messages: &[(Uid, u64)],
    ) -> Result<InAll, Fault> {
        self.needs(folder, Level::Metadata).await?;
        self.cx.enter(Stage::Search);
        let source = self.account.source();
        source.in_all(self.cx, folder, messages).await
    }

    /// Has the source find out what its folders are called.
    pub(crate) async fn learn_names(&self) {
        // Where that fails, a name stays as it was said, and fails where it is used.
        let _ = self.account.folders(self.cx).await;
    }

    /// INVARIANT: what the source counts includes what is hidden.
    fn withhold_counts(&self, folder: &mut Folder) {
        let policy = self.permit.policy();
        let alike = match policy.folder(self.id(), &folder.name) {
            Some(named) => named.rules.is_empty() && named.default >= Level::Metadata,
            None => policy.is_owner(),
        };
        if !alike {
            folder.counts = None;
        }
    }

    /// One message's description, as far as its level goes.
    pub(crate) async fn summary(
        &self,
        folder: &FolderName,
        generation: Option<UidValidity>,
        uid: Uid,
        needed: Level,
    ) -> Result<(MessageRef, Summary, Level), Halt> {
        self.needs(folder, needed).await?;
        let at = self.locate(folder, generation, uid).await?;
        let only = UidSet::range(uid, uid);
        let found =
            self.described_and_judged(&at.folder, at.uidvalidity, only, mail::Snippets::Without);
        let found = found
            .await
            .inspect_err(|fault| self.note_conflict(&at, fault));
        let (mut summary, judged) = found?.into_iter().next().ok_or(Denial::absent())?;
        self.decide(judged, needed)?;
        strip(&mut summary, judged.level);
        Ok((at, summary, judged.level))
    }

    /// These messages, each judged by the very facts that came with it; those that are gone are left out.
    async fn described_and_judged(
        &self,
        folder: &FolderName,
        uidvalidity: UidValidity,
        uids: UidSet,
        snippets: mail::Snippets,
    ) -> Result<Vec<(Summary, Judged)>, Fault> {
        let source = self.account.source();
        let found = source
            .summaries(self.cx, folder, uidvalidity, &uids, snippets)
            .await?;
        self.judged(folder, uidvalidity, &uids, found).await
    }

    /// Those of these messages that were asked for, each judged by what is told of it.
    async fn judged(
        &self,
        folder: &FolderName,
        uidvalidity: UidValidity,
        uids: &UidSet,
        found: Vec<Summary>,
    ) -> Result<Vec<(Summary, Judged)>, Fault> {
        let scope = self.permit.scope();
        if let Scope::Alike(level) = scope {
            let by = By::Default;
            let alike = found.into_iter().map(|one| (one, Judged { level, by }));
            return Ok(alike.collect());
        }
        let octets = found.iter().map(Summary::octets).sum();
        let read = move || {
            let facts = learning::facts(&found);
            (found, facts)
        };
        let (found, facts) = learning::read(octets, read).await?;
        let judged: Vec<Judged> = facts
            .iter()
            .map(|(_, facts)| {
                let lines = facts.recipient_lines();
                scope.judge(&facts.borrow(&lines), self.now)
            })
            .collect();
        let lesson = Lesson {
            folder,
            uidvalidity,
            shelf: &self.account.knowledge.shelf(folder),
        };
        lesson.keep(&facts);
        let asked = found.into_iter().zip(judged);
        Ok(asked.filter(|(one, _)| uids.contains(one.uid)).collect())
    }

    /// One message. Of what lies above its level nothing is fetched.
    pub(crate) async fn message(
        &self,
        at: &MessageRef,
        needed: Level,
        choose: Choose<'_>,
    ) -> Result<(Fetched, Level), Halt> {
        self.needs(&at.folder, needed).await?;
        let source = self.account.source();
        for _ in 0..2 {
            let admitted = self.admit(at, needed).await?;
            let level = admitted.judged.level;
            let choose = |structure: &Structure| choose(&within(structure, level));
            let fetched = source.message(self.cx, at, &choose).await;
            let mut fetched = fetched.inspect_err(|fault| self.note_conflict(at, fault))?;
            if !admitted.is_about(fetched.size) {
                // QUIRK: UIDs that move (Proton Bridge). What was judged was another message.
                self.forget(at);
                continue;
            }
            fetched.structure = within(&fetched.structure, level);
            return Ok((fetched, level));
        }
        Err(Denial::absent().into())
    }

    pub(crate) async fn raw(&self, at: &MessageRef, max_bytes: u64) -> Result<RawMessage, Halt> {
        self.needs(&at.folder, Level::Full).await?;
        let admitted = self.admit(at, Level::Full).await?;
        let source = self.account.source();
        let raw = source.raw(self.cx, at, max_bytes).await;
        let raw = raw.inspect_err(|fault| self.note_conflict(at, fault))?;
        match admitted.is_about(raw.size) {
            true => Ok(raw),
            false => {
                self.forget(at);
                Err(Denial::absent().into())
            }
        }
    }

    /// The message that is meant, where its folder's generation was not said.
    pub(crate) async fn locate(
        &self,
        folder: &FolderName,
        generation: Option<UidValidity>,
        uid: Uid,
    ) -> Result<MessageRef, Halt> {
        let known = || lock(&self.account.knowledge.shelf(folder)).uidvalidity();
        let uidvalidity = match generation.or_else(known) {
            Some(uidvalidity) => uidvalidity,
            None => {
                let nothing: &[mail::Condition] = &[];
                let source = self.account.source();
                let found = source.sift(self.cx, folder, nothing).await?;
                found.uidvalidity
            }
        };
        Ok(MessageRef {
            source: self.kind(),
            account: self.id().clone(),
            folder: folder.clone(),
            uidvalidity,
            uid,
        })
    }

    /// Judges a message before anything of it is fetched but its facts.
    async fn admit(&self, at: &MessageRef, needed: Level) -> Result<Admitted, Halt> {
        let scope = self.permit.scope();
        let mut about = About::Whatever;
        let judged = match scope {
            Scope::Alike(level) => Judged {
                level,
                by: By::Default,
            },
            Scope::Each(folder) => {
                if at.account != *self.id() || at.source != self.kind() {
                    return Err(Denial::absent().into());
                }
                let shelf = self.account.knowledge.shelf(&at.folder);
                let known = self.judge_known(folder, at, &shelf);
                let (judged, size) = match known {
                    Some(known) if known.0.level >= Level::Metadata => known,
                    // INVARIANT: what is hidden takes the way of what is not there, or time would tell them apart.
                    _ => {
                        let lesson = Lesson {
                            folder: &at.folder,
                            uidvalidity: at.uidvalidity,
                            shelf: &shelf,
                        };
                        let learned = self.learn(&lesson, &UidSet::range(at.uid, at.uid)).await;
                        let learned = learned.inspect_err(|fault| self.note_conflict(at, fault))?;
                        let judged = self.judge_known(folder, at, &shelf);
                        judged
                            .filter(|_| !learned.is_empty())
                            .ok_or(Denial::absent())?
                    }
                };
                about = About::Size(size);
                judged
            }
        };
        self.decide(judged, needed)?;
        Ok(Admitted { judged, about })
    }

    /// What was judged decides, and is noted for the audit log.
    fn decide(&self, judged: Judged, needed: Level) -> Result<(), Denial> {
        let reason = self.permit.scope().admit(judged, needed)?;
        let rule = match judged.by {
            By::Default => None,
            By::Rule(index) => Some(index),
        };
        *lock(self.verdict) = Some(Verdict { reason, rule });
        Ok(())
    }

    /// What the facts on the shelf say, and the size of the message they are of.
    fn judge_known(
        &self,
        folder: &FolderPolicy,
        at: &MessageRef,
        shelf: &Mutex<Shelf>,
    ) -> Option<(Judged, Option<u64>)> {
        let shelf = lock(shelf);
        let current = shelf.uidvalidity() == Some(at.uidvalidity);
        let facts = shelf.facts(at.uid).filter(|_| current)?;
        Some((folder.judge(&facts, self.now), facts.size))
    }

    /// A generation that the source says is over is not taken for the present one again. One that a caller made up
    /// tells nothing.
    fn note_conflict(&self, at: &MessageRef, fault: &Fault) {
        let shelf = self.account.knowledge.shelf(&at.folder);
        let ours = lock(&shelf).uidvalidity() == Some(at.uidvalidity);
        if fault.kind == FaultKind::Conflict && ours {
            self.account.knowledge.forget(&at.folder);
        }
    }

    fn forget(&self, at: &MessageRef) {
        lock(&self.account.knowledge.shelf(&at.folder)).drop_one(at.uid);
    }
}

/// INBOX is first, the others go by name.
fn rank(folder: &Folder) -> (bool, &str) {
    let name = folder.name.as_str();
    (name != "INBOX", name)
}

/// INVARIANT: nothing above the level leaves this room.
fn strip(summary: &mut Summary, level: Level) {
    if level < Level::Envelope {
        summary.header = None;
    }
    // What ties a message to others is in its header; by the name of a conversation even to those that are hidden.
    if level < Level::Headers
        && let Some(named) = &mut summary.store_id
    {
        named.thread = None;
    }
    if level < Level::Body {
        summary.text = None;
    }
    if level < Level::Full {
        summary.structure = None;
    }
}

/// The parts that a level shows.
fn within(structure: &Structure, level: Level) -> Structure {
    match level {
        Level::Full => structure.clone(),
        Level::Body => content::bodies(structure),
        _ => Structure::default(),
    }
}

#[cfg(test)]
mod tests;
