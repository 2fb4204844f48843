//! The path of a folder entry: one folder, every folder below a prefix, or every folder.

use std::borrow::Cow;
use std::fmt;

use mail::{BadFolderName, FolderName};

/// Servers differ in the character between the levels of a folder's name.
const SEPARATORS: [char; 2] = ['/', '.'];

/// Stands at the end of a pattern, and nowhere else in a path.
const STAR: char = '*';

/// A path as a policy names it.
///
/// `INBOX/Invoices` is that folder, `INBOX/*` and `INBOX.*` are every folder whose name goes on
/// after `INBOX/` or `INBOX.`, and `*` is every folder of the account.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FolderPattern(
    /// INVARIANT: a `*` is the whole of it, or follows a separator at its end.
    FolderName,
);

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadFolderPattern {
    #[error(transparent)]
    Name(#[from] BadFolderName),
    #[error("a '*' in a folder's path is not at its end after a separator")]
    Star,
}

/// How closely a path names a folder; the greatest wins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Precedence {
    /// The length of the prefix; that of `*` is 0.
    Prefix(usize),
    Exact,
}

impl FolderPattern {
    pub fn parse(text: impl Into<String>) -> Result<Self, BadFolderPattern> {
        Self::try_from(FolderName::new(text)?)
    }

    /// As it is written in a policy.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The one folder that it names; none where it may cover several.
    pub fn exact(&self) -> Option<&FolderName> {
        self.prefix().is_none().then_some(&self.0)
    }

    /// In the one spelling in which paths are compared.
    pub(crate) fn normalized(&self) -> Cow<'_, str> {
        with_inbox_in_capitals(self.as_str())
    }

    pub fn covers(&self, folder: &FolderName) -> bool {
        self.precedence(folder).is_some()
    }

    /// None where it does not cover the folder.
    pub(crate) fn precedence(&self, folder: &FolderName) -> Option<Precedence> {
        let Some(prefix) = self.prefix() else {
            let is_named = self.normalized() == with_inbox_in_capitals(folder.as_str());
            return is_named.then_some(Precedence::Exact);
        };
        let name = with_inbox_in_capitals(folder.as_str());
        let below = name.strip_prefix(prefix)?;
        (!below.is_empty()).then_some(Precedence::Prefix(prefix.len()))
    }

    /// Every folder that `other` covers is covered by this too.
    pub(crate) fn contains(&self, other: &Self) -> bool {
        match (self.prefix(), other.prefix()) {
            (_, None) => self.covers(&other.0),
            (Some(prefix), Some(longer)) => longer.starts_with(prefix),
            (None, Some(_)) => false,
        }
    }

    /// There may be a folder that both cover.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.contains(other) || other.contains(self)
    }

    /// What names begin with that it covers; empty for `*`, none for an exact path.
    fn prefix(&self) -> Option<&str> {
        self.as_str().strip_suffix(STAR)
    }
}

impl TryFrom<FolderName> for FolderPattern {
    type Error = BadFolderPattern;

    fn try_from(name: FolderName) -> Result<Self, BadFolderPattern> {
        let prefix = match name.as_str().strip_suffix(STAR) {
            None if name.as_str().contains(STAR) => return Err(BadFolderPattern::Star),
            None => return Ok(Self(name)),
            Some(prefix) => prefix,
        };
        let Some(above) = prefix.strip_suffix(SEPARATORS) else {
            return match prefix.is_empty() {
                true => Ok(Self(name)),
                false => Err(BadFolderPattern::Star),
            };
        };
        if above.is_empty() || above.contains(STAR) {
            return Err(BadFolderPattern::Star);
        }
        let spelled = with_inbox_in_capitals(name.as_str()).into_owned();
        Ok(Self(FolderName::new(spelled)?))
    }
}

impl fmt::Display for FolderPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// RFC 9051 section 5.1: INBOX is case-insensitive. The folders below it are listed in either case.
fn with_inbox_in_capitals(name: &str) -> Cow<'_, str> {
    match name.split_at_checked("INBOX".len()) {
        Some((root, rest))
            if root != "INBOX"
                && root.eq_ignore_ascii_case("INBOX")
                && rest.starts_with(SEPARATORS) =>
        {
            Cow::Owned(format!("INBOX{rest}"))
        }
        _ => Cow::Borrowed(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> FolderPattern {
        FolderPattern::parse(text).unwrap()
    }

    #[test]
    fn star_stands_alone_or_after_a_separator() {
        for (text, shown) in [
            ("INBOX", "INBOX"),
            ("inbox", "INBOX"),
            ("*", "*"),
            ("INBOX/*", "INBOX/*"),
            ("inbox.*", "INBOX.*"),
            ("Inbox/Work/*", "INBOX/Work/*"),
            ("[Gmail]/*", "[Gmail]/*"),
            ("a.b/*", "a.b/*"),
            ("inboxes/*", "inboxes/*"),
            // An exact path stays as the server names it.
            ("inbox/Work", "inbox/Work"),
        ] {
            assert_eq!(pattern(text).as_str(), shown);
            assert_eq!(pattern(text).exact().is_some(), !text.contains('*'));
        }
        for text in [
            "**",
            "*/",
            "*a",
            "a*",
            "a*b",
            "INBOX*",
            "INBOX/*/x",
            "*/*",
            "INBOX/**",
            "a*/*",
            "/*",
            ".*",
        ] {
            assert_eq!(
                FolderPattern::parse(text),
                Err(BadFolderPattern::Star),
                "{text}"
            );
        }
        let long = |octets| FolderPattern::parse(format!("{}/*", "x".repeat(octets)));
        assert!(long(254).is_ok());
        let refused = Err(BadFolderPattern::Name(BadFolderName::Length));
        assert_eq!(
            (long(255), FolderPattern::parse("")),
            (refused, FolderPattern::parse(""))
        );
    }

    #[test]
    fn prefix_covers_what_is_below_at_any_depth() {
        for (path, folder, covered) in [
            ("*", "INBOX", true),
            ("*", "A/B", true),
            ("*", "*", true),
            ("INBOX", "inbox", true),
            ("INBOX", "INBOX/A", false),
            ("INBOX/*", "INBOX", false),
            ("INBOX/*", "INBOX/", false),
            ("INBOX/*", "INBOX/A", true),
            ("INBOX/*", "INBOX/A/B", true),
            ("INBOX/*", "Inbox/A", true),
            ("INBOX/*", "INBOX.A", false),
            ("INBOX.*", "INBOX.A.B", true),
            ("INBOX/*", "INBOXES/A", false),
            ("INBOX/a/*", "inbox/a/b", true),
            ("INBOX/a/*", "inbox/A/b", false),
            ("A/*", "a/B", false),
            ("A/*", "B/A/C", false),
        ] {
            let folder = FolderName::new(folder).unwrap();
            assert_eq!(pattern(path).covers(&folder), covered, "{path} {folder}");
        }
    }

    #[test]
    fn pattern_contains_and_overlaps_others() {
        for (one, other, contains, overlaps) in [
            ("*", "A", true, true),
            ("*", "A/*", true, true),
            ("*", "*", true, true),
            ("A/*", "*", false, true),
            ("A/*", "A/B/*", true, true),
            ("A/*", "A", false, false),
            ("A/*", "A/B", true, true),
            ("A/B", "A/*", false, true),
            ("A/*", "B/*", false, false),
            ("A", "A", true, true),
            ("A", "B", false, false),
        ] {
            let (one, other) = (pattern(one), pattern(other));
            assert_eq!(one.contains(&other), contains, "{one} {other}");
            assert_eq!(one.overlaps(&other), overlaps, "{one} {other}");
        }
    }
}
