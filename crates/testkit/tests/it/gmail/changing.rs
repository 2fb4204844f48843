//! Labels, flags, copies, moves and removals.

use super::{converse, enter, letter, open};
use testkit::gmail::{Deleting, Duplicates, LastLabel, Place};
use testkit::{Delivery, Flag, Gmail};

fn work() -> Place {
    Place::label("Work")
}

fn one_letter(labels: &[Place]) -> (Gmail, u64) {
    let gmail = Gmail::builder().labels(&["Work"]).start();
    let one = gmail.deliver(labels, letter("one", "The budget"));
    (gmail, one)
}

fn found_in(gmail: &Gmail, msgid: u64) -> Vec<Place> {
    gmail.found_in(msgid).into_keys().collect()
}

#[test]
fn labels_are_stored_by_name() {
    let (gmail, one) = one_letter(&[Place::Inbox]);
    let mut imap = open(&gmail, &Place::Inbox);
    converse(
        &mut imap,
        &[],
        &[
            (
                "UID STORE 1 +X-GM-LABELS (Work)",
                "* 1 FETCH (X-GM-LABELS (Work) UID 1)\nOK Success",
            ),
            (
                "STORE 1 +X-GM-LABELS (\\Starred \"F&APw-r dich\")",
                "* 1 FETCH (X-GM-LABELS (\"\\\\Starred\" \"F&APw-r dich\" Work))\nOK Success",
            ),
            ("UID STORE 1 -X-GM-LABELS.SILENT Work", "OK Success"),
            (
                "UID STORE 1 +X-GM-LABELS (\"\\\\Important\")",
                "* 1 FETCH (X-GM-LABELS (\"\\\\Important\" \"\\\\Starred\" \"F&APw-r dich\") UID 1)\nOK Success",
            ),
            (
                "UID FETCH 1 FLAGS",
                "* 1 FETCH (UID 1 FLAGS (\\Flagged))\nOK Success",
            ),
            (
                "UID STORE 1 X-GM-LABELS (\\Inbox new/label)",
                "* 1 FETCH (X-GM-LABELS (new/label) UID 1)\nOK Success",
            ),
            (
                "UID STORE 1 -X-GM-LABELS (\\Inbox)",
                "* 1 EXPUNGE\n* 0 EXISTS\nOK Success",
            ),
        ],
    );
    assert_eq!(
        found_in(&gmail, one),
        [Place::All, Place::label("new/label")]
    );
    assert!(!gmail.is_starred(one));
}

#[test]
fn a_label_of_trash_takes_all_others() {
    let (gmail, one) = one_letter(&[Place::Inbox, work()]);
    let mut imap = open(&gmail, &Place::All);
    let told = imap.command("UID STORE 1 +X-GM-LABELS (\\Trash)").text();
    assert_eq!(told, "* 1 EXPUNGE\n* 0 EXISTS\nOK Success");
    assert_eq!(found_in(&gmail, one), [Place::Trash]);
    let mut trash = open(&gmail, &Place::Trash);
    trash.command("UID STORE 1 +X-GM-LABELS (Work)");
    assert_eq!(
        found_in(&gmail, one),
        [Place::Trash],
        "a label does not bring it back"
    );
    trash.command("UID STORE 1 +X-GM-LABELS (\\Inbox)");
    assert_eq!(found_in(&gmail, one), [Place::Inbox, Place::All, work()]);
}

#[test]
fn copying_adds_a_label() {
    for (to, want) in [
        (work(), vec![Place::Inbox, Place::All, work()]),
        (
            Place::Starred,
            vec![Place::Inbox, Place::All, Place::Starred],
        ),
        (Place::All, vec![Place::Inbox, Place::All]),
        (Place::Inbox, vec![Place::Inbox, Place::All]),
        (Place::Trash, vec![Place::Trash]),
        (Place::Spam, vec![Place::Spam]),
    ] {
        let (gmail, one) = one_letter(&[Place::Inbox]);
        let mut imap = open(&gmail, &Place::Inbox);
        let reply = imap.command(&format!("UID COPY 1 \"{}\"", gmail.name(&to)));
        let uidvalidity = gmail.uidvalidity(&to).unwrap();
        assert_eq!(
            reply.status,
            format!("OK [COPYUID {uidvalidity} 1 1] (Success)")
        );
        let gone = reply.lines() == ["* 1 EXPUNGE", "* 0 EXISTS"];
        assert_eq!(
            gone,
            matches!(to, Place::Trash | Place::Spam),
            "{to:?}: {}",
            reply.text()
        );
        assert_eq!(found_in(&gmail, one), want, "{to:?}");
    }
}

#[test]
fn moving_exchanges_labels() {
    for (from, to, want) in [
        (
            Place::Inbox,
            work(),
            vec![Place::All, Place::Important, work()],
        ),
        (Place::Inbox, Place::All, vec![Place::All, Place::Important]),
        (Place::Inbox, Place::Trash, vec![Place::Trash]),
        (
            Place::Important,
            work(),
            vec![Place::Inbox, Place::All, work()],
        ),
    ] {
        let (gmail, one) = one_letter(&[Place::Inbox, Place::Important]);
        let mut imap = open(&gmail, &from);
        let reply = imap.command(&format!("UID MOVE 1 \"{}\"", gmail.name(&to)));
        let uidvalidity = gmail.uidvalidity(&to).unwrap();
        assert_eq!(
            reply.text(),
            format!("* 1 EXPUNGE\n* 0 EXISTS\nOK [COPYUID {uidvalidity} 1 1] (Success)")
        );
        assert_eq!(found_in(&gmail, one), want, "{from:?} {to:?}");
    }
}

#[test]
fn nothing_leaves_all_mail_by_a_move_to_a_label() {
    let (gmail, one) = one_letter(&[]);
    let mut imap = open(&gmail, &Place::All);
    let reply = imap.command("UID MOVE 1 Work");
    assert!(
        reply.lines().iter().all(|line| !line.contains("EXPUNGE")),
        "{}",
        reply.text()
    );
    assert_eq!(found_in(&gmail, one), [Place::All, work()]);
    imap.command("UID MOVE 1 [Gmail]/Trash");
    assert_eq!(found_in(&gmail, one), [Place::Trash]);
}

#[test]
fn out_of_the_trash_a_message_is_back() {
    for (to, want) in [
        (Place::Inbox, vec![Place::Inbox, Place::All]),
        (Place::All, vec![Place::All]),
        (work(), vec![Place::All, work()]),
        (Place::Spam, vec![Place::Spam]),
    ] {
        for verb in ["COPY", "MOVE"] {
            let (gmail, one) = one_letter(&[Place::Trash]);
            let mut imap = open(&gmail, &Place::Trash);
            imap.command(&format!("UID {verb} 1 \"{}\"", gmail.name(&to)));
            assert_eq!(found_in(&gmail, one), want, "{verb} {to:?}");
        }
    }
}

#[test]
fn targets_that_are_not_there_are_refused() {
    let (gmail, one) = one_letter(&[Place::Inbox]);
    let mut imap = open(&gmail, &Place::Inbox);
    converse(
        &mut imap,
        &[],
        &[
            (
                "UID COPY 1 nowhere",
                "NO [TRYCREATE] No folder nowhere (Failure)",
            ),
            (
                "UID MOVE 1 nowhere",
                "NO [TRYCREATE] No folder nowhere (Failure)",
            ),
            ("UID COPY 9 Work", "OK No matching messages (Success)"),
            (
                "UID STORE 1 +FLAGS (\\Nonsense)",
                "BAD Could not parse command",
            ),
        ],
    );
    assert_eq!(found_in(&gmail, one), [Place::Inbox, Place::All]);
}

#[test]
fn what_is_deleted_goes_at_once() {
    let (gmail, one) = one_letter(&[Place::Inbox, work()]);
    gmail.deliver(&[Place::Inbox], letter("two", "Stays"));
    let mut imap = open(&gmail, &Place::Inbox);
    converse(
        &mut imap,
        &[],
        &[
            (
                "UID STORE 1 +FLAGS (\\Deleted)",
                "* 1 EXPUNGE\n* 1 EXISTS\nOK Success",
            ),
            ("UID EXPUNGE 1", "OK Success"),
            (
                "UID FETCH 1:* FLAGS",
                "* 1 FETCH (UID 2 FLAGS ())\nOK Success",
            ),
        ],
    );
    assert_eq!(found_in(&gmail, one), [Place::All, work()]);
}

#[test]
fn with_auto_expunge_off_a_mailbox_keeps_what_it_marks() {
    let gmail = Gmail::builder()
        .labels(&["Work"])
        .deleting(Deleting::OnExpunge)
        .start();
    let one = gmail.deliver(&[Place::Inbox, work()], letter("one", "x"));
    let two = gmail.deliver(&[Place::Inbox], letter("two", "x"));
    let mut imap = open(&gmail, &Place::Inbox);
    converse(
        &mut imap,
        &[],
        &[
            (
                "UID STORE 1:2 +FLAGS (\\Deleted)",
                "* 1 FETCH (UID 1 FLAGS (\\Deleted))\n* 2 FETCH (UID 2 FLAGS (\\Deleted))\nOK Success",
            ),
            ("UID EXPUNGE 2", "* 2 EXPUNGE\n* 1 EXISTS\nOK Success"),
        ],
    );
    let mut other = open(&gmail, &work());
    converse(
        &mut other,
        &[],
        &[
            ("FETCH 1 FLAGS", "* 1 FETCH (FLAGS ())\nOK Success"),
            ("EXPUNGE", "OK Success"),
        ],
    );
    imap.command("CLOSE");
    assert_eq!(found_in(&gmail, one), [Place::All, work()]);
    assert_eq!(found_in(&gmail, two), [Place::All]);
}

#[test]
fn the_last_label_decides_what_becomes_of_it() {
    for (last, want) in [
        (LastLabel::Archive, vec![Place::All]),
        (LastLabel::Trash, vec![Place::Trash]),
        (LastLabel::DeleteForever, vec![]),
    ] {
        let gmail = Gmail::builder().last_label(last).start();
        let one = gmail.deliver(&[Place::Inbox], letter("one", "x"));
        open(&gmail, &Place::Inbox).command("UID STORE 1 +FLAGS.SILENT (\\Deleted)");
        assert_eq!(found_in(&gmail, one), want, "{last:?}");
    }
    for place in [Place::Trash, Place::Spam] {
        let (gmail, one) = one_letter(std::slice::from_ref(&place));
        open(&gmail, &place).command("UID STORE 1 +FLAGS (\\Deleted)");
        assert_eq!(gmail.messages(), [0; 0], "{one} is gone for good");
    }
}

#[test]
fn a_star_is_a_flag_and_a_mailbox() {
    let (gmail, one) = one_letter(&[Place::Inbox]);
    let mut imap = open(&gmail, &Place::Inbox);
    imap.command("UID STORE 1 +FLAGS (\\Flagged $Work)");
    assert_eq!(
        found_in(&gmail, one),
        [Place::Inbox, Place::All, Place::Starred]
    );
    let mut starred = open(&gmail, &Place::Starred);
    starred.command("UID STORE 1 +FLAGS (\\Deleted)");
    assert_eq!(
        imap.command("NOOP").text(),
        "* 1 FETCH (UID 1 FLAGS ($Work))\nOK Success",
        "to take it out of the mailbox is to take the star"
    );
}

#[test]
fn messages_are_appended_under_a_label() {
    let gmail = Gmail::builder().labels(&["Work"]).start();
    let mut imap = enter(&gmail);
    let delivery = Delivery::new(letter("one", "x"))
        .at(1_000_000_000)
        .flags(&[Flag::Seen]);
    let status = imap.append("Work", &delivery).status;
    let uidvalidity = gmail.uidvalidity(&work()).unwrap();
    assert_eq!(status, format!("OK [APPENDUID {uidvalidity} 1] (Success)"));
    let [one] = gmail.messages()[..] else {
        panic!("one message")
    };
    assert_eq!(found_in(&gmail, one), [Place::All, work()]);
    assert_eq!(gmail.arrived(one), Some(1_000_000_000));
    assert_eq!(gmail.raw(one).unwrap(), delivery.raw);
    let refused = imap.try_command("APPEND nowhere {2+}\r\nhi");
    assert_eq!(
        refused.status,
        "NO [TRYCREATE] Folder doesn't exist. (Failure)"
    );
    let draft = imap.append("[Gmail]/Drafts", &Delivery::new(letter("two", "x")));
    assert!(draft.status.contains("APPENDUID"));
    let two = gmail.messages()[1];
    assert!(gmail.flags(two).contains("\\Draft"));
}

#[test]
fn the_same_message_appended_again_is_the_first_one() {
    let (gmail, one) = one_letter(&[Place::Trash]);
    let mut imap = enter(&gmail);
    let again = Delivery::new(letter("one", "The budget")).at(1_000_000_000);
    for _ in 0..2 {
        let status = imap.append("Work", &again).status;
        assert!(status.ends_with(" 1] (Success)"), "{status}");
    }
    assert_eq!(gmail.messages(), [one]);
    assert_eq!(
        found_in(&gmail, one),
        [Place::All, work()],
        "and it left the trash"
    );
    assert_ne!(gmail.arrived(one), Some(1_000_000_000), "its date stays");
    imap.append("Work", &Delivery::new(letter("one", "Another text")));
    assert_eq!(gmail.messages().len(), 2);
    let kept = Gmail::builder().duplicates(Duplicates::Kept).start();
    let mut imap = enter(&kept);
    for _ in 0..2 {
        imap.append("INBOX", &again);
    }
    assert_eq!(kept.messages().len(), 2);
}

#[test]
fn sessions_hear_of_each_other() {
    let (gmail, one) = one_letter(&[Place::Inbox]);
    gmail.deliver(&[Place::Inbox], letter("two", "x"));
    let mut watcher = open(&gmail, &Place::Inbox);
    let mut worker = open(&gmail, &Place::Inbox);
    worker.command("UID MOVE 1 Work");
    gmail.deliver(&[Place::Inbox], letter("three", "x"));
    converse(
        &mut watcher,
        &[],
        &[
            // By number nothing may go; and what came is known from the next command on.
            (
                "FETCH 1:* (UID)",
                "* 2 FETCH (UID 2)\n* 3 EXISTS\nOK Success",
            ),
            (
                "UID FETCH 3 (FLAGS)",
                "* 3 FETCH (UID 3 FLAGS ())\n* 1 EXPUNGE\n* 2 EXISTS\nOK Success",
            ),
            ("NOOP", "OK Success"),
        ],
    );
    gmail.label(one, &Place::Inbox);
    assert_eq!(watcher.command("NOOP").lines(), ["* 3 EXISTS"]);
    assert_eq!(gmail.uid(&Place::Inbox, one), Some(4), "a new number");
}
