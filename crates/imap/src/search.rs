//! The typed views of `SEARCH` and `ESEARCH` responses.

use bytes::Bytes;

use crate::value::{self, number};
use crate::{Limits, Malformed, SequenceSet, Value};

/// `* SEARCH 2 84 882 (MODSEQ 9)`. Read without the tokenizer: a mailbox may hold a million matches.
pub(crate) fn read_search(rest: &[u8]) -> SequenceSet {
    let numbers = rest
        .split(|b| b.is_ascii_whitespace())
        .take_while(|word| !word.starts_with(b"("))
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
            if let [name, tag] = correlator.as_slice()
                && name
                    .string()
                    .is_some_and(|n| n.eq_ignore_ascii_case(b"TAG"))
            {
                found.tag = tag.owned(frame);
            }
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
