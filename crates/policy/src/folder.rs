//! What a policy says of one folder, or of all that a pattern covers.

use mail::{Facts, Level};

use crate::rule::Doubt;
use crate::{Capabilities, FolderPattern, Predicate, Rule};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FolderPolicy {
    pub path: FolderPattern,
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
        self.judge_with(facts, now, Doubt::of(self.mode))
    }

    /// The most that a message could turn out to have here, whatever is not known of it yet.
    pub fn judge_at_most(&self, facts: &Facts<'_>, now: i64) -> Level {
        self.judge_with(facts, now, Doubt::of(self.mode).other())
            .level
    }

    fn judge_with(&self, facts: &Facts<'_>, now: i64, doubt: Doubt) -> Judged {
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

    /// The least that any message can have here.
    pub fn floor(&self) -> Level {
        match self.mode {
            Mode::Whitelist => self.default,
            Mode::Blacklist => {
                let caps = self.rules.iter().map(|rule| rule.level);
                caps.fold(self.default, Level::min)
            }
        }
    }

    /// The level that shows every field its rules read.
    pub fn reads(&self) -> Level {
        let predicates = self.rules.iter().flat_map(|rule| &rule.predicates);
        predicates
            .map(Predicate::reads)
            .fold(Level::None, Level::max)
    }

    /// The folder is there for its caller: something can be seen in it, or done.
    pub fn is_visible(&self) -> bool {
        self.ceiling() >= Level::Count || !self.capabilities.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use mail::Level::{Body, Count, Envelope, Full, Metadata, None as Nothing};

    use super::*;
    use crate::Capability;

    fn folder(mode: Mode, default: Level, rules: &[(u64, Level)]) -> FolderPolicy {
        let rule = |(octets, level): &(u64, Level)| Rule {
            predicates: vec![Predicate::SizeGt(*octets)],
            level: *level,
        };
        FolderPolicy {
            path: FolderPattern::parse("INBOX").unwrap(),
            mode,
            default,
            rules: rules.iter().map(rule).collect(),
            capabilities: Capabilities::NONE,
        }
    }

    #[test]
    fn what_is_not_known_may_turn_out_to_give_more() {
        use Mode::{Blacklist, Whitelist};
        let grants: &[_] = &[(10, Envelope)];
        let caps: &[_] = &[(10, Nothing)];
        for (mode, default, rules, size, level) in [
            (Whitelist, Nothing, grants, Some(5), Nothing),
            (Whitelist, Nothing, grants, Some(15), Envelope),
            (Whitelist, Nothing, grants, None, Envelope),
            (Blacklist, Full, caps, Some(15), Nothing),
            (Blacklist, Full, caps, None, Full),
        ] {
            let facts = Facts {
                size,
                ..Facts::default()
            };
            let most = folder(mode, default, rules).judge_at_most(&facts, 0);
            assert_eq!(most, level, "{mode:?} {size:?}");
        }
    }

    #[test]
    fn the_highest_grant_or_the_lowest_cap_holds() {
        use Mode::{Blacklist, Whitelist};
        let grants: &[_] = &[(10, Envelope), (20, Full), (20, Full), (30, Body)];
        let caps: &[_] = &[(10, Body), (20, Nothing), (20, Nothing), (30, Count)];
        for (mode, default, rules, size, level, by) in [
            (Whitelist, Nothing, grants, Some(5), Nothing, By::Default),
            (Whitelist, Nothing, grants, Some(15), Envelope, By::Rule(0)),
            (Whitelist, Nothing, grants, Some(99), Full, By::Rule(1)),
            (Whitelist, Nothing, grants, None, Nothing, By::Default),
            (Blacklist, Full, caps, Some(5), Full, By::Default),
            (Blacklist, Full, caps, Some(15), Body, By::Rule(0)),
            (Blacklist, Full, caps, Some(99), Nothing, By::Rule(1)),
            (Blacklist, Full, caps, None, Nothing, By::Rule(1)),
            (Blacklist, Body, caps, Some(15), Body, By::Default),
        ] {
            let facts = Facts {
                size,
                ..Facts::default()
            };
            let judged = folder(mode, default, rules).judge(&facts, 0);
            assert_eq!(
                judged,
                Judged { level, by },
                "{mode:?} {default:?} {size:?}"
            );
        }
    }

    #[test]
    fn ceilings_floors_and_what_is_visible() {
        use Mode::{Blacklist, Whitelist};
        for (mode, default, rules, floor, ceiling, visible) in [
            (Whitelist, Nothing, &[][..], Nothing, Nothing, false),
            (
                Whitelist,
                Nothing,
                &[(1, Count), (2, Body)],
                Nothing,
                Body,
                true,
            ),
            (Blacklist, Count, &[], Count, Count, true),
            (Blacklist, Full, &[], Full, Full, true),
            (
                Blacklist,
                Body,
                &[(1, Nothing), (2, Metadata)],
                Nothing,
                Body,
                true,
            ),
            (Blacklist, Body, &[(1, Full)], Body, Body, true),
        ] {
            let mut folder = folder(mode, default, rules);
            assert_eq!((folder.floor(), folder.ceiling()), (floor, ceiling));
            assert_eq!(folder.is_visible(), visible, "{folder:?}");
            folder.capabilities = Capabilities::NONE.with(Capability::AcceptIncoming);
            assert!(folder.is_visible());
        }
    }
}
