//! `mailwarden check`: whether everything that is configured works, and what to do about what doesn't.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use audit::read::Verify;
use audit::{Health, Log};
use extract::{Protection, Runner};
use gateway::{Asking, Call, Caller, Gateway, Outcome, Writes};
use mail::{Cx, Reach};
use secrets::Tokens;
use serde_json::{Map, Value, json};

use crate::config::{Changes, LedgerPlace};
use crate::screen::Screen;
use crate::tx;

/// The audit log, and where it is.
pub(crate) struct Records {
    pub log: Log,
    pub place: Option<PathBuf>,
}

/// True when every account works. Accounts are tried side by side: a dead one does not hold up the others.
pub(crate) async fn run(
    gateway: Gateway,
    records: &Records,
    changes: &Changes,
    extractor: &Runner,
    directory: Option<&Path>,
    screen: Screen,
) -> bool {
    let accounts = call(&gateway, "imap_list_accounts", Map::new()).await;
    let (records, line) = recording(records, screen);
    if records == Recording::No {
        screen.line(format!("audit log: {line}"));
        return false;
    }
    let ids: Vec<Named> = list(&accounts, "/data/accounts")
        .iter()
        .filter_map(|account| Named::read(account, directory))
        .collect();
    screen.line(format!(
        "configuration: {}",
        screen.good(format!("ok, {} account(s)", ids.len()))
    ));
    screen.line(format!("audit log: {line}"));
    let (reads, line) = attachments(extractor, screen).await;
    screen.line(format!("attachments: {line}"));
    let (ledger, line) = changing(changes, screen).await;
    screen.line(format!("changes to mail: {line}"));
    let gateway = Arc::new(gateway);
    let reports: Vec<_> = ids
        .into_iter()
        .map(|id| tokio::spawn(report(Arc::clone(&gateway), screen, id)))
        .collect();
    let mut all_work =
        reads == Reads::Yes && records == Recording::Yes && ledger != Changing::Impossible;
    for pending in reports {
        let Ok(report) = pending.await else {
            all_work = false;
            continue;
        };
        all_work &= report.works;
        screen.line("");
        for line in report.lines {
            screen.line(line);
        }
    }
    all_work
}

/// Whether every account and caller could be given its secret; prints those that could not.
pub(crate) fn all_available(unavailable: &[String], screen: Screen) -> bool {
    for line in unavailable {
        screen.line("");
        screen.line(format!("{} {line}", screen.bad("failed")));
    }
    unavailable.is_empty()
}

/// What is in order for now, and may cost somebody a login later.
pub(crate) async fn concerns(all: &[Arc<Tokens>], screen: Screen) {
    for tokens in all {
        if let Some(concern) = tokens.concern().await {
            let account = &tokens.grant().account;
            screen.line("");
            screen.line(format!(
                "{} account {account}: {concern}",
                screen.warn("warning")
            ));
        }
    }
}

/// Whether calls can be recorded. Without that nothing is done, so nothing else is worth checking.
#[derive(PartialEq, Eq)]
enum Recording {
    Yes,
    /// But somebody, or a disk, has changed what was recorded.
    Damaged,
    No,
}

/// What the first call of this check has met.
fn recording(records: &Records, screen: Screen) -> (Recording, String) {
    let place = records.place.as_deref();
    match records.log.health() {
        Health::Good { log_id, records } => {
            let dir = place.unwrap_or(Path::new(""));
            let line = format!("log {log_id} holds {records} records, in {}", dir.display());
            match damage(dir) {
                None => (Recording::Yes, screen.good(format!("ok, {line}"))),
                Some(damage) => {
                    let damage =
                        screen.bad(format!("{damage}; `mailwarden audit verify` says more"));
                    (Recording::Damaged, format!("{line}; {damage}"))
                }
            }
        }
        Health::Bad(why) => {
            let place = match place {
                Some(dir) => format!(" in {}", dir.display()),
                None => String::new(),
            };
            let line = screen.bad(format!(
                "failed, it cannot be written{place}: {why}; every call is refused until it can"
            ));
            (Recording::No, line)
        }
        Health::Untried => (Recording::No, screen.bad("failed, nothing was recorded")),
    }
}

/// What is wrong with the newest day of the log. The whole of it may take a while to read.
fn damage(dir: &Path) -> Option<String> {
    let newest = audit::days(dir).ok()?.pop()?;
    let wanted = Verify {
        since: Some(newest.day),
        ..Verify::default()
    };
    let report = audit::read::verify(dir, &wanted, &mut |_, _| {}).ok()?;
    report.fault.map(|fault| fault.to_string())
}

/// Whether text can be taken out of attachments.
#[derive(PartialEq, Eq)]
enum Reads {
    Yes,
    No,
}

/// Whether the child that reads attachments is locked in, and what this system cannot do for it.
async fn attachments(extractor: &Runner, screen: Screen) -> (Reads, String) {
    let found = match extractor.protections().await {
        Ok(found) => found,
        Err(fault) => {
            let line = screen.bad(format!(
                "failed, {fault}; no text can be taken out of attachments"
            ));
            return (Reads::No, line);
        }
    };
    let list = |some: Vec<&Protection>| {
        let names: Vec<String> = some.iter().map(ToString::to_string).collect();
        names.join(", ")
    };
    let missing = list(found.missing().collect());
    let proven = list(found.proven.iter().collect());
    let line = match (found.is_sealed(), missing.as_str()) {
        (true, "") => screen.good(format!("ok, read in a child with {proven}")),
        (true, missing) => format!(
            "{} (without: {missing})",
            screen.good(format!("ok, read in a child with {proven}"))
        ),
        (false, missing) => format!(
            "{} read in a child without: {missing}",
            screen.warn("warning")
        ),
    };
    (Reads::Yes, line)
}

/// Whether mail can be changed.
#[derive(PartialEq, Eq)]
enum Changing {
    Possible,
    /// Nobody wants it.
    Unwanted,
    Impossible,
}

/// Whether changes can be written down, without which none is made; and what is left of earlier ones.
async fn changing(changes: &Changes, screen: Screen) -> (Changing, String) {
    let off = match changes.writes {
        Writes::Allowed => None,
        Writes::Gated => Some("off; MAIL_IMAP_WRITE_ENABLED=true allows them"),
        Writes::Never => Some("off, by --read-only"),
    };
    if let Some(off) = off {
        return (Changing::Unwanted, off.to_owned());
    }
    let Some(opened) = changes.ledger.open().await else {
        return match changes.ledger {
            LedgerPlace::Nowhere => {
                let line = "refused; `wal.path` in accounts.yaml says where they are written down";
                (Changing::Unwanted, line.to_owned())
            }
            LedgerPlace::State | LedgerPlace::At(_) | LedgerPlace::On(_) => {
                let line = screen.bad("failed, there is no home directory to write them down in");
                (Changing::Impossible, line)
            }
        };
    };
    let place = &changes.ledger;
    let unfinished = match opened {
        Ok(ledger) => ledger.list(tx::unfinished()).await,
        Err(fault) => Err(fault),
    };
    match unfinished {
        Err(fault) => {
            let line = screen.bad(format!("failed, they are refused: {fault} ({place})"));
            (Changing::Impossible, line)
        }
        Ok(unfinished) => {
            let written = screen.good(format!("ok, written down in {place}"));
            let line = match tx::to_decide(&unfinished) {
                0 => written,
                some => {
                    let told = screen.warn(format!(
                        "{some} to be decided: `mailwarden tx list` shows them"
                    ));
                    format!("{written}; {told}")
                }
            };
            (Changing::Possible, line)
        }
    }
}

struct Report {
    works: bool,
    lines: Vec<String>,
}

/// An account, as it is listed.
struct Named {
    id: String,
    host: String,
    port: u64,
    /// Where its configuration is, as a command line says it.
    directory: String,
}

impl Named {
    fn read(account: &Value, directory: Option<&Path>) -> Option<Self> {
        Some(Self {
            id: account.get("account_id")?.as_str()?.to_owned(),
            host: account.get("host").map(plain).unwrap_or_default(),
            port: account.get("port").and_then(Value::as_u64).unwrap_or(0),
            directory: match directory {
                Some(dir) => format!(" --config-dir {}", dir.display()),
                None => String::new(),
            },
        })
    }
}

async fn report(gateway: Arc<Gateway>, screen: Screen, named: Named) -> Report {
    let id = &named.id;
    let arguments = || match json!({ "account_id": id }) {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    let verified = call(&gateway, "imap_verify_account", arguments()).await;
    let text = |path: &str| verified.pointer(path).map(plain).unwrap_or_default();
    let setup = gateway.setup();
    let provider = setup.accounts().iter().find(|one| one.id().as_str() == id);
    let place = match named.port {
        0 => match provider.map(gateway::Account::provider) {
            Some(gateway::Provider::AppleMail) => "Apple Mail on this machine".to_owned(),
            _ => "a Maildir or mbox on this machine".to_owned(),
        },
        port => format!("{}:{port}", named.host),
    };
    let title = format!(
        "{} {}",
        screen.bold(format!("account {id}")),
        screen.dim(place)
    );
    let mut lines = vec![title];
    if verified.get("success") != Some(&Value::Bool(true)) {
        for issue in list(&verified, "/data/issues") {
            let code = issue.get("code").map(plain).unwrap_or_default();
            let stage = issue.get("stage").map(plain).unwrap_or_default();
            let message = issue.get("message").map(plain).unwrap_or_default();
            lines.push(format!("  {} {code} at {stage}", screen.bad("failed")));
            lines.push(format!("  {message}"));
        }
        if let Some(refused) = verified
            .get("error")
            .filter(|error| error.is_string() && list(&verified, "/data/issues").is_empty())
        {
            let reason = text("/data/reason");
            lines.push(format!("  {} {reason}", screen.bad("failed")));
            let refused = plain(refused);
            let words = refused.strip_prefix("denied: ").unwrap_or(&refused);
            // Whoever types the command may not have what this program was started with.
            let directory = match verified.pointer("/data/details/command") {
                Some(_) => named.directory.as_str(),
                None => "",
            };
            lines.push(format!("  {words}{directory}"));
        }
        return Report {
            works: false,
            lines,
        };
    }
    let secure = verified.pointer("/data/server/secure") == Some(&Value::Bool(true));
    if !secure {
        lines.push(format!(
            "  {} the connection is not encrypted",
            screen.warn("warning")
        ));
    }
    let reached = match text("/data/server/port").as_str() {
        "0" => "read",
        _ => "login",
    };
    lines.push(format!(
        "  {} {reached} in {} ms",
        screen.good("ok"),
        text("/data/latency_ms")
    ));
    if provider.is_some_and(|account| account.reach() == Reach::ReadingOnly) {
        lines.push(format!(
            "  {} the login is for reading only: every change is refused",
            screen.warn("warning")
        ));
    }
    let capabilities = list(&verified, "/data/capabilities");
    if !capabilities.is_empty() {
        lines.push(format!(
            "  {} {}",
            screen.good("ok"),
            extensions(&capabilities)
        ));
        lines.push(for_changes(&capabilities, screen));
    }
    let folders = call(&gateway, "imap_list_mailboxes", arguments()).await;
    let works = folders.get("success") == Some(&Value::Bool(true));
    let mark = if works {
        screen.good("ok")
    } else {
        screen.bad("failed")
    };
    lines.push(format!(
        "  {mark} {}",
        folders.get("summary").map(plain).unwrap_or_default()
    ));
    for warning in list(&folders, "/meta/warnings") {
        lines.push(format!("  {} {}", screen.warn("warning"), plain(&warning)));
    }
    Report { works, lines }
}

/// Which of the extensions that make calls faster the server has.
fn extensions(capabilities: &[Value]) -> String {
    const USED: [&str; 7] = [
        "LITERAL+",
        "SASL-IR",
        "ESEARCH",
        "PARTIAL",
        "LIST-STATUS",
        "SPECIAL-USE",
        "ID",
    ];
    let has = |name: &str| has(capabilities, name);
    let (here, missing): (Vec<&str>, Vec<&str>) = USED.iter().partition(|name| has(name));
    match missing.as_slice() {
        [] => format!("extensions: {}", here.join(" ")),
        missing => format!(
            "extensions: {} (without: {})",
            here.join(" "),
            missing.join(" ")
        ),
    }
}

fn has(capabilities: &[Value], name: &str) -> bool {
    capabilities.iter().any(|one| one.as_str() == Some(name))
}

/// Those by which mail is changed, and what happens where the server has them not.
fn for_changes(capabilities: &[Value], screen: Screen) -> String {
    const NEEDED: [(&str, &str); 2] = [
        ("MOVE", "a move is a copy and a removal"),
        (
            "UIDPLUS",
            "what is to go is only flagged \\Deleted and a move cannot be undone",
        ),
    ];
    // IMAP4rev2 has both of them in it (RFC 9051, appendix E).
    let has = |name: &str| has(capabilities, name) || has(capabilities, "IMAP4REV2");
    let told = NEEDED.map(|(name, otherwise)| match has(name) {
        true => name.to_owned(),
        false => format!("without {name}: {otherwise}"),
    });
    let mark = match NEEDED.iter().all(|(name, _)| has(name)) {
        true => screen.good("ok"),
        false => screen.warn("warning"),
    };
    format!("  {mark} for changes: {}", told.join(", "))
}

async fn call(gateway: &Gateway, tool: &str, arguments: Map<String, Value>) -> Value {
    let cx = Cx::new();
    let caller = Caller::owner(format!("check:{}", std::process::id()));
    match gateway
        .call(Call {
            caller: &caller,
            tool,
            arguments,
            asking: Asking::Cannot,
            cx: &cx,
        })
        .await
    {
        Outcome::Answered(answered) => answered.structured,
        Outcome::Refused(refused) => refused.as_answer().structured,
    }
}

fn list(value: &Value, path: &str) -> Vec<Value> {
    value
        .pointer(path)
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default()
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
