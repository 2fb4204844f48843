//! What makes a policy unusable: found when it is read, never when it is asked.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use mail::{AccountId, Level};

use crate::{FolderPolicy, Mode, Predicate, Rule};

/// Each is compared with each when a policy is read, and looked at for each message.
const MOST_RULES: usize = 2_000;

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
            if !paths.insert(folder.path.normalized()) {
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
    if let Some((what, hint)) = unfit_default(folder) {
        flaws.push(Flaw {
            place: Place::Default(a, f),
            what,
            hint,
        });
    }
    if folder.rules.len() > MOST_RULES {
        flaws.push(Flaw {
            place: Place::Folder(a, f),
            what: format!("more than {MOST_RULES} rules"),
            hint: "match domains rather than addresses, or split the folder".to_owned(),
        });
        return;
    }
    let by_itself: Vec<_> = folder
        .rules
        .iter()
        .map(|rule| alone(folder, rule))
        .collect();
    let sound: Vec<_> = by_itself.iter().map(Option::is_none).collect();
    for (r, alone) in by_itself.into_iter().enumerate() {
        if let Some((what, hint)) = alone.or_else(|| beside(folder, r, &sound)) {
            flaws.push(Flaw {
                place: Place::Rule(a, f, r),
                what,
                hint: hint.to_owned(),
            });
        }
    }
}

/// A whitelist starts from nothing and grants; a blacklist starts from a level and caps.
fn unfit_default(folder: &FolderPolicy) -> Option<(String, String)> {
    let level = folder.default.name();
    match folder.mode {
        Mode::Whitelist if folder.default > Level::None => Some((
            format!("`mode: whitelist` goes with `default: NONE`, and this default is {level}"),
            format!(
                "use `mode: blacklist` to show every message at {level}, \
                 or `default: NONE` with a rule that says `grant: {level}`"
            ),
        )),
        Mode::Blacklist if folder.default == Level::None => Some((
            "`mode: blacklist` goes with a default above NONE".to_owned(),
            "use `mode: whitelist` to show only what rules grant, \
             or a higher default, such as `default: ENVELOPE`"
                .to_owned(),
        )),
        Mode::Whitelist | Mode::Blacklist => None,
    }
}

/// What is wrong, and what to do about it.
type Fault = (String, &'static str);

/// A rule that cannot make a difference is a mistake of whoever wrote it.
fn alone(folder: &FolderPolicy, rule: &Rule) -> Option<Fault> {
    if rule.predicates.is_empty() {
        let what = "a rule without predicates would match every message".to_owned();
        return Some((what, "say what it matches, or change the folder's default"));
    }
    if let Some(empty) = rule.predicates.iter().find(|one| one.is_empty()) {
        let what = format!("{} with no text would match every message", empty.name());
        return Some((what, "say what to look for, or leave it out"));
    }
    let (level, default) = (rule.level.name(), folder.default.name());
    match folder.mode {
        Mode::Whitelist if rule.level == Level::None => {
            let what = "grant NONE gives nothing".to_owned();
            return Some((what, "grant a higher level, or remove the rule"));
        }
        // Of a default that is itself refused, a rule is not compared with it.
        Mode::Blacklist if folder.default > Level::None && rule.level >= folder.default => {
            let what = format!("cap {level} takes nothing from the default {default}");
            return Some((what, "cap to a lower level, or remove the rule"));
        }
        _ => {}
    }
    let what = contradiction(&rule.predicates)?;
    Some((what, "no message can match it; mend or remove the rule"))
}

/// A rule is out of reach when another that is as strong speaks wherever it does. Their order does not matter, except
/// between two that say the same: there the later one is the mistake.
fn beside(folder: &FolderPolicy, index: usize, sound: &[bool]) -> Option<Fault> {
    let rule = folder.rules.get(index)?;
    let others = folder.rules.iter().zip(sound).enumerate();
    let mut decided = others.filter(|(position, (other, sound))| {
        let reaches = || **sound && outdoes(folder.mode, other, rule);
        match position.cmp(&index) {
            Ordering::Less => reaches(),
            Ordering::Equal => false,
            Ordering::Greater => reaches() && !outdoes(folder.mode, rule, other),
        }
    });
    let (position, _) = decided.next()?;
    let number = position + 1;
    let what = format!("rule {number} already decides every message that this one matches");
    Some((what, "remove the rule, or change what it matches or gives"))
}

/// Wherever `rule` speaks, `other` does, and gives or takes as much.
fn outdoes(mode: Mode, other: &Rule, rule: &Rule) -> bool {
    let as_strong = match mode {
        Mode::Whitelist => other.level >= rule.level,
        Mode::Blacklist => other.level <= rule.level,
    };
    let follows = |wanted: &Predicate| rule.predicates.iter().any(|one| one.implies(wanted));
    as_strong && other.predicates.iter().all(follows)
}

/// What no message whose facts are known can meet.
fn contradiction(predicates: &[Predicate]) -> Option<String> {
    let mut reasons = predicates
        .iter()
        .filter_map(|one| Some((one, one.impossible()?)));
    if let Some((one, why)) = reasons.next() {
        return Some(format!("{} can never hold: {why}", one.name()));
    }
    let (one, other) = predicates.iter().find_map(|one| {
        let other = predicates.iter().find(|other| one.excludes(other))?;
        Some((one, other))
    })?;
    let (one, other) = (one.name(), other.name());
    Some(format!("{one} and {other} exclude each other"))
}

#[cfg(test)]
mod tests {
    use mail::Level::{Body, Count, Envelope, Full, None as Nothing};
    use mail::{Domain, Folded, MailAddress};

    use super::*;
    use crate::{Capabilities, FolderPattern, Span};

    fn from(text: &str) -> Predicate {
        Predicate::From(MailAddress::parse(text).unwrap())
    }

    fn domain(text: &str) -> Predicate {
        Predicate::FromDomain(Domain::new(text).unwrap())
    }

    fn subject(text: &str) -> Predicate {
        Predicate::SubjectContains(Folded::new(text))
    }

    fn newer(text: &str) -> Predicate {
        Predicate::NewerThan(Span::parse(text).unwrap())
    }

    fn folder(path: &str, mode: Mode, default: Level, rules: Vec<Rule>) -> FolderPolicy {
        FolderPolicy {
            path: FolderPattern::parse(path).unwrap(),
            mode,
            default,
            rules,
            capabilities: Capabilities::NONE,
        }
    }

    fn rule(level: Level, predicates: Vec<Predicate>) -> Rule {
        Rule { predicates, level }
    }

    fn account(name: &str) -> AccountId {
        AccountId::new(name).unwrap()
    }

    #[test]
    fn accounts_and_folders_are_named_once_and_defaults_fit_their_mode() {
        let plain = |path| folder(path, Mode::Whitelist, Nothing, Vec::new());
        let accounts = vec![
            (
                account("a"),
                vec![
                    plain("INBOX"),
                    plain("X"),
                    plain("inbox"),
                    plain("INBOX/*"),
                    plain("Inbox/*"),
                ],
            ),
            (
                account("b"),
                vec![folder("X", Mode::Blacklist, Nothing, Vec::new())],
            ),
            (
                account("a"),
                vec![folder("Y", Mode::Whitelist, Count, Vec::new())],
            ),
        ];
        let told: Vec<_> = find(&accounts)
            .into_iter()
            .map(|flaw| (flaw.place, flaw.to_string()))
            .collect();
        let want = [
            (
                Place::Folder(0, 2),
                "folder 'INBOX' is named twice; put its rules into one entry",
            ),
            (
                Place::Folder(0, 4),
                "folder 'INBOX/*' is named twice; put its rules into one entry",
            ),
            (
                Place::Default(1, 0),
                "`mode: blacklist` goes with a default above NONE; use `mode: whitelist` to show \
                 only what rules grant, or a higher default, such as `default: ENVELOPE`",
            ),
            (
                Place::Account(2),
                "account 'a' is named twice; put its folders into one list",
            ),
            (
                Place::Default(2, 0),
                "`mode: whitelist` goes with `default: NONE`, and this default is COUNT; use \
                 `mode: blacklist` to show every message at COUNT, or `default: NONE` with a rule \
                 that says `grant: COUNT`",
            ),
        ];
        assert_eq!(told, want.map(|(place, text)| (place, text.to_owned())));
        assert_eq!(find(&[(account("a"), vec![plain("X"), plain("Y")])]), []);
        // A folder of the same name in another account is another folder.
        let each = |name| (account(name), vec![plain("X")]);
        assert_eq!(find(&[each("a"), each("b")]), []);
    }

    #[test]
    fn rules_that_make_no_difference() {
        use Mode::{Blacklist, Whitelist};
        let x = || domain("x.example");
        let a = || from("a@x.example");
        for (mode, default, rules, want) in [
            (
                Whitelist,
                Nothing,
                vec![rule(Count, vec![])],
                vec![(0, "without predicates")],
            ),
            (
                Whitelist,
                Nothing,
                vec![rule(Body, vec![subject("")])],
                vec![(0, "with no text")],
            ),
            (
                Whitelist,
                Nothing,
                vec![rule(Nothing, vec![a()])],
                vec![(0, "grant NONE gives nothing")],
            ),
            (
                Blacklist,
                Body,
                vec![rule(Body, vec![a()])],
                vec![(0, "takes nothing from the default BODY")],
            ),
            (
                Blacklist,
                Body,
                vec![rule(Full, vec![a()])],
                vec![(0, "takes nothing")],
            ),
            (Blacklist, Body, vec![rule(Nothing, vec![a()])], vec![]),
            (
                Whitelist,
                Nothing,
                vec![rule(Body, vec![a(), subject("s"), domain("y.example")])],
                vec![(0, "from and from_domain exclude each other")],
            ),
            (
                Blacklist,
                Full,
                vec![rule(Body, vec![Predicate::SizeLt(0)])],
                vec![(
                    0,
                    "size_lt can never hold: no message has fewer than 0 octets",
                )],
            ),
            // Said twice: the later one is too many.
            (
                Whitelist,
                Nothing,
                vec![
                    rule(Body, vec![a(), subject("s")]),
                    rule(Body, vec![subject("s"), a()]),
                ],
                vec![(1, "rule 1 already")],
            ),
            // An earlier and a later one that is wider and as strong.
            (
                Whitelist,
                Nothing,
                vec![rule(Body, vec![x()]), rule(Body, vec![a()])],
                vec![(1, "rule 1 already")],
            ),
            (
                Whitelist,
                Nothing,
                vec![rule(Body, vec![a()]), rule(Full, vec![x()])],
                vec![(0, "rule 2 already")],
            ),
            (
                Whitelist,
                Nothing,
                vec![rule(Full, vec![a()]), rule(Body, vec![x()])],
                vec![],
            ),
            (
                Blacklist,
                Full,
                vec![rule(Body, vec![a()]), rule(Count, vec![x()])],
                vec![(0, "rule 2 already")],
            ),
            (
                Blacklist,
                Full,
                vec![rule(Body, vec![a()]), rule(Body, vec![x()])],
                vec![(0, "rule 2 already")],
            ),
            (
                Blacklist,
                Full,
                vec![rule(Count, vec![a()]), rule(Body, vec![x()])],
                vec![],
            ),
            // All that the wider one wants must follow.
            (
                Whitelist,
                Nothing,
                vec![rule(Body, vec![x(), newer("7d")]), rule(Body, vec![a()])],
                vec![],
            ),
            (
                Whitelist,
                Nothing,
                vec![
                    rule(Body, vec![x(), newer("30d")]),
                    rule(Envelope, vec![a(), newer("7d")]),
                ],
                vec![(1, "rule 1 already")],
            ),
            // What is wrong by itself decides nothing for others.
            (
                Whitelist,
                Nothing,
                vec![
                    rule(Full, vec![]),
                    rule(Body, vec![a()]),
                    rule(Full, vec![subject("")]),
                ],
                vec![(0, "without predicates"), (2, "with no text")],
            ),
            (
                Whitelist,
                Nothing,
                vec![
                    rule(Full, vec![subject("")]),
                    rule(Body, vec![subject("a")]),
                ],
                vec![(0, "with no text")],
            ),
        ] {
            let folder = folder("INBOX", mode, default, rules);
            let found = find(&[(account("a"), vec![folder.clone()])]);
            let places: Vec<_> = found.iter().map(|flaw| flaw.place).collect();
            let wanted: Vec<_> = want.iter().map(|(r, _)| Place::Rule(0, 0, *r)).collect();
            assert_eq!(places, wanted, "{folder:?}: {found:?}");
            for (flaw, (_, text)) in found.iter().zip(want) {
                assert!(flaw.what.contains(text), "{}", flaw.what);
            }
        }
    }

    #[test]
    fn mode_and_default_that_do_not_fit_are_refused() {
        use Mode::{Blacklist, Whitelist};
        for default in Level::ALL {
            for (mode, fits) in [
                (Whitelist, default == Nothing),
                (Blacklist, default != Nothing),
            ] {
                let level = if mode == Whitelist { Full } else { Nothing };
                let rules = vec![rule(level, vec![from("a@x.example")])];
                let found = find(&[(account("a"), vec![folder("X", mode, default, rules)])]);
                let places: Vec<_> = found.iter().map(|flaw| flaw.place).collect();
                let want = if fits {
                    vec![]
                } else {
                    vec![Place::Default(0, 0)]
                };
                assert_eq!(places, want, "{mode:?} {default:?}");
            }
        }
    }

    #[test]
    fn so_many_rules_are_too_many() {
        let rules = |count: usize| {
            let one = |n| rule(Body, vec![from(&format!("a{n}@x.example"))]);
            folder("X", Mode::Whitelist, Nothing, (0..count).map(one).collect())
        };
        assert_eq!(find(&[(account("a"), vec![rules(MOST_RULES)])]), []);
        let found = find(&[(account("a"), vec![rules(MOST_RULES + 1)])]);
        let places: Vec<_> = found.iter().map(|flaw| flaw.place).collect();
        assert_eq!(places, [Place::Folder(0, 0)]);
    }
}
