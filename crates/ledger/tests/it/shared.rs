//! Keys, records and locks: the same for all who share a ledger.

use ledger::LedgerFault;

use crate::support::{Ground, Time, place};

pub(crate) async fn a_key_is_made_once_and_is_the_same_for_all(ground: &Ground) {
    let (one, other) = (ground.open().await, ground.open().await);
    let (first, second) = tokio::join!(one.shared_key("cursors"), other.shared_key("cursors"));
    let first = first.unwrap();
    assert_eq!(second, Ok(first));
    assert_ne!(one.shared_key("other").await, Ok(first));
    drop((one, other));
    assert_eq!(ground.open().await.shared_key("cursors").await, Ok(first));
}

pub(crate) async fn a_record_is_replaced_wholly_and_its_stamp_tells(ground: &Ground) {
    let (one, other) = (ground.open().await, ground.open().await);
    assert_eq!(one.record("a").await, Ok(None));
    let mut stamps = Vec::new();
    let lock = one.try_lock("a").await.unwrap().unwrap();
    for octets in [vec![0u8, 1, 255], Vec::new(), vec![7; 60_000]] {
        let stamp = one.replace_record(&lock, octets.clone()).await.unwrap();
        let found = other.record("a").await.unwrap().unwrap();
        assert_eq!((found.octets, found.stamp), (octets, stamp));
        assert!(!stamps.contains(&stamp));
        stamps.push(stamp);
    }
    assert_eq!(other.record("b").await, Ok(None));
}

pub(crate) async fn who_has_lost_the_lock_replaces_nothing(ground: &Ground) {
    let (one, other) = (ground.open().await, ground.open().await);
    let lost = one.try_lock("a").await.unwrap().unwrap();
    one.replace_record(&lost, vec![1]).await.unwrap();
    drop(one);
    let again = ground.open().await;
    let held = other.try_lock("a").await.unwrap().unwrap();
    let late = again.replace_record(&lost, vec![2]).await;
    assert_eq!(late, Err(LedgerFault::LockLost));
    assert_eq!(again.record("a").await.unwrap().unwrap().octets, [1]);
    other.replace_record(&held, vec![3]).await.unwrap();
    assert_eq!(again.record("a").await.unwrap().unwrap().octets, [3]);
}

pub(crate) async fn one_has_a_lock_until_it_drops_it(ground: &Ground) {
    let (one, other) = (ground.open().await, ground.open().await);
    let held = one.try_lock("a").await.unwrap().unwrap();
    assert!(other.try_lock("a").await.unwrap().is_none());
    assert!(
        one.try_lock("a").await.unwrap().is_none(),
        "once, also within a process"
    );
    assert!(other.try_lock("b").await.unwrap().is_some());
    drop(held);
    // Nobody waits for its giving back; it comes.
    let again = loop {
        if let Some(lock) = other.try_lock("a").await.unwrap() {
            break lock;
        }
    };
    // Who ends has nothing any more, whatever it did not give back.
    std::mem::forget(again);
    drop(other);
    assert!(one.try_lock("a").await.unwrap().is_some());
}

#[tokio::test]
async fn an_owner_that_cannot_be_asked_keeps_its_lock_until_it_runs_out() {
    let (place, time) = (place(), Time::default());
    let (one, other) = (time.open(&place.path), time.open(&place.path));
    let _held = one.try_lock("a").await.unwrap().unwrap();
    std::fs::remove_file(&place.owners()[0]).unwrap();
    time.pass(120);
    assert!(other.try_lock("a").await.unwrap().is_none());
    time.pass(1);
    assert!(other.try_lock("a").await.unwrap().is_some());
}
