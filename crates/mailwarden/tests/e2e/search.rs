//! `imap_search_messages` against Dovecot.

use serde_json::json;
use testkit::{Delivery, Dovecot, FaultProxy, Flag, Mailgen, McpClient};

use crate::support::{Look, client, inbox, note, subjects};

fn numbered(count: usize) -> (Dovecot, McpClient) {
    let server = Dovecot::start();
    let mail = (1..=count).map(|n| {
        let seen: &[Flag] = if n % 2 == 0 { &[Flag::Seen] } else { &[] };
        Delivery::new(note(&format!("note {n}"), "text")).flags(seen)
    });
    server.deliver_many("alice", "INBOX", mail);
    let client = client(server.port());
    (server, client)
}

#[test]
fn a_folder_is_listed_newest_first_and_page_by_page() {
    let (_server, mut client) = numbered(25);
    let first = client.call("imap_search_messages", inbox(json!({})));
    assert_eq!(first.number("/total"), 25);
    assert_eq!(first.number("/returned"), 10);
    assert_eq!(first.data("/status"), "ok");
    assert_eq!(subjects(&first)[0], "note 25");
    let second = client.call(
        "imap_search_messages",
        inbox(json!({ "cursor": first.text("/next_cursor") })),
    );
    assert_eq!(second.number("/total"), 25);
    assert_eq!(subjects(&second)[0], "note 15");
    let third = client.call(
        "imap_search_messages",
        inbox(json!({ "cursor": second.text("/next_cursor") })),
    );
    assert_eq!(
        subjects(&third),
        ["note 5", "note 4", "note 3", "note 2", "note 1"]
    );
    assert_eq!(third.data("/has_more"), false);
    assert!(third.data("/next_cursor").is_null());
    assert_eq!(third.number("/total"), 25);
    assert_eq!(third.structured["meta"]["pagination"]["total_count"], 25);
}

#[test]
fn a_cursor_can_be_replayed() {
    let (_server, mut client) = numbered(25);
    let first = client.call("imap_search_messages", inbox(json!({ "limit": 5 })));
    let cursor = first.text("/next_cursor");
    let once = client.call("imap_search_messages", inbox(json!({ "cursor": cursor })));
    let twice = client.call("imap_search_messages", inbox(json!({ "cursor": cursor })));
    assert_eq!(subjects(&once), subjects(&twice));
    assert_eq!(subjects(&once).len(), 5, "the page size is remembered");
}

#[test]
fn a_cursor_survives_a_restart_and_stays_with_its_mailbox() {
    let (server, mut first) = numbered(25);
    let cursor = first
        .call("imap_search_messages", inbox(json!({})))
        .text("/next_cursor");
    drop(first);
    let mut second = client(server.port());
    let page = second.call("imap_search_messages", inbox(json!({ "cursor": cursor })));
    assert_eq!(subjects(&page)[0], "note 15");
    let params = json!({ "name": "imap_search_messages", "arguments": { "mailbox": "Sent", "cursor": cursor } });
    let elsewhere = second.request("tools/call", params).unwrap_err();
    assert_eq!(
        (elsewhere.code, elsewhere.data["code"].as_str()),
        (-32602, Some("invalid_input"))
    );
}

#[test]
fn new_mail_between_pages_moves_nothing() {
    let (server, mut client) = numbered(25);
    let first = client.call("imap_search_messages", inbox(json!({})));
    server.deliver("alice", "INBOX", &note("late", "x"));
    let second = client.call(
        "imap_search_messages",
        inbox(json!({ "cursor": first.text("/next_cursor") })),
    );
    assert_eq!(subjects(&second)[0], "note 15");
    let fresh = client.call("imap_search_messages", inbox(json!({})));
    assert_eq!(subjects(&fresh)[0], "late");
    assert_eq!(fresh.number("/total"), 26);
}

#[test]
fn expunged_mail_between_calls_leaves_no_gap() {
    let (server, mut client) = numbered(25);
    let first = client.call("imap_search_messages", inbox(json!({})));
    let mut other = server.login("alice", "secret");
    other.command("SELECT INBOX");
    other.command("STORE 12:14,24 +FLAGS (\\Deleted)");
    other.command("EXPUNGE");
    let second = client.call(
        "imap_search_messages",
        inbox(json!({ "cursor": first.text("/next_cursor") })),
    );
    assert_eq!(subjects(&second)[..3], ["note 15", "note 11", "note 10"]);
    let fresh = client.call("imap_search_messages", inbox(json!({})));
    assert_eq!(subjects(&fresh)[..2], ["note 25", "note 23"]);
    assert_eq!(fresh.number("/total"), 21);
}

#[test]
fn criteria_are_combined() {
    let server = Dovecot::start();
    let day = 86_400;
    let now = 1_763_200_000u64;
    let mail = [
        (
            note("Rübenernte", "Die Zuckerrübe ist reif"),
            now - 40 * day,
            vec![],
        ),
        (
            note("Quote", "chains and sprockets"),
            now - 3 * day,
            vec![Flag::Seen],
        ),
        (note("Invoice 7", "grün wie Gras"), now - 2 * day, vec![]),
    ];
    server.deliver_many(
        "alice",
        "INBOX",
        mail.into_iter()
            .map(|(raw, at, flags)| Delivery::new(raw).at(at).flags(&flags)),
    );
    let mut client = client(server.port());
    for (criteria, want) in [
        (
            json!({ "from": "anna" }),
            vec!["Invoice 7", "Quote", "Rübenernte"],
        ),
        (json!({ "from": "bruno" }), vec![]),
        (
            json!({ "to": "alice@example.org", "subject": "quote" }),
            vec!["Quote"],
        ),
        (json!({ "subject": "RÜBEN" }), vec!["Rübenernte"]),
        (json!({ "query": "zuckerrübe" }), vec!["Rübenernte"]),
        (json!({ "query": "grün" }), vec!["Invoice 7"]),
        (
            json!({ "unread_only": true }),
            vec!["Invoice 7", "Rübenernte"],
        ),
        (
            json!({ "unread_only": true, "query": "grün" }),
            vec!["Invoice 7"],
        ),
        (
            json!({ "start_date": "2025-11-10" }),
            vec!["Invoice 7", "Quote"],
        ),
        (json!({ "end_date": "2025-11-10" }), vec!["Rübenernte"]),
        (
            json!({ "start_date": "2025-11-12", "end_date": "2025-11-12" }),
            vec!["Quote"],
        ),
        (json!({ "query": "\" BODY \"word" }), vec![]),
        (json!({ "subject": "x\" OR ALL \"" }), vec![]),
        (json!({ "subject": "{7}" }), vec![]),
    ] {
        let page = client.call("imap_search_messages", inbox(criteria.clone()));
        assert_eq!(page.data("/status"), "ok", "{criteria}: {}", page.text);
        assert_eq!(subjects(&page), want, "{criteria}");
    }
}

#[test]
fn last_days_counts_back_from_today() {
    let server = Dovecot::start();
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let mail = [("old", 400), ("month", 20), ("fresh", 0)];
    server.deliver_many(
        "alice",
        "INBOX",
        mail.map(|(subject, days)| Delivery::new(note(subject, "x")).at(now - days * 86_400)),
    );
    let mut client = client(server.port());
    for (days, want) in [
        (1, vec!["fresh"]),
        (30, vec!["fresh", "month"]),
        (365, vec!["fresh", "month"]),
    ] {
        let page = client.call("imap_search_messages", inbox(json!({ "last_days": days })));
        assert_eq!(subjects(&page), want, "{days}");
    }
}

#[test]
fn a_snippet_is_text_of_the_body() {
    let server = Dovecot::start();
    server.deliver(
        "alice",
        "INBOX",
        &note(
            "Subject words",
            "The body speaks of sprockets.\r\nAnd more.",
        ),
    );
    server.deliver("alice", "INBOX", &testkit::fixtures::html_only());
    server.deliver("alice", "INBOX", &testkit::fixtures::alternative());
    let mut client = client(server.port());
    let page = client.call(
        "imap_search_messages",
        inbox(json!({ "include_snippet": true, "snippet_max_chars": 50 })),
    );
    let messages = page.data("/messages");
    let snippets: Vec<&str> = messages
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m["snippet"].as_str().unwrap())
        .collect();
    assert_eq!(snippets[2], "The body speaks of sprockets. And more.");
    for snippet in &snippets {
        assert!(
            !snippet.is_empty() && snippet.chars().count() <= 50,
            "{snippet}"
        );
        assert!(!snippet.contains('<'), "{snippet}");
    }
    let without = client.call("imap_search_messages", inbox(json!({})));
    assert!(without.data("/messages/0/snippet").is_null());
}

#[test]
fn an_empty_folder_is_an_empty_page() {
    let (_server, mut client) = numbered(0);
    let page = client.call("imap_search_messages", inbox(json!({})));
    assert_eq!(page.data("/status"), "ok");
    assert_eq!(page.number("/total"), 0);
    assert_eq!(page.data("/has_more"), false);
}

#[test]
fn a_page_tells_where_from_and_what_next() {
    let (_server, mut client) = numbered(3);
    let page = client.call("imap_search_messages", inbox(json!({})));
    let line = page.data("/messages/0");
    let id = line["message_id"].as_str().unwrap();
    assert!(id.starts_with("imap:default:INBOX:"), "{id}");
    assert_eq!(line["uid"], 3);
    assert_eq!(line["mailbox"], "INBOX");
    assert_eq!(line["from"], "Anna Adler <anna@example.com>");
    assert_eq!(line["date"], "2026-11-03T08:12:00Z");
    assert_eq!(line["flags"], json!([]));
    assert_eq!(page.data("/messages/1/flags"), json!(["\\Seen"]));
    let uri = line["message_uri"].as_str().unwrap();
    assert_eq!(line["message_raw_uri"], format!("{uri}/raw"));
    let next = page.data("/next_action");
    let read = client.call(next["tool"].as_str().unwrap(), next["arguments"].clone());
    assert_eq!(read.data("/message/subject"), "note 3");
}

#[test]
fn only_the_page_travels() {
    let server = Dovecot::start();
    server.deliver_many("alice", "INBOX", Mailgen::new(2).messages(300));
    let proxy = FaultProxy::to(server.port());
    let mut client = client(proxy.port());
    client.call("imap_list_mailboxes", json!({}));
    proxy.reset_stats();
    let page = client.call("imap_search_messages", inbox(json!({})));
    assert_eq!(page.number("/total"), 300);
    assert!(proxy.stats().down < 30_000, "{:?}", proxy.stats());
}
