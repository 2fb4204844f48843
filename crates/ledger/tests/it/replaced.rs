//! A file that is taken away, or another in its place, is noticed before anything is said to be written.
#![cfg(unix)]

use std::fs;

use ledger::{Filter, Known, Ledger, LedgerFault, Note, StepName, StepState};

use crate::support::{asked, begin, place};

fn is_unwritable(fault: &LedgerFault) {
    let told = matches!(fault, LedgerFault::Unwritable(why) if why.contains("removed or replaced"));
    assert!(told, "{fault}");
}

#[tokio::test]
async fn nothing_is_written_to_a_file_that_nobody_will_find() {
    for replaced in [false, true] {
        let place = place();
        let aside = place.path.with_file_name("aside.db");
        let other = place.path.with_file_name("other/ledger.db");
        drop(Ledger::open(&other).unwrap());
        let ledger = Ledger::open(&place.path).unwrap();
        let lease = begin(&ledger, asked()).await;
        fs::rename(&place.path, &aside).unwrap();
        if replaced {
            fs::rename(&other, &place.path).unwrap();
        }
        let step = || vec![Note::Step(StepName::Move, StepState::Done, None)];
        for _ in 0..2 {
            let begun = ledger.begin(asked(), Known::default(), StepName::Move, None);
            is_unwritable(&begun.await.unwrap_err());
            is_unwritable(&ledger.write(&lease, step()).await.unwrap_err());
        }
        let there = ledger.list(Filter::default()).await.unwrap();
        assert_eq!(there.len(), 1);
        assert_eq!(there[0].steps[0].state, StepState::Intended);
        // It is what it was as soon as it stands where it stood.
        fs::rename(&aside, &place.path).unwrap();
        ledger.write(&lease, step()).await.unwrap();
        drop(ledger);
        place.is_sound();
    }
}

#[tokio::test]
async fn what_is_left_of_a_file_that_is_gone_is_not_mixed_into_a_new_one() {
    let place = place();
    let ledger = Ledger::open(&place.path).unwrap();
    begin(&ledger, asked()).await;
    fs::remove_file(&place.path).unwrap();
    let begun = ledger.begin(asked(), Known::default(), StepName::Move, None);
    is_unwritable(&begun.await.unwrap_err());
    drop(ledger);
    let fault = Ledger::open(&place.path).unwrap_err();
    assert!(
        matches!(&fault, LedgerFault::Foreign(why) if why.contains("ledger.db-wal")),
        "{fault}"
    );
    assert!(!place.path.exists());
    fs::remove_file(place.path.with_file_name("ledger.db-wal")).unwrap();
    let ledger = Ledger::open(&place.path).unwrap();
    assert!(ledger.list(Filter::default()).await.unwrap().is_empty());
    begin(&ledger, asked()).await;
    drop(ledger);
    place.is_sound();
}
