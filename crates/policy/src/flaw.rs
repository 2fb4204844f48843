//! What makes a policy unusable: found when it is read, never when it is asked.

use std::collections::BTreeSet;

use mail::{AccountId, Level};

use crate::{FolderPolicy, Mode, Predicate, Rule};

/// One thing that is wrong, and where.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{what}; {hint}")]
pub struct Flaw {
    pub place: Place,
    pub what: String,
    /// What to do about it.
    pub hint: String,
}

/// Indices, as the policy was written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Place {
    Account(usize),
    Folder(usize, usize),
    /// The `default` of a folder.
    Default(usize, usize),
    Rule(usize, usize, usize),
}

pub(crate) fn find(accounts: &[(AccountId, Vec<FolderPolicy>)]) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    let mut seen = BTreeSet::new();
    for (a, (account, folders)) in accounts.iter().enumerate() {
        if !seen.insert(account) {
            flaws.push(Flaw {
                place: Place::Account(a),
                what: format!("account '{account}' is named twice"),
                hint: "put its folders into one list".to_owned(),
            });
        }
        let mut paths = BTreeSet::new();
        for (f, folder) in folders.iter().enumerate() {
            if !paths.insert(&folder.path) {
                flaws.push(Flaw {
                    place: Place::Folder(a, f),
                    what: format!("folder '{}' is named twice", folder.path),
                    hint: "put its rules into one entry".to_owned(),
                });
            }
            in_folder(a, f, folder, &mut flaws);
        }
    }
    flaws
}

fn in_folder(a: usize, f: usize, folder: &FolderPolicy, flaws: &mut Vec<Flaw>) {
    if folder.mode == Mode::Blacklist && folder.default == Level::None {
        flaws.push(Flaw {
            place: Place::Default(a, f),
            what: "a blacklist with default NONE hides everything".to_owned(),
            hint: "use mode: whitelist, or a default above NONE".to_owned(),
        });
    }
    if folder.mode == Mode::Whitelist && folder.default == Level::Full {
        flaws.push(Flaw {
            place: Place::Default(a, f),
            what: "a whitelist with default FULL shows everything".to_owned(),
            hint: "use default: NONE, or mode: blacklist".to_owned(),
        });
    }
    for (r, rule) in folder.rules.iter().enumerate() {
        let earlier = folder.rules.get(..r).unwrap_or_default();
        if let Some((what, hint)) = in_rule(folder, rule, earlier) {
            flaws.push(Flaw {
                place: Place::Rule(a, f, r),
                what,
                hint: hint.to_owned(),
            });
        }
    }
}

/// A rule that cannot make a difference is a mistake of whoever wrote it.
fn in_rule(folder: &FolderPolicy, rule: &Rule, earlier: &[Rule]) -> Option<(String, &'static str)> {
    if rule.predicates.is_empty() {
        let what = "a rule without predicates would match every message".to_owned();
        return Some((what, "say what it matches, or change the folder's default"));
    }
    let (level, default) = (rule.level.name(), folder.default.name());
    match folder.mode {
        Mode::Whitelist if rule.level <= folder.default => {
            let what = format!("grant {level} gives no more than the default {default}");
            return Some((what, "grant a higher level, or remove the rule"));
        }
        Mode::Blacklist if rule.level >= folder.default => {
            let what = format!("cap {level} takes nothing from the default {default}");
            return Some((what, "cap to a lower level, or remove the rule"));
        }
        _ => {}
    }
    if let Some(what) = contradiction(&rule.predicates) {
        return Some((what, "no message can match it; mend or remove the rule"));
    }
    let reached = |other: &&Rule| {
        let stronger = match folder.mode {
            Mode::Whitelist => other.level >= rule.level,
            Mode::Blacklist => other.level <= rule.level,
        };
        let all = other.predicates.iter();
        let mut covered = all.map(|one| rule.predicates.contains(one));
        stronger && covered.all(|covered| covered)
    };
    let position = earlier.iter().position(|other| reached(&other))?;
    let what = format!(
        "rule {} already decides every message that this one matches",
        position + 1
    );
    Some((what, "remove the rule, or change what it matches or gives"))
}

/// Two predicates that no message meets at once.
fn contradiction(predicates: &[Predicate]) -> Option<String> {
    let pairs = predicates.iter().enumerate().flat_map(|(index, one)| {
        let later = predicates.get(index + 1..).unwrap_or_default();
        later.iter().map(move |other| (one, other))
    });
    let mut clashing = pairs.filter(|(one, other)| clash(one, other) || clash(other, one));
    let (one, other) = clashing.next()?;
    Some(format!(
        "{} and {} exclude each other",
        one.name(),
        other.name()
    ))
}

fn clash(one: &Predicate, other: &Predicate) -> bool {
    match (one, other) {
        (Predicate::From(a), Predicate::From(b)) => a != b,
        (Predicate::From(address), Predicate::FromDomain(domain)) => {
            address.domain() != domain.as_str()
        }
        (Predicate::FromDomain(a), Predicate::FromDomain(b)) => a != b,
        (Predicate::HasAttachment(a), Predicate::HasAttachment(b)) => a != b,
        (Predicate::NewerThan(new), Predicate::OlderThan(old)) => new <= old,
        // Sizes are whole: nothing lies between 10 and 11.
        (Predicate::SizeGt(low), Predicate::SizeLt(high)) => low.saturating_add(1) >= *high,
        (Predicate::SizeLt(0), _) => true,
        _ => false,
    }
}
