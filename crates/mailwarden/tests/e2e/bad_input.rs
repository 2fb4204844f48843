//! Every bound and every rule of the contract: what is refused, with which code and words.

use serde_json::{Value, json};
use testkit::{Dovecot, FaultProxy, McpClient};

use crate::support::{client, note};

fn refused(client: &mut McpClient, tool: &str, arguments: &Value) -> (i64, String, String) {
    let params = json!({ "name": tool, "arguments": arguments });
    match client.request("tools/call", params) {
        Ok(result) => panic!("{tool} {arguments} was not refused: {result}"),
        Err(error) => {
            let meta = &error.data["meta"];
            assert_eq!(meta["version"], "response-v2");
            assert!(meta["request_id"].as_str().unwrap().starts_with("req_"));
            (
                error.code,
                error.data["code"].as_str().unwrap().to_owned(),
                error.message,
            )
        }
    }
}

const ID: &str = "imap:default:INBOX:1:1";

#[test]
fn each_rule_has_its_words() {
    let server = Dovecot::start();
    let mut client = client(server.port());
    let long = "x".repeat(257);
    for (tool, arguments, says) in [
        (
            "imap_list_accounts",
            json!({ "x": 1 }),
            "there is no argument `x`",
        ),
        (
            "imap_verify_account",
            json!({ "account_id": "" }),
            "1 to 64 letters",
        ),
        (
            "imap_verify_account",
            json!({ "account_id": "a b" }),
            "1 to 64 letters",
        ),
        (
            "imap_verify_account",
            json!({ "account_id": "a".repeat(65) }),
            "1 to 64 letters",
        ),
        (
            "imap_verify_account",
            json!({ "account_id": 7 }),
            "account_id must be a string",
        ),
        (
            "imap_list_mailboxes",
            json!({ "account_id": "a\r\nb" }),
            "1 to 64 letters",
        ),
        (
            "imap_list_mailboxes",
            json!({ "mailbox": "INBOX" }),
            "there is no argument `mailbox`",
        ),
        ("imap_search_messages", json!({}), "mailbox is required"),
        (
            "imap_search_messages",
            json!({ "mailbox": "" }),
            "mailbox must be 1 to 256",
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": long }),
            "mailbox must be 1 to 256",
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": "a\u{0}b" }),
            "control characters",
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": "a\r\nb" }),
            "control characters",
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": "INBOX", "query": "" }),
            "query must be 1 to 256",
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": "INBOX", "query": long }),
            "query must be 1 to 256",
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": "INBOX", "query": "a\nb" }),
            "query must not contain control",
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": "INBOX", "from": "a\u{7f}" }),
            "from must not contain control",
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": "INBOX", "to": "a\u{0}" }),
            "to must not contain control",
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": "INBOX", "subject": "\u{1b}[0m" }),
            "subject must not contain control",
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": "INBOX", "unread_only": "yes" }),
            "unread_only",
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": "INBOX", "last_days": 0 }),
            "last_days must be a whole number from 1 to 365",
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": "INBOX", "last_days": 366 }),
            "from 1 to 365",
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": "INBOX", "start_date": "2026-13-01" }),
            "start_date must be a date",
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": "INBOX", "end_date": "yesterday" }),
            "end_date must be a date",
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": "INBOX", "start_date": "2026-02-01", "end_date": "2026-01-01" }),
            "start_date must not be after end_date",
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": "INBOX", "last_days": 3, "start_date": "2026-01-01" }),
            "last_days cannot be combined",
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": "INBOX", "last_days": 3, "end_date": "2026-01-01" }),
            "last_days cannot be combined",
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": "INBOX", "limit": 0 }),
            "limit must be a whole number from 1 to 50",
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": "INBOX", "limit": 51 }),
            "from 1 to 50",
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": "INBOX", "limit": 2.5 }),
            "from 1 to 50",
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": "INBOX", "snippet_max_chars": 100 }),
            "snippet_max_chars needs include_snippet",
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": "INBOX", "include_snippet": false, "snippet_max_chars": 100 }),
            "needs include_snippet",
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": "INBOX", "include_snippet": true, "snippet_max_chars": 49 }),
            "from 50 to 500",
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": "INBOX", "include_snippet": true, "snippet_max_chars": 501 }),
            "from 50 to 500",
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": "INBOX", "cursor": "abc", "query": "x" }),
            "cursor cannot be combined",
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": "INBOX", "cursor": "abc", "unread_only": true }),
            "cursor cannot be combined",
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": "INBOX", "cursor": "abc" }),
            "cursor is not valid",
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": "INBOX", "cursor": "" }),
            "cursor must be a next_cursor",
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": "INBOX", "cursor": "../../etc/passwd" }),
            "cursor is not valid",
        ),
        ("imap_get_message", json!({}), "message_id is required"),
        (
            "imap_get_message",
            json!({ "message_id": "pop:default:INBOX:1:1" }),
            "message_id must start with 'imap:'",
        ),
        (
            "imap_get_message",
            json!({ "message_id": "imap:default:INBOX:1" }),
            "message_id must look like",
        ),
        (
            "imap_get_message",
            json!({ "message_id": "imap:default:INBOX:x:1" }),
            "non-negative integers",
        ),
        (
            "imap_get_message",
            json!({ "message_id": "imap:default:INBOX:1:-1" }),
            "non-negative integers",
        ),
        (
            "imap_get_message",
            json!({ "message_id": "imap:default:IN\r\nBOX:1:1" }),
            "mailbox name",
        ),
        (
            "imap_get_message",
            json!({ "message_id": ID, "account_id": "work" }),
            "another account",
        ),
        (
            "imap_get_message",
            json!({ "message_id": ID, "body_max_chars": 99 }),
            "body_max_chars must be a whole number from 100 to 20000",
        ),
        (
            "imap_get_message",
            json!({ "message_id": ID, "body_max_chars": 20_001 }),
            "from 100 to 20000",
        ),
        (
            "imap_get_message",
            json!({ "message_id": ID, "include_html": 1 }),
            "include_html",
        ),
        (
            "imap_get_message",
            json!({ "message_id": ID, "attachment_text_max_chars": 100 }),
            "needs extract_attachment_text",
        ),
        (
            "imap_get_message",
            json!({ "message_id": ID, "extract_attachment_text": true, "attachment_text_max_chars": 99 }),
            "from 100 to 50000",
        ),
        (
            "imap_get_message",
            json!({ "message_id": ID, "extract_attachment_text": true, "attachment_text_max_chars": 50_001 }),
            "from 100 to 50000",
        ),
        (
            "imap_get_message",
            json!({ "message_id": ID, "peek": true }),
            "there is no argument `peek`",
        ),
        (
            "imap_get_message_raw",
            json!({ "message_id": ID, "max_bytes": 1_023 }),
            "from 1024 to 1000000",
        ),
        (
            "imap_get_message_raw",
            json!({ "message_id": ID, "max_bytes": 1_000_001 }),
            "from 1024 to 1000000",
        ),
        (
            "imap_get_message_raw",
            json!({ "message_id": ID, "account_id": "work" }),
            "another account",
        ),
        (
            "imap_delete_everything",
            json!({}),
            "unknown tool 'imap_delete_everything'",
        ),
    ] {
        let (number, code, message) = refused(&mut client, tool, &arguments);
        assert_eq!(
            (number, code.as_str()),
            (-32602, "invalid_input"),
            "{tool} {arguments}: {message}"
        );
        assert!(
            message.starts_with("invalid input: ") && message.contains(says),
            "{tool} {arguments}: {message}"
        );
        assert!(!message.contains(['\r', '\n', '\u{0}']), "{message:?}");
    }
}

#[test]
fn every_search_text_has_the_same_bounds() {
    let server = Dovecot::start();
    let mut client = client(server.port());
    for field in ["query", "from", "to", "subject"] {
        for (text, says) in [
            (String::new(), "must be 1 to 256"),
            ("x".repeat(257), "must be 1 to 256"),
            ("a\r\nb".to_owned(), "must not contain control"),
            ("a\0b".to_owned(), "must not contain control"),
        ] {
            let mut arguments = json!({ "mailbox": "INBOX" });
            arguments[field] = json!(text);
            let (_, code, message) = refused(&mut client, "imap_search_messages", &arguments);
            assert_eq!(code, "invalid_input");
            assert!(message.contains(&format!("{field} {says}")), "{message}");
        }
    }
    for id in [
        "",
        "imap",
        "imap:default:INBOX:1",
        "imap:default:INBOX:1:x",
        "imap:a b:INBOX:1:1",
    ] {
        let arguments = json!({ "message_id": id });
        assert_eq!(
            refused(&mut client, "imap_get_message_raw", &arguments).1,
            "invalid_input",
            "{id}"
        );
    }
}

#[test]
fn bounds_themselves_are_within() {
    let server = Dovecot::start();
    server.deliver("alice", "INBOX", &note("x", "y"));
    let mut client = client(server.port());
    let id = crate::support::message_id(&server, "INBOX", 1);
    for (tool, arguments) in [
        (
            "imap_search_messages",
            json!({ "mailbox": "INBOX", "limit": 1 }),
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": "INBOX", "limit": 50 }),
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": "INBOX", "last_days": 365 }),
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": "INBOX", "query": "ü".repeat(256) }),
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": "INBOX", "include_snippet": true, "snippet_max_chars": 500 }),
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": "INBOX", "start_date": "2026-01-01", "end_date": "2026-01-01" }),
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": "inbox", "cursor": null, "limit": null }),
        ),
        (
            "imap_get_message",
            json!({ "message_id": id, "body_max_chars": 100 }),
        ),
        (
            "imap_get_message",
            json!({ "message_id": id, "body_max_chars": 20_000 }),
        ),
        (
            "imap_get_message",
            json!({ "message_id": id, "extract_attachment_text": true, "attachment_text_max_chars": 50_000 }),
        ),
        (
            "imap_get_message_raw",
            json!({ "message_id": id, "max_bytes": 1_024 }),
        ),
        (
            "imap_get_message_raw",
            json!({ "message_id": id, "max_bytes": 1_000_000 }),
        ),
    ] {
        let outcome = client.call(tool, arguments.clone());
        assert!(!outcome.is_error, "{tool} {arguments}: {}", outcome.text);
    }
}

#[test]
fn an_unknown_account_or_folder_is_not_found() {
    let server = Dovecot::start();
    let mut client = client(server.port());
    for (tool, arguments, says) in [
        (
            "imap_verify_account",
            json!({ "account_id": "work" }),
            "account 'work' is not configured",
        ),
        (
            "imap_list_mailboxes",
            json!({ "account_id": "work" }),
            "imap_list_accounts",
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": "Nowhere" }),
            "no such mailbox",
        ),
        (
            "imap_search_messages",
            json!({ "mailbox": "Nowhere", "query": "x" }),
            "no such mailbox",
        ),
    ] {
        let (number, code, message) = refused(&mut client, tool, &arguments);
        assert_eq!((number, code.as_str()), (-32002, "not_found"), "{message}");
        assert!(message.contains(says), "{message}");
    }
}

#[test]
fn nothing_in_an_argument_becomes_a_command() {
    let server = Dovecot::start();
    server.deliver("alice", "INBOX", &note("x", "y"));
    let proxy = FaultProxy::to(server.port());
    let mut client = client(proxy.port());
    let hostile = [
        "\" BODY \"word",
        "x\" UNDELETED SUBJECT \"y",
        "{3}",
        "{3+}",
        "a)b(c",
        "\\",
        "\"",
        "*%",
        "ünïcödé {5}",
        "\u{1f4e6}",
        "a]b[c",
        "~{4}",
    ];
    for text in hostile {
        for field in ["query", "from", "to", "subject", "mailbox"] {
            let mut arguments = json!({ "mailbox": "INBOX" });
            arguments[field] = json!(text);
            let params = json!({ "name": "imap_search_messages", "arguments": arguments });
            match client.request("tools/call", params) {
                Ok(result) => {
                    // A lone quote is in every address as the server sees it; anything else is in none.
                    let total = &result["structuredContent"]["data"]["total"];
                    assert!(total == 0 || text == "\"", "{field}={text}: {total}");
                }
                Err(error) => assert_eq!(
                    (field, error.data["code"].as_str()),
                    ("mailbox", Some("not_found"))
                ),
            }
        }
    }
    // Every line the server saw begins with a tag of ours, or continues a literal that was announced.
    let wire = proxy.transcript();
    let mut lines = wire
        .split("\r\n")
        .filter(|line| !line.is_empty())
        .peekable();
    while let Some(line) = lines.next() {
        assert!(
            line.starts_with('w') && line.as_bytes()[1].is_ascii_digit(),
            "{line:?}"
        );
        let mut announced = line.ends_with('}') && !line.ends_with("\"}");
        while announced {
            let next = lines.next().expect("the literal");
            announced = next.ends_with('}')
                && next.contains("{")
                && next.contains(' ')
                && !next.contains('"');
        }
    }
}

#[test]
fn hard_errors_come_as_results_when_asked() {
    let server = Dovecot::start();
    let account = crate::support::Account {
        port: server.port(),
        ..Default::default()
    };
    let mut client = crate::support::client_with(&account, &[("MAIL_IMAP_ERRORS", "result")]);
    for (arguments, code) in [
        (json!({ "mailbox": "INBOX", "limit": 500 }), "invalid_input"),
        (json!({ "mailbox": "Nowhere" }), "not_found"),
    ] {
        let outcome = client.call("imap_search_messages", arguments);
        assert!(outcome.is_error);
        assert_eq!(outcome.structured["success"], false);
        assert_eq!(outcome.structured["data"]["code"], code);
        assert_eq!(outcome.structured["error"], outcome.structured["summary"]);
        assert_eq!(outcome.structured["meta"]["version"], "response-v2");
        assert_eq!(outcome.text, outcome.structured["error"].as_str().unwrap());
    }
}
