//! Whether it held: every message where the model says and nowhere else, every answer in exactly one log, nothing left
//! open. Pure: what there is was gathered elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use super::fleet::Left;
use super::model::{Lying, Receipt, Spot};

/// The log of one replica.
pub(super) struct Chain {
    pub log: String,
    pub records: Vec<Record>,
}

pub(super) struct Record {
    pub seq: u64,
    pub hash: String,
    /// Of a call.
    pub request: Option<String>,
}

/// Codes of answers that may be without a record of their own: refused before anything was looked at, or because no record
/// could be made.
const UNRECORDED: [&str; 3] = ["rate_limited", "overloaded", "audit_unavailable"];

/// Compares what must lie somewhere with what does, message by message.
pub(super) fn mail(expected: &[Lying], found: &[Lying]) -> Vec<String> {
    let (expected, found) = (sorted(expected), sorted(found));
    let places: BTreeSet<&(&Spot, &str)> = expected.keys().chain(found.keys()).collect();
    let mut wrong = Vec::new();
    for place in places {
        let wanted = expected.get(place).map(Vec::as_slice).unwrap_or_default();
        let there = found.get(place).map(Vec::as_slice).unwrap_or_default();
        let (spot, name) = place;
        let here = format!("{}/{}: {name}", spot.account, spot.folder);
        if wanted.len() != there.len() {
            let numbers: Vec<Option<u64>> = there.iter().map(|one| one.uid).collect();
            wrong.push(format!(
                "{here} is there {} times {numbers:?}, and should be {} times",
                there.len(),
                wanted.len()
            ));
            continue;
        }
        wrong.extend(same(&here, wanted, there));
    }
    wrong
}

fn sorted(all: &[Lying]) -> BTreeMap<(&Spot, &str), Vec<&Lying>> {
    let mut places: BTreeMap<_, Vec<&Lying>> = BTreeMap::new();
    for one in all {
        places
            .entry((&one.spot, one.name.as_str()))
            .or_default()
            .push(one);
    }
    places
}

/// As many there as wanted; each under its number, as it should be.
fn same(here: &str, wanted: &[&Lying], there: &[&Lying]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut left = there.to_vec();
    // Those whose number is known choose first.
    let (known, unknown): (Vec<&Lying>, Vec<&Lying>) =
        wanted.iter().partition(|one| one.uid.is_some());
    for one in known.into_iter().chain(unknown) {
        let fits = |other: &&Lying| match one.uid {
            Some(_) => other.uid == one.uid,
            None => other.flags == one.flags,
        };
        let Some(at) = left.iter().position(fits) else {
            wrong.push(format!("{here} is not there as it should be: {one:?}"));
            continue;
        };
        let other = left.remove(at);
        if other.flags != one.flags {
            wrong.push(format!(
                "{here} has the flags {:?}, and should have {:?}",
                other.flags, one.flags
            ));
        }
        if one.size.is_some_and(|size| other.size != Some(size)) {
            wrong.push(format!(
                "{here} has {:?} octets, and should have {:?}",
                other.size, one.size
            ));
        }
    }
    wrong
}

/// Each answer has a record of its own, in one log and no other, which is the one that it names.
pub(super) fn receipts(receipts: &[Receipt], chains: &[Chain]) -> Vec<String> {
    let mut kept: BTreeMap<(u64, &str), Vec<(&Chain, &Record)>> = BTreeMap::new();
    for chain in chains {
        for record in &chain.records {
            let place = (record.seq, record.hash.as_str());
            kept.entry(place).or_default().push((chain, record));
        }
    }
    let mut wrong = Vec::new();
    let mut told: BTreeSet<&Receipt> = BTreeSet::new();
    for receipt in receipts {
        if !told.insert(receipt) {
            wrong.push(format!("two answers have the same receipt: {receipt:?}"));
        }
        let found = kept.get(&(receipt.seq, receipt.hash.as_str()));
        match found.map(Vec::as_slice).unwrap_or_default() {
            [(chain, _)] if chain.log != receipt.log => {
                wrong.push(format!("{receipt:?} is in the log {}", chain.log));
            }
            [(_, record)] if record.request.as_deref() != Some(&receipt.request) => {
                wrong.push(format!(
                    "{receipt:?} is a record of another call: {:?}",
                    record.request
                ));
            }
            [_] => {}
            many => wrong.push(format!("{receipt:?} is in {} logs", many.len())),
        }
    }
    wrong
}

/// Answers without a receipt that should have one.
pub(super) fn unrecorded(without: &BTreeMap<String, usize>) -> Vec<String> {
    let bad = without.iter().filter(|(says, _)| {
        let code = says.split(' ').nth(1).unwrap_or_default();
        !UNRECORDED.contains(&code)
    });
    bad.map(|(says, count)| format!("{count} answers without a receipt: {says}"))
        .collect()
}

/// Who did not end in order.
pub(super) fn ends(left: &Left) -> Vec<String> {
    left.drained
        .iter()
        .cloned()
        .filter_map(Result::err)
        .collect()
}

/// Nothing is open or left to a person, and as much is done as clients were told.
pub(super) fn ledger(left: &Left, told_done: usize) -> Vec<String> {
    let mut wrong = Vec::new();
    let count = |wanted: &str| {
        let of = left.states.iter().filter(|(state, _)| state == wanted);
        of.map(|(_, count)| count).sum::<usize>()
    };
    for (state, count) in &left.states {
        if !["done", "undone"].contains(&state.as_str()) {
            wrong.push(format!(
                "{count} transactions are left in the state {state}"
            ));
        }
    }
    wrong.extend(left.stuck.iter().map(|one| format!("at no end: {one}")));
    if count("done") != told_done {
        wrong.push(format!(
            "{} transactions are done, and clients were told of {told_done}",
            count("done")
        ));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn lying(name: &str, folder: &str, uid: Option<u64>, flags: &[&str]) -> Lying {
        Lying {
            name: name.to_owned(),
            spot: Spot::new("a0", folder),
            uid,
            flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
            size: Some(10),
        }
    }

    #[test]
    fn what_is_as_the_model_says_is_no_fault() {
        let all = [
            lying("<a>", "INBOX", Some(1), &["\\Seen"]),
            lying("<a>", "Copies", Some(4), &[]),
            lying("<a>", "Copies", Some(5), &["\\Seen"]),
        ];
        assert_eq!(mail(&all, &all), Vec::<String>::new());
        let mut unknown = all.clone();
        unknown[2].uid = None;
        assert_eq!(mail(&unknown, &all), Vec::<String>::new());
    }

    #[test]
    fn doubled_lost_moved_renumbered_and_remarked_messages_are_found() {
        let one = lying("<a>", "Copies", Some(4), &[]);
        let table = [
            (
                "doubled",
                vec![one.clone(), lying("<a>", "Copies", Some(5), &[])],
                "2 times",
            ),
            ("lost", vec![], "0 times"),
            (
                "elsewhere",
                vec![lying("<a>", "INBOX", Some(4), &[])],
                "0 times",
            ),
            (
                "another copy",
                vec![lying("<a>", "Copies", Some(5), &[])],
                "not there as it should be",
            ),
            (
                "another's flags",
                vec![lying("<a>", "Copies", Some(4), &["\\Seen"])],
                "has the flags",
            ),
            (
                "nobody's",
                vec![one.clone(), lying("<b>", "Copies", Some(9), &[])],
                "should be 0 times",
            ),
            (
                "cut short",
                vec![Lying {
                    size: Some(9),
                    ..one.clone()
                }],
                "octets",
            ),
        ];
        for (what, found, words) in table {
            let wrong = mail(std::slice::from_ref(&one), &found);
            assert!(
                wrong.iter().any(|one| one.contains(words)),
                "{what}: {wrong:?}"
            );
        }
    }

    fn chain(log: &str, seq: u64, hash: &str) -> Chain {
        Chain {
            log: log.to_owned(),
            records: vec![Record {
                seq,
                hash: hash.to_owned(),
                request: Some("r".to_owned()),
            }],
        }
    }

    #[test]
    fn a_receipt_is_in_one_chain_alone_and_in_the_one_that_it_names() {
        let receipt = Receipt {
            log: "x".to_owned(),
            seq: 7,
            hash: "h".to_owned(),
            request: "r".to_owned(),
        };
        let other_call = Receipt {
            request: "s".to_owned(),
            ..receipt.clone()
        };
        let once = [receipt.clone()];
        let good = [chain("x", 7, "h"), chain("y", 7, "i")];
        assert_eq!(receipts(&once, &good), Vec::<String>::new());
        let table = [
            (
                "in none",
                vec![chain("x", 7, "i"), chain("y", 8, "h")],
                once.to_vec(),
                "in 0 logs",
            ),
            (
                "in two",
                vec![chain("x", 7, "h"), chain("y", 7, "h")],
                once.to_vec(),
                "in 2 logs",
            ),
            (
                "in another",
                vec![chain("y", 7, "h")],
                once.to_vec(),
                "in the log y",
            ),
            (
                "told twice",
                vec![chain("x", 7, "h")],
                vec![receipt.clone(), receipt],
                "same receipt",
            ),
            (
                "of another call",
                vec![chain("x", 7, "h")],
                vec![other_call],
                "another call",
            ),
        ];
        for (what, chains, told, words) in table {
            let wrong = receipts(&told, &chains);
            assert!(
                wrong.iter().any(|one| one.contains(words)),
                "{what}: {wrong:?}"
            );
        }
    }

    #[test]
    fn answers_without_a_receipt_are_faults_unless_nothing_was_looked_at() {
        let without = |says: &str| BTreeMap::from([(says.to_owned(), 3)]);
        assert!(unrecorded(&without("429 rate_limited")).is_empty());
        assert_eq!(unrecorded(&without("200 ok")).len(), 1);
        assert_eq!(unrecorded(&without("200 internal")).len(), 1);
    }

    #[test]
    fn a_ledger_that_is_open_or_knows_of_more_and_a_replica_that_does_not_end_are_found() {
        let left = |states: &[(&str, usize)]| Left {
            open: 0,
            states: states
                .iter()
                .map(|(state, count)| ((*state).to_owned(), *count))
                .collect(),
            stuck: Vec::new(),
            drained: vec![Ok(Duration::ZERO), Err("late".to_owned())],
        };
        assert_eq!(ends(&left(&[])), ["late"]);
        assert!(ledger(&left(&[("done", 5), ("undone", 2)]), 5).is_empty());
        assert_eq!(ledger(&left(&[("done", 6)]), 5).len(), 1);
        assert_eq!(ledger(&left(&[("done", 4), ("open", 1)]), 5).len(), 2);
        assert_eq!(
            ledger(&left(&[("done", 5), ("needs_operator", 1)]), 5).len(),
            1
        );
    }
}
