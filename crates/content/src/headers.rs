//! The header of a message for a reader: every field decoded and bounded, and what is wrong with it.

use mail::Fetched;

use crate::address::{AddressFields, AddressList, is_address_field};
use crate::changes::Changes;
use crate::header::{Field, fields, unfolded};
use crate::note::Note;
use crate::shield::{self, Fitted, Shape};
use crate::words;

const MOST_HEADERS: usize = 500;
const MOST_HEADER_CHARS: usize = 100_000;

/// At most one of each in a message (RFC 5322 section 3.6). Programs differ in which of two they show.
const SINGLE: [&str; 8] = [
    "From",
    "Sender",
    "Reply-To",
    "To",
    "Cc",
    "Subject",
    "Date",
    "Message-ID",
];

/// The headers that most readers want, in their order, repeated ones included.
pub fn curated(headers: &[(String, String)]) -> Vec<(String, String)> {
    headers
        .iter()
        .filter(|(name, _)| is_curated(name))
        .cloned()
        .collect()
}

#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Headers {
    pub list: Vec<(String, String)>,
    /// In what [`curated`] keeps, the fields of the envelope aside: they are shown and counted on their own.
    pub changes: Changes,
    /// In all others.
    pub rare: Changes,
}

/// What the fields of that name say, as a reader would be shown them.
pub fn values<'a>(header: &'a [u8], name: &'a str) -> impl Iterator<Item = String> + 'a {
    fields(header)
        .filter(move |field| field.is(name))
        .map(|field| {
            let changes = &mut Changes::default();
            if is_address_field(&field) {
                let list = AddressList::parse(field.value);
                return list.print(None, changes).unwrap_or_default();
            }
            words::shown_in(field.value, None, changes).text
        })
}

/// The text of the fields of that name, unfolded and undecoded: for searching, not for reading.
pub fn field_texts<'a>(header: &'a [u8], name: &'a str) -> impl Iterator<Item = String> + 'a {
    fields(header)
        .filter(move |field| field.is(name))
        .map(|field| String::from_utf8_lossy(&unfolded(field.value)).into_owned())
}

pub(crate) fn headers(
    fetched: &Fetched,
    addresses: &AddressFields<'_>,
    charset: Option<&str>,
    notes: &mut Vec<Note>,
) -> Headers {
    let mut shown = Headers::default();
    let mut left = MOST_HEADER_CHARS;
    let mut cut = fetched.header_truncated;
    let mut seen = [0_usize; SINGLE.len()];
    for field in fields(&fetched.header) {
        let mut changes = Changes::default();
        let name = shown_name(&field, &mut changes);
        let value = shown_value(&field, addresses, charset, &mut changes);
        let chars = name.len() + value.text.chars().count();
        let single = SINGLE
            .iter()
            .zip(&mut seen)
            .find(|(known, _)| field.is(known));
        let times = single.map_or(0, |(_, times)| {
            *times += 1;
            *times
        });
        if shown.list.len() >= MOST_HEADERS || chars > left {
            cut = true;
            break;
        }
        left -= chars;
        cut |= value.cut;
        shown.count(&name, times, changes);
        shown.list.push((name, value.text));
    }
    if cut {
        notes.push(Note::HeadersTruncated);
    }
    let repeated = SINGLE.iter().zip(seen).filter(|(_, times)| *times > 1);
    notes.extend(repeated.map(|(name, _)| Note::HeaderRepeated { name }));
    shown
}

impl Headers {
    /// `times`: how often a field that stands once was seen.
    fn count(&mut self, name: &str, times: usize, changes: Changes) {
        const ENVELOPE: [&str; 4] = ["From", "To", "Cc", "Subject"];
        if times == 1 && is_among(&ENVELOPE, name) {
            return;
        }
        if is_curated(name) {
            self.changes += changes;
        } else {
            self.rare += changes;
        }
    }
}

fn is_curated(name: &str) -> bool {
    const KEPT: [&str; 11] = [
        "Date",
        "From",
        "To",
        "Cc",
        "Reply-To",
        "Subject",
        "Message-ID",
        "In-Reply-To",
        "References",
        "List-Id",
        "List-Unsubscribe",
    ];
    is_among(&KEPT, name)
}

fn is_among(names: &[&str], name: &str) -> bool {
    names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

fn shown_name(field: &Field<'_>, changes: &mut Changes) -> String {
    let name = String::from_utf8_lossy(field.name);
    shield::bounded(&name, Shape::Line, 128, changes)
}

/// Address fields are printed anew, so that a name cannot pass for an address beside it. Raw 8-bit
/// text is in `charset`.
fn shown_value(
    field: &Field<'_>,
    addresses: &AddressFields<'_>,
    charset: Option<&str>,
    changes: &mut Changes,
) -> Fitted {
    match addresses.list(field) {
        None => words::shown_in(field.value, charset, changes),
        Some(list) => Fitted {
            text: list.print(charset, changes).unwrap_or_default(),
            cut: false,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn read(header: &str) -> (Headers, Vec<Note>) {
        let fetched = Fetched {
            not_downloaded: Vec::new(),
            header: Bytes::copy_from_slice(header.as_bytes()),
            flags: None,
            arrived: None,
            size: 0,
            header_truncated: false,
            structure: mail::Structure::default(),
            parts: Vec::new(),
        };
        let mut notes = Vec::new();
        let addresses = AddressFields::read(&fetched.header);
        (headers(&fetched, &addresses, None, &mut notes), notes)
    }

    #[test]
    fn faults_are_said() {
        let long = "x".repeat(1_001);
        let truncated = Note::HeadersTruncated;
        let repeated = |name| Note::HeaderRepeated { name };
        for (header, want) in [
            (
                "From: a@b.c\r\nTo: d@e.f\r\nX-A: 1\r\nX-A: 2\r\n".to_owned(),
                vec![],
            ),
            (format!("X-Long: {long}\r\n"), vec![truncated.clone()]),
            (
                "from: a@b.c\r\nFrom: x@y.z\r\n".to_owned(),
                vec![repeated("From")],
            ),
            (
                format!("Subject: a\r\nsubject: {long}\r\nDate: x\r\nDate: y\r\n"),
                vec![truncated, repeated("Subject"), repeated("Date")],
            ),
        ] {
            assert_eq!(read(&header).1, want, "{header}");
        }
    }

    #[test]
    fn changes_are_counted_where_they_are_shown() {
        let found = read(
            "Subject: a\u{200B}\r\nSubject: b\u{200B}\r\nReply-To: c\u{200B}@d.e\r\nX-A: f\u{200B}[g](h)\r\n\
             List-Unsubscribe: <https://i.j>\r\n[k]: l\r\n",
        )
        .0;
        assert_eq!((found.changes.invisible, found.rare.invisible), (2, 1));
        let (name, value) = &found.list[4];
        assert_eq!(
            (name.as_str(), value.as_str()),
            ("List-Unsubscribe", "<https://i.j>")
        );
        assert_eq!(found.list[5].0, "[k]");
    }
}
