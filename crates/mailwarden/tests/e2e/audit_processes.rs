//! Several programs at once on one state directory: one chain, and every receipt of each of them leads to its record.

use std::collections::HashSet;
use std::thread;

use serde_json::{Value, json};
use testkit::{Dovecot, McpClient};

use crate::audit_records::endings::leave;
use crate::installation::{Installation, receipted};
use crate::support::{inbox, message_id, note};

/// What one client was told.
struct Told {
    pid: u64,
    /// Of each answer: the tool, and its `meta`.
    answers: Vec<(&'static str, Value)>,
}

/// Bursts of calls, each burst sent whole before the first answer is waited for.
fn converse(mut client: McpClient, bursts: usize, id: &str) -> Told {
    let mut answers = Vec::new();
    for burst in 0..bursts {
        let mut sent = Vec::new();
        for number in 0..4 {
            for (tool, arguments) in [
                ("imap_list_accounts", json!({})),
                (
                    "imap_search_messages",
                    inbox(json!({ "query": format!("{burst} {number}") })),
                ),
                // Refused for what it asks.
                ("imap_search_messages", inbox(json!({ "limit": 99 }))),
                ("imap_get_message", json!({ "message_id": id })),
            ] {
                sent.push((tool, client.send_call(tool, arguments)));
            }
        }
        for (tool, request) in sent {
            let meta = match client.wait(request) {
                Ok(result) => result["structuredContent"]["meta"].clone(),
                Err(error) => error.data["meta"].clone(),
            };
            answers.push((tool, meta));
        }
    }
    let pid = u64::from(client.pid());
    leave(&mut client);
    Told { pid, answers }
}

/// So many clients, started together, until all are gone; and then what the log says.
fn clients_at_once(clients: usize, bursts: usize) {
    let server = Dovecot::start();
    server.deliver("alice", "INBOX", &note("one", "text"));
    let id = message_id(&server, "INBOX", 1);
    let home = Installation::new();
    let told: Vec<Told> = thread::scope(|scope| {
        let (home, id, port) = (&home, &id, server.port());
        let running: Vec<_> = (0..clients)
            .map(|_| scope.spawn(move || converse(home.client(port), bursts, id)))
            .collect();
        running
            .into_iter()
            .map(|client| client.join().unwrap())
            .collect()
    });
    let records = home.records();
    let log = audit::verifier(&home.audit()).unwrap().log_id();
    let mut seen = HashSet::new();
    for Told { pid, answers } in &told {
        for (tool, meta) in answers {
            let record = receipted(&records, log.as_str(), meta);
            assert_eq!(record.text("tool"), *tool);
            assert_eq!(record.text("caller_addr"), format!("stdio:{pid}"));
            assert!(
                seen.insert(record.seq),
                "two receipts for record {}",
                record.seq
            );
        }
        let of_process = |event: &str| -> Vec<u64> {
            let of = |record: &&_| is_of(record, event, *pid);
            records.iter().filter(of).map(|record| record.seq).collect()
        };
        let (start, stop) = (of_process("start"), of_process("stop"));
        assert_eq!((start.len(), stop.len()), (1, 1), "{pid}");
        let address = format!("stdio:{pid}");
        let mut calls = records
            .iter()
            .filter(|record| record.json["caller_addr"] == address.as_str());
        assert!(
            calls.all(|call| start[0] < call.seq && call.seq < stop[0]),
            "{pid}"
        );
    }
    // Every call of the log was answered, with a receipt, exactly once.
    let calls = records
        .iter()
        .filter(|record| record.event == "call")
        .count();
    assert_eq!(calls, seen.len());
    assert_eq!(calls, clients * bursts * 16);
    let hashes: HashSet<&str> = records.iter().map(|record| record.hash.as_str()).collect();
    assert_eq!(hashes.len(), records.len());
    let known = [
        "start",
        "config_loaded",
        "call",
        "stop",
        "day_opened",
        "day_closed",
        "tree_stated",
    ];
    for record in &records {
        assert!(known.contains(&record.event.as_str()), "{}", record.json);
    }
}

fn is_of(record: &crate::installation::Record, event: &str, pid: u64) -> bool {
    record.event == event && record.json["pid"] == pid
}

#[test]
fn two_programs_write_one_chain() {
    clients_at_once(2, 6);
}

#[test]
fn four_programs_write_one_chain() {
    clients_at_once(4, 3);
}

/// Programs come and go while one stays: none of them begins another chain, or waits for the one that stays.
#[test]
fn programs_that_come_and_go_beside_one_that_stays_write_one_chain() {
    let server = Dovecot::start();
    let home = Installation::new();
    let mut staying = home.client(server.port());
    let mut told = Vec::new();
    for _ in 0..5 {
        let mut passing = home.client(server.port());
        for client in [&mut staying, &mut passing] {
            let outcome = client.call("imap_list_accounts", json!({}));
            told.push(outcome.structured["meta"].clone());
        }
        leave(&mut passing);
    }
    leave(&mut staying);
    for meta in &told {
        home.receipted(meta);
    }
    let records = home.said();
    let count = |event: &str| {
        records
            .iter()
            .filter(|record| record.event == event)
            .count()
    };
    assert_eq!((count("start"), count("call"), count("stop")), (6, 10, 6));
}
