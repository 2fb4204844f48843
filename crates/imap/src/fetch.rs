//! The typed view of a `FETCH` response. An item that is not understood costs only itself.

use bytes::Bytes;

use crate::response::texts;
use crate::search::message_number;
use crate::value::{self, share};
use crate::{BodyStructure, Limits, Malformed, ThreadId, Value, utf7};

/// Flags, or labels, that one message may have: servers keep some dozens, and Gmail some hundreds.
const MAX_FLAGS: usize = 5_000;

#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Fetch {
    pub sequence: u32,
    pub uid: Option<u32>,
    pub flags: Option<Vec<String>>,
    /// `INTERNALDATE` in seconds since 1970.
    pub internal_date: Option<i64>,
    pub size: Option<u64>,
    pub modseq: Option<u64>,
    pub structure: Option<BodyStructure>,
    /// `X-GM-THRID` or `THREADID`.
    pub thread: Option<ThreadId>,
    /// `X-GM-MSGID`: the same in every folder that the message is in.
    pub gmail_message: Option<u64>,
    /// `X-GM-LABELS`, decoded; what is not spelled as a mailbox is left out.
    pub gmail_labels: Option<Vec<String>>,
    pub sections: Vec<SectionData>,
    /// Items without a typed view, by name in capitals.
    pub other: Vec<String>,
}

/// `BODY[section]<origin>`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SectionData {
    /// What stands between the brackets, in capitals: `HEADER`, `TEXT`, `1.2`, or nothing.
    pub section: String,
    pub origin: Option<u32>,
    /// `None` for `NIL`.
    pub data: Option<Bytes>,
}

impl Fetch {
    /// The bytes of a section that was asked for, from its beginning.
    pub fn section(&self, name: &str) -> Option<&Bytes> {
        self.section_from(name, 0)
    }

    /// The bytes of a section that was asked for, from an offset on.
    pub fn section_from(&self, name: &str, from: u32) -> Option<&Bytes> {
        let named = |one: &&SectionData| one.section == name && one.origin.unwrap_or(0) == from;
        let mut found = self.sections.iter().filter(named);
        found.find_map(|one| one.data.as_ref())
    }

    pub(crate) fn stored_values(&self) -> usize {
        let flags = self.flags.as_deref().unwrap_or_default();
        let labels = self.gmail_labels.as_deref().unwrap_or_default();
        let sections = self.sections.iter().map(|one| 2 + one.section.len() / 64);
        let structure = self.structure.as_ref();
        let structured = structure.map_or(0, BodyStructure::stored_values);
        let own = texts(flags) + texts(labels) + texts(&self.other);
        8 + own + sections.sum::<usize>() + structured
    }

    pub(crate) fn read(
        frame: &Bytes,
        sequence: u32,
        rest: &[u8],
        limits: &Limits,
    ) -> Result<Self, Malformed> {
        let values = value::values(rest, limits)?;
        let items = values.first().and_then(Value::list).ok_or(Malformed)?;
        let mut fetch = Self {
            sequence,
            ..Self::default()
        };
        let mut rest = items;
        while let [first, after @ ..] = rest {
            rest = after;
            // QUIRK: a value without a name, or a name without a value, costs only itself.
            let Value::Atom(name) = first else { continue };
            match after {
                [value, after @ ..] if !is_item(value) => {
                    fetch.take(frame, name, value);
                    rest = after;
                }
                _ => fetch.other.push(upper(name)),
            }
        }
        Ok(fetch)
    }

    fn take(&mut self, frame: &Bytes, name: &[u8], value: &Value<'_>) {
        let name = upper(name);
        match name.as_str() {
            "UID" => self.uid = value.string().and_then(message_number),
            // INVARIANT: more than there can be are not shown in part: they are unknown.
            "FLAGS" => self.flags = value.flags().filter(|flags| flags.len() <= MAX_FLAGS),
            "INTERNALDATE" => self.internal_date = value.string().and_then(crate::date::parse),
            // RFC 9051 section 9: `number64` has 63 bits.
            "RFC822.SIZE" => {
                let number = value.number();
                self.size = number.filter(|number| i64::try_from(*number).is_ok());
            }
            // QUIRK: the parentheses may be missing.
            "MODSEQ" => {
                let inside = value.list().and_then(<[_]>::first).unwrap_or(value);
                self.modseq = inside.number();
            }
            "X-GM-THRID" | "THREADID" => self.thread = ThreadId::read(&name, value),
            "X-GM-MSGID" => self.gmail_message = value.number(),
            "X-GM-LABELS" => {
                self.gmail_labels = labels(value).filter(|labels| labels.len() <= MAX_FLAGS);
            }
            "BODYSTRUCTURE" | "BODY" => self.structure = BodyStructure::read(frame, value),
            _ => match section_name(&name) {
                Some((section, origin)) => self.sections.push(SectionData {
                    section,
                    origin,
                    data: match value {
                        Value::Literal(bytes) => Some(share(frame, bytes)),
                        other => other.owned(frame),
                    },
                }),
                None => self.other.push(name),
            },
        }
    }
}

/// Whether this is the name of the next item rather than the value of the one before.
fn is_item(value: &Value<'_>) -> bool {
    let Value::Atom(word) = value else {
        return false;
    };
    let known: [&[u8]; 12] = [
        b"UID",
        b"FLAGS",
        b"INTERNALDATE",
        b"RFC822.SIZE",
        b"MODSEQ",
        b"ENVELOPE",
        b"BODYSTRUCTURE",
        b"BODY",
        b"X-GM-THRID",
        b"X-GM-MSGID",
        b"X-GM-LABELS",
        b"THREADID",
    ];
    known.iter().any(|name| word.eq_ignore_ascii_case(name))
        || word
            .get(..5)
            .is_some_and(|start| start.eq_ignore_ascii_case(b"BODY["))
}

/// Labels are spelled as mailboxes are; those of the system begin with a backslash.
fn labels(value: &Value<'_>) -> Option<Vec<String>> {
    let each = value.list()?.iter();
    let named = each.filter_map(|label| utf7::decode(label.string()?));
    Some(named.collect())
}

/// `BODY[HEADER]<0>` is section `HEADER` from octet 0.
/// QUIRK: some servers repeat the `.PEEK` of the question, or the length behind the origin.
fn section_name(name: &str) -> Option<(String, Option<u32>)> {
    let inside = name
        .strip_prefix("BODY[")
        .or_else(|| name.strip_prefix("BODY.PEEK["))?;
    let (section, after) = inside.rsplit_once(']')?;
    let origin = after
        .strip_prefix('<')
        .and_then(|o| o.strip_suffix('>')?.split('.').next()?.parse().ok());
    Some((plain_section(section), origin))
}

/// QUIRK: some servers quote the names in `HEADER.FIELDS ("DATE" "FROM")`, or add spaces.
fn plain_section(section: &str) -> String {
    let Some((head, fields)) = section.split_once('(') else {
        return section.to_owned();
    };
    let fields = fields
        .strip_suffix(')')
        .unwrap_or(fields)
        .split_ascii_whitespace();
    let fields: Vec<&str> = fields.map(|field| field.trim_matches('"')).collect();
    format!("{} ({})", head.trim_end(), fields.join(" "))
}

fn upper(name: &[u8]) -> String {
    String::from_utf8_lossy(name).to_ascii_uppercase()
}
