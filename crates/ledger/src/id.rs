//! The name of a transaction: `tx_` and 26 letters that sort by the time it began.

use std::fmt;

/// Crockford's base 32: no letter that reads like another.
const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const PREFIX: &str = "tx_";
const LENGTH: usize = 26;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TransactionId(String);

impl TransactionId {
    /// 48 bits of time, 80 bits of chance.
    pub fn new(milliseconds: u64, chance: [u8; 10]) -> Self {
        let mut bits = u128::from(milliseconds & 0xffff_ffff_ffff) << 80;
        for (index, byte) in chance.into_iter().enumerate() {
            bits |= u128::from(byte) << (8 * index);
        }
        let letters = (0..LENGTH).rev().map(|place| {
            let index = (bits >> (5 * place)) & 31;
            let letter = usize::try_from(index).ok().and_then(|at| LETTERS.get(at));
            letter.copied().map_or('0', char::from)
        });
        Self(PREFIX.chars().chain(letters).collect())
    }

    /// None where it is spelled otherwise.
    pub fn parse(text: &str) -> Option<Self> {
        let letters = text.strip_prefix(PREFIX)?;
        let good = letters.len() == LENGTH && letters.bytes().all(|byte| LETTERS.contains(&byte));
        good.then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_by_time_and_are_read_back() {
        let mut last = None;
        for time in [0, 1, 31, 32, 1_700_000_000_000, 0xffff_ffff_ffff] {
            for chance in [[0; 10], [255; 10]] {
                let id = TransactionId::new(time, chance);
                assert_eq!(id.as_str().len(), 29);
                assert_eq!(TransactionId::parse(id.as_str()), Some(id.clone()));
                assert!(last.is_none_or(|last| last < id), "{id}");
                last = Some(id);
            }
        }
        for bad in [
            "",
            "tx_",
            "tx_0",
            "xt_00000000000000000000000000",
            "tx_0000000000000000000000000u",
        ] {
            assert_eq!(TransactionId::parse(bad), None, "{bad}");
        }
    }
}
