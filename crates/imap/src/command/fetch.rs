//! `FETCH` and `UID FETCH`, with `PEEK` only: reading never sets `\Seen`.

use super::Command;
use crate::SequenceSet;

/// One thing to fetch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Item {
    Flags,
    InternalDate,
    Size,
    BodyStructure,
    /// `X-GM-THRID` (Gmail's `X-GM-EXT-1`).
    GmailThread,
    /// `X-GM-MSGID`.
    GmailMessage,
    /// `X-GM-LABELS`.
    GmailLabels,
    /// `THREADID` (`OBJECTID`, RFC 8474).
    ObjectThread,
    /// So many octets from the beginning of a part, or all of it.
    Peek(Part, Option<u32>),
    /// Octets from the middle of a part.
    Slice {
        part: Part,
        from: u32,
        most: u32,
    },
}

/// Which part of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Part {
    Whole,
    Header,
    /// Only these fields; names we wrote ourselves.
    HeaderFields(&'static [&'static str]),
    Text,
    Section(Vec<u32>),
}

impl Part {
    /// How the server names it in its answer, see [`crate::Fetch::section`].
    pub fn name(&self) -> String {
        match self {
            Self::Whole => String::new(),
            Self::Header => "HEADER".to_owned(),
            Self::HeaderFields(fields) => format!("HEADER.FIELDS ({})", fields.join(" ")),
            Self::Text => "TEXT".to_owned(),
            Self::Section(path) => path
                .iter()
                .map(u32::to_string)
                .collect::<Vec<_>>()
                .join("."),
        }
    }
}

impl Item {
    fn wire(&self) -> String {
        match self {
            Self::Flags => "FLAGS".to_owned(),
            Self::InternalDate => "INTERNALDATE".to_owned(),
            Self::Size => "RFC822.SIZE".to_owned(),
            Self::BodyStructure => "BODYSTRUCTURE".to_owned(),
            Self::GmailThread => "X-GM-THRID".to_owned(),
            Self::GmailMessage => "X-GM-MSGID".to_owned(),
            Self::GmailLabels => "X-GM-LABELS".to_owned(),
            Self::ObjectThread => "THREADID".to_owned(),
            Self::Peek(part, None) => format!("BODY.PEEK[{}]", part.name()),
            Self::Peek(part, Some(octets)) => {
                format!("BODY.PEEK[{}]<0.{}>", part.name(), (*octets).max(1))
            }
            Self::Slice { part, from, most } => {
                format!("BODY.PEEK[{}]<{from}.{}>", part.name(), (*most).max(1))
            }
        }
    }
}

/// The `FETCH` responses that a command asks for.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Fetches {
    pub(crate) messages: Messages,
    /// The sections asked for, as the server names them.
    pub(crate) sections: Vec<String>,
    /// Octets that one message needs for all of its items, if the server keeps to what was asked.
    pub(crate) octets: u64,
}

/// Which messages a command asks about.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Messages {
    Uids(SequenceSet),
    Numbers(SequenceSet),
    /// What the last search kept: any.
    Saved,
}

/// Octets of an item without a length of its own: flags, a date, a number.
const SMALL_ITEM_BYTES: u64 = 1 << 10;
/// A structure or a header: most are far smaller.
const DESCRIPTION_BYTES: u64 = 64 << 10;

impl Item {
    fn octets(&self) -> u64 {
        match self {
            Self::Flags
            | Self::InternalDate
            | Self::Size
            | Self::GmailThread
            | Self::GmailMessage
            | Self::ObjectThread => SMALL_ITEM_BYTES,
            Self::BodyStructure
            | Self::GmailLabels
            | Self::Peek(Part::Header | Part::HeaderFields(_), None) => DESCRIPTION_BYTES,
            Self::Peek(_, None) => u64::MAX,
            Self::Peek(_, Some(most)) | Self::Slice { most, .. } => {
                SMALL_ITEM_BYTES + u64::from(*most)
            }
        }
    }

    fn section(&self) -> Option<String> {
        match self {
            Self::Peek(part, _) | Self::Slice { part, .. } => Some(part.name()),
            _ => None,
        }
    }
}

impl Fetches {
    pub(crate) fn of(messages: Messages, items: &[Item]) -> Self {
        Self {
            messages,
            sections: items.iter().filter_map(Item::section).collect(),
            octets: items.iter().map(Item::octets).fold(0, u64::saturating_add),
        }
    }
}

impl Command {
    pub fn uid_fetch(uids: &SequenceSet, items: &[Item]) -> Self {
        Self::new("UID FETCH").fetch_what(Messages::Uids(uids.clone()), items)
    }

    /// Of what the last search kept (`$`, RFC 5182).
    pub fn uid_fetch_saved(items: &[Item]) -> Self {
        Self::new("UID FETCH").fetch_what(Messages::Saved, items)
    }

    /// By message sequence number, for the end of a mailbox whose size is known.
    pub fn fetch(numbers: &SequenceSet, items: &[Item]) -> Self {
        Self::new("FETCH").fetch_what(Messages::Numbers(numbers.clone()), items)
    }

    fn fetch_what(self, messages: Messages, items: &[Item]) -> Self {
        let set = match &messages {
            Messages::Uids(set) | Messages::Numbers(set) => set.to_string(),
            Messages::Saved => "$".to_owned(),
        };
        let uid = std::iter::once("UID".to_owned());
        let names: Vec<String> = uid.chain(items.iter().map(Item::wire)).collect();
        let mut command = self.syntax(&format!(" {set} ({})", names.join(" ")));
        command.fetches = Some(Fetches::of(messages, items));
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Literals, wire};

    #[test]
    fn fetches_on_the_wire() {
        let items = [
            Item::Flags,
            Item::BodyStructure,
            Item::Peek(Part::Header, Some(65_536)),
            Item::Peek(Part::HeaderFields(&["CONTENT-TYPE"]), None),
            Item::Peek(Part::Section(vec![1, 2]), Some(100)),
            Item::Peek(Part::Whole, None),
            Item::Slice {
                part: Part::Whole,
                from: 262_144,
                most: 65_536,
            },
        ];
        let command = Command::uid_fetch(&SequenceSet::of([7, 8, 9, 12]), &items);
        assert_eq!(
            wire(&command, Literals::Plus),
            "a1 UID FETCH 7:9,12 (UID FLAGS BODYSTRUCTURE BODY.PEEK[HEADER]<0.65536> \
             BODY.PEEK[HEADER.FIELDS (CONTENT-TYPE)] BODY.PEEK[1.2]<0.100> BODY.PEEK[] BODY.PEEK[]<262144.65536>)\r\n"
        );
    }

    #[test]
    fn what_was_kept_is_fetched_by_its_sign() {
        let items = [
            Item::GmailThread,
            Item::GmailMessage,
            Item::GmailLabels,
            Item::ObjectThread,
        ];
        assert_eq!(
            wire(&Command::uid_fetch_saved(&items), Literals::Plus),
            "a1 UID FETCH $ (UID X-GM-THRID X-GM-MSGID X-GM-LABELS THREADID)\r\n"
        );
    }

    #[test]
    fn nothing_sets_seen() {
        let all = [
            Part::Whole,
            Part::Header,
            Part::Text,
            Part::Section(vec![1]),
        ];
        for part in all {
            assert!(Item::Peek(part, None).wire().starts_with("BODY.PEEK["));
        }
    }
}
