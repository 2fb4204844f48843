//! SHA-256 as RFC 6962 takes it: of one record, and of two nodes of the tree above the records.

use std::fmt;

use sha2::{Digest as _, Sha256};

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hash([u8; 32]);

impl Hash {
    /// What the first record has for a predecessor.
    pub const ZERO: Self = Self([0; 32]);

    /// A record's own hash, which is also its leaf in the tree: the text before its `,"hash":`, after a zero byte.
    pub fn of_record(text: &[u8]) -> Self {
        let hash = Sha256::new().chain_update([0]).chain_update(text);
        Self(hash.finalize().into())
    }

    /// A node of the tree (RFC 6962, section 2.1).
    pub fn of_nodes(left: &Self, right: &Self) -> Self {
        let hash = Sha256::new()
            .chain_update([1])
            .chain_update(left.0)
            .chain_update(right.0);
        Self(hash.finalize().into())
    }

    /// The root of a tree without leaves.
    pub fn of_nothing() -> Self {
        Self::of_bytes(b"")
    }

    /// Plain SHA-256, for whatever is no record.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Reads 64 lower-case hexadecimal digits, and nothing else.
    pub fn parse(hex: &[u8]) -> Option<Self> {
        let mut hash = [0u8; 32];
        if hex.len() != 64 {
            return None;
        }
        for (byte, pair) in hash.iter_mut().zip(hex.chunks_exact(2)) {
            let [high, low] = pair else { return None };
            *byte = nibble(*high)? << 4 | nibble(*low)?;
        }
        Some(Self(hash))
    }
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_rfc_6962() {
        // The values that implementations of certificate transparency agree on.
        let said = |hash: Hash| hash.to_string();
        assert_eq!(
            said(Hash::of_nothing()),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        assert_eq!(
            said(Hash::of_record(b"")),
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
        );
    }

    #[test]
    fn only_its_own_spelling_is_read() {
        let hash = Hash::of_record(b"one");
        let text = hash.to_string();
        assert_eq!(Hash::parse(text.as_bytes()), Some(hash));
        assert_eq!(Hash::parse(text.to_uppercase().as_bytes()), None);
        assert_eq!(Hash::parse(&text.as_bytes()[1..]), None);
        assert_eq!(Hash::parse(format!("{text}0").as_bytes()), None);
    }
}
