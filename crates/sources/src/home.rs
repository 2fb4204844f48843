//! The name of a mailbox among all that there are: the same for the same place, and nothing can be read from it.

use sha2::{Digest as _, Sha256};

/// Of what tells the place from others.
pub(crate) fn named(parts: &[&str]) -> String {
    let mut sum = Sha256::new();
    for part in parts {
        sum.update(part.len().to_le_bytes());
        sum.update(part.as_bytes());
    }
    let digest = sum.finalize();
    digest
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_place_has_another_name() {
        let one = named(&["imap", "mail.example.com", "993", "alice"]);
        assert_eq!(one.len(), 32);
        assert_eq!(one, named(&["imap", "mail.example.com", "993", "alice"]));
        for other in [
            &["imap", "mail.example.com", "993", "bob"][..],
            &["imap", "mail.example.com", "143", "alice"],
            &["imap", "mail.example.co", "m993", "alice"],
            &["imap", "mail.example.com", "993alice", ""],
        ] {
            assert_ne!(named(other), one, "{other:?}");
        }
    }
}
