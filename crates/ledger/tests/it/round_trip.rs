//! Every field comes back as it went in.

use bytes::Bytes;
use jiff::Timestamp;
use ledger::{
    Asked, Begun, Ending, Key, Kind, Known, Ledger, Mark, Note, Place, State, StepName, StepState,
    TransactionId,
};
use mail::{
    AccountId, Digest, Flag, FolderName, Horizon, Landing, MessageRef, SourceKind, Uid, UidValidity,
};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        Just(String::new()),
        Just("a\0b'\"\\".to_owned())
    ]
}

fn flag() -> impl Strategy<Value = Flag> {
    text().prop_map(Flag::new)
}

fn time() -> impl Strategy<Value = Timestamp> {
    let (first, last) = (Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
    prop_oneof![
        (first..last, 0..1_000_000_000).prop_map(|(s, ns)| Timestamp::new(s, ns).unwrap()),
        Just(Timestamp::MIN),
        Just(Timestamp::MAX),
    ]
}

fn place() -> impl Strategy<Value = Place> {
    ("[A-Za-z0-9_-]{1,64}", "[^\\p{Cc}]{1,30}").prop_map(|(account, folder)| Place {
        account: AccountId::new(account).unwrap(),
        folder: FolderName::new(folder).unwrap(),
    })
}

fn id() -> impl Strategy<Value = TransactionId> {
    any::<(u64, [u8; 10])>().prop_map(|(time, chance)| TransactionId::new(time, chance))
}

prop_compose! {
    fn source()(place in place(), kind in select(&SourceKind::ALL[..]), validity: u32, uid: u32) -> MessageRef {
        MessageRef {
            source: kind,
            account: place.account,
            folder: place.folder,
            uidvalidity: UidValidity(validity),
            uid: Uid(uid),
        }
    }
}

prop_compose! {
    fn asked()(
        kind in select(Kind::ALL),
        (caller, tool, request_id, policy) in (text(), text(), text(), text()),
        source in option::of(source()),
        target in option::of(place()),
        horizon: Option<(u32, u32)>,
        marks in proptest::collection::vec((any::<bool>(), flag()), 0..4),
        key in option::of((text(), any::<[u8; 32]>())),
        undoes in option::of(id()),
        (source_home, target_home) in (option::of(text()), option::of(text())),
    ) -> Asked {
        Asked {
            source_home, target_home,
            kind, caller, tool, request_id, policy, source, target, undoes,
            horizon: horizon.map(|(validity, next)| Horizon { uidvalidity: UidValidity(validity), next: Uid(next) }),
            marks: marks.into_iter().map(|(set, flag)| if set { Mark::Set(flag) } else { Mark::Take(flag) }).collect(),
            key: key.map(|(name, arguments)| Key { name, arguments }),
        }
    }
}

prop_compose! {
    fn known()(
        size: Option<u64>,
        digest: Option<([u8; 32], u64)>,
        message_id in option::of(text()),
        flags in option::of(proptest::collection::vec(flag(), 0..4)),
        flags_after in option::of(proptest::collection::vec(flag(), 0..4)),
        arrived in option::of(time()),
        landed: Option<(u32, u32)>,
        (store_id, source_id) in (any::<Option<u64>>(), any::<Option<u64>>()),
        end_of_all: Option<(u32, u32)>,
    ) -> Known {
        Known {
            size, message_id, flags, flags_after, arrived, store_id, source_id,
            digest: digest.map(|(sha256, octets)| Digest { sha256, octets }),
            end_of_all: end_of_all.map(|(validity, next)| Horizon { uidvalidity: UidValidity(validity), next: Uid(next) }),
            landed: landed.map(|(validity, uid)| Landing { uidvalidity: UidValidity(validity), uid: Uid(uid) }),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_field_comes_back(
        asked in asked(),
        known in known(),
        later in known(),
        first in select(StepName::ALL),
        (second, second_state) in (select(StepName::ALL), select(StepState::ALL)),
        (why, code, words) in (option::of(text()), option::of(text()), option::of(text())),
        content in option::of(proptest::collection::vec(any::<u8>(), 0..300)),
        state in select(&State::ALL[1..]),
        then in time(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ledger.db");
        let now = Timestamp::new(1_790_000_000, 123_456_789).unwrap();
        let content = content.map(Bytes::from);
        let ending = Ending { code, words };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (early, open, late) = runtime.block_on(async {
            let ledger = Ledger::open_with(&path, move || now).unwrap();
            let begun = ledger.begin(asked.clone(), known.clone(), first, content.clone()).await;
            let Ok(Begun::New(lease)) = begun else { panic!("{begun:?}") };
            assert_eq!(ledger.content(lease.id()).await.unwrap(), content);
            let early = ledger.get(lease.id()).await.unwrap().unwrap();
            ledger.write(&lease, vec![
                Note::Knows(later.clone()),
                Note::Step(first, StepState::Refused, why.clone()),
                Note::Step(second, second_state, why.clone()),
                Note::Later(then),
            ]).await.unwrap();
            let claimed = ledger.claim(lease.id()).await.unwrap();
            ledger.write(&claimed.lease, vec![Note::Ends(state, ending.clone())]).await.unwrap();
            let late = ledger.get(lease.id()).await.unwrap().unwrap();
            (early, claimed.transaction, late)
        });
        prop_assert_eq!((&early.asked, &early.known), (&asked, &known));
        prop_assert_eq!(early.steps[0].clone(), ledger::StepRecord {
            name: first, state: StepState::Intended, at: now, why: None,
        });
        prop_assert_eq!((early.state, early.began, early.ended, early.attempts), (State::Open, now, None, 0));
        prop_assert_eq!((early.ending, early.next_try, early.undone_by), (None, None, None));
        prop_assert_eq!((&open.asked, &open.known, open.next_try), (&asked, &later, Some(then)));
        prop_assert_eq!(&open.undone_by, &None);
        prop_assert_eq!(open.attempts, 1);
        prop_assert_eq!((open.steps[0].state, &open.steps[0].why), (StepState::Refused, &why));
        prop_assert_eq!((open.steps[1].name, open.steps[1].state, &open.steps[1].why), (second, second_state, &why));
        prop_assert_eq!((&late.asked, &late.known, &late.steps), (&asked, &later, &open.steps));
        let over = matches!(state, State::Done | State::Undone);
        prop_assert_eq!((late.state, late.ending, late.ended), (state, Some(ending), over.then_some(now)));
        prop_assert_eq!((late.began, late.next_try), (now, None));
    }
}
