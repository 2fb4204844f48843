//! A disk that is full refuses, tears nothing, and is written again when there is room.

use bytes::Bytes;
use ledger::{Begun, Filter, Known, Ledger, LedgerFault, Note, StepName, StepState};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, Signal};

use crate::support::{Other, asked, begin, place, say, started_for};

/// As another process, because the limit is that of a process.
#[test]
fn a_full_disk_refuses_and_heals() {
    if let Some(path) = started_for() {
        // Who exceeds the limit is sent a signal, which would end it; without that, writing fails. Threads inherit this.
        let mut signals = SigSet::empty();
        signals.add(Signal::SIGXFSZ);
        signals.thread_block().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        return runtime.block_on(fill(&path));
    }
    let place = place();
    let mut other = Other::start("full_disk::a_full_disk_refuses_and_heals", &place.path);
    let said: Vec<_> = std::iter::from_fn(|| other.began()).collect();
    assert!(other.child.wait().unwrap().success());
    place.is_sound();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let ledger = Ledger::open(&place.path).unwrap();
        let listed = ledger.list(Filter::default()).await.unwrap();
        let mut there: Vec<_> = listed.into_iter().map(|one| one.id).collect();
        there.reverse();
        assert_eq!(there, said, "what was said, and nothing else");
    });
}

async fn fill(path: &std::path::Path) {
    let ledger = Ledger::open(path).unwrap();
    let mut ids = vec![begin(&ledger, asked()).await];
    let (_, most) = getrlimit(Resource::RLIMIT_FSIZE).unwrap();
    for room in [300_000, 500_000] {
        setrlimit(Resource::RLIMIT_FSIZE, room, most).unwrap();
        let fault = loop {
            let content = Some(Bytes::from_static(&[b'x'; 50_000]));
            let begun = ledger.begin(asked(), Known::default(), StepName::Append, content);
            match begun.await {
                Ok(Begun::New(lease)) => ids.push(lease),
                Ok(other) => panic!("it has no key: {other:?}"),
                Err(fault) => break fault,
            }
        };
        assert!(matches!(fault, LedgerFault::Unwritable(_)), "{fault}");
        let step = || vec![Note::Step(StepName::Move, StepState::Intended, None); 2_000];
        let fault = ledger.write(&ids[0], step()).await.unwrap_err();
        assert!(matches!(fault, LedgerFault::Unwritable(_)), "{fault}");
        let there = ledger.get(ids[0].id()).await.unwrap().unwrap();
        assert_eq!(there.steps.len(), 1, "all of it or nothing");

        setrlimit(Resource::RLIMIT_FSIZE, most, most).unwrap();
        ids.push(begin(&ledger, asked()).await);
        let step = vec![Note::Step(StepName::Move, StepState::Unknown, None)];
        ledger.write(&ids[0], step).await.unwrap();
    }
    let mut ids: Vec<_> = ids.iter().map(|lease| lease.id().clone()).collect();
    ids.sort();
    ids.iter().for_each(say);
}
