//! A connection that is cut at every command of a move: what is said is so, and no message is ever lost.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::Gmail;
use testkit::gmail::{Fault, Place};

use super::{Owner, id, seen, work};
use crate::changes::{Answer, ask};
use crate::support::note;

/// Longer than anything takes, so that a test that fails does not run for ever.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a move between labels sends, in order.
const COMMANDS: [(&str, usize); 11] = [
    ("EXAMINE", 1),
    ("EXAMINE", 2),
    ("STATUS", 1),
    ("STATUS", 2),
    ("UID FETCH", 1),
    ("UID FETCH", 2),
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
pub(super) fn settled(owner: &mut Owner, transaction: &Value) -> Value {
    let begun = Instant::now();
    loop {
        let state = state(owner, transaction);
        if state != "unknown" {
            return state;
        }
        assert!(begun.elapsed() < PATIENCE, "it does not come to its end");
        // Another look is another round trip; nothing is assumed about time.
        std::thread::yield_now();
    }
}

fn undo(owner: &mut Owner, transaction: &Value) -> Answer {
    let asked = json!({ "transaction_id": transaction });
    ask(&mut owner.client, "undo_transaction", asked)
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
    assert_eq!(gmail.armed(), 0, "nothing was struck: {what}");
    let (here, there) = match to {
        "Work" => (vec![Place::Inbox, Place::All], vec![Place::All, work()]),
        _ => (vec![Place::Inbox, Place::All], vec![Place::All]),
    };
    match state.as_str() {
        Some("done") => {
            assert_eq!(seen(&gmail, one), there, "{what}");
            let back = undo(&mut owner, &answer.id());
            assert_eq!(back.words, "ok done", "{what}: {}", back.text);
            assert_eq!(seen(&gmail, one), here, "{what}");
        }
        Some("undone") => assert_eq!(seen(&gmail, one), here, "{what}"),
        other => panic!("{other:?}: {what}"),
    }
    if answer.words == "ok done" {
        assert_eq!(state, "done", "{what}");
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

#[test]
fn a_label_that_was_there_before_is_known_whatever_answer_was_lost() {
    let inbox = [Place::Inbox, Place::All];
    let both = [Place::Inbox, Place::All, work()];
    for (tool, to, before, (verb, nth, fault), after) in [
        (
            "imap_move_message",
            "[Gmail]/All Mail",
            &inbox[..],
            ("UID STORE", 1, Fault::CloseAfter),
            vec![Place::All],
        ),
        (
            "imap_move_message",
            "Work",
            &inbox[..],
            ("UID STORE", 2, Fault::CloseBefore),
            vec![Place::All, work()],
        ),
        (
            "imap_copy_message",
            "Work",
            &both[..],
            ("UID COPY", 1, Fault::CloseAfter),
            both.to_vec(),
        ),
        (
            "imap_move_message",
            "Work",
            &both[..],
            ("UID STORE", 2, Fault::CloseAfter),
            vec![Place::All, work()],
        ),
    ] {
        let what = format!("{tool} {to} {verb} {nth} {fault:?}");
        let gmail = Gmail::builder().labels(&["Work"]).start();
        let one = gmail.deliver(before, note("one", "x"));
        let mut owner = Owner::of(&gmail);
        let at = id(&gmail, "INBOX", &Place::Inbox, one);
        gmail.fail(verb, nth, fault);
        let asked = json!({ "message_id": at, "destination_mailbox": to });
        let answer = ask(&mut owner.client, tool, asked);
        assert_eq!(settled(&mut owner, &answer.id()), "done", "{what}");
        assert_eq!(gmail.armed(), 0, "{what}");
        assert_eq!(seen(&gmail, one), after, "{what}");
        let back = undo(&mut owner, &answer.id());
        match tool {
            "imap_copy_message" => assert!(back.has("nothing to undo"), "{what}: {}", back.text),
            _ => assert_eq!(back.words, "ok done", "{what}: {}", back.text),
        }
        assert_eq!(seen(&gmail, one), before, "{what}");
    }
}

#[test]
fn half_a_swap_whose_putting_back_was_cut_is_put_back_later() {
    let gmail = Gmail::builder().labels(&["Work"]).start();
    let one = gmail.deliver(&[Place::Inbox], note("one", "x"));
    let mut owner = Owner::of(&gmail);
    let at = id(&gmail, "INBOX", &Place::Inbox, one);
    gmail.fail("UID STORE", 1, Fault::Answer("NO [CANNOT] not this one"));
    gmail.fail("UID STORE", 3, Fault::CloseBefore);
    let asked = json!({ "message_id": at, "destination_mailbox": "Work" });
    let answer = ask(&mut owner.client, "imap_move_message", asked);
    if answer.data["transaction_id"].is_string() {
        assert_eq!(
            settled(&mut owner, &answer.id()),
            "undone",
            "{}",
            answer.text
        );
    }
    assert_eq!(gmail.armed(), 0);
    assert_eq!(seen(&gmail, one), [Place::Inbox, Place::All]);
}

#[test]
fn a_landing_that_was_not_told_is_looked_up_when_it_is_undone() {
    let gmail = Gmail::builder().labels(&["Work"]).start();
    let one = gmail.deliver(&[Place::Inbox], note("one", "x"));
    let mut owner = Owner::of(&gmail);
    let at = id(&gmail, "INBOX", &Place::Inbox, one);
    gmail.fail("UID SEARCH", 2, Fault::Answer("NO [UNAVAILABLE] later"));
    let asked = json!({ "message_id": at, "destination_mailbox": "Work" });
    let answer = ask(&mut owner.client, "imap_move_message", asked);
    assert_eq!(answer.words, "ok done", "{}", answer.text);
    assert_eq!(gmail.armed(), 0);
    assert!(answer.data["new_message_id"].is_null());
    let back = undo(&mut owner, &answer.id());
    assert_eq!(back.words, "ok done", "{}", back.text);
    assert_eq!(seen(&gmail, one), [Place::Inbox, Place::All]);
}

#[test]
fn deleting_for_good_says_that_it_is_in_the_trash_also_when_the_answer_was_lost() {
    for fault in [None, Some(Fault::CloseAfter), Some(Fault::CloseBefore)] {
        let gmail = Gmail::start();
        let one = gmail.deliver(&[Place::Inbox], note("one", "x"));
        let mut owner = Owner::with(&gmail, &[("MAIL_IMAP_DELETE", "expunge")]);
        let at = id(&gmail, "INBOX", &Place::Inbox, one);
        if let Some(fault) = &fault {
            gmail.fail("UID MOVE", 1, fault.clone());
        }
        let asked = json!({ "message_id": at, "confirm": true });
        let answer = ask(&mut owner.client, "imap_delete_message", asked);
        assert_eq!(settled(&mut owner, &answer.id()), "done", "{fault:?}");
        assert_eq!(gmail.armed(), 0, "{fault:?}");
        assert_eq!(seen(&gmail, one), [Place::Trash], "{fault:?}");
        let asked = json!({ "transaction_id": answer.id() });
        let told = ask(&mut owner.client, "get_transaction_status", asked);
        assert_eq!(told.data["code"], "in_trash", "{fault:?}: {}", told.text);
        let back = undo(&mut owner, &answer.id());
        assert!(back.has("account's trash"), "{fault:?}: {}", back.text);
        assert!(!back.has("for good"), "{fault:?}: {}", back.text);
    }
}
