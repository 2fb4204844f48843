//! Text as PostgreSQL can keep it: it has no NUL, so that is spelled otherwise. And what stands for a text in an index.

use sha2::{Digest as _, Sha256};

/// Nobody writes it.
const ESCAPE: char = '\u{1a}';

/// As it is written down.
pub(super) fn spelled(text: &str) -> String {
    if !text.contains(['\0', ESCAPE]) {
        return text.to_owned();
    }
    text.replace(ESCAPE, "\u{1a}1").replace('\0', "\u{1a}0")
}

/// As it was.
pub(super) fn read(text: String) -> String {
    if !text.contains(ESCAPE) {
        return text;
    }
    text.replace("\u{1a}0", "\0").replace("\u{1a}1", "\u{1a}")
}

/// Of several texts, none of which can be taken for a part of another.
pub(super) fn digest(parts: &[Option<&str>]) -> Vec<u8> {
    let mut hash = Sha256::new();
    for part in parts {
        match part {
            None => hash.update([0]),
            Some(text) => {
                hash.update([1]);
                hash.update(text.len().to_be_bytes());
                hash.update(text.as_bytes());
            }
        }
    }
    hash.finalize().to_vec()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_text_comes_back(text in "[a\0\u{1a}01]{0,12}") {
            let kept = spelled(&text);
            prop_assert!(!kept.contains('\0'));
            prop_assert_eq!(read(kept), text);
        }
    }
}
