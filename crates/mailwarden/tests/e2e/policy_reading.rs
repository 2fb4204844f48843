//! What a policy lets a caller read, tool by tool, and what it says of the rest.

mod failing;
mod identity;
mod one_part;
mod resources;
mod searching;

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::mcp::CallOutcome;
use testkit::{Dovecot, McpClient};

use crate::config_directory::{account, client, write};

/// A mailbox, and callers with policies over it.
struct House {
    server: Dovecot,
    dir: TempDir,
}

const ALL_SETS: [&str; 2] = ["imap", "gateway"];

impl House {
    /// Each caller has a policy of its own name: the folders of account `work`.
    fn new(callers: &[(&str, Value)]) -> Self {
        Self::with(
            Dovecot::builder().folder("Other").folder("Empty").start(),
            callers,
        )
    }

    fn with(server: Dovecot, callers: &[(&str, Value)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut google = account("gmail", "alice", server.port());
        google["provider"] = json!("google-mock");
        let accounts = [
            account("work", "alice", server.port()),
            google,
            account("private", "alice", server.port()),
        ];
        let listed: Vec<Value> = callers
            .iter()
            .map(|(name, _)| {
                json!({
                    "id": name, "policy": name, "toolsets": ALL_SETS,
                    "auth": { "type": "stdio_trusted" },
                })
            })
            .collect();
        let policies: Vec<Value> = callers
            .iter()
            .map(|(name, folders)| {
                json!({ "name": name, "accounts": { "work": folders, "gmail": folders } })
            })
            .collect();
        write(dir.path(), &accounts, &listed, &policies);
        Self { server, dir }
    }

    fn client(&self, caller: &str) -> McpClient {
        client(self.dir.path(), caller)
    }

    fn edit_callers(&self, edit: impl Fn(&mut Value)) {
        let path = self.dir.path().join("callers.yaml");
        let text = std::fs::read_to_string(&path).unwrap();
        let mut callers: Value = serde_json::from_str(&text).unwrap();
        callers["callers"]
            .as_array_mut()
            .unwrap()
            .iter_mut()
            .for_each(edit);
        std::fs::write(&path, format!("{callers:#}\n")).unwrap();
    }

    fn records(&self) -> Vec<Value> {
        records(self.dir.path())
    }
}

fn records(dir: &Path) -> Vec<Value> {
    let days = audit::days(&dir.join("audit")).unwrap_or_default();
    let text: String = days
        .into_iter()
        .map(|day| std::fs::read_to_string(day.path).unwrap())
        .collect();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// One letter, from whom and about what.
fn letter(from: &str, subject: &str, text: &str) -> Vec<u8> {
    format!(
        "From: {from}\r\nTo: alice@example.org\r\nSubject: {subject}\r\nDate: Tue, 3 Nov 2026 09:12:00 +0100\r\n\
         X-Odd: {subject}-odd\r\nMessage-ID: <{subject}@x>\r\n\r\n{text}\r\n"
    )
    .into_bytes()
}

fn attached(from: &str, subject: &str, file: &str) -> Vec<u8> {
    format!(
        "From: {from}\r\nTo: alice@example.org\r\nSubject: {subject}\r\nMIME-Version: 1.0\r\n\
         Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nsee below\r\n\
         --b\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename=plan.txt\r\n\r\n{file}\r\n--b--\r\n"
    )
    .into_bytes()
}

fn whitelist(rules: Value) -> Value {
    json!([{ "path": "INBOX", "mode": "whitelist", "default": "NONE", "rules": rules }])
}

fn blacklist(default: &str, rules: Value) -> Value {
    json!([{ "path": "INBOX", "mode": "blacklist", "default": default, "rules": rules }])
}

/// One sender for each level.
fn ladder() -> Value {
    let levels = ["COUNT", "METADATA", "ENVELOPE", "HEADERS", "BODY", "FULL"];
    let rules = levels.map(|level| {
        let domain = format!("{}.example", level.to_lowercase());
        json!({ "match": { "from_domain": domain }, "grant": level })
    });
    whitelist(json!(rules))
}

fn work(more: Value) -> Value {
    let mut arguments = json!({ "account_id": "work", "folder": "INBOX" });
    for (key, value) in more.as_object().unwrap() {
        arguments[key] = value.clone();
    }
    arguments
}

fn reason(outcome: &CallOutcome) -> &str {
    let data = &outcome.structured["data"];
    assert!(outcome.is_error, "{}", outcome.text);
    assert_eq!(outcome.structured["success"], false);
    assert_eq!(data["decision"], "DENY", "{data}");
    data["reason"].as_str().unwrap()
}

/// What was told, without what differs from call to call.
fn told(outcome: &CallOutcome) -> Value {
    let mut all = outcome.structured.clone();
    for key in ["request_id", "now_utc", "duration_ms", "receipt"] {
        all["meta"].as_object_mut().unwrap().remove(key);
    }
    json!([all, outcome.text, outcome.is_error])
}

#[test]
fn each_level_opens_its_tools_and_no_more() {
    let house = House::new(&[("agent", ladder())]);
    let levels = [
        "none", "count", "metadata", "envelope", "headers", "body", "full",
    ];
    for level in levels {
        let from = format!("Anna <anna@{level}.example>");
        house
            .server
            .deliver("alice", "INBOX", &letter(&from, level, "text of it"));
    }
    let mut agent = house.client("agent");
    let found = agent.call("search", work(json!({})));
    let data = &found.structured["data"];
    assert_eq!(data["uids"], json!([7, 6, 5, 4, 3]));
    assert_eq!(data["messages"][4]["visibility"], "METADATA");
    let counts = [
        "matched_total",
        "matched_visible",
        "filtered_out",
        "hidden_count",
    ];
    assert_eq!(
        counts.map(|name| data[name].as_u64().unwrap()),
        [7, 5, 2, 2]
    );
    let stats = agent.call("folder_stats", work(json!({})));
    let stats = &stats.structured["data"];
    assert_eq!(stats["hidden_count"], 2, "as search has it");
    assert_eq!(stats["visible_count"], 5);
    assert_eq!(stats["by_visibility"]["NONE"], 1);
    assert_eq!(stats["by_visibility"]["COUNT"], 1);
    assert_eq!(stats["by_visibility"]["FULL"], 1);
    let tools = [
        ("fetch_envelope", 3, "visibility_below_ENVELOPE"),
        ("fetch_headers", 4, "visibility_below_HEADERS"),
        ("fetch_body", 5, "visibility_below_BODY"),
    ];
    for (tool, needs, below) in tools {
        for (level, uid) in (0..).zip(1..=7u32) {
            let outcome = agent.call(tool, work(json!({ "uid": uid })));
            if level >= needs {
                assert!(!outcome.is_error, "{tool} {uid}: {}", outcome.text);
                let data = &outcome.structured["data"];
                assert_eq!(
                    data["visibility_applied"],
                    levels[level].to_uppercase(),
                    "{tool}"
                );
                let redacted = data["redacted_fields"].as_array().unwrap().len();
                assert_eq!(redacted, 6 - level, "{tool} {uid}");
                assert_eq!(
                    data.get("redaction_reason").is_some(),
                    level < 6,
                    "{tool} {uid}"
                );
            } else if level >= 2 {
                assert_eq!(reason(&outcome), below, "{tool} {uid}");
            } else {
                assert_eq!(reason(&outcome), "message_not_visible", "{tool} {uid}");
            }
        }
    }
    let absent = agent.call("fetch_envelope", work(json!({ "uid": 99 })));
    let hidden = agent.call("fetch_envelope", work(json!({ "uid": 1 })));
    assert_eq!(told(&absent), told(&hidden));
}

#[test]
fn the_log_knows_why_and_the_caller_does_not() {
    let rules = json!([{ "match": { "from_domain": "good.example" }, "grant": "FULL" }]);
    let caps = json!([{ "match": { "from": "bad@bad.example" }, "cap": "NONE" }]);
    let house = House::new(&[
        ("white", whitelist(rules)),
        ("black", blacklist("FULL", caps)),
    ]);
    let raw = letter("bad@bad.example", "zanzibar", "zanzibar");
    house.server.deliver("alice", "INBOX", &raw);
    house
        .server
        .deliver("alice", "INBOX", &letter("g@good.example", "fine", "x"));
    for caller in ["white", "black"] {
        let mut agent = house.client(caller);
        for uid in [1, 2, 7] {
            agent.call("fetch_body", work(json!({ "uid": uid })));
        }
    }
    let records = house.records();
    let calls: Vec<&Value> = records
        .iter()
        .filter(|one| one["event"] == "call")
        .collect();
    let said = |one: &Value| {
        let text = |name: &str| one[name].as_str().unwrap_or_default().to_owned();
        (
            text("caller_id"),
            text("decision"),
            text("reason"),
            one["rule"].as_u64(),
        )
    };
    let want = [
        ("white", "DENY", "sender_not_whitelisted", None),
        ("white", "ALLOW", "rule_matched", Some(1)),
        ("white", "DENY", "object_absent", None),
        ("black", "DENY", "sender_blacklisted", Some(1)),
        ("black", "ALLOW", "folder_default_applied", None),
        ("black", "DENY", "object_absent", None),
    ];
    let want =
        want.map(|(who, what, why, rule)| (who.to_owned(), what.to_owned(), why.to_owned(), rule));
    assert_eq!(calls.iter().map(|one| said(one)).collect::<Vec<_>>(), want);
    let text = format!("{records:?}");
    assert!(
        !text.contains("zanzibar") && !text.contains("bad.example"),
        "{text}"
    );
}

#[test]
fn a_cap_holds_for_every_tool() {
    let caps = json!([
        { "match": { "has_attachment": true }, "cap": "NONE" },
        { "match": { "size_gt": 4000 }, "cap": "NONE" },
        { "match": { "newer_than": "50y", "subject_contains": "fresh" }, "cap": "NONE" },
    ]);
    let house = House::new(&[("agent", blacklist("FULL", caps))]);
    let long = letter("a@x.example", "long", &"word ".repeat(2_000));
    let letters = [
        attached("a@x.example", "with", "zanzibar"),
        long,
        letter("a@x.example", "FRESH one", "x"),
        letter("a@x.example", "open", "x"),
    ];
    for one in &letters {
        house.server.deliver("alice", "INBOX", one);
    }
    for warm in [false, true] {
        let mut agent = house.client("agent");
        if warm {
            agent.call("search", work(json!({})));
        }
        let open = agent.call("search", work(json!({})));
        assert_eq!(open.structured["data"]["uids"], json!([4]));
        let validity = open.structured["data"]["uidvalidity"].as_u64().unwrap();
        for uid in 1..=4u32 {
            let id = format!("imap:work:INBOX:{validity}:{uid}");
            let uri = format!("imap://work/mailbox/INBOX/message/{validity}/{uid}");
            let calls = [
                ("fetch_envelope", work(json!({ "uid": uid }))),
                ("fetch_headers", work(json!({ "uid": uid }))),
                ("fetch_body", work(json!({ "uid": uid }))),
                ("imap_get_message", json!({ "message_id": id })),
                ("imap_get_message_raw", json!({ "message_id": id })),
            ];
            for (tool, arguments) in calls {
                let outcome = agent.call(tool, arguments);
                match uid {
                    4 => assert!(!outcome.is_error, "{tool}: {}", outcome.text),
                    _ => assert_eq!(reason(&outcome), "message_not_visible", "{tool} {uid}"),
                }
            }
            let attachment = work(json!({ "uid": uid, "part_id": "2" }));
            let attachment = agent.request(
                "tools/call",
                json!({ "name": "fetch_attachment", "arguments": attachment }),
            );
            assert!(!format!("{attachment:?}").contains("emFuemliYXI"), "{uid}");
            for uri in [uri.clone(), format!("{uri}/raw"), format!("{uri}/part/2")] {
                let read = agent.request("resources/read", json!({ "uri": uri }));
                assert_eq!(
                    read.is_ok(),
                    uid == 4 && !uri.ends_with("/part/2"),
                    "{uri}: {read:?}"
                );
            }
        }
    }
}

#[test]
fn reading_marks_nothing_whatever_is_answered() {
    let house = House::new(&[("agent", ladder())]);
    for level in ["none", "metadata", "full"] {
        let from = format!("a@{level}.example");
        house
            .server
            .deliver("alice", "INBOX", &letter(&from, level, "x"));
    }
    let flags = || {
        let mut bare = house.server.login("alice", "secret");
        bare.command("EXAMINE INBOX");
        bare.command("UID FETCH 1:* (FLAGS)").text()
    };
    let before = flags();
    assert!(!before.contains("Seen"), "{before}");
    let mut agent = house.client("agent");
    for uid in 1..=3 {
        for tool in ["fetch_envelope", "fetch_headers", "fetch_body"] {
            agent.call(tool, work(json!({ "uid": uid })));
        }
    }
    agent.call("search", work(json!({ "criteria": { "text": "x" } })));
    assert!(!flags().contains("Seen"), "{}", flags());
}

#[test]
fn attachments_come_as_bytes_as_text_or_as_a_link() {
    let rules = json!([
        { "match": { "from_domain": "full.example" }, "grant": "FULL" },
        { "match": { "from_domain": "body.example" }, "grant": "BODY" },
    ]);
    let house = House::new(&[("agent", whitelist(rules))]);
    house.server.deliver(
        "alice",
        "INBOX",
        &attached("a@full.example", "one", "zanzibar"),
    );
    house.server.deliver(
        "alice",
        "INBOX",
        &attached("a@body.example", "two", "zanzibar"),
    );
    let large = attached("a@full.example", "three", &"zanzibar ".repeat(1_000));
    house.server.deliver("alice", "INBOX", &large);
    let mut agent = house.client("agent");
    let body = agent.call("fetch_body", work(json!({ "uid": 1 })));
    assert_eq!(
        body.structured["data"]["body"]["attachments"][0]["part_id"],
        "2"
    );
    assert_eq!(
        body.structured["data"]["body"]["attachments"][0]["filename"],
        "plan.txt"
    );
    let part = work(json!({ "uid": 1, "part_id": "2" }));
    let bytes = agent.call("fetch_attachment", part.clone());
    let data = bytes.structured["data"]["attachment"]["data_base64"]
        .as_str()
        .unwrap();
    assert_eq!(STANDARD.decode(data).unwrap(), b"zanzibar");
    let mut as_text = part;
    as_text["as_text"] = json!(true);
    let text = agent.call("fetch_attachment", as_text);
    assert_eq!(
        text.structured["data"]["attachment"]["text"], "zanzibar",
        "{}",
        text.text
    );
    let large = work(json!({ "uid": 3, "part_id": "2", "max_bytes": 1024 }));
    let linked = agent.call("fetch_attachment", large);
    let uri = linked.structured["data"]["attachment"]["resource_uri"]
        .as_str()
        .unwrap();
    let links: Vec<&Value> = linked.raw["content"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|block| block["type"] == "resource_link")
        .collect();
    assert_eq!(links.len(), 1);
    assert_eq!(links[0]["uri"], uri);
    let read = agent
        .request("resources/read", json!({ "uri": uri }))
        .unwrap();
    let blob = STANDARD
        .decode(read["contents"][0]["blob"].as_str().unwrap())
        .unwrap();
    assert_eq!(blob.len(), 9_000);
    // At BODY there is no word of attachments, and none of them is found.
    let body = agent.call("fetch_body", work(json!({ "uid": 2 })));
    assert!(
        !body.text.contains("plan.txt") && !body.text.contains("zanzibar"),
        "{}",
        body.text
    );
    let outcome = agent.call(
        "fetch_attachment",
        work(json!({ "uid": 2, "part_id": "2" })),
    );
    assert_eq!(reason(&outcome), "visibility_below_FULL");
    let found = agent.call(
        "search",
        work(json!({ "criteria": { "text": "zanzibar" } })),
    );
    assert_eq!(found.structured["data"]["uids"], json!([3, 1]));
    let read = agent.call(
        "imap_get_message",
        json!({
            "message_id": format!("imap:work:INBOX:{}:2", found.structured["data"]["uidvalidity"]),
        }),
    );
    assert!(
        !read.is_error && !read.text.contains("plan.txt"),
        "{}",
        read.text
    );
}
