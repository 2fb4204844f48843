//! What is believed of a server's answers, and which label is meant by which name.

use serde_json::{Value, json};
use testkit::Gmail;
use testkit::gmail::{Fault, Language, Place};

use super::{Owner, folder, id, seen, work};
use crate::changes::{Answer, ask};
use crate::support::{Look, note};

fn go(owner: &mut Owner, message: &str, to: &str) -> Answer {
    ask(
        &mut owner.client,
        "imap_move_message",
        json!({ "message_id": message, "destination_mailbox": to }),
    )
}

fn undo(owner: &mut Owner, id: &Value) -> Answer {
    ask(
        &mut owner.client,
        "undo_transaction",
        json!({ "transaction_id": id }),
    )
}

#[test]
fn a_throttled_moment_is_no_lie() {
    let busy =
        Fault::Answer("NO [OVERQUOTA] Account exceeded command or bandwidth limits. (Failure)");
    let gmail = Gmail::builder().labels(&["Work"]).start();
    gmail.deliver(&[Place::Inbox], note("one", "x"));
    let mut owner = Owner::of(&gmail);
    // The first search finds nothing, so that all are counted; that is refused.
    gmail.fail("UID SEARCH", 2, busy.clone());
    let criteria = json!({ "criteria": { "gm_raw": "nothing" } });
    let refused = ask(&mut owner.client, "search", folder("INBOX", criteria));
    assert_eq!(gmail.armed(), 0);
    assert!(!refused.words.starts_with("ok"), "{}", refused.text);
    gmail.fail("UID SEARCH", 1, busy);
    owner.client.call("imap_verify_account", json!({}));
    assert_eq!(gmail.armed(), 0);
    gmail.reset_record();
    let page = owner.client.call("search", folder("INBOX", json!({})));
    assert_eq!(page.number("/messages/0/canonical_all_mail_uid"), 1);
    assert_eq!(page.warnings(), "", "{}", page.text);
    let asked = gmail.commands();
    let plain = |one: &&String| one.starts_with("UID SEARCH") && !one.contains("RETURN");
    assert_eq!(asked.iter().find(plain), None);
    let verified = owner.client.call("imap_verify_account", json!({}));
    assert!(
        !verified.warnings().contains("ESEARCH"),
        "{}",
        verified.text
    );
}

#[test]
fn a_look_that_nothing_came_of_is_not_the_one_before_it() {
    let gmail = Gmail::builder().labels(&["Work"]).start();
    let one = gmail.deliver(&[Place::Inbox], note("one", "x"));
    let mut owner = Owner::of(&gmail);
    // Nothing is done, all is said to be, and the last look tells nothing of the message.
    for (verb, nth) in [("UID STORE", 1), ("UID STORE", 2), ("UID FETCH", 3)] {
        gmail.fail(verb, nth, Fault::Answer("OK Success"));
    }
    let message = id(&gmail, "INBOX", &Place::Inbox, one);
    let answer = go(&mut owner, &message, "Work");
    assert_eq!(gmail.armed(), 0);
    // What is not known is found out, and done.
    assert_eq!(answer.words, "ok done", "{}", answer.text);
    assert_eq!(seen(&gmail, one), [Place::All, work()]);
}

#[test]
fn a_label_that_is_called_like_one_of_the_systems_is_another() {
    for name in ["\\Trash", "\\Inbox", "\\nothing"] {
        let gmail = Gmail::builder().labels(&[name]).start();
        let one = gmail.deliver(&[Place::Inbox], note("one", "x"));
        let mut owner = Owner::of(&gmail);
        let message = id(&gmail, "INBOX", &Place::Inbox, one);
        let answer = go(&mut owner, &message, name);
        assert_eq!(answer.words, "ok done", "{name}: {}", answer.text);
        assert_eq!(seen(&gmail, one), [Place::All, Place::label(name)]);
        let said = gmail.commands();
        assert!(
            !said.iter().any(|one| one.starts_with("UID STORE")),
            "{said:?}"
        );
        let back = undo(&mut owner, &answer.data["transaction_id"]);
        assert_eq!(back.words, "ok done", "{name}: {}", back.text);
        assert_eq!(seen(&gmail, one), [Place::Inbox, Place::All]);
    }
}

#[test]
fn labels_are_the_same_in_any_case() {
    let gmail = Gmail::builder().labels(&["Work", "Ämter"]).start();
    let one = gmail.deliver(&[Place::Inbox], note("one", "x"));
    let mut owner = Owner::of(&gmail);
    for (from, name, place) in [
        (("INBOX", Place::Inbox), "work", work()),
        (("Work", work()), "ÄMTER", Place::label("Ämter")),
    ] {
        let message = id(&gmail, from.0, &from.1, one);
        let answer = go(&mut owner, &message, name);
        assert_eq!(answer.words, "ok done", "{name}: {}", answer.text);
        assert_eq!(seen(&gmail, one), [Place::All, place], "{name}");
    }
    // To where it is, in another spelling: it stays there.
    let message = id(&gmail, "Ämter", &Place::label("Ämter"), one);
    go(&mut owner, &message, "ämter");
    assert_eq!(seen(&gmail, one), [Place::All, Place::label("Ämter")]);
}

#[test]
fn what_a_folder_is_for_says_what_it_is() {
    let gmail = Gmail::builder()
        .language(Language::British)
        .labels(&["[Gmail]/Trash"])
        .start();
    let label = Place::label("[Gmail]/Trash");
    let one = gmail.deliver(&[Place::Inbox], note("one", "x"));
    let two = gmail.deliver(&[Place::Inbox], note("two", "x"));
    let three = gmail.deliver(std::slice::from_ref(&label), note("three", "x"));
    for (delete, want) in [("trash", "ok done"), ("expunge", "partial in_trash done")] {
        let mut owner = Owner::with(&gmail, &[("MAIL_IMAP_DELETE", delete)]);
        owner.client.call("imap_list_mailboxes", json!({}));
        let (message, folder, place) = match delete {
            "trash" => (one, "INBOX", Place::Inbox),
            _ => (three, "[Gmail]/Trash", label.clone()),
        };
        let answer = ask(
            &mut owner.client,
            "imap_delete_message",
            json!({ "message_id": id(&gmail, folder, &place, message), "confirm": true }),
        );
        assert_eq!(answer.words, want, "{}", answer.text);
        assert_eq!(seen(&gmail, message), [Place::Trash], "{delete}");
    }
    let mut owner = Owner::of(&gmail);
    owner.client.call("imap_list_mailboxes", json!({}));
    let message = id(&gmail, "INBOX", &Place::Inbox, two);
    let answer = go(&mut owner, &message, "[Gmail]/Trash");
    assert_eq!(answer.words, "ok done", "{}", answer.text);
    assert_eq!(seen(&gmail, two), [Place::All, label]);
}

#[test]
fn without_esearch_everything_goes_as_well() {
    let gmail = Gmail::builder()
        .labels(&["Work"])
        .without("ESEARCH")
        .start();
    let one = gmail.deliver(&[Place::Inbox], note("one", "x"));
    gmail.deliver(&[Place::Inbox], note("two", "x"));
    let mut owner = Owner::of(&gmail);
    let page = owner.client.call("search", folder("INBOX", json!({})));
    for line in [0, 1] {
        let number = page.number(&format!("/messages/{line}/canonical_all_mail_uid"));
        assert!(number > 0, "{}", page.text);
    }
    let message = id(&gmail, "INBOX", &Place::Inbox, one);
    let answer = go(&mut owner, &message, "Work");
    assert_eq!(answer.words, "ok done", "{}", answer.text);
    assert_eq!(seen(&gmail, one), [Place::All, work()]);
    let back = undo(&mut owner, &answer.data["transaction_id"]);
    assert_eq!(back.words, "ok done", "{}", back.text);
    assert_eq!(seen(&gmail, one), [Place::Inbox, Place::All]);
    // Looked up where an answer was lost.
    gmail.fail("UID STORE", 2, Fault::CloseAfter);
    let message = id(&gmail, "INBOX", &Place::Inbox, one);
    let answer = go(&mut owner, &message, "Work");
    assert_eq!(gmail.armed(), 0);
    assert_eq!(answer.words, "ok done", "{}", answer.text);
    let said = gmail.commands();
    assert!(!said.iter().any(|one| one.contains("RETURN")), "{said:?}");
}
