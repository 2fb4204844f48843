//! The read tools against another real server: Cyrus.

use serde_json::json;
use testkit::{Cyrus, fixtures};

use crate::support::{Account, Look, client_with, inbox, note, subjects};

#[test]
fn every_read_tool_works_with_cyrus() {
    if let Err(missing) = Cyrus::available() {
        panic!("Cyrus is needed for this test: {missing}; run ./test, which unpacks it");
    }
    let server = Cyrus::start();
    server.create_folder("alice", "Büro");
    for number in 1..=12 {
        server.deliver(
            "alice",
            "INBOX",
            &note(&format!("note {number}"), "Die Zuckerrübe"),
        );
    }
    server.deliver("alice", "Büro", &fixtures::alternative());
    let ca = server.ca_path().to_str().unwrap().to_owned();
    let account = Account {
        host: "localhost",
        port: server.tls_port(),
        secure: "true",
        ..Account::default()
    };
    let mut client = client_with(&account, &[("MAIL_IMAP_CA_CERT_PATH", &ca)]);

    let verified = client.call("imap_verify_account", json!({}));
    assert_eq!(verified.data("/ok"), true, "{}", verified.text);
    let listed = client.call("imap_list_mailboxes", json!({}));
    let names = listed.data("/mailboxes").to_string();
    assert!(
        names.contains("\"Büro\"") && names.contains("\"sent\""),
        "{names}"
    );
    let page = client.call(
        "imap_search_messages",
        inbox(json!({ "include_snippet": true })),
    );
    assert_eq!(
        (page.number("/total"), page.number("/returned")),
        (12, 10),
        "{}",
        page.text
    );
    assert_eq!(page.data("/messages/0/snippet"), "Die Zuckerrübe");
    let next = client.call(
        "imap_search_messages",
        inbox(json!({ "cursor": page.text("/next_cursor") })),
    );
    assert_eq!(subjects(&next), ["note 2", "note 1"]);
    let found = client.call(
        "imap_search_messages",
        inbox(json!({ "subject": "note 7" })),
    );
    assert_eq!(subjects(&found), ["note 7"]);
    let text = client.call(
        "imap_search_messages",
        inbox(json!({ "query": "zuckerrübe" })),
    );
    assert_eq!(text.number("/total"), 12, "{}", text.text);
    let read = client.call(
        "imap_get_message",
        json!({ "message_id": page.text("/messages/3/message_id") }),
    );
    assert_eq!(read.text("/message/subject"), "note 9");
    assert_eq!(read.text("/message/body_text"), "Die Zuckerrübe");
    let other = client.call("imap_search_messages", json!({ "mailbox": "Büro" }));
    let id = other.text("/messages/0/message_id");
    let read = client.call(
        "imap_get_message",
        json!({ "message_id": id, "include_html": true }),
    );
    assert!(!read.text("/message/body_html").is_empty());
    let raw = client.call("imap_get_message_raw", json!({ "message_id": id }));
    assert_eq!(
        raw.number("/size_bytes"),
        fixtures::alternative().len() as u64
    );
    let params = json!({ "name": "imap_search_messages", "arguments": { "mailbox": "Nowhere" } });
    assert_eq!(
        client.request("tools/call", params).unwrap_err().data["code"],
        "not_found"
    );
    let gone = id.rsplit_once(':').unwrap().0.to_owned() + ":99";
    let params = json!({ "name": "imap_get_message", "arguments": { "message_id": gone } });
    assert_eq!(
        client.request("tools/call", params).unwrap_err().data["code"],
        "not_found"
    );
}
