//! A policy: what one caller may see and do, account by account, folder by folder.

use std::collections::BTreeMap;

use mail::{AccountId, FolderName, Level};

use crate::flaw::{self, Flaw};
use crate::{Capabilities, FolderPolicy};

/// What one caller may do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Policy {
    name: String,
    reach: Reach,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Reach {
    /// Everything may be read.
    Owner,
    /// What is not named here does not exist.
    Named(BTreeMap<AccountId, Vec<FolderPolicy>>),
}

impl Policy {
    /// Of the person whose accounts these are.
    pub fn owner() -> Self {
        Self {
            name: "owner".to_owned(),
            reach: Reach::Owner,
        }
    }

    /// Or everything that is wrong with it, each by its place.
    pub fn new(
        name: impl Into<String>,
        accounts: Vec<(AccountId, Vec<FolderPolicy>)>,
    ) -> Result<Self, Vec<Flaw>> {
        let flaws = flaw::find(&accounts);
        if !flaws.is_empty() {
            return Err(flaws);
        }
        Ok(Self {
            name: name.into(),
            reach: Reach::Named(accounts.into_iter().collect()),
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn is_owner(&self) -> bool {
        self.reach == Reach::Owner
    }

    pub fn shows_account(&self, account: &AccountId) -> bool {
        match &self.reach {
            Reach::Owner => true,
            Reach::Named(_) => self.folders(account).next().is_some(),
        }
    }

    pub fn shows_folder(&self, account: &AccountId, folder: &FolderName) -> bool {
        self.is_owner() || self.folder(account, folder).is_some()
    }

    /// Those that are visible. The owner's are not named.
    pub fn accounts(&self) -> impl Iterator<Item = &AccountId> {
        let named = match &self.reach {
            Reach::Owner => None,
            Reach::Named(accounts) => Some(accounts.keys()),
        };
        let named = named.into_iter().flatten();
        named.filter(|account| self.shows_account(account))
    }

    /// Those of an account that are visible, in the order in which they were written.
    pub fn folders(&self, account: &AccountId) -> impl Iterator<Item = &FolderPolicy> {
        let folders = match &self.reach {
            Reach::Owner => None,
            Reach::Named(accounts) => accounts.get(account),
        };
        let folders = folders.into_iter().flatten();
        folders.filter(|folder| folder.is_visible())
    }

    pub fn folder(&self, account: &AccountId, name: &FolderName) -> Option<&FolderPolicy> {
        self.folders(account).find(|folder| folder.path == *name)
    }

    /// The most that any message can have anywhere.
    pub fn ceiling(&self) -> Level {
        match &self.reach {
            Reach::Owner => Level::Full,
            Reach::Named(accounts) => {
                let ceilings = accounts.values().flatten().map(FolderPolicy::ceiling);
                ceilings.fold(Level::None, Level::max)
            }
        }
    }

    /// What can be done in at least one folder.
    pub fn capabilities(&self) -> Capabilities {
        match &self.reach {
            Reach::Owner => Capabilities::NONE,
            Reach::Named(accounts) => {
                let each = accounts
                    .values()
                    .flatten()
                    .map(|folder| folder.capabilities);
                each.fold(Capabilities::NONE, Capabilities::union)
            }
        }
    }
}
