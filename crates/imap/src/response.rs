//! One whole response, typed as far as we use it and raw beyond that.

use bytes::Bytes;

use crate::list::{List, MailboxStatus};
use crate::search::{self, Esearch};
use crate::value::{self, share};
use crate::{Capabilities, Fetch, Limits, SequenceSet, Status, Value};

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Response {
    /// `+ text`
    Continuation(Bytes),
    /// `a1 OK …`
    Tagged(Bytes, Status),
    /// `* …`
    Untagged(Data),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Data {
    Status(Status),
    Capability(Capabilities),
    Enabled(Capabilities),
    List(List),
    MailboxStatus(MailboxStatus),
    Search(SequenceSet),
    Esearch(Box<Esearch>),
    Exists(u32),
    Expunge(u32),
    /// UIDs that are gone (RFC 7162), with the word `(EARLIER)` or without.
    Vanished(SequenceSet),
    Fetch(Box<Fetch>),
    /// Not understood, or not needed: the line without its end.
    Other(Bytes),
    /// An answer of this name whose numbers or syntax cannot be read. INVARIANT: never taken for an
    /// empty answer.
    Malformed(&'static str),
}

impl Data {
    /// How many values it stores beside the octets of its response: about 64 octets of memory each.
    /// A few octets may become many values, so a bound on octets alone is none on memory.
    pub fn stored_values(&self) -> usize {
        let own = match self {
            Self::Status(status) => usize::from(status.code.is_some()),
            Self::Capability(names) | Self::Enabled(names) => texts(names.names()),
            Self::List(list) => texts(&list.attributes),
            Self::Search(set) | Self::Vanished(set) => numbers(set),
            Self::Esearch(found) => {
                let partial = found.partial.as_ref().map(|partial| &partial.set);
                let sets = found.all.iter().chain(partial);
                4 + sets.map(numbers).sum::<usize>()
            }
            Self::Fetch(fetch) => fetch.stored_values(),
            Self::MailboxStatus(_)
            | Self::Exists(_)
            | Self::Expunge(_)
            | Self::Other(_)
            | Self::Malformed(_) => 0,
        };
        own + 2
    }
}

fn numbers(set: &SequenceSet) -> usize {
    set.ranges().len().div_ceil(8)
}

/// Strings of their own, which are copied out of the response.
pub(crate) fn texts(strings: &[String]) -> usize {
    strings.iter().map(|one| 1 + one.len() / 64).sum()
}

impl Response {
    /// Never fails: what cannot be read is [`Data::Other`], or [`Data::Malformed`] where it would
    /// have been an answer.
    pub fn parse(frame: &Bytes, limits: &Limits) -> Self {
        let line = frame.strip_suffix(b"\n").unwrap_or(frame);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // QUIRK: `+idling`. No tag has a plus in it (RFC 3501 section 9).
        if let Some(text) = line.strip_prefix(b"+") {
            return Self::Continuation(share(frame, text.trim_ascii_start()));
        }
        let (first, rest) = word(line);
        match first {
            b"*" => Self::Untagged(untagged(frame, rest, limits)),
            _ => {
                let (status, text) = word(rest);
                match Status::parse(frame, status, text) {
                    Some(status) => Self::Tagged(share(frame, first), status),
                    None => Self::Untagged(Data::Other(share(frame, line))),
                }
            }
        }
    }
}

fn untagged(frame: &Bytes, line: &[u8], limits: &Limits) -> Data {
    let (name, rest) = word(line);
    if let Some(status) = Status::parse(frame, name, rest) {
        return Data::Status(status);
    }
    let data = match name.first() {
        Some(b'0'..=b'9' | b'-' | b'+') => {
            let number = value::number(name).and_then(|number| u32::try_from(number).ok());
            numbered(frame, number, rest, limits)
        }
        _ => named(frame, name, rest, limits),
    };
    data.unwrap_or_else(|| Data::Other(share(frame, line)))
}

/// `* 3 EXISTS`, `* 3 EXPUNGE` and `* 3 FETCH`. `None` for what has another name.
fn numbered(frame: &Bytes, number: Option<u32>, rest: &[u8], limits: &Limits) -> Option<Data> {
    let (name, rest) = word(rest);
    match name.to_ascii_uppercase().as_slice() {
        b"EXISTS" => Some(number.map_or(Data::Malformed("EXISTS"), Data::Exists)),
        b"EXPUNGE" => {
            let number = number.filter(|number| *number > 0);
            Some(number.map_or(Data::Malformed("EXPUNGE"), Data::Expunge))
        }
        b"FETCH" => {
            let fetch = Fetch::read(frame, number?, rest, limits).ok()?;
            Some(Data::Fetch(Box::new(fetch)))
        }
        _ => None,
    }
}

fn named(frame: &Bytes, name: &[u8], rest: &[u8], limits: &Limits) -> Option<Data> {
    let names = || {
        value::values(rest, limits)
            .ok()
            .map(|v| Capabilities::from_values(&v))
    };
    match name.to_ascii_uppercase().as_slice() {
        b"CAPABILITY" => names().map(Data::Capability),
        b"ENABLED" => names().map(Data::Enabled),
        b"LIST" => List::read(frame, rest, limits).ok().map(Data::List),
        b"STATUS" => MailboxStatus::read(frame, rest, limits)
            .ok()
            .map(Data::MailboxStatus),
        b"SEARCH" => {
            Some(search::read_search(rest).map_or(Data::Malformed("SEARCH"), Data::Search))
        }
        b"ESEARCH" => {
            let read = Esearch::read(frame, rest, limits);
            Some(read.map_or(Data::Malformed("ESEARCH"), |found| {
                Data::Esearch(Box::new(found))
            }))
        }
        b"VANISHED" => {
            Some(vanished(rest, limits).map_or(Data::Malformed("VANISHED"), Data::Vanished))
        }
        _ => None,
    }
}

fn vanished(rest: &[u8], limits: &Limits) -> Option<SequenceSet> {
    let values = value::values(rest, limits).ok()?;
    let set = values.iter().rev().find_map(Value::string)?;
    SequenceSet::parse(set)
}

/// The first word and what follows its spaces.
/// QUIRK: some servers put two spaces, or none before a parenthesis or bracket.
pub(crate) fn word(line: &[u8]) -> (&[u8], &[u8]) {
    let line = line.trim_ascii_start();
    let end = line
        .iter()
        .position(|b| matches!(b, b' ' | b'(' | b'['))
        .unwrap_or(line.len());
    let (word, rest) = line.split_at(end);
    (word, rest.trim_ascii_start())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stored(line: &str) -> (usize, Data) {
        let frame = Bytes::from(format!("* {line}\r\n"));
        match Response::parse(&frame, &Limits::default()) {
            Response::Untagged(data) => (data.stored_values(), data),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn stored_values_grow_with_what_is_stored() {
        let many = |word: &str| vec![word; 1_000].join(" ");
        for (line, least) in [
            (format!("1 FETCH (UID 1 FLAGS ({}))", many("a")), 1_000),
            (format!("1 FETCH (X-GM-LABELS ({}))", many("a")), 1_000),
            (format!("1 FETCH ({})", many("BODY[9] NIL")), 2_000),
            (format!("1 FETCH (FLAGS ({}))", "x".repeat(64_000)), 1_000),
            (format!("CAPABILITY {}", many("a")), 1_000),
            (format!("LIST ({}) \"/\" x", many("a")), 1_000),
            (
                format!(
                    "1 FETCH (BODYSTRUCTURE (\"a\" \"b\" ({}) NIL NIL \"7bit\" 1 1))",
                    many("\"a\" \"b\"")
                ),
                200,
            ),
        ] {
            let (values, data) = stored(&line);
            assert!((least..least + 100).contains(&values), "{values} {data:?}");
        }
        assert_eq!(stored("5 EXPUNGE").0, 2);
        assert_eq!(stored(&format!("SEARCH {}", many("1"))).0, 3);
    }

    proptest! {
        /// A response never stores more values than it has octets, but for the few of its own.
        #[test]
        fn stored_values_are_bounded_by_octets(line in "(1 FETCH |LIST |SEARCH |ESEARCH |CAPABILITY |VANISHED )[ ()A-Z0-9\"\\\\\\[\\]:,.]{0,300}") {
            let (values, data) = stored(&line);
            prop_assert!(values <= 16 + 4 * line.len(), "{} {:?}", values, data);
        }

        #[test]
        fn numbers_are_read_whole_or_not_at_all(words in proptest::collection::vec("-?[0-9]{1,11}", 1..8)) {
            let line = format!("SEARCH {}", words.join(" "));
            let numbers: Option<Vec<u32>> = words
                .iter()
                .map(|word| word.parse().ok().filter(|number| *number > 0))
                .collect();
            match (stored(&line).1, numbers) {
                (Data::Search(set), Some(numbers)) => prop_assert_eq!(set, SequenceSet::of(numbers)),
                (Data::Malformed("SEARCH"), None) => {}
                (other, numbers) => prop_assert!(false, "{:?} {:?}", other, numbers),
            }
        }
    }
}
