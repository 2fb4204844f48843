//! Sets of UIDs, as ascending ranges: a folder of a hundred thousand messages is usually one of them.

use crate::Uid;

/// Ascending, disjoint, inclusive ranges that do not touch.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct UidSet(Vec<(u32, u32)>);

impl UidSet {
    pub fn range(first: Uid, last: Uid) -> Self {
        Self::from_ranges([(first.0, last.0)])
    }

    /// In any order, overlapping or not. A range that ends before it begins is none.
    pub fn from_ranges(ranges: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let mut ranges: Vec<(u32, u32)> = ranges.into_iter().filter(|(a, b)| a <= b).collect();
        ranges.sort_unstable();
        ranges.dedup_by(|next, previous| {
            let joins = next.0 <= previous.1.saturating_add(1);
            if joins {
                previous.1 = previous.1.max(next.1);
            }
            joins
        });
        ranges.shrink_to_fit();
        Self(ranges)
    }

    pub fn ranges(&self) -> &[(u32, u32)] {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are; a server may claim billions in a few bytes.
    pub fn len(&self) -> u64 {
        self.0.iter().map(|(a, b)| u64::from(b - a) + 1).sum()
    }

    pub fn contains(&self, uid: Uid) -> bool {
        let after = self.0.partition_point(|(first, _)| *first <= uid.0);
        let before = after.checked_sub(1).and_then(|index| self.0.get(index));
        before.is_some_and(|(_, last)| uid.0 <= *last)
    }

    /// From the lowest up, never materialised as a whole.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Uid> + '_ {
        self.0.iter().flat_map(|(a, b)| (*a..=*b).map(Uid))
    }

    pub fn last(&self) -> Option<Uid> {
        self.0.last().map(|(_, last)| Uid(*last))
    }

    /// Those with a lower UID.
    pub fn below(&self, uid: Uid) -> Self {
        let lower = self.0.iter().take_while(|(first, _)| *first < uid.0);
        let lower = lower.map(|(first, last)| (*first, (*last).min(uid.0.saturating_sub(1))));
        Self(lower.collect())
    }

    /// Takes out so many with the lowest UIDs, range by range.
    pub fn split_lowest(&mut self, count: u32) -> Self {
        let mut left = count;
        let mut taken = Vec::new();
        let mut whole = 0;
        for (first, last) in &mut self.0 {
            let Some(more) = left.checked_sub(1) else {
                break;
            };
            taken.push((*first, first.saturating_add(more).min(*last)));
            match first.checked_add(left).filter(|next| next <= last) {
                Some(next) => {
                    *first = next;
                    left = 0;
                }
                None => {
                    left -= *last - *first + 1;
                    whole += 1;
                }
            }
        }
        self.0.drain(..whole);
        Self(taken)
    }

    pub fn union(&self, other: &Self) -> Self {
        Self::from_ranges(self.0.iter().chain(&other.0).copied())
    }

    pub fn intersection(&self, other: &Self) -> Self {
        let (mut ours, mut theirs) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut both = Vec::new();
        while let (Some((a, b)), Some((c, d))) = (ours.peek(), theirs.peek()) {
            let (first, last) = (*a.max(c), *b.min(d));
            if first <= last {
                both.push((first, last));
            }
            match b < d {
                true => ours.next(),
                false => theirs.next(),
            };
        }
        Self(both)
    }

    /// Those that are not in the other.
    pub fn difference(&self, other: &Self) -> Self {
        let mut left = Vec::new();
        let mut theirs = other.0.iter().peekable();
        for (first, last) in &self.0 {
            let mut next = Some(*first);
            while let (Some(from), Some((c, d))) = (next, theirs.peek()) {
                if c > last {
                    break;
                }
                if *d < from {
                    theirs.next();
                    continue;
                }
                if from < *c {
                    left.push((from, c - 1));
                }
                next = d.checked_add(1).filter(|after| after <= last);
                match d <= last {
                    true => theirs.next(),
                    false => break,
                };
            }
            if let Some(from) = next {
                left.push((from, *last));
            }
        }
        Self(left)
    }
}

/// Any order; what stands twice counts once.
impl FromIterator<Uid> for UidSet {
    fn from_iter<I: IntoIterator<Item = Uid>>(uids: I) -> Self {
        Self::from_ranges(uids.into_iter().map(|uid| (uid.0, uid.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn naive(set: &UidSet) -> BTreeSet<u32> {
        set.iter().map(|uid| uid.0).collect()
    }

    fn sets() -> impl Strategy<Value = UidSet> {
        proptest::collection::vec((1u32..60, 0u32..8), 0..8)
            .prop_map(|ranges| UidSet::from_ranges(ranges.into_iter().map(|(a, n)| (a, a + n))))
    }

    proptest! {
        #[test]
        fn it_is_a_set(a in sets(), b in sets()) {
            let (x, y) = (naive(&a), naive(&b));
            prop_assert_eq!(naive(&a.union(&b)), x.union(&y).copied().collect());
            prop_assert_eq!(naive(&a.intersection(&b)), x.intersection(&y).copied().collect());
            prop_assert_eq!(naive(&a.difference(&b)), x.difference(&y).copied().collect());
            prop_assert_eq!(a.len(), x.len() as u64);
            prop_assert_eq!(a.last().map(|uid| uid.0), x.last().copied());
            for uid in 0..80 {
                prop_assert_eq!(a.contains(Uid(uid)), x.contains(&uid));
            }
            prop_assert_eq!(a.iter().collect::<UidSet>(), a.clone());
            for uid in [0, 1, 30, 66, u32::MAX] {
                let below = x.iter().copied().filter(|one| *one < uid);
                prop_assert_eq!(naive(&a.below(Uid(uid))), below.collect());
            }
            for count in [0, 1, 5, 60] {
                let mut rest = a.clone();
                let lowest = rest.split_lowest(count);
                let want: BTreeSet<u32> = x.iter().copied().take(count as usize).collect();
                prop_assert_eq!(naive(&lowest), want);
                prop_assert_eq!(lowest.len() + rest.len(), a.len());
                prop_assert_eq!(lowest.union(&rest), a.clone());
            }
            for set in [a.intersection(&b), a.difference(&b), a.union(&b)] {
                prop_assert_eq!(UidSet::from_ranges(set.ranges().iter().copied()), set);
            }
        }
    }

    #[test]
    fn the_last_uid_there_can_be_is_no_trouble() {
        let all = UidSet::range(Uid(1), Uid(u32::MAX));
        let end = UidSet::range(Uid(u32::MAX), Uid(u32::MAX));
        assert_eq!(all.difference(&end).last(), Some(Uid(u32::MAX - 1)));
        assert!(end.difference(&all).is_empty());
        assert_eq!(all.union(&end), all);
        assert!(UidSet::range(Uid(2), Uid(1)).is_empty());
        let mut rest = all.clone();
        assert_eq!(
            rest.split_lowest(u32::MAX - 1).last(),
            Some(Uid(u32::MAX - 1))
        );
        assert_eq!(rest.split_lowest(9), end);
        assert!(rest.is_empty());
    }
}
