//! Round trips, counted by a proxy between the program and the server.

use std::time::Duration;

use serde_json::json;
use testkit::{Dovecot, FaultProxy, Mailgen, McpClient, fixtures};

use crate::support::{Account, Look, client, client_with, inbox, message_id};

/// A server with a page and a half of mail behind a proxy that is slow enough to count flights.
fn slow_server() -> (Dovecot, FaultProxy) {
    let server = Dovecot::start();
    server.deliver_many("alice", "INBOX", Mailgen::new(1).messages(15));
    let proxy = FaultProxy::builder(server.port())
        .delay(Duration::from_millis(6))
        .start();
    (server, proxy)
}

/// Runs a call, and answers how often the program waited for the server during it.
pub(crate) fn flights(
    proxy: &FaultProxy,
    client: &mut McpClient,
    tool: &str,
    arguments: serde_json::Value,
) -> u64 {
    proxy.reset_stats();
    let outcome = client.call(tool, arguments);
    assert!(!outcome.is_error, "{}", outcome.text);
    let counted = proxy.stats().flights;
    assert_eq!(
        outcome.round_trips(),
        counted,
        "telemetry and proxy differ: {}",
        outcome.structured
    );
    counted
}

#[test]
fn a_warm_connection_answers_in_the_fewest_round_trips() {
    let (server, proxy) = slow_server();
    let mut client = client(proxy.port());
    client.call("imap_list_mailboxes", json!({}));

    let listed = flights(&proxy, &mut client, "imap_list_mailboxes", json!({}));
    assert_eq!(listed, 1);

    let found = flights(
        &proxy,
        &mut client,
        "imap_search_messages",
        inbox(json!({})),
    );
    assert!(found <= 2, "{found}");
    let again = flights(
        &proxy,
        &mut client,
        "imap_search_messages",
        inbox(json!({})),
    );
    assert_eq!(
        again, 1,
        "the end of a folder whose size is known is asked for at once"
    );
    let filtered = flights(
        &proxy,
        &mut client,
        "imap_search_messages",
        inbox(json!({ "query": "uniq7x" })),
    );
    assert!(filtered <= 2, "{filtered}");
    let snippets = flights(
        &proxy,
        &mut client,
        "imap_search_messages",
        inbox(json!({ "include_snippet": true })),
    );
    assert!(snippets <= 2, "{snippets}");

    let page = client.call("imap_search_messages", inbox(json!({})));
    let cursor = page.text("/next_cursor");
    let next = flights(
        &proxy,
        &mut client,
        "imap_search_messages",
        inbox(json!({ "cursor": cursor })),
    );
    assert!(next <= 2, "{next}");

    let known = page.text("/messages/0/message_id");
    let read = flights(
        &proxy,
        &mut client,
        "imap_get_message",
        json!({ "message_id": known }),
    );
    assert_eq!(read, 1, "the search has brought the structure");
    let repeated = flights(
        &proxy,
        &mut client,
        "imap_get_message",
        json!({ "message_id": known }),
    );
    assert_eq!(repeated, 1);
    let raw = flights(
        &proxy,
        &mut client,
        "imap_get_message_raw",
        json!({ "message_id": known }),
    );
    assert_eq!(raw, 1);
    drop(server);
}

#[test]
fn a_message_of_unknown_structure_takes_at_most_two() {
    let (server, proxy) = slow_server();
    server.deliver("alice", "INBOX", &fixtures::big(200_000));
    let mut client = client(proxy.port());
    client.call("imap_list_mailboxes", json!({}));
    for uid in 1..=16 {
        let id = message_id(&server, "INBOX", uid);
        let read = flights(
            &proxy,
            &mut client,
            "imap_get_message",
            json!({ "message_id": id }),
        );
        assert!(read <= 2, "uid {uid}: {read}");
        let repeated = flights(
            &proxy,
            &mut client,
            "imap_get_message",
            json!({ "message_id": id }),
        );
        assert_eq!(repeated, 1, "uid {uid}");
    }
}

#[test]
fn another_folder_costs_no_extra_round_trip() {
    let (server, proxy) = slow_server();
    server.create_folder("alice", "Sent");
    server.deliver("alice", "Sent", &fixtures::plain());
    let mut client = client(proxy.port());
    client.call("imap_search_messages", inbox(json!({})));
    let id = message_id(&server, "Sent", 1);
    let read = flights(
        &proxy,
        &mut client,
        "imap_get_message",
        json!({ "message_id": id }),
    );
    assert!(read <= 2, "{read}");
}

#[test]
fn from_nothing_a_message_takes_at_most_six() {
    let (server, _) = slow_server();
    server.deliver("alice", "INBOX", &fixtures::big(200_000));
    let proxy = FaultProxy::builder(server.tls_port())
        .delay(Duration::from_millis(6))
        .start();
    let account = Account {
        host: "localhost",
        port: proxy.port(),
        secure: "true",
        ..Account::default()
    };
    let ca = server.ca_path().to_str().unwrap().to_owned();
    let mut client = client_with(&account, &[("MAIL_IMAP_CA_CERT_PATH", &ca)]);
    let id = message_id(&server, "INBOX", 16);
    proxy.reset_stats();
    let outcome = client.call("imap_get_message", json!({ "message_id": id }));
    assert!(!outcome.is_error, "{}", outcome.text);
    // The proxy sees everything but the TCP handshake itself.
    let counted = proxy.stats().flights + 1;
    assert!(counted <= 6, "{counted}");
    assert_eq!(proxy.stats().connections, 1);
    assert!(outcome.round_trips() <= 6, "{}", outcome.structured["meta"]);
}
