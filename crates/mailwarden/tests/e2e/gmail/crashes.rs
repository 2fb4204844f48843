//! What a fall or an earlier version left open: brought to its end by the next process, and never further.

use ledger::{Asked, Begun, Known, Ledger, Note, StepName, StepState, TransactionId};
use mail::{Landing, MessageRef, Uid, UidValidity};
use serde_json::{Value, json};
use testkit::Gmail;
use testkit::gmail::{Fault, Place};

use super::faults::settled;
use super::{Owner, id, seen, work};
use crate::changes::ask;
use crate::support::note;

/// Another process takes over.
fn reborn(mut owner: Owner, gmail: &Gmail) -> Owner {
    owner.client.kill();
    Owner::at(owner.home, gmail, &[])
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(future)
}

fn ledger(owner: &Owner) -> Ledger {
    Ledger::open(&owner.home.state().join("ledger.db")).unwrap()
}

/// What was asked for under this name.
fn begun(owner: &mut Owner, key: &str) -> Value {
    let asked = json!({ "idempotency_key": key });
    let answer = ask(&mut owner.client, "get_transaction_status", asked);
    answer.id()
}

#[test]
fn a_move_that_a_kill_cut_anywhere_is_brought_to_its_end_and_can_be_undone() {
    let inbox = vec![Place::Inbox, Place::All];
    let both = vec![Place::Inbox, Place::All, work()];
    for (to, before, nth, sign, after) in [
        ("Work", &inbox, 1, '+', vec![Place::All, work()]),
        ("Work", &inbox, 2, '-', vec![Place::All, work()]),
        ("Work", &both, 1, '+', vec![Place::All, work()]),
        ("Work", &both, 2, '-', vec![Place::All, work()]),
        ("[Gmail]/All Mail", &inbox, 1, '-', vec![Place::All]),
    ] {
        let what = format!("{before:?} to {to}, {nth}");
        let gmail = Gmail::builder().labels(&["Work"]).start();
        let one = gmail.deliver(before, note("one", "x"));
        let mut owner = Owner::of(&gmail);
        // Who is there is known by now.
        ask(&mut owner.client, "imap_list_mailboxes", json!({}));
        let at = id(&gmail, "INBOX", &Place::Inbox, one);
        let in_all = gmail.uid(&Place::All, one).unwrap();
        gmail.fail("UID STORE", nth, Fault::Stall);
        let asked =
            json!({ "message_id": at, "destination_mailbox": to, "idempotency_key": "one" });
        owner.client.send_call("imap_move_message", asked);
        gmail.await_command(&format!("UID STORE {in_all} {sign}X-GM-LABELS"));
        let mut owner = reborn(owner, &gmail);
        let transaction = begun(&mut owner, "one");
        assert_eq!(settled(&mut owner, &transaction), "done", "{what}");
        assert_eq!(seen(&gmail, one), after, "{what}");
        let asked = json!({ "transaction_id": transaction });
        let back = ask(&mut owner.client, "undo_transaction", asked);
        assert_eq!(back.words, "ok done", "{what}: {}", back.text);
        assert_eq!(&seen(&gmail, one), before, "{what}");
    }
}

#[test]
fn a_move_by_copy_that_an_earlier_version_began_takes_only_the_label_off() {
    let gmail = Gmail::builder().labels(&["Work"]).start();
    let (first, one) = (
        gmail.deliver(&[Place::Inbox], note("first", "x")),
        gmail.deliver(&[Place::Inbox, work()], note("one", "x")),
    );
    let mut owner = Owner::of(&gmail);
    let at = id(&gmail, "INBOX", &Place::Inbox, first);
    let asked = json!({ "message_id": at, "destination_mailbox": "Work" });
    let answer = ask(&mut owner.client, "imap_move_message", asked);
    assert_eq!(answer.words, "ok done", "{}", answer.text);
    owner.client.kill();
    let done = TransactionId::parse(answer.id().as_str().unwrap()).unwrap();
    let left = block_on(async {
        let ledger = ledger(&owner);
        let asked = ledger.get(&done).await.unwrap().unwrap().asked;
        let at = id(&gmail, "INBOX", &Place::Inbox, one);
        let asked = Asked {
            source: Some(MessageRef::parse(&at).unwrap()),
            ..asked
        };
        let known = Known {
            size: Some(u64::try_from(gmail.raw(one).unwrap().len()).unwrap()),
            landed: Some(Landing {
                uidvalidity: UidValidity(gmail.uidvalidity(&work()).unwrap()),
                uid: Uid(gmail.uid(&work(), one).unwrap()),
            }),
            ..Known::default()
        };
        let begun = ledger.begin(asked, Known::default(), StepName::Move, None);
        let Ok(Begun::New(left)) = begun.await else {
            panic!("it was not begun")
        };
        let why = Some("not_offered".to_owned());
        let notes = vec![
            Note::Step(StepName::Move, StepState::Refused, why),
            Note::Step(StepName::Copy, StepState::Intended, None),
            Note::Knows(known),
            Note::Step(StepName::Copy, StepState::Done, None),
            Note::Later(jiff::Timestamp::UNIX_EPOCH),
        ];
        ledger.write(&left, notes).await.unwrap();
        left.id().clone()
    });
    let mut owner = Owner::at(owner.home, &gmail, &[]);
    assert_eq!(settled(&mut owner, &json!(left.to_string())), "done");
    assert_eq!(seen(&gmail, one), [Place::All, work()]);
}
