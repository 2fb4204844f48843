//! The typed view of a `FETCH` response. An item that is not understood costs only itself.

use bytes::Bytes;

use crate::value::{self, share};
use crate::{BodyStructure, Envelope, Limits, Malformed, Value};

#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Fetch {
    pub sequence: u32,
    pub uid: Option<u32>,
    pub flags: Option<Vec<String>>,
    /// `INTERNALDATE` in seconds since 1970.
    pub internal_date: Option<i64>,
    pub size: Option<u64>,
    pub modseq: Option<u64>,
    pub envelope: Option<Envelope>,
    pub structure: Option<BodyStructure>,
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
        let found = self
            .sections
            .iter()
            .find(|one| one.section == name && one.origin.unwrap_or(0) == 0 && one.data.is_some());
        found.and_then(|one| one.data.as_ref())
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
        for pair in items.chunks(2) {
            if let [Value::Atom(name), value] = pair {
                fetch.take(frame, name, value);
            }
        }
        Ok(fetch)
    }

    fn take(&mut self, frame: &Bytes, name: &[u8], value: &Value<'_>) {
        let name = String::from_utf8_lossy(name).to_ascii_uppercase();
        match name.as_str() {
            "UID" => self.uid = value.number().and_then(|n| n.try_into().ok()),
            "FLAGS" => self.flags = value.list().map(strings),
            "INTERNALDATE" => self.internal_date = value.string().and_then(crate::date::parse),
            "RFC822.SIZE" => self.size = value.number(),
            "MODSEQ" => self.modseq = value.list().and_then(|l| l.first()?.number()),
            "ENVELOPE" => self.envelope = Envelope::read(frame, value),
            "BODYSTRUCTURE" | "BODY" => self.structure = BodyStructure::read(frame, value),
            _ => match section_name(&name) {
                Some((section, origin)) => self.sections.push(SectionData {
                    section: section.to_owned(),
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

/// `BODY[HEADER]<0>` is section `HEADER` from octet 0.
fn section_name(name: &str) -> Option<(&str, Option<u32>)> {
    let (section, after) = name.strip_prefix("BODY[")?.rsplit_once(']')?;
    let origin = after
        .strip_prefix('<')
        .and_then(|o| o.strip_suffix('>')?.parse().ok());
    Some((section, origin))
}

fn strings(values: &[Value<'_>]) -> Vec<String> {
    let strings = values.iter().filter_map(Value::string);
    strings
        .map(|flag| String::from_utf8_lossy(flag).into_owned())
        .collect()
}
