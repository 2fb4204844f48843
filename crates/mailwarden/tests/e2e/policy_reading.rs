//! What a policy lets a caller read, tool by tool, and what it says of the rest.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::mcp::CallOutcome;
use testkit::{Dovecot, McpClient};

use crate::config_directory::{account, client, program, write};

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
    assert_eq!(stats["hidden_count"], 1);
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

/// Trap 19, 21.
#[test]
fn no_search_is_an_oracle_on_what_is_hidden() {
    let rules = json!([
        { "match": { "from_domain": "good.example" }, "grant": "FULL" },
        { "match": { "from_domain": "meta.example" }, "grant": "METADATA" },
    ]);
    let house = House::new(&[("agent", whitelist(rules))]);
    let hidden = letter("boss@hidden.example", "zanzibar", "zanzibar");
    house.server.deliver("alice", "INBOX", &hidden);
    house.server.deliver(
        "alice",
        "INBOX",
        &letter("m@meta.example", "zanzibar", "zanzibar"),
    );
    house.server.deliver(
        "alice",
        "INBOX",
        &letter("g@good.example", "plain", "zanzibar"),
    );
    let mut agent = house.client("agent");
    for (criteria, visible) in [
        (json!({ "subject_contains": "zanzibar" }), 0),
        (json!({ "subject_contains": "plain" }), 1),
        (json!({ "from_domain": "hidden.example" }), 0),
        (json!({ "from_domain": "META.example." }), 0),
        (json!({ "from": "G@good.example" }), 1),
        (json!({ "to_contains": "alice" }), 1),
        (json!({ "text": "zanzibar" }), 1),
        (
            json!({ "header": { "name": "X-Odd", "contains": "zanzibar" } }),
            0,
        ),
        (
            json!({ "header": { "name": "X-Odd", "contains": "plain" } }),
            1,
        ),
        (json!({ "seen": false }), 2),
        (json!({ "size_gt": 10 }), 2),
        (json!({ "newer_than": "50y" }), 2),
        (json!({ "older_than": "50y" }), 0),
        (json!({ "has_attachment": false }), 1),
    ] {
        let found = agent.call("search", work(json!({ "criteria": criteria })));
        let data = &found.structured["data"];
        assert_eq!(
            data["matched_visible"], visible,
            "{criteria}: {}",
            found.text
        );
        assert_eq!(data["matched_total"], visible, "{criteria}");
        assert_eq!(
            (&data["filtered_out"], &data["hidden_count"]),
            (&json!(0), &json!(1)),
            "{criteria}"
        );
    }
    let listed = agent.call(
        "imap_search_messages",
        json!({ "account_id": "work", "mailbox": "INBOX", "subject": "zanzibar" }),
    );
    assert_eq!(listed.structured["data"]["total"], 0);
}

/// Trap 18: one function computes facts, so a cap holds for every tool.
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

/// Trap 21, 24: nothing tells a folder or account that is hidden from one that is not there.
#[test]
fn hidden_folders_and_accounts_are_not_there() {
    let rules = json!([{ "match": { "from_domain": "x.example" }, "grant": "FULL" }]);
    let house = House::new(&[("agent", whitelist(rules))]);
    let mut agent = house.client("agent");
    let accounts = agent.call("list_accounts", json!({}));
    let data = &accounts.structured["data"];
    assert_eq!(data["accounts"].as_array().unwrap().len(), 2);
    assert_eq!(data["hidden_accounts_count"], 1);
    for tool in ["list_folders", "list_labels"] {
        let listed = agent.call(tool, json!({ "account_id": "gmail" }));
        let data = &listed.structured["data"];
        let (list, hidden) = match tool {
            "list_folders" => ("folders", "hidden_folders_count"),
            _ => ("labels", "hidden_labels_count"),
        };
        assert_eq!(data[list].as_array().unwrap().len(), 1, "{}", listed.text);
        assert_eq!(data[hidden], 7, "{}", listed.text);
        assert!(!listed.text.contains("Other"), "{}", listed.text);
    }
    let labels = agent.call("list_labels", json!({ "account_id": "work" }));
    assert_eq!(reason(&labels), "tool_not_applicable_for_provider");
    let outcomes = ["private", "nowhere"].map(|account| {
        let outcome = agent.call("list_folders", json!({ "account_id": account }));
        assert_eq!(reason(&outcome), "account_hidden");
        told(&outcome)
    });
    assert_eq!(outcomes[0], outcomes[1]);
    let outcomes = ["Other", "Nowhere"].map(|folder| {
        let outcome = agent.call("search", json!({ "account_id": "work", "folder": folder }));
        assert_eq!(reason(&outcome), "folder_hidden");
        told(&outcome)
    });
    assert_eq!(outcomes[0], outcomes[1]);
}

/// Trap 24.
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

#[test]
fn pages_are_cut_after_judging() {
    let rules = json!([{ "match": { "from_domain": "x.example" }, "grant": "FULL" }]);
    let house = House::new(&[("agent", whitelist(rules))]);
    for n in 0..60 {
        let from = if n % 3 == 0 {
            "a@x.example"
        } else {
            "a@y.example"
        };
        house
            .server
            .deliver("alice", "INBOX", &letter(from, &format!("n{n}"), "x"));
    }
    let mut agent = house.client("agent");
    let mut seen: Vec<u64> = Vec::new();
    let mut arguments = work(json!({ "limit": 7 }));
    let mut sizes = Vec::new();
    loop {
        let page = agent.call("search", arguments);
        let data = &page.structured["data"];
        let uids: Vec<u64> = data["uids"]
            .as_array()
            .unwrap()
            .iter()
            .map(|uid| uid.as_u64().unwrap())
            .collect();
        assert_eq!(
            (&data["matched_visible"], &data["hidden_count"]),
            (&json!(20), &json!(40))
        );
        sizes.push(uids.len());
        seen.extend(uids);
        match data["next_cursor"].as_str() {
            Some(cursor) => arguments = work(json!({ "cursor": cursor })),
            None => break,
        }
    }
    assert_eq!(sizes, [7, 7, 6]);
    let want: Vec<u64> = (0..60)
        .filter(|n| n % 3 == 0)
        .map(|n| n + 1)
        .rev()
        .collect();
    assert_eq!(seen, want);
}

#[test]
fn what_comes_and_goes_is_seen_by_the_next_search_in_two_flights() {
    let rules = json!([{ "match": { "from_domain": "x.example" }, "grant": "FULL" }]);
    let house = House::new(&[("agent", whitelist(rules))]);
    for n in 0..20 {
        let from = if n % 2 == 0 {
            "a@x.example"
        } else {
            "a@y.example"
        };
        house
            .server
            .deliver("alice", "INBOX", &letter(from, &format!("n{n}"), "x"));
    }
    let mut agent = house.client("agent");
    let mut counts = || {
        let page = agent.call("search", work(json!({})));
        let data = page.structured["data"].clone();
        assert!(page.structured["meta"].get("telemetry").is_none());
        (
            data["matched_visible"].as_u64().unwrap(),
            data["hidden_count"].as_u64().unwrap(),
        )
    };
    assert_eq!(counts(), (10, 10));
    assert_eq!(counts(), (10, 10));
    let flights = house.records().last().unwrap()["round_trips"]
        .as_u64()
        .unwrap();
    assert!(flights <= 2, "{flights}");
    house
        .server
        .deliver("alice", "INBOX", &letter("a@x.example", "new", "x"));
    house
        .server
        .deliver("alice", "INBOX", &letter("a@y.example", "new", "x"));
    assert_eq!(counts(), (11, 11));
    let mut bare = house.server.login("alice", "secret");
    bare.command("SELECT INBOX");
    bare.command("UID STORE 1:2 +FLAGS (\\Deleted)");
    bare.command("EXPUNGE");
    assert_eq!(counts(), (10, 10));
}

#[test]
fn callers_are_shown_the_tools_that_their_policy_could_allow() {
    let rule = |level: &str| json!([{ "match": { "from_domain": "x.example" }, "grant": level }]);
    let house = House::new(&[
        ("counts", whitelist(rule("COUNT"))),
        ("lists", whitelist(rule("METADATA"))),
        ("all", whitelist(rule("FULL"))),
    ]);
    for (caller, tools, has, lacks) in [
        ("counts", 9, "folder_stats", "search"),
        ("lists", 11, "search", "fetch_envelope"),
        ("all", 17, "fetch_attachment", "imap_delete_message"),
    ] {
        let mut agent = house.client(caller);
        let listed = agent.request("tools/list", json!({})).unwrap();
        let names: Vec<&str> = listed["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        assert_eq!(names.len(), tools, "{caller}: {names:?}");
        assert!(
            names.contains(&has) && !names.contains(&lacks),
            "{caller}: {names:?}"
        );
        let refused = agent.request("tools/call", json!({ "name": lacks, "arguments": {} }));
        assert!(
            refused.unwrap_err().message.contains("unknown tool"),
            "{caller}"
        );
    }
}

#[test]
fn the_caller_is_told_its_own_policy_and_no_pattern() {
    let rules = json!([{ "match": { "from_domain": "secret-pattern.example" }, "grant": "BODY" }]);
    let mut folders = whitelist(rules);
    folders[0]["move_out"] = json!(true);
    let house = House::new(&[("agent", folders), ("other", whitelist(json!([])))]);
    let mut agent = house.client("agent");
    let policy = agent.call("describe_policy", json!({}));
    let data = &policy.structured["data"];
    assert_eq!(
        (&data["caller_id"], &data["policy"]),
        (&json!("agent"), &json!("agent"))
    );
    let folder = &data["accounts"][0]["folders"][0];
    assert_eq!(folder["path"], "INBOX");
    assert_eq!(
        (&folder["default_visibility"], &folder["max_visibility"]),
        (&json!("NONE"), &json!("BODY"))
    );
    assert_eq!(folder["capabilities"], json!(["move_out"]));
    let all = format!("{}{}", policy.text, policy.structured);
    assert!(!all.contains("pattern") && !all.contains("other"), "{all}");
    let me = agent.call("get_caller_identity", json!({}));
    assert_eq!(me.structured["data"]["caller_id"], "agent");
}

/// Trap 22.
#[test]
fn nobody_is_served_without_being_somebody() {
    let house = House::new(&[("agent", ladder())]);
    let cases: [(&[(&str, &str)], &str); 3] = [
        (&[], "IMAP_MCP_CALLER_ID"),
        (&[("IMAP_MCP_CALLER_ID", "nobody")], "IMAP_MCP_CALLER_ID"),
        (
            &[("IMAP_MCP_CALLER_TOKEN", "a token of nobody at all")],
            "IMAP_MCP_CALLER_TOKEN",
        ),
    ];
    for (variables, told) in cases {
        let mut command = program(house.dir.path());
        command.envs(variables.iter().copied());
        let output = command.stdin(std::process::Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{variables:?}");
        assert!(output.stdout.is_empty());
        let shown = String::from_utf8(output.stderr).unwrap();
        assert!(shown.contains(told) && !shown.contains("agent"), "{shown}");
    }
    let refused = house.records();
    let refused = refused
        .iter()
        .filter(|one| one["event"] == "caller_refused");
    assert_eq!(refused.count(), 3);
}
