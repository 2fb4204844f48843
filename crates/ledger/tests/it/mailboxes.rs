//! Transactions are about mailboxes: who serves others has no business with them, and what lies there is one's alone.

use jiff::Timestamp;
use ledger::{Asked, Begun, Ending, Kind, Known, LedgerFault, Note, Place, State, StepName};
use mail::{AccountId, FolderName, Landing, MessageRef, Uid, UidValidity};

use crate::support::{Ground, asked, begin};

fn to(home: &str) -> Asked {
    Asked {
        kind: Kind::Copy,
        target: Some(Place {
            account: AccountId::new("default").unwrap(),
            folder: FolderName::new("Archive").unwrap(),
        }),
        target_home: Some(home.to_owned()),
        ..asked()
    }
}

fn landed(uid: u32) -> Vec<Note> {
    let landing = Landing {
        uidvalidity: UidValidity(7),
        uid: Uid(uid),
    };
    vec![Note::Knows(Known {
        landed: Some(landing),
        ..Known::default()
    })]
}

pub(crate) async fn what_is_in_another_mailbox_is_not_due_here(ground: &Ground) {
    let (begins, works) = (ground.open().await, ground.open().await);
    let then = Timestamp::from_second(1_900_000_000).unwrap();
    for home in ["mine", "another"] {
        let lease = begin(&begins, to(home)).await;
        begins.write(&lease, vec![Note::Later(then)]).await.unwrap();
    }
    for (served, want) in [
        (vec![], 0),
        (vec!["unknown".to_owned()], 0),
        (vec!["mine".to_owned()], 1),
    ] {
        works.serve(&served);
        let due = works.next_due().await.unwrap();
        assert_eq!(due.is_some(), want > 0, "{served:?}");
        let claimed = works.claim_due(then, 10).await.unwrap();
        assert_eq!(claimed.len(), want, "{served:?}");
        for one in claimed {
            assert_eq!(one.transaction.asked.target_home.as_deref(), Some("mine"));
        }
    }
}

pub(crate) async fn nothing_is_anybodys_twice(ground: &Ground) {
    let ledger = ground.open().await;
    let (one, other) = (begin(&ledger, to("a")).await, begin(&ledger, to("a")).await);
    assert_eq!(ledger.write(&one, landed(3)).await, Ok(()));
    assert_eq!(ledger.write(&one, landed(3)).await, Ok(()), "its own");
    assert_eq!(
        ledger.write(&other, landed(3)).await,
        Err(LedgerFault::Taken)
    );
    assert_eq!(ledger.write(&other, landed(4)).await, Ok(()));
    let elsewhere = begin(&ledger, to("b")).await;
    assert_eq!(ledger.write(&elsewhere, landed(3)).await, Ok(()));
    // What was refused has left nothing behind.
    let kept = ledger.get(other.id()).await.unwrap().unwrap();
    assert_eq!(kept.known.landed.unwrap().uid, Uid(4));
}

/// A message that is archived, fetched back and archived again has the same number in All Mail.
pub(crate) async fn what_its_store_has_a_name_for_may_come_to_lie_where_it_lay(ground: &Ground) {
    let ledger = ground.open().await;
    let named = |uid| {
        let mut notes = landed(uid);
        for note in &mut notes {
            if let Note::Knows(known) = note {
                known.store_id = Some(u64::MAX);
            }
        }
        notes
    };
    let (one, other) = (begin(&ledger, to("a")).await, begin(&ledger, to("a")).await);
    assert_eq!(ledger.write(&one, named(3)).await, Ok(()));
    assert_eq!(ledger.write(&other, named(3)).await, Ok(()));
    let kept = ledger.get(other.id()).await.unwrap().unwrap();
    assert_eq!(kept.known.store_id, Some(u64::MAX));
}

pub(crate) async fn one_change_at_a_time_takes_a_message_away(ground: &Ground) {
    let ledger = ground.open().await;
    let taking = |kind, uid: u32, home: &str| Asked {
        kind,
        source: Some(MessageRef::parse(&format!("imap:default:INBOX:7:{uid}")).unwrap()),
        source_home: Some(home.to_owned()),
        ..asked()
    };
    let first = begin(&ledger, taking(Kind::Move, 1, "a")).await;
    for (asked, free) in [
        (taking(Kind::Move, 1, "a"), false),
        (taking(Kind::Delete, 1, "a"), false),
        (taking(Kind::Copy, 1, "a"), true),
        (taking(Kind::Flags, 1, "a"), true),
        (taking(Kind::Move, 2, "a"), true),
        (taking(Kind::Move, 1, "b"), true),
    ] {
        let begun = ledger
            .begin(asked.clone(), Known::default(), StepName::Move, None)
            .await
            .unwrap();
        assert_eq!(begun != Begun::Leaving, free, "{asked:?}");
    }
    let ends = Note::Ends(State::Undone, Ending::default());
    ledger.write(&first, vec![ends]).await.unwrap();
    begin(&ledger, taking(Kind::Delete, 1, "a")).await;
}
