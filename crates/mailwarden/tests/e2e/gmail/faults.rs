//! A connection that is cut at every command of a move: what is said is so, and no message is ever lost.

use serde_json::{Value, json};
use testkit::Gmail;
use testkit::gmail::{Fault, Place};

use super::{Owner, id, seen, work};
use crate::changes::ask;
use crate::support::note;

/// What a move between labels sends, in order.
const COMMANDS: [(&str, usize); 8] = [
    ("EXAMINE", 1),
    ("STATUS", 1),
    ("UID FETCH", 1),
    ("SELECT", 1),
    ("UID SEARCH", 1),
    ("UID STORE", 1),
    ("UID STORE", 2),
    ("UID SEARCH", 2),
];

fn state(owner: &mut Owner, transaction: &Value) -> Value {
    let asked = json!({ "transaction_id": transaction });
    let answer = ask(&mut owner.client, "get_transaction_status", asked);
    answer.data["transaction_state"].clone()
}

/// Waits until it is known what became of it.
fn settled(owner: &mut Owner, transaction: &Value) -> Value {
    loop {
        let state = state(owner, transaction);
        if state != "unknown" {
            return state;
        }
        // Another look is another round trip; nothing is assumed about time.
        std::thread::yield_now();
    }
}

fn strike(to: &str, fault: &Fault, verb: &str, nth: usize) {
    let gmail = Gmail::builder().labels(&["Work"]).start();
    let one = gmail.deliver(&[Place::Inbox], note("one", "x"));
    let mut owner = Owner::of(&gmail);
    let at = id(&gmail, "INBOX", &Place::Inbox, one);
    gmail.fail(verb, nth, fault.clone());
    let answer = ask(
        &mut owner.client,
        "imap_move_message",
        json!({ "message_id": at, "destination_mailbox": to }),
    );
    let what = format!(
        "{to}: {verb} {nth} {fault:?}: {} {}",
        answer.words, answer.text
    );
    assert!(seen(&gmail, one).contains(&Place::All), "{what}");
    let state = match answer.data["transaction_id"].as_str() {
        Some(_) => settled(&mut owner, &answer.id()),
        None => json!("undone"),
    };
    let (here, there) = match to {
        "Work" => (vec![Place::Inbox, Place::All], vec![Place::All, work()]),
        _ => (vec![Place::Inbox, Place::All], vec![Place::All]),
    };
    match state.as_str() {
        Some("done") => assert_eq!(seen(&gmail, one), there, "{what}"),
        Some("undone") => assert_eq!(seen(&gmail, one), here, "{what}"),
        other => panic!("{other:?}: {what}"),
    }
    if answer.words == "ok done" {
        assert_eq!(seen(&gmail, one), there, "{what}");
    }
}

#[test]
fn a_move_that_is_cut_anywhere_is_done_or_not_and_said_so() {
    for fault in [Fault::CloseBefore, Fault::CloseAfter, Fault::CutAnswer(7)] {
        for (verb, nth) in COMMANDS {
            strike("Work", &fault, verb, nth);
        }
    }
}

#[test]
fn archiving_that_is_cut_anywhere_is_done_or_not_and_said_so() {
    for fault in [Fault::CloseBefore, Fault::CloseAfter] {
        for (verb, nth) in [("UID FETCH", 1), ("SELECT", 1), ("UID STORE", 1)] {
            strike("[Gmail]/All Mail", &fault, verb, nth);
        }
    }
}

#[test]
fn a_label_that_is_refused_leaves_the_message_as_it_was() {
    for nth in [1, 2] {
        let gmail = Gmail::builder().labels(&["Work"]).start();
        let one = gmail.deliver(&[Place::Inbox], note("one", "x"));
        let mut owner = Owner::of(&gmail);
        let at = id(&gmail, "INBOX", &Place::Inbox, one);
        gmail.fail("UID STORE", nth, Fault::Answer("NO [CANNOT] not this one"));
        let answer = ask(
            &mut owner.client,
            "imap_move_message",
            json!({ "message_id": at, "destination_mailbox": "Work" }),
        );
        assert!(!answer.words.starts_with("ok"), "{nth}: {}", answer.text);
        assert_eq!(seen(&gmail, one), [Place::Inbox, Place::All], "{nth}");
    }
}

#[test]
fn a_copy_that_is_cut_is_found_by_what_gmail_calls_it() {
    for fault in [Fault::CloseBefore, Fault::CloseAfter] {
        let gmail = Gmail::builder().labels(&["Work"]).start();
        let one = gmail.deliver(&[Place::Inbox], note("one", "x"));
        let mut owner = Owner::of(&gmail);
        let at = id(&gmail, "INBOX", &Place::Inbox, one);
        gmail.fail("UID COPY", 1, fault.clone());
        let answer = ask(
            &mut owner.client,
            "imap_copy_message",
            json!({ "message_id": at, "destination_mailbox": "Work" }),
        );
        let state = settled(&mut owner, &answer.id());
        assert_eq!(state, "done", "{fault:?}: {}", answer.text);
        assert_eq!(seen(&gmail, one), [Place::Inbox, Place::All, work()]);
    }
}
