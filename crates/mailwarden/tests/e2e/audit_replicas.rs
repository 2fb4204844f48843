//! Several replicas of one installation: each writes a log of its own, and every answer is in exactly one of them.

use std::collections::HashMap;
use std::thread;

use serde_json::{Value, json};
use testkit::{Dovecot, McpClient};

use crate::audit_records::endings::leave;
use crate::installation::Installation;
use crate::support::{Account, inbox, note};

/// What one replica's client was told: the `meta` of each answer.
fn converse(mut client: McpClient) -> Vec<Value> {
    let mut told = Vec::new();
    for _ in 0..10 {
        for (tool, arguments) in [
            ("imap_list_accounts", json!({})),
            ("imap_search_messages", inbox(json!({ "query": "text" }))),
        ] {
            told.push(client.call(tool, arguments).structured["meta"].clone());
        }
    }
    leave(&mut client);
    told
}

fn audit(home: &Installation, words: &[&str]) -> (bool, String) {
    let ran = home.program().arg("audit").args(words).output().unwrap();
    (ran.status.success(), String::from_utf8(ran.stdout).unwrap())
}

#[test]
fn every_answer_is_in_exactly_one_of_the_chains() {
    let server = Dovecot::start();
    server.deliver("alice", "INBOX", &note("one", "text"));
    let home = Installation::new();
    let names = ["one", "two", "three"];
    let told: Vec<Vec<Value>> = thread::scope(|scope| {
        let clients = names.map(|name| {
            let account = Account {
                port: server.port(),
                ..Account::default()
            };
            let client = home.client_with(&account, &[("MAILWARDEN_REPLICA", name)]);
            scope.spawn(move || converse(client))
        });
        clients.map(|client| client.join().unwrap()).into()
    });
    let (good, said) = audit(&home, &["verify", "--json"]);
    let said: Value = serde_json::from_str(&said).unwrap();
    assert!(good, "{said}");
    let ids: HashMap<&str, &str> = said["logs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|log| {
            (
                log["log"].as_str().unwrap(),
                log["log_id"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(ids.len(), 3);
    let (_, lines) = audit(&home, &["query", "--event", "call", "--json"]);
    let mut found: HashMap<String, Vec<Value>> = HashMap::new();
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let request = line["record"]["request_id"].as_str().unwrap().to_owned();
        found.entry(request).or_default().push(line);
    }
    for (name, answers) in names.iter().zip(&told) {
        for meta in answers {
            let records = &found[meta["request_id"].as_str().unwrap()];
            assert_eq!(records.len(), 1, "{meta}");
            let (record, receipt) = (&records[0], &meta["receipt"]);
            assert_eq!(record["log"], *name);
            assert_eq!(record["record"]["seq"], receipt["seq"]);
            assert_eq!(receipt["log_id"], ids[name]);
        }
    }
    assert_eq!(found.len(), told.iter().map(Vec::len).sum::<usize>());
    // Each start says whose it is.
    let (_, starts) = audit(&home, &["query", "--event", "start", "--json"]);
    for line in starts.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["record"]["replica"], line["log"]);
    }
    assert_eq!(starts.lines().count(), 3);
}

#[test]
fn a_name_that_leads_elsewhere_is_refused_before_anything_starts() {
    for name in ["../elsewhere", "a b", ".hidden", "log.pub"] {
        let home = Installation::new();
        let ran = home
            .program()
            .args(["--replica", name, "check"])
            .output()
            .unwrap();
        assert_eq!(ran.status.code(), Some(2), "{name}");
        let err = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(err.contains("--replica must"), "{err}");
    }
}
