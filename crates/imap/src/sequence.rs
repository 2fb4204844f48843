//! Sets of message numbers or UIDs, as ascending ranges.

use std::fmt;

/// Ascending, disjoint, inclusive ranges. Never holds `*`: a set says what it means.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct SequenceSet(Vec<(u32, u32)>);

impl SequenceSet {
    pub fn range(first: u32, last: u32) -> Self {
        if first == 0 || first > last {
            return Self::default();
        }
        Self(vec![(first, last)])
    }

    pub fn of(numbers: impl IntoIterator<Item = u32>) -> Self {
        let mut collector = Collector::default();
        for number in numbers.into_iter().filter(|number| *number > 0) {
            collector.add(number, number);
        }
        collector.finish()
    }

    /// Reads `1:5,7,9:12` in any order, as a server may write it. `None` for anything else, `*` and
    /// 0 included.
    pub fn parse(text: &[u8]) -> Option<Self> {
        if text.is_empty() {
            return Some(Self::default());
        }
        let mut collector = Collector::default();
        for item in text.split(|b| *b == b',') {
            let mut ends = item.splitn(2, |b| *b == b':');
            let first = number(ends.next()?)?;
            let last = match ends.next() {
                Some(end) => number(end)?,
                None => first,
            };
            let (first, last) = (first.min(last), first.max(last));
            if first == 0 {
                return None;
            }
            collector.add(first, last);
        }
        Some(collector.finish())
    }

    /// All numbers of both.
    pub fn union(&self, other: &Self) -> Self {
        Self::union_of([self, other])
    }

    /// All numbers of all of them, merged once however many sets there are.
    pub fn union_of<'s>(sets: impl IntoIterator<Item = &'s Self>) -> Self {
        let mut collector = Collector::default();
        for (first, last) in sets.into_iter().flat_map(|set| &set.0) {
            collector.add(*first, *last);
        }
        collector.finish()
    }

    /// In any order, overlapping or not. There is no message 0, and a range that ends before it begins is none.
    pub fn from_ranges(mut ranges: Vec<(u32, u32)>) -> Self {
        ranges.retain(|(first, last)| *first > 0 && first <= last);
        merge(&mut ranges);
        Self(ranges)
    }

    /// The numbers that are lower than this one.
    pub fn below(&self, number: u32) -> Self {
        let lower = self.0.iter().take_while(|(first, _)| *first < number);
        let lower = lower.map(|(first, last)| (*first, (*last).min(number.saturating_sub(1))));
        Self(lower.collect())
    }

    /// The highest number.
    pub fn last(&self) -> Option<u32> {
        self.0.last().map(|(_, last)| *last)
    }

    pub fn contains(&self, number: u32) -> bool {
        let after = self.0.partition_point(|(first, _)| *first <= number);
        let before = after.checked_sub(1).and_then(|index| self.0.get(index));
        before.is_some_and(|(_, last)| number <= *last)
    }

    pub fn ranges(&self) -> &[(u32, u32)] {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many numbers there are; a server may claim billions in a few bytes.
    pub fn len(&self) -> u64 {
        self.0.iter().map(|(a, b)| u64::from(b - a) + 1).sum()
    }

    /// From the highest down, never materialised as a whole.
    pub fn descending(&self) -> impl Iterator<Item = u32> + '_ {
        self.0
            .iter()
            .rev()
            .flat_map(|(first, last)| (*first..=*last).rev())
    }
}

/// Collects ranges in any order, and holds at most about twice as many as are distinct: a server
/// may repeat one for as long as a line is.
#[derive(Default)]
pub(crate) struct Collector {
    ranges: Vec<(u32, u32)>,
    merge_at: usize,
}

/// So many ranges are collected before they are merged for the first time.
const MIN_MERGED_RANGES: usize = 1_024;

impl Collector {
    /// INVARIANT: `first` is not 0, and not higher than `last`.
    pub(crate) fn add(&mut self, first: u32, last: u32) {
        if let Some(previous) = self.ranges.last_mut()
            && previous.0 <= first
            && first <= previous.1.saturating_add(1)
        {
            previous.1 = previous.1.max(last);
            return;
        }
        if self.ranges.len() >= self.merge_at.max(MIN_MERGED_RANGES) {
            merge(&mut self.ranges);
            self.merge_at = self.ranges.len().saturating_mul(2);
        }
        self.ranges.push((first, last));
    }

    pub(crate) fn finish(mut self) -> SequenceSet {
        merge(&mut self.ranges);
        SequenceSet(self.ranges)
    }
}

/// Sorts ranges and joins those that overlap or touch, in place.
fn merge(ranges: &mut Vec<(u32, u32)>) {
    ranges.sort_unstable();
    ranges.dedup_by(|next, previous| {
        let joins = next.0 <= previous.1.saturating_add(1);
        if joins {
            previous.1 = previous.1.max(next.1);
        }
        joins
    });
}

fn number(digits: &[u8]) -> Option<u32> {
    crate::value::number(digits)?.try_into().ok()
}

impl fmt::Display for SequenceSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (first, last)) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            if first == last {
                write!(f, "{first}")?;
            } else {
                write!(f, "{first}:{last}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_and_prints() {
        for (input, want) in [
            ("1:5,7,9:12", "1:5,7,9:12"),
            ("9:7,1", "1,7:9"),
            ("1,2,3,5", "1:3,5"),
            ("1:4294967295", "1:4294967295"),
            ("", ""),
        ] {
            assert_eq!(
                SequenceSet::parse(input.as_bytes()).unwrap().to_string(),
                want
            );
        }
        for bad in [
            "*",
            "1:*",
            "a",
            "1,,2",
            "1:",
            "4294967296",
            "0",
            "0:5",
            "3,0",
            "-1",
        ] {
            assert_eq!(SequenceSet::parse(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn newest_first_without_unfolding_the_set() {
        let set = SequenceSet::parse(b"1:4000000000,4000000005").unwrap();
        assert_eq!(set.len(), 4_000_000_001);
        let newest: Vec<u32> = set.descending().take(3).collect();
        assert_eq!(newest, [4_000_000_005, 4_000_000_000, 3_999_999_999]);
    }

    #[test]
    fn collector_given_endless_duplicates_stays_small() {
        let mut collector = Collector::default();
        for number in 0..1_000_000u32 {
            let number = 1 + number % 7 * 2;
            collector.add(number, number);
            assert!(collector.ranges.len() <= MIN_MERGED_RANGES + 1);
        }
        assert_eq!(collector.finish().to_string(), "1,3,5,7,9,11,13");
    }

    proptest! {
        #[test]
        fn collector_holds_twice_the_distinct_ranges(numbers in proptest::collection::vec(1u32..3_000, 0..6_000)) {
            let mut collector = Collector::default();
            for number in &numbers {
                collector.add(*number, *number);
            }
            prop_assert!(collector.ranges.capacity() <= 4 * 1_500 + MIN_MERGED_RANGES);
            prop_assert_eq!(collector.finish(), SequenceSet::from_ranges(numbers.iter().map(|n| (*n, *n)).collect()));
        }

        #[test]
        fn union_of_many_sets_is_one_set(sets in proptest::collection::vec(proptest::collection::vec(1u32..80, 0..9), 0..9)) {
            let sets: Vec<SequenceSet> = sets.into_iter().map(SequenceSet::of).collect();
            let folded = sets.iter().fold(SequenceSet::default(), |all, one| all.union(one));
            prop_assert_eq!(&SequenceSet::union_of(&sets), &folded);
            for number in 0..90 {
                prop_assert_eq!(folded.contains(number), folded.descending().any(|one| one == number));
                let below: Vec<u32> = folded.below(number).descending().collect();
                let want: Vec<u32> = folded.descending().filter(|one| *one < number).collect();
                prop_assert_eq!(below, want);
            }
            prop_assert_eq!(folded.last(), folded.descending().next());
        }

        #[test]
        fn a_set_is_its_numbers(mut numbers in proptest::collection::vec(1u32..500, 0..60)) {
            let set = SequenceSet::of(numbers.clone());
            let back = SequenceSet::parse(set.to_string().as_bytes()).unwrap();
            prop_assert_eq!(&back, &set);
            numbers.sort_unstable();
            numbers.dedup();
            numbers.reverse();
            prop_assert_eq!(set.descending().collect::<Vec<_>>(), numbers);
        }
    }
}
