//! What a call leaves in the audit log, and that the answer's receipt leads there.

pub(crate) mod endings;
mod outage;
mod refused;

use serde_json::{Value, json};
use testkit::{Dovecot, McpClient};

use crate::installation::{Installation, Record};
use crate::support::{inbox, message_id, note};

/// What stands in the record of an allowed call.
struct Kept {
    tool: &'static str,
    arguments: Value,
    /// The arguments as the log has them.
    summary: Value,
    level: &'static str,
    shown: u64,
}

fn every_tool(id: &str) -> Vec<Kept> {
    vec![
        Kept {
            tool: "imap_list_accounts",
            arguments: json!({}),
            summary: json!({}),
            level: "COUNT",
            shown: 1,
        },
        Kept {
            tool: "imap_verify_account",
            arguments: json!({ "account_id": "default" }),
            summary: json!({ "account": "default" }),
            level: "COUNT",
            shown: 0,
        },
        Kept {
            tool: "imap_list_mailboxes",
            arguments: json!({}),
            summary: json!({ "account": "default" }),
            level: "COUNT",
            shown: 6,
        },
        Kept {
            tool: "imap_search_messages",
            arguments: inbox(
                json!({ "limit": 2, "unread_only": true, "start_date": "2020-02-29" }),
            ),
            summary: json!({
                "account": "default", "folder": "INBOX", "unread_only": true, "start_date": "2020-02-29", "limit": 2,
            }),
            level: "ENVELOPE",
            shown: 2,
        },
        Kept {
            tool: "imap_search_messages",
            arguments: inbox(
                json!({ "include_snippet": true, "snippet_max_chars": 60, "end_date": "2099-12-31" }),
            ),
            summary: json!({
                "account": "default", "folder": "INBOX", "end_date": "2099-12-31", "include_snippet": true,
                "snippet_max_chars": 60,
            }),
            level: "BODY",
            shown: 3,
        },
        Kept {
            tool: "imap_get_message",
            arguments: json!({ "message_id": id, "body_max_chars": 500, "include_headers": false }),
            summary: json!({
                "account": "default", "message_id": id, "body_max_chars": 500, "include_headers": false,
            }),
            level: "BODY",
            shown: 1,
        },
        Kept {
            tool: "imap_get_message",
            arguments: json!({ "message_id": id, "extract_attachment_text": true }),
            summary: json!({ "account": "default", "message_id": id, "extract_attachment_text": true }),
            level: "FULL",
            shown: 1,
        },
        Kept {
            tool: "imap_get_message_raw",
            arguments: json!({ "message_id": id, "max_bytes": 1_024 }),
            summary: json!({ "account": "default", "message_id": id, "max_bytes": 1_024 }),
            level: "FULL",
            shown: 1,
        },
    ]
}

#[test]
fn each_allowed_call_leaves_one_record_and_its_receipt_leads_there() {
    let server = Dovecot::start();
    for subject in ["one", "two", "three"] {
        server.deliver("alice", "INBOX", &note(subject, "text"));
    }
    let home = Installation::new();
    let mut client = home.client(server.port());
    let id = message_id(&server, "INBOX", 1);
    client.call("imap_list_accounts", json!({}));
    let mut said = home.said().len();
    for kept in every_tool(&id) {
        let tool = kept.tool;
        let outcome = client.call(tool, kept.arguments);
        let meta = &outcome.structured["meta"];
        let record = home.receipted(meta);
        said += 1;
        assert_eq!(home.said().len(), said, "{tool}");
        assert_eq!(record.event, "call", "{tool}");
        assert_eq!(record.text("caller_id"), "owner", "{tool}");
        let started = home.only("start", |_| true);
        assert_eq!(started.number("pid"), u64::from(client.pid()));
        let address = format!("stdio:{}", client.pid());
        assert_eq!(record.text("caller_addr"), address, "{tool}");
        assert_eq!(record.text("tool"), tool);
        assert_eq!(record.json["arguments"], kept.summary, "{tool}");
        assert_eq!(record.text("decision"), "ALLOW", "{tool}");
        assert_eq!(record.text("reason"), "folder_default_applied", "{tool}");
        assert_eq!(record.text("level"), kept.level, "{tool}");
        assert_eq!(record.text("result"), "ok", "{tool}");
        assert_eq!(record.number("shown"), kept.shown, "{tool}");
        assert_eq!(record.number("hidden"), 0, "{tool}");
        let told = &meta["telemetry"];
        assert_eq!(record.json["round_trips"], told["imap_round_trips"]);
        assert_eq!(record.json["latency_ms"], told["duration_ms"], "{tool}");
        let others = [
            "issue",
            "argument",
            "rule",
            "missing_capability",
            "transaction",
            "withheld",
        ];
        assert!(record.is_without(&others), "{}", record.json);
    }
}

#[test]
fn words_that_are_searched_for_are_digests() {
    let server = Dovecot::start();
    let home = Installation::new();
    let mut client = home.client(server.port());
    let kept = |client: &mut McpClient, criteria: Value| -> Record {
        let outcome = client.call("imap_search_messages", inbox(criteria));
        home.receipted(&outcome.structured["meta"])
    };
    let fields = ["query", "from", "to", "subject"];
    let words =
        json!({ "query": "zanzibar", "from": "zanzibar", "to": "madagascar", "subject": "Ünguja" });
    let first = kept(&mut client, words.clone());
    let digest = |record: &Record, field: &str| {
        let digest = record.json["arguments"][field].as_str().unwrap().to_owned();
        let hex = digest.strip_prefix("hmac:").expect("a digest");
        assert!(hex.len() == 32 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
        digest
    };
    assert_eq!(digest(&first, "query"), digest(&first, "from"));
    assert_ne!(digest(&first, "from"), digest(&first, "to"));
    drop(client);
    // The key is the installation's, not the process's.
    let mut client = home.client(server.port());
    let again = kept(&mut client, words);
    let other = kept(
        &mut client,
        json!({ "query": "zanzibar!", "from": "z", "to": "m", "subject": "unguja" }),
    );
    for field in fields {
        assert_eq!(digest(&first, field), digest(&again, field), "{field}");
        assert_ne!(digest(&first, field), digest(&other, field), "{field}");
    }
    for (path, bytes) in home.files() {
        let text = String::from_utf8_lossy(&bytes).to_lowercase();
        for word in ["zanzibar", "madagascar", "ünguja", "unguja"] {
            assert!(!text.contains(word), "{word} in {}", path.display());
        }
    }
    let elsewhere = Installation::new();
    let mut client = elsewhere.client(server.port());
    let outcome = client.call(
        "imap_search_messages",
        inbox(json!({ "query": "zanzibar" })),
    );
    let stranger = elsewhere.receipted(&outcome.structured["meta"]);
    assert_ne!(digest(&stranger, "query"), digest(&first, "query"));
}

#[test]
fn a_page_that_follows_says_that_it_does_and_no_more() {
    let server = Dovecot::start();
    for subject in ["one", "two", "three"] {
        server.deliver("alice", "INBOX", &note(subject, "zanzibar"));
    }
    let home = Installation::new();
    let mut client = home.client(server.port());
    let first = client.call(
        "imap_search_messages",
        inbox(json!({ "query": "zanzibar", "limit": 1 })),
    );
    let cursor = first.structured["data"]["next_cursor"].clone();
    let second = client.call("imap_search_messages", inbox(json!({ "cursor": cursor })));
    let record = home.receipted(&second.structured["meta"]);
    let summary = json!({ "account": "default", "folder": "INBOX", "cursor": true });
    assert_eq!(record.json["arguments"], summary);
}

#[test]
fn resources_and_completions_are_recorded_like_calls() {
    let server = Dovecot::start();
    server.deliver("alice", "INBOX", &note("resource", "body"));
    let home = Installation::new();
    let mut client = home.client(server.port());
    let id = message_id(&server, "INBOX", 1);
    let uri = format!(
        "imap://default/mailbox/INBOX/message/{}/1",
        crate::support::uidvalidity(&server, "INBOX")
    );
    let read = |uri: String| ("resources/read", json!({ "uri": uri }));
    let complete = |name: &str, typed: &str, context: Value| {
        let reference = json!({ "type": "ref/resource", "uri": "imap://{account}/mailbox/{mailbox}/message/{uidvalidity}/{uid}" });
        let argument = json!({ "name": name, "value": typed });
        (
            "completion/complete",
            json!({ "ref": reference, "argument": argument, "context": context }),
        )
    };
    client.call("imap_list_accounts", json!({}));
    let account = |name: &str| json!({ "arguments": { "account": name } });
    for ((method, params), tool, result, summary) in [
        (
            read(uri.clone()),
            "imap_get_message",
            "ok",
            json!({ "account": "default", "message_id": id, "body_max_chars": 20_000 }),
        ),
        (
            read(format!("{uri}/raw")),
            "imap_get_message_raw",
            "ok",
            json!({ "account": "default", "message_id": id, "max_bytes": 1_000_000 }),
        ),
        (
            read(uri.replace("default", "nobody")),
            "imap_get_message",
            "not_found",
            json!({ "account": "nobody", "message_id": id.replace("default", "nobody"), "body_max_chars": 20_000 }),
        ),
        (
            read("file:///zanzibar".to_owned()),
            "imap_get_message",
            "invalid_input",
            json!({}),
        ),
        (
            read("imap://zanzibar/raw".to_owned()),
            "imap_get_message_raw",
            "invalid_input",
            json!({}),
        ),
        (
            complete("account", "zanzibar", json!({})),
            "imap_list_accounts",
            "ok",
            json!({}),
        ),
        (
            complete("mailbox", "zanzibar", account("default")),
            "imap_list_mailboxes",
            "ok",
            json!({ "account": "default" }),
        ),
        (
            complete("mailbox", "", account("zanzi bar")),
            "imap_list_mailboxes",
            "invalid_input",
            json!({}),
        ),
    ] {
        let before = home.said().len();
        let answer = client.request(method, params.clone());
        let records = home.said();
        let record = records.last().unwrap();
        assert_eq!(records.len(), before + 1, "{params}");
        assert_eq!(record.event, "call", "{params}");
        assert_eq!(record.text("tool"), tool, "{params}");
        assert_eq!(record.text("result"), result, "{params}");
        assert_eq!(record.json["arguments"], summary, "{params}");
        assert_eq!(
            record.text("caller_addr"),
            format!("stdio:{}", client.pid())
        );
        if let Err(error) = answer {
            assert_eq!(home.receipted(&error.data["meta"]), *record, "{params}");
        }
    }
    for record in home.records() {
        assert!(
            !record.json.to_string().contains("zanzi"),
            "{}",
            record.json
        );
    }
}

#[test]
fn the_log_is_one_chain_over_many_starts_of_the_program() {
    let server = Dovecot::start();
    let home = Installation::new();
    let mut pids = Vec::new();
    for round in 0..4 {
        let mut client = home.client(server.port());
        pids.push(u64::from(client.pid()));
        client.call("imap_list_accounts", json!({}));
        match round {
            // Nobody says goodbye for a process that is killed.
            1 => client.kill(),
            _ => endings::leave(&mut client),
        }
    }
    let records = home.records();
    let of = |event: &str| -> Vec<u64> {
        let found = records.iter().filter(|record| record.event == event);
        found.map(|record| record.number("pid")).collect()
    };
    assert_eq!(of("start"), pids);
    assert_eq!(of("stop"), [pids[0], pids[2], pids[3]]);
    let opened = records.iter().filter(|record| record.event == "day_opened");
    assert!(opened.count() <= 2, "{records:#?}");
    let calls: Vec<String> = records
        .iter()
        .filter(|record| record.event == "call")
        .map(|record| record.text("caller_addr").to_owned())
        .collect();
    let addresses: Vec<String> = pids.iter().map(|pid| format!("stdio:{pid}")).collect();
    assert_eq!(calls, addresses);
    assert!(!records.iter().any(|record| record.event == "torn_tail"));
}
