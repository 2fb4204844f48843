//! The configuration directory: `accounts.yaml`, `callers.yaml` and `policies/*.yaml`, read strictly and as a whole.
//!
//! Every problem is found, not just the first. A directory with a problem is not used at all.

mod accounts;
mod callers;
mod imap;
mod init;
mod keeping;
mod keys;
mod ledger;
mod limits;
mod oauth;
mod paths;
mod policies;
mod reader;
mod scalar;
mod schema;
mod secrets;
mod shape;
mod sheet;
mod tokens;
mod vouching;
mod yaml;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use audit::Keeping;
use mail::UncertainText;
use policy::Policy;
use sha2::{Digest as _, Sha256};

pub(crate) use callers::{CallerAuth, CallerConfig, Token, TokenDigest, Toolset};
pub(super) use init::{PASSWORD, init};
pub(super) use keeping::log_directory;
pub(super) use ledger::ledger_place;
pub(super) use schema::{FILES as SCHEMAS, Schema};
pub(crate) use vouching::{Vouchee, Vouching};

use self::secrets::SecretStore;
use super::problem::{Problem, Problems};
use super::{Account, Changes, ErrorStyle, TextStyle, env};
use policies::Policies;
use reader::Reader;
use sheet::Sheet;

/// A directory that holds together.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// In the order in which they were written.
    pub accounts: Vec<Account>,
    pub errors: ErrorStyle,
    pub text: TextStyle,
    pub uncertain_text: UncertainText,
    /// What is done with the audit log.
    pub audit: Keeping,
    /// Where it is, if not where it always is.
    pub audit_directory: Option<PathBuf>,
    pub changes: Changes,
    /// Calls under way at a time, if that was said.
    pub calls_at_once: Option<usize>,
    pub callers: Vec<CallerConfig>,
    /// Whose tokens they may bring besides ours.
    pub vouching: Option<Vouching>,
    /// All of them, of no caller too.
    pub policies: Vec<Arc<Policy>>,
    /// What is allowed and probably not meant.
    pub warnings: Vec<String>,
    /// Accounts and callers that are not served because a secret cannot be read: which, why, and what to do.
    pub unavailable: Vec<String>,
    /// Which contents this is: the same for the same files.
    pub version: String,
}

/// The environment. Its values are secrets, so it is not printed.
pub(super) struct Variables {
    set: BTreeMap<OsString, OsString>,
    missing: Missing,
}

/// What a secret is that is not found in this environment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Missing {
    /// Its account or caller is unavailable; that of a refresh token shows when it is needed.
    Told,
    /// A problem, that of a refresh token too; one that is not there yet is a warning.
    Sought,
    /// The name of its variable in its place: what is read so is looked at, and never served.
    Assumed,
}

impl Variables {
    pub(super) fn get(&self, name: &str) -> Option<&OsStr> {
        let value = self.set.get(OsStr::new(name))?;
        Some(value.as_os_str())
    }
}

/// Reads a directory. `variables` is usually `std::env::vars_os()`: secrets and what tunes connections stand there.
pub(crate) fn load(
    dir: &Path,
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Loaded, Problems> {
    load_with(dir, variables, Missing::Told)
}

/// The same, for somebody who wants to know everything: each refresh token is looked for.
pub(crate) fn load_to_check(
    dir: &Path,
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Loaded, Problems> {
    load_with(dir, variables, Missing::Sought)
}

/// Which contents a directory has, if they hold together, for somebody who may not have its secrets in the
/// environment.
pub(super) fn version_without_secrets(
    dir: &Path,
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<String, Problems> {
    load_with(dir, variables, Missing::Assumed).map(|loaded| loaded.version)
}

fn load_with(
    dir: &Path,
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    missing: Missing,
) -> Result<Loaded, Problems> {
    let variables = Variables {
        set: variables.into_iter().collect(),
        missing,
    };
    let (wide, mut problems) = env::beside_directory(variables.set.clone());
    let (mut warnings, mut unavailable) = (Vec::new(), Vec::new());
    if !dir.is_dir() {
        problems.push(Problem::whole(format!(
            "the configuration directory {} is not there; `mailwarden config init {0}` makes one",
            dir.display()
        )));
        return Err(Problems(problems));
    }
    // Paths in it must mean the same wherever the program goes.
    let dir = &std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    for name in [".", "policies"] {
        let about = dir.join(name).metadata();
        if about.is_ok_and(|about| sheet::is_open_to_all(&about)) {
            problems.push(Problem::file(name, sheet::OPEN_TO_ALL));
        }
    }
    let mut files = Files::new(dir);
    let accounts_sheet = files.sheet("accounts.yaml", &mut problems);
    let callers_sheet = files.sheet("callers.yaml", &mut problems);
    let around = accounts::Around {
        dir,
        variables: &variables,
        wide: &wide,
    };
    let read = accounts_sheet.map(|sheet| {
        let mut reader = Reader::new(&sheet, &keys::ACCOUNTS_FILE);
        let read = accounts::read(&mut reader, &around);
        unavailable.extend(reader.take_unavailable());
        reader.finish(&mut problems, &mut warnings);
        read
    });
    let ids = read.as_ref().and_then(|read| read.ids.as_deref());
    let store = read
        .as_ref()
        .map_or(&SecretStore::Broken, |read| &read.store);

    // Callers name policies, so those are read first; they are told of last, being most.
    let mut policies = Policies::default();
    let (mut later, mut later_warnings) = (Vec::new(), Vec::new());
    let names = policies::files(dir, &mut later);
    if names.is_none() {
        policies.miss_one();
    }
    for name in names.unwrap_or_default() {
        match files.sheet(&name, &mut later) {
            Some(sheet) => {
                policies::read(&sheet, ids, &mut policies, &mut later, &mut later_warnings);
            }
            None => policies.miss_one(),
        }
    }
    let mut callers = Vec::new();
    let mut vouching = None;
    if let Some(sheet) = callers_sheet {
        let mut reader = Reader::new(&sheet, &keys::CALLERS_FILE);
        let around = limits::Around { accounts: ids };
        vouching = vouching::read(&mut reader, dir);
        let vouching = vouching.as_ref();
        callers = callers::read(&mut reader, &policies, store, &variables, around, vouching);
        unavailable.extend(reader.take_unavailable());
        reader.finish(&mut problems, &mut warnings);
    }
    problems.append(&mut later);
    warnings.append(&mut later_warnings);
    warnings.extend(unused(&policies, &callers));
    match read {
        Some(read) if problems.is_empty() => Ok(Loaded {
            accounts: read.accounts,
            errors: read.errors,
            text: read.text,
            uncertain_text: read.uncertain_text,
            audit: read.audit,
            audit_directory: read.audit_directory,
            changes: Changes {
                writes: wide.gate.beside_directory(),
                deletes: wide.deletes,
                settle: wide.settle,
                ledger: read.ledger,
            },
            calls_at_once: wide.calls_at_once,
            callers,
            vouching,
            policies: policies.iter().map(|(_, policy)| policy.clone()).collect(),
            warnings,
            unavailable,
            version: files.version(),
        }),
        _ => Err(Problems(problems)),
    }
}

fn unused(policies: &Policies, callers: &[CallerConfig]) -> Vec<String> {
    let used = |policy: &Arc<Policy>| {
        callers
            .iter()
            .any(|caller| Arc::ptr_eq(&caller.policy, policy))
    };
    let unused = policies.iter().filter(|(_, policy)| !used(policy));
    let line = |(file, policy): (&str, &Arc<Policy>)| {
        format!("{file}: no caller has the policy '{}'", policy.name())
    };
    unused.map(line).collect()
}

/// The files as they are read, and a digest over all of them.
struct Files<'a> {
    dir: &'a Path,
    digest: Sha256,
}

impl<'a> Files<'a> {
    fn new(dir: &'a Path) -> Self {
        let digest = Sha256::new();
        Self { dir, digest }
    }

    fn sheet(&mut self, name: &str, problems: &mut Vec<Problem>) -> Option<Sheet> {
        match Sheet::read(self.dir, name) {
            Ok(sheet) => {
                for part in [name, &sheet.text] {
                    self.digest.update((part.len() as u64).to_be_bytes());
                    self.digest.update(part.as_bytes());
                }
                Some(sheet)
            }
            Err(problem) => {
                problems.push(problem);
                None
            }
        }
    }

    /// Twelve hexadecimal digits tell configurations apart.
    fn version(self) -> String {
        let digest = self.digest.finalize();
        let bytes = digest.iter().take(6);
        bytes.map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests;
