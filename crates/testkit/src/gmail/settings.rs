//! What can be chosen about a simulated account: the switches that Google's settings page has, and the limits. Acts on nothing.

use super::place::{Language, Place};
use std::collections::BTreeSet;

/// Whether `\Deleted` removes at once. Google's page of IMAP settings (`autoExpunge`); on by default there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Deleting {
    #[default]
    AtOnce,
    OnExpunge,
}

/// What becomes of a message that is expunged from the last mailbox it was in (`expungeBehavior` on the same page).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LastLabel {
    /// It stays in All Mail.
    #[default]
    Archive,
    Trash,
    DeleteForever,
}

/// What a text search compares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Matching {
    /// Whole words, one after the other. Gmail's index has words: a part of one finds nothing (go-imap, "search with
    /// wildcard"; imbox, "fix substring search of subjects").
    #[default]
    Words,
    /// Any part, as RFC 3501 wants it.
    Substrings,
}

/// What becomes of a message that is appended a second time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Duplicates {
    /// It is the first one, which gets the label, keeps its date and leaves the bin (Google's import tool, "imports
    /// duplicate messages"; imap-upload, "how google handles duplicates").
    #[default]
    Merged,
    Kept,
}

/// How the server behaves towards somebody who asks for too much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Throttle {
    #[default]
    Never,
    /// Each OK ends in `[THROTTLED]` (MailKit, "folder related commands are slow").
    Noted,
    /// Commands are refused with `[OVERQUOTA]` (Home Assistant's mail sensor, "account exceeded").
    Refused,
}

#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) language: Language,
    pub(super) hidden: BTreeSet<Place>,
    pub(super) deleting: Deleting,
    pub(super) last_label: LastLabel,
    pub(super) matching: Matching,
    pub(super) duplicates: Duplicates,
    /// Google's help page allows 15; the words of the refusal are in WildDuck's tracker, "limit concurrent connections".
    pub(super) most_connections: usize,
    /// Octets of a command's lines, literals aside. No figure is published; that of RFC 7162 section 4 for clients, doubled.
    pub(super) longest_line: usize,
    /// The moment that `newer_than:` counts from; the clock's when absent.
    pub(super) now: Option<u64>,
    /// What is not offered though Gmail does.
    pub(super) lacks: BTreeSet<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            language: Language::default(),
            hidden: BTreeSet::new(),
            deleting: Deleting::default(),
            last_label: LastLabel::default(),
            matching: Matching::default(),
            duplicates: Duplicates::default(),
            most_connections: 15,
            longest_line: 16 * 1024,
            now: None,
            lacks: BTreeSet::new(),
        }
    }
}
