//! Configuration: what an operator set, checked whole before anything starts.

mod audit;
mod env;

use std::fmt;
use std::path::PathBuf;

use ::audit::Keeping;
use mail::AccountId;
use sources::imap;

pub(crate) use env::from_environment;

/// A configuration that holds together.
#[derive(Debug)]
pub(crate) struct Config {
    pub accounts: Vec<Account>,
    pub errors: ErrorStyle,
    /// What is done with the audit log.
    pub audit: Keeping,
}

#[derive(Debug)]
pub(crate) struct Account {
    pub id: AccountId,
    pub store: Store,
}

#[derive(Debug)]
pub(crate) enum Store {
    Imap(Box<imap::Settings>),
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

impl Problems {
    /// The variables that are wrong, without a word about their values.
    pub(crate) fn variables(&self) -> Vec<String> {
        let name = |problem: &String| problem.split(' ').next().map(str::to_owned);
        let is_variable = |word: &String| {
            word.bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
        };
        let short = |word: &String| word.len() <= 128;
        let names = self.0.iter().filter_map(name).filter(is_variable);
        let mut names: Vec<String> = names.filter(short).take(100).collect();
        names.dedup();
        names
    }
}

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
