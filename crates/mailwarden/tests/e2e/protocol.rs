//! MCP itself: both eras, definitions, schemas, progress, and leaving when the client leaves.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::{BlackHole, Dovecot, McpClient};

use crate::installation::Installation;
use crate::support::{
    Account, Look, client, client_with, configure, inbox, note, program, thinker, usual_tools,
};

fn modern(port: u16) -> McpClient {
    let mut command = program();
    configure(
        &mut command,
        "DEFAULT",
        &Account {
            port,
            ..Account::default()
        },
    );
    command.arg("stdio");
    McpClient::spawn(command).modern()
}

#[test]
fn the_older_era_begins_with_initialize() {
    let server = Dovecot::start();
    let mut command = program();
    configure(
        &mut command,
        "DEFAULT",
        &Account {
            port: server.port(),
            ..Account::default()
        },
    );
    command.arg("stdio");
    let mut client = McpClient::spawn(command);
    let hello = client.initialize();
    assert_eq!(hello["serverInfo"]["name"], "mailwarden");
    assert_eq!(hello["serverInfo"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(hello["protocolVersion"], "2025-11-25");
    let instructions = hello["instructions"].as_str().unwrap();
    assert!(instructions.len() < 2_000 && instructions.contains("imap_search_messages"));
    assert!(hello["capabilities"].get("tools").is_some());
    // None, which is said rather than left to an error: hosts ask whatever was declared.
    assert_eq!(hello["capabilities"]["prompts"], json!({}));
    let prompts = client.request("prompts/list", json!({})).unwrap();
    assert_eq!(prompts["prompts"], json!([]));
    let error = client
        .request("prompts/get", json!({ "name": "any" }))
        .unwrap_err();
    assert_eq!(error.code, -32602, "{error:?}");
}

#[test]
fn the_newer_era_begins_with_any_request() {
    let server = Dovecot::start();
    server.deliver("alice", "INBOX", &note("x", "y"));
    let mut client = modern(server.port());
    let found = client.request("server/discover", json!({})).unwrap();
    assert!(
        found["supportedVersions"]
            .to_string()
            .contains("2026-07-28"),
        "{found}"
    );
    assert_eq!(found["cacheScope"], "private");
    assert!(found["_meta"].to_string().contains("mailwarden"), "{found}");
    let tools = client.request("tools/list", json!({})).unwrap();
    assert_eq!(tools["cacheScope"], "private");
    assert_eq!(tools["resultType"], "complete");
    let page = client.call("imap_search_messages", inbox(json!({})));
    assert_eq!(page.number("/total"), 1);
    let params = json!({ "name": "imap_search_messages", "arguments": { "mailbox": "Nowhere" } });
    let error = client.request("tools/call", params).unwrap_err();
    assert_eq!(
        (error.code, error.data["code"].as_str()),
        (-32602, Some("not_found"))
    );
}

#[test]
fn every_answer_meets_its_schema_and_the_envelope() {
    let server = Dovecot::start();
    server.deliver_many("alice", "INBOX", testkit::Mailgen::new(4).messages(12));
    server.deliver("alice", "INBOX", &testkit::fixtures::with_attachment());
    let mut client = client(server.port());
    let tools = client.request("tools/list", json!({})).unwrap();
    let schema = |name: &str| {
        let tool = tools["tools"]
            .as_array()
            .unwrap()
            .iter()
            .find(|t| t["name"] == name)
            .unwrap();
        tool["outputSchema"].clone()
    };
    let id = crate::support::message_id(&server, "INBOX", 13);
    let header_id = "with-attachment@fixtures.example";
    for (tool, arguments) in [
        ("imap_list_accounts", json!({})),
        ("imap_verify_account", json!({})),
        ("imap_list_mailboxes", json!({})),
        (
            "imap_search_messages",
            inbox(json!({ "include_snippet": true, "limit": 50 })),
        ),
        (
            "imap_get_message",
            json!({ "message_id": id, "include_html": true, "include_all_headers": true }),
        ),
        ("imap_get_message_raw", json!({ "message_id": id })),
        ("read_email", json!({ "message_id": header_id })),
        ("read_thread", json!({ "message_id": header_id })),
        ("get_email_path", json!({ "message_id": header_id })),
        ("get_thread_paths", json!({ "message_id": header_id })),
    ] {
        let outcome = client.call(tool, arguments);
        meets(&schema(tool), &outcome.structured, tool);
        let envelope = &outcome.structured;
        assert_eq!(envelope["success"], true);
        assert!(envelope["error"].is_null());
        let meta = &envelope["meta"];
        assert_eq!(meta["version"], "response-v2");
        assert!(meta["now_utc"].as_str().unwrap().ends_with('Z'));
        assert!(meta["duration_ms"].is_u64() && meta["warnings"].is_array());
        assert!(meta["telemetry"]["imap_round_trips"].is_u64());
        assert!(
            outcome
                .text
                .starts_with(envelope["summary"].as_str().unwrap()),
            "{}",
            outcome.text
        );
        no_nulls(&envelope["data"], tool);
    }
}

#[test]
fn tools_are_sent_as_they_are_defined() {
    let closed = testkit::closed_port();
    let mut client = client(closed.number());
    let sent = client.request("tools/list", json!({})).unwrap();
    let defined: Vec<Value> = usual_tools().map(|tool| tool.definition()).collect();
    assert_eq!(sent["tools"], json!(defined));
}

#[test]
fn failures_meet_their_schemas_too() {
    let closed = testkit::closed_port();
    let mut client = client(closed.number());
    let tools = client.request("tools/list", json!({})).unwrap();
    let id = "imap:default:INBOX:1:1";
    for (tool, arguments) in [
        ("imap_verify_account", json!({})),
        ("imap_list_mailboxes", json!({})),
        ("imap_search_messages", inbox(json!({}))),
        ("imap_get_message", json!({ "message_id": id })),
        ("imap_get_message_raw", json!({ "message_id": id })),
        ("read_email", json!({ "message_id": "a@x.example" })),
        ("read_thread", json!({ "message_id": "a@x.example" })),
        ("get_email_path", json!({ "message_id": "a@x.example" })),
        ("get_thread_paths", json!({ "message_id": "a@x.example" })),
    ] {
        let outcome = client.call(tool, arguments);
        assert!(outcome.is_error);
        let list = tools["tools"].as_array().unwrap();
        let schema = &list.iter().find(|t| t["name"] == tool).unwrap()["outputSchema"];
        meets(schema, &outcome.structured, tool);
        no_nulls(&outcome.structured["data"], tool);
    }
}

/// The part of JSON Schema that our definitions use.
pub(crate) fn meets(schema: &Value, value: &Value, at: &str) {
    if let Some(kind) = schema.get("type") {
        let kinds: Vec<&str> = match kind {
            Value::Array(list) => list.iter().map(|k| k.as_str().unwrap()).collect(),
            one => vec![one.as_str().unwrap()],
        };
        let fits = kinds.iter().any(|kind| match *kind {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "integer" => value.is_u64() || value.is_i64(),
            "boolean" => value.is_boolean(),
            "null" => value.is_null(),
            other => panic!("{at}: unknown type {other}"),
        });
        assert!(fits, "{at}: {value} is no {kind}");
    }
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array) {
        assert!(allowed.contains(value), "{at}: {value}");
    }
    for name in schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        assert!(
            value.get(name.as_str().unwrap()).is_some(),
            "{at}: {name} is missing"
        );
    }
    // Who has the first of an answer's data has all of it; a refusal has none.
    let beside = schema.get("dependentRequired").and_then(Value::as_object);
    for (first, rest) in beside.into_iter().flatten() {
        let refused = value.get("decision") == Some(&json!("DENY")) || value.get("code").is_some();
        let rest = rest
            .as_array()
            .unwrap()
            .iter()
            .map(|name| name.as_str().unwrap());
        for name in std::iter::once(first.as_str()).chain(rest) {
            assert!(
                refused || value.get(name).is_some(),
                "{at}: {name} is missing"
            );
        }
    }
    for (name, inner) in schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        if let Some(value) = value.get(name) {
            meets(inner, value, &format!("{at}.{name}"));
        }
    }
    if let (Some(inner), Some(list)) = (schema.get("items"), value.as_array()) {
        for (index, value) in list.iter().enumerate() {
            meets(inner, value, &format!("{at}[{index}]"));
        }
    }
    for keyword in ["anyOf", "oneOf", "allOf", "$ref", "$defs"] {
        assert!(schema.get(keyword).is_none(), "{at} uses {keyword}");
    }
}

pub(crate) fn no_nulls(value: &Value, at: &str) {
    match value {
        Value::Null => panic!("{at} is null"),
        Value::Object(map) => map
            .iter()
            .for_each(|(key, inner)| no_nulls(inner, &format!("{at}.{key}"))),
        Value::Array(list) => list.iter().for_each(|inner| no_nulls(inner, at)),
        _ => {}
    }
}

#[test]
fn a_call_that_lasts_reports_progress_to_who_asked() {
    let fake = thinker();
    let mut client = client(fake.port());
    let call = client.send(
        "tools/call",
        json!({
            "name": "imap_search_messages",
            "arguments": inbox(json!({ "query": "x" })),
            "_meta": { "progressToken": "p1" },
        }),
    );
    let progress = client.await_notification(|n| n["method"] == "notifications/progress");
    assert_eq!(progress["params"]["progressToken"], "p1");
    assert!(
        progress["params"]["message"]
            .as_str()
            .unwrap()
            .contains("search"),
        "{progress}"
    );
    client.cancel(call);
    assert!(!client.call("imap_list_accounts", json!({})).is_error);
}

#[test]
fn it_leaves_with_its_client() {
    let hole = BlackHole::start();
    let fake = thinker();
    for port in [hole.port(), fake.port()] {
        let mut idle = client(port);
        idle.close_stdin();
        assert!(
            idle.wait_exit(Duration::from_secs(2))
                .is_some_and(|status| status.success())
        );
        let mut busy = client(port);
        busy.send_call("imap_search_messages", inbox(json!({ "query": "x" })));
        busy.call("imap_list_accounts", json!({}));
        busy.close_stdin();
        assert!(
            busy.wait_exit(Duration::from_secs(2)).is_some(),
            "busy at {port}"
        );
    }
}

#[test]
fn it_leaves_when_told_to() {
    let fake = thinker();
    let mut client = client(fake.port());
    client.send_call("imap_search_messages", inbox(json!({ "query": "x" })));
    fake.await_command("SEARCH");
    let killed = std::process::Command::new("kill")
        .args(["-TERM", &client.pid().to_string()])
        .status()
        .unwrap();
    assert!(killed.success());
    assert!(
        client
            .wait_exit(Duration::from_secs(2))
            .is_some_and(|status| status.success())
    );
}

#[test]
fn nonsense_on_stdin_ends_nothing() {
    let server = Dovecot::start();
    let mut client = client(server.port());
    for line in [
        "",
        "{",
        "[]",
        "null",
        "{\"jsonrpc\":\"2.0\"}",
        "\u{0}\u{1}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"id\":[]}",
    ] {
        client.send_line(line);
    }
    let deep = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
    client.send_line(&format!("{{\"jsonrpc\":\"2.0\",\"id\":99,\"method\":\"tools/call\",\"params\":{{\"name\":\"x\",\"arguments\":{{\"a\":{deep}}}}}}}"));
    assert!(!client.call("imap_list_accounts", json!({})).is_error);
}

#[test]
fn unreadable_lines_on_stdio_are_answered_and_recorded() {
    let closed = testkit::closed_port();
    let home = Installation::new();
    let mut client = home.client(closed.number());
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let call = |id: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"tools/call","params":{params}}}"#)
    };
    let listed = r#"{"name":"imap_list_accounts","arguments":{"a":DEEP}}"#;
    let lines = [
        (
            json!("a"),
            -32602,
            call("a", &listed.replace("DEEP", &deep)),
        ),
        (json!("b"), -32602, call("b", "[]")),
        (
            json!(null),
            -32600,
            format!("[{}]", call("c", &listed.replace("DEEP", "1"))),
        ),
        (json!(null), -32700, "{ no JSON".to_owned()),
    ];
    for (id, code, line) in lines {
        client.send_line(&line);
        let fits = |one: &Value| one["id"] == id && one["error"]["code"] == code;
        let answer = client.await_notification(fits);
        assert!(answer["error"]["message"].is_string(), "{answer}");
    }
    assert!(!client.call("imap_list_accounts", json!({})).is_error);
    let calls = home
        .records()
        .into_iter()
        .filter(|record| record.event == "call");
    let calls: Vec<_> = calls
        .map(|one| (one.text("tool").to_owned(), one.text("reason").to_owned()))
        .collect();
    let [deep, array, batch, good] = calls.as_slice() else {
        panic!("{calls:?}");
    };
    for refused in [deep, array, batch] {
        assert_eq!(refused.1, "invalid_input", "{calls:?}");
    }
    assert_eq!(
        (deep.0.as_str(), batch.0.as_str()),
        ("imap_list_accounts", "imap_list_accounts")
    );
    assert_ne!(good.1, "invalid_input", "{calls:?}");
}

#[test]
fn logs_hold_no_mail_and_no_secret_at_the_most_verbose_level() {
    let server = Dovecot::start();
    server.deliver("alice", "INBOX", &note("canary-subject", "canary-body"));
    let account = Account {
        port: server.port(),
        ..Account::default()
    };
    let mut client = client_with(
        &account,
        &[(
            "MAILWARDEN_LOG",
            "trace,rmcp=trace,rmcp::service=trace,rmcp::transport=trace,sources=trace,rustls=trace",
        )],
    );
    let page = client.call(
        "imap_search_messages",
        inbox(json!({ "query": "canary-body", "include_snippet": true })),
    );
    assert_eq!(page.number("/total"), 1);
    client.call(
        "imap_get_message",
        json!({ "message_id": page.text("/messages/0/message_id") }),
    );
    let params =
        json!({ "name": "imap_search_messages", "arguments": { "mailbox": "canary-folder" } });
    client.request("tools/call", params).unwrap_err();
    client.close_stdin();
    client.wait_exit(Duration::from_secs(2));
    let log = client.stderr();
    assert!(!log.is_empty());
    for secret in ["canary", "secret", "AGFsaWNl"] {
        assert!(!log.contains(secret), "{secret} in {log}");
    }
}
