//! What callers are told when the server behind an account fails.

use serde_json::{Value, json};

use super::{House, blacklist};
use crate::config_directory::PASSWORD;

/// Whose accounts are at a port where nobody listens.
fn unreachable() -> House {
    let house = House::new(&[("agent", blacklist("FULL", json!([])))]);
    let path = house.dir.path().join("accounts.yaml");
    let mut all: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    for one in all["accounts"].as_array_mut().unwrap() {
        one["port"] = json!(1);
    }
    std::fs::write(&path, format!("{all:#}\n")).unwrap();
    house
}

/// That is for whoever runs it.
#[test]
fn a_failure_tells_a_caller_nothing_of_where_the_server_is() {
    let house = unreachable();
    let mut agent = house.client("agent");
    for (tool, arguments) in [
        ("list_folders", json!({ "account_id": "work" })),
        (
            "search",
            json!({ "account_id": "work", "folder": "INBOX", "criteria": {} }),
        ),
        (
            "imap_search_messages",
            json!({ "account_id": "work", "mailbox": "INBOX" }),
        ),
    ] {
        let told = agent.call(tool, arguments);
        let issue = &told.structured["data"]["issues"][0];
        assert_eq!(issue["code"], "connection_refused", "{tool}");
        let message = issue["message"].as_str().unwrap();
        assert!(message.contains("mail server does not answer"), "{message}");
        let all = format!("{} {}", told.structured, told.text);
        assert!(!all.contains("127.0.0.1"), "{tool}: {all}");
    }
    drop(agent);
    let check = crate::support::program()
        .env("IMAP_MCP_CONFIG_DIR", house.dir.path())
        .env("IMAP_MCP_SECRET__ACCOUNTS__PASSWORD", PASSWORD)
        .arg("check")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&check.stdout).into_owned();
    assert!(said.contains("nothing listens at 127.0.0.1:1"), "{said}");
}

#[test]
fn a_failure_proposes_what_the_caller_can_do() {
    let house = unreachable();
    let mut agent = house.client("agent");
    let place = json!({ "account_id": "gmail", "folder": "INBOX" });
    let with = |more: Value| {
        let mut arguments = place.clone();
        for (key, value) in more.as_object().unwrap() {
            arguments[key] = value.clone();
        }
        arguments
    };
    let account = json!({ "account_id": "gmail" });
    for (tool, arguments) in [
        ("list_folders", account.clone()),
        ("list_labels", account),
        ("folder_stats", place.clone()),
        (
            "search",
            with(json!({ "criteria": { "text": "x" }, "limit": 7 })),
        ),
        ("fetch_envelope", with(json!({ "uid": 1 }))),
        ("fetch_headers", with(json!({ "uid": 1, "uidvalidity": 3 }))),
        ("fetch_body", with(json!({ "uid": 1, "offset": 30 }))),
        (
            "fetch_attachment",
            with(json!({ "uid": 1, "part_id": "2", "as_text": true })),
        ),
    ] {
        let outcome = agent.call(tool, arguments.clone());
        let data = &outcome.structured["data"];
        assert_eq!(data["status"], "failed", "{tool}: {data}");
        let next = &data["next_action"];
        match data["issues"][0]["retryable"].as_bool().unwrap() {
            true => {
                assert_eq!(next["tool"], tool, "{data}");
                assert_eq!(next["arguments"], arguments, "{tool}");
            }
            false => assert_eq!(next["tool"], "list_accounts", "{data}"),
        }
    }
}
