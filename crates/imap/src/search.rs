//! The typed views of `SEARCH` and `ESEARCH` responses.

use bytes::Bytes;

use crate::value::{self, number};
use crate::{Limits, Malformed, SequenceSet, Value};

/// `* SEARCH 2 84 882 (MODSEQ 9)`. Read without the tokenizer: a mailbox may hold a million matches.
pub(crate) fn read_search(rest: &[u8]) -> SequenceSet {
    let end = memchr::memchr(b'(', rest).unwrap_or(rest.len());
    let numbers = rest
        .get(..end)
        .unwrap_or_default()
        .split(|b| b.is_ascii_whitespace())
        .filter_map(|word| number(word)?.try_into().ok());
    SequenceSet::of(numbers)
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
                b"COUNT" => found.count = value.number(),
                b"ALL" => found.all = value.string().and_then(SequenceSet::parse),
                b"PARTIAL" => found.partial = partial(value),
                _ => {}
            }
        }
        Ok(found)
    }
}

fn partial(value: &Value<'_>) -> Option<PartialResult> {
    let [range, set] = value.list()? else {
        return None;
    };
    Some(PartialResult {
        range: String::from_utf8_lossy(range.string()?).into_owned(),
        set: match set.string() {
            Some(set) => SequenceSet::parse(set)?,
            None => SequenceSet::default(),
        },
    })
}
