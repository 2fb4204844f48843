//! The decision: for account and folder at once, for each message by its facts.

use std::sync::Arc;

use mail::{AccountId, Facts, FolderName, Level};

use crate::{Ask, By, FolderPolicy, Hidden, Judged, Mode, Policy, Reason, Refused};

/// Leave to do what was asked, and no more. Only [`Policy::decide`] makes one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Permit {
    policy: Arc<Policy>,
    account: Option<AccountId>,
    folder: Option<FolderName>,
    level: Level,
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
}

impl Policy {
    /// Everything that is not given is refused.
    pub fn decide(self: &Arc<Self>, ask: &Ask) -> Result<Permit, Denial> {
        if let Some(account) = ask.account()
            && !self.shows_account(account)
        {
            return Err(Denial::of(Refused::AccountHidden));
        }
        let (folder, level) = match ask {
            Ask::Messages {
                account,
                folder,
                level,
            } => (Some(self.permitted(account, folder, *level)?), *level),
            Ask::Own | Ask::Accounts | Ask::Account { .. } | Ask::Folders { .. } => {
                (None, Level::Count)
            }
        };
        Ok(Permit {
            policy: Arc::clone(self),
            account: ask.account().cloned(),
            folder,
            level,
        })
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
        self.folder.as_ref()
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

    /// Before any message was looked at.
    pub fn reason(&self) -> Reason {
        Reason::FolderDefaultApplied
    }

    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Nothing, where no folder was asked for.
    pub fn scope(&self) -> Scope<'_> {
        if self.policy.is_owner() {
            return Scope::Alike(Level::Full);
        }
        let place = self.account.as_ref().zip(self.folder.as_ref());
        match place.and_then(|(account, folder)| self.policy.folder(account, folder)) {
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
            refused: Refused::MessageNotVisible,
            hidden: Some(hidden),
            rule,
        })
    }
}

impl Denial {
    pub fn of(refused: Refused) -> Self {
        Self {
            refused,
            hidden: None,
            rule: None,
        }
    }

    /// There is no such message; its caller is told what is told of a hidden one.
    pub fn absent() -> Self {
        Self {
            refused: Refused::MessageNotVisible,
            hidden: Some(Hidden::ObjectAbsent),
            rule: None,
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
    use crate::{Capabilities, Capability, Predicate, Rule};

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
            path: name(path),
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
    fn a_refusal_tells_less_than_the_log_knows() {
        let work = account("work");
        let policy = policy();
        let scope = |path| Scope::Each(policy.folder(&work, &name(path)).unwrap());
        let denied = |refused, hidden, rule| {
            Err(Denial {
                refused,
                hidden,
                rule,
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
