//! Rules as sentences, for whoever wrote them.

use mail::Level;
use policy::{By, FolderPolicy, Mode, Rule, Written};

/// What a rule gives or takes, and from what.
pub(super) fn rule(mode: Mode, rule: &Rule) -> String {
    let level = rule.level.name();
    let what = predicates(rule);
    match mode {
        Mode::Whitelist => format!("grants {level} to what has {what}"),
        Mode::Blacklist => format!("caps at {level} what has {what}"),
    }
}

fn predicates(rule: &Rule) -> String {
    let each = rule.predicates.iter().map(|one| Written(one).to_string());
    each.collect::<Vec<_>>().join(" and ")
}

pub(super) fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Whitelist => "whitelist",
        Mode::Blacklist => "blacklist",
    }
}

/// What becomes of a message of which a rule's facts are missing or unreadable.
pub(super) fn doubt(mode: Mode) -> &'static str {
    match mode {
        Mode::Whitelist => "a rule does not speak where it cannot be told",
        Mode::Blacklist => "a rule speaks also where it cannot be told",
    }
}

/// Rules are counted from 1, as everywhere.
pub(super) fn by(by: By) -> String {
    match by {
        By::Default => "default".to_owned(),
        By::Rule(index) => format!("rule {}", index + 1),
    }
}

/// The levels that a message can have here, the one that wins first, each with the rules that lead to it (counted from 1).
/// The last is what all others have.
pub(super) fn gets(folder: &FolderPolicy) -> Vec<(Level, Vec<usize>)> {
    let further = |level: Level| match folder.mode {
        Mode::Whitelist => level > folder.default,
        Mode::Blacklist => level < folder.default,
    };
    let mut levels: Vec<Level> = folder.rules.iter().map(|rule| rule.level).collect();
    levels.retain(|level| further(*level));
    levels.sort_unstable();
    levels.dedup();
    if folder.mode == Mode::Whitelist {
        levels.reverse();
    }
    let of = |level: Level| {
        let rules = (1..).zip(&folder.rules);
        let rules = rules.filter(|(_, rule)| rule.level == level);
        (level, rules.map(|(number, _)| number).collect())
    };
    let mut gets: Vec<(Level, Vec<usize>)> = levels.into_iter().map(of).collect();
    gets.push((folder.default, Vec::new()));
    gets
}

pub(super) fn by_rules(rules: &[usize]) -> String {
    if rules.is_empty() {
        return "all else".to_owned();
    }
    let each: Vec<String> = rules
        .iter()
        .map(|number| format!("rule {number}"))
        .collect();
    format!("by {}", each.join(" or "))
}

#[cfg(test)]
mod tests {
    use mail::Level::{Body, Envelope, Full, None as Nothing};
    use policy::{Capabilities, FolderPattern, Predicate};

    use super::*;

    #[test]
    fn every_level_has_the_rules_that_lead_to_it() {
        let folder = |mode, default, levels: &[Level]| FolderPolicy {
            path: FolderPattern::parse("INBOX").unwrap(),
            mode,
            default,
            rules: levels
                .iter()
                .map(|level| Rule {
                    predicates: vec![Predicate::SizeGt(1)],
                    level: *level,
                })
                .collect(),
            capabilities: Capabilities::NONE,
        };
        use Mode::{Blacklist, Whitelist};
        for (mode, default, levels, want) in [
            (Whitelist, Nothing, &[][..], "NONE all else"),
            (
                Whitelist,
                Nothing,
                &[Envelope, Full, Envelope],
                "FULL by rule 2, ENVELOPE by rule 1 or rule 3, NONE all else",
            ),
            (
                Blacklist,
                Body,
                &[Envelope, Nothing, Full],
                "NONE by rule 2, ENVELOPE by rule 1, BODY all else",
            ),
        ] {
            let gets = gets(&folder(mode, default, levels));
            let told = gets.iter();
            let told = told.map(|(level, rules)| format!("{} {}", level.name(), by_rules(rules)));
            assert_eq!(told.collect::<Vec<_>>().join(", "), want);
        }
    }
}
