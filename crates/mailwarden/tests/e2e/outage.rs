//! The PostgreSQL that replicas share is away: reading goes on, changes are refused in good words, and everybody is told once.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::mcp::RpcError;
use testkit::{Dovecot, FaultProxy, HttpServer, McpClient, McpHttp, Postgres, postgres};

use crate::changes::ask;
use crate::installation::Installation;
use crate::operations::{Scrape, health, probe};
use crate::replicas::SLOW;
use crate::support::{Account, configure, inbox, message_id, note, subjects};

const AWAY: &str = "is away (";
const BACK: &str = "is back: it answers again after";
const TOKEN: &str = "a-token-of-thirty-two-characters";

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

/// Over HTTP, with the ledger there.
fn serve(home: &Installation, port: u16, ledger: &Postgres) -> HttpServer {
    let mut command = home.program();
    let account = Account {
        port,
        ..Account::default()
    };
    configure(&mut command, "DEFAULT", &account);
    command
        .env("MAILWARDEN_LEDGER", ledger.url())
        .env("MAILWARDEN_LEDGER_PASSWORD", postgres::PASSWORD)
        .env("MAILWARDEN_HTTP_TOKEN", TOKEN)
        .env("MAIL_IMAP_WRITE_ENABLED", "true")
        .args(["http", "--port", "0"]);
    HttpServer::spawn(command)
}

/// Whoever waits for the ledger when the process is told to end hears of it before the connection is gone, and it is so.
fn ends_in_order(
    home: &Installation,
    mut program: HttpServer,
    mut client: McpHttp,
    ledger: &Postgres,
) {
    program.terminate();
    let reply = client.finish().unwrap();
    assert_says_so(&reply.result().unwrap_err(), ledger);
    let ended = program.wait_exit(Duration::from_secs(30));
    assert_eq!(ended.unwrap().code(), Some(0), "{}", program.stderr());
    home.verify();
    assert_eq!(home.only("stop", |_| true).json["why"], "told to end");
}

fn mailbox_of_one() -> (Dovecot, Value) {
    let server = Dovecot::builder().folder("Target").start();
    server.deliver("alice", "INBOX", &note("one", "text"));
    let id = message_id(&server, "INBOX", 1);
    (
        server,
        json!({ "message_id": id, "destination_mailbox": "Target" }),
    )
}

fn assert_is_where_it_was(server: &Dovecot) {
    let mut imap = server.login("alice", "secret");
    let there = imap.command("STATUS INBOX (MESSAGES)").text();
    assert!(there.contains("MESSAGES 1"), "{there}");
}

#[test]
fn told_to_end_while_the_ledger_is_away_it_answers_the_change_under_way() {
    let (server, moving) = mailbox_of_one();
    let proxy = FaultProxy::to(server.port());
    let mut ledger = Postgres::start_fast();
    let home = Installation::new();
    let program = serve(&home, proxy.port(), &ledger);
    let mut client = program.client(TOKEN);
    ledger.stop();
    client.begin_call("imap_move_message", moving).unwrap();
    // It looks where the target ends, and then wants to write down what it is about to do.
    proxy.await_stats("the call to be under way", |stats| stats.connections >= 1);
    ends_in_order(&home, program, client, &ledger);
    assert_is_where_it_was(&server);
}

#[test]
fn told_to_end_while_the_ledger_is_silent_it_answers_the_change_under_way() {
    let (server, moving) = mailbox_of_one();
    let ledger = Postgres::start_fast();
    let home = Installation::new();
    let program = serve(&home, server.port(), &ledger);
    let url = ledger.url();
    ledger.query(&url, SLOW);
    let mut client = program.client(TOKEN);
    client.begin_call("imap_move_message", moving).unwrap();
    let sleeping = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
    while ledger.query(&url, sleeping) == "0" {
        std::thread::sleep(Duration::from_millis(20));
    }
    ends_in_order(&home, program, client, &ledger);
    assert_is_where_it_was(&server);
}
