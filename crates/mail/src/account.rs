//! The name of an account: one mailbox owner at one source.

use std::fmt;
use std::sync::Arc;

/// `^[A-Za-z0-9_-]{1,64}$`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AccountId(
    /// Shared: it is part of the name of every message.
    Arc<str>,
);

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("account_id must be 1 to 64 letters, digits, '_' or '-'")]
pub struct BadAccountId;

impl AccountId {
    pub fn new(text: impl Into<String>) -> Result<Self, BadAccountId> {
        let text = text.into();
        let fits = (1..=64).contains(&text.len())
            && text
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        if fits {
            Ok(Self(text.into()))
        } else {
            Err(BadAccountId)
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_of_the_contract() {
        for good in ["default", "a", "Work_2", "x-y", &"a".repeat(64)] {
            assert!(AccountId::new(good).is_ok(), "{good}");
        }
        for bad in ["", "a b", "a:b", "ü", "a/b", "a\n", &"a".repeat(65)] {
            assert!(AccountId::new(bad).is_err(), "{bad:?}");
        }
    }
}
