//! A policy: what one caller may see and do, account by account, folder by folder.

use std::collections::BTreeMap;

use mail::{AccountId, FolderName, Level, UncertainText};

use crate::flaw::{self, Flaw};
use crate::{Capabilities, FolderPolicy};

/// What one caller may do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Policy {
    name: String,
    reach: Reach,
    /// Over all folders; asked for in every call, so they are not added up each time.
    ceiling: Level,
    capabilities: Capabilities,
    uncertain_text: UncertainText,
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
            ceiling: Level::Full,
            capabilities: Capabilities::NONE,
            uncertain_text: UncertainText::Show,
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
        let folders = || accounts.iter().flat_map(|(_, folders)| folders);
        let ceilings = folders().map(FolderPolicy::ceiling);
        let capabilities = folders().map(|folder| folder.capabilities);
        Ok(Self {
            name: name.into(),
            ceiling: ceilings.fold(Level::None, Level::max),
            capabilities: capabilities.fold(Capabilities::NONE, Capabilities::union),
            reach: Reach::Named(accounts.into_iter().collect()),
            uncertain_text: UncertainText::Show,
        })
    }

    pub fn with_uncertain_text(self, uncertain_text: UncertainText) -> Self {
        Self {
            uncertain_text,
            ..self
        }
    }

    /// What becomes of text that a person may not see.
    pub fn uncertain_text(&self) -> UncertainText {
        self.uncertain_text
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

    /// The entries of an account that are visible, in the order in which they were written. A
    /// folder that one of them covers may be hidden by a more specific entry: see [`Self::folder`].
    pub fn folders(&self, account: &AccountId) -> impl Iterator<Item = &FolderPolicy> {
        self.entries(account).filter(|entry| entry.is_visible())
    }

    fn entries(&self, account: &AccountId) -> impl Iterator<Item = &FolderPolicy> {
        let entries = match &self.reach {
            Reach::Owner => None,
            Reach::Named(accounts) => accounts.get(account),
        };
        entries.into_iter().flatten()
    }

    /// The most specific entry that covers the folder: its exact path, or the longest prefix, or
    /// `*`. None where there is no such entry, or where nothing can be seen or done by it.
    pub fn folder(&self, account: &AccountId, name: &FolderName) -> Option<&FolderPolicy> {
        let covering = self.entries(account).filter_map(|entry| {
            let precedence = entry.path.precedence(name)?;
            Some((precedence, entry))
        });
        let (_, entry) = covering.max_by_key(|(precedence, _)| *precedence)?;
        entry.is_visible().then_some(entry)
    }

    /// Whether only the server's own list can say that there is such a folder.
    ///
    /// INVARIANT: a pattern opens a name only where the server lists it in this very spelling. A
    /// server may know a folder by several names, and a more specific entry hides only one.
    pub fn needs_listing(&self, account: &AccountId, name: &FolderName) -> bool {
        let covers = |entry: &FolderPolicy| entry.path.covers(name);
        let mut covering = self.folders(account).filter(|entry| covers(entry));
        let named = self.folder(account, name);
        let exact = named.is_some_and(|entry| entry.path.exact().is_some());
        !exact && covering.any(|entry| entry.path.exact().is_none())
    }

    /// Every folder that was written, those that are not visible too. The owner's are not.
    pub(crate) fn written(&self) -> impl Iterator<Item = (&AccountId, &FolderPolicy)> {
        let accounts = match &self.reach {
            Reach::Owner => None,
            Reach::Named(accounts) => Some(accounts),
        };
        let each = accounts.into_iter().flatten();
        each.flat_map(|(account, folders)| folders.iter().map(move |folder| (account, folder)))
    }

    /// The most that any message can have anywhere.
    pub fn ceiling(&self) -> Level {
        self.ceiling
    }

    /// What can be done in at least one folder.
    pub fn capabilities(&self) -> Capabilities {
        self.capabilities
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Capability, FolderPattern, Mode};

    fn folder(path: &str, default: Level, capabilities: &[Capability]) -> FolderPolicy {
        FolderPolicy {
            path: FolderPattern::parse(path).unwrap(),
            mode: match default {
                Level::None => Mode::Whitelist,
                _ => Mode::Blacklist,
            },
            default,
            rules: Vec::new(),
            capabilities: capabilities.iter().copied().collect(),
        }
    }

    #[test]
    fn what_is_named_and_visible_is_there_and_nothing_else() {
        use Capability::{AcceptIncoming, MarkSeen, MoveOut};
        let account = |name: &str| AccountId::new(name).unwrap();
        let name = |path: &str| FolderName::new(path).unwrap();
        let work = vec![
            folder("Z", Level::Body, &[MarkSeen, MoveOut]),
            folder("A", Level::None, &[AcceptIncoming]),
            folder("Dark", Level::None, &[]),
        ];
        let accounts = vec![
            (account("work"), work),
            (account("dark"), vec![folder("INBOX", Level::None, &[])]),
            (account("bare"), Vec::new()),
        ];
        let policy = Policy::new("some", accounts).unwrap();
        assert_eq!((policy.name(), policy.is_owner()), ("some", false));
        let shown: Vec<_> = policy.accounts().map(AccountId::as_str).collect();
        assert_eq!(shown, ["work"]);
        for (name, shown) in [
            ("work", true),
            ("dark", false),
            ("bare", false),
            ("other", false),
        ] {
            assert_eq!(policy.shows_account(&account(name)), shown, "{name}");
        }
        let paths: Vec<_> = policy
            .folders(&account("work"))
            .map(|one| one.path.as_str())
            .collect();
        assert_eq!(paths, ["Z", "A"]);
        for (path, shown) in [("Z", true), ("A", true), ("Dark", false), ("Other", false)] {
            assert_eq!(
                policy.shows_folder(&account("work"), &name(path)),
                shown,
                "{path}"
            );
            assert_eq!(
                policy.folder(&account("work"), &name(path)).is_some(),
                shown
            );
        }
        assert_eq!(policy.ceiling(), Level::Body);
        let can: Vec<_> = policy.capabilities().iter().collect();
        assert_eq!(can, [MarkSeen, MoveOut, AcceptIncoming]);
    }

    #[test]
    fn most_specific_entry_decides_alone() {
        use Capability::{MarkSeen, MoveOut};
        let account = AccountId::new("a").unwrap();
        let entries = vec![
            folder("*", Level::Body, &[MoveOut]),
            folder("Private", Level::None, &[]),
            folder("Work/*", Level::Count, &[MarkSeen]),
            folder("Work/Secret/*", Level::None, &[]),
            folder("Work/Secret/Open", Level::Full, &[]),
        ];
        let policy = Policy::new("some", vec![(account.clone(), entries)]).unwrap();
        for (name, path, listing) in [
            ("INBOX", Some("*"), true),
            ("Work", Some("*"), true),
            ("Work/A/B", Some("Work/*"), true),
            ("Work/Secret", Some("Work/*"), true),
            ("Private/Sub", Some("*"), true),
            ("Private", None, true),
            ("Work/Secret/A", None, true),
            ("Work/Secret/Open", Some("Work/Secret/Open"), false),
        ] {
            let name = FolderName::new(name).unwrap();
            let entry = policy.folder(&account, &name);
            assert_eq!(entry.map(|one| one.path.as_str()), path, "{name}");
            assert_eq!(policy.shows_folder(&account, &name), path.is_some());
            assert_eq!(policy.needs_listing(&account, &name), listing, "{name}");
        }
        // What no entry covers is hidden without a look at the server.
        let below = vec![
            folder("INBOX/*", Level::Body, &[]),
            folder("A", Level::Body, &[]),
        ];
        let policy = Policy::new("some", vec![(account.clone(), below)]).unwrap();
        for (name, shown, listing) in [
            ("INBOX", false, false),
            ("B", false, false),
            ("A", true, false),
            ("INBOX/B", true, true),
        ] {
            let name = FolderName::new(name).unwrap();
            assert_eq!(policy.shows_folder(&account, &name), shown, "{name}");
            assert_eq!(policy.needs_listing(&account, &name), listing, "{name}");
        }
        assert!(!Policy::owner().needs_listing(&account, &FolderName::new("A").unwrap()));
    }

    #[test]
    fn the_owner_sees_all_and_changes_nothing() {
        let owner = Policy::owner();
        assert_eq!((owner.name(), owner.is_owner()), ("owner", true));
        let (account, folder) = (AccountId::new("a").unwrap(), FolderName::new("X").unwrap());
        assert!(owner.shows_account(&account));
        assert!(owner.shows_folder(&account, &folder));
        assert_eq!(
            (owner.accounts().count(), owner.folders(&account).count()),
            (0, 0)
        );
        assert_eq!(owner.ceiling(), Level::Full);
        assert_eq!(owner.capabilities(), Capabilities::NONE);
    }

    #[test]
    fn a_flawed_policy_is_none() {
        let account = AccountId::new("a").unwrap();
        let twice = vec![folder("X", Level::None, &[]), folder("X", Level::None, &[])];
        assert_eq!(
            Policy::new("some", vec![(account, twice)])
                .unwrap_err()
                .len(),
            1
        );
    }
}
