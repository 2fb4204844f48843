//! Folders: their decoded names and what a source says about them.

use std::fmt;
use std::sync::Arc;

/// A folder's decoded name: 1 to 256 characters, no control characters.
///
/// One folder has exactly one spelling: UTF-8 here, and only the IMAP wire sees modified UTF-7.
/// `INBOX` is spelled in capitals, whatever was typed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FolderName(
    /// Shared: it is part of the name of every message.
    Arc<str>,
);

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadFolderName {
    #[error("mailbox must be 1 to 256 characters long")]
    Length,
    #[error("mailbox must not contain control characters")]
    Control,
}

impl FolderName {
    pub fn new(text: impl Into<String>) -> Result<Self, BadFolderName> {
        let text = text.into();
        if text.chars().any(char::is_control) {
            return Err(BadFolderName::Control);
        }
        if !(1..=256).contains(&text.chars().count()) {
            return Err(BadFolderName::Length);
        }
        // RFC 3501 section 5.1: INBOX is case-insensitive, every other name is what the server says it is.
        if text.eq_ignore_ascii_case("INBOX") {
            return Ok(Self("INBOX".into()));
        }
        Ok(Self(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FolderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One folder of an account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Folder {
    pub name: FolderName,
    pub delimiter: Option<char>,
    pub special_use: Option<SpecialUse>,
    /// Present when the source gave it without another round trip.
    pub counts: Option<Counts>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counts {
    pub messages: u64,
    pub unread: u64,
}

/// What a folder is for (RFC 6154), whatever it is called.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SpecialUse {
    All,
    Archive,
    Drafts,
    Flagged,
    Important,
    Junk,
    Sent,
    Trash,
}

impl SpecialUse {
    /// From an attribute such as `\Sent`; servers differ in case.
    pub fn from_attribute(attribute: &str) -> Option<Self> {
        let name = attribute.strip_prefix('\\')?;
        Self::ALL
            .into_iter()
            .find(|use_| use_.as_str().eq_ignore_ascii_case(name))
    }

    pub const ALL: [Self; 8] = [
        Self::All,
        Self::Archive,
        Self::Drafts,
        Self::Flagged,
        Self::Important,
        Self::Junk,
        Self::Sent,
        Self::Trash,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Archive => "archive",
            Self::Drafts => "drafts",
            Self::Flagged => "flagged",
            Self::Important => "important",
            Self::Junk => "junk",
            Self::Sent => "sent",
            Self::Trash => "trash",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_within_bounds() {
        assert!(FolderName::new("Projekte/Übersicht: 2026").is_ok());
        assert_eq!(FolderName::new("inbox").unwrap().as_str(), "INBOX");
        assert_eq!(FolderName::new(""), Err(BadFolderName::Length));
        assert_eq!(FolderName::new("ü".repeat(257)), Err(BadFolderName::Length));
        assert!(FolderName::new("ü".repeat(256)).is_ok());
        for bad in ["a\rb", "a\nb", "a\0b", "a\u{7f}b", "a\u{85}b"] {
            assert_eq!(FolderName::new(bad), Err(BadFolderName::Control), "{bad:?}");
        }
    }

    #[test]
    fn special_use_in_any_case() {
        assert_eq!(SpecialUse::from_attribute("\\sent"), Some(SpecialUse::Sent));
        assert_eq!(SpecialUse::from_attribute("\\HasNoChildren"), None);
        assert_eq!(SpecialUse::from_attribute("Sent"), None);
    }
}
