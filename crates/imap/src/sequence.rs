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
        Self::from_ranges(numbers.into_iter().map(|n| (n, n)).collect())
    }

    /// Reads `1:5,7,9:12` in any order, as a server may write it. `None` for anything else, `*` included.
    pub fn parse(text: &[u8]) -> Option<Self> {
        if text.is_empty() {
            return Some(Self::default());
        }
        let mut ranges = Vec::new();
        for item in text.split(|b| *b == b',') {
            let mut ends = item.splitn(2, |b| *b == b':');
            let first = number(ends.next()?)?;
            let last = match ends.next() {
                Some(end) => number(end)?,
                None => first,
            };
            ranges.push((first.min(last), first.max(last)));
        }
        Some(Self::from_ranges(ranges))
    }

    /// All numbers of both.
    pub fn union(&self, other: &Self) -> Self {
        Self::from_ranges(self.0.iter().chain(&other.0).copied().collect())
    }

    /// In any order, overlapping or not. There is no message 0, and a range that ends before it begins is none.
    pub fn from_ranges(mut ranges: Vec<(u32, u32)>) -> Self {
        ranges.retain(|(first, last)| *first > 0 && first <= last);
        ranges.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
        for (first, last) in ranges {
            match merged.last_mut() {
                Some(previous) if first <= previous.1.saturating_add(1) => {
                    previous.1 = previous.1.max(last);
                }
                _ => merged.push((first, last)),
            }
        }
        Self(merged)
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
        for bad in ["*", "1:*", "a", "1,,2", "1:", "4294967296"] {
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

    proptest! {
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
