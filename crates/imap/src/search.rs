//! The typed views of `SEARCH` and `ESEARCH` responses.

use bytes::Bytes;

use crate::sequence::Collector;
use crate::value::{self, number};
use crate::{Limits, Malformed, SequenceSet, Value};

/// `* SEARCH 2 84 882 (MODSEQ 9)`. Read without the tokenizer: a mailbox may hold a million matches.
///
/// INVARIANT: a word that is no message number makes the answer malformed. Without it the rest
/// could be no match at all.
pub(crate) fn read_search(rest: &[u8]) -> Result<SequenceSet, Malformed> {
    let end = memchr::memchr(b'(', rest).unwrap_or(rest.len());
    let words = rest.get(..end).unwrap_or_default();
    let words = words.split(|b| b.is_ascii_whitespace());
    let mut collector = Collector::default();
    for word in words.filter(|word| !word.is_empty()) {
        let number = message_number(word).ok_or(Malformed)?;
        collector.add(number, number);
    }
    Ok(collector.finish())
}

/// From 1 to 2^32 - 1 (RFC 3501 section 9, `nz-number`).
pub(crate) fn message_number(digits: &[u8]) -> Option<u32> {
    let number = u32::try_from(number(digits)?).ok()?;
    (number > 0).then_some(number)
}

/// RFC 4731, with the `PARTIAL` of RFC 9394.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Esearch {
    /// The tag of the command that this answers.
    pub tag: Option<Bytes>,
    pub uid: bool,
    pub count: Option<u64>,
    pub all: Option<SequenceSet>,
    pub partial: Option<PartialResult>,
}

#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct PartialResult {
    pub range: String,
    pub set: SequenceSet,
}

impl Esearch {
    pub(crate) fn read(frame: &Bytes, rest: &[u8], limits: &Limits) -> Result<Self, Malformed> {
        let values = value::values(rest, limits)?;
        let mut found = Self::default();
        let mut rest = values.as_slice();
        if let [Value::List(correlator), after @ ..] = rest {
            let mut pairs = correlator.chunks(2);
            found.tag = pairs.find_map(|pair| match pair {
                [name, tag] if name.string()?.eq_ignore_ascii_case(b"TAG") => tag.owned(frame),
                _ => None,
            });
            rest = after;
        }
        while let [item, after @ ..] = rest {
            rest = after;
            let word = item.string().unwrap_or_default().to_ascii_uppercase();
            if word == b"UID" {
                found.uid = true;
                continue;
            }
            let [value, after @ ..] = rest else { break };
            rest = after;
            match word.as_slice() {
                b"COUNT" => found.count = Some(count(value)?),
                b"ALL" => found.all = Some(set(value)?),
                b"PARTIAL" => found.partial = Some(partial(value)?),
                _ => {}
            }
        }
        Ok(found)
    }
}

fn count(value: &Value<'_>) -> Result<u64, Malformed> {
    let count = value.number().ok_or(Malformed)?;
    u32::try_from(count).map(u64::from).map_err(|_| Malformed)
}

/// QUIRK: `NIL` for no message.
fn set(value: &Value<'_>) -> Result<SequenceSet, Malformed> {
    if value.is_nil() {
        return Ok(SequenceSet::default());
    }
    let text = value.string().ok_or(Malformed)?;
    SequenceSet::parse(text).ok_or(Malformed)
}

fn partial(value: &Value<'_>) -> Result<PartialResult, Malformed> {
    let Some([range, found]) = value.list() else {
        return Err(Malformed);
    };
    let range = range.string().ok_or(Malformed)?;
    Ok(PartialResult {
        range: String::from_utf8_lossy(range).into_owned(),
        set: set(found)?,
    })
}
