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
    Esearch(Esearch),
    Exists(u32),
    Expunge(u32),
    /// UIDs that are gone (RFC 7162), with the word `(EARLIER)` or without.
    Vanished(SequenceSet),
    Fetch(Box<Fetch>),
    /// Not understood, or not needed: the line without its end.
    Other(Bytes),
}

impl Response {
    /// Never fails: what cannot be read is [`Data::Other`].
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
    let data = match value::number(name) {
        Some(number) => numbered(frame, number, rest, limits),
        None => named(frame, name, rest, limits),
    };
    data.unwrap_or_else(|| Data::Other(share(frame, line)))
}

fn numbered(frame: &Bytes, number: u64, rest: &[u8], limits: &Limits) -> Option<Data> {
    let number = u32::try_from(number).ok()?;
    let (name, rest) = word(rest);
    match name.to_ascii_uppercase().as_slice() {
        b"EXISTS" => Some(Data::Exists(number)),
        b"EXPUNGE" => Some(Data::Expunge(number)),
        b"FETCH" => {
            let fetch = Fetch::read(frame, number, rest, limits).ok()?;
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
        b"SEARCH" => Some(Data::Search(search::read_search(rest))),
        b"ESEARCH" => Esearch::read(frame, rest, limits).ok().map(Data::Esearch),
        b"VANISHED" => {
            let values = value::values(rest, limits).ok()?;
            let set = values.iter().rev().find_map(Value::string)?;
            SequenceSet::parse(set).map(Data::Vanished)
        }
        _ => None,
    }
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
