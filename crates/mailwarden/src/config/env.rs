//! Configuration from the environment. Every problem is found, not just the first.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use audit::Keeping;
use gateway::Deletes;
use mail::AccountId;
use secrecy::SecretString;
use sources::imap::{Login, Roots, Security, Settings, Timeouts};

use super::changes::{Changes, Gate, LedgerPlace, SETTLE};
use super::identity::{CALLER_ID, CALLER_TOKEN};
use super::{Account, Config, ErrorStyle, Problem, Problems, Provider, Store};

mod local;

const IMAP: &str = "MAIL_IMAP_";
const MAILDIR: &str = "MAIL_MAILDIR_";
const APPLE: &str = "MAIL_APPLE_";
const OURS: &str = "MAILWARDEN_";
const GATEWAY: &str = "IMAP_MCP_";
const APPEND_TIMEOUT: &str = "IMAP_MCP_APPEND_TIMEOUT";
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
const PROCESS_WIDE: [&str; 3] = ["MAILWARDEN_LOG", "MAILWARDEN_STATE_DIR", super::TOOLSETS];
const PER_ACCOUNT: [&str; 6] = ["HOST", "PORT", "SECURE", "USER", "PASS", "AUTHSERV_ID"];

/// Reads `variables`, usually `std::env::vars_os()`.
pub(crate) fn from_environment(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Config, Problems> {
    let mut reader = Reader::of(variables);
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
    pub audit: Keeping,
    pub gate: Gate,
    pub deletes: Deletes,
    pub settle: Duration,
}

/// Reads `variables` beside a configuration directory, in which accounts stand.
pub(super) fn beside_directory(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> (Wide, Vec<Problem>) {
    let mut reader = Reader::of(variables);
    for name in reader.gateway.keys().cloned().collect::<Vec<_>>() {
        if let Some(rest) = name.strip_prefix(GATEWAY)
            && !rest.starts_with("SECRET__")
            && !OF_GATEWAY.contains(&rest)
        {
            reader.problem(
                &name,
                "is not a known variable; see docs/config.md for those there are",
            );
        }
    }
    for name in reader.account_variables() {
        reader.problem(
            &name,
            "configures an account, and so does the configuration directory; remove the variable, or do not give a directory",
        );
    }
    let wide = Wide {
        shared: reader.shared(),
        errors: reader.errors(),
        audit: super::audit::read(&reader.audit, &mut reader.problems),
        gate: reader.gate(),
        deletes: reader.deletes(),
        settle: reader.settle(),
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
    problems: Vec<Problem>,
}

impl Reader {
    fn of(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let mut reader = Self::default();
        for (name, value) in variables {
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
        let audit = super::audit::read(&self.audit, &mut self.problems);
        let changes = Changes {
            writes: self.gate().without_directory(),
            deletes: self.deletes(),
            settle: self.settle(),
            ledger: LedgerPlace::State,
        };
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
            audit,
            audit_directory: None,
            changes,
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
            Store::Imap(_) => Provider::Standard,
        };
        accounts.push(Account {
            id,
            provider,
            store,
        });
    }

    fn imap_account(
        &mut self,
        name: &str,
        fields: &BTreeMap<String, String>,
        shared: &Shared,
    ) -> Option<Settings> {
        let before = self.problems.len();
        let variable = |suffix: &str| format!("{IMAP}{name}_{suffix}");
        let mut required = |suffix: &str| {
            let value = fields.get(suffix).map(String::as_str).unwrap_or_default();
            if value.is_empty() {
                self.problem(
                    &variable(suffix),
                    "is missing; an account needs HOST, USER and PASS",
                );
            } else if value.chars().any(char::is_control) && suffix != "PASS" {
                self.problem(&variable(suffix), "contains control characters");
            }
            value.to_owned()
        };
        let host = required("HOST");
        let user = required("USER");
        let password = required("PASS");
        if password.contains('\0') {
            self.problem(&variable("PASS"), "contains a NUL character");
        }
        if let Some(flaw) = flaw_of_host(&host) {
            let what = format!("{flaw}; a port goes into PORT");
            self.problem(&variable("HOST"), &what);
        }
        let security = self.security(&variable("SECURE"), fields.get("SECURE"), &host, shared);
        let port = match fields.get("PORT").map(|text| text.trim().parse::<u16>()) {
            None if security == Security::Implicit => 993,
            None => 143,
            Some(Ok(port)) if port > 0 => port,
            Some(_) => {
                self.problem(&variable("PORT"), "must be a port number from 1 to 65535");
                0
            }
        };
        let authserv_id = fields.get("AUTHSERV_ID").cloned();
        if authserv_id.as_deref().is_some_and(|id| !is_token(id)) {
            self.problem(
                &variable("AUTHSERV_ID"),
                "must be one word, such as mx.example.com: what Authentication-Results of your server begin with",
            );
        }
        if self.problems.len() > before {
            return None;
        }
        Some(Settings {
            host,
            port,
            security,
            user,
            login: Login::Password(SecretString::from(password)),
            roots: shared.roots.clone(),
            timeouts: shared.timeouts,
            max_connections: shared.max_connections,
            authserv_id,
        })
    }

    fn security(
        &mut self,
        variable: &str,
        value: Option<&String>,
        host: &str,
        shared: &Shared,
    ) -> Security {
        let word = value.map(|value| value.trim().to_ascii_lowercase());
        match word.as_deref() {
            None | Some("true" | "1" | "yes") => Security::Implicit,
            Some("starttls") => Security::StartTls,
            Some("false" | "0" | "no") => {
                if !is_this_machine(host) && !shared.allow_plaintext {
                    self.problem(
                        variable,
                        "is false, and would send the password in the clear to another machine; use true or starttls (or set MAIL_IMAP_ALLOW_PLAINTEXT=true if you must)",
                    );
                }
                Security::Plain
            }
            Some(_) => {
                self.problem(variable, "must be true, starttls or false");
                Security::Implicit
            }
        }
    }

    fn shared(&mut self) -> Shared {
        let default = Timeouts::default();
        let connect = self.milliseconds("CONNECT_TIMEOUT_MS", default.connect);
        let greeting = self.milliseconds("GREETING_TIMEOUT_MS", default.greeting);
        let socket = self.milliseconds("SOCKET_TIMEOUT_MS", default.socket);
        let append = self.append_timeout(default.append);
        Shared {
            roots: self.roots(),
            allow_plaintext: self.boolean("ALLOW_PLAINTEXT"),
            max_connections: self.number("MAX_CONNECTIONS", 1, 16).unwrap_or(4) as usize,
            timeouts: Timeouts {
                connect,
                greeting,
                socket,
                append,
                ..default
            },
        }
    }

    fn roots(&mut self) -> Roots {
        let Some(path) = self.wide.get("CA_CERT_PATH").cloned() else {
            return Roots::system();
        };
        Roots::with_file(&PathBuf::from(&path)).unwrap_or_else(|bad| {
            self.problem("MAIL_IMAP_CA_CERT_PATH", &bad.to_string());
            Roots::system()
        })
    }

    fn boolean(&mut self, name: &str) -> bool {
        let word = self
            .wide
            .get(name)
            .map(|value| value.trim().to_ascii_lowercase());
        match word.as_deref() {
            Some("true" | "1" | "yes") => true,
            None | Some("false" | "0" | "no") => false,
            Some(_) => {
                self.problem(&format!("{IMAP}{name}"), "must be true or false");
                false
            }
        }
    }

    fn gate(&mut self) -> Gate {
        match (
            self.boolean("WRITE_ENABLED"),
            self.wide.get("WRITE_ENABLED"),
        ) {
            (true, _) => Gate::Open,
            (false, Some(_)) => Gate::Closed,
            (false, None) => Gate::Unsaid,
        }
    }

    fn settle(&mut self) -> Duration {
        self.milliseconds("SETTLE_TIMEOUT_MS", SETTLE)
    }

    fn deletes(&mut self) -> Deletes {
        let word = self.wide.get("DELETE");
        let word = word.map(|value| value.trim().to_ascii_lowercase());
        match word.as_deref() {
            None | Some("trash") => Deletes::ToTrash,
            Some("expunge") => Deletes::ForGood,
            Some(_) => {
                self.problem("MAIL_IMAP_DELETE", "must be trash or expunge");
                Deletes::ToTrash
            }
        }
    }

    /// In seconds, unlike the others: it is of another contract.
    fn append_timeout(&mut self, default: Duration) -> Duration {
        let Some(text) = self.gateway.get(APPEND_TIMEOUT) else {
            return default;
        };
        match text.trim().parse::<u64>() {
            Ok(seconds @ 1..=3_600) => Duration::from_secs(seconds),
            _ => {
                self.problem(
                    APPEND_TIMEOUT,
                    "must be a whole number of seconds from 1 to 3600",
                );
                default
            }
        }
    }

    fn milliseconds(&mut self, name: &str, default: Duration) -> Duration {
        let given = self.number(name, 100, 3_600_000);
        given.map_or(default, Duration::from_millis)
    }

    fn number(&mut self, name: &str, low: u64, high: u64) -> Option<u64> {
        let text = self.wide.get(name)?.trim().to_owned();
        match text.parse::<u64>() {
            Ok(number) if (low..=high).contains(&number) => Some(number),
            _ => {
                let what = format!("must be a whole number from {low} to {high}");
                self.problem(&format!("{IMAP}{name}"), &what);
                None
            }
        }
    }

    fn errors(&mut self) -> Option<ErrorStyle> {
        let word = self.wide.get("ERRORS")?.trim().to_ascii_lowercase();
        match word.as_str() {
            "protocol" => Some(ErrorStyle::Protocol),
            "result" => Some(ErrorStyle::Result),
            _ => {
                self.problem("MAIL_IMAP_ERRORS", "must be protocol or result");
                None
            }
        }
    }
}

/// What all accounts have in common.
pub(super) struct Shared {
    pub roots: Roots,
    allow_plaintext: bool,
    pub max_connections: usize,
    pub timeouts: Timeouts,
}

/// Why this cannot be a host, and what it should be.
pub(super) fn flaw_of_host(host: &str) -> Option<&'static str> {
    if host.contains("://") || host.contains('/') || host.contains(char::is_whitespace) {
        return Some("must be a host name such as imap.example.com, without scheme or path");
    }
    let is_address = host.parse::<IpAddr>().is_ok() || host.starts_with('[');
    let has_port = host.contains(':') && !is_address;
    has_port.then_some("must be a host name such as imap.example.com, without a port")
}

pub(super) fn is_this_machine(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => bare.eq_ignore_ascii_case("localhost"),
    }
}

/// A word as it can stand before the first semicolon of a header.
pub(super) fn is_token(text: &str) -> bool {
    let plain = |c: char| !c.is_whitespace() && !c.is_control() && !"()<>;=\"\\".contains(c);
    !text.is_empty() && text.len() <= 253 && text.chars().all(plain)
}

/// The variable that was probably meant.
fn nearest(rest: &str) -> Option<String> {
    const SLIPS: [(&str, &str); 9] = [
        ("PASSWORD", "PASS"),
        ("PASSWD", "PASS"),
        ("PWD", "PASS"),
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
mod tests {
    use gateway::Writes;

    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Config, Problems> {
        from_environment(pairs.iter().map(|(n, v)| (n.into(), v.into())))
    }

    const GOOD: [(&str, &str); 3] = [
        ("MAIL_IMAP_DEFAULT_HOST", "imap.example.com"),
        ("MAIL_IMAP_DEFAULT_USER", "anna"),
        ("MAIL_IMAP_DEFAULT_PASS", "secret"),
    ];

    fn with(more: &[(&str, &str)]) -> Result<Config, Problems> {
        let mut pairs: Vec<(&str, &str)> = GOOD.to_vec();
        for pair in more {
            pairs.retain(|(name, _)| *name != pair.0);
            pairs.push(*pair);
        }
        read(&pairs)
    }

    fn lines(read: Result<Config, Problems>) -> Vec<String> {
        let Problems(problems) = read.unwrap_err();
        problems.iter().map(ToString::to_string).collect()
    }

    fn imap(config: &Config) -> &Settings {
        match &config.accounts[0].store {
            Store::Imap(settings) => settings,
            _ => panic!("not imap"),
        }
    }

    #[test]
    fn three_variables_make_an_account() {
        let config = read(&GOOD).unwrap();
        assert_eq!(config.accounts[0].id.as_str(), "default");
        let settings = imap(&config);
        assert_eq!(
            (settings.port, settings.security),
            (993, Security::Implicit)
        );
        assert_eq!(settings.max_connections, 4);
        assert_eq!(settings.timeouts.connect.as_millis(), 30_000);
        assert_eq!(settings.timeouts.greeting.as_millis(), 15_000);
        assert_eq!(settings.timeouts.socket.as_millis(), 300_000);
        assert!(!format!("{config:?}").contains("secret"));
    }

    #[test]
    fn nothing_is_changed_unless_somebody_says_so() {
        for (set, alone, beside) in [
            (None, Writes::Gated, Writes::Allowed),
            (Some("false"), Writes::Gated, Writes::Gated),
            (Some("true"), Writes::Allowed, Writes::Allowed),
        ] {
            let set: Vec<_> = set
                .map(|value| ("MAIL_IMAP_WRITE_ENABLED", value))
                .into_iter()
                .collect();
            let changes = with(&set).unwrap().changes;
            assert_eq!((changes.writes, changes.deletes), (alone, Deletes::ToTrash));
            assert_eq!(changes.ledger, LedgerPlace::State);
            let set = set.iter().map(|(name, value)| (name.into(), value.into()));
            let (wide, problems) = beside_directory(set);
            assert_eq!(wide.gate.beside_directory(), beside);
            assert!(problems.is_empty());
        }
        let config = with(&[
            ("MAIL_IMAP_DELETE", "Expunge"),
            ("IMAP_MCP_APPEND_TIMEOUT", "7"),
        ]);
        let config = config.unwrap();
        assert_eq!(config.changes.deletes, Deletes::ForGood);
        assert_eq!(imap(&config).timeouts.append, Duration::from_secs(7));
    }

    #[test]
    fn account_names_may_hold_underscores() {
        let config = read(&[
            ("MAIL_IMAP_MY_WORK_HOST", "localhost"),
            ("MAIL_IMAP_MY_WORK_USER", "u"),
            ("MAIL_IMAP_MY_WORK_PASS", "p"),
            ("MAIL_IMAP_MY_WORK_AUTHSERV_ID", "mx.example.com"),
            ("MAIL_MAILDIR_OLD_PATH", "/var/mail/x"),
        ])
        .unwrap();
        let ids: Vec<&str> = config.accounts.iter().map(|a| a.id.as_str()).collect();
        assert_eq!(ids, ["my_work", "old"]);
        assert_eq!(imap(&config).authserv_id.as_deref(), Some("mx.example.com"));
    }

    #[test]
    fn ports_and_security() {
        for (more, want) in [
            (
                vec![("MAIL_IMAP_DEFAULT_SECURE", "starttls")],
                (143, Security::StartTls),
            ),
            (
                vec![
                    ("MAIL_IMAP_DEFAULT_SECURE", "false"),
                    ("MAIL_IMAP_DEFAULT_HOST", "127.0.0.9"),
                ],
                (143, Security::Plain),
            ),
            (
                vec![
                    ("MAIL_IMAP_DEFAULT_SECURE", "false"),
                    ("MAIL_IMAP_ALLOW_PLAINTEXT", "true"),
                ],
                (143, Security::Plain),
            ),
            (
                vec![("MAIL_IMAP_DEFAULT_PORT", "1993")],
                (1993, Security::Implicit),
            ),
        ] {
            let config = with(&more).unwrap();
            assert_eq!(
                (imap(&config).port, imap(&config).security),
                want,
                "{more:?}"
            );
        }
    }

    #[test]
    fn every_wrong_value_is_one_line_that_names_its_variable() {
        for (name, value, says) in [
            ("MAIL_IMAP_DEFAULT_HOST", "", "is missing"),
            ("MAIL_IMAP_DEFAULT_HOST", "imaps://x", "without scheme"),
            (
                "MAIL_IMAP_DEFAULT_HOST",
                "imap.example.com:993",
                "without a port",
            ),
            ("MAIL_MAILDIR_OLD_PATH", "mail/here", "whole path"),
            (
                concat!("MAILWARDEN", "_LOGS"),
                "debug",
                "not a known variable",
            ),
            ("MAIL_IMAP_DEFAULT_USER", "a\nb", "control characters"),
            ("MAIL_IMAP_DEFAULT_PASS", "", "is missing"),
            ("MAIL_IMAP_DEFAULT_PORT", "0", "1 to 65535"),
            ("MAIL_IMAP_DEFAULT_PORT", "imaps", "1 to 65535"),
            (
                "MAIL_IMAP_DEFAULT_SECURE",
                "maybe",
                "true, starttls or false",
            ),
            ("MAIL_IMAP_DEFAULT_SECURE", "false", "in the clear"),
            ("MAIL_IMAP_DEFAULT_AUTHSERV_ID", "mx example", "one word"),
            ("MAIL_IMAP_DEFAULT_AUTHSERV_ID", "", "one word"),
            ("MAIL_IMAP_CONNECT_TIMEOUT_MS", "5", "100 to 3600000"),
            ("MAIL_IMAP_GREETING_TIMEOUT_MS", "-1", "100 to 3600000"),
            ("MAIL_IMAP_SOCKET_TIMEOUT_MS", "soon", "100 to 3600000"),
            ("MAIL_IMAP_SETTLE_TIMEOUT_MS", "1", "100 to 3600000"),
            ("MAIL_IMAP_MAX_CONNECTIONS", "17", "1 to 16"),
            ("MAIL_IMAP_WRITE_ENABLED", "perhaps", "true or false"),
            ("MAIL_IMAP_DELETE", "sometimes", "trash or expunge"),
            ("IMAP_MCP_APPEND_TIMEOUT", "0", "seconds from 1 to 3600"),
            ("IMAP_MCP_APPEND_TIMEOUT", "a while", "from 1 to 3600"),
            ("MAIL_IMAP_ALLOW_PLAINTEXT", "2", "true or false"),
            ("MAIL_IMAP_ERRORS", "json", "protocol or result"),
            ("MAIL_IMAP_CA_CERT_PATH", "/no/such/file", "cannot be read"),
            (
                "MAIL_IMAP_DEFAULT_PASSWORD",
                "x",
                "did you mean MAIL_IMAP_DEFAULT_PASS?",
            ),
            (
                "MAIL_IMAP_HOST",
                "x",
                "did you mean MAIL_IMAP_DEFAULT_HOST?",
            ),
            ("MAIL_IMAP_FOO", "x", "not a known variable"),
            ("MAIL_MAILDIR_OLD_PATH", "", "is empty"),
            ("MAIL_APPLE_MAC_PATH", "", "is empty"),
            ("MAIL_APPLE_MAC_PATH", "Library/Mail", "whole path"),
            ("MAIL_APPLE_MAC", "/tmp", "not a known variable"),
            ("MAIL_MAILDIR_OLD", "x", "MAIL_MAILDIR_<ACCOUNT>_PATH"),
        ] {
            let lines = lines(with(&[(name, value)]));
            assert_eq!(lines.len(), 1, "{lines:?}");
            assert!(
                lines[0].starts_with(name) && lines[0].contains(says),
                "{lines:?}"
            );
            assert!(!lines[0].contains('\n'));
        }
    }

    #[test]
    fn all_problems_are_reported_at_once() {
        let lines = lines(with(&[
            ("MAIL_IMAP_DEFAULT_PORT", "x"),
            ("MAIL_IMAP_DEFAULT_SECURE", "y"),
            ("MAIL_IMAP_WORK_HOST", "h"),
            ("MAIL_IMAP_ERRORS", "z"),
        ]));
        assert_eq!(lines.len(), 5, "{lines:?}");
    }

    #[test]
    fn no_account_is_a_problem_that_says_what_to_set() {
        let lines = lines(read(&[]));
        assert!(lines[0].contains("MAIL_IMAP_DEFAULT_HOST"));
    }

    #[test]
    fn one_account_is_configured_once() {
        let lines = lines(with(&[("MAIL_MAILDIR_DEFAULT_PATH", "/x")]));
        assert!(lines[0].contains("twice"), "{lines:?}");
    }

    #[test]
    fn every_variable_of_the_manual_is_known() {
        let manual = include_str!("../../../../docs/config.md");
        let names: Vec<String> = manual
            .lines()
            .filter_map(|line| Some(line.strip_prefix("| `")?.split_once('`')?.0))
            .filter(|name| {
                let ours = [IMAP, MAILDIR, APPLE, OURS, GATEWAY];
                ours.iter().any(|prefix| name.starts_with(prefix))
            })
            .map(|name| name.replace("<ACCOUNT>", "WORK").replace("<PATH>", "A__B"))
            .collect();
        assert!(names.len() > 20, "{names:?}");
        for name in names {
            let (_, problems) = beside_directory([(name.clone().into(), "1".into())]);
            let alone = read(&[(&name, "1")]).err().unwrap_or_default();
            for problem in problems.iter().chain(&alone.0) {
                assert!(!problem.what.contains("not a known variable"), "{problem}");
            }
        }
    }
}
