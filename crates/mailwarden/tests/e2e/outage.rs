//! The PostgreSQL that replicas share is away: reading goes on, changes are refused in good words, and everybody is told once.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::mcp::RpcError;
use testkit::{Dovecot, FaultProxy, McpClient, Postgres, postgres};

use crate::changes::ask;
use crate::installation::Installation;
use crate::operations::{Scrape, health, probe};
use crate::support::{Account, inbox, message_id, note, subjects};

const AWAY: &str = "is away (";
const BACK: &str = "is back: it answers again after";

/// One of several, reading and changing the same mailbox.
fn replica(home: &Installation, port: u16, ledger: &Postgres) -> McpClient {
    let account = Account {
        port,
        ..Account::default()
    };
    let url = ledger.url();
    let variables = [
        ("MAILWARDEN_LEDGER", url.as_str()),
        ("MAILWARDEN_LEDGER_PASSWORD", postgres::PASSWORD),
        ("MAIL_IMAP_WRITE_ENABLED", "true"),
        ("MAILWARDEN_METRICS_ADDR", "0"),
    ];
    home.client_with(&account, &variables)
}

fn refused(client: &mut McpClient, tool: &str, arguments: Value) -> RpcError {
    let call = json!({ "name": tool, "arguments": arguments });
    client.request("tools/call", call).unwrap_err()
}

/// What happened, why, and what to do; and no word of where the ledger is.
fn assert_says_so(error: &RpcError, ledger: &Postgres) {
    assert_eq!(
        (error.code, &error.data["code"]),
        (-32603, &json!("timeout"))
    );
    let details = &error.data["details"];
    assert_eq!(details["unavailable"], "ledger", "{error:?}");
    let after = details["retry_after_seconds"].as_u64().unwrap();
    assert!((1..=60).contains(&after), "{error:?}");
    for words in [
        "the ledger in which changes are written down does not answer",
        "this call has changed nothing, and reading goes on",
        &format!("again after {after} s"),
    ] {
        assert!(error.message.contains(words), "{error:?}");
    }
    let place = ledger.port().to_string();
    assert!(!error.message.contains(&place), "{error:?}");
}

fn lines_with<'a>(stderr: &'a str, text: &str) -> Vec<&'a str> {
    stderr.lines().filter(|line| line.contains(text)).collect()
}

#[test]
fn while_the_ledger_is_away_reading_goes_on_and_changes_are_refused_at_once() {
    let server = Dovecot::builder().folder("Target").start();
    for subject in ["one", "two"] {
        server.deliver("alice", "INBOX", &note(subject, "text"));
    }
    let proxy = FaultProxy::to(server.port());
    let mut ledger = Postgres::start_durable();
    let homes = [Installation::new(), Installation::new()];
    let mut replicas = homes
        .each_ref()
        .map(|home| replica(home, proxy.port(), &ledger));
    let moving = |key: &str| {
        json!({
            "message_id": message_id(&server, "INBOX", 1), "destination_mailbox": "Target", "idempotency_key": key,
        })
    };
    let able = json!({ "ready": true, "not_ready": [], "changes": "available" });
    for client in &replicas {
        assert_eq!(health(client, "/readyz"), (200, able.clone()));
    }

    ledger.stop();
    for client in &mut replicas {
        // Nobody knows yet how long it will be: it may only be starting again.
        let first = refused(client, "imap_move_message", moving("k"));
        assert_says_so(&first, &ledger);
        client.await_stderr(AWAY);
        let page = client.call("imap_search_messages", inbox(json!({})));
        assert_eq!(subjects(&page), ["two", "one"]);
        let (status, said) = health(client, "/readyz");
        assert_eq!((status, &said["ready"]), (200, &json!(true)), "{said}");
        assert_eq!(said["changes"], "unavailable");
        let because = said["because"].as_str().unwrap();
        assert!(because.contains("reading goes on"), "{because}");
        assert_eq!(probe(client, "/readyz"), Some(0));
        let seen = Scrape::of(client);
        let gauges = ["mailwarden_ready", "mailwarden_ledger_up"].map(|name| seen.sum(name, &[]));
        assert_eq!(gauges, [1.0, 0.0]);
    }
    // Neither the mail server nor a person is asked for something that cannot be done.
    let before = proxy.commands().len();
    let [one, other] = &mut replicas;
    for _ in 0..20 {
        for (tool, arguments) in [
            ("imap_move_message", moving("k")),
            ("imap_move_message", moving("another")),
            (
                "imap_delete_message",
                json!({ "message_id": message_id(&server, "INBOX", 2), "confirm": true }),
            ),
        ] {
            let error = refused(one, tool, arguments);
            assert_says_so(&error, &ledger);
            let asked = &error.data["meta"]["telemetry"]["imap_round_trips"];
            assert_eq!(*asked, 0, "{error:?}");
        }
    }
    assert_eq!(proxy.commands().len(), before);

    ledger.start();
    for client in [&*one, &*other] {
        client.await_stderr(BACK);
        while health(client, "/readyz") != (200, able.clone()) {
            std::thread::sleep(Duration::from_millis(50));
        }
        let seen = Scrape::of(client);
        assert_eq!(seen.sum("mailwarden_ledger_up", &[]), 1.0);
    }
    let moved = ask(other, "imap_move_message", moving("k"));
    assert_eq!(moved.data["transaction_state"], "done", "{:?}", moved.all);
    assert_eq!(moved.data["repeated"], Value::Null, "{:?}", moved.all);
    let again = ask(one, "imap_move_message", moving("k"));
    assert_eq!(again.data["repeated"], true, "{:?}", again.all);

    for client in [&*one, &*other] {
        let stderr = client.stderr();
        for once in [AWAY, BACK] {
            let told = lines_with(&stderr, once);
            assert_eq!(told.len(), 1, "{stderr}");
            assert!(told[0].contains(&ledger.url()), "{stderr}");
        }
        for debugged in ["Lost(", "Said(", "do not hear", "nothing can be recovered"] {
            assert!(!stderr.contains(debugged), "{stderr}");
        }
        assert!(!stderr.contains(postgres::PASSWORD), "{stderr}");
    }
    for home in &homes {
        home.verify();
    }
}
