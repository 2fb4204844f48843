//! Conditions that a source evaluates itself: what a search sends down, and what narrows a judgement beforehand.

use jiff::civil::Date;

use crate::{Flag, Query};

/// Text matches anywhere in its field, in any case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Condition {
    /// Each of them; none means every message.
    All(Vec<Condition>),
    /// At least one of them; none means no message.
    Any(Vec<Condition>),
    Not(Box<Condition>),
    From(String),
    To(String),
    Cc(String),
    Subject(String),
    /// Anywhere in the message, headers and text.
    Text(String),
    /// A header field of that name holds the text.
    Header {
        name: String,
        holds: String,
    },
    /// More octets than this.
    Larger(u64),
    /// Fewer octets than this.
    Smaller(u64),
    /// Arrived on this day or later.
    Since(Date),
    /// Arrived before this day.
    Before(Date),
    Flagged(Flag),
    /// What the search of the store's own finds by these words (Gmail). Other stores have none.
    StoreSearch(String),
}

impl Condition {
    pub const EVERYTHING: Self = Self::All(Vec::new());

    pub fn is_everything(&self) -> bool {
        matches!(self, Self::All(each) if each.iter().all(Self::is_everything))
    }
}

impl From<&Query> for Condition {
    fn from(query: &Query) -> Self {
        let mut each = Vec::new();
        if query.unread_only {
            each.push(Self::Not(Box::new(Self::Flagged(Flag::new("\\Seen")))));
        }
        each.extend(query.since.map(Self::Since));
        // BEFORE excludes its day, `until` includes it.
        let after = |date: Date| Self::Before(date.tomorrow().unwrap_or(date));
        each.extend(query.until.map(after));
        each.extend(query.from.clone().map(Self::From));
        each.extend(query.to.clone().map(Self::To));
        each.extend(query.subject.clone().map(Self::Subject));
        each.extend(query.text.clone().map(Self::Text));
        Self::All(each)
    }
}
