//! Two mailboxes that differ only in what one policy does not show of them.

use std::collections::BTreeMap;

use mail::Level;
use testkit::{Dovecot, Seed, Seeds};

use super::dice::Dice;
use super::letter::{KEYWORDS, Letter};
use super::rules::FolderRules;

/// The folders that a policy may open.
const OPEN: [&str; 5] = ["INBOX", "Work", "Work/Sub", "Größe", "a b"];
const CLOSED: [&str; 6] = [
    "Vault",
    "Work/Hidden",
    "Größe/tief",
    "Zoo",
    "Archive 1",
    "Acme",
];

/// Empty in both mailboxes: what the caller itself writes and copies comes here.
pub(super) const NOTES: &str = "Notes";
/// The same, with rules that look at senders and subjects.
pub(super) const SUBJECTS: &str = "Subjects";

/// How the second mailbox differs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Twin {
    /// As many messages and folders are hidden: even their number is the same.
    AsMany,
    /// What is hidden differs in number too.
    More,
    /// INVARIANT of the comparison: something that the policy shows differs, and that must be noticed.
    Mutant,
}

#[derive(Debug)]
pub(super) struct World {
    pub(super) account: String,
    pub(super) google: bool,
    pub(super) twin: Twin,
    pub(super) policy: Vec<FolderRules>,
    pub(super) folders: Vec<Folder>,
    /// Of a mutant: the folder and message that differ.
    pub(super) mutant: Option<(String, u32)>,
}

/// One folder in both mailboxes; it may be in one of them only.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) name: String,
    pub(super) uidvalidity: u32,
    pub(super) sides: [Option<BTreeMap<u32, Letter>>; 2],
}

impl World {
    pub(super) fn random(account: String, twin: Twin, dice: &mut Dice) -> Self {
        let mut names = OPEN;
        dice.shuffle(&mut names[1..]);
        let open = &names[..2 + dice.roll(2)];
        let mut policy: Vec<FolderRules> = open
            .iter()
            .map(|name| FolderRules::random(name, dice))
            .collect();
        policy.push(FolderRules::random("Nowhere", dice));
        policy.push(FolderRules::dark("Vault"));
        policy.push(FolderRules::of_the_caller(NOTES));
        policy.push(FolderRules::by_subject(SUBJECTS, dice));
        let mut folders: Vec<Folder> = open
            .iter()
            .zip(&policy)
            .map(|(name, rules)| Folder::random(name, rules, twin, dice))
            .collect();
        folders.extend(closed(twin, dice));
        folders.extend([NOTES, SUBJECTS].map(Folder::empty));
        let mut world = Self {
            account,
            google: dice.once_in(4),
            twin,
            policy,
            folders,
            mutant: None,
        };
        if twin == Twin::Mutant {
            world.mutate(dice);
        }
        world
    }

    pub(super) fn rules(&self, folder: &str) -> Option<&FolderRules> {
        let mut named = self.policy.iter();
        named.find(|rules| rules.path == folder && rules.is_visible())
    }

    /// Each message that may be seen at all is changed in the twin, just where its level ends.
    fn mutate(&mut self, dice: &mut Dice) {
        for folder in &mut self.folders {
            let Some(rules) = self.policy.iter().find(|rules| rules.path == folder.name) else {
                continue;
            };
            let [Some(first), Some(second)] = &mut folder.sides else {
                continue;
            };
            for (uid, letter) in first.iter() {
                let level = level(rules, letter);
                if level >= Level::Metadata && self.mutant.is_none() {
                    second.insert(*uid, letter.mutated(level, dice));
                    self.mutant = Some((folder.name.clone(), *uid));
                }
            }
        }
    }

    /// Writes one of the two mailboxes.
    pub(super) fn plant(&self, server: &Dovecot, user: &str, side: usize, now: u64) {
        for folder in &self.folders {
            let Some(letters) = &folder.sides[side] else {
                continue;
            };
            if folder.name != "INBOX" {
                server.create_folder(user, &folder.name);
            }
            let messages: Vec<Seed> = letters
                .iter()
                .map(|(uid, letter)| Seed {
                    uid: *uid,
                    delivery: letter.delivery(now),
                    keywords: letter.keywords.clone(),
                })
                .collect();
            let seeds = Seeds {
                uidvalidity: folder.uidvalidity,
                keywords: &KEYWORDS,
                messages: &messages,
            };
            server.seed(user, &folder.name, &seeds);
        }
    }
}

impl Folder {
    fn empty(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            uidvalidity: 9,
            sides: [Some(BTreeMap::new()), Some(BTreeMap::new())],
        }
    }

    fn random(name: &str, rules: &FolderRules, twin: Twin, dice: &mut Dice) -> Self {
        let mut first = letters(dice);
        let mut second = BTreeMap::new();
        for (uid, letter) in &mut first {
            match twin {
                Twin::Mutant => drop(second.insert(*uid, letter.clone())),
                Twin::AsMany | Twin::More => {
                    if let Some(other) = other(letter, rules, twin, dice) {
                        second.insert(*uid, other);
                    }
                }
            }
        }
        if twin == Twin::More {
            for _ in 0..dice.roll(5) {
                let uid = 1 + dice.roll(60) as u32;
                let letter = Letter::random(dice);
                if !first.contains_key(&uid) && level(rules, &letter) == Level::None {
                    second.insert(uid, letter);
                }
            }
        }
        Self {
            name: name.to_owned(),
            uidvalidity: 1_000 + dice.roll(1_000) as u32,
            sides: [Some(first), Some(second)],
        }
    }
}

pub(super) fn level(rules: &FolderRules, letter: &Letter) -> Level {
    rules.judge(&letter.facts(letter.raw().len()))
}

fn letters(dice: &mut Dice) -> BTreeMap<u32, Letter> {
    let number = dice.roll(11);
    let each = (0..number).map(|_| (1 + dice.roll(40) as u32, Letter::random(dice)));
    each.collect()
}

/// What stands in the twin for this message, which may have to become larger for it.
fn other(letter: &mut Letter, rules: &FolderRules, twin: Twin, dice: &mut Dice) -> Option<Letter> {
    let level_of = level(rules, letter);
    if level_of == Level::None && twin == Twin::More && dice.once_in(2) {
        return None;
    }
    for _ in 0..12 {
        let (mut one, mut other) = (letter.clone(), letter.beyond(level_of, dice));
        if level_of >= Level::Metadata {
            // Its size is shown.
            let most = one.raw().len().max(other.raw().len());
            (one.least, other.least) = (most, most);
        }
        if level(rules, &one) == level_of && level(rules, &other) == level_of {
            *letter = one;
            return Some(other);
        }
    }
    Some(letter.clone())
}

/// Folders that nobody may know of.
fn closed(twin: Twin, dice: &mut Dice) -> Vec<Folder> {
    let mut names = CLOSED;
    dice.shuffle(&mut names);
    let folder = |name: &str, sides| Folder {
        name: name.to_owned(),
        uidvalidity: 7,
        sides,
    };
    match twin {
        Twin::Mutant => Vec::new(),
        Twin::AsMany => vec![
            folder(names[0], [Some(letters(dice)), None]),
            folder(names[1], [None, Some(letters(dice))]),
            folder(names[2], [Some(letters(dice)), Some(letters(dice))]),
        ],
        Twin::More => names
            .iter()
            .map(|name| {
                let mut side = || dice.once_in(2).then(|| letters(dice));
                folder(name, [side(), side()])
            })
            .collect(),
    }
}
