//! A lease on a server is of one claim, and a beginning that nobody answered for is told from others.

use jiff::Timestamp;
use ledger::{Answered, Lease, LedgerFault, Note};

use crate::replicas::{step, who_works_is_not_heard};
use crate::support::{asked, begin, connect, server};

/// Its own process has claimed it anew meanwhile.
#[tokio::test]
async fn who_was_cut_off_works_under_no_claim_but_its_own() {
    let server = server();
    let (one, other) = (connect(&server.url()).await, connect(&server.url()).await);
    let cut_off = begin(&one, asked()).await;
    let theirs = loop {
        who_works_is_not_heard(&server);
        match other.claim(cut_off.id()).await {
            Ok(claimed) => break claimed.lease,
            Err(fault) => assert_eq!(fault, LedgerFault::Leased),
        }
    };
    let later = vec![Note::Later(Timestamp::UNIX_EPOCH)];
    other.write(&theirs, later).await.unwrap();
    let anew = one.claim(cut_off.id()).await.unwrap().lease;
    // What it was at when it was cut off ends only now.
    assert_eq!(one.write(&cut_off, step()).await, Err(LedgerFault::Leased));
    one.release(&cut_off);
    one.next_due().await.unwrap();
    assert_eq!(one.write(&anew, step()).await, Ok(()));
}

/// A lease that is given back while something is still written under it is given back all the same.
#[tokio::test]
async fn what_is_still_being_written_keeps_no_lease() {
    let server = server();
    let ledger = connect(&server.url()).await;
    let mut held = begin(&ledger, asked()).await;
    for _ in 0..40 {
        let mut unwanted = Box::pin(ledger.write(&held, step()));
        let once = std::future::poll_fn(|cx| std::task::Poll::Ready(unwanted.as_mut().poll(cx)));
        let _ = once.await;
        drop(unwanted);
        ledger.release(&held);
        held = loop {
            match ledger.claim(held.id()).await {
                Ok(claimed) => break claimed.lease,
                Err(fault) => assert_eq!(fault, LedgerFault::Leased),
            }
        };
    }
}

#[tokio::test]
async fn a_beginning_is_answered_once_its_replica_has_said_anything_of_it() {
    let server = server();
    let url = server.url();
    let ledger = connect(&url).await;
    let is_answered = |lease: &Lease| {
        let id = lease.id();
        let sql = format!("SELECT answered FROM mailwarden.transactions WHERE id = '{id}'");
        server.query(&url, &sql) == "t"
    };
    let noted = begin(&ledger, asked()).await;
    ledger.write(&noted, step()).await.unwrap();
    assert!(is_answered(&noted));
    let given_back = begin(&ledger, asked()).await;
    ledger.release(&given_back);
    ledger.next_due().await.unwrap();
    assert!(is_answered(&given_back));
    let at_work = begin(&ledger, asked()).await;
    while !is_answered(&at_work) {}
}

#[tokio::test]
async fn whoever_takes_up_a_beginning_that_nobody_answered_for_is_told_so() {
    let server = server();
    let url = server.url();
    let (gone, ledger) = (connect(&url).await, connect(&url).await);
    let id = begin(&gone, asked()).await.id().clone();
    drop(gone);
    // As a replica leaves it that was killed before it had an answer.
    let left = "UPDATE mailwarden.transactions SET answered = FALSE";
    server.query(&url, left);
    for _ in 0..2 {
        let [claimed] = ledger
            .claim_due(Timestamp::MAX, 10)
            .await
            .unwrap()
            .try_into()
            .unwrap();
        assert_eq!(claimed.answered, Answered::Unknown);
        // Neither putting it off nor giving it back makes it answered.
        ledger.write(&claimed.lease, step()).await.unwrap();
        let later = vec![Note::Later(Timestamp::UNIX_EPOCH)];
        ledger.write(&claimed.lease, later).await.unwrap();
    }
    // Its caller asks for it again.
    let claimed = ledger.claim(&id).await.unwrap();
    assert_eq!(claimed.answered, Answered::Yes);
    ledger.release(&claimed.lease);
    let due = ledger.claim_due(Timestamp::MAX, 10).await.unwrap();
    assert_eq!(due[0].answered, Answered::Yes);
}
