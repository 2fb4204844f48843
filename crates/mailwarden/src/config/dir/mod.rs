//! The configuration directory: `accounts.yaml`, `callers.yaml` and `policies/*.yaml`, read strictly and as a whole.
//!
//! Every problem is found, not just the first. A directory with a problem is not used at all.

mod accounts;
mod callers;
mod keys;
mod paths;
mod policies;
mod reader;
mod scalar;
mod secrets;
mod shape;
mod sheet;
mod yaml;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use audit::Keeping;
use policy::Policy;
use sha2::{Digest as _, Sha256};

pub(super) use callers::digest as token_digest;
pub(crate) use callers::{CallerAuth, CallerConfig, Toolset};

use super::problem::{Problem, Problems};
use super::{Account, ErrorStyle, env};
use policies::Policies;
use reader::Reader;
use sheet::Sheet;

/// A directory that holds together.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// In the order in which they were written.
    pub accounts: Vec<Account>,
    pub errors: ErrorStyle,
    /// What is done with the audit log.
    pub audit: Keeping,
    /// Where it is, if not where it always is.
    pub audit_directory: Option<PathBuf>,
    pub wal: Option<PathBuf>,
    pub callers: Vec<CallerConfig>,
    /// All of them, of no caller too.
    pub policies: Vec<Arc<Policy>>,
    /// What is allowed and probably not meant.
    pub warnings: Vec<String>,
    /// Which contents this is: the same for the same files.
    pub version: String,
}

/// The environment, as far as it is asked for by name.
#[derive(Debug, Default)]
pub(super) struct Variables(BTreeMap<OsString, OsString>);

impl Variables {
    pub(super) fn get(&self, name: &str) -> Option<&OsStr> {
        let value = self.0.get(OsStr::new(name))?;
        Some(value.as_os_str())
    }
}

impl FromIterator<(OsString, OsString)> for Variables {
    fn from_iter<I: IntoIterator<Item = (OsString, OsString)>>(variables: I) -> Self {
        Self(variables.into_iter().collect())
    }
}

/// Reads a directory. `variables` is usually `std::env::vars_os()`: secrets and what tunes connections stand there.
pub(crate) fn load(
    dir: &Path,
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Loaded, Problems> {
    let variables: Variables = variables.into_iter().collect();
    let (wide, mut problems) = env::beside_directory(variables.0.clone());
    let mut warnings = Vec::new();
    if !dir.is_dir() {
        problems.push(Problem::whole(format!(
            "the configuration directory {} is not there; `mailwarden config init {0}` makes one",
            dir.display()
        )));
        return Err(Problems(problems));
    }
    let mut digest = Sha256::new();
    let mut sheet = |name: &str, problems: &mut Vec<Problem>| match Sheet::read(dir, name) {
        Ok(sheet) => {
            digest.update(name.as_bytes());
            digest.update((sheet.text.len() as u64).to_be_bytes());
            digest.update(sheet.text.as_bytes());
            Some(sheet)
        }
        Err(problem) => {
            problems.push(problem);
            None
        }
    };
    let accounts_sheet = sheet("accounts.yaml", &mut problems);
    let callers_sheet = sheet("callers.yaml", &mut problems);
    let policy_files = policies::files(dir, &mut problems);
    let policy_sheets: Vec<Sheet> = policy_files
        .iter()
        .filter_map(|name| sheet(name, &mut problems))
        .collect();
    let (Some(accounts_sheet), Some(callers_sheet)) = (accounts_sheet, callers_sheet) else {
        return Err(Problems(problems));
    };

    let around = accounts::Around {
        dir,
        variables: &variables,
        wide: &wide,
    };
    let mut reader = Reader::new(&accounts_sheet, &keys::ACCOUNTS_FILE);
    let read = accounts::read(&mut reader, &around);
    reader.finish(&mut problems, &mut warnings);

    let mut policies = Policies::default();
    let mut later = Vec::new();
    for sheet in &policy_sheets {
        policies::read(sheet, &read.ids, &mut policies, &mut later, &mut warnings);
    }
    let mut reader = Reader::new(&callers_sheet, &keys::CALLERS_FILE);
    let callers = callers::read(&mut reader, &policies, &read.store, &variables);
    reader.finish(&mut problems, &mut warnings);
    problems.append(&mut later);
    for (file, policy) in policies.iter() {
        let used = callers
            .iter()
            .any(|caller| Arc::ptr_eq(&caller.policy, policy));
        if !used {
            let name = policy.name();
            warnings.push(format!("{file}: no caller has the policy '{name}'"));
        }
    }
    if !problems.is_empty() {
        return Err(Problems(problems));
    }
    Ok(Loaded {
        accounts: read.accounts,
        errors: read.errors,
        audit: read.audit,
        audit_directory: read.audit_directory,
        wal: read.wal,
        callers,
        policies: policies
            .iter()
            .map(|(_, policy)| Arc::clone(policy))
            .collect(),
        warnings,
        version: short(&digest.finalize()),
    })
}

/// Twelve hexadecimal digits tell configurations apart.
fn short(digest: &[u8]) -> String {
    let bytes = digest.iter().take(6);
    bytes.map(|byte| format!("{byte:02x}")).collect()
}
