//! Messages that are named by their Message-ID and those they belong with: found wherever they lie, and each judged by
//! its own facts in the folder it lies in before anything of it gets out.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::path::PathBuf;

use bytes::Bytes;
use content::thread::{Likeness, Node, Text};
use jiff::Timestamp;
use mail::{
    Choose, Coverage, Effort, Fault, FaultKind, Fetched, Folder, FolderName, HeaderId, Keeping,
    Kindred, Level, Member, MessageRef, Skipped, Sought, SpecialUse, Stage, Structure, Uid, Why,
    Within,
};
use policy::{By, Denial, Judged, Scope};

use super::learning;
use super::{GuardedMail, Halt, Verdict, strip, within};
use crate::knowledge::lock;

/// What a question after a conversation may cost at most.
const EFFORT: Effort = Effort {
    folders: 60,
    rounds: 12,
    messages: 2_000,
};

/// What is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Seeking {
    /// The messages that have these ids.
    Themselves,
    /// All that belong with them.
    Kindred,
}

/// What was found, as far as its caller may see it.
pub(crate) struct Kin {
    pub members: Vec<Known>,
    /// Messages that were found and are not to be seen, each once. For the audit log alone: the
    /// caller chooses the Message-ID, so the number would tell which hidden messages exist.
    pub hidden: usize,
    /// The policy may hide messages of folders that are searched.
    pub may_hide: bool,
    pub coverage: Coverage,
}

/// A message that was judged: only this room makes one.
#[derive(Clone)]
pub(crate) struct Known {
    pub member: Member,
    level: Level,
    judged: Judged,
    /// By all that its store tells, not by what its caller may see.
    likeness: Likeness,
    /// Its store holds more of it than its header.
    here: bool,
}

impl Known {
    pub(crate) fn level(&self) -> Level {
        self.level
    }

    pub(crate) fn at(&self) -> &MessageRef {
        &self.member.at
    }

    pub(crate) fn is_here(&self) -> bool {
        self.here
    }

    /// For whoever tells messages from copies of them; where all else is equal, the least rank is read.
    pub(crate) fn node(&self, rank: u32) -> Node<'_> {
        let text = match self.here && self.level >= Level::Body {
            true => Text::Here,
            false => Text::Missing,
        };
        let likeness = self.likeness.clone();
        Node::new(&self.member, rank, text, likeness)
    }
}

/// By what hidden messages are told apart, to be counted.
#[derive(PartialEq, Eq, Hash)]
enum Told {
    Id(HeaderId),
    Store(u64),
    At(MessageRef),
}

impl Told {
    fn of(member: Member) -> Self {
        match (member.links.id, member.summary.store_id) {
            (Some(id), _) => Self::Id(id),
            (None, Some(store)) => Self::Store(store.message),
            (None, None) => Self::At(member.at),
        }
    }
}

/// The inbox first, then the other folders by name; in each what came first. Where one message is in many folders at once,
/// the one that shows most of it comes before.
fn order(
    known: &Known,
) -> (
    Reverse<Option<Level>>,
    bool,
    &FolderName,
    Option<Timestamp>,
    Uid,
) {
    let folder = &known.at().folder;
    let summary = &known.member.summary;
    let level = summary.store_id.map(|_| known.level);
    let other = folder.as_str() != "INBOX";
    let uid = known.at().uid;
    (Reverse(level), other, folder, summary.arrived, uid)
}

impl GuardedMail<'_> {
    /// INVARIANT: where is searched, and whether trash and junk are, hangs on visible messages alone; so no answer tells of
    /// others. A source left to itself stops looking where it finds, and what it finds may be hidden.
    pub(crate) async fn kin(&self, id: &HeaderId, seeking: Seeking) -> Result<Kin, Halt> {
        if self.permit.policy().is_owner() {
            return self.kin_within(id, seeking, Within::All).await;
        }
        // INVARIANT: how much a store holds is nobody's business but its owner's.
        self.cx.keep_counts();
        let (mut kept, thrown) = self.searchable().await?;
        let only = Within::Only(kept.clone());
        let mut kin = self.kin_within(id, seeking, only).await?;
        let has = |known: &Known| known.member.links.id.as_ref() == Some(id);
        if thrown.is_empty() || kin.members.iter().any(has) {
            let thrown = thrown.into_iter();
            kin.coverage.skipped.extend(thrown.map(|folder| Skipped {
                folder,
                why: Why::Discarded,
            }));
            return Ok(kin);
        }
        kept.extend(thrown);
        self.kin_within(id, seeking, Within::Only(kept)).await
    }

    async fn kin_within(
        &self,
        id: &HeaderId,
        seeking: Seeking,
        within: Within,
    ) -> Result<Kin, Halt> {
        let sought = Sought {
            ids: vec![id.clone()],
            within,
            effort: EFFORT,
        };
        let source = self.account.source();
        let found = match seeking {
            Seeking::Themselves => source.locate(self.cx, &sought).await?,
            Seeking::Kindred => source.kindred(self.cx, &sought).await?,
        };
        self.judge_each(found).await
    }

    /// Folders that may be searched, and of these apart trash and junk.
    /// INVARIANT: folders that are hidden are not searched, so no answer and no delay tells of them.
    async fn searchable(&self) -> Result<(Vec<FolderName>, Vec<FolderName>), Fault> {
        let policy = self.permit.policy();
        let all = self.account.folders(self.cx).await?.folders.into_iter();
        let open = |one: &Folder| {
            let folder = policy.folder(self.id(), &one.name);
            folder.is_some_and(|folder| folder.ceiling() >= Level::Headers)
        };
        let thrown =
            |one: &Folder| matches!(one.special_use, Some(SpecialUse::Trash | SpecialUse::Junk));
        let (thrown, mut kept): (Vec<_>, Vec<_>) = all.filter(open).partition(thrown);
        if self.account.source().keeping() == Some(Keeping::Labels) {
            self.leave_to_all_mail(&mut kept);
        }
        let names = |folders: Vec<Folder>| folders.into_iter().map(|one| one.name).collect();
        Ok((names(kept), names(thrown)))
    }

    /// Whether a folder that is searched may hold hidden messages. The policy alone says so.
    pub(crate) fn may_hide(&self) -> bool {
        let mut folders = self.permit.policy().folders(self.id());
        folders.any(|folder| folder.ceiling() >= Level::Headers && folder.floor() < Level::Headers)
    }

    /// What a label shows is in All Mail too. Where that shows no less of any message, the label need not be searched.
    fn leave_to_all_mail(&self, folders: &mut Vec<Folder>) {
        let policy = self.permit.policy();
        let of = |one: &Folder| policy.folder(self.id(), &one.name);
        let mut all = folders.iter();
        let all = all.find(|one| one.special_use == Some(SpecialUse::All));
        let Some(least) = all.and_then(of).map(policy::FolderPolicy::floor) else {
            return;
        };
        folders.retain(|one| {
            let is_all = one.special_use == Some(SpecialUse::All);
            is_all || of(one).is_some_and(|folder| folder.ceiling() > least)
        });
    }

    async fn judge_each(&self, found: Kindred) -> Result<Kin, Halt> {
        let Kindred { members, coverage } = found;
        let owned = self.permit.policy().is_owner();
        let octets = members.iter().map(|one| one.summary.octets()).sum();
        let read = move || -> Vec<_> {
            let each = members.into_iter().map(|member| {
                let facts = match owned {
                    true => Vec::new(),
                    false => learning::facts(std::slice::from_ref(&member.summary)),
                };
                let likeness = Likeness::of(&member.summary);
                (member, facts, likeness)
            });
            each.collect()
        };
        let members = learning::read(octets, read).await?;
        let mut seen = Vec::new();
        let mut hidden: HashSet<Told> = HashSet::new();
        for (mut member, facts, likeness) in members {
            let scope = self.permit.scope_in(self.id(), &member.at.folder);
            let judged = match (scope, facts.first()) {
                (Scope::Alike(level), _) => Judged {
                    level,
                    by: By::Default,
                },
                (Scope::Each(folder), Some((_, facts))) => {
                    let lines = facts.recipient_lines();
                    folder.judge(&facts.borrow(&lines), self.now)
                }
                (Scope::Each(folder), None) => folder.judge(&mail::Facts::default(), self.now),
            };
            // INVARIANT: what ties a message to others is in its header, so who may not see that sees none of it.
            if judged.level < Level::Headers || member.at.account != *self.id() {
                hidden.insert(Told::of(member));
                continue;
            }
            let here = member.summary.structure.is_some();
            strip(&mut member.summary, judged.level);
            let level = judged.level;
            seen.push(Known {
                member,
                level,
                judged,
                likeness,
                here,
            });
        }
        // A copy of what is shown keeps nothing back.
        for known in &seen {
            if let Some(id) = &known.member.links.id {
                hidden.remove(&Told::Id(id.clone()));
            }
            if let Some(store) = known.member.summary.store_id {
                hidden.remove(&Told::Store(store.message));
            }
        }
        // Every store has an order of its own, and what it remembers may change it.
        seen.sort_by(|one, other| order(one).cmp(&order(other)));
        let may_hide = self.may_hide();
        let mut coverage = coverage;
        // INVARIANT: hidden messages use up the bounds of the search too. Whether they did would
        // tell
        // of them, so where messages may be hidden nothing is complete.
        coverage.exhausted &= !may_hide;
        Ok(Kin {
            members: seen,
            hidden: hidden.len(),
            may_hide,
            coverage,
        })
    }

    /// The content of these, as far as their levels go, in their order. `needed` is what one has to have at least.
    pub(crate) async fn contents(
        &self,
        known: &[&Known],
        needed: Level,
        choose: Choose<'_>,
    ) -> Result<Vec<Result<Fetched, Halt>>, Halt> {
        let mut all: Vec<Option<Result<Fetched, Halt>>> = Vec::new();
        all.resize_with(known.len(), || None);
        for level in [Level::Body, Level::Full] {
            let here = |(_, one): &(usize, &&Known)| one.level == level && level >= needed;
            let some: Vec<(usize, &&Known)> = known.iter().enumerate().filter(here).collect();
            if some.is_empty() {
                continue;
            }
            let wanted: Vec<MessageRef> = some.iter().map(|(_, one)| one.at().clone()).collect();
            let choose = |structure: &Structure| choose(&within(structure, level));
            let source = self.account.source();
            let fetched = source.messages(self.cx, &wanted, &choose).await?;
            for ((place, one), fetched) in some.into_iter().zip(fetched) {
                if let Some(slot) = all.get_mut(place) {
                    *slot = Some(self.checked(one, fetched));
                }
            }
        }
        let below = |known: &Known| {
            let scope = self.permit.scope_in(self.id(), &known.at().folder);
            let denied = scope.admit(known.judged, needed.max(Level::Body)).err();
            Halt::from(denied.unwrap_or_else(Denial::absent))
        };
        let told = all.into_iter().zip(known);
        Ok(told
            .map(|(one, known)| one.unwrap_or_else(|| Err(below(known))))
            .collect())
    }

    /// INVARIANT: what was judged by its facts and what is shown are one message.
    pub(crate) fn is_judged(&self, known: &Known, octets: u64) -> bool {
        known.member.summary.size == Some(octets) || self.permit.policy().is_owner()
    }

    fn checked(&self, known: &Known, fetched: Result<Fetched, Fault>) -> Result<Fetched, Halt> {
        let mut fetched = fetched.inspect_err(|fault| self.note_conflict(known.at(), fault))?;
        if !self.is_judged(known, fetched.size) {
            return Err(Denial::absent().into());
        }
        self.note(known);
        fetched.structure = within(&fetched.structure, known.level);
        Ok(fetched)
    }

    /// The file that a message lies in at a local store.
    pub(crate) async fn file(&self, known: &Known) -> Result<Option<PathBuf>, Halt> {
        self.admit_whole(known)?;
        Ok(self.account.source().file(self.cx, known.at()).await?)
    }

    /// So many octets of a message from its beginning, or all of it. Several that are asked for at once travel together.
    pub(crate) async fn beginning(&self, known: &Known, most: u32) -> Result<Bytes, Halt> {
        self.admit_whole(known)?;
        let source = self.account.source();
        let read = source.read(self.cx, known.at(), u64::from(most)).await?;
        let gone = || Fault::new(FaultKind::NoSuchMessage, Stage::Fetch);
        let (_, octets) = read.ok_or_else(gone)?;
        Ok(octets)
    }

    /// So many octets of a message from an offset on; fewer at its end.
    pub(crate) async fn octets(&self, known: &Known, from: u64, most: u32) -> Result<Bytes, Halt> {
        self.admit_whole(known)?;
        let source = self.account.source();
        Ok(source.octets(self.cx, known.at(), from, most).await?)
    }

    fn admit_whole(&self, known: &Known) -> Result<(), Halt> {
        let scope = self.permit.scope_in(self.id(), &known.at().folder);
        scope.admit(known.judged, Level::Full)?;
        match self.permit.level() >= Level::Full {
            true => self.note(known),
            false => return Err(Fault::new(FaultKind::NoSuchMessage, Stage::Start).into()),
        }
        Ok(())
    }

    /// What decided, for the audit log.
    fn note(&self, known: &Known) {
        let scope = self.permit.scope_in(self.id(), &known.at().folder);
        if let Ok(reason) = scope.admit(known.judged, Level::Headers) {
            let rule = match known.judged.by {
                By::Default => None,
                By::Rule(index) => Some(index),
            };
            *lock(self.verdict) = Some(Verdict { reason, rule });
        }
    }
}
