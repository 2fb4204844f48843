//! Never two at once work on a transaction; nothing waits for the dead.

use jiff::Timestamp;
use ledger::{Ending, Lease, Ledger, LedgerFault, Note, State, StepName, StepState, TransactionId};

use crate::support::{Ground, Other, Time, asked, begin, place, say, started_for};

async fn leased(ledger: &Ledger) -> Vec<Lease> {
    let claimed = ledger.claim_due(Timestamp::MAX, 100).await.unwrap();
    claimed.into_iter().map(|one| one.lease).collect()
}

async fn due(ledger: &Ledger) -> Vec<TransactionId> {
    let leased = leased(ledger).await;
    leased.iter().map(|lease| lease.id().clone()).collect()
}

fn step() -> Vec<Note> {
    vec![Note::Step(StepName::Move, StepState::Done, None)]
}

pub(crate) async fn who_has_the_lease_writes_and_nobody_else(ground: &Ground) {
    let (one, other) = (ground.open().await, ground.open().await);
    let lease = begin(&one, asked()).await;
    assert_eq!(one.write(&lease, step()).await, Ok(()));
    assert_eq!(other.write(&lease, step()).await, Err(LedgerFault::Leased));
    assert_eq!(other.claim(lease.id()).await, Err(LedgerFault::Leased));
    assert_eq!(
        one.claim(lease.id()).await,
        Err(LedgerFault::Leased),
        "it is at work already"
    );
    assert!(due(&other).await.is_empty());
    assert!(due(&one).await.is_empty());

    // It is given back with a time, and goes to whoever asks first when that has come.
    let then = Timestamp::from_second(1_900_000_000).unwrap();
    one.write(&lease, vec![Note::Later(then)]).await.unwrap();
    assert_eq!(one.write(&lease, step()).await, Err(LedgerFault::Leased));
    assert_eq!(other.next_due().await, Ok(Some(then)));
    let before = Timestamp::from_second(1_899_999_999).unwrap();
    assert_eq!(other.claim_due(before, 100).await, Ok(Vec::new()));
    let claimed = other.claim_due(then, 100).await.unwrap();
    assert_eq!(
        (&claimed[0].transaction.id, claimed[0].transaction.attempts),
        (lease.id(), 1)
    );
    assert_eq!(one.write(&lease, step()).await, Err(LedgerFault::Leased));
    assert_eq!(other.next_due().await, Ok(None), "its own work is not due");

    let over = vec![Note::Ends(State::Done, Ending::default())];
    let theirs = &claimed[0].lease;
    other.write(theirs, over).await.unwrap();
    assert_eq!(other.write(theirs, step()).await, Err(LedgerFault::Leased));
    assert!(due(&one).await.is_empty());

    let nobody = TransactionId::parse("tx_00000000000000000000000000").unwrap();
    assert_eq!(one.claim(&nobody).await, Err(LedgerFault::Unknown));
    one.forget_before(Timestamp::MAX).await.unwrap();
    assert_eq!(other.write(theirs, step()).await, Err(LedgerFault::Unknown));
}

/// A task that was cut off comes back while another of its process has claimed the same anew.
pub(crate) async fn a_claim_that_is_over_writes_nothing_and_gives_nothing_back(ground: &Ground) {
    let (one, other) = (ground.open().await, ground.open().await);
    let first = begin(&one, asked()).await;
    one.release(&first);
    let mut stale = vec![first];
    for _ in 0..3 {
        let [lease] = leased(&one).await.try_into().unwrap();
        for old in &stale {
            assert_eq!(one.write(old, step()).await, Err(LedgerFault::Leased));
            one.release(old);
        }
        // Who is answered after these comes after the releases.
        one.next_due().await.unwrap();
        one.forget_before(Timestamp::MIN).await.unwrap();
        assert_eq!(one.claim(lease.id()).await, Err(LedgerFault::Leased));
        assert!(due(&other).await.is_empty());
        assert_eq!(one.write(&lease, step()).await, Ok(()));
        let later = vec![Note::Later(Timestamp::UNIX_EPOCH)];
        assert_eq!(one.write(&lease, later).await, Ok(()));
        stale.push(lease);
    }
    let there = one.get(stale[0].id()).await.unwrap().unwrap();
    assert_eq!(there.steps.len(), 3, "{there:?}");
}

pub(crate) async fn what_waits_for_a_person_can_be_opened_again_and_what_is_over_cannot(
    ground: &Ground,
) {
    let ledger = ground.open().await;
    let lease = begin(&ledger, asked()).await;
    let ending = Ending {
        code: Some("target_gone".to_owned()),
        words: Some("a person must decide".to_owned()),
    };
    let waits = vec![Note::Ends(State::NeedsOperator, ending.clone())];
    ledger.write(&lease, waits).await.unwrap();
    let there = ledger.get(lease.id()).await.unwrap().unwrap();
    assert_eq!(
        (there.state, there.ending),
        (State::NeedsOperator, Some(ending))
    );
    assert!(due(&ledger).await.is_empty());

    assert_eq!(ledger.claim(lease.id()).await, Err(LedgerFault::Over));
    let claimed = ledger.reopen(lease.id()).await.unwrap();
    let open = claimed.transaction;
    assert_eq!(
        (open.state, &open.ending, open.attempts),
        (State::Open, &None, 1)
    );
    assert_eq!(ledger.get(lease.id()).await.unwrap(), Some(open));
    assert_eq!(ledger.write(&claimed.lease, step()).await, Ok(()));
    for state in [State::Done, State::Undone] {
        let lease = begin(&ledger, asked()).await;
        let over = vec![Note::Ends(state, Ending::default())];
        ledger.write(&lease, over).await.unwrap();
        assert_eq!(ledger.claim(lease.id()).await, Err(LedgerFault::Over));
        assert_eq!(ledger.reopen(lease.id()).await, Err(LedgerFault::Over));
        assert_eq!(
            ledger.take_to_decide(lease.id()).await,
            Err(LedgerFault::Over)
        );
    }
}

pub(crate) async fn a_person_decides_only_what_is_left_to_one(ground: &Ground) {
    let ledger = ground.open().await;
    let lease = begin(&ledger, asked()).await;
    assert_eq!(
        ledger.take_to_decide(lease.id()).await,
        Err(LedgerFault::Leased)
    );
    let later = Note::Later(jiff::Timestamp::MAX);
    ledger.write(&lease, vec![later]).await.unwrap();
    let before = ledger.get(lease.id()).await.unwrap();
    assert_eq!(
        ledger.take_to_decide(lease.id()).await,
        Err(LedgerFault::UnderWay)
    );
    assert_eq!(ledger.get(lease.id()).await.unwrap(), before);

    let lease = ledger.claim(lease.id()).await.unwrap().lease;
    let waits = Note::Ends(State::NeedsOperator, Ending::default());
    ledger.write(&lease, vec![waits]).await.unwrap();
    let decided = ledger.take_to_decide(lease.id()).await.unwrap();
    assert_eq!(decided.transaction.id, *lease.id());
}

#[tokio::test]
async fn a_lease_that_is_given_up_is_due_at_once() {
    let place = place();
    let ledger = Ledger::open(&place.path).unwrap();
    let lease = begin(&ledger, asked()).await;
    let id = lease.id().clone();
    ledger.release(&lease);
    let mut held = leased(&ledger).await;
    // Whoever stops waiting for a lease does not keep it, whether it had come or not.
    for _ in 0..20 {
        held.iter().for_each(|lease| ledger.release(lease));
        let mut unwanted = Box::pin(ledger.claim(&id));
        let once = std::future::poll_fn(|cx| std::task::Poll::Ready(unwanted.as_mut().poll(cx)));
        let _ = once.await;
        drop(unwanted);
        // One that is written later waits until the other is answered.
        ledger.forget_before(Timestamp::MIN).await.unwrap();
        held = leased(&ledger).await;
        assert_eq!(held.iter().map(Lease::id).collect::<Vec<_>>(), [&id]);
    }
}

#[tokio::test]
async fn an_orderly_end_leaves_nothing_behind() {
    let place = place();
    let (one, other) = (
        Ledger::open(&place.path).unwrap(),
        Ledger::open(&place.path).unwrap(),
    );
    assert!(
        place.owners().is_empty(),
        "who has written nothing is nobody"
    );
    let lease = begin(&one, asked()).await;
    assert_eq!(place.owners().len(), 1);
    drop(one);
    assert!(place.owners().is_empty());
    assert_eq!(due(&other).await, [lease.id().clone()]);
}

#[tokio::test]
async fn an_owner_that_cannot_be_asked_keeps_its_lease_until_it_runs_out() {
    let (place, time) = (place(), Time::default());
    let one = time.open(&place.path);
    let lease = begin(&one, asked()).await;
    std::fs::remove_file(&place.owners()[0]).unwrap();
    let other = time.open(&place.path);
    time.pass(120);
    assert!(due(&other).await.is_empty());
    time.pass(1);
    assert_eq!(due(&other).await, std::slice::from_ref(lease.id()));
    assert_eq!(one.write(&lease, step()).await, Err(LedgerFault::Leased));
}

pub(crate) async fn who_lives_keeps_its_lease_however_long_it_slept(ground: &Ground) {
    let time = Time::default();
    let (one, other) = (ground.open_at(&time).await, ground.open_at(&time).await);
    let lease = begin(&one, asked()).await;
    time.pass(1_000_000);
    assert!(due(&other).await.is_empty());
    let again = other.next_due().await.unwrap().unwrap();
    assert!(
        again > time.now(),
        "nobody looks without a pause at what others do"
    );
    assert_eq!(one.write(&lease, step()).await, Ok(()));
}

pub(crate) async fn of_many_who_claim_one_gets_it(ground: &Ground) {
    let handles = [
        ground.open().await,
        ground.open().await,
        ground.open().await,
        ground.open().await,
    ];
    let mut ids = Vec::new();
    for _ in 0..40 {
        let lease = begin(&handles[0], asked()).await;
        handles[0].release(&lease);
        ids.push(lease.id().clone());
    }
    // What was released is free when its replica is next asked for what is due.
    handles[0].next_due().await.unwrap();
    handles[0].forget_before(Timestamp::MIN).await.unwrap();
    let claims: Vec<_> = (0..32)
        .map(|task| {
            let ledger = handles[task % 4].clone();
            tokio::spawn(async move { ledger.claim_due(Timestamp::MAX, 3).await.unwrap() })
        })
        .collect();
    let mut claimed = Vec::new();
    for claim in claims {
        claimed.extend(
            claim
                .await
                .unwrap()
                .into_iter()
                .map(|one| one.transaction.id),
        );
    }
    claimed.sort();
    ids.sort();
    assert_eq!(claimed, ids, "each once");
}

/// As another process: begins two, and works on them until it is killed.
#[tokio::test]
async fn the_work_of_a_killed_process_goes_to_the_next_at_once() {
    if let Some(path) = started_for() {
        let ledger = Ledger::open(&path).unwrap();
        say(begin(&ledger, asked()).await.id());
        say(begin(&ledger, asked()).await.id());
        std::future::pending::<()>().await;
    }
    let place = place();
    let name = "leases::the_work_of_a_killed_process_goes_to_the_next_at_once";
    let mut other = Other::start(name, &place.path);
    let ids = [other.began().unwrap(), other.began().unwrap()];
    let ledger = Ledger::open(&place.path).unwrap();
    assert!(due(&ledger).await.is_empty(), "it lives");
    assert_eq!(ledger.claim(&ids[0]).await, Err(LedgerFault::Leased));

    other.child.kill().unwrap();
    other.child.wait().unwrap();
    let past = ledger.next_due().await.unwrap().unwrap();
    assert!(past <= Timestamp::now());
    assert_eq!(ledger.claim(&ids[0]).await.unwrap().lease.id(), &ids[0]);
    assert_eq!(due(&ledger).await, &ids[1..]);
    drop(ledger);
    let ledger = Ledger::open(&place.path).unwrap();
    begin(&ledger, asked()).await;
    assert_eq!(place.owners().len(), 1, "nothing is left of the dead");
}
