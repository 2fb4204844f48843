//! A Maildir as an account: the same tools, the same answers.

use serde_json::json;

use crate::support::{Look, note, program, start, subjects};

fn maildir() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for folder in ["", ".Sent", ".Projekte.&ANw-bersicht"] {
        for sub in ["cur", "new", "tmp"] {
            std::fs::create_dir_all(dir.path().join(folder).join(sub)).unwrap();
        }
    }
    for (number, flags) in [(1, "S"), (2, ""), (3, "SF")] {
        let name = format!("cur/176000000{number}.M{number}P1.host:2,{flags}");
        std::fs::write(
            dir.path().join(name),
            note(&format!("local {number}"), "inside"),
        )
        .unwrap();
    }
    dir
}

#[test]
fn every_tool_reads_a_maildir() {
    let dir = maildir();
    let mut command = program();
    command.env("MAIL_MAILDIR_DEFAULT_PATH", dir.path());
    let mut client = start(command);
    let verified = client.call("imap_verify_account", json!({}));
    assert_eq!(verified.data("/ok"), true, "{}", verified.text);
    let listed = client.call("imap_list_mailboxes", json!({}));
    let names = listed.data("/mailboxes").to_string();
    for name in ["INBOX", "Sent", "Projekte/Übersicht"] {
        assert!(names.contains(&format!("\"{name}\"")), "{names}");
    }
    let page = client.call(
        "imap_search_messages",
        json!({ "mailbox": "INBOX", "limit": 2, "include_snippet": true }),
    );
    assert_eq!(subjects(&page), ["local 3", "local 2"]);
    assert_eq!(page.data("/messages/0/snippet"), "inside");
    let next = client.call(
        "imap_search_messages",
        json!({ "mailbox": "INBOX", "cursor": page.text("/next_cursor") }),
    );
    assert_eq!(subjects(&next), ["local 1"]);
    let unread = client.call(
        "imap_search_messages",
        json!({ "mailbox": "INBOX", "unread_only": true }),
    );
    assert_eq!(subjects(&unread), ["local 2"]);
    let id = page.text("/messages/0/message_id");
    assert!(id.starts_with("maildir:default:INBOX:"), "{id}");
    let read = client.call("imap_get_message", json!({ "message_id": id }));
    assert_eq!(read.text("/message/body_text"), "inside");
    assert_eq!(read.data("/message/flags"), json!(["\\Flagged", "\\Seen"]));
    let raw = client.call("imap_get_message_raw", json!({ "message_id": id }));
    assert_eq!(
        raw.number("/size_bytes"),
        note("local 3", "inside").len() as u64
    );
    let resource = client
        .request(
            "resources/read",
            json!({ "uri": page.text("/messages/0/message_uri") }),
        )
        .unwrap();
    assert!(
        resource["contents"][0]["text"]
            .as_str()
            .unwrap()
            .contains("inside")
    );
}

#[test]
fn a_maildir_that_is_not_there_is_a_clear_failure() {
    let mut command = program();
    command.env("MAIL_MAILDIR_DEFAULT_PATH", "/no/such/maildir");
    let mut client = start(command);
    let failed = client.call("imap_list_mailboxes", json!({}));
    assert_eq!(failed.data("/status"), "failed");
    assert_eq!(failed.data("/issues/0/code"), "unreadable");
    assert!(!failed.text.contains("/no/such"), "{}", failed.text);
}
