//! Mail as a weapon, as far as it concerns reading: nothing ends the process or holds up others.

use serde_json::json;
use testkit::{Dovecot, fixtures};

use crate::support::{Look, client, message_id, note};

#[test]
fn hostile_nesting_is_read_and_said() {
    let server = Dovecot::start();
    server.deliver("alice", "INBOX", &fixtures::deep_multipart(5_000));
    let divs = format!(
        "From: a@example.com\r\nSubject: divs\r\nMIME-Version: 1.0\r\nContent-Type: text/html\r\n\r\n{}deep{}\r\n",
        "<div>".repeat(20_000),
        "</div>".repeat(20_000)
    );
    server.deliver("alice", "INBOX", divs.as_bytes());
    server.deliver("alice", "INBOX", &note("after", "still here"));
    let mut client = client(server.port());
    for uid in 1..=3 {
        let id = message_id(&server, "INBOX", uid);
        let read = client.call(
            "imap_get_message",
            json!({ "message_id": id, "include_html": true }),
        );
        assert!(!read.is_error, "{uid}: {}", read.text);
    }
    let page = client.call(
        "imap_search_messages",
        json!({ "mailbox": "INBOX", "include_snippet": true }),
    );
    assert_eq!(page.number("/returned"), 3, "{}", page.text);
    assert_eq!(page.data("/messages/0/snippet"), "still here");
}

#[test]
fn a_header_without_end_is_cut() {
    let server = Dovecot::start();
    let huge = format!("X-Long: {}\r\n", "y".repeat(900)).repeat(400);
    let mut raw = huge.into_bytes();
    raw.extend_from_slice(&note("behind", "the wall"));
    server.deliver("alice", "INBOX", &raw);
    let mut client = client(server.port());
    let id = message_id(&server, "INBOX", 1);
    let read = client.call(
        "imap_get_message",
        json!({ "message_id": id, "include_all_headers": true }),
    );
    assert!(!read.is_error, "{}", read.text);
    assert!(
        read.structured["meta"]["warnings"]
            .to_string()
            .contains("not all headers"),
        "{}",
        read.structured["meta"]
    );
    assert!(read.structured.to_string().len() < 200_000);
}
