//! Two configurations side by side: how one message stands in each, and what only one of them has.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

use gateway::Inspected;
use mail::{AccountId, Facts, FolderName, Level, Uid};
use policy::{By, Capability, FolderPattern, Policy};

use super::words;

/// A configuration, as far as one caller is concerned.
pub(super) struct Side {
    /// None, if it has no such caller.
    pub policy: Option<Arc<Policy>>,
    pub callers: BTreeSet<String>,
    pub accounts: BTreeSet<AccountId>,
}

/// How a message stands with a caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stand {
    pub level: Level,
    /// Nothing decided where the folder is hidden.
    pub by: Option<By>,
}

/// A message whose level is another one.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub account: AccountId,
    pub folder: FolderName,
    pub uid: Uid,
    pub before: Stand,
    pub after: Stand,
    pub shown: String,
}

/// How many messages can be seen further, less far, and as far as before.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Shift {
    pub more: u64,
    pub less: u64,
    pub same: u64,
}

/// What one of two configurations has and the other has not, a line each.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Lone {
    pub only_before: Vec<String>,
    pub only_after: Vec<String>,
}

impl Side {
    pub(super) fn judge(
        &self,
        account: &AccountId,
        folder: &FolderName,
        facts: &Facts<'_>,
        now: i64,
    ) -> Stand {
        // An account that is not configured is not there, whatever a policy says.
        let policy = self.policy.as_deref();
        let policy = policy.filter(|_| self.accounts.contains(account));
        match policy.and_then(|policy| policy.folder(account, folder)) {
            Some(folder) => {
                let judged = folder.judge(facts, now);
                Stand {
                    level: judged.level,
                    by: Some(judged.by),
                }
            }
            None => Stand {
                level: Level::None,
                by: None,
            },
        }
    }

    /// The paths of an account that the policy opens.
    pub(super) fn paths<'a>(
        &'a self,
        account: &'a AccountId,
    ) -> impl Iterator<Item = &'a FolderPattern> {
        let policy = self.policy.iter();
        let folders = policy.flat_map(move |policy| policy.folders(account));
        folders.map(|folder| &folder.path)
    }

    /// Whether the caller can know of such a folder.
    pub(super) fn shows(&self, account: &AccountId, folder: &FolderName) -> bool {
        let policy = self.policy.as_ref();
        policy.is_some_and(|policy| policy.folder(account, folder).is_some())
    }

    /// Everything that can be told apart without looking at a message.
    fn named(&self) -> BTreeSet<String> {
        let mut named: BTreeSet<String> = BTreeSet::new();
        named.extend(self.callers.iter().map(|id| format!("caller {id}")));
        named.extend(self.accounts.iter().map(|id| format!("account {id}")));
        let policy = self.policy.as_deref();
        for account in policy.into_iter().flat_map(Policy::accounts) {
            for folder in policy
                .into_iter()
                .flat_map(|policy| policy.folders(account))
            {
                let place = format!("folder {account} / {}", folder.path);
                let can = folder.capabilities.iter().map(Capability::name);
                named.extend(can.map(|can| format!("{place}: {can}")));
                named.insert(place);
            }
        }
        named
    }
}

impl Lone {
    pub(super) fn of(before: &Side, after: &Side) -> Self {
        let (before, after) = (before.named(), after.named());
        Self {
            only_before: before.difference(&after).cloned().collect(),
            only_after: after.difference(&before).cloned().collect(),
        }
    }
}

impl Stand {
    pub(super) fn why(self) -> String {
        self.by.map_or_else(|| "hidden".to_owned(), words::by)
    }
}

impl Shift {
    pub(super) fn count(&mut self, before: Level, after: Level) {
        let count = match after.cmp(&before) {
            Ordering::Greater => &mut self.more,
            Ordering::Less => &mut self.less,
            Ordering::Equal => &mut self.same,
        };
        *count += 1;
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self {
            more: self.more + other.more,
            less: self.less + other.less,
            same: self.same + other.same,
        }
    }
}

impl Change {
    pub(super) fn new(
        (account, folder): (&AccountId, &FolderName),
        message: &Inspected,
        before: Stand,
        after: Stand,
    ) -> Self {
        Self {
            account: account.clone(),
            folder: folder.clone(),
            uid: message.uid,
            before,
            after,
            shown: message.shown.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use policy::{Capabilities, FolderPolicy, Mode, Predicate, Rule};

    use super::*;

    fn side(folders: &[(&str, Level)], accounts: &[&str]) -> Side {
        let account = |name: &&str| AccountId::new(*name).unwrap();
        let folder = |(path, level): &(&str, Level)| FolderPolicy {
            path: FolderPattern::parse(*path).unwrap(),
            mode: Mode::Whitelist,
            default: Level::None,
            rules: vec![Rule {
                predicates: vec![Predicate::SizeGt(10)],
                level: *level,
            }],
            capabilities: Capabilities::NONE.with(Capability::MarkSeen),
        };
        let folders = folders.iter().map(folder).collect();
        let policy = Policy::new("some", vec![(account(&"work"), folders)]).unwrap();
        Side {
            policy: Some(Arc::new(policy)),
            callers: BTreeSet::from(["agent".to_owned()]),
            accounts: accounts.iter().map(account).collect(),
        }
    }

    #[test]
    fn a_message_stands_by_its_folder_and_what_is_hidden_is_nothing() {
        let work = AccountId::new("work").unwrap();
        let large = Facts {
            size: Some(20),
            ..Facts::default()
        };
        for (folder, accounts, facts, level, why) in [
            ("A", &["work"][..], large, Level::Body, "rule 1"),
            ("A", &["work"], Facts::default(), Level::None, "default"),
            ("B", &["work"], large, Level::None, "hidden"),
            ("A", &["home"], large, Level::None, "hidden"),
        ] {
            let side = side(&[("A", Level::Body)], accounts);
            let stand = side.judge(&work, &FolderName::new(folder).unwrap(), &facts, 0);
            assert_eq!(
                (stand.level, stand.why().as_str()),
                (level, why),
                "{folder}"
            );
        }
    }

    #[test]
    fn what_only_one_has_is_named() {
        let before = side(&[("A", Level::Body), ("B", Level::Body)], &["work", "home"]);
        let mut after = side(&[("A", Level::Full), ("C", Level::Body)], &["work"]);
        after.callers.insert("bot".to_owned());
        let lone = Lone::of(&before, &after);
        assert_eq!(
            lone.only_before,
            [
                "account home",
                "folder work / B",
                "folder work / B: mark_seen"
            ]
        );
        assert_eq!(
            lone.only_after,
            [
                "caller bot",
                "folder work / C",
                "folder work / C: mark_seen"
            ]
        );
    }
}
