//! The typed views of `LIST` and `STATUS` responses.

use bytes::Bytes;

use crate::value;
use crate::{Limits, Malformed, Value};

#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct List {
    /// As sent, such as `\HasNoChildren` or `\Sent`.
    pub attributes: Vec<String>,
    pub delimiter: Option<char>,
    /// As on the wire: modified UTF-7, or UTF-8 where that was enabled.
    pub name: Bytes,
}

impl List {
    pub fn has(&self, attribute: &str) -> bool {
        self.attributes
            .iter()
            .any(|known| known.eq_ignore_ascii_case(attribute))
    }

    /// Extended data behind the name (RFC 5258) is passed over.
    pub(crate) fn read(frame: &Bytes, rest: &[u8], limits: &Limits) -> Result<Self, Malformed> {
        let values = value::values(rest, limits)?;
        let [attributes, delimiter, name, ..] = values.as_slice() else {
            return Err(Malformed);
        };
        let attributes = attributes
            .list()
            .ok_or(Malformed)?
            .iter()
            .filter_map(Value::string);
        Ok(Self {
            attributes: attributes
                .map(|a| String::from_utf8_lossy(a).into_owned())
                .collect(),
            delimiter: delimiter
                .string()
                .and_then(|d| d.first().copied())
                .map(char::from),
            name: mailbox(frame, name)?,
        })
    }
}

#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct MailboxStatus {
    pub name: Bytes,
    pub messages: Option<u64>,
    pub unseen: Option<u64>,
    pub uidnext: Option<u64>,
    pub uidvalidity: Option<u64>,
}

impl MailboxStatus {
    pub(crate) fn read(frame: &Bytes, rest: &[u8], limits: &Limits) -> Result<Self, Malformed> {
        let values = value::values(rest, limits)?;
        let [name, items, ..] = values.as_slice() else {
            return Err(Malformed);
        };
        let mut status = Self {
            name: mailbox(frame, name)?,
            ..Self::default()
        };
        for pair in items.list().ok_or(Malformed)?.chunks(2) {
            let [item, value] = pair else { continue };
            let number = value.number();
            match item
                .string()
                .unwrap_or_default()
                .to_ascii_uppercase()
                .as_slice()
            {
                b"MESSAGES" => status.messages = number,
                b"UNSEEN" => status.unseen = number,
                b"UIDNEXT" => status.uidnext = number,
                b"UIDVALIDITY" => status.uidvalidity = number,
                _ => {}
            }
        }
        Ok(status)
    }
}

/// QUIRK: a mailbox may be called NIL, and then stands as an atom.
fn mailbox(frame: &Bytes, value: &Value<'_>) -> Result<Bytes, Malformed> {
    match value {
        Value::Atom(name) => Ok(value::share(frame, name)),
        other => other.owned(frame).ok_or(Malformed),
    }
}
