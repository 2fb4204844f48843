//! What the store of facts keeps, and what it takes.

use super::pages::tests::{ALL, MOST_RULES, friend_of, page, wanted};
use super::*;
use crate::criteria::Criteria;
use mail::{Folded, MailAddress};
use policy::Rule;
use proptest::prelude::*;

fn facts() -> impl Strategy<Value = FactsBuf> {
    let address = "[a-zäöü.]{1,12}@[a-z]{1,9}\\.example";
    let address = || address.prop_map(|text| MailAddress::parse(&text).unwrap());
    (
        proptest::option::of(address()),
        proptest::collection::vec(address(), 0..4),
        any::<bool>(),
        proptest::option::of("\\PC{0,40}"),
        any::<Option<bool>>(),
        any::<Option<i64>>(),
        any::<Option<u64>>(),
    )
        .prop_map(
            |(from, recipients, whole, subject, has_attachment, arrived, size)| FactsBuf {
                from,
                recipients,
                recipients_known: if whole { Known::Whole } else { Known::NotWhole },
                subject: subject.map(|text| Folded::new(&text)),
                has_attachment,
                arrived,
                size,
            },
        )
}

fn same(shelf: &Shelf, uid: u32, want: &FactsBuf) {
    let lines = want.recipient_lines();
    assert_eq!(shelf.facts(Uid(uid)), Some(want.borrow(&lines)), "{uid}");
}

fn shelf() -> Shelf {
    let mut shelf = Shelf::default();
    shelf.settle(UidValidity(7));
    shelf
}

proptest! {
    #[test]
    fn what_is_kept_comes_back(all in proptest::collection::vec((1u32..40, facts()), 0..60)) {
        let mut shelf = shelf();
        let mut want = std::collections::BTreeMap::new();
        for chunk in all.chunks(7) {
            let batch: Vec<(Uid, FactsBuf)> = chunk.iter().map(|(uid, f)| (Uid(*uid), f.clone())).collect();
            shelf.keep(UidValidity(7), &batch);
            want.extend(chunk.iter().cloned());
        }
        prop_assert_eq!(shelf.uids().len(), want.len() as u64);
        for (uid, facts) in &want {
            same(&shelf, *uid, facts);
        }
        let left = UidSet::range(Uid(1), Uid(20));
        shelf.waste = usize::MAX / 4;
        shelf.retain(&left);
        prop_assert!(shelf.waste == 0 && shelf.index.is_sorted_by(|a, b| a.uid < b.uid));
        prop_assert_eq!(shelf.uids(), want.keys().copied().filter(|uid| *uid <= 20).map(Uid).collect());
        for (uid, facts) in want.range(..=20) {
            same(&shelf, *uid, facts);
        }
    }

    #[test]
    fn no_bytes_make_a_record_fall(bytes: Vec<u8>) {
        let _ = unpack(&bytes);
    }
}

#[test]
fn another_generation_is_another_folder() {
    let mut shelf = shelf();
    shelf.keep(UidValidity(7), &[(Uid(1), FactsBuf::default())]);
    shelf.note_passed_over(
        UidValidity(7),
        &Condition::EVERYTHING,
        &UidSet::range(Uid(1), Uid(9)),
    );
    shelf.settle(UidValidity(7));
    assert!(shelf.facts(Uid(1)).is_some());
    shelf.settle(UidValidity(8));
    assert!(shelf.facts(Uid(1)).is_none());
    assert_eq!(shelf.passed_over(&Condition::EVERYTHING), None);
    shelf.keep(UidValidity(7), &[(Uid(1), FactsBuf::default())]);
    assert!(shelf.facts(Uid(1)).is_none());
}

#[test]
fn a_hundred_thousand_messages_take_less_than_200_octets_each() {
    let mut shelf = shelf();
    for chunk in (1..=100_000u32).collect::<Vec<_>>().chunks(4_000) {
        let batch: Vec<(Uid, FactsBuf)> = chunk.iter().map(|n| (Uid(*n), typical(*n))).collect();
        shelf.keep(UidValidity(7), &batch);
    }
    assert!(shelf.weight() < 200 * 100_000, "{}", shelf.weight());
}

fn typical(n: u32) -> FactsBuf {
    let address = |name: &str| MailAddress::parse(&format!("{name}.{n}@kettenwerk.example"));
    FactsBuf {
        from: address("margarethe"),
        recipients: [address("buchhaltung"), address("einkauf")]
            .into_iter()
            .flatten()
            .collect(),
        recipients_known: Known::Whole,
        subject: Some(Folded::new("Rechnung zur Bestellung, bitte prüfen")),
        has_attachment: Some(true),
        arrived: Some(1_700_000_000),
        size: Some(20_000),
    }
}

#[test]
fn folders_that_were_not_used_for_longest_go_first() {
    let knowledge = Knowledge::default();
    let name = |n: u32| FolderName::new(format!("f{n}")).unwrap();
    for n in 0..4 {
        let shelf = knowledge.shelf(&name(n));
        let mut shelf = lock(&shelf);
        shelf.settle(UidValidity(7));
        shelf.pieces.push(Arc::new(Vec::with_capacity(MOST / 3)));
    }
    knowledge.shelf(&name(0));
    knowledge.tidy();
    let left = lock(&knowledge.folders);
    let has = |n: u32| left.shelves.contains_key(&name(n));
    assert_eq!([has(0), has(1), has(2), has(3)], [true, false, false, true]);
}

#[test]
fn many_accounts_together_stay_within_one_bound() {
    let room: &'static Room = Box::leak(Box::new(Room::new(8 << 20, 1 << 20)));
    let name = |n: u32| FolderName::new(format!("f{n}")).unwrap();
    let accounts: Vec<Knowledge> = (0..16).map(|_| Knowledge::within(room)).collect();
    let weight = |one: &Knowledge| lock(&one.folders).weight;
    for folder in 0..4 {
        for account in &accounts {
            let shelf = account.shelf(&name(folder));
            let piece = Arc::new(Vec::with_capacity(900 << 10));
            lock(&shelf).pieces.push(piece);
            account.tidy();
        }
    }
    let all: usize = accounts.iter().map(weight).sum();
    assert!(all <= 16 << 20, "each keeps what was looked at last: {all}");
    assert!(accounts.iter().all(|one| weight(one) > 0));
    // Whoever is left alone has all the room there is.
    let mut accounts = accounts;
    accounts.truncate(1);
    for folder in 0..4 {
        let shelf = accounts[0].shelf(&name(folder));
        lock(&shelf).pieces = vec![Arc::new(Vec::with_capacity(900 << 10))];
        accounts[0].tidy();
    }
    assert!(weight(&accounts[0]) > 3 << 20);
}

#[test]
fn what_was_shown_of_another_generation_is_not_likely() {
    let mut shelf = Shelf::default();
    let criteria = Criteria::default();
    shelf.note_page(UidValidity(7), ALL, &wanted(&criteria), page(1));
    assert_eq!(shelf.page(ALL, &wanted(&criteria)), None);
    shelf.settle(UidValidity(7));
    shelf.note_page(UidValidity(7), ALL, &wanted(&criteria), page(1));
    shelf.note_page(UidValidity(8), ALL, &wanted(&criteria), page(2));
    assert_eq!(shelf.page(ALL, &wanted(&criteria)), Some(&page(1)));
    shelf.settle(UidValidity(7));
    assert_eq!(shelf.page(ALL, &wanted(&criteria)), Some(&page(1)));
    shelf.settle(UidValidity(8));
    assert_eq!(shelf.page(ALL, &wanted(&criteria)), None);
}

#[test]
fn what_pages_hold_on_to_is_counted() {
    let mut shelf = shelf();
    let (criteria, policy) = (Criteria::default(), friend_of(MOST_RULES));
    let light = shelf.weight();
    shelf.note_page(
        UidValidity(7),
        Scope::Each(&policy),
        &wanted(&criteria),
        page(1),
    );
    let rules = MOST_RULES * size_of::<Rule>();
    assert!(shelf.weight() > light + rules, "{}", shelf.weight());
}
