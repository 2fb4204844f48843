//! The envelope of a message: the header fields that a list of mail shows, undecoded.

use crate::Raw;

/// What a source gives of the header of a message that it lists.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SummaryHeader {
    Fields(HeaderFields),
    /// What the store's own database says where the message itself is not on this machine. Lists
    /// show it; policies do not judge by it.
    Database(Envelope),
}

/// The fields named in [`HeaderFields::NAMES`], each as it stands in the message, and perhaps
/// others.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct HeaderFields {
    pub block: Raw,
    /// The message may have more of these fields.
    pub truncated: bool,
}

impl HeaderFields {
    /// The fields that lists show and policies judge.
    pub const NAMES: [&str; 7] = [
        "FROM",
        "TO",
        "CC",
        "SUBJECT",
        "DATE",
        "MESSAGE-ID",
        "IN-REPLY-TO",
    ];
    /// More octets of them are not read.
    pub const MAX_BYTES: usize = 64 * 1024;
}

impl SummaryHeader {
    pub(crate) fn octets(&self) -> usize {
        match self {
            Self::Fields(fields) => fields.block.len(),
            Self::Database(envelope) => envelope.octets(),
        }
    }
}

#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Envelope {
    pub date: Option<Raw>,
    pub subject: Option<Raw>,
    pub from: Vec<Address>,
    pub to: Vec<Address>,
    pub cc: Vec<Address>,
    /// With its angle brackets.
    pub message_id: Option<Raw>,
    pub in_reply_to: Option<Raw>,
}

impl Envelope {
    /// Of all that stands in it.
    fn octets(&self) -> usize {
        let alone = [
            &self.date,
            &self.subject,
            &self.message_id,
            &self.in_reply_to,
        ];
        let people = [&self.from, &self.to, &self.cc];
        let named = people
            .into_iter()
            .flatten()
            .flat_map(|one| [&one.name, &one.mailbox, &one.host]);
        let words = alone.into_iter().chain(named).flatten();
        words.map(Raw::len).sum()
    }
}

/// One address. A group's name stands as an address without host (RFC 3501 section 7.4.2).
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Address {
    /// The display name, RFC 2047 words undecoded.
    pub name: Option<Raw>,
    pub mailbox: Option<Raw>,
    pub host: Option<Raw>,
}
