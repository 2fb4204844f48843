//! Connections: never so many that the owner's own programs find no room, and what is refused heals.

use serde_json::json;
use testkit::Gmail;
use testkit::gmail::Place;

use super::{Owner, id};
use crate::support::{Look, note};

#[test]
fn thirty_reads_at_once_leave_room_for_the_owners_own_programs() {
    let gmail = Gmail::start();
    let all: Vec<u64> = (0..30)
        .map(|number| gmail.deliver(&[Place::Inbox], note(&format!("letter {number}"), "x")))
        .collect();
    let mut owner = Owner::with(&gmail, &[("MAIL_IMAP_MAX_CONNECTIONS", "16")]);
    let calls: Vec<_> = all
        .iter()
        .map(|one| {
            let at = id(&gmail, "INBOX", &Place::Inbox, *one);
            let arguments = json!({ "message_id": at });
            owner.client.send_call("imap_get_message", arguments)
        })
        .collect();
    for (number, call) in calls.into_iter().enumerate() {
        let read = owner.client.wait_call(call);
        assert_eq!(read.text("/message/subject"), format!("letter {number}"));
    }
    assert!(gmail.most_logged_in() <= 10, "{}", gmail.most_logged_in());
}

#[test]
fn a_server_that_is_full_is_busy_and_those_who_are_in_serve_the_rest() {
    let gmail = Gmail::builder().most_connections(2).start();
    let all: Vec<u64> = (0..12)
        .map(|number| gmail.deliver(&[Place::Inbox], note(&format!("letter {number}"), "x")))
        .collect();
    let mut owner = Owner::with(&gmail, &[("MAIL_IMAP_MAX_CONNECTIONS", "8")]);
    for _ in 0..2 {
        let calls: Vec<_> = all
            .iter()
            .map(|one| {
                let at = id(&gmail, "INBOX", &Place::Inbox, *one);
                let arguments = json!({ "message_id": at });
                owner.client.send_call("imap_get_message", arguments)
            })
            .collect();
        for (number, call) in calls.into_iter().enumerate() {
            let read = owner.client.wait_call(call);
            assert_eq!(read.text("/message/subject"), format!("letter {number}"));
        }
    }
    assert!(gmail.most_logged_in() <= 2);
    // Nobody gets in while all places are taken by others; once they leave, everybody does.
    let full = Gmail::builder().most_connections(1).start();
    let one = full.deliver(&[Place::Inbox], note("one", "x"));
    let mut first = Owner::of(&full);
    first.client.call("imap_list_mailboxes", json!({}));
    let mut second = Owner::of(&full);
    let refused = second
        .client
        .call("imap_search_messages", json!({ "mailbox": "INBOX" }));
    assert_eq!(
        refused.text("/issues/0/code"),
        "server_busy",
        "{}",
        refused.text
    );
    drop(first);
    full.hang_up();
    let at = id(&full, "INBOX", &Place::Inbox, one);
    let mut read = second
        .client
        .call("imap_get_message", json!({ "message_id": at }));
    while read.is_error || read.data("/message/subject").is_null() {
        read = second
            .client
            .call("imap_get_message", json!({ "message_id": at }));
    }
    assert_eq!(read.text("/message/subject"), "one");
}
