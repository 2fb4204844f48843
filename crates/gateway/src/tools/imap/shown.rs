//! What several tools show in the same way.

use mail::{Flag, MessageRef};
use schemars::JsonSchema;
use serde::Serialize;

/// Which message, in all the ways in which it can be named.
#[derive(Serialize, JsonSchema)]
pub(super) struct Located {
    pub(super) message_id: String,
    message_uri: String,
    message_raw_uri: String,
    mailbox: String,
    uidvalidity: u32,
    uid: u32,
}

impl From<&MessageRef> for Located {
    fn from(at: &MessageRef) -> Self {
        Self {
            message_id: at.to_string(),
            message_uri: at.uri(),
            message_raw_uri: at.raw_uri(),
            mailbox: at.folder.to_string(),
            uidvalidity: at.uidvalidity.0,
            uid: at.uid.0,
        }
    }
}

/// More flags than this are not shown; nobody reads them, and a server may send thousands.
const MOST_FLAGS: usize = 50;
const MOST_FLAG_CHARS: usize = 100;

/// Flags as a caller sees them; absent when the source did not tell.
pub(super) fn flags(flags: Option<&[Flag]>) -> Option<Vec<String>> {
    let shown = flags?.iter().take(MOST_FLAGS).map(|flag| {
        let name = content::name(flag.as_str());
        name.chars().take(MOST_FLAG_CHARS).collect()
    });
    Some(shown.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_bounded_and_safe() {
        let many: Vec<Flag> = (0..4_000)
            .map(|n| Flag::new(format!("{n}\u{202e}{}", "k".repeat(900))))
            .collect();
        let shown = flags(Some(&many)).unwrap();
        assert_eq!(shown.len(), MOST_FLAGS);
        assert!(
            shown
                .iter()
                .all(|flag| flag.chars().count() <= MOST_FLAG_CHARS && !flag.contains('\u{202e}'))
        );
        assert_eq!(flags(None), None);
    }
}
