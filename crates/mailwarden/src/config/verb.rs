//! `mailwarden config`: for whoever writes a configuration directory.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use gateway::Writes;
use jiff::Timestamp;
use ledger::Ledger;

use super::dir::{self, CallerAuth, CallerConfig, Loaded, Toolset};
use super::reload::{self, Broken};
use super::{
    Account, AppleStore, Changes, ErrorStyle, LedgerPlace, Problem, Problems, Store, TextStyle,
    identity,
};
use crate::cli::{ConfigFile, ConfigVerb, Transport};
use crate::screen::Screen;

/// A configuration that cannot be used.
const BAD: u8 = 2;

pub(crate) fn run(
    wanted: &ConfigVerb,
    option: Option<&Path>,
    screen: Screen,
) -> anyhow::Result<ExitCode> {
    let place = |dir: &Option<PathBuf>| super::directory(dir.as_deref().or(option));
    let nowhere = "which directory? name it after the verb, or set IMAP_MCP_CONFIG_DIR";
    match wanted {
        ConfigVerb::Check { dir, transport } => {
            let outcome = match place(dir) {
                Some(dir) => check(&dir, *transport, std::env::vars_os, screen),
                None => Err(Problems(vec![Problem::whole(nowhere)])),
            };
            Ok(outcome.map_or_else(|problems| refuse(&problems), |()| ExitCode::SUCCESS))
        }
        ConfigVerb::Init { dir } => {
            let dir = place(dir).context(nowhere)?;
            init(&dir, screen)?;
            Ok(ExitCode::SUCCESS)
        }
        ConfigVerb::Reload { dir, force } => {
            let dir = place(dir).context(nowhere)?;
            let broken = match force {
                true => Broken::Sent,
                false => Broken::Withheld,
            };
            reload::run(&dir, broken, screen)
        }
        ConfigVerb::Token => {
            super::token::make(screen)?;
            Ok(ExitCode::SUCCESS)
        }
        ConfigVerb::Schema { file } => {
            let name = match file {
                ConfigFile::Accounts => "accounts",
                ConfigFile::Callers => "callers",
                ConfigFile::Policy => "policy",
            };
            let schema = dir::SCHEMAS.iter().find(|schema| schema.name == name);
            screen.line(schema.map(dir::Schema::text).unwrap_or_default().trim_end());
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn init(dir: &Path, screen: Screen) -> anyhow::Result<()> {
    let written = dir::init(dir).context("the example could not be written")?;
    for path in &written {
        screen.line(format!("wrote {}", path.display()));
    }
    let shown = dir.display();
    screen.line(format!(
        "next: write the password into {shown}/{}, change accounts.yaml to your server, and run `mailwarden config check {shown}`",
        dir::PASSWORD
    ));
    Ok(())
}

/// As editors and build tools expect it: `file:line:column: what`.
pub(crate) fn refuse(problems: &Problems) -> ExitCode {
    let summary = counted(problems.0.len(), "problem", "problems");
    eprintln!("{problems}\n{summary}; nothing would start");
    ExitCode::from(BAD)
}

fn check<V: IntoIterator<Item = (OsString, OsString)>>(
    dir: &Path,
    transport: Option<Transport>,
    variables: impl Fn() -> V,
    screen: Screen,
) -> Result<(), Problems> {
    let loaded = dir::load_to_check(dir, variables())?;
    let over_http = identity::over_http(&loaded.callers);
    if transport == Some(Transport::Http) {
        over_http.clone()?;
    }
    let said = variables().into_iter().any(|(name, value)| {
        !value.is_empty() && (name == identity::CALLER_ID || name == identity::CALLER_TOKEN)
    });
    let shown = match said && transport != Some(Transport::Http) {
        true => Some(identity::of_stdio(
            &loaded.callers,
            variables(),
            Timestamp::now(),
        )?),
        false => None,
    };
    for line in summary(&loaded, screen) {
        screen.line(line);
    }
    if let (None, Err(problems)) = (transport, &over_http) {
        let problems = counted(problems.0.len(), "caller", "callers");
        let line = format!(
            "over HTTP, `mailwarden http` refuses this, for {problems} with stdio_trusted: `mailwarden config check --transport http {}` tells \
             what to write instead",
            dir.display()
        );
        screen.line(screen.warn(line));
    }
    let doubts = crate::policy_verbs::warnings(&loaded.callers);
    if doubts > 0 {
        let doubts = counted(doubts, "warning", "warnings");
        let line = format!(
            "{doubts} about policies: `mailwarden policy lint {}` tells more",
            dir.display()
        );
        screen.line(screen.warn(line));
    }
    if let Some(shown) = shown {
        screen.line(format!(
            "on stdio, this environment is the caller {}",
            shown.caller.id
        ));
    }
    Ok(())
}

fn summary(loaded: &Loaded, screen: Screen) -> Vec<String> {
    let mut lines: Vec<String> = loaded
        .warnings
        .iter()
        .map(|warning| format!("{} {warning}", screen.warn("warning:")))
        .collect();
    lines.push(format!(
        "{} version {}: {}, {}, {}",
        screen.good("ok,"),
        loaded.version,
        counted(loaded.accounts.len(), "account", "accounts"),
        counted(loaded.callers.len(), "caller", "callers"),
        counted(loaded.policies.len(), "policy", "policies"),
    ));
    lines.extend(loaded.accounts.iter().map(account));
    lines.extend(loaded.callers.iter().map(caller));
    let days = loaded.audit.retention;
    let place = match &loaded.audit_directory {
        Some(directory) => directory.display().to_string(),
        None => "the state directory".to_owned(),
    };
    lines.push(format!(
        "audit log in {place}: {} days plain, {} compressed, deleted after {}",
        days.hot_days, days.warm_days, days.delete_after_days
    ));
    lines.push(changes(&loaded.changes, screen));
    if loaded.errors == ErrorStyle::Result {
        lines.push("errors travel as tool results".to_owned());
    }
    if loaded.text == TextStyle::Json {
        lines.push("the text block of answers is JSON".to_owned());
    }
    lines
}

/// A ledger that is there is opened; one that is not yet is left to whoever serves.
fn changes(changes: &Changes, screen: Screen) -> String {
    match (changes.writes, &changes.ledger) {
        (Writes::Gated | Writes::Never, _) => {
            "changes to mail: off, by MAIL_IMAP_WRITE_ENABLED=false".to_owned()
        }
        (Writes::Allowed, place @ LedgerPlace::On(_)) => {
            format!("changes to mail: written down on {place}; `mailwarden check` connects to it")
        }
        (Writes::Allowed, LedgerPlace::At(path)) => {
            let place = path.display();
            match path.exists().then(|| Ledger::open(path)) {
                None => format!("changes to mail: written down in {place}, which is made then"),
                Some(Ok(_)) => format!("changes to mail: written down in {place}"),
                Some(Err(fault)) => {
                    screen.bad(format!("changes to mail: refused, {fault} ({place})"))
                }
            }
        }
        (Writes::Allowed, LedgerPlace::Nowhere | LedgerPlace::State) => {
            "changes to mail: refused, there is neither `wal` nor `ledger`".to_owned()
        }
    }
}

fn account(account: &Account) -> String {
    let place = match &account.store {
        Store::Imap(settings) => {
            format!("{} at {}:{}", settings.user, settings.host, settings.port)
        }
        Store::Unavailable(_) => "unavailable, its secret cannot be read".to_owned(),
        Store::Maildir(path)
        | Store::Apple(AppleStore {
            path,
            account: None,
        }) => path.display().to_string(),
        Store::Apple(AppleStore {
            path,
            account: Some(account),
        }) => format!("{account} in {}", path.display()),
    };
    format!(
        "account {} ({}): {place}",
        account.id,
        account.provider.name()
    )
}

fn caller(caller: &CallerConfig) -> String {
    let proof = match &caller.auth {
        CallerAuth::StdioTrusted => "stdio_trusted".to_owned(),
        CallerAuth::Oauth(_) => "oauth".to_owned(),
        CallerAuth::SharedToken(tokens) if tokens.len() == 1 => "shared_token".to_owned(),
        CallerAuth::SharedToken(tokens) => {
            format!("shared_token, {}", counted(tokens.len(), "token", "tokens"))
        }
    };
    let sets = match &caller.toolsets {
        None => String::new(),
        Some(sets) => {
            let names: Vec<&str> = sets.iter().map(|set| Toolset::name(*set)).collect();
            format!(", toolsets: {}", names.join(", "))
        }
    };
    let reach = counted(caller.policy.accounts().count(), "account", "accounts");
    format!(
        "caller {} ({proof}): policy {}, up to {} in {reach}{sets}",
        caller.id,
        caller.policy.name(),
        caller.policy.ceiling().name(),
    )
}

pub(crate) fn counted(number: usize, one: &str, more: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        _ => format!("{number} {more}"),
    }
}
