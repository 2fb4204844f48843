//! Rules as sentences, for whoever wrote them.

use mail::Level;
use policy::{By, FolderPolicy, Mode, Rule, Written};

/// What a rule gives or takes, and from what.
pub(super) fn rule(mode: Mode, rule: &Rule) -> String {
    let level = rule.level.name();
    let what = predicates(rule);
    match mode {
        Mode::Whitelist => format!("grants {level} to what has {what}"),
        Mode::Blacklist => format!("caps at {level} what has {what}, or what may have it"),
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

/// Rules are counted from 1, as everywhere.
pub(super) fn by(by: By) -> String {
    match by {
        By::Default => "default".to_owned(),
        By::Rule(index) => format!("rule {}", index + 1),
    }
}

/// What it takes to have each level that a message can have here: the level that wins first.
pub(super) fn needs(folder: &FolderPolicy) -> Vec<(Level, String)> {
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
    let mut needs: Vec<(Level, String)> = levels
        .into_iter()
        .map(|level| {
            let rules = folder.rules.iter().enumerate();
            let rules = rules.filter(|(_, rule)| rule.level == level);
            let numbers: Vec<String> = rules.map(|(at, _)| format!("rule {}", at + 1)).collect();
            (level, format!("by {}", numbers.join(" or ")))
        })
        .collect();
    let rest = match needs.is_empty() {
        true => "every message",
        false => "all else",
    };
    needs.push((folder.default, rest.to_owned()));
    needs
}
