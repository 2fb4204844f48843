//! The folders of the store: which mailboxes an account has, what each is called here, and where its files lie.
//!
//! With one account a folder is called as it is at the server. With all of them each name begins with that of its account:
//! what the system calls it, else who logs in, else its number.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::PathBuf;

use mail::{Fault, FaultKind, FolderName, SpecialUse, Stage};

use super::accounts::Accounts;
use super::database::{Database, fault};
use super::rows::{int, text};
use super::url::Url;
use crate::local::special::special_use;

/// More mailboxes than these are not read.
const MOST: usize = 50_000;

/// One folder.
#[derive(Clone, Debug)]
pub(super) struct Mailbox {
    /// Its row.
    pub(super) row: i64,
    pub(super) name: FolderName,
    pub(super) special_use: Option<SpecialUse>,
}

/// INBOX first, then by name.
#[derive(Debug, Default)]
pub(super) struct Boxes {
    pub(super) all: Vec<Mailbox>,
    /// Mailboxes that have no name of their own.
    pub(super) unusable: usize,
    /// Directories by row, below that of the version.
    paths: HashMap<i64, PathBuf>,
    by_row: HashMap<i64, usize>,
}

impl Boxes {
    pub(super) fn read(
        db: &Database,
        accounts: &Accounts,
        which: Option<&str>,
    ) -> Result<Self, Fault> {
        let (urls, mut unusable) = urls(db).map_err(fault(Stage::ListFolders))?;
        let known: BTreeSet<Account> = urls.iter().map(|(_, url)| Account::of(url)).collect();
        let chosen = match which {
            Some(which) => Some(one(&known, accounts, which)?),
            None => None,
        };
        let prefixes = prefixes(&known, accounts);
        let mut boxes = Self::default();
        let mut taken = HashSet::new();
        for (row, url) in urls {
            let account = Account::of(&url);
            if chosen.as_ref().is_some_and(|chosen| *chosen != account) {
                continue;
            }
            let own = url.names.join("/");
            let name = match (&chosen, prefixes.get(&account)) {
                (None, Some(prefix)) => format!("{prefix}/{own}"),
                _ => own.clone(),
            };
            let name = FolderName::new(name).ok();
            let Some(name) = name.filter(|name| taken.insert(name.clone())) else {
                unusable += 1;
                continue;
            };
            boxes.paths.insert(row, url.path());
            boxes.all.push(Mailbox {
                row,
                name,
                special_use: used(&own),
            });
        }
        boxes.unusable = unusable;
        let first = |one: &Mailbox| one.name.as_str() != "INBOX";
        boxes
            .all
            .sort_by(|a, b| (first(a), &a.name).cmp(&(first(b), &b.name)));
        boxes.by_row = boxes
            .all
            .iter()
            .enumerate()
            .map(|(at, one)| (one.row, at))
            .collect();
        Ok(boxes)
    }

    pub(super) fn named(&self, name: &FolderName) -> Result<&Mailbox, Fault> {
        self.all
            .iter()
            .find(|one| one.name == *name)
            .ok_or_else(|| Fault::new(FaultKind::NoSuchFolder, Stage::OpenFolder))
    }

    pub(super) fn of_row(&self, row: i64) -> Option<&Mailbox> {
        self.all.get(*self.by_row.get(&row)?)
    }

    /// Where the files of a mailbox lie. None for mailboxes of other accounts.
    pub(super) fn path(&self, row: i64) -> Option<&PathBuf> {
        self.paths.get(&row)
    }
}

/// An account of the store.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Account {
    /// A UUID, or `user@host` in old stores.
    number: String,
    directory: String,
    keeper: Keeper,
}

/// Who has the mail of an account.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Keeper {
    Server,
    ThisMachine,
}

impl Account {
    fn of(url: &Url) -> Self {
        Self {
            number: url.account.clone(),
            directory: url.directory(),
            keeper: match url.is_local() {
                true => Keeper::ThisMachine,
                false => Keeper::Server,
            },
        }
    }

    /// What it is called, the best name first.
    fn names(&self, accounts: &Accounts) -> impl Iterator<Item = String> + use<> {
        let called = accounts.of(&self.number);
        let local = (self.keeper == Keeper::ThisMachine).then(|| ON_THIS_MACHINE.to_owned());
        let old = self
            .number
            .rsplit_once('@')
            .map(|(user, _)| user.to_owned());
        [called.name, called.user, local, old].into_iter().flatten()
    }
}

fn urls(db: &Database) -> rusqlite::Result<(Vec<(i64, Url)>, usize)> {
    let mut query = db
        .conn
        .prepare("SELECT ROWID, url FROM mailboxes ORDER BY ROWID")?;
    let mut rows = query.query([])?;
    let (mut found, mut unusable) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let url = text(row, 1).and_then(|url| Url::parse(std::str::from_utf8(&url).ok()?));
        match (int(row, 0), url) {
            (Some(row), Some(url)) if found.len() < MOST => found.push((row, url)),
            _ => unusable += 1,
        }
    }
    Ok((found, unusable))
}

const ON_THIS_MACHINE: &str = "On My Mac";

/// The one account that a number, a name or an address means.
fn one(known: &BTreeSet<Account>, accounts: &Accounts, which: &str) -> Result<Account, Fault> {
    let same = |text: &str| text.to_lowercase() == which.to_lowercase();
    let numbered = |one: &&Account| same(&one.number) || same(&one.directory);
    let mut found: Vec<_> = known.iter().filter(numbered).collect();
    if found.is_empty() {
        let called = |one: &&Account| one.names(accounts).any(|name| same(&name));
        found = known.iter().filter(called).collect();
    }
    let why = match found.as_slice() {
        [one] => return Ok((*one).clone()),
        [] => "the store has no such account",
        _ => "several accounts of the store are called so; name one by its UUID",
    };
    Err(Fault::saying(FaultKind::NoStore, Stage::OpenFolder, why))
}

/// What names of folders begin with, each account's its own.
fn prefixes(known: &BTreeSet<Account>, accounts: &Accounts) -> BTreeMap<Account, String> {
    let usable = |name: &String| {
        !name.trim().is_empty() && !name.contains('/') && FolderName::new(name.as_str()).is_ok()
    };
    let mut prefixes = BTreeMap::new();
    let mut taken = HashSet::new();
    for account in known {
        let names = account.names(accounts).chain([account.directory.clone()]);
        let free = names
            .filter(usable)
            .find(|name| taken.insert(name.to_lowercase()));
        let prefix = free.unwrap_or_else(|| account.directory.clone());
        prefixes.insert(account.clone(), prefix);
    }
    prefixes
}

fn used(own: &str) -> Option<SpecialUse> {
    let within = ["[Gmail]/", "[Google Mail]/"]
        .iter()
        .find_map(|gmail| own.strip_prefix(gmail));
    match within {
        Some("All Mail") => Some(SpecialUse::All),
        Some("Starred") => Some(SpecialUse::Flagged),
        Some("Important") => Some(SpecialUse::Important),
        Some(within) => special_use(within),
        None => special_use(own),
    }
}
