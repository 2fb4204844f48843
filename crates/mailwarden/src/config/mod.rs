//! Configuration: what an operator set, checked whole before anything starts.

mod audit;
mod changes;
pub(crate) mod dir;
mod env;
pub(crate) mod identity;
mod problem;
mod reload;
mod token;
pub(crate) mod verb;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::audit::Keeping;
use gateway::{Provider, Toolset};
use mail::{AccountId, UncertainText};
use sources::{UnavailableSource, imap};

pub(crate) use changes::{Changes, LedgerPlace, ledger_place};
pub(crate) use env::from_environment;
pub(crate) use problem::{Problem, Problems, Said, Setting};

use crate::state;

/// Names the configuration directory, unless the command line does.
const DIRECTORY: &str = "IMAP_MCP_CONFIG_DIR";
const TOOLSETS: Setting = Setting {
    option: "--toolsets",
    variable: "MAILWARDEN_TOOLSETS",
};

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
    pub callers: Callers,
    /// Whose access tokens they may bring.
    pub vouching: Option<dir::Vouching>,
    pub errors: ErrorStyle,
    pub text: TextStyle,
    /// What becomes of text that a person may not see, whatever a caller's policy says.
    pub uncertain_text: UncertainText,
    /// What is done with the audit log.
    pub audit: Keeping,
    /// Where it is, if not where it always is.
    pub audit_directory: Option<PathBuf>,
    pub changes: Changes,
    /// Calls under way at a time, if that was said.
    pub calls_at_once: Option<usize>,
    /// Accounts and callers that are not served because a secret cannot be read.
    pub unavailable: Vec<String>,
    /// Which contents of a configuration directory this is.
    pub version: Option<String>,
}

/// Who is let in.
#[derive(Debug)]
pub(crate) enum Callers {
    /// The person who set the environment, and nobody else.
    Owner,
    /// Those of a configuration directory; none, if it lists none.
    Listed(Vec<dir::CallerConfig>),
}

/// The sets of tools that the command line or the environment chooses.
pub(crate) fn toolsets(
    option: Option<&str>,
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Option<Vec<Toolset>>, Problems> {
    let set = || {
        let mut variables = variables.into_iter();
        let (_, value) = variables.find(|(name, _)| name == TOOLSETS.variable)?;
        (!value.is_empty()).then(|| value.to_string_lossy().into_owned())
    };
    let Some(text) = option.map(str::to_owned).or_else(set) else {
        return Ok(None);
    };
    let named = |name: &str| Toolset::ALL.into_iter().find(|set| set.name() == name);
    let chosen: Option<Vec<Toolset>> = text.split(',').map(|name| named(name.trim())).collect();
    chosen.map(Some).ok_or_else(|| {
        let what = "must be one or more of imap, threads and gateway, with commas between them";
        let said = Said::of(option.as_ref());
        Problems(vec![Problem::setting(TOOLSETS, said, what)])
    })
}

/// From the directory, if there is one, else from the environment.
pub(crate) fn read(
    directory: Option<&Path>,
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Config, Problems> {
    match directory {
        Some(dir) => dir::load(dir, variables).map(Config::from),
        None => from_environment(variables),
    }
}

/// Where the audit log of a configuration is, also of one that is refused: what is wrong elsewhere does not matter.
pub(crate) fn log_directory(directory: Option<&Path>) -> Result<Option<PathBuf>, Problems> {
    let said = directory.map(dir::log_directory).transpose()?;
    Ok(said.flatten().or_else(state::audit_directory))
}

impl From<dir::Loaded> for Config {
    fn from(loaded: dir::Loaded) -> Self {
        for warning in &loaded.warnings {
            tracing::warn!("{warning}");
        }
        for unavailable in &loaded.unavailable {
            crate::complain(unavailable);
        }
        Self {
            accounts: loaded.accounts,
            callers: Callers::Listed(loaded.callers),
            vouching: loaded.vouching,
            errors: loaded.errors,
            text: loaded.text,
            uncertain_text: loaded.uncertain_text,
            audit: loaded.audit,
            audit_directory: loaded.audit_directory,
            changes: loaded.changes,
            calls_at_once: loaded.calls_at_once,
            unavailable: loaded.unavailable,
            version: Some(loaded.version),
        }
    }
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
    Apple(AppleStore),
    /// An IMAP account whose secret cannot be read.
    Unavailable(Arc<UnavailableSource>),
}

/// A store of Apple Mail, and which of its accounts is meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct AppleStore {
    pub path: PathBuf,
    /// By its name, address or identifier; all of them where none is named.
    pub account: Option<String>,
}

/// What the text block of an answer holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum TextStyle {
    /// The answer in indented lines.
    #[default]
    Readable,
    /// The structured content, serialized, for clients that read nothing else.
    Json,
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
