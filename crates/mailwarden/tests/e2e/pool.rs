//! Connections: never more than allowed, reused, replaced when they die.

use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::{Cut, Dovecot, Fake, FaultProxy};

use crate::support::{Account, Look, client, client_with, inbox, message_id, note};

fn server_with(count: u64) -> (Dovecot, FaultProxy) {
    let server = Dovecot::start();
    server.deliver_many("alice", "INBOX", testkit::Mailgen::new(5).messages(count));
    let proxy = FaultProxy::to(server.port());
    (server, proxy)
}

#[test]
fn parallel_reads_stay_within_the_pool() {
    for (most, limit) in [(None, 4), (Some("2"), 2), (Some("1"), 1)] {
        let (server, proxy) = server_with(30);
        let account = Account {
            port: proxy.port(),
            ..Account::default()
        };
        let variables: Vec<(&str, &str)> = most
            .iter()
            .map(|n| ("MAIL_IMAP_MAX_CONNECTIONS", *n))
            .collect();
        let mut client = client_with(&account, &variables);
        let validity = message_id(&server, "INBOX", 1);
        let prefix = validity.rsplit_once(':').unwrap().0;
        let calls: Vec<_> = (1..=30)
            .map(|uid| {
                client.send_call(
                    "imap_get_message",
                    json!({ "message_id": format!("{prefix}:{uid}") }),
                )
            })
            .collect();
        for (index, call) in calls.into_iter().enumerate() {
            let read = client.wait_call(call);
            assert_eq!(read.data("/message/uid"), index + 1, "{}", read.text);
        }
        assert!(
            proxy.stats().connections <= limit,
            "{limit}: {:?}",
            proxy.stats()
        );
    }
}

#[test]
fn calls_one_after_the_other_share_a_connection() {
    let (_server, proxy) = server_with(12);
    let mut client = client(proxy.port());
    for _ in 0..5 {
        client.call("imap_list_mailboxes", json!({}));
        client.call("imap_search_messages", inbox(json!({})));
    }
    assert_eq!(proxy.stats().connections, 1);
    client.call("imap_verify_account", json!({}));
    assert_eq!(
        proxy.stats().connections,
        2,
        "verifying makes a connection of its own"
    );
}

#[test]
fn a_pooled_connection_that_died_costs_no_call() {
    let (_server, proxy) = server_with(3);
    let mut client = client(proxy.port());
    for cut in [Cut::Close, Cut::Reset] {
        assert_eq!(
            client
                .call("imap_search_messages", inbox(json!({})))
                .number("/total"),
            3
        );
        proxy.cut_all(cut);
        let after = client.call("imap_search_messages", inbox(json!({})));
        assert_eq!(after.number("/total"), 3, "{}", after.text);
    }
}

#[test]
fn a_server_restart_costs_no_call() {
    let mut server = Dovecot::start();
    server.deliver("alice", "INBOX", &note("x", "y"));
    let mut client = client(server.port());
    assert_eq!(
        client
            .call("imap_search_messages", inbox(json!({})))
            .number("/total"),
        1
    );
    server.kill();
    let down = client.call("imap_search_messages", inbox(json!({})));
    assert_eq!(down.data("/status"), "failed");
    client.await_stderr("no connection to a mail server");
    client.call("imap_search_messages", inbox(json!({})));
    server.restart();
    let up = client.call("imap_search_messages", inbox(json!({})));
    assert_eq!(up.number("/total"), 1, "{}", up.text);
    client.await_stderr("a mail server is back");
    let told = client.stderr();
    let times = told.matches("no connection to a mail server").count();
    assert_eq!(times, 1, "it is told once: {told}");
}

#[test]
fn a_frozen_connection_is_found_out_within_seconds() {
    let (_server, proxy) = server_with(3);
    let mut client = client(proxy.port());
    client.call("imap_search_messages", inbox(json!({})));
    // From here the old connection swallows everything; a new one works.
    proxy.cut_after_down(1, Cut::Stall);
    let began = Instant::now();
    let after = client.call("imap_search_messages", inbox(json!({})));
    assert_eq!(after.number("/total"), 3, "{}", after.text);
    assert!(
        began.elapsed() < Duration::from_secs(15),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(proxy.stats().connections, 2);
}

#[test]
fn a_server_that_allows_fewer_connections_still_serves_all() {
    let server = Dovecot::builder().max_connections(2).start();
    server.deliver_many("alice", "INBOX", testkit::Mailgen::new(5).messages(20));
    let mut client = client(server.port());
    let prefix = message_id(&server, "INBOX", 1)
        .rsplit_once(':')
        .unwrap()
        .0
        .to_owned();
    let calls: Vec<_> = (1..=20)
        .map(|uid| {
            client.send_call(
                "imap_get_message",
                json!({ "message_id": format!("{prefix}:{uid}") }),
            )
        })
        .collect();
    for call in calls {
        let read = client.wait_call(call);
        assert_eq!(read.data("/status"), "ok", "{}", read.text);
    }
}

#[test]
fn a_cancelled_call_lets_go_of_its_connection() {
    let fake = Fake::script(|s| {
        s.log_in("IMAP4rev1");
        loop {
            let command = s.command();
            if command.mentions("EXAMINE") {
                s.examined(1);
            } else if command.mentions("SEARCH") && s.number() == 0 {
                // Thinks for ever; the client's hanging up ends this script.
                s.command();
            } else if command.mentions("SEARCH") {
                s.untagged("SEARCH");
                s.ok();
            } else {
                s.ok();
            }
        }
    });
    let proxy = FaultProxy::to(fake.port());
    let account = Account {
        port: proxy.port(),
        ..Account::default()
    };
    let mut client = client_with(&account, &[("MAIL_IMAP_MAX_CONNECTIONS", "1")]);
    let call = client.send_call("imap_search_messages", inbox(json!({ "query": "x" })));
    fake.await_command("SEARCH");
    client.cancel(call);
    proxy.await_stats("the connection closed", |stats| stats.live == 0);
    let next = client.call("imap_search_messages", inbox(json!({ "query": "x" })));
    assert_eq!(next.number("/total"), 0, "{}", next.text);
}

#[test]
fn verifying_stays_within_the_pool_too() {
    let gate = Arc::new((Mutex::new(false), Condvar::new()));
    let closed = Arc::clone(&gate);
    let fake = Fake::script(move |s| {
        let (open, changed) = &*closed;
        drop(
            changed
                .wait_while(open.lock().unwrap(), |open| !*open)
                .unwrap(),
        );
        s.log_in("IMAP4rev1");
        s.command();
    });
    let account = Account {
        port: fake.port(),
        ..Account::default()
    };
    let mut client = client_with(&account, &[("MAIL_IMAP_MAX_CONNECTIONS", "2")]);
    let calls: Vec<_> = (0..12)
        .map(|_| client.send_call("imap_verify_account", json!({})))
        .collect();
    client.call("imap_list_accounts", json!({}));
    while fake.connections() < 2 {
        std::thread::yield_now();
    }
    client.call("imap_list_accounts", json!({}));
    assert_eq!(fake.connections(), 2, "the others wait for a place");
    *gate.0.lock().unwrap() = true;
    gate.1.notify_all();
    for call in calls {
        let verified = client.wait_call(call);
        assert_eq!(verified.data("/ok"), true, "{}", verified.text);
    }
}

#[test]
fn a_refused_password_is_not_tried_over_and_over() {
    let server = Dovecot::start();
    let proxy = FaultProxy::to(server.port());
    let account = Account {
        port: proxy.port(),
        pass: "wrong",
        ..Account::default()
    };
    let mut client = client_with(&account, &[]);
    for _ in 0..8 {
        let failed = client.call("imap_list_mailboxes", json!({}));
        assert_eq!(failed.data("/issues/0/code"), "auth_failed");
    }
    assert_eq!(proxy.stats().connections, 1);
    client.call("imap_verify_account", json!({}));
    assert_eq!(proxy.stats().connections, 2, "verifying always tries");
}
