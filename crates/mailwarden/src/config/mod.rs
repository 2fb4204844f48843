//! Configuration: what an operator set, checked whole before anything starts.

mod env;

use std::fmt;
use std::path::PathBuf;

use mail::AccountId;
use sources::imap::Settings;

pub(crate) use env::from_environment;

/// A configuration that holds together.
#[derive(Debug)]
pub(crate) struct Config {
    pub accounts: Vec<Account>,
    pub errors: ErrorStyle,
}

#[derive(Debug)]
pub(crate) struct Account {
    pub id: AccountId,
    pub store: Store,
}

#[derive(Debug)]
pub(crate) enum Store {
    Imap(Box<Settings>),
    Maildir(PathBuf),
}

/// How hard errors travel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum ErrorStyle {
    /// As JSON-RPC errors.
    #[default]
    Protocol,
    /// As tool results, for hosts that hide protocol errors from the model.
    Result,
}

/// Everything that is wrong, each in one line that names its variable.
#[derive(Debug, Default, PartialEq, Eq, thiserror::Error)]
pub(crate) struct Problems(pub Vec<String>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            f.write_str(problem)?;
        }
        Ok(())
    }
}
