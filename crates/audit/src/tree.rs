//! The Merkle tree over the records (RFC 6962, section 2.1), of which only the right edge is kept.
//!
//! Its memory is the logarithm of the number of records. A path from one record up to the root is `proof`'s business.

use crate::Hash;

/// The roots of the perfect trees that the records so far make, the largest first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Peaks {
    size: u64,
    peaks: Vec<Hash>,
}

/// No log gets so long; whoever states more wants us to miscount.
const MOST: u64 = 1 << 48;

impl Peaks {
    /// As a record states them. None when they cannot be the peaks of so many records.
    pub fn new(size: u64, peaks: Vec<Hash>) -> Option<Self> {
        if size >= MOST {
            return None;
        }
        let as_many = usize::try_from(size.count_ones()).ok()? == peaks.len();
        as_many.then_some(Self { size, peaks })
    }

    /// How many records are below.
    pub fn size(&self) -> u64 {
        self.size
    }

    pub fn as_slice(&self) -> &[Hash] {
        &self.peaks
    }

    pub fn push(&mut self, leaf: Hash) {
        let mut node = leaf;
        // Two trees of the same height become one, as a carry does in addition.
        for _ in 0..self.size.trailing_ones() {
            if let Some(left) = self.peaks.pop() {
                node = Hash::of_nodes(&left, &node);
            }
        }
        self.peaks.push(node);
        self.size += 1;
    }

    pub fn root(&self) -> Hash {
        let mut from_right = self.peaks.iter().rev();
        match from_right.next() {
            None => Hash::of_nothing(),
            Some(last) => from_right.fold(*last, |right, left| Hash::of_nodes(left, &right)),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// As RFC 6962 defines it, from all leaves at once.
    pub(crate) fn defined(leaves: &[Hash]) -> Hash {
        match leaves {
            [] => Hash::of_nothing(),
            [one] => *one,
            _ => {
                let split = leaves.len().next_power_of_two() / 2;
                let (left, right) = leaves.split_at(split);
                Hash::of_nodes(&defined(left), &defined(right))
            }
        }
    }

    #[test]
    fn the_root_is_the_one_that_the_rfc_defines() {
        let leaves: Vec<Hash> = (0..130u32)
            .map(|n| Hash::of_record(&n.to_be_bytes()))
            .collect();
        let mut tree = Peaks::default();
        for (count, leaf) in leaves.iter().enumerate() {
            assert_eq!(tree.root(), defined(&leaves[..count]));
            let stated = Peaks::new(tree.size(), tree.as_slice().to_vec());
            assert_eq!(stated.as_ref(), Some(&tree));
            tree.push(*leaf);
        }
    }

    #[test]
    fn peaks_that_cannot_be_are_refused() {
        assert_eq!(Peaks::new(3, vec![Hash::ZERO]), None);
        assert_eq!(Peaks::new(0, vec![Hash::ZERO]), None);
        assert!(Peaks::new(4, vec![Hash::ZERO]).is_some());
    }
}
