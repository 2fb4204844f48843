//! Conversations: how messages name each other, which of them belong together, and what was searched to find them.

use std::fmt;

use bytes::Bytes;
use jiff::Timestamp;

use crate::{FolderName, MessageRef, Summary};

/// A Message-ID without its angle brackets, as a header writes it. Two are the same if every octet is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HeaderId(Bytes);

impl HeaderId {
    /// A line of a header holds no more (RFC 5322 section 2.1.1).
    pub const MOST: usize = 998;

    /// None where it can be nobody's: empty, too long, or with control characters or angle brackets in it.
    pub fn new(text: &[u8]) -> Option<Self> {
        let text = text.trim_ascii();
        let text = text.strip_prefix(b"<").unwrap_or(text);
        let text = text.strip_suffix(b">").unwrap_or(text).trim_ascii();
        let odd = |byte: &u8| byte.is_ascii_control() || matches!(byte, b'<' | b'>');
        // QUIRK: some fold ids in their middle; no id holds a blank that means something.
        let text: Bytes = text.iter().copied().filter(|byte| *byte != b' ').collect();
        let fits = (1..=Self::MOST).contains(&text.len()) && !text.iter().any(odd);
        fits.then_some(Self(text))
    }

    /// For a decoder, or a server.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for HeaderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // INVARIANT: mail content appears in no log at any level, so neither in Debug output.
        write!(f, "HeaderId({} bytes)", self.0.len())
    }
}

/// What a message calls itself and which messages it answers.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Links {
    pub id: Option<HeaderId>,
    /// The oldest first.
    pub references: Vec<HeaderId>,
    pub in_reply_to: Vec<HeaderId>,
}

impl Links {
    /// The messages it stands under, the nearest last: what `References` says, else the first of `In-Reply-To`
    /// (RFC 5256 section 3).
    pub fn ancestors(&self) -> &[HeaderId] {
        match self.references.as_slice() {
            [] => self.in_reply_to.get(..1).unwrap_or_default(),
            references => references,
        }
    }

    /// Every id in it that ties messages together.
    pub fn all(&self) -> impl Iterator<Item = &HeaderId> {
        self.id.iter().chain(self.ancestors())
    }
}

/// What to look for, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sought {
    pub ids: Vec<HeaderId>,
    pub within: Within,
    pub effort: Effort,
}

/// Folders that may be searched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Within {
    /// Everywhere, the likeliest first; trash and junk for what is nowhere else.
    All,
    /// These alone, and each of them: the others are not even opened, and nothing that is found or remembered makes one of
    /// these be passed over.
    Only(Vec<FolderName>),
}

/// How much may be searched before the answer is what was found by then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    pub folders: usize,
    pub rounds: usize,
    pub messages: usize,
}

/// Messages that were found, and what stands behind the claim that there are no others.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Kindred {
    pub members: Vec<Member>,
    pub coverage: Coverage,
}

/// One copy of a message.
#[derive(Clone, PartialEq, Debug)]
pub struct Member {
    pub at: MessageRef,
    pub links: Links,
    /// Without text.
    pub summary: Summary,
}

#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Coverage {
    pub searched: Vec<FolderName>,
    pub skipped: Vec<Skipped>,
    /// What came later is not in it; absent where the store itself was asked.
    pub as_of: Option<Timestamp>,
    /// Nothing of the conversation can be missing that lies in a folder that was searched: no bound was met, and
    /// nothing failed.
    pub exhausted: bool,
}

impl Coverage {
    /// Every folder was searched, to its end.
    pub fn is_complete(&self) -> bool {
        self.exhausted && self.skipped.is_empty()
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Skipped {
    pub folder: FolderName,
    pub why: Why,
}

/// Why a folder was not searched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// Trash and junk, unless the conversation was found there.
    Discarded,
    /// There were too many folders.
    Effort,
    /// It could not be opened or read.
    Failed,
}

impl Why {
    /// The name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Discarded => "trash_or_junk",
            Self::Effort => "budget",
            Self::Failed => "failed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_what_stands_between_the_brackets() {
        let long = [b'a'; HeaderId::MOST + 1];
        for (text, want) in [
            (&b"<a@b>"[..], Some(&b"a@b"[..])),
            (b"a@b", Some(b"a@b")),
            (b" \t<a@b> ", Some(b"a@b")),
            (b"<a b@c>", Some(b"ab@c")),
            (b"../../etc/passwd", Some(b"../../etc/passwd")),
            (b"", None),
            (b"<>", None),
            (b"<a@b> <c@d>", None),
            (b"a\0b", None),
            (b"a\r\nb", None),
            (&long, None),
        ] {
            let id = HeaderId::new(text);
            assert_eq!(id.as_ref().map(HeaderId::bytes), want, "{text:?}");
        }
    }

    #[test]
    fn the_first_of_in_reply_to_counts_where_there_are_no_references() {
        let ids = |names: &[&str]| -> Vec<HeaderId> {
            let ids = names.iter().map(|name| HeaderId::new(name.as_bytes()));
            ids.map(Option::unwrap).collect()
        };
        let links = |references: &[&str], replied: &[&str]| Links {
            id: None,
            references: ids(references),
            in_reply_to: ids(replied),
        };
        assert_eq!(links(&["a", "b"], &["c"]).ancestors(), ids(&["a", "b"]));
        assert_eq!(links(&[], &["c", "d"]).ancestors(), ids(&["c"]));
        assert_eq!(links(&[], &[]).ancestors(), ids(&[]));
    }
}
