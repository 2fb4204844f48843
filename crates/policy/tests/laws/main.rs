//! The laws of a decision, over a million random cases, beside a second evaluator.
//!
//! `POLICY_SEED` chooses other cases, `POLICY_CASES` how many of each law.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "tests stop at the first surprise"
)]

mod dice;
mod naive;
mod search;
mod world;

use std::sync::Arc;

use dice::{Case, Dice, run};
use mail::{AccountId, FolderName, Level};
use naive::{Entry, LEVELS, Letter, rank};
use policy::{Ask, By, FolderPolicy, Place, Policy, Refused, Voice};
use search::Stored;
use world::{NOW, with_facts};

fn judged(folder: &FolderPolicy, letter: &Letter) -> Level {
    with_facts(letter, |facts| folder.judge(facts, NOW).level)
}

/// A folder of a policy, and a message.
fn case(dice: &mut Dice) -> (Entry, Letter) {
    (world::entry(dice), world::letter(dice))
}

fn check(law: bool, told: impl FnOnce() -> String) -> Result<Case, String> {
    match law {
        true => Ok(Case::Held),
        false => Err(told()),
    }
}

#[test]
fn both_evaluators_decide_alike() {
    run(1_000_000, |dice| {
        let (entry, letter) = case(dice);
        let folder = world::folder("INBOX", &entry);
        let (got, want) = (judged(&folder, &letter), naive::level(&entry, &letter, NOW));
        check(got.name() == LEVELS[want], || {
            format!(
                "{got:?}, and naively {}: {entry:?} {letter:?}",
                LEVELS[want]
            )
        })
    });
}

#[test]
fn a_further_rule_moves_one_way_only() {
    run(150_000, |dice| {
        let (mut entry, letter) = case(dice);
        let before = judged(&world::folder("INBOX", &entry), &letter);
        let place = dice.roll(entry.rules.len() + 1);
        entry.rules.insert(place, world::clause(dice));
        let after = judged(&world::folder("INBOX", &entry), &letter);
        let good = match entry.mode {
            "whitelist" => after >= before,
            _ => after <= before,
        };
        check(good, || {
            format!("{before:?} to {after:?}: {entry:?} {letter:?}")
        })
    });
}

#[test]
fn the_order_of_rules_does_not_matter() {
    run(100_000, |dice| {
        let (mut entry, letter) = case(dice);
        let before = judged(&world::folder("INBOX", &entry), &letter);
        dice.shuffle(&mut entry.rules);
        for rule in &mut entry.rules {
            dice.shuffle(&mut rule.matches);
        }
        let after = judged(&world::folder("INBOX", &entry), &letter);
        check(before == after, || {
            format!("{before:?} to {after:?}: {entry:?} {letter:?}")
        })
    });
}

#[test]
fn a_higher_default_hides_nothing() {
    run(100_000, |dice| {
        let (mut entry, letter) = case(dice);
        let before = judged(&world::folder("INBOX", &entry), &letter);
        let low = rank(entry.default);
        entry.default = LEVELS[low + dice.roll(7 - low)];
        let after = judged(&world::folder("INBOX", &entry), &letter);
        check(before <= after, || {
            format!("{before:?} to {after:?}: {entry:?} {letter:?}")
        })
    });
}

#[test]
fn what_is_missing_shows_no_more() {
    run(100_000, |dice| {
        let (entry, letter) = case(dice);
        let folder = world::folder("INBOX", &entry);
        let mut less = letter.clone();
        match dice.roll(6) {
            0 => less.from.clear(),
            1 => {
                // A recipient that was not read, and nobody knows how many more.
                less.to.pop();
                less.recipients_read = false;
            }
            2 => less.subject = None,
            3 => less.attachment = None,
            4 => less.arrived = None,
            _ => less.size = None,
        }
        let (before, after) = (judged(&folder, &letter), judged(&folder, &less));
        check(after <= before, || {
            format!("{before:?} to {after:?}: {entry:?} {letter:?}")
        })
    });
}

#[test]
fn levels_stay_between_floor_and_ceiling_and_are_explained() {
    run(50_000, |dice| {
        let (entry, letter) = case(dice);
        let folder = world::folder("INBOX", &entry);
        let (explained, judged) = with_facts(&letter, |facts| {
            (folder.explain(facts, NOW), folder.judge(facts, NOW))
        });
        let by_a_voice = match explained.judged.by {
            By::Default => judged.level == folder.default,
            By::Rule(index) => {
                let heard = &explained.rules[index];
                heard.voice != Voice::Silent && heard.rule.level == judged.level
            }
        };
        let within = (folder.floor()..=folder.ceiling()).contains(&judged.level);
        check(explained.judged == judged && by_a_voice && within, || {
            format!("{explained:?}: {entry:?} {letter:?}")
        })
    });
}

#[test]
fn what_was_not_given_is_refused() {
    const ACCOUNTS: [&str; 3] = ["work", "home", "other"];
    const FOLDERS: [&str; 3] = ["INBOX", "Lists", "Other"];
    run(50_000, |dice| {
        let mut named = Vec::new();
        for account in &ACCOUNTS[..2] {
            let some = FOLDERS[..2].iter().filter(|_| !dice.once_in(3));
            let some: Vec<_> = some.copied().collect();
            let entries = some.into_iter().map(|path| (path, world::entry(dice)));
            named.push((*account, entries.collect::<Vec<_>>()));
        }
        let accounts = named.iter().map(|(account, folders)| {
            let folders = folders
                .iter()
                .map(|(path, entry)| world::folder(path, entry));
            (AccountId::new(*account).unwrap(), folders.collect())
        });
        let Ok(policy) = Policy::new("some", accounts.collect()).map(Arc::new) else {
            return Ok(Case::Vacant);
        };
        let (account, path, level) = (dice.roll(3), dice.roll(3), dice.roll(7));
        let ask = Ask::Messages {
            account: AccountId::new(ACCOUNTS[account]).unwrap(),
            folder: FolderName::new(FOLDERS[path]).unwrap(),
            level: world::level(LEVELS[level]),
        };
        // The highest that anything there can have, as its file says; nothing below COUNT is there.
        let highest = |entry: &Entry| match entry.mode {
            "whitelist" => {
                let grants = entry.rules.iter().map(|rule| rank(rule.level));
                grants.fold(rank(entry.default), usize::max)
            }
            _ => rank(entry.default),
        };
        let folders = named.iter().filter(|(name, _)| *name == ACCOUNTS[account]);
        let visible: Vec<(&str, usize)> = folders
            .flat_map(|(_, folders)| folders.iter().map(|(path, entry)| (*path, highest(entry))))
            .filter(|(_, highest)| *highest >= rank("COUNT"))
            .collect();
        let there = visible.iter().find(|(name, _)| *name == FOLDERS[path]);
        let want = match there {
            _ if visible.is_empty() => Some(Refused::AccountHidden),
            None => Some(Refused::FolderHidden),
            Some((_, highest)) if *highest < level => {
                Some(Refused::VisibilityBelow(world::level(LEVELS[level])))
            }
            Some(_) => None,
        };
        let got = policy.decide(&ask).err().map(|denial| denial.refused);
        check(got == want, || {
            format!("{got:?}, not {want:?}: {ask:?} {named:?}")
        })
    });
}

#[test]
fn most_specific_folder_entry_decides() {
    run(100_000, |dice| {
        let count = 1 + dice.roll(6);
        let paths: Vec<String> = (0..count).map(|_| world::path(dice)).collect();
        let entries = paths.iter().map(|_| {
            let hidden = Entry {
                mode: "whitelist",
                default: "NONE",
                rules: Vec::new(),
            };
            match dice.once_in(3) {
                true => hidden,
                false => Entry {
                    mode: "blacklist",
                    default: LEVELS[1 + dice.roll(6)],
                    ..hidden
                },
            }
        });
        let entries: Vec<Entry> = entries.collect();
        let written = paths.iter().zip(&entries);
        let folders = written
            .clone()
            .map(|(path, entry)| world::folder(path, entry));
        let account = AccountId::new("a").unwrap();
        // A path may stand there twice.
        let Ok(policy) = Policy::new("some", vec![(account.clone(), folders.collect())]) else {
            return Ok(Case::Vacant);
        };
        let name = world::folder_name(dice);
        let folder = FolderName::new(&name).unwrap();
        let got = policy.folder(&account, &folder);
        let got = got.map(|entry| (naive::spelled(entry.path.as_str()), entry.default.name()));
        let want = naive::entry_for(&name, written)
            .filter(|(_, entry)| entry.default != "NONE")
            .map(|(path, entry)| (naive::spelled(path), entry.default));
        check(got == want, || {
            format!("{got:?}, not {want:?}: {name} in {paths:?}")
        })
    });
}

#[test]
fn every_message_above_the_default_is_a_candidate() {
    run(150_000, |dice| {
        let (mut entry, letter) = case(dice);
        entry.mode = "whitelist";
        entry.default = "NONE";
        entry.rules.truncate(1);
        // Mostly one that meets the letter, and that a server is asked about.
        let asked = [
            "from",
            "from_domain",
            "to",
            "newer_than",
            "older_than",
            "size_gt",
            "size_lt",
        ];
        let tried = (0..40).map(|_| world::predicate(dice));
        let mut fitting = tried.filter(|(key, value)| {
            asked.contains(key) && naive::holds(key, value, &letter, NOW) == Some(true)
        });
        let matches: Vec<_> = fitting.by_ref().take(2).collect();
        if !matches.is_empty() {
            let level = "ENVELOPE";
            entry.rules.push(naive::Clause { matches, level });
        }
        let folder = world::folder("INBOX", &entry);
        let level = judged(&folder, &letter);
        let Some(condition) = folder.candidates(NOW).filter(|_| level > folder.default) else {
            return Ok(Case::Vacant);
        };
        check(Stored::new(&letter, dice).meets(&condition), || {
            format!("{level:?} not found by {condition:?}: {entry:?} {letter:?}")
        })
    });
}

/// Which kind of message is never the reason of such a flaw: it holds with facts missing, too.
#[test]
fn a_rule_out_of_reach_makes_no_difference() {
    run(100_000, |dice| {
        let (mut entry, letter) = case(dice);
        // Much alike, so that there is something to find.
        if let Some(first) = entry.rules.first().cloned() {
            let mut twin = first;
            let place = dice.roll(twin.matches.len());
            twin.matches[place] = world::predicate(dice);
            twin.level = LEVELS[dice.roll(7)];
            entry.rules.push(twin);
        }
        let folder = world::folder("INBOX", &entry);
        let account = AccountId::new("a").unwrap();
        let Err(flaws) = Policy::new("some", vec![(account, vec![folder.clone()])]) else {
            return Ok(Case::Vacant);
        };
        let mut met = Case::Vacant;
        let before = judged(&folder, &letter);
        for flaw in flaws {
            let Place::Rule(_, _, index) = flaw.place else {
                continue;
            };
            // Of a rule that contradicts itself only a whitelist is free of missing facts.
            if flaw.what.contains("exclude") || flaw.what.contains("never") {
                let silent = with_facts(&letter, |facts| {
                    let answers = &folder.explain(facts, NOW).rules[index].answers;
                    !answers.iter().all(|(_, said)| *said == policy::Answer::Yes)
                });
                check(silent, || format!("{flaw}: {entry:?} {letter:?}"))?;
                continue;
            }
            met = Case::Held;
            let mut without = folder.clone();
            without.rules.remove(index);
            let after = judged(&without, &letter);
            check(before == after, || {
                format!("{before:?} to {after:?} without {index}, {flaw}: {entry:?} {letter:?}")
            })?;
        }
        Ok(met)
    });
}
