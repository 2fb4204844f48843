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
        if let Some((attributes, name)) = split_bare_backslash(rest) {
            let values = value::values(attributes, limits)?;
            let names = value::values(name, limits)?;
            return Ok(Self {
                attributes: words(values.first())?,
                delimiter: Some('\\'),
                name: mailbox(frame, names.first().ok_or(Malformed)?)?,
            });
        }
        let values = value::values(rest, limits)?;
        let [attributes, delimiter, name, ..] = values.as_slice() else {
            return Err(Malformed);
        };
        Ok(Self {
            attributes: words(Some(attributes))?,
            delimiter: delimiter
                .string()
                .and_then(|d| d.first().copied())
                .map(char::from),
            name: mailbox(frame, name)?,
        })
    }
}

/// QUIRK: some servers send a backslash as delimiter without escaping it: `(\Marked) "\" name`.
fn split_bare_backslash(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let (attributes, after) = rest.split_at_checked(memchr::memchr(b')', rest)? + 1)?;
    let name = after.trim_ascii_start().strip_prefix(br#""\" "#)?;
    Some((attributes, name))
}

fn words(list: Option<&Value<'_>>) -> Result<Vec<String>, Malformed> {
    let list = list.and_then(Value::list).ok_or(Malformed)?;
    let words = list.iter().filter_map(Value::string);
    Ok(words
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect())
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
            // INVARIANT: a number that no mailbox can have is unknown, and not shown to anyone.
            let number = value
                .number()
                .filter(|number| u32::try_from(*number).is_ok());
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
