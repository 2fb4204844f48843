//! The decision: for account and folder at once, for each message by its facts.

use std::sync::Arc;

use mail::{AccountId, Facts, FolderName, Level};

use crate::{
    Ask, By, Capability, Deed, FolderPolicy, Hidden, Judged, Mode, Policy, Reason, Refused, Target,
};

/// Leave to do what was asked, and no more. Only [`Policy::decide`] makes one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Permit {
    policy: Arc<Policy>,
    account: Option<AccountId>,
    reach: Reach,
    level: Level,
    deed: Option<Deed>,
}

/// The messages that a permit is for.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Reach {
    None,
    /// Those of one folder.
    Folder(FolderName),
    /// Those of any folder, each judged by the folder that it lies in.
    Wherever,
}

/// What the messages of a permitted folder are judged by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope<'a> {
    /// All of them alike; their facts do not matter.
    Alike(Level),
    /// Each by its facts.
    Each(&'a FolderPolicy),
}

/// A refusal: what the caller is told, and what the audit log knows besides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Denial {
    pub refused: Refused,
    pub hidden: Option<Hidden>,
    /// The rule that spoke against it.
    pub rule: Option<usize>,
    pub missing: Option<Capability>,
}

impl Policy {
    /// Everything that is not given is refused.
    pub fn decide(self: &Arc<Self>, ask: &Ask) -> Result<Permit, Denial> {
        if ask.accounts().any(|account| !self.shows_account(account)) {
            return Err(Denial::of(Refused::AccountHidden));
        }
        let deed = match ask {
            Ask::Change { deed, .. } => Some(deed.clone()),
            _ => None,
        };
        let (reach, level) = match ask {
            Ask::Messages {
                account,
                folder,
                level,
            } => (
                Reach::Folder(self.permitted(account, folder, *level)?),
                *level,
            ),
            Ask::Change {
                account,
                folder,
                deed,
            } => (
                Reach::Folder(self.may(account, folder, deed)?),
                deed.level(),
            ),
            Ask::Wherever { account, level } => {
                self.permitted_somewhere(account.as_ref(), *level)?;
                (Reach::Wherever, *level)
            }
            Ask::Own | Ask::Accounts | Ask::Account { .. } | Ask::Folders { .. } => {
                (Reach::None, Level::Count)
            }
        };
        Ok(Permit {
            policy: Arc::clone(self),
            account: ask.account().cloned(),
            reach,
            level,
            deed,
        })
    }

    /// What the deed needs, where the message is and where it is to go.
    fn may(
        &self,
        account: &AccountId,
        folder: &FolderName,
        deed: &Deed,
    ) -> Result<FolderName, Denial> {
        let folder = self.permitted(account, folder, deed.level())?;
        if self.is_owner() {
            return Ok(folder);
        }
        let here = self.capabilities_of(account, &folder);
        if let Some(missing) = deed.needs().iter().find(|one| !here.has(*one)) {
            return Err(Denial::lacking(missing));
        }
        if *deed == Deed::Delete {
            return Err(Denial::of(Refused::CapabilityMissing));
        }
        if let Some(Target { account, folder }) = deed.target() {
            self.permitted(account, folder, Level::None)?;
            let there = self.capabilities_of(account, folder);
            if !there.has(Capability::AcceptIncoming) {
                return Err(Denial::lacking(Capability::AcceptIncoming));
            }
        }
        Ok(folder)
    }

    fn capabilities_of(&self, account: &AccountId, folder: &FolderName) -> crate::Capabilities {
        let folder = self.folder(account, folder);
        folder.map(|one| one.capabilities).unwrap_or_default()
    }

    /// Whether there is a folder in which so much can be seen.
    fn permitted_somewhere(&self, account: Option<&AccountId>, level: Level) -> Result<(), Denial> {
        let ceiling = match account {
            Some(account) if !self.is_owner() => {
                let folders = self.folders(account).map(FolderPolicy::ceiling);
                folders.max().unwrap_or(Level::None)
            }
            _ => self.ceiling(),
        };
        match ceiling >= level {
            true => Ok(()),
            false => Err(Denial::of(Refused::VisibilityBelow(level))),
        }
    }

    fn permitted(
        &self,
        account: &AccountId,
        folder: &FolderName,
        level: Level,
    ) -> Result<FolderName, Denial> {
        let ceiling = match self.folder(account, folder) {
            Some(policy) => policy.ceiling(),
            None if self.is_owner() => Level::Full,
            None => return Err(Denial::of(Refused::FolderHidden)),
        };
        match ceiling >= level {
            true => Ok(folder.clone()),
            false => Err(Denial::of(Refused::VisibilityBelow(level))),
        }
    }
}

impl Permit {
    /// The one account it is for.
    pub fn account(&self) -> Option<&AccountId> {
        self.account.as_ref()
    }

    /// The one folder it is for.
    pub fn folder(&self) -> Option<&FolderName> {
        match &self.reach {
            Reach::Folder(folder) => Some(folder),
            Reach::None | Reach::Wherever => None,
        }
    }

    /// What was asked for, and is the most that this permit gives of a message.
    pub fn level(&self) -> Level {
        self.level
    }

    /// The most that any message of the folder can have.
    pub fn ceiling(&self) -> Level {
        match self.scope() {
            Scope::Alike(level) => level,
            Scope::Each(folder) => folder.ceiling(),
        }
    }

    /// What may be done, where it was asked to do something.
    pub fn deed(&self) -> Option<&Deed> {
        self.deed.as_ref()
    }

    /// What a message would be judged by where it is to go; nothing, if it is not to go anywhere.
    pub fn scope_of_target(&self) -> Scope<'_> {
        match self.deed.as_ref().and_then(Deed::target) {
            Some(Target { account, folder }) => self.scope_of(account, folder),
            None => Scope::Alike(Level::None),
        }
    }

    /// The same of another folder that it comes to stand in by what may be done.
    pub fn scope_beside(&self, account: &AccountId, folder: &FolderName) -> Scope<'_> {
        match self.deed {
            Some(_) => self.scope_of(account, folder),
            None => Scope::Alike(Level::None),
        }
    }

    /// Before any message was looked at.
    pub fn reason(&self) -> Reason {
        Reason::FolderDefaultApplied
    }

    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// What a message is judged by that was found in this folder; nothing, where it was not asked for messages wherever
    /// they lie.
    pub fn scope_in(&self, account: &AccountId, folder: &FolderName) -> Scope<'_> {
        let other = self.account.as_ref().is_some_and(|own| own != account);
        match self.reach == Reach::Wherever && !other {
            true => self.scope_of(account, folder),
            false => Scope::Alike(Level::None),
        }
    }

    /// Nothing, where no folder was asked for.
    pub fn scope(&self) -> Scope<'_> {
        match self.account.as_ref().zip(self.folder()) {
            Some((account, folder)) => self.scope_of(account, folder),
            None if self.policy.is_owner() => Scope::Alike(Level::Full),
            None => Scope::Alike(Level::None),
        }
    }

    fn scope_of(&self, account: &AccountId, folder: &FolderName) -> Scope<'_> {
        if self.policy.is_owner() {
            return Scope::Alike(Level::Full);
        }
        match self.policy.folder(account, folder) {
            Some(folder) if folder.rules.is_empty() => Scope::Alike(folder.default),
            Some(folder) => Scope::Each(folder),
            None => Scope::Alike(Level::None),
        }
    }
}

impl Scope<'_> {
    /// `now` in seconds since 1970.
    pub fn judge(self, facts: &Facts<'_>, now: i64) -> Judged {
        match self {
            Self::Alike(level) => Judged {
                level,
                by: By::Default,
            },
            Self::Each(folder) => folder.judge(facts, now),
        }
    }

    /// The level that shows every field its rules read.
    pub fn reads(self) -> Level {
        match self {
            Self::Alike(_) => Level::None,
            Self::Each(folder) => folder.reads(),
        }
    }

    /// The most that a message could turn out to have.
    pub fn judge_at_most(self, facts: &Facts<'_>, now: i64) -> Level {
        match self {
            Self::Alike(level) => level,
            Self::Each(folder) => folder.judge_at_most(facts, now),
        }
    }

    /// Whether a message that was judged so may be seen as far as `needed`.
    pub fn admit(self, judged: Judged, needed: Level) -> Result<Reason, Denial> {
        if judged.level >= needed {
            return Ok(match judged.by {
                By::Default => Reason::FolderDefaultApplied,
                By::Rule(_) => Reason::RuleMatched,
            });
        }
        let rule = match judged.by {
            By::Default => None,
            By::Rule(index) => Some(index),
        };
        if judged.level >= Level::Metadata {
            return Err(Denial {
                rule,
                ..Denial::of(Refused::VisibilityBelow(needed))
            });
        }
        let hidden = match self {
            Self::Each(folder) if folder.mode == Mode::Blacklist && rule.is_some() => {
                Hidden::SenderBlacklisted
            }
            Self::Each(_) | Self::Alike(_) => Hidden::SenderNotWhitelisted,
        };
        Err(Denial {
            hidden: Some(hidden),
            rule,
            ..Denial::of(Refused::MessageNotVisible)
        })
    }
}

impl Denial {
    pub fn of(refused: Refused) -> Self {
        Self {
            refused,
            hidden: None,
            rule: None,
            missing: None,
        }
    }

    pub fn lacking(missing: Capability) -> Self {
        Self {
            missing: Some(missing),
            ..Self::of(Refused::CapabilityMissing)
        }
    }

    /// There is no such message; its caller is told what is told of a hidden one.
    pub fn absent() -> Self {
        Self {
            hidden: Some(Hidden::ObjectAbsent),
            ..Self::of(Refused::MessageNotVisible)
        }
    }

    /// The reason that the audit log keeps.
    pub fn recorded(&self) -> &'static str {
        self.hidden.map_or(self.refused.name(), Hidden::name)
    }
}

#[cfg(test)]
mod tests {
    use mail::Level::{Body, Count, Envelope, Full, Metadata, None as Nothing};

    use super::*;
    use crate::{Capabilities, Capability, FolderPattern, Predicate, Rule};

    fn account(name: &str) -> AccountId {
        AccountId::new(name).unwrap()
    }

    fn name(path: &str) -> FolderName {
        FolderName::new(path).unwrap()
    }

    fn folder(path: &str, mode: Mode, default: Level, rules: &[(u64, Level)]) -> FolderPolicy {
        let rule = |(octets, level): &(u64, Level)| Rule {
            predicates: vec![Predicate::SizeGt(*octets)],
            level: *level,
        };
        FolderPolicy {
            path: FolderPattern::parse(path).unwrap(),
            mode,
            default,
            rules: rules.iter().map(rule).collect(),
            capabilities: Capabilities::NONE,
        }
    }

    fn policy() -> Arc<Policy> {
        let mut archive = folder("Archive", Mode::Whitelist, Nothing, &[]);
        archive.capabilities = Capabilities::NONE.with(Capability::AcceptIncoming);
        let work = vec![
            folder("INBOX", Mode::Whitelist, Nothing, &[(10, Body), (20, Full)]),
            folder("Lists", Mode::Blacklist, Envelope, &[(10, Nothing)]),
            folder("Plain", Mode::Blacklist, Body, &[]),
            folder("Dark", Mode::Whitelist, Nothing, &[]),
            archive,
        ];
        let dark = vec![folder("INBOX", Mode::Whitelist, Nothing, &[])];
        let accounts = vec![(account("work"), work), (account("dark"), dark)];
        Arc::new(Policy::new("some", accounts).unwrap())
    }

    fn messages(of: &str, path: &str, level: Level) -> Ask {
        Ask::Messages {
            account: account(of),
            folder: name(path),
            level,
        }
    }

    #[test]
    fn the_owner_gets_what_was_asked_and_no_more() {
        let owner = Arc::new(Policy::owner());
        let permit = owner.decide(&messages("any", "Any", Body)).unwrap();
        assert_eq!(permit.account(), Some(&account("any")));
        assert_eq!(permit.folder(), Some(&name("Any")));
        assert_eq!(permit.level(), Body);
        assert_eq!(permit.reason(), Reason::FolderDefaultApplied);
        assert_eq!(permit.scope(), Scope::Alike(Full));
        assert!(permit.policy().is_owner());

        for ask in [Ask::Own, Ask::Accounts] {
            let permit = owner.decide(&ask).unwrap();
            assert_eq!((permit.account(), permit.folder()), (None, None));
            assert_eq!(permit.level(), Count);
        }
    }

    #[test]
    fn what_is_not_named_does_not_exist() {
        let policy = policy();
        let of = |account| Ask::Account { account };
        let folders = |account| Ask::Folders { account };
        for (ask, want) in [
            (of(account("work")), None),
            (of(account("dark")), Some(Refused::AccountHidden)),
            (of(account("other")), Some(Refused::AccountHidden)),
            (folders(account("work")), None),
            (folders(account("other")), Some(Refused::AccountHidden)),
            (
                messages("other", "INBOX", Metadata),
                Some(Refused::AccountHidden),
            ),
            (
                messages("dark", "INBOX", Nothing),
                Some(Refused::AccountHidden),
            ),
            (
                messages("work", "Other", Metadata),
                Some(Refused::FolderHidden),
            ),
            (
                messages("work", "Dark", Nothing),
                Some(Refused::FolderHidden),
            ),
            (messages("work", "INBOX", Full), None),
            (messages("work", "Lists", Envelope), None),
            (
                messages("work", "Lists", Body),
                Some(Refused::VisibilityBelow(Body)),
            ),
            (
                messages("work", "Archive", Count),
                Some(Refused::VisibilityBelow(Count)),
            ),
        ] {
            let denial = policy.decide(&ask).err();
            assert_eq!(denial, want.map(Denial::of), "{ask:?}");
        }
    }

    #[test]
    fn who_changes_something_needs_the_capability_in_every_folder_it_touches() {
        use Capability::{AcceptIncoming, DraftAppend, MarkSeen, MarkTagged, MoveOut};
        let with = |path, default, given: &[Capability]| FolderPolicy {
            capabilities: given.iter().copied().collect(),
            ..match default {
                Nothing => folder(path, Mode::Whitelist, default, &[]),
                _ => folder(path, Mode::Blacklist, default, &[]),
            }
        };
        let work = vec![
            with("INBOX", Metadata, &[MarkSeen, MoveOut]),
            with("Read", Metadata, &[]),
            with("Counted", Count, &[MarkSeen, MoveOut]),
            with("Archive", Nothing, &[AcceptIncoming]),
            with("Drafts", Nothing, &[DraftAppend]),
        ];
        let home = vec![with("INBOX", Nothing, &[AcceptIncoming])];
        let accounts = vec![(account("work"), work), (account("home"), home)];
        let policy = Arc::new(Policy::new("some", accounts).unwrap());
        let owner = Arc::new(Policy::owner());
        let to = |of: &str, path: &str| Target {
            account: account(of),
            folder: name(path),
        };
        let marks = |each: &[Capability]| Deed::Mark(each.iter().copied().collect());
        let lacking = |one| Some(Denial::lacking(one));
        let refused = |why| Some(Denial::of(why));
        let below = refused(Refused::VisibilityBelow(Metadata));
        for (path, deed, want) in [
            ("INBOX", marks(&[MarkSeen]), None),
            ("INBOX", marks(&[MarkSeen, MarkTagged]), lacking(MarkTagged)),
            ("Read", marks(&[MarkSeen]), lacking(MarkSeen)),
            ("Counted", marks(&[MarkSeen]), below),
            ("Other", marks(&[MarkSeen]), refused(Refused::FolderHidden)),
            ("INBOX", Deed::Copy(to("work", "Archive")), None),
            ("Read", Deed::Copy(to("home", "INBOX")), None),
            (
                "Read",
                Deed::Copy(to("work", "INBOX")),
                lacking(AcceptIncoming),
            ),
            ("Counted", Deed::Copy(to("work", "Archive")), below),
            ("INBOX", Deed::Move(to("work", "Archive")), None),
            ("Read", Deed::Move(to("work", "Archive")), lacking(MoveOut)),
            (
                "INBOX",
                Deed::Move(to("work", "Other")),
                refused(Refused::FolderHidden),
            ),
            (
                "INBOX",
                Deed::Move(to("other", "INBOX")),
                refused(Refused::AccountHidden),
            ),
            ("INBOX", Deed::Delete, refused(Refused::CapabilityMissing)),
            ("Drafts", Deed::Draft, None),
            ("INBOX", Deed::Draft, lacking(DraftAppend)),
            ("Archive", Deed::Withdraw(AcceptIncoming), None),
            ("Archive", Deed::Withdraw(DraftAppend), lacking(DraftAppend)),
        ] {
            let ask = Ask::Change {
                account: account("work"),
                folder: name(path),
                deed: deed.clone(),
            };
            let decided = policy.decide(&ask);
            assert_eq!(decided.as_ref().err(), want.as_ref(), "{ask:?}");
            if let Ok(permit) = decided {
                assert_eq!(permit.deed(), Some(&deed));
            }
            let permit = owner.decide(&ask).unwrap();
            assert_eq!(permit.scope(), Scope::Alike(Full));
        }
    }

    #[test]
    fn a_message_is_judged_where_it_is_to_go() {
        let policy = policy();
        let permit = |from: Option<&str>, path: &str| {
            let mut written: Vec<_> = policy.folders(&account("work")).cloned().collect();
            for one in &mut written {
                one.capabilities = Capability::ALL.into_iter().collect();
            }
            let policy = Policy::new("some", vec![(account("work"), written)]).unwrap();
            let target = Target {
                account: account("work"),
                folder: name(path),
            };
            let ask = Ask::Change {
                account: account("work"),
                folder: name(from.unwrap_or("Plain")),
                deed: Deed::Copy(target),
            };
            Arc::new(policy).decide(&ask).unwrap()
        };
        let facts = |size| Facts {
            size,
            ..Facts::default()
        };
        for (path, size, most) in [
            ("Archive", Some(5), Nothing),
            ("Plain", Some(5), Body),
            ("INBOX", Some(5), Nothing),
            ("INBOX", Some(15), Body),
            ("INBOX", None, Full),
            ("Lists", Some(15), Nothing),
            ("Lists", None, Envelope),
        ] {
            let permit = permit(None, path);
            let judged = permit.scope_of_target().judge_at_most(&facts(size), 0);
            assert_eq!(judged, most, "{path} {size:?}");
        }
        let reading = policy.decide(&messages("work", "Plain", Metadata)).unwrap();
        assert_eq!(reading.scope_of_target(), Scope::Alike(Nothing));
    }

    #[test]
    fn scope_reads_what_its_rules_look_at() {
        let mut inbox = folder("INBOX", Mode::Whitelist, Nothing, &[(10, Body)]);
        assert_eq!(Scope::Each(&inbox).reads(), Metadata);
        let subject = Predicate::SubjectContains(mail::Folded::new("x"));
        inbox.rules[0].predicates.push(subject);
        assert_eq!(Scope::Each(&inbox).reads(), Envelope);
        inbox.rules[0]
            .predicates
            .push(Predicate::HasAttachment(true));
        assert_eq!(Scope::Each(&inbox).reads(), Full);
        assert_eq!(Scope::Alike(Full).reads(), Nothing);
    }

    #[test]
    fn a_permit_judges_by_its_folder_alone() {
        let policy = policy();
        let permit = |path| policy.decide(&messages("work", path, Metadata)).unwrap();
        for (path, want) in [
            ("Plain", Scope::Alike(Body)),
            (
                "INBOX",
                Scope::Each(policy.folder(&account("work"), &name("INBOX")).unwrap()),
            ),
        ] {
            assert_eq!(permit(path).scope(), want);
            assert_eq!(permit(path).level(), Metadata);
        }
        let own = policy.decide(&Ask::Own).unwrap();
        assert_eq!(own.scope(), Scope::Alike(Nothing));
        assert_eq!(own.policy().name(), "some");
    }

    #[test]
    fn what_lies_anywhere_is_judged_by_where_it_lies() {
        let policy = policy();
        let wherever = |of: Option<&str>, level| Ask::Wherever {
            account: of.map(account),
            level,
        };
        for (of, level, want) in [
            (None, Full, None),
            (Some("work"), Full, None),
            (Some("dark"), Body, Some(Refused::AccountHidden)),
            (Some("other"), Body, Some(Refused::AccountHidden)),
        ] {
            let denial = policy.decide(&wherever(of, level)).err();
            assert_eq!(denial, want.map(Denial::of), "{of:?} {level:?}");
        }
        let permit = policy.decide(&wherever(Some("work"), Body)).unwrap();
        let scope = |of: &str, path: &str| permit.scope_in(&account(of), &name(path));
        assert_eq!(scope("work", "Plain"), Scope::Alike(Body));
        assert_eq!(scope("work", "Dark"), Scope::Alike(Nothing));
        assert_eq!(scope("work", "Other"), Scope::Alike(Nothing));
        assert_eq!(scope("dark", "INBOX"), Scope::Alike(Nothing));
        assert!(matches!(scope("work", "INBOX"), Scope::Each(_)));
        // A permit for one folder is none for others, nor for itself in another way.
        let one = policy.decide(&messages("work", "Plain", Body)).unwrap();
        let there = one.scope_in(&account("work"), &name("Plain"));
        assert_eq!(there, Scope::Alike(Nothing));
        let least = vec![folder("Lists", Mode::Blacklist, Envelope, &[])];
        let least = Policy::new("least", vec![(account("work"), least)]).unwrap();
        let refused = Arc::new(least).decide(&wherever(Some("work"), Body));
        let below = Denial::of(Refused::VisibilityBelow(Body));
        assert_eq!(refused.err(), Some(below));
    }

    #[test]
    fn a_refusal_tells_less_than_the_log_knows() {
        let work = account("work");
        let policy = policy();
        let scope = |path| Scope::Each(policy.folder(&work, &name(path)).unwrap());
        let denied = |refused, hidden, rule| {
            Err(Denial {
                hidden,
                rule,
                ..Denial::of(refused)
            })
        };
        let not_visible = Refused::MessageNotVisible;
        let unlisted = Some(Hidden::SenderNotWhitelisted);
        let listed = Some(Hidden::SenderBlacklisted);
        for (scope, size, needed, want, recorded) in [
            (scope("INBOX"), 15, Body, Ok(Reason::RuleMatched), ""),
            (
                scope("INBOX"),
                5,
                Metadata,
                denied(not_visible, unlisted, None),
                "sender_not_whitelisted",
            ),
            (
                scope("INBOX"),
                15,
                Full,
                denied(Refused::VisibilityBelow(Full), None, Some(0)),
                "visibility_below_FULL",
            ),
            (
                scope("Lists"),
                5,
                Envelope,
                Ok(Reason::FolderDefaultApplied),
                "",
            ),
            (
                scope("Lists"),
                15,
                Metadata,
                denied(not_visible, listed, Some(0)),
                "sender_blacklisted",
            ),
            (
                Scope::Alike(Body),
                5,
                Body,
                Ok(Reason::FolderDefaultApplied),
                "",
            ),
            (
                Scope::Alike(Body),
                5,
                Full,
                denied(Refused::VisibilityBelow(Full), None, None),
                "visibility_below_FULL",
            ),
            (
                Scope::Alike(Count),
                5,
                Metadata,
                denied(not_visible, unlisted, None),
                "sender_not_whitelisted",
            ),
        ] {
            let facts = Facts {
                size: Some(size),
                ..Facts::default()
            };
            let got = scope.admit(scope.judge(&facts, 0), needed);
            assert_eq!(got, want, "{scope:?} {size} {needed:?}");
            assert_eq!(got.map_or_else(|no| no.recorded(), |_| ""), recorded);
        }
        // A grant of less than METADATA spoke for it, and yet it is not whitelisted.
        let counted = folder("X", Mode::Whitelist, Nothing, &[(1, Count)]);
        let judged = Judged {
            level: Count,
            by: By::Rule(0),
        };
        let denial = Scope::Each(&counted).admit(judged, Metadata);
        assert_eq!(denial, denied(not_visible, unlisted, Some(0)));
        assert_eq!(Denial::absent().recorded(), "object_absent");
        assert_eq!(Denial::absent().refused, not_visible);
        assert_eq!(
            Denial::of(Refused::FolderHidden).recorded(),
            "folder_hidden"
        );
    }
}
