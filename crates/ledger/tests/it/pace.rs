//! What is drawn from buckets that several processes share.

use std::time::Duration;

use ledger::{Draw, Drawn, Ledger, Level};

use crate::support::{Ground, Time, place};

fn of(bucket: &str, cost: u64) -> Draw {
    Draw {
        bucket: bucket.to_owned(),
        capacity: 10,
        per_second: 2.0,
        cost,
    }
}

/// One that does not fill while a test runs.
fn never(draw: Draw) -> Draw {
    Draw {
        per_second: 0.0,
        ..draw
    }
}

fn remaining(levels: &[Level]) -> Vec<u64> {
    levels.iter().map(|level| level.remaining).collect()
}

#[tokio::test]
async fn a_bucket_is_one_for_all_who_share_the_ledger() {
    let (place, time) = (place(), Time::default());
    let (one, other) = (time.open(&place.path), time.open(&place.path));
    let Drawn::Granted(levels) = one.draw(vec![of("a", 7), of("b", 1)]).await.unwrap() else {
        panic!("they are full");
    };
    assert_eq!(remaining(&levels), [3, 9]);
    assert_eq!(levels[0].full_in, Duration::from_millis(3500));
    let short = other.draw(vec![of("b", 1), of("a", 5)]).await.unwrap();
    let Drawn::Short {
        which,
        retry_after,
        levels,
    } = short
    else {
        panic!("{short:?}");
    };
    assert_eq!((which, retry_after), (1, Duration::from_secs(1)));
    assert_eq!(remaining(&levels), [9, 3], "nothing is drawn");

    time.pass(1);
    assert!(matches!(
        other.draw(vec![of("a", 5)]).await.unwrap(),
        Drawn::Granted(_)
    ));
    assert_eq!(remaining(&one.charge(vec![of("a", 6)]).await.unwrap()), [0]);
    let Drawn::Short { retry_after, .. } = one.draw(vec![of("a", 1)]).await.unwrap() else {
        panic!("it owes");
    };
    assert_eq!(retry_after, Duration::from_millis(3500));
    drop((one, other));
    // What was owed is owed after a restart.
    time.pass(3);
    let again = time.open(&place.path);
    assert!(matches!(
        again.draw(vec![of("a", 1)]).await.unwrap(),
        Drawn::Short { .. }
    ));
    time.pass(-60);
    assert!(matches!(
        again.draw(vec![of("a", 1)]).await.unwrap(),
        Drawn::Short { .. }
    ));
    time.pass(4);
    assert!(matches!(
        again.draw(vec![of("a", 1)]).await.unwrap(),
        Drawn::Granted(_)
    ));
}

pub(crate) async fn one_draws_from_all_or_none_and_may_come_to_owe(ground: &Ground) {
    let (one, other) = (ground.open().await, ground.open().await);
    let draw = |bucket, cost| never(of(bucket, cost));
    let Drawn::Granted(levels) = one.draw(vec![draw("a", 7), draw("b\0", 1)]).await.unwrap() else {
        panic!("they are full");
    };
    assert_eq!(remaining(&levels), [3, 9]);
    let short = other
        .draw(vec![draw("b\0", 1), draw("a", 2), draw("a", 2)])
        .await;
    let Ok(Drawn::Short {
        which,
        retry_after,
        levels,
    }) = short
    else {
        panic!("{short:?}");
    };
    assert_eq!((which, remaining(&levels)), (2, vec![9, 3, 3]));
    assert!(
        retry_after >= Duration::from_secs(24 * 3600),
        "it never fills"
    );
    assert_eq!(
        remaining(
            &other
                .charge(vec![draw("a", 30), draw("c", 0)])
                .await
                .unwrap()
        ),
        [0, 10]
    );
    // It owes 27: 28 are missing, and one comes in two seconds.
    let fast = Draw {
        per_second: 0.5,
        ..draw("a", 1)
    };
    let Ok(Drawn::Short { retry_after, .. }) = one.draw(vec![fast]).await else {
        panic!("it owes");
    };
    let (least, most) = (Duration::from_secs(46), Duration::from_secs(56));
    assert!(
        least < retry_after && retry_after <= most,
        "{retry_after:?}"
    );
    let flood = Draw {
        per_second: 1e12,
        ..draw("a", 10)
    };
    assert!(
        matches!(one.draw(vec![flood]).await, Ok(Drawn::Granted(_))),
        "it has filled"
    );
    assert_eq!(one.draw(Vec::new()).await, Ok(Drawn::Granted(Vec::new())));
}

pub(crate) async fn of_many_at_once_no_more_are_granted_than_there_is(ground: &Ground) {
    let handles = [ground.open().await, ground.open().await];
    let granted = {
        let tasks: Vec<_> = (0..40)
            .map(|task| {
                let ledger = handles[task % 2].clone();
                // The buckets in either order.
                let mut draws = vec![never(of("a", 1)), never(of("b", 0))];
                draws.rotate_left(task / 2 % 2);
                tokio::spawn(async move { ledger.draw(draws).await.unwrap() })
            })
            .collect();
        let mut granted = 0;
        for task in tasks {
            granted += u64::from(matches!(task.await.unwrap(), Drawn::Granted(_)));
        }
        granted
    };
    assert_eq!(granted, 10);
}

#[tokio::test]
async fn a_damaged_or_removed_file_of_buckets_is_made_anew() {
    let place = place();
    let ledger = Ledger::open(&place.path).unwrap();
    let file = place.path.with_file_name("ledger.db.pace");
    assert!(!file.exists(), "nobody has drawn");
    let drawn = async |ledger: &Ledger| {
        matches!(ledger.draw(vec![of("a", 10)]).await, Ok(Drawn::Granted(_)))
    };
    assert!(drawn(&ledger).await);
    assert!(!drawn(&ledger).await);
    std::fs::remove_file(&file).unwrap();
    assert!(drawn(&ledger).await);
    drop(ledger);
    std::fs::write(&file, b"dear diary, ".repeat(1000)).unwrap();
    let ledger = Ledger::open(&place.path).unwrap();
    assert!(drawn(&ledger).await);
    assert!(!drawn(&ledger).await);
}
