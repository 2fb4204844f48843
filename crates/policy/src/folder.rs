//! What a policy says of one folder.

use mail::{Facts, FolderName, Level};

use crate::rule::Doubt;
use crate::{Capabilities, Rule};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FolderPolicy {
    pub path: FolderName,
    pub mode: Mode,
    /// What holds when no rule speaks.
    pub default: Level,
    pub rules: Vec<Rule>,
    pub capabilities: Capabilities,
}

/// Whether rules give or take.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mode {
    /// Rules grant: the highest grant holds.
    Whitelist,
    /// Rules cap: the lowest cap holds.
    Blacklist,
}

/// How much of a message may be seen, and what said so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Judged {
    pub level: Level,
    pub by: By,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    Default,
    /// The rule with this index.
    Rule(usize),
}

impl FolderPolicy {
    /// `now` in seconds since 1970.
    pub fn judge(&self, facts: &Facts<'_>, now: i64) -> Judged {
        let doubt = match self.mode {
            Mode::Whitelist => Doubt::CountsAgainst,
            Mode::Blacklist => Doubt::CountsFor,
        };
        let mut judged = Judged {
            level: self.default,
            by: By::Default,
        };
        for (index, rule) in self.rules.iter().enumerate() {
            let further = match self.mode {
                Mode::Whitelist => rule.level > judged.level,
                Mode::Blacklist => rule.level < judged.level,
            };
            if further && rule.speaks(facts, now, doubt) {
                judged = Judged {
                    level: rule.level,
                    by: By::Rule(index),
                };
            }
        }
        judged
    }

    /// The most that any message can have here.
    pub fn ceiling(&self) -> Level {
        match self.mode {
            Mode::Blacklist => self.default,
            Mode::Whitelist => {
                let grants = self.rules.iter().map(|rule| rule.level);
                grants.fold(self.default, Level::max)
            }
        }
    }

    /// The folder is there for its caller: something can be seen in it, or done.
    pub fn is_visible(&self) -> bool {
        self.ceiling() >= Level::Count || !self.capabilities.is_empty()
    }
}
