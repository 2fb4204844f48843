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
        let refused = match judged.level < Level::Metadata {
            true => Refused::MessageNotVisible,
            false => Refused::VisibilityBelow(needed),
        };
        let rule = match judged.by {
            By::Default => None,
            By::Rule(index) => Some(index),
        };
        let hidden = match self {
            Self::Each(folder) if folder.mode == Mode::Whitelist => Hidden::SenderNotWhitelisted,
            Self::Each(_) if rule.is_some() => Hidden::SenderBlacklisted,
            Self::Each(_) | Self::Alike(_) => Hidden::SenderNotWhitelisted,
        };
        Err(Denial {
            refused,
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
