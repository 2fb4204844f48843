//! What operators see: metrics, health, and how a process ends.

mod packaged;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::http::Http;
use testkit::{Dovecot, McpClient};

use crate::installation::Installation;
use crate::support::{Account, configure, inbox, note, start, thinker};

/// What `/metrics` said.
pub(crate) struct Scrape {
    pub(crate) text: String,
}

impl Scrape {
    pub(crate) fn of(client: &McpClient) -> Self {
        client.await_stderr("metrics on http://");
        Self::told(&client.stderr())
    }

    /// By the address that was told there.
    pub(crate) fn told(stderr: &str) -> Self {
        let response = Http::plain().get(&at(stderr, "/metrics")).unwrap();
        assert_eq!(response.status, 200);
        let text = String::from_utf8(response.body).unwrap();
        assert!(text.ends_with("# EOF\n"), "{text}");
        Self { text }
    }

    /// Name, labels and value of every line.
    fn samples(&self) -> Vec<(String, BTreeMap<String, String>, f64)> {
        let lines = self.text.lines().filter(|line| !line.starts_with('#'));
        lines.map(sample).collect()
    }

    /// The sum over all that have these labels.
    pub(crate) fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let samples = self.samples().into_iter();
        let fits = |found: &BTreeMap<String, String>| {
            let has =
                |(key, value): &(&str, &str)| found.get(*key).map(String::as_str) == Some(*value);
            labels.iter().all(has)
        };
        let of = samples.filter(|(found, labels, _)| found == name && fits(labels));
        of.map(|(_, _, value)| value).sum()
    }

    /// Without what counters and histograms add to their names.
    fn names(&self) -> BTreeSet<String> {
        let types = self
            .text
            .lines()
            .filter_map(|line| line.strip_prefix("# TYPE "));
        types
            .map(|line| {
                let (name, kind) = line.split_once(' ').unwrap();
                match kind {
                    "counter" => format!("{name}_total"),
                    "info" => format!("{name}_info"),
                    _ => name.to_owned(),
                }
            })
            .collect()
    }
}

fn sample(line: &str) -> (String, BTreeMap<String, String>, f64) {
    let (head, value) = line.rsplit_once(' ').unwrap();
    let (name, rest) = head.split_once('{').unwrap_or((head, ""));
    let labels = rest
        .trim_end_matches('}')
        .split(',')
        .filter(|one| !one.is_empty());
    let labels = labels.map(|one| {
        let (key, value) = one.split_once('=').unwrap();
        (key.to_owned(), value.trim_matches('"').to_owned())
    });
    (name.to_owned(), labels.collect(), value.parse().unwrap())
}

/// The operators' address that was told on stderr.
fn at(stderr: &str, path: &str) -> String {
    let (_, rest) = stderr.split_once("metrics on ").unwrap();
    let base = rest.split("/metrics").next().unwrap();
    format!("{base}{path}")
}

fn client(home: &Installation, port: u16, more: &[(&str, &str)]) -> McpClient {
    let account = Account {
        port,
        ..Account::default()
    };
    let variables = [&[("MAILWARDEN_METRICS_ADDR", "0")], more].concat();
    home.client_with(&account, &variables)
}

pub(crate) fn health(client: &McpClient, path: &str) -> (u16, Value) {
    client.await_stderr("metrics on http://");
    let response = Http::plain().get(&at(&client.stderr(), path)).unwrap();
    (
        response.status,
        serde_json::from_slice(&response.body).unwrap(),
    )
}

/// Calls of every kind: answered, failed, refused, unknown.
fn busy(home: &Installation, port: u16, more: &[(&str, &str)]) -> McpClient {
    let mut client = client(home, port, more);
    for _ in 0..3 {
        client.call("imap_search_messages", inbox(json!({})));
    }
    for (name, arguments) in [
        ("anna@example.com", json!({})),
        (
            "imap_search_messages",
            json!({ "mailbox": "anna@example.com" }),
        ),
        (
            "imap_search_messages",
            json!({ "anna": "anna@example.com" }),
        ),
        (
            "imap_get_message",
            json!({ "message_id": "imap:anna:INBOX:1:1" }),
        ),
    ] {
        let params = json!({ "name": name, "arguments": arguments });
        let _ = client.request("tools/call", params);
    }
    client
}

#[test]
fn calls_are_counted_when_they_end() {
    let server = Dovecot::start();
    server.deliver("alice", "INBOX", &note("one", "text"));
    let home = Installation::new();
    let client = busy(&home, server.port(), &[]);
    let seen = Scrape::of(&client);
    let search = ("tool", "imap_search_messages");
    let calls = |labels: &[(&str, &str)]| seen.sum("mailwarden_calls_total", labels);
    assert_eq!(calls(&[search, ("result", "ok")]), 3.0, "{}", seen.text);
    assert_eq!(
        calls(&[search, ("result", "invalid_input")]),
        1.0,
        "{}",
        seen.text
    );
    assert_eq!(calls(&[("tool", "other")]), 1.0);
    assert_eq!(calls(&[]), 7.0);
    // As often as calls, and no oftener.
    assert_eq!(seen.sum("mailwarden_call_duration_seconds_count", &[]), 7.0);
    assert!(seen.sum("mailwarden_call_duration_seconds_bucket", &[("le", "+Inf")]) >= 7.0);
    assert!(seen.sum("mailwarden_imap_round_trips_total", &[search]) >= 3.0);
    let decided = |reason: &str| seen.sum("mailwarden_decisions_total", &[("reason", reason)]);
    assert_eq!(
        (decided("unknown_tool"), decided("invalid_input")),
        (1.0, 1.0)
    );
    for state in ["under_way", "waiting", "recording"] {
        assert_eq!(
            seen.sum("mailwarden_calls_here", &[("state", state)]),
            0.0,
            "{state}: all of them are over"
        );
    }
    assert!(seen.sum("mailwarden_places", &[]) >= 2.0);
    assert!(seen.sum("mailwarden_imap_dials_total", &[]) >= 1.0);
    assert_eq!(
        seen.sum("mailwarden_imap_connections", &[("state", "lent")]),
        0.0
    );
    assert!(seen.sum("mailwarden_imap_connections", &[("state", "open")]) >= 1.0);
    assert_eq!(seen.sum("mailwarden_audit_queue_records", &[]), 0.0);
    // The start, the configuration, the opened day, and seven calls.
    assert_eq!(seen.sum("mailwarden_audit_last_seq", &[]), 9.0);
    assert_eq!(seen.sum("mailwarden_ready", &[]), 1.0);
    assert!(seen.sum("mailwarden_process_resident_memory_bytes", &[]) > 1e6);
    let told = seen.samples();
    let les = told.iter().filter_map(|(_, labels, _)| labels.get("le"));
    let les: BTreeSet<&str> = les.map(String::as_str).collect();
    assert!(les.contains("0.001") && les.contains("30.0"), "{les:?}");
}

#[test]
fn a_call_that_was_given_up_is_counted_too() {
    let server = thinker();
    let home = Installation::new();
    let mut client = client(&home, server.port(), &[]);
    let id = client.send_call("imap_search_messages", inbox(json!({ "query": "x" })));
    server.await_command("SEARCH");
    client.cancel(id);
    let counted = || {
        let seen = Scrape::of(&client);
        seen.sum("mailwarden_calls_total", &[("result", "cancelled")])
    };
    while counted() < 1.0 {
        std::thread::yield_now();
    }
}

/// INVARIANT: whoever reads metrics learns nothing of anybody.
#[test]
fn every_label_is_of_a_closed_list() {
    let server = Dovecot::start();
    let home = Installation::new();
    let client = busy(&home, server.port(), &[("MAIL_IMAP_WRITE_ENABLED", "true")]);
    let tools = gateway::ALL.iter().map(|tool| tool.name());
    let tools: BTreeSet<&str> = tools.chain(["other"]).collect();
    let known: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("decision", &["ALLOW", "DENY"][..]),
        (
            "state",
            &[
                "open",
                "lent",
                "needs_operator",
                "under_way",
                "waiting",
                "recording",
            ],
        ),
        (
            "standing",
            &["good", "read_only", "needs_login", "unreadable"],
        ),
        ("outcome", &["in_force", "kept"]),
        (
            "result",
            &[
                "ok",
                "partial",
                "failed",
                "cancelled",
                "asked",
                "invalid_input",
                "not_found",
                "auth_failed",
                "conflict",
                "denied",
                "timeout",
                "internal",
                "audit_unavailable",
                "rate_limited",
                "overloaded",
            ],
        ),
        (
            "reason",
            &[
                "rule_matched",
                "folder_default_applied",
                "owner",
                "invalid_input",
                "unknown_tool",
                "auth_failed",
                "host",
                "unclear_host",
                "origin",
                "path",
                "method",
                "no_token",
                "unknown_token",
                "expired_token",
                "invalid_token",
                "insufficient_scope",
                "issuer_unavailable",
                "session",
                "bad_head",
                "bad_body",
                "too_large",
                "slow",
                "unread",
                "unproven",
                "tls",
                "no_room",
                "too_many_streams",
                "too_many_connections",
            ],
        ),
    ]);
    for (name, labels, _) in Scrape::of(&client).samples() {
        for (label, value) in &labels {
            let fits = match label.as_str() {
                "tool" => tools.contains(value.as_str()),
                "le" => value.parse::<f64>().is_ok(),
                "version" if name == "mailwarden_build_info" => value == env!("CARGO_PKG_VERSION"),
                "version" => value == "none" || value.bytes().all(|byte| byte.is_ascii_hexdigit()),
                other => known
                    .get(other)
                    .is_some_and(|list| list.contains(&value.as_str())),
            };
            assert!(fits, "{name} {label}={value}");
        }
    }
}

#[test]
fn reloads_and_configurations_are_told_by_digests() {
    let server = crate::directory::mailbox();
    let directory = crate::directory::Directory::new(server.port(), server.port());
    directory.policy("  work:\n    - { path: INBOX, mode: blacklist, default: FULL }\n");
    let mut command = directory.program();
    command
        .env("IMAP_MCP_CALLER_ID", "agent")
        .env("MAILWARDEN_METRICS_ADDR", "0");
    let client = start(command);
    let version = |seen: &Scrape| {
        let samples = seen.samples().into_iter();
        let mut of = samples.filter(|(name, _, _)| name == "mailwarden_config_info");
        of.next().unwrap().1["version"].clone()
    };
    let before = Scrape::of(&client);
    assert_eq!(before.sum("mailwarden_reloads_total", &[]), 0.0);
    directory.policy("  work:\n    - { path: INBOX, mode: blacklist, default: COUNT }\n");
    directory.run(&["config", "reload"]);
    let after = Scrape::of(&client);
    let outcome =
        |seen: &Scrape, word: &str| seen.sum("mailwarden_reloads_total", &[("outcome", word)]);
    assert_eq!(
        (outcome(&after, "in_force"), outcome(&after, "kept")),
        (1.0, 0.0)
    );
    assert_ne!(version(&before), version(&after));
    directory.write("callers.yaml", "nonsense: true\n");
    directory.run(&["config", "reload", "--force"]);
    let last = Scrape::of(&client);
    assert_eq!(
        (outcome(&last, "in_force"), outcome(&last, "kept")),
        (1.0, 1.0)
    );
    assert_eq!(version(&after), version(&last));
}

#[test]
fn health_tells_what_is_wrong_in_a_word_and_nothing_more() {
    let server = Dovecot::start();
    let home = Installation::new();
    let mut client = client(&home, server.port(), &[("MAIL_IMAP_WRITE_ENABLED", "true")]);
    assert_eq!(health(&client, "/healthz"), (200, json!({ "alive": true })));
    let well = json!({ "ready": true, "not_ready": [], "changes": "available" });
    let well = (200, well);
    assert_eq!(health(&client, "/readyz"), well);
    // A file stands where the log's directory should be.
    let aside = home.state().join("aside");
    std::fs::rename(home.audit(), &aside).unwrap();
    std::fs::write(home.audit(), "no directory").unwrap();
    let params = json!({ "name": "imap_list_accounts", "arguments": {} });
    client.request("tools/call", params).unwrap_err();
    let ill = (503, json!({ "ready": false, "not_ready": ["audit_log"] }));
    assert_eq!(health(&client, "/readyz"), ill);
    assert_eq!(health(&client, "/healthz").0, 200);
    let seen = Scrape::of(&client);
    assert_eq!(seen.sum("mailwarden_audit_writable", &[]), 0.0);
    assert!(seen.sum("mailwarden_audit_failures_total", &[]) >= 1.0);
    assert!(seen.sum("mailwarden_audit_queue_records", &[]) >= 1.0);
    assert_eq!(probe(&client, "/readyz"), Some(1));
    std::fs::remove_file(home.audit()).unwrap();
    std::fs::rename(&aside, home.audit()).unwrap();
    assert_eq!(health(&client, "/readyz"), well);
    assert_eq!(
        Scrape::of(&client).sum("mailwarden_audit_queue_records", &[]),
        0.0
    );
    assert_eq!(probe(&client, "/readyz"), Some(0));
}

/// Reading is served without a ledger, so that nobody takes the process out; that nothing can be changed is told.
#[test]
fn a_ledger_that_cannot_be_opened_leaves_it_ready_for_reading_and_says_so() {
    let server = Dovecot::start();
    let home = Installation::new();
    std::fs::create_dir_all(home.state().join("ledger.db")).unwrap();
    let client = client(&home, server.port(), &[("MAIL_IMAP_WRITE_ENABLED", "true")]);
    let (status, said) = health(&client, "/readyz");
    assert_eq!((status, &said["changes"]), (200, &json!("unavailable")));
    assert_eq!(Scrape::of(&client).sum("mailwarden_ledger_up", &[]), 0.0);
    assert!(Scrape::of(&client).names().contains("mailwarden_ledger_up"));
}

#[test]
fn a_probe_says_what_it_cannot_ask() {
    for (url, wanted) in [
        ("https://127.0.0.1/readyz", "https is not spoken here"),
        ("127.0.0.1:9464/readyz", "write the address as http://"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mailwarden"));
        let ran = command.args(["probe", url]).output().unwrap();
        assert_eq!(ran.status.code(), Some(1));
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(said.contains(wanted), "{said}");
    }
}

/// `mailwarden probe`, as an image's health check runs it.
pub(crate) fn probe(client: &McpClient, path: &str) -> Option<i32> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mailwarden"));
    command.arg("probe").arg(at(&client.stderr(), path));
    command.stderr(Stdio::null()).status().unwrap().code()
}

#[test]
fn whoever_asks_badly_holds_up_nobody() {
    let server = Dovecot::start();
    let home = Installation::new();
    let mut client = client(&home, server.port(), &[]);
    client.await_stderr("metrics on http://");
    let stderr = client.stderr();
    let here = at(&stderr, "");
    let address = here.strip_prefix("http://").unwrap();
    let (http, metrics) = (Http::plain(), at(&stderr, "/metrics"));
    for (method, path, headers, status) in [
        ("POST", "/metrics", &[][..], 405),
        ("GET", "/", &[], 404),
        ("GET", "/../metrics", &[], 404),
        ("GET", "/metrics/", &[], 404),
        ("GET", "/mcp", &[], 404),
        ("GET", "/metrics", &[("Origin", "http://evil.example")], 403),
    ] {
        let response = http.send(method, &at(&stderr, path), headers, b"").unwrap();
        assert_eq!(response.status, status, "{method} {path}");
    }
    // More than there is room for, none of which ever ends its head; and one whose head has no end.
    let mut slow: Vec<TcpStream> = (0..40)
        .map(|_| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(b"GET /metrics HTTP/1.1\r\nX: ").unwrap();
            stream
        })
        .collect();
    assert!(!client.call("imap_list_accounts", json!({})).is_error);
    let mut endless = slow.pop().unwrap();
    while endless.write_all(&[b'x'; 4096]).is_ok() {}
    // All of them are let go of, and then there is room again.
    for stream in &mut slow {
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert!(!rest.starts_with(b"HTTP/1.1 200"));
    }
    assert_eq!(http.get(&metrics).unwrap().status, 200);
    assert!(!client.call("imap_list_accounts", json!({})).is_error);
}

#[test]
fn an_address_that_is_none_is_refused() {
    let home = Installation::new();
    // By the name under which it was said.
    for (words, set, wanted) in [
        (
            &["stdio", "--metrics-addr", "everywhere"][..],
            "9464",
            "--metrics-addr must be a port",
        ),
        (
            &["stdio"],
            "everywhere",
            "MAILWARDEN_METRICS_ADDR must be a port",
        ),
        (
            &["stdio", "--replica", "../x"],
            "0",
            "--replica must be 1 to 64",
        ),
        (
            &["stdio", "--toolsets", "all"],
            "0",
            "--toolsets must be one",
        ),
    ] {
        let mut program = home.program();
        program.env("MAILWARDEN_METRICS_ADDR", set);
        let ran = program.args(words).stdin(Stdio::null()).output().unwrap();
        assert_eq!(ran.status.code(), Some(2));
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(said.contains(wanted), "{said}");
    }
}

/// Told to end, it says so first, lets the call under way end, and is gone.
#[cfg(unix)]
#[test]
fn a_process_that_is_told_to_end_says_so_while_calls_end() {
    let server = thinker();
    let home = Installation::new();
    let mut command = home.program();
    let account = Account {
        port: server.port(),
        ..Account::default()
    };
    configure(&mut command, "DEFAULT", &account);
    let token = "a-token-of-thirty-two-characters";
    let mut child = Child(
        command
            .args(["http", "--port", "0", "--metrics-addr", "0"])
            .env("MAILWARDEN_HTTP_TOKEN", token)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let told = line_with(child.0.stderr.take().unwrap(), "metrics on ");
    let listening = line_with(child.0.stdout.take().unwrap(), "listening on ");
    let mcp = listening.split_once("listening on ").unwrap().1.to_owned();
    let health = mcp.replace("/mcp", "/readyz");
    assert_eq!(Http::plain().get(&health).unwrap().status, 200);
    let calling = std::thread::spawn(move || {
        let body = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": "imap_search_messages", "arguments": inbox(json!({ "query": "x" })) },
        });
        let bearer = format!("Bearer {token}");
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("Mcp-Protocol-Version", "2025-06-18"),
        ];
        Http::plain().send("POST", &mcp, &headers, body.to_string().as_bytes())
    });
    server.await_command("SEARCH");
    signal(child.0.id(), "TERM");
    let ready = at(&told, "/readyz");
    // As long as the call is under way, and it never ends by itself, the process is there to be asked.
    let draining = loop {
        let response = Http::plain().get(&ready).unwrap();
        if response.status == 503 {
            break response.body;
        }
    };
    let draining: Value = serde_json::from_slice(&draining).unwrap();
    assert_eq!(
        draining,
        json!({ "ready": false, "not_ready": ["draining"] })
    );
    // It ends although the call does not.
    assert!(child.0.wait().unwrap().success());
    let _ = calling.join();
}

/// It ends with the test.
#[cfg(unix)]
struct Child(std::process::Child);

#[cfg(unix)]
impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The first line of a stream that holds this; the rest is read and forgotten.
#[cfg(unix)]
fn line_with(stream: impl std::io::Read + Send + 'static, text: &'static str) -> String {
    use std::io::{BufRead as _, BufReader};
    let (found, line) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if line.contains(text) {
                let _ = found.send(line);
            }
        }
    });
    line.recv_timeout(Duration::from_secs(60)).unwrap()
}

#[cfg(unix)]
fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill")
        .args([&format!("-{name}"), &pid.to_string()])
        .status();
    assert!(sent.unwrap().success());
}
