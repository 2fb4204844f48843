//! What a search looks for.

use jiff::civil::Date;

/// All given conditions hold at once. The empty query lists the folder.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Query {
    /// Anywhere in the message, headers and text.
    pub text: Option<String>,
    pub from: Option<String>,
    pub to: Option<String>,
    pub subject: Option<String>,
    pub unread_only: bool,
    /// Arrived on this day or later.
    pub since: Option<Date>,
    /// Arrived on this day or earlier.
    pub until: Option<Date>,
}

impl Query {
    /// True when the query lists the folder as it is.
    pub fn is_everything(&self) -> bool {
        *self == Self::default()
    }
}
