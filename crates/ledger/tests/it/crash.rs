//! What was said to be durable is there, and nothing is there by half, whenever the process is killed.

use bytes::Bytes;
use jiff::Timestamp;
use ledger::{Begun, Ending, Filter, Known, Ledger, Note, State, StepName, StepState};

use crate::support::{Other, asked, place, say, started_for};

const CONTENT: &[u8] = &[b'x'; 10_000];

/// As another process: 8 callers begin transactions, and end every other one, until the process is killed.
#[tokio::test]
async fn a_kill_loses_nothing_that_was_said() {
    if let Some(path) = started_for() {
        let ledger = Ledger::open(&path).unwrap();
        let callers: Vec<_> = (0..8)
            .map(|_| tokio::spawn(work_for_ever(ledger.clone())))
            .collect();
        for caller in callers {
            caller.await.unwrap();
        }
    }
    let place = place();
    let mut said = Vec::new();
    for round in 0..6 {
        let mut other = Other::start("crash::a_kill_loses_nothing_that_was_said", &place.path);
        for _ in 0..(10 + 13 * round) {
            said.push(other.began().unwrap());
        }
        other.child.kill().unwrap();
        said.extend(std::iter::from_fn(|| other.began()));
        other.child.wait().unwrap();
        place.is_sound();

        let ledger = Ledger::open(&place.path).unwrap();
        for id in &said {
            assert!(ledger.get(id).await.unwrap().is_some(), "{id} was durable");
        }
        let claimed = ledger.claim_due(Timestamp::MAX, 10_000).await.unwrap();
        let open: Vec<_> = claimed.iter().map(|one| one.lease.id()).collect();
        for one in ledger.list(Filter::default()).await.unwrap() {
            let over = one.state == State::Done;
            let step = if over {
                StepState::Done
            } else {
                StepState::Intended
            };
            assert_eq!(one.steps.len(), 1, "{one:?}");
            assert_eq!(one.steps[0].state, step, "{one:?}");
            assert_eq!(one.ended.is_some(), over, "{one:?}");
            assert_eq!(open.contains(&&one.id), !over, "{one:?}");
            let content = ledger.content(&one.id).await.unwrap();
            assert_eq!(content.as_deref(), (!over).then_some(CONTENT), "{one:?}");
        }
    }
}

async fn work_for_ever(ledger: Ledger) {
    for number in 0.. {
        let content = Some(Bytes::from_static(CONTENT));
        let begun = ledger.begin(asked(), Known::default(), StepName::Append, content);
        let Begun::New(lease) = begun.await.unwrap() else {
            panic!("it has no key");
        };
        say(lease.id());
        if number % 2 == 0 {
            let notes = vec![
                Note::Step(StepName::Append, StepState::Done, None),
                Note::Ends(State::Done, Ending::default()),
            ];
            ledger.write(&lease, notes).await.unwrap();
        }
    }
}
