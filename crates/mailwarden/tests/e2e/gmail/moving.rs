//! Moving, copying, archiving and deleting where folders are labels, and taking it back.

use serde_json::{Value, json};
use testkit::Gmail;
use testkit::gmail::Place;

use super::{Owner, id, seen, work};
use crate::changes::{Answer, ask};
use crate::support::note;

fn moved(owner: &mut Owner, message: &str, to: &str) -> Answer {
    ask(
        &mut owner.client,
        "imap_move_message",
        json!({ "message_id": message, "destination_mailbox": to }),
    )
}

fn copied(owner: &mut Owner, message: &str, to: &str) -> Answer {
    ask(
        &mut owner.client,
        "imap_copy_message",
        json!({ "message_id": message, "destination_mailbox": to }),
    )
}

fn undone(owner: &mut Owner, id: &Value) -> Answer {
    ask(
        &mut owner.client,
        "undo_transaction",
        json!({ "transaction_id": id }),
    )
}

fn ground() -> (Gmail, Owner) {
    let gmail = Gmail::builder().labels(&["Work", "Büro & Co"]).start();
    let owner = Owner::of(&gmail);
    (gmail, owner)
}

fn said(gmail: &Gmail, word: &str) -> bool {
    gmail.commands().iter().any(|one| one.contains(word))
}

#[test]
fn a_move_swaps_labels_and_its_undoing_swaps_them_back() {
    let (gmail, mut owner) = ground();
    let other = Place::label("Büro & Co");
    for (from, name, to, target) in [
        (Place::Inbox, "INBOX", work(), "Work"),
        (work(), "Work", Place::Inbox, "INBOX"),
        (Place::Inbox, "INBOX", other.clone(), "Büro & Co"),
        (other.clone(), "Büro & Co", work(), "Work"),
    ] {
        let one = gmail.deliver(
            std::slice::from_ref(&from),
            note(&format!("{name} to {target}"), "x"),
        );
        gmail.deliver(&[from.clone(), to.clone()], note("a bystander", "x"));
        gmail.reset_record();
        let answer = moved(&mut owner, &id(&gmail, name, &from, one), target);
        assert_eq!(answer.words, "ok done", "{name}: {}", answer.text);
        let mut want = vec![to.clone(), Place::All];
        want.sort();
        assert_eq!(seen(&gmail, one), want, "{name}");
        let landed = id(&gmail, target, &to, one);
        assert_eq!(answer.data["new_message_id"], landed, "{name}");
        assert!(said(&gmail, "UID STORE"), "{:?}", gmail.commands());
        assert!(!said(&gmail, "UID MOVE"), "{:?}", gmail.commands());
        assert!(!said(&gmail, "EXPUNGE"), "{:?}", gmail.commands());

        let back = undone(&mut owner, &answer.id());
        assert_eq!(back.words, "ok done", "{name}: {}", back.text);
        let mut want = vec![from.clone(), Place::All];
        want.sort();
        assert_eq!(seen(&gmail, one), want, "{name}");
        let again = undone(&mut owner, &back.id());
        assert_eq!(again.words, "ok done", "{name}: {}", again.text);
        assert!(seen(&gmail, one).contains(&to), "{name}");
        gmail.destroy(one);
    }
}

#[test]
fn archiving_takes_the_inbox_off_and_leaves_every_other_label() {
    let (gmail, mut owner) = ground();
    let plain = gmail.deliver(&[Place::Inbox], note("plain", "x"));
    let labelled = gmail.deliver(&[Place::Inbox, work()], note("labelled", "x"));
    for (message, before, after) in [
        (plain, vec![Place::Inbox, Place::All], vec![Place::All]),
        (
            labelled,
            vec![Place::Inbox, Place::All, work()],
            vec![Place::All, work()],
        ),
    ] {
        // A second time too: All Mail gives it no other number.
        for _ in 0..2 {
            let at = id(&gmail, "INBOX", &Place::Inbox, message);
            let answer = moved(&mut owner, &at, "[Gmail]/All Mail");
            assert_eq!(answer.words, "ok done", "{}", answer.text);
            assert_eq!(seen(&gmail, message), after);
            let landed = id(&gmail, "[Gmail]/All Mail", &Place::All, message);
            assert_eq!(answer.data["new_message_id"], landed);
            let back = undone(&mut owner, &answer.id());
            assert_eq!(back.words, "ok done", "{}", back.text);
            assert_eq!(seen(&gmail, message), before);
        }
    }
    assert!(!said(&gmail, "EXPUNGE"));
    assert!(!said(&gmail, "UID MOVE"));
}

#[test]
fn nothing_is_moved_out_of_all_mail_and_nothing_copied_to_the_trash() {
    let (gmail, mut owner) = ground();
    let one = gmail.deliver(&[Place::Inbox], note("one", "x"));
    let thrown = gmail.deliver(&[Place::Trash], note("thrown", "x"));
    let before = (seen(&gmail, one), seen(&gmail, thrown));
    let all = id(&gmail, "[Gmail]/All Mail", &Place::All, one);
    let answer = moved(&mut owner, &all, "Work");
    assert!(
        answer.has("copy it to put it under a label"),
        "{}",
        answer.text
    );
    let trash = id(&gmail, "[Gmail]/Trash", &Place::Trash, thrown);
    let inbox = id(&gmail, "INBOX", &Place::Inbox, one);
    for (message, to) in [
        (&trash, "Work"),
        (&inbox, "[Gmail]/Trash"),
        (&inbox, "[Gmail]/Spam"),
    ] {
        let answer = copied(&mut owner, message, to);
        assert!(
            answer.has("move it instead"),
            "{message} {to}: {}",
            answer.text
        );
    }
    assert_eq!((seen(&gmail, one), seen(&gmail, thrown)), before);
    let answer = moved(&mut owner, &inbox, "Nowhere");
    assert!(answer.words.contains("not_found"), "{}", answer.words);
    assert_eq!(seen(&gmail, one), before.0, "and no label is made");
    let answer = copied(&mut owner, &all, "Work");
    assert_eq!(answer.words, "ok done", "{}", answer.text);
    assert_eq!(seen(&gmail, one), [Place::Inbox, Place::All, work()]);
}

#[test]
fn a_copy_puts_a_label_on_and_its_undoing_takes_that_one_off() {
    let (gmail, mut owner) = ground();
    let inbox = gmail.deliver(&[Place::Inbox], note("inbox", "x"));
    let archived = gmail.deliver(&[], note("archived", "x"));
    for (message, name, from) in [
        (inbox, "INBOX", Place::Inbox),
        (archived, "[Gmail]/All Mail", Place::All),
    ] {
        let before = seen(&gmail, message);
        let at = id(&gmail, name, &from, message);
        let answer = copied(&mut owner, &at, "Work");
        assert_eq!(answer.words, "ok done", "{}", answer.text);
        let landed = id(&gmail, "Work", &work(), message);
        assert_eq!(answer.data["new_message_id"], landed);
        let back = undone(&mut owner, &answer.id());
        assert_eq!(back.words, "ok done", "{name}: {}", back.text);
        assert_eq!(seen(&gmail, message), before, "{name}");
    }
    // A label that was there before stays when a copy to it is undone.
    gmail.label(inbox, &work());
    let at = id(&gmail, "INBOX", &Place::Inbox, inbox);
    let answer = copied(&mut owner, &at, "Work");
    assert_eq!(answer.words, "ok done", "{}", answer.text);
    let back = undone(&mut owner, &answer.id());
    assert!(back.has("nothing to undo"), "{}", back.text);
    let answer = moved(&mut owner, &at, "Work");
    assert_eq!(answer.words, "ok done", "{}", answer.text);
    assert_eq!(seen(&gmail, inbox), [Place::All, work()]);
    let back = undone(&mut owner, &answer.id());
    assert_eq!(back.words, "ok done", "{}", back.text);
    assert_eq!(seen(&gmail, inbox), [Place::Inbox, Place::All, work()]);
    assert!(!said(&gmail, "EXPUNGE"));
}

#[test]
fn what_is_deleted_is_in_the_trash_and_comes_back() {
    let (gmail, mut owner) = ground();
    let one = gmail.deliver(&[Place::Inbox, work()], note("one", "x"));
    let at = id(&gmail, "INBOX", &Place::Inbox, one);
    let answer = ask(
        &mut owner.client,
        "imap_delete_message",
        json!({ "message_id": at, "confirm": true }),
    );
    assert_eq!(answer.words, "ok done", "{}", answer.text);
    assert_eq!(answer.data["trash_mailbox"], "[Gmail]/Trash");
    assert_eq!(seen(&gmail, one), [Place::Trash]);
    let back = undone(&mut owner, &answer.id());
    assert_eq!(back.words, "ok done", "{}", back.text);
    assert!(seen(&gmail, one).contains(&Place::Inbox));
    // And by a move in both directions.
    let at = id(&gmail, "INBOX", &Place::Inbox, one);
    let answer = moved(&mut owner, &at, "[Gmail]/Spam");
    assert_eq!(answer.words, "ok done", "{}", answer.text);
    assert_eq!(seen(&gmail, one), [Place::Spam]);
    let spam = id(&gmail, "[Gmail]/Spam", &Place::Spam, one);
    let answer = moved(&mut owner, &spam, "INBOX");
    assert_eq!(answer.words, "ok done", "{}", answer.text);
    assert_eq!(seen(&gmail, one), [Place::Inbox, Place::All]);
    let in_trash = gmail.deliver(&[Place::Trash], note("in the trash", "x"));
    let at = id(&gmail, "[Gmail]/Trash", &Place::Trash, in_trash);
    let answer = ask(
        &mut owner.client,
        "imap_delete_message",
        json!({ "message_id": at, "confirm": true }),
    );
    assert_eq!(answer.words, "ok done", "{}", answer.text);
    assert_eq!(seen(&gmail, in_trash), []);
}

#[test]
fn where_deleting_is_for_good_gmail_goes_no_further_than_its_trash() {
    let gmail = Gmail::start();
    let one = gmail.deliver(&[Place::Inbox], note("one", "x"));
    let mut owner = Owner::with(&gmail, &[("MAIL_IMAP_DELETE", "expunge")]);
    let at = id(&gmail, "INBOX", &Place::Inbox, one);
    let answer = ask(
        &mut owner.client,
        "imap_delete_message",
        json!({ "message_id": at, "confirm": true }),
    );
    assert!(
        answer.has("in its trash"),
        "{} {}",
        answer.words,
        answer.text
    );
    assert_eq!(seen(&gmail, one), [Place::Trash]);
}

#[test]
fn where_all_mail_is_hidden_a_move_is_gmails_own() {
    let gmail = Gmail::builder().hide(Place::All).labels(&["Work"]).start();
    let mut owner = Owner::of(&gmail);
    let one = gmail.deliver(&[Place::Inbox], note("one", "x"));
    let at = id(&gmail, "INBOX", &Place::Inbox, one);
    let answer = moved(&mut owner, &at, "Work");
    assert_eq!(answer.words, "ok done", "{}", answer.text);
    assert_eq!(gmail.labels(one).into_iter().collect::<Vec<_>>(), [work()]);
    assert!(said(&gmail, "UID MOVE"));
}
