//! Sets of message numbers: any text is a set or none, a set holds no more ranges than its text has
//! items, and whatever is done with it is done range by range.

#![no_main]

use imap::SequenceSet;
use libfuzzer_sys::fuzz_target;
use mail::{Uid, UidSet};

fuzz_target!(|text: &[u8]| {
    let mut halves = text.splitn(2, |octet| *octet == b'\n');
    let [Some(one), Some(other)] = [halves.next(), halves.next()].map(|half| half.and_then(SequenceSet::parse)) else {
        return;
    };
    let items = 2 + text.iter().filter(|octet| matches!(octet, b',' | b'\n')).count();
    let union = one.union(&other);
    for set in [&one, &other, &union] {
        assert!(set.ranges().len() <= items);
        assert!(set.len() <= u64::from(u32::MAX));
        assert!(set.ranges().is_sorted_by(|one, next| one.1 < next.0 - 1));
        assert_eq!(SequenceSet::parse(set.to_string().as_bytes()).as_ref(), Some(set));
        assert_eq!(set.last(), set.descending().next());
    }
    let at = other.last().unwrap_or(1);
    if let Some(next) = at.checked_add(1) {
        assert_eq!(one.contains(at), one.below(next).len() > one.below(at).len());
    }
    let [one, other] = [&one, &other].map(|set| UidSet::from_ranges(set.ranges().iter().copied()));
    let mut rest = one.union(&other);
    assert_eq!(rest.len() + one.intersection(&other).len(), one.len() + other.len());
    let all = rest.len();
    let lowest = rest.split_lowest(at);
    assert_eq!(lowest.len(), all.min(u64::from(at)));
    assert_eq!(lowest.len() + rest.len(), all);
    assert!(lowest.below(Uid(at)).ranges().len() <= items);
});
