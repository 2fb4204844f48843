//! `policy simulate`: what a caller would see in the real mailboxes, and what another configuration would change.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use gateway::{Gateway, Which};
use jiff::Timestamp;
use mail::{AccountId, Cx, FolderName, Level};
use policy::FolderPattern;

use super::bar::Bar;
use super::compare::{Change, Lone, Shift, Side};
use super::{caller, form, report};
use crate::cli::PolicySimulate;
use crate::config::dir::{CallerConfig, Loaded};
use crate::screen::Screen;

/// What was seen, and what would change.
pub(super) struct Simulation {
    pub caller: String,
    pub policy: Option<String>,
    pub at: Timestamp,
    pub rows: Vec<Row>,
    /// Paths of the policy that are no folder of the server, and patterns that cover none.
    pub missing: Vec<(AccountId, String)>,
    pub failed: Vec<Failure>,
    /// Of this installation, and not of this caller.
    pub hidden_accounts: usize,
    /// Of the accounts that it can see.
    pub hidden_folders: usize,
    pub difference: Option<Difference>,
}

/// What another configuration would change.
pub(super) struct Difference {
    pub directory: String,
    pub lone: Lone,
    pub changes: Vec<Change>,
}

/// One folder.
pub(super) struct Row {
    pub account: AccountId,
    pub folder: FolderName,
    pub before: Levels,
    pub after: Levels,
    pub shift: Shift,
}

/// How many messages have each level.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Levels([u64; Level::ALL.len()]);

impl Levels {
    pub(super) fn at(&self, level: Level) -> u64 {
        self.0.get(level as usize).copied().unwrap_or(0)
    }

    pub(super) fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    pub(super) fn add(&mut self, level: Level, messages: u64) {
        if let Some(count) = self.0.get_mut(level as usize) {
            *count += messages;
        }
    }
}

/// What could not be looked at.
pub(super) struct Failure {
    pub account: AccountId,
    /// None, if it was not even known which there are.
    pub folder: Option<FolderName>,
    pub why: String,
}

pub(super) async fn run(
    wanted: &PolicySimulate,
    gateway: &Gateway,
    callers: &[CallerConfig],
    against: Option<Loaded>,
    screen: Screen,
) -> anyhow::Result<ExitCode> {
    let setup = gateway.setup();
    let accounts = setup.accounts().iter().map(|account| account.id().clone());
    let before = side(&wanted.caller, callers, accounts);
    let after = against.as_ref().map(|loaded| {
        let accounts = loaded.accounts.iter().map(|account| account.id.clone());
        side(&wanted.caller, &loaded.callers, accounts)
    });
    let in_another = after.as_ref().is_some_and(|after| after.policy.is_some());
    if before.policy.is_none() && !in_another {
        caller(callers, &wanted.caller)?;
    }
    let only = Only::new(wanted)?;
    if let Some(account) = &only.account
        && !before.accounts.contains(account)
    {
        bail!("accounts.yaml has no account '{account}'");
    }
    if let Some(folder) = &only.folder {
        let sides = std::iter::once(&before).chain(&after);
        let looked_at =
            |account: &&AccountId| only.account.as_ref().is_none_or(|one| one == *account);
        let mut accounts = before.accounts.iter().filter(looked_at);
        let shown = |account| sides.clone().any(|side| side.shows(account, folder));
        if !accounts.any(shown) {
            bail!(
                "the policy of '{}' names no folder '{folder}' there; what it does not name is hidden",
                wanted.caller
            );
        }
    }
    let mut walk = Walk {
        gateway,
        before,
        after,
        only,
        done: Simulation::new(wanted),
    };
    walk.accounts().await;
    let done = walk.finish(wanted);
    report::show(&done, form(wanted.json), screen);
    Ok(match done.failed.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

fn side(id: &str, callers: &[CallerConfig], accounts: impl Iterator<Item = AccountId>) -> Side {
    let caller = callers.iter().find(|caller| caller.id == id);
    Side {
        policy: caller.map(|caller| Arc::clone(&caller.policy)),
        callers: callers.iter().map(|caller| caller.id.clone()).collect(),
        accounts: accounts.collect(),
    }
}

/// What the operator narrows the look to.
struct Only {
    account: Option<AccountId>,
    folder: Option<FolderName>,
}

impl Only {
    fn new(wanted: &PolicySimulate) -> anyhow::Result<Self> {
        let account = wanted.account.as_deref().map(|name| {
            let account = AccountId::new(name);
            account.context("--account is no name that an account can have")
        });
        let folder = wanted.folder.as_deref().map(|name| {
            let folder = FolderName::new(name);
            folder.context("--folder is no name that a folder can have")
        });
        Ok(Self {
            account: account.transpose()?,
            folder: folder.transpose()?,
        })
    }
}

impl Simulation {
    fn new(wanted: &PolicySimulate) -> Self {
        Self {
            caller: wanted.caller.clone(),
            policy: None,
            at: Timestamp::now(),
            rows: Vec::new(),
            missing: Vec::new(),
            failed: Vec::new(),
            hidden_accounts: 0,
            hidden_folders: 0,
            difference: None,
        }
    }
}

struct Walk<'a> {
    gateway: &'a Gateway,
    before: Side,
    after: Option<Side>,
    only: Only,
    done: Simulation,
}

impl Walk<'_> {
    async fn accounts(&mut self) {
        let mut changes = Vec::new();
        for account in self.before.accounts.clone() {
            let policy = self.before.policy.as_ref();
            if !policy.is_some_and(|policy| policy.shows_account(&account)) {
                self.done.hidden_accounts += 1;
            }
            if self
                .only
                .account
                .as_ref()
                .is_none_or(|only| *only == account)
            {
                self.account(&account, &mut changes).await;
            }
        }
        if let (Some(after), before) = (&self.after, &self.before) {
            self.done.difference = Some(Difference {
                directory: String::new(),
                lone: Lone::of(before, after),
                changes,
            });
        }
    }

    /// Folders that either policy opens.
    async fn account(&mut self, account: &AccountId, changes: &mut Vec<Change>) {
        let sides = std::iter::once(&self.before).chain(&self.after);
        let paths: BTreeSet<FolderPattern> = sides
            .flat_map(|side| side.paths(account))
            .cloned()
            .collect();
        if paths.is_empty() {
            return;
        }
        let there = match self.gateway.inspect_folders(&Cx::new(), account).await {
            Ok(there) => there,
            Err(refusal) => {
                self.done.failed.push(Failure {
                    account: account.clone(),
                    folder: None,
                    why: refusal.to_string(),
                });
                return;
            }
        };
        if self.before.paths(account).next().is_some() {
            let folders = there.folders.iter();
            let hidden = folders.filter(|name| !self.before.shows(account, name));
            self.done.hidden_folders += hidden.count() + there.unusable;
        }
        let only = self.only.folder.clone();
        let folders: BTreeSet<FolderName> = there.folders.into_iter().collect();
        let missing: Vec<String> = match &only {
            Some(only) if !folders.contains(only) && self.shows(account, only) => {
                vec![only.to_string()]
            }
            Some(_) => Vec::new(),
            None => {
                let none = |path: &&FolderPattern| !folders.iter().any(|one| path.covers(one));
                paths.iter().filter(none).map(ToString::to_string).collect()
            }
        };
        let missing = missing.into_iter().map(|path| (account.clone(), path));
        self.done.missing.extend(missing);
        for folder in folders {
            let wanted = only.as_ref().is_none_or(|only| *only == folder);
            if wanted && self.shows(account, &folder) {
                self.folder(account, &folder, changes).await;
            }
        }
    }

    /// Whether either policy opens the folder.
    fn shows(&self, account: &AccountId, folder: &FolderName) -> bool {
        let mut sides = std::iter::once(&self.before).chain(&self.after);
        sides.any(|side| side.shows(account, folder))
    }

    /// Facts are fetched once and judged under both.
    async fn folder(
        &mut self,
        account: &AccountId,
        folder: &FolderName,
        changes: &mut Vec<Change>,
    ) {
        let bar = Bar::new(format!("{account} / {folder}"));
        let progress = |done, total| bar.show(done, total);
        let cx = Cx::new();
        let found = self
            .gateway
            .inspect(&cx, account, folder, Which::All, &progress);
        let found = match found.await {
            Ok(found) => found,
            Err(refusal) => {
                self.done.failed.push(Failure {
                    account: account.clone(),
                    folder: Some(folder.clone()),
                    why: refusal.to_string(),
                });
                return;
            }
        };
        let mut row = Row {
            account: account.clone(),
            folder: folder.clone(),
            before: Levels::default(),
            after: Levels::default(),
            shift: Shift::default(),
        };
        let now = self.done.at.as_second();
        for message in &found.messages {
            let recipients = message.facts.recipient_lines();
            let facts = message.facts.borrow(&recipients);
            let before = self.before.judge(account, folder, &facts, now);
            row.before.add(before.level, 1);
            let Some(after) = &self.after else { continue };
            let after = after.judge(account, folder, &facts, now);
            row.after.add(after.level, 1);
            row.shift.count(before.level, after.level);
            if before.level != after.level {
                changes.push(Change::new((account, folder), message, before, after));
            }
        }
        self.done.rows.push(row);
    }

    fn finish(self, wanted: &PolicySimulate) -> Simulation {
        let mut done = self.done;
        let policy = self.before.policy.as_ref();
        done.policy = policy.map(|policy| policy.name().to_owned());
        if let (Some(difference), Some(dir)) = (&mut done.difference, &wanted.against) {
            difference.directory = dir.display().to_string();
        }
        done
    }
}
