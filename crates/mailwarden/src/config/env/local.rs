//! Stores on this machine: a Maildir, and what Apple Mail keeps.

use std::path::PathBuf;

use super::{APPLE, MAILDIR, Reader};
use crate::config::{Account, AppleStore, Store};

impl Reader {
    pub(super) fn local_stores(&mut self, accounts: &mut Vec<Account>) {
        for (name, path) in std::mem::take(&mut self.maildir) {
            let variable = format!("{MAILDIR}{name}_PATH");
            if path.is_empty() {
                self.problem(&variable, "is empty; set the directory");
            } else if !PathBuf::from(&path).is_absolute() {
                self.problem(&variable, "must be a whole path, beginning at the root");
            } else {
                self.add(
                    accounts,
                    &name,
                    &variable,
                    Store::Maildir(PathBuf::from(path)),
                );
            }
        }
        for (name, (path, account)) in std::mem::take(&mut self.apple) {
            let variable = format!("{APPLE}{name}_PATH");
            let path = PathBuf::from(path.unwrap_or_default());
            if path.as_os_str().is_empty() {
                self.problem(
                    &variable,
                    "is empty; set the directory, such as /Users/anna/Library/Mail",
                );
            } else if !path.is_absolute() {
                self.problem(&variable, "must be a whole path, beginning at the root");
            } else if account.as_ref().is_some_and(|account| account.is_empty()) {
                self.problem(
                    &format!("{APPLE}{name}_ACCOUNT"),
                    "is empty; name one account of the store, or leave it out for all of them",
                );
            } else {
                let store = Store::Apple(AppleStore { path, account });
                self.add(accounts, &name, &variable, store);
            }
        }
    }
}
