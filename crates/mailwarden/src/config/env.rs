//! Configuration from the environment. Every problem is found, not just the first.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

use audit::Keeping;
use gateway::Deletes;
use ledger::Server;
use mail::{AccountId, UncertainText};
use secrecy::SecretString;

use super::changes::{Changes, Gate, LedgerPlace};
use super::identity::{CALLER_ID, CALLER_TOKEN};
use super::{Account, Config, ErrorStyle, Problem, Problems, Provider, Store, TextStyle};

mod imap;
mod local;
mod pass;
mod wide;
mod words;

pub(super) use imap::{flaw_of_host, is_this_machine, is_token};
pub(super) use wide::Shared;

const IMAP: &str = "MAIL_IMAP_";
const MAILDIR: &str = "MAIL_MAILDIR_";
const APPLE: &str = "MAIL_APPLE_";
const OURS: &str = "MAILWARDEN_";
const UNCERTAIN_TEXT: &str = "MAILWARDEN_UNCERTAIN_TEXT";
const TEXT: &str = "MAILWARDEN_TEXT";
const CALLS_AT_ONCE: &str = "MAILWARDEN_MAX_CONCURRENT_CALLS";
const GATEWAY: &str = "IMAP_MCP_";
/// Variables that belong to a configuration directory. Not all have a meaning yet.
const OF_GATEWAY: [&str; 7] = [
    "CONFIG_DIR",
    "CALLER_ID",
    "CALLER_TOKEN",
    "HTTP_HOST",
    "HTTP_PORT",
    "APPEND_TIMEOUT",
    "OAUTH_CLIENT_ID",
];

/// Variables of `MAIL_IMAP_` that belong to no account.
const SERVER_WIDE: [&str; 10] = [
    "CA_CERT_PATH",
    "ALLOW_PLAINTEXT",
    "MAX_CONNECTIONS",
    "CONNECT_TIMEOUT_MS",
    "GREETING_TIMEOUT_MS",
    "SOCKET_TIMEOUT_MS",
    "SETTLE_TIMEOUT_MS",
    "WRITE_ENABLED",
    "DELETE",
    "ERRORS",
];
/// Variables that are read elsewhere, before or after this.
const PROCESS_WIDE: &[&str] = &[
    "MAILWARDEN_HTTP_ALLOWED_HOSTS",
    "MAILWARDEN_HTTP_ALLOWED_ORIGINS",
    "MAILWARDEN_HTTP_BEHIND_PROXY",
    "MAILWARDEN_HTTP_SESSIONS",
    "MAILWARDEN_HTTP_TLS_CERT",
    "MAILWARDEN_HTTP_TLS_KEY",
    "MAILWARDEN_HTTP_TOKEN",
    "MAILWARDEN_LOG",
    "MAILWARDEN_LOG_FORMAT",
    "MAILWARDEN_METRICS_ADDR",
    "MAILWARDEN_REPLICA",
    "MAILWARDEN_STATE_DIR",
    super::TOOLSETS.variable,
];
pub(super) const LEDGER: &str = "MAILWARDEN_LEDGER";
pub(super) const LEDGER_PASSWORD: &str = "MAILWARDEN_LEDGER_PASSWORD";
const PER_ACCOUNT: [&str; 8] = [
    "HOST",
    "PORT",
    "SECURE",
    "USER",
    "PASS",
    "PASS_FILE",
    "PASS_COMMAND",
    "AUTHSERV_ID",
];

/// Reads `variables`, usually `std::env::vars_os()`.
pub(crate) fn from_environment(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Config, Problems> {
    let mut reader = Reader::of(variables);
    reader.refuse_unknown();
    // INVARIANT: who says who the caller is wants a policy to hold, and is not served as the owner.
    for name in [CALLER_ID, CALLER_TOKEN] {
        if reader.gateway.contains_key(name) {
            reader.problem(
                name,
                "names a caller of a configuration directory, and none is given; set IMAP_MCP_CONFIG_DIR too",
            );
        }
    }
    reader.config()
}

/// What holds for all accounts, and the beginnings of what a file may say too.
pub(super) struct Wide {
    pub shared: Shared,
    pub errors: Option<ErrorStyle>,
    pub text: Option<TextStyle>,
    pub uncertain_text: UncertainText,
    pub audit: Keeping,
    pub gate: Gate,
    pub deletes: Deletes,
    pub settle: Duration,
    pub ledger: Option<Server>,
    pub ledger_password: Option<SecretString>,
    pub calls_at_once: Option<usize>,
}

/// Where changes are written down, as far as variables say it.
pub(super) fn ledger_place(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<LedgerPlace, Problems> {
    let mut reader = Reader {
        problems: Vec::new(),
        ..Reader::of(variables)
    };
    let place = reader.ledger_place();
    match reader.problems.is_empty() {
        true => Ok(place),
        false => Err(Problems(reader.problems)),
    }
}

/// Reads `variables` beside a configuration directory, in which accounts stand.
pub(super) fn beside_directory(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> (Wide, Vec<Problem>) {
    let mut reader = Reader::of(variables);
    reader.refuse_unknown();
    for name in reader.account_variables() {
        reader.problem(
            &name,
            "configures an account, and so does the configuration directory; remove the variable, or do not give a directory",
        );
    }
    let wide = Wide {
        shared: reader.shared(),
        errors: reader.errors(),
        text: reader.text_style(),
        uncertain_text: reader.uncertain_text(),
        audit: super::audit::read(&reader.audit, &mut reader.problems),
        gate: reader.gate(),
        deletes: reader.deletes(),
        settle: reader.settle(),
        ledger: reader.server(),
        ledger_password: reader.ledger_password.clone(),
        calls_at_once: reader.calls_at_once(),
    };
    (wide, reader.problems)
}

#[derive(Default)]
struct Reader {
    wide: BTreeMap<String, String>,
    /// By account name as spelled, then by suffix.
    imap: BTreeMap<String, BTreeMap<String, String>>,
    maildir: BTreeMap<String, String>,
    /// The path, and which account.
    apple: BTreeMap<String, (Option<String>, Option<String>)>,
    audit: BTreeMap<String, String>,
    /// The `IMAP_MCP_` variables that are set.
    gateway: BTreeMap<String, String>,
    ledger: Option<String>,
    ledger_password: Option<SecretString>,
    calls_at_once: Option<String>,
    uncertain_text: Option<String>,
    text: Option<String>,
    /// Where programs are.
    search: Option<OsString>,
    problems: Vec<Problem>,
}

impl Reader {
    fn of(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let mut reader = Self::default();
        for (name, value) in variables {
            if name == "PATH" {
                reader.search = Some(value);
                continue;
            }
            let name = name.to_string_lossy().into_owned();
            match value.into_string() {
                Ok(value) => reader.sort(name, value),
                Err(_)
                    if [IMAP, MAILDIR, APPLE]
                        .iter()
                        .any(|own| name.starts_with(own)) =>
                {
                    reader.problem(&name, "is not valid UTF-8");
                }
                Err(_) => {}
            }
        }
        reader
    }

    /// Refuses names that begin like ours and are none.
    fn refuse_unknown(&mut self) {
        let is_known = |name: &str| {
            let rest = name.strip_prefix(GATEWAY).unwrap_or_default();
            rest.starts_with("SECRET__") || OF_GATEWAY.contains(&rest)
        };
        let names = self.gateway.keys().filter(|name| !is_known(name));
        for name in names.cloned().collect::<Vec<_>>() {
            self.problem(
                &name,
                "is not a known variable; see docs/config.md for those there are",
            );
        }
    }

    fn account_variables(&self) -> Vec<String> {
        let imap = self.imap.iter().flat_map(|(account, fields)| {
            let name = move |suffix: &String| format!("{IMAP}{account}_{suffix}");
            fields.keys().map(name)
        });
        let maildir = self.maildir.keys();
        let apple = self.apple.keys();
        imap.chain(maildir.map(|account| format!("{MAILDIR}{account}_PATH")))
            .chain(apple.map(|account| format!("{APPLE}{account}_PATH")))
            .collect()
    }

    fn sort(&mut self, name: String, value: String) {
        if let Some(rest) = name.strip_prefix(MAILDIR) {
            match rest.strip_suffix("_PATH") {
                Some(account) if !account.is_empty() => {
                    self.maildir.insert(account.to_owned(), value);
                }
                _ => self.problem(
                    &name,
                    "is not a known variable; a Maildir is set by MAIL_MAILDIR_<ACCOUNT>_PATH",
                ),
            }
            return;
        }
        if let Some(rest) = name.strip_prefix(APPLE) {
            let part = |suffix| {
                rest.strip_suffix(suffix)
                    .filter(|name: &&str| !name.is_empty())
            };
            match (part("_PATH"), part("_ACCOUNT")) {
                (Some(account), _) => self.apple.entry(account.to_owned()).or_default().0 = Some(value),
                (None, Some(account)) => self.apple.entry(account.to_owned()).or_default().1 = Some(value),
                (None, None) => self.problem(
                    &name,
                    "is not a known variable; a store of Apple Mail is set by MAIL_APPLE_<ACCOUNT>_PATH",
                ),
            }
            return;
        }
        if super::audit::NAMES.contains(&name.as_str()) {
            self.audit.insert(name, value);
            return;
        }
        if [LEDGER, LEDGER_PASSWORD].contains(&name.as_str()) {
            match name.as_str() {
                LEDGER => self.ledger = Some(value).filter(|value| !value.is_empty()),
                _ => self.ledger_password = Some(value.into()),
            }
            return;
        }
        if name == UNCERTAIN_TEXT {
            self.uncertain_text = Some(value).filter(|value| !value.is_empty());
            return;
        }
        if name == TEXT {
            self.text = Some(value).filter(|value| !value.is_empty());
            return;
        }
        if name == CALLS_AT_ONCE {
            self.calls_at_once = Some(value);
            return;
        }
        if name.starts_with(OURS) && !PROCESS_WIDE.contains(&name.as_str()) {
            self.problem(
                &name,
                "is not a known variable; see docs/config.md for those there are",
            );
            return;
        }
        if name.starts_with(GATEWAY) && !value.is_empty() {
            self.gateway.insert(name, value);
            return;
        }
        let Some(rest) = name.strip_prefix(IMAP) else {
            return;
        };
        if SERVER_WIDE.contains(&rest) {
            self.wide.insert(rest.to_owned(), value);
            return;
        }
        let split = PER_ACCOUNT.iter().find_map(|suffix| {
            let account = rest.strip_suffix(suffix)?.strip_suffix('_')?;
            Some((account, *suffix))
        });
        match split {
            Some((account, suffix)) if !account.is_empty() => {
                let fields = self.imap.entry(account.to_owned()).or_default();
                fields.insert(suffix.to_owned(), value);
            }
            _ => {
                let hint = match nearest(rest) {
                    Some(known) => format!("is not a known variable; did you mean {known}?"),
                    None => {
                        "is not a known variable; see docs/config.md for those there are".to_owned()
                    }
                };
                self.problem(&name, &hint);
            }
        }
    }

    fn problem(&mut self, name: &str, what: &str) {
        self.problems.push(Problem::variable(name, what));
    }

    fn server(&mut self) -> Option<Server> {
        let address = self.ledger.clone()?;
        match Server::parse(&address) {
            Ok(server) => Some(server),
            Err(bad) => {
                self.problem(LEDGER, &format!("{bad}; {}", bad.hint));
                None
            }
        }
    }

    fn ledger_place(&mut self) -> LedgerPlace {
        match self.server() {
            Some(server) => LedgerPlace::on(server, self.ledger_password.as_ref()),
            None => LedgerPlace::State,
        }
    }

    fn config(mut self) -> Result<Config, Problems> {
        let shared = self.shared();
        let mut accounts: Vec<Account> = Vec::new();
        for (name, fields) in std::mem::take(&mut self.imap) {
            if let Some(settings) = self.imap_account(&name, &fields, &shared) {
                let variable = format!("{IMAP}{name}_HOST");
                self.add(
                    &mut accounts,
                    &name,
                    &variable,
                    Store::Imap(Box::new(settings)),
                );
            }
        }
        self.local_stores(&mut accounts);
        let errors = self.errors().unwrap_or_default();
        let text = self.text_style().unwrap_or_default();
        let audit = super::audit::read(&self.audit, &mut self.problems);
        let changes = Changes {
            writes: self.gate().without_directory(),
            deletes: self.deletes(),
            settle: self.settle(),
            ledger: self.ledger_place(),
        };
        let calls_at_once = self.calls_at_once();
        let uncertain_text = self.uncertain_text();
        if accounts.is_empty() && self.problems.is_empty() {
            self.problems.push(Problem::whole(
                "no account is configured; set MAIL_IMAP_DEFAULT_HOST, MAIL_IMAP_DEFAULT_USER and MAIL_IMAP_DEFAULT_PASS",
            ));
        }
        if !self.problems.is_empty() {
            return Err(Problems(self.problems));
        }
        // `default` first: it is what a call without account_id means.
        accounts.sort_by_key(|account| (account.id.as_str() != "default", account.id.clone()));
        Ok(Config {
            accounts,
            callers: super::Callers::Owner,
            errors,
            text,
            uncertain_text,
            audit,
            audit_directory: None,
            vouching: None,
            changes,
            calls_at_once,
            unavailable: Vec::new(),
            version: None,
        })
    }

    fn add(&mut self, accounts: &mut Vec<Account>, name: &str, variable: &str, store: Store) {
        let Ok(id) = AccountId::new(name.to_lowercase()) else {
            let what =
                format!("names no account; '{name}' must be 1 to 64 letters, digits, '_' or '-'");
            self.problem(variable, &what);
            return;
        };
        if accounts.iter().any(|account| account.id == id) {
            self.problems.push(Problem::whole(format!(
                "the account '{id}' is configured twice; rename one of them"
            )));
            return;
        }
        let provider = match store {
            Store::Maildir(_) => Provider::Maildir,
            Store::Apple(_) => Provider::AppleMail,
            Store::Imap(_) | Store::Unavailable(_) => Provider::Standard,
        };
        accounts.push(Account {
            id,
            provider,
            store,
        });
    }
}

/// The variable that was probably meant.
fn nearest(rest: &str) -> Option<String> {
    const SLIPS: [(&str, &str); 12] = [
        ("PASSWORD", "PASS"),
        ("PASSWD", "PASS"),
        ("PWD", "PASS"),
        ("PASSWORD_FILE", "PASS_FILE"),
        ("PASSWORD_COMMAND", "PASS_COMMAND"),
        ("PASS_CMD", "PASS_COMMAND"),
        ("USERNAME", "USER"),
        ("LOGIN", "USER"),
        ("SERVER", "HOST"),
        ("HOSTNAME", "HOST"),
        ("TLS", "SECURE"),
        ("SSL", "SECURE"),
    ];
    for (slip, known) in SLIPS {
        if rest == slip {
            return Some(format!("{IMAP}DEFAULT_{known}"));
        }
        if let Some(account) = rest.strip_suffix(slip).and_then(|a| a.strip_suffix('_')) {
            return Some(format!("{IMAP}{account}_{known}"));
        }
    }
    PER_ACCOUNT
        .contains(&rest)
        .then(|| format!("{IMAP}DEFAULT_{rest}"))
}

#[cfg(test)]
mod tests;
