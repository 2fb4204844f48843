//! What is written down of a transaction while it is under way, and how lists are made.

use bytes::Bytes;
use ledger::{
    Asked, Begun, Ending, Filter, Key, Kind, Known, Ledger, LedgerFault, Note, Place, State,
    StepName, StepState, Transaction, Unsettled,
};
use mail::{AccountId, FolderName, Landing, Uid, UidValidity};

use crate::support::{Ground, Time, asked, begin, place};

fn steps(transaction: &Transaction) -> Vec<(StepName, StepState, Option<&str>)> {
    let steps = transaction.steps.iter();
    steps
        .map(|step| (step.name, step.state, step.why.as_deref()))
        .collect()
}

pub(crate) async fn an_outcome_belongs_to_the_step_that_waits_for_it(ground: &Ground) {
    use StepName::{Copy, Move, Remove};
    use StepState::{Done, Intended, Refused, Unknown};
    let time = Time::default();
    let ledger = ground.open_at(&time).await;
    let lease = begin(&ledger, asked()).await;
    let began = time.now();
    let mut want = vec![(Move, Intended, None)];
    type Written = (StepName, StepState, Option<&'static str>);
    type Becomes = fn(&mut Vec<Written>);
    let table: [(Written, Becomes); 8] = [
        ((Move, Unknown, Some("cut")), |all| {
            all[0] = (Move, Unknown, Some("cut"))
        }),
        ((Move, Refused, Some("not_offered")), |all| {
            all[0] = (Move, Refused, Some("not_offered"))
        }),
        ((Copy, Intended, None), |all| {
            all.push((Copy, Intended, None))
        }),
        ((Copy, Refused, None), |all| all[1] = (Copy, Refused, None)),
        ((Copy, Intended, None), |all| {
            all.push((Copy, Intended, None))
        }),
        ((Remove, Intended, None), |all| {
            all.push((Remove, Intended, None))
        }),
        ((Copy, Done, None), |all| all[2] = (Copy, Done, None)),
        // Nothing of this name waits any more: it stands for itself.
        ((Copy, Done, Some("again")), |all| {
            all.push((Copy, Done, Some("again")))
        }),
    ];
    for ((name, state, why), expected) in table {
        time.pass(1);
        let note = Note::Step(name, state, why.map(str::to_owned));
        ledger.write(&lease, vec![note]).await.unwrap();
        expected(&mut want);
        let there = ledger.get(lease.id()).await.unwrap().unwrap();
        assert_eq!(steps(&there), want, "{name:?} {state:?}");
        assert!(there.steps.iter().any(|step| step.at == time.now()));
        assert_eq!(there.began, began);
    }
}

pub(crate) async fn what_fails_does_not_spoil_what_it_shares_a_commit_with(ground: &Ground) {
    let (ledger, other) = (ground.open().await, ground.open().await);
    let mine = begin(&ledger, asked()).await;
    let theirs = begin(&other, asked()).await;
    let nobodys = begin(&ledger, asked()).await;
    let over = Note::Ends(State::Done, Ending::default());
    ledger.write(&nobodys, vec![over]).await.unwrap();
    ledger.forget_before(jiff::Timestamp::MAX).await.unwrap();
    let note = || vec![Note::Step(StepName::Move, StepState::Done, None)];
    let (known, leased, begun, good) = tokio::join!(
        ledger.write(&nobodys, note()),
        ledger.write(&theirs, note()),
        ledger.begin(asked(), Known::default(), StepName::Move, None),
        ledger.write(&mine, note()),
    );
    assert_eq!(known, Err(LedgerFault::Unknown));
    assert_eq!(leased, Err(LedgerFault::Leased));
    assert_eq!(good, Ok(()));
    let Ok(Begun::New(lease)) = begun else {
        panic!("{begun:?}");
    };
    assert!(other.get(lease.id()).await.unwrap().is_some());
    let there = other.get(theirs.id()).await.unwrap().unwrap();
    assert_eq!(there.steps[0].state, StepState::Intended);
}

#[tokio::test]
async fn content_stays_until_it_is_over_and_then_stands_nowhere() {
    let canary = Bytes::from("a word that is nowhere else ".repeat(4_000));
    for (state, kept) in [
        (State::Done, false),
        (State::Undone, false),
        (State::NeedsOperator, true),
    ] {
        let place = place();
        let ledger = Ledger::open(&place.path).unwrap();
        let begun = ledger.begin(
            Asked {
                kind: Kind::Draft,
                ..asked()
            },
            Known::default(),
            StepName::Append,
            Some(canary.clone()),
        );
        let Begun::New(lease) = begun.await.unwrap() else {
            panic!("it has no key");
        };
        assert_eq!(ledger.content(lease.id()).await, Ok(Some(canary.clone())));
        let over = vec![Note::Ends(state, Ending::default())];
        ledger.write(&lease, over).await.unwrap();
        assert_eq!(
            ledger.content(lease.id()).await.unwrap().is_some(),
            kept,
            "{state:?}"
        );
        // Whoever is answered after the writer has made order: it works on one thing at a time.
        let _ = ledger.forget_before(jiff::Timestamp::MIN).await;
        let files = std::fs::read_dir(place.path.parent().unwrap()).unwrap();
        let found = files.map(|file| file.unwrap().path()).any(|path| {
            let bytes = std::fs::read(path).unwrap_or_default();
            bytes.windows(20).any(|part| *part == canary[..20])
        });
        assert_eq!(found, kept, "{state:?}");
    }
}

pub(crate) async fn what_is_being_undone_is_undone_once(ground: &Ground) {
    let ledger = ground.open().await;
    let lease = begin(&ledger, asked()).await;
    let over = |state| vec![Note::Ends(state, Ending::default())];
    ledger.write(&lease, over(State::Done)).await.unwrap();
    let undo = || Asked {
        undoes: Some(lease.id().clone()),
        ..asked()
    };
    let undone_by = async || ledger.get(lease.id()).await.unwrap().unwrap().undone_by;

    let first = begin(&ledger, undo()).await;
    assert_eq!(undone_by().await, Some(first.id().clone()));
    let again = ledger.begin(undo(), Known::default(), StepName::Move, None);
    assert!(matches!(again.await, Ok(Begun::Known(one)) if one.id == *first.id()));
    // It came to nothing: another may try.
    ledger.write(&first, over(State::Undone)).await.unwrap();
    assert_eq!(undone_by().await, None);
    let second = begin(&ledger, undo()).await;
    ledger.write(&second, over(State::Done)).await.unwrap();
    assert_eq!(undone_by().await, Some(second.id().clone()));
    assert_eq!(
        ledger.get(lease.id()).await.unwrap().unwrap().state,
        State::Done
    );
}

pub(crate) async fn lists_are_of_whom_and_what_was_asked_for_the_newest_first(ground: &Ground) {
    let time = Time::default();
    let ledger = ground.open_at(&time).await;
    let mut ids = Vec::new();
    for (caller, state) in [
        ("a", State::Done),
        ("b", State::Open),
        ("a", State::NeedsOperator),
        ("b", State::Undone),
        ("a", State::Open),
    ] {
        time.pass(1);
        let asked = Asked {
            caller: caller.to_owned(),
            ..asked()
        };
        let lease = begin(&ledger, asked).await;
        if state != State::Open {
            let over = vec![Note::Ends(state, Ending::default())];
            ledger.write(&lease, over).await.unwrap();
        }
        ids.push(lease.id().clone());
    }
    for (caller, states, limit, want) in [
        (None, vec![], 0, vec![4, 3, 2, 1, 0]),
        (None, vec![], 2, vec![4, 3]),
        (Some("a"), vec![], 0, vec![4, 2, 0]),
        (Some("a"), vec![State::Open, State::Done], 0, vec![4, 0]),
        (None, vec![State::Open], usize::MAX, vec![4, 1]),
        (Some("a' OR TRUE --"), vec![], 0, vec![]),
    ] {
        let filter = Filter {
            caller: caller.map(str::to_owned),
            states,
            limit,
        };
        let listed = ledger.list(filter.clone()).await.unwrap();
        let places: Vec<_> = listed
            .iter()
            .map(|one| ids.iter().position(|id| *id == one.id).unwrap())
            .collect();
        assert_eq!(places, want, "{filter:?}");
    }
}

pub(crate) async fn what_is_not_at_its_end_is_counted(ground: &Ground) {
    let time = Time::default();
    let ledger = ground.open_at(&time).await;
    assert_eq!(ledger.unsettled().await, Ok(Unsettled::default()));
    let over = |state| vec![Note::Ends(state, Ending::default())];
    for state in [State::Done, State::NeedsOperator, State::Undone] {
        let lease = begin(&ledger, asked()).await;
        ledger.write(&lease, over(state)).await.unwrap();
        time.pass(1);
    }
    let oldest = time.now();
    begin(&ledger, asked()).await;
    time.pass(1);
    begin(&ledger, asked()).await;
    let unsettled = Unsettled {
        open: 2,
        needs_operator: 1,
        oldest: Some(oldest),
    };
    assert_eq!(ledger.unsettled().await, Ok(unsettled));
}

pub(crate) async fn what_others_put_into_a_folder_is_known(ground: &Ground) {
    let ledger = ground.open().await;
    let folder = |account: &str, folder: &str| Place {
        account: AccountId::new(account).unwrap(),
        folder: FolderName::new(folder).unwrap(),
    };
    let mut ids = Vec::new();
    for (account, name, landed) in [
        ("work", "Archiv \"ü\"/2026", Some((7, 30))),
        ("work", "Archiv \"ü\"/2026", Some((7, 20))),
        ("work", "Archiv \"ü\"/2026", Some((8, 21))),
        ("work", "Archiv \"ü\"/2026", None),
        ("work", "Other", Some((7, 22))),
        ("home", "Archiv \"ü\"/2026", Some((7, 23))),
    ] {
        let asked = Asked {
            target: Some(folder(account, name)),
            ..asked()
        };
        let lease = begin(&ledger, asked).await;
        let known = Known {
            landed: landed.map(|(uidvalidity, uid)| Landing {
                uidvalidity: UidValidity(uidvalidity),
                uid: Uid(uid),
            }),
            ..Known::default()
        };
        ledger
            .write(&lease, vec![Note::Knows(known)])
            .await
            .unwrap();
        ids.push(lease.id().clone());
    }
    // One that was there twice: the second goes, and is nobody else's meanwhile, nor once it is gone.
    let place = folder("work", "Archiv \"ü\"/2026");
    let asked = Asked {
        target: Some(place.clone()),
        ..asked()
    };
    let twice = begin(&ledger, asked).await;
    let landing = |uid| Landing {
        uidvalidity: UidValidity(7),
        uid: Uid(uid),
    };
    let known = Known {
        landed: Some(landing(25)),
        ..Known::default()
    };
    let why = ledger::going(landing(26));
    for state in [StepState::Intended, StepState::Done] {
        let thins = Note::Step(StepName::Thin, state, Some(why.clone()));
        let notes = vec![Note::Knows(known.clone()), thins];
        ledger.write(&twice, notes).await.unwrap();
        let uids = ledger.landed(&place, UidValidity(7), &ids[3]).await;
        assert_eq!(uids, Ok([20, 25, 26, 30].map(Uid).to_vec()), "{state:?}");
    }
    for (validity, but, want) in [
        (7, twice.id(), vec![20, 30]),
        (7, &ids[0], vec![20, 25, 26]),
        (8, &ids[0], vec![21]),
        (9, &ids[0], vec![]),
    ] {
        let uids = ledger.landed(&place, UidValidity(validity), but).await;
        let want = want.into_iter().map(Uid).collect();
        assert_eq!(uids, Ok(want), "{validity} {but}");
    }
}

pub(crate) async fn a_key_that_is_given_back_can_be_taken_by_another_request(ground: &Ground) {
    let time = Time::default();
    let ledger = ground.open_at(&time).await;
    let keyed = |arguments: u8| Asked {
        key: Some(Key {
            name: "k".to_owned(),
            arguments: [arguments; 32],
        }),
        ..asked()
    };
    let first = begin(&ledger, keyed(1)).await;
    let begun = ledger
        .begin(keyed(2), Known::default(), StepName::Move, None)
        .await;
    assert_eq!(begun, Ok(Begun::Conflict));
    let over = Note::Ends(State::Undone, Ending::default());
    ledger
        .write(&first, vec![Note::FreesKey, over])
        .await
        .unwrap();
    let there = ledger.get(first.id()).await.unwrap().unwrap();
    assert_eq!((there.state, there.asked.key), (State::Undone, None));
    let caller = asked().caller;
    assert_eq!(ledger.by_key(&caller, "k").await, Ok(None));
    let second = begin(&ledger, keyed(2)).await;
    let found = ledger.by_key(&caller, "k").await.unwrap().unwrap();
    assert_eq!(found.id, *second.id());
}
