//! Calls that are refused or fail: each is in the log with what was wrong, and without a word of the caller's.

use serde_json::{Value, json};
use testkit::{Dovecot, Fake, McpClient, closed_port};

use crate::support::{Account, inbox, message_id, note, uidvalidity};

use crate::installation::{Installation, Record};

/// In every argument that must not be kept.
const WORD: &str = "zanzibar";

/// What a refused call leaves.
#[derive(PartialEq, Debug)]
struct Left<'a> {
    decision: &'a str,
    reason: &'a str,
    result: &'a str,
    issue: Option<&'a str>,
    argument: Option<&'a str>,
}

impl<'a> Left<'a> {
    fn of(record: &'a Record) -> Self {
        Self {
            decision: record.text("decision"),
            reason: record.text("reason"),
            result: record.text("result"),
            issue: record.json["issue"].as_str(),
            argument: record.json["argument"].as_str(),
        }
    }

    /// The arguments were wrong.
    fn wrong(argument: &'a str) -> Self {
        Self {
            decision: "DENY",
            reason: "invalid_input",
            result: "invalid_input",
            issue: None,
            argument: Some(argument),
        }
    }

    /// It was allowed, and then refused all the same.
    fn allowed(result: &'a str) -> Self {
        Self {
            decision: "ALLOW",
            reason: "folder_default_applied",
            result,
            issue: None,
            argument: None,
        }
    }

    fn failed(issue: &'a str) -> Self {
        Self {
            issue: Some(issue),
            ..Self::allowed("failed")
        }
    }
}

/// The `meta` of an answer, whatever it is.
fn meta(client: &mut McpClient, tool: &str, arguments: &Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    match client.request("tools/call", params) {
        Ok(result) => result["structuredContent"]["meta"].clone(),
        Err(error) => error.data["meta"].clone(),
    }
}

fn assert_tells_nothing(home: &Installation) {
    for (path, bytes) in home.files() {
        let text = String::from_utf8_lossy(&bytes).to_lowercase();
        assert!(!text.contains(WORD), "{}: {text}", path.display());
    }
}

#[test]
fn refused_arguments_are_recorded_by_their_name_alone() {
    let server = Dovecot::start();
    let home = Installation::new();
    let mut client = home.client(server.port());
    let long = WORD.repeat(40);
    let id = "imap:default:INBOX:1:1";
    let search = "imap_search_messages";
    for (tool, arguments, argument) in [
        ("imap_list_accounts", json!({ WORD: WORD }), "(unknown)"),
        (
            search,
            inbox(json!({ "query": WORD, WORD: 1 })),
            "(unknown)",
        ),
        (
            "imap_get_message",
            json!({ "message_id": id, "mailbox": WORD }),
            "(unknown)",
        ),
        (search, inbox(json!({ "query": [WORD] })), "query"),
        (search, inbox(json!({ "query": { WORD: WORD } })), "query"),
        (search, json!({ "mailbox": 7, "query": WORD }), "mailbox"),
        (search, inbox(json!({ "unread_only": WORD })), "unread_only"),
        (
            "imap_verify_account",
            json!({ "account_id": format!("{WORD} {WORD}") }),
            "account_id",
        ),
        (search, inbox(json!({ "from": long })), "from"),
        (search, inbox(json!({ "to": format!("{WORD}\n") })), "to"),
        (
            search,
            inbox(json!({ "limit": 51, "subject": WORD })),
            "limit",
        ),
        (search, inbox(json!({ "start_date": WORD })), "start_date"),
        (search, json!({ "mailbox": long }), "mailbox"),
        (search, json!({ "query": WORD }), "mailbox"),
        ("imap_get_message", json!({}), "message_id"),
        (
            "imap_get_message",
            json!({ "message_id": WORD }),
            "message_id",
        ),
        (
            "imap_get_message_raw",
            json!({ "message_id": id, "max_bytes": 1 }),
            "max_bytes",
        ),
        (
            search,
            inbox(json!({ "cursor": WORD, "query": WORD })),
            "cursor",
        ),
        (
            search,
            inbox(json!({ "query": WORD, "last_days": 1, "end_date": "2026-01-01" })),
            "last_days",
        ),
        (
            "imap_get_message",
            json!({ "message_id": id, "account_id": WORD }),
            "message_id",
        ),
        (
            "imap_get_message_raw",
            json!({ "message_id": id, "account_id": WORD }),
            "message_id",
        ),
    ] {
        let meta = meta(&mut client, tool, &arguments);
        let record = home.receipted(&meta);
        assert_eq!(record.event, "call");
        assert_eq!(record.text("tool"), tool, "{arguments}");
        assert_eq!(
            Left::of(&record),
            Left::wrong(argument),
            "{tool} {arguments}"
        );
        assert_eq!(record.json["arguments"], json!({}), "{arguments}");
        assert_eq!(
            (record.number("round_trips"), record.number("shown")),
            (0, 0)
        );
        assert!(record.is_without(&["level"]), "{}", record.json);
    }
    assert_tells_nothing(&home);
}

#[test]
fn an_unknown_tool_is_named_only_where_it_has_a_name() {
    let closed = closed_port();
    let home = Installation::new();
    let mut client = home.client(closed.number());
    let long = "x".repeat(65);
    for (name, kept) in [
        ("imap_empty_folder", "imap_empty_folder"),
        ("zanzibar is a word", "(not a name)"),
        ("zanzibar\n", "(not a name)"),
        (&long, "(not a name)"),
        ("зanzibar", "(not a name)"),
        ("", "(not a name)"),
    ] {
        let meta = meta(&mut client, name, &json!({ WORD: WORD }));
        let record = home.receipted(&meta);
        assert_eq!(record.text("tool"), kept);
        let expected = Left {
            reason: "unknown_tool",
            argument: None,
            ..Left::wrong("")
        };
        assert_eq!(Left::of(&record), expected, "{name}");
    }
    assert_tells_nothing(&home);
}

#[test]
fn what_was_allowed_and_could_not_be_done_is_recorded_with_why() {
    let server = Dovecot::start();
    server.deliver("alice", "INBOX", &note("one", WORD));
    let home = Installation::new();
    let mut client = home.client(server.port());
    let id = message_id(&server, "INBOX", 1);
    let gone = message_id(&server, "INBOX", 99);
    let rebuilt = format!("imap:default:INBOX:{}:1", uidvalidity(&server, "INBOX") + 1);
    let cursor = Left {
        argument: Some("cursor"),
        ..Left::allowed("invalid_input")
    };
    for (tool, arguments, expected) in [
        (
            "imap_list_mailboxes",
            json!({ "account_id": "nobody" }),
            Left::allowed("not_found"),
        ),
        (
            "imap_verify_account",
            json!({ "account_id": "nobody" }),
            Left::allowed("not_found"),
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": "Nowhere", "query": WORD }),
            Left::allowed("not_found"),
        ),
        (
            "imap_search_messages",
            inbox(json!({ "cursor": WORD })),
            cursor,
        ),
        (
            "imap_get_message",
            json!({ "message_id": gone }),
            Left::allowed("not_found"),
        ),
        (
            "imap_get_message_raw",
            json!({ "message_id": gone }),
            Left::allowed("not_found"),
        ),
        (
            "imap_get_message",
            json!({ "message_id": rebuilt }),
            Left::allowed("conflict"),
        ),
        (
            "imap_get_message",
            json!({ "message_id": id.replace("default", "nobody") }),
            Left::allowed("not_found"),
        ),
    ] {
        let meta = meta(&mut client, tool, &arguments);
        let record = home.receipted(&meta);
        assert_eq!(Left::of(&record), expected, "{tool} {arguments}");
        assert_eq!(
            record.json["round_trips"],
            meta["telemetry"]["imap_round_trips"]
        );
        assert_eq!(record.number("shown"), 0);
        let kept = &record.json["arguments"];
        assert!(kept["account"].is_string(), "{kept}");
    }
    assert_tells_nothing(&home);
}

#[test]
fn a_server_that_fails_is_recorded_by_the_code_of_its_failure() {
    let server = Dovecot::start();
    let closed = closed_port();
    // It says more than it should.
    let rude = Fake::script(|s| {
        s.log_in("IMAP4rev1");
        loop {
            s.command();
            s.no("[SERVERBUG] zanzibar zanzibar");
        }
    });
    let account = |port: u16, pass: &'static str| Account {
        port,
        pass,
        ..Account::default()
    };
    for (account, tool, arguments, issue) in [
        (
            account(server.port(), "wrong"),
            "imap_verify_account",
            json!({}),
            "auth_failed",
        ),
        (
            account(server.port(), "wrong"),
            "imap_search_messages",
            inbox(json!({ "query": WORD })),
            "auth_failed",
        ),
        (
            account(closed.number(), "secret"),
            "imap_list_mailboxes",
            json!({}),
            "connection_refused",
        ),
        (
            account(closed.number(), "secret"),
            "imap_get_message",
            json!({ "message_id": "imap:default:INBOX:1:1" }),
            "connection_refused",
        ),
        (
            account(rude.port(), "secret"),
            "imap_list_mailboxes",
            json!({}),
            "server_refused",
        ),
    ] {
        let home = Installation::new();
        let mut client = home.client_with(&account, &[]);
        let meta = meta(&mut client, tool, &arguments);
        let record = home.receipted(&meta);
        assert_eq!(Left::of(&record), Left::failed(issue), "{tool}");
        assert_eq!(
            record.json["round_trips"],
            meta["telemetry"]["imap_round_trips"]
        );
        assert_tells_nothing(&home);
    }
}

#[test]
fn errors_as_results_are_recorded_the_same_and_carry_their_receipt() {
    let server = Dovecot::start();
    let home = Installation::new();
    let account = Account {
        port: server.port(),
        ..Account::default()
    };
    let mut client = home.client_with(&account, &[("MAIL_IMAP_ERRORS", "result")]);
    let unknown = Left {
        reason: "unknown_tool",
        argument: None,
        ..Left::wrong("")
    };
    for (tool, arguments, expected) in [
        (
            "imap_search_messages",
            inbox(json!({ "query": [WORD] })),
            Left::wrong("query"),
        ),
        (
            "imap_get_message",
            json!({ "message_id": "imap:default:INBOX:1:9" }),
            Left::allowed("conflict"),
        ),
        (
            "imap_list_mailboxes",
            json!({ "account_id": "nobody" }),
            Left::allowed("not_found"),
        ),
        ("zanzibar is no tool", json!({}), unknown),
    ] {
        let outcome = client.call(tool, arguments.clone());
        assert!(outcome.is_error);
        let record = home.receipted(&outcome.structured["meta"]);
        assert_eq!(Left::of(&record), expected, "{tool} {arguments}");
    }
    assert_tells_nothing(&home);
}

#[test]
fn what_is_no_call_but_was_meant_as_one_is_recorded() {
    let home = Installation::new();
    let closed = closed_port();
    let mut client = home.client(closed.number());
    for (method, params, tool) in [
        (
            "tools/call",
            json!({ "name": "imap_list_accounts", "arguments": [WORD] }),
            "imap_list_accounts",
        ),
        (
            "tools/call",
            json!({ "name": format!("{WORD} {WORD}"), "arguments": 7 }),
            "(not a name)",
        ),
        (
            "tools/call",
            json!({ "arguments": { WORD: WORD } }),
            "(not a name)",
        ),
        ("tools/call", json!({ "name": 7 }), "(not a name)"),
        ("resources/read", json!({ "uri": [WORD] }), "(not a name)"),
    ] {
        let error = client.request(method, params.clone()).unwrap_err();
        assert_eq!(error.code, -32602, "{params}");
        let record = home.receipted(&error.data["meta"]);
        assert_eq!(record.text("tool"), tool, "{params}");
        assert_eq!(record.text("reason"), "invalid_input");
        assert!(!record.json.to_string().contains(WORD), "{params}");
    }
}
