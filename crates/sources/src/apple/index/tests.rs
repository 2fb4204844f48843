//! Indexes that follow their store, that share a file, and that fail.

use mail::AccountId;
use testkit::apple::{AppleStore, Generation, Letter};

use super::super::{Apple, Visit};
use super::*;

fn id(name: &str) -> HeaderId {
    HeaderId::new(name.as_bytes()).unwrap()
}

fn put(store: &mut AppleStore, row: i64, name: &str) {
    let inbox = store.folder("INBOX");
    let letter = Letter::new(format!("Message-ID: <{name}>\n\nText.\n"));
    store.message(inbox, letter.row(row));
}

fn links(name: &str) -> Links {
    Links {
        id: Some(id(name)),
        references: vec![id("root@x")],
        in_reply_to: Vec::new(),
    }
}

/// Three messages, and an index that has read the headers of all of them.
fn read(generation: Generation) -> (AppleStore, Apple, Index) {
    let mut store = AppleStore::of(generation);
    for (row, name) in [(1, "one@x"), (2, "two@x"), (3, "three@x")] {
        put(&mut store, row, name);
    }
    let account = AccountId::new("mac").unwrap();
    let apple = Apple::open(account, store.root(), None, None);
    let mut index = Index::in_memory().unwrap();
    refresh(&apple, &mut index);
    let headers = [
        (Uid(1), links("one@x")),
        (Uid(2), links("two@x")),
        (Uid(3), links("three@x")),
    ];
    index.learn(&headers).unwrap();
    (store, apple, index)
}

fn refresh(apple: &Apple, index: &mut Index) {
    let stop = Stop::default();
    let visit = Visit::begin(&apple.settings, &stop).unwrap();
    index.refresh(&visit.db, &stop).unwrap();
}

fn rows(numbers: &[u32]) -> HashSet<Uid> {
    numbers.iter().copied().map(Uid).collect()
}

#[test]
fn when_the_newest_message_goes_the_others_stay_known() {
    for generation in Generation::ALL {
        let (mut store, apple, mut index) = read(generation);
        store.sql("DELETE FROM messages WHERE ROWID = 3");
        refresh(&apple, &mut index);
        assert_eq!(index.read().unwrap(), rows(&[1, 2]), "{generation:?}");
        assert_eq!(index.naming(&id("root@x")).unwrap(), [Uid(1), Uid(2)]);
        assert_eq!(index.having(&id("two@x")).unwrap(), [Uid(2)]);
        assert_eq!(index.having(&id("three@x")).unwrap(), []);
        // Its number comes again, for another message.
        put(&mut store, 3, "other@x");
        refresh(&apple, &mut index);
        assert_eq!(index.read().unwrap(), rows(&[1, 2]), "{generation:?}");
        let said = match generation {
            Generation::Modern => vec![Uid(3)],
            _ => Vec::new(),
        };
        assert_eq!(index.having(&id("other@x")).unwrap(), said);
    }
}

#[test]
fn an_older_view_of_the_store_leaves_the_index_as_far_as_it_reaches() {
    for generation in Generation::ALL {
        let (mut store, apple, mut index) = read(generation);
        let stop = Stop::default();
        let old = Visit::begin(&apple.settings, &stop).unwrap();
        put(&mut store, 4, "four@x");
        refresh(&apple, &mut index);
        index.refresh(&old.db, &stop).unwrap();
        assert_eq!(index.read().unwrap(), rows(&[1, 2, 3]), "{generation:?}");
        refresh(&apple, &mut index);
        assert_eq!(index.read().unwrap(), rows(&[1, 2, 3]), "{generation:?}");
        let said = match generation {
            Generation::Modern => vec![Uid(4)],
            _ => Vec::new(),
        };
        assert_eq!(index.having(&id("four@x")).unwrap(), said);
    }
}

/// Two processes with one file.
fn pair() -> (tempfile::TempDir, [Index; 2]) {
    let state = tempfile::tempdir().unwrap();
    let file = state.path().join("index");
    let pair = [(), ()].map(|()| Index::open(Some(&file)).unwrap());
    (state, pair)
}

#[test]
fn who_looked_before_another_built_wipes_nothing_and_writes_nothing_beside_it() {
    let (store, apple, _) = read(Generation::Modern);
    let (_state, [mut one, mut other]) = pair();
    let was = known(&one.conn).unwrap();
    refresh(&apple, &mut other);
    let built = known(&other.conn).unwrap().unwrap();
    let begun = one.begin_anew(&built.file, was.as_ref()).unwrap();
    assert_eq!(begun, Written::Overtaken);
    for from in [0, 1, 4] {
        let written = one.write(&[(7, 7)], &built.file, (from, 5)).unwrap();
        assert_eq!(written, Written::Overtaken, "{from}");
    }
    let elsewhere = one.write(&[(7, 7)], "another file", (3, 5)).unwrap();
    assert_eq!(elsewhere, Written::Overtaken);
    let stale = Known {
        high: 2,
        ..built.clone()
    };
    assert_eq!(one.forget_beyond(1, &stale).unwrap(), Written::Overtaken);
    assert_eq!(known(&one.conn).unwrap(), Some(built));
    assert_eq!(one.having(&id("three@x")).unwrap(), [Uid(3)]);
    // What the other one built is not what this one has seen.
    let stop = Stop::default();
    let visit = Visit::begin(&apple.settings, &stop).unwrap();
    one.refresh(&visit.db, &stop).unwrap();
    assert!(other.is_exact(&visit.db) && !one.is_exact(&visit.db));
    drop(store);
}

#[test]
fn what_was_read_of_one_store_is_not_kept_for_another() {
    let (_store, apple, _) = read(Generation::Older);
    let (_state, [mut one, mut other]) = pair();
    refresh(&apple, &mut one);
    one.stayed().unwrap();
    // Another process finds another database there.
    let was = known(&other.conn).unwrap();
    let begun = other.begin_anew("another file", was.as_ref()).unwrap();
    assert_eq!(begun, Written::Done);
    let learned = one.learn(&[(Uid(1), links("one@x"))]).unwrap_err();
    assert_eq!(learned.kind, FaultKind::Busy);
    assert_eq!(other.read().unwrap(), rows(&[]));
    assert!(one.stayed().is_err());
    refresh(&apple, &mut one);
    one.stayed().unwrap();
}

#[test]
fn an_index_that_fails_is_made_again_and_at_last_in_memory() {
    let state = tempfile::tempdir().unwrap();
    let file = state.path().join("index");
    let mut shared = Shared::new(Some(file.clone()));
    let kept = |shared: &mut Shared| shared.with(|index| Ok(index.kept)).unwrap();
    assert_eq!(kept(&mut shared), Kept::File);
    // Once is forgiven, whatever it is.
    for trouble in [
        Trouble::Damaged,
        Trouble::Overtaken,
        Trouble::Unusable(Some(ErrorCode::DiskFull)),
    ] {
        let mut once = Some(trouble);
        let work = |index: &mut Index| match once.take() {
            Some(trouble) => Err(index.failed(trouble)),
            None => Ok(index.kept),
        };
        assert_eq!(shared.with(work).unwrap(), Kept::File, "{trouble:?}");
    }
    // A fault of the store is none of the index, which stays.
    let mut asked = 0;
    let work = |_: &mut Index| -> Result<(), Fault> {
        asked += 1;
        Err(Fault::new(FaultKind::Unreadable, Stage::Search))
    };
    assert_eq!(shared.with(work).unwrap_err().stage, Stage::Search);
    assert_eq!((asked, kept(&mut shared)), (1, Kept::File));
    let work = |index: &mut Index| match index.kept {
        Kept::File => Err(index.failed(Trouble::Unusable(Some(ErrorCode::DiskFull)))),
        Kept::Memory => Ok(()),
    };
    shared.with(work).unwrap();
    assert_eq!(kept(&mut shared), Kept::Memory);
}

#[test]
fn what_is_wrong_with_the_index_is_not_said_of_the_store() {
    for trouble in [
        Trouble::Busy,
        Trouble::Damaged,
        Trouble::Overtaken,
        Trouble::Unusable(None),
    ] {
        let fault = trouble.fault();
        assert_eq!(fault.stage, Stage::Index);
        let said = String::from_utf8(fault.said.unwrap().bytes().to_vec()).unwrap();
        assert!(said.contains("own index"), "{said}");
        assert!(!said.contains("Envelope Index"), "{said}");
    }
}
