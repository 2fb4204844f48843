//! Nobody sees more of a message by changing it: where folders are labels, it comes to stand in others by itself.

use serde_json::json;
use testkit::gmail::{PASSWORD, Place, USER};
use testkit::{Delivery, Dovecot, Flag, Gmail};

use super::policies::directory;
use super::{folder, seen, work};
use crate::changes::ask;
use crate::directory::Directory;
use crate::support::note;

const RISES: &str = "DENY visibility_would_rise";

#[test]
fn a_star_is_judged_where_it_shows_a_message() {
    for (starred, want) in [("FULL", RISES), ("METADATA", "ok done")] {
        let gmail = Gmail::start();
        let one = gmail.deliver(&[Place::Inbox], note("one", "the secret body"));
        let policy = format!(
            "
    - {{ path: INBOX, mode: blacklist, default: METADATA, mark_tagged: true }}
    - {{ path: '[Gmail]/Starred', mode: blacklist, default: {starred} }}
"
        );
        let directory = directory(&gmail, &policy);
        let mut client = directory.client("agent");
        let uid = gmail.uid(&Place::Inbox, one).unwrap();
        let id = super::id(&gmail, "INBOX", &Place::Inbox, one);
        for (tool, arguments) in [
            (
                "imap_update_message_flags",
                json!({ "message_id": id, "add_flags": ["\\flagged"] }),
            ),
            (
                "mark_tagged",
                folder("INBOX", json!({ "uid": uid, "tags": ["\\Flagged"] })),
            ),
        ] {
            let answer = ask(&mut client, tool, arguments);
            assert_eq!(answer.words, want, "{tool} {starred}: {}", answer.text);
            assert_eq!(gmail.is_starred(one), want != RISES, "{tool} {starred}");
        }
        // Other marks put a message nowhere.
        let tagged = folder("INBOX", json!({ "uid": uid, "tags": ["later"] }));
        let answer = ask(&mut client, "mark_tagged", tagged);
        assert_eq!(answer.words, "ok done", "{}", answer.text);
    }
}

#[test]
fn a_star_is_not_put_back_where_it_shows_a_message() {
    let gmail = Gmail::start();
    let starred = Delivery::new(note("one", "the secret body")).flags(&[Flag::Flagged]);
    let one = gmail.deliver_as(&[Place::Inbox], &starred);
    let directory = directory(
        &gmail,
        "
    - { path: INBOX, mode: blacklist, default: METADATA, mark_tagged: true }
    - { path: '[Gmail]/Starred', mode: blacklist, default: FULL }
",
    );
    let mut client = directory.client("agent");
    let id = super::id(&gmail, "INBOX", &Place::Inbox, one);
    let taken = ask(
        &mut client,
        "imap_update_message_flags",
        json!({ "message_id": id, "remove_flags": ["\\Flagged"] }),
    );
    assert_eq!(taken.words, "ok done", "{}", taken.text);
    let back = ask(
        &mut client,
        "undo_transaction",
        json!({ "transaction_id": taken.data["transaction_id"] }),
    );
    assert_eq!(back.words, RISES, "{}", back.text);
    assert!(!gmail.is_starred(one));
}

#[test]
fn what_comes_out_of_the_trash_is_judged_in_all_that_it_comes_to_stand_in() {
    for (all, starred, flags, want) in [
        ("FULL", "METADATA", &[][..], RISES),
        ("METADATA", "FULL", &[Flag::Flagged], RISES),
        ("METADATA", "FULL", &[], "ok done"),
        ("METADATA", "METADATA", &[Flag::Flagged], "ok done"),
    ] {
        for place in [Place::Trash, Place::Spam] {
            let gmail = Gmail::builder().labels(&["Work"]).start();
            let thrown = Delivery::new(note("one", "the secret body")).flags(flags);
            let one = gmail.deliver_as(std::slice::from_ref(&place), &thrown);
            let from = gmail.name(&place);
            let policy = format!(
                "
    - {{ path: '{from}', mode: blacklist, default: METADATA, move_out: true }}
    - {{ path: Work, mode: blacklist, default: METADATA, accept_incoming: true }}
    - {{ path: '[Gmail]/All Mail', mode: blacklist, default: {all} }}
    - {{ path: '[Gmail]/Starred', mode: blacklist, default: {starred} }}
"
            );
            let directory = directory(&gmail, &policy);
            let mut client = directory.client("agent");
            let uid = gmail.uid(&place, one).unwrap();
            let arguments = json!({ "uid": uid, "target_folder": "Work" });
            let answer = ask(&mut client, "move", folder(&from, arguments));
            assert_eq!(
                answer.words, want,
                "{from} {all} {starred}: {}",
                answer.text
            );
            let still = seen(&gmail, one) == [place.clone()];
            assert_eq!(still, want == RISES, "{from} {all} {starred}");
        }
    }
}

#[test]
fn what_is_in_all_mail_already_is_judged_where_it_goes() {
    let gmail = Gmail::builder().labels(&["Work"]).start();
    let one = gmail.deliver(&[Place::Inbox], note("one", "the secret body"));
    let directory = directory(
        &gmail,
        "
    - { path: INBOX, mode: blacklist, default: METADATA, move_out: true }
    - { path: Work, mode: blacklist, default: METADATA, accept_incoming: true }
    - { path: '[Gmail]/All Mail', mode: blacklist, default: FULL }
",
    );
    let mut client = directory.client("agent");
    let uid = gmail.uid(&Place::Inbox, one).unwrap();
    let arguments = json!({ "uid": uid, "target_folder": "Work" });
    let answer = ask(&mut client, "move", folder("INBOX", arguments));
    assert_eq!(answer.words, "ok done", "{}", answer.text);
    assert_eq!(seen(&gmail, one), [Place::All, work()]);
}

#[test]
fn what_comes_from_another_account_is_judged_in_all_that_it_comes_to_stand_in() {
    let server = Dovecot::start();
    server.deliver("alice", "INBOX", &note("one", "the secret body"));
    let gmail = Gmail::builder().labels(&["Work"]).start();
    for (all, want) in [("FULL", RISES), ("METADATA", "ok done")] {
        let directory = Directory::new(server.port(), server.port());
        directory.write(
            "accounts.yaml",
            &format!(
                "secret_store: {{ backend: file_dir, path: secrets }}\nwal: {{ path: state/wal.db }}\naccounts:\n  \
                 - id: other\n    host: 127.0.0.1\n    port: {}\n    tls: none\n    \
                 auth: {{ type: password, user: alice, secret_ref: secret://password }}\n  \
                 - id: google\n    provider: google\n    host: 127.0.0.1\n    port: {}\n    tls: none\n    \
                 auth: {{ type: password, user: {USER}, secret_ref: secret://google }}\n",
                server.port(),
                gmail.port()
            ),
        );
        directory.secret("secrets/google", PASSWORD);
        directory.write(
            "callers.yaml",
            "callers:\n  - id: agent\n    policy: some\n    auth: { type: stdio_trusted }\n    toolsets: [gateway]\n",
        );
        directory.policy(&format!(
            "  other:
    - {{ path: INBOX, mode: blacklist, default: METADATA, move_out: true }}
  google:
    - {{ path: Work, mode: blacklist, default: METADATA, accept_incoming: true }}
    - {{ path: '[Gmail]/All Mail', mode: blacklist, default: {all} }}
"
        ));
        let mut client = directory.client("agent");
        let answer = ask(
            &mut client,
            "copy",
            json!({
                "account_id": "other", "folder": "INBOX", "uid": 1,
                "target_account_id": "google", "target_folder": "Work",
            }),
        );
        assert_eq!(answer.words, want, "{all}: {}", answer.text);
        assert_eq!(gmail.messages().len(), usize::from(want != RISES), "{all}");
    }
}
