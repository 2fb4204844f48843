//! Mail as a weapon, as far as it concerns reading: nothing ends the process or holds up others.

use serde_json::json;
use testkit::{Dovecot, Fake, fixtures};

use crate::support::{Look, client, message_id, note, program, start};

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

#[test]
fn more_attachments_than_fit_are_counted() {
    let mut raw = b"From: a@example.com\r\nSubject: many\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n".to_vec();
    raw.extend_from_slice(b"--b\r\nContent-Type: text/plain\r\n\r\nsee below\r\n");
    for number in 0..60 {
        let part = format!(
            "--b\r\nContent-Type: image/png\r\nContent-Disposition: attachment; filename=\"{number}.png\"\r\n\r\nx\r\n"
        );
        raw.extend_from_slice(part.as_bytes());
    }
    raw.extend_from_slice(b"--b--\r\n");
    let server = Dovecot::start();
    server.deliver("alice", "INBOX", &raw);
    let mut client = client(server.port());
    let id = message_id(&server, "INBOX", 1);
    let read = client.call("imap_get_message", json!({ "message_id": id }));
    assert_eq!(
        read.data("/message/attachments").as_array().unwrap().len(),
        50
    );
    assert_eq!(read.data("/message/attachments/49/part_id"), "51");
    assert!(
        read.structured["meta"]["warnings"]
            .to_string()
            .contains("10 more attachments")
    );
}

#[test]
fn more_accounts_than_fit_are_counted() {
    let mut command = program();
    for number in 0..55 {
        command.env(format!("MAIL_MAILDIR_A{number}_PATH"), "/nowhere");
    }
    let mut client = start(command);
    let listed = client.call("imap_list_accounts", json!({}));
    assert_eq!(listed.data("/accounts").as_array().unwrap().len(), 50);
    assert!(
        listed.structured["meta"]["warnings"]
            .to_string()
            .contains("first 50 of 55")
    );
}

#[test]
fn more_capabilities_than_fit_are_left_out() {
    let fake = Fake::script(|s| {
        let many: Vec<String> = (0..400).map(|n| format!("X{n}")).collect();
        s.log_in(&format!("IMAP4rev1 {}", many.join(" ")));
        s.stall();
    });
    let mut client = client(fake.port());
    let verified = client.call("imap_verify_account", json!({}));
    assert_eq!(
        verified.data("/capabilities").as_array().unwrap().len(),
        256
    );
}
