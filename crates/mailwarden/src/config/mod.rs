//! Configuration: what an operator set, checked whole before anything starts.

mod audit;
pub(crate) mod dir;
mod env;
pub(crate) mod identity;
mod problem;
pub(crate) mod verb;

use std::path::{Path, PathBuf};

use ::audit::Keeping;
use mail::AccountId;
use sources::imap;

pub(crate) use env::from_environment;
pub(crate) use problem::{Problem, Problems};

/// Names the configuration directory, unless the command line does.
const DIRECTORY: &str = "IMAP_MCP_CONFIG_DIR";

/// The configuration directory, if one is given: `option` is that of the command line.
pub(crate) fn directory(option: Option<&Path>) -> Option<PathBuf> {
    let set = || std::env::var_os(DIRECTORY).filter(|value| !value.is_empty());
    option
        .map(Path::to_owned)
        .or_else(|| set().map(PathBuf::from))
}

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
    pub provider: Provider,
    pub store: Store,
}

#[derive(Debug)]
pub(crate) enum Store {
    Imap(Box<imap::Settings>),
    Maildir(PathBuf),
    /// It is configured, and there is no way to it yet.
    Unavailable {
        why: String,
    },
}

/// What kind of mail store an account is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Provider {
    /// Any IMAP server.
    Standard,
    /// Gmail, whose folders are labels.
    Google,
    AppleMail,
    Maildir,
}

impl Provider {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Standard => "imap-standard",
            Self::Google => "google",
            Self::AppleMail => "apple-mail",
            Self::Maildir => "maildir",
        }
    }
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
