//! A request that is made twice is done once.

use ledger::{Asked, Begun, Ending, Known, Ledger, Note, State, StepName};

use crate::support::{Ground, Time, asked, begin, with_key};

async fn again(ledger: &Ledger, asked: Asked) -> Begun {
    let begun = ledger.begin(asked, Known::default(), StepName::Move, None);
    begun.await.unwrap()
}

pub(crate) async fn the_same_key_is_the_same_request_or_a_conflict(ground: &Ground) {
    let ledger = ground.open().await;
    let first = begin(&ledger, with_key("k", 1)).await;
    let of_another = Asked {
        caller: "other".to_owned(),
        ..with_key("k", 1)
    };
    assert!(
        matches!(again(&ledger, with_key("k", 1)).await, Begun::Known(one) if one.id == *first.id())
    );
    assert_eq!(again(&ledger, with_key("k", 2)).await, Begun::Conflict);
    for new in [
        with_key("K", 1),
        with_key("", 1),
        of_another,
        asked(),
        asked(),
    ] {
        assert!(
            matches!(again(&ledger, new.clone()).await, Begun::New(_)),
            "{new:?}"
        );
    }

    let ending = Ending {
        code: Some("no_such_folder".to_owned()),
        words: None,
    };
    let over = vec![Note::Ends(State::Undone, ending.clone())];
    ledger.write(&first, over).await.unwrap();
    drop(ledger);
    let ledger = ground.open().await;
    let Begun::Known(known) = again(&ledger, with_key("k", 1)).await else {
        panic!("a restart forgets nothing");
    };
    assert_eq!((known.state, known.ending), (State::Undone, Some(ending)));
    let found = ledger.by_key("agent", "k").await.unwrap().unwrap();
    assert_eq!(found.id, *first.id());
    for (caller, key) in [("agent", "x"), ("nobody", "k"), ("agent", "")] {
        let found = ledger.by_key(caller, key).await.unwrap();
        assert_eq!(found.is_some(), key.is_empty(), "{caller} {key}");
    }
}

pub(crate) async fn of_many_equal_requests_at_once_one_is_new(ground: &Ground) {
    let handles = [ground.open().await, ground.open().await];
    for round in 0..20 {
        let key = with_key(&format!("k{round}"), 1);
        let tasks: Vec<_> = (0..8)
            .map(|task| {
                let (ledger, key) = (handles[task % 2].clone(), key.clone());
                tokio::spawn(async move { again(&ledger, key).await })
            })
            .collect();
        let mut new = Vec::new();
        let mut known = Vec::new();
        for task in tasks {
            match task.await.unwrap() {
                Begun::New(lease) => new.push(lease),
                Begun::Known(one) => known.push(one.id),
                other => panic!("they are equal: {other:?}"),
            }
        }
        assert_eq!(new.len(), 1);
        assert!(known.iter().all(|id| id == new[0].id()));
    }
}

pub(crate) async fn what_is_forgotten_can_be_asked_for_again(ground: &Ground) {
    let time = Time::default();
    let ledger = ground.open_at(&time).await;
    let over = |state| vec![Note::Ends(state, Ending::default())];
    let done = begin(&ledger, with_key("done", 1)).await;
    let open = begin(&ledger, with_key("open", 1)).await;
    let waiting = begin(&ledger, with_key("waiting", 1)).await;
    ledger.write(&done, over(State::Done)).await.unwrap();
    let to_decide = over(State::NeedsOperator);
    ledger.write(&waiting, to_decide).await.unwrap();
    assert_eq!(ledger.forget_before(time.now()).await, Ok(0));
    time.pass(1);
    let young = begin(&ledger, with_key("young", 1)).await;
    ledger.write(&young, over(State::Undone)).await.unwrap();

    assert_eq!(ledger.forget_before(time.now()).await, Ok(1));
    for (lease, there) in [
        (&done, false),
        (&open, true),
        (&waiting, true),
        (&young, true),
    ] {
        let id = lease.id();
        assert_eq!(ledger.get(id).await.unwrap().is_some(), there, "{id}");
    }
    assert!(matches!(
        again(&ledger, with_key("done", 2)).await,
        Begun::New(_)
    ));
    ground.is_sound();
}
