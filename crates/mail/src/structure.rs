//! The MIME structure of a message: flat lists of its leaf parts and of its multiparts, each with
//! its place.
//!
//! Flat on purpose: nesting is the sender's choice, and no code of ours has to recurse into it.
//! Section numbers are paths, so the tree can be read from them.

use std::fmt;

use crate::Raw;

/// An IMAP section number such as `1`, `2.1` or `2.1.3` (RFC 3501 section 6.4.5). Never empty.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Section(Vec<u32>);

impl Section {
    /// `None` when empty or when a number is zero.
    pub fn new(path: Vec<u32>) -> Option<Self> {
        (!path.is_empty() && path.iter().all(|n| *n > 0)).then_some(Self(path))
    }

    pub fn parse(text: &str) -> Option<Self> {
        let path: Option<Vec<u32>> = text.split('.').map(|n| n.parse().ok()).collect();
        Self::new(path?)
    }

    pub fn path(&self) -> &[u32] {
        &self.0
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, number) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(".")?;
            }
            write!(f, "{number}")?;
        }
        Ok(())
    }
}

/// The leaves in the order in which they stand in the message.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Structure {
    pub leaves: Vec<Leaf>,
    /// The multiparts that leaves lie in.
    pub multiparts: Vec<Multipart>,
    /// The source stopped describing parts: there are more, or they lie deeper, than it would say.
    pub cut: bool,
}

impl Structure {
    pub fn leaf(&self, section: &Section) -> Option<&Leaf> {
        self.leaves.iter().find(|leaf| leaf.section == *section)
    }

    /// Of what it says about the parts, or about so many.
    pub(crate) fn octets_told(&self) -> usize {
        let each = self.leaves.iter().map(|leaf| {
            let names = [&leaf.filename, &leaf.content_id];
            let names = names.into_iter().flatten().map(Raw::len);
            64 + leaf.mime_type.len() + names.sum::<usize>()
        });
        let multiparts = self.multiparts.iter().map(Multipart::octets);
        each.chain(multiparts).sum()
    }
}

/// A part that consists of parts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Multipart {
    /// The section number of its parts without the last number; empty for the outermost multipart.
    pub path: Vec<u32>,
    /// Lower case (`alternative`, `related`, …), at most [`Multipart::MAX_SUBTYPE_BYTES`] long.
    pub subtype: String,
    /// The `start` parameter of a multipart/related (RFC 2387 section 3.2): the Content-ID of its
    /// root.
    pub start: Option<Raw>,
}

impl Multipart {
    /// RFC 6838 section 4.2.
    pub const MAX_SUBTYPE_BYTES: usize = 127;
    /// A longer `start` parameter names no part (RFC 5322 section 2.1.1).
    pub const MAX_START_BYTES: usize = 998;

    /// About as many as it takes in memory.
    pub fn octets(&self) -> usize {
        let start = self.start.as_ref().map_or(0, Raw::len);
        64 + self.path.len() * size_of::<u32>() + self.subtype.len() + start
    }
}

/// A part without parts. A forwarded message (`message/rfc822`) is one leaf; its insides are its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Leaf {
    pub section: Section,
    /// Lower case, such as `text/plain`; `application/octet-stream` when the source gave none.
    pub mime_type: String,
    pub charset: Option<String>,
    /// `Content-Transfer-Encoding`, lower case.
    pub encoding: String,
    /// Encoded size in octets, as it would travel.
    pub octets: u64,
    pub disposition: Option<Disposition>,
    /// File name from `Content-Disposition` or the `name` parameter, undecoded (RFC 2047 or 2231).
    pub filename: Option<Raw>,
    /// With its angle brackets.
    pub content_id: Option<Raw>,
    pub flow: Flow,
}

/// Whether line breaks are the sender's or only the transport's (RFC 3676).
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Flow {
    #[default]
    Fixed,
    /// `format=flowed`: a blank before a line break makes it soft.
    Flowed,
    /// `format=flowed; delsp=yes`: that blank goes away with the break.
    FlowedDelSp,
}

impl Flow {
    /// From the values of the `format` and `delsp` parameters.
    pub fn from_parameters(format: Option<&[u8]>, delsp: Option<&[u8]>) -> Self {
        let is = |value: Option<&[u8]>, word: &[u8]| {
            value.is_some_and(|value| value.trim_ascii().eq_ignore_ascii_case(word))
        };
        match (is(format, b"flowed"), is(delsp, b"yes")) {
            (false, _) => Self::Fixed,
            (true, false) => Self::Flowed,
            (true, true) => Self::FlowedDelSp,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Disposition {
    Inline,
    Attachment,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_read_and_print() {
        for text in ["1", "2.1", "10.2.33"] {
            assert_eq!(Section::parse(text).unwrap().to_string(), text);
        }
        for bad in ["", "0", "1.0", "a", "1..2", "1.", "-1", "99999999999"] {
            assert_eq!(Section::parse(bad), None, "{bad}");
        }
    }
}
