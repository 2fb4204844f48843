//! Round trips of changes over a warm connection, counted by a proxy: found, checked and changed in one flight.

use std::time::Duration;

use serde_json::json;
use testkit::{Dovecot, FaultProxy, Mailgen};

use crate::installation::Installation;
use crate::round_trips::flights;
use crate::support::{Account, message_id};

#[test]
fn a_warm_connection_changes_mail_in_the_fewest_round_trips() {
    let server = Dovecot::builder().folder("Target").start();
    server.deliver_many("alice", "INBOX", Mailgen::new(6).messages(12));
    let proxy = FaultProxy::builder(server.port())
        .delay(Duration::from_millis(6))
        .start();
    let home = Installation::new();
    let account = Account {
        port: proxy.port(),
        ..Account::default()
    };
    let mut client = home.client_with(&account, &[("MAIL_IMAP_WRITE_ENABLED", "true")]);
    let id = |uid: u32| message_id(&server, "INBOX", uid);
    let to = |uid: u32| json!({ "message_id": id(uid), "destination_mailbox": "Target" });
    const FLAGS: &str = "imap_update_message_flags";
    let flag = |uid: u32, flag: &str| json!({ "message_id": id(uid), "add_flags": [flag], "remove_flags": ["\\Answered"] });
    // The first of each kind opens what it needs.
    for (tool, arguments) in [
        ("imap_list_mailboxes", json!({})),
        (FLAGS, flag(1, "\\Seen")),
        ("imap_copy_message", to(1)),
        ("imap_move_message", to(1)),
    ] {
        let outcome = client.call(tool, arguments);
        assert!(!outcome.is_error, "{}", outcome.text);
    }
    for (what, most, tool, arguments) in [
        ("flags", 1, FLAGS, flag(2, "\\Flagged")),
        ("flags again", 1, FLAGS, flag(3, "\\Flagged")),
        ("copy", 1, "imap_copy_message", to(4)),
        ("copy again", 1, "imap_copy_message", to(4)),
        ("move", 1, "imap_move_message", to(5)),
        ("move again", 1, "imap_move_message", to(6)),
        (
            "delete",
            2,
            "imap_delete_message",
            json!({ "message_id": id(7), "confirm": true }),
        ),
        (
            "delete again",
            1,
            "imap_delete_message",
            json!({ "message_id": id(8), "confirm": true }),
        ),
    ] {
        let taken = flights(&proxy, &mut client, tool, arguments);
        assert!(taken <= most, "{what}: {taken}");
    }
    assert_eq!(
        proxy.stats().connections,
        0,
        "and over the connections that were there"
    );
}
