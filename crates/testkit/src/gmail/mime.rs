//! The parts of a message: where each begins and ends, and how IMAP numbers and describes them (RFC 3501 sections 6.4.5
//! and 7.4.2). Decodes nothing.

use super::envelope;
use super::text;
use std::ops::Range;

/// Parts nest this deep at most; what is deeper is one part.
const MOST_DEPTH: usize = 20;

/// A message or one of its parts, as places in the message's octets.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// With the empty line that ends it.
    header: Range<usize>,
    body: Range<usize>,
    kind: String,
    subtype: String,
    params: Vec<(String, String)>,
    inner: Inner,
}

#[derive(Clone, Debug)]
enum Inner {
    Leaf,
    Parts(Vec<Part>),
    Message(Box<Part>),
}

/// A piece of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Section {
    Whole,
    Header,
    Text,
    Mime,
    /// In upper case.
    Fields(Vec<String>),
    FieldsNot(Vec<String>),
}

impl Part {
    pub(super) fn read(raw: &[u8]) -> Self {
        Self::within(raw, 0..raw.len(), "text/plain", 0)
    }

    fn within(raw: &[u8], range: Range<usize>, usual: &str, depth: usize) -> Self {
        let header = range.start..header_end(raw, &range);
        let body = header.end..range.end;
        let found = field(&raw[header.clone()], "content-type");
        let (kind, params) = typed(found.as_deref().unwrap_or(usual));
        let (kind, subtype) = kind.split_once('/').unwrap_or(("text", "plain"));
        let boundary = params.iter().find(|(name, _)| name == "boundary");
        let inner = match (kind, subtype, boundary) {
            _ if depth >= MOST_DEPTH => Inner::Leaf,
            ("multipart", _, Some((_, boundary))) => {
                let usual = if subtype == "digest" {
                    "message/rfc822"
                } else {
                    "text/plain"
                };
                let ranges = delimited(raw, &body, boundary);
                let parts = ranges.map(|range| Self::within(raw, range, usual, depth + 1));
                Inner::Parts(parts.collect())
            }
            ("message", "rfc822", _) => {
                let inner = Self::within(raw, body.clone(), "text/plain", depth + 1);
                Inner::Message(Box::new(inner))
            }
            _ => Inner::Leaf,
        };
        let (kind, subtype) = (kind.to_owned(), subtype.to_owned());
        Self {
            header,
            body,
            kind,
            subtype,
            params,
            inner: match inner {
                Inner::Parts(parts) if parts.is_empty() => Inner::Leaf,
                inner => inner,
            },
        }
    }

    /// The octets of a section; none when there is no such part.
    pub(super) fn section<'a>(
        &self,
        raw: &'a [u8],
        path: &[u32],
        section: &Section,
    ) -> Option<Vec<u8>> {
        let part = self.at(path)?;
        // A part that is a message has a header and a text of its own; other parts have only what MIME gives them.
        let message = match (&part.inner, path) {
            (_, []) => Some(part),
            (Inner::Message(inner), _) => Some(inner.as_ref()),
            _ => None,
        };
        let octets = |range: &Range<usize>| -> &'a [u8] { &raw[range.clone()] };
        Some(match section {
            Section::Whole if path.is_empty() => raw.to_vec(),
            Section::Whole => octets(&part.body).to_vec(),
            Section::Mime => octets(&part.header).to_vec(),
            Section::Header => octets(&message?.header).to_vec(),
            Section::Text => octets(&message?.body).to_vec(),
            Section::Fields(names) => some_fields(octets(&message?.header), |name| {
                names.iter().any(|one| one.eq_ignore_ascii_case(name))
            }),
            Section::FieldsNot(names) => some_fields(octets(&message?.header), |name| {
                !names.iter().any(|one| one.eq_ignore_ascii_case(name))
            }),
        })
    }

    /// Of a message: its parts, or itself as its only one.
    fn at(&self, path: &[u32]) -> Option<&Self> {
        match (&self.inner, path) {
            (_, []) => Some(self),
            (Inner::Parts(_), path) => self.below(path),
            (Inner::Leaf | Inner::Message(_), [1, rest @ ..]) => self.below(rest),
            (Inner::Leaf | Inner::Message(_), _) => None,
        }
    }

    /// Of a part.
    fn below(&self, path: &[u32]) -> Option<&Self> {
        let Some((first, rest)) = path.split_first() else {
            return Some(self);
        };
        match &self.inner {
            Inner::Parts(parts) => {
                let index = usize::try_from(*first).ok()?.checked_sub(1)?;
                parts.get(index)?.below(rest)
            }
            Inner::Message(inner) => inner.at(path),
            Inner::Leaf => None,
        }
    }

    /// `BODYSTRUCTURE`, with the extension data, or the `BODY` that has none.
    pub(super) fn structure(&self, raw: &[u8], detail: Detail) -> Vec<u8> {
        let mut out = vec![b'('];
        if let Inner::Parts(parts) = &self.inner {
            for part in parts {
                out.extend(part.structure(raw, detail));
            }
            out.extend(b" ");
            envelope::string(&mut out, self.subtype.to_uppercase().as_bytes());
            if detail == Detail::Full {
                out.extend(b" ");
                self.write_params(&mut out);
                out.extend(b" ");
                self.write_disposition(&mut out, raw);
                out.extend(b" NIL");
            }
            out.extend(b")");
            return out;
        }
        let header = &raw[self.header.clone()];
        let body = &raw[self.body.clone()];
        let encoding = field(header, "content-transfer-encoding");
        envelope::string(&mut out, self.kind.to_uppercase().as_bytes());
        out.extend(b" ");
        envelope::string(&mut out, self.subtype.to_uppercase().as_bytes());
        out.extend(b" ");
        self.write_params(&mut out);
        for name in ["content-id", "content-description"] {
            out.extend(b" ");
            envelope::nstring(&mut out, field(header, name).as_deref());
        }
        out.extend(b" ");
        let encoding = encoding.unwrap_or_else(|| "7BIT".to_owned());
        envelope::string(&mut out, encoding.trim().to_uppercase().as_bytes());
        out.extend(format!(" {}", body.len()).as_bytes());
        if let Inner::Message(inner) = &self.inner {
            out.extend(b" ");
            out.extend(envelope::envelope(&raw[inner.header.clone()]));
            out.extend(b" ");
            out.extend(inner.structure(raw, detail));
        }
        if self.kind == "text" || matches!(self.inner, Inner::Message(_)) {
            let lines = memchr::memchr_iter(b'\n', body).count();
            out.extend(format!(" {lines}").as_bytes());
        }
        if detail == Detail::Full {
            out.extend(b" NIL ");
            self.write_disposition(&mut out, raw);
            out.extend(b" NIL");
        }
        out.extend(b")");
        out
    }

    fn write_params(&self, out: &mut Vec<u8>) {
        write_params(out, &self.params);
    }

    fn write_disposition(&self, out: &mut Vec<u8>, raw: &[u8]) {
        let Some(value) = field(&raw[self.header.clone()], "content-disposition") else {
            return out.extend(b"NIL");
        };
        let (kind, params) = typed(&value);
        out.extend(b"(");
        envelope::string(out, kind.to_uppercase().as_bytes());
        out.extend(b" ");
        write_params(out, &params);
        out.extend(b")");
    }

    /// All text in it, decoded, attachments aside.
    pub(super) fn text(&self, raw: &[u8]) -> String {
        match &self.inner {
            Inner::Parts(parts) => {
                let texts: Vec<String> = parts.iter().map(|part| part.text(raw)).collect();
                texts.join("\n")
            }
            Inner::Message(inner) => inner.text(raw),
            Inner::Leaf if self.kind == "text" => {
                let header = &raw[self.header.clone()];
                let encoding = field(header, "content-transfer-encoding").unwrap_or_default();
                text::part(&raw[self.body.clone()], encoding.trim())
            }
            Inner::Leaf => String::new(),
        }
    }

    pub(super) fn has_attachment(&self, raw: &[u8]) -> bool {
        if let Inner::Parts(parts) = &self.inner {
            return parts.iter().any(|part| part.has_attachment(raw));
        }
        let disposition = field(&raw[self.header.clone()], "content-disposition");
        let disposition = disposition.unwrap_or_default().to_ascii_lowercase();
        disposition.starts_with("attachment")
            || disposition.contains("filename")
            || self.params.iter().any(|(name, _)| name == "name")
    }

    pub(super) fn header<'a>(&self, raw: &'a [u8]) -> &'a [u8] {
        &raw[self.header.clone()]
    }
}

/// How much a structure tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    Basic,
    Full,
}

/// The value of the first field of that name, unfolded.
pub(super) fn field(header: &[u8], name: &str) -> Option<String> {
    fields(header).into_iter().find_map(|(found, range)| {
        found
            .eq_ignore_ascii_case(name)
            .then(|| value(&header[range]))
    })
}

/// The values of all fields of that name, unfolded.
pub(super) fn all_fields(header: &[u8], name: &str) -> Vec<String> {
    let found = fields(header).into_iter();
    let named = found.filter(|(found, _)| found.eq_ignore_ascii_case(name));
    named.map(|(_, range)| value(&header[range])).collect()
}

/// What stands behind a field's colon.
fn value(field: &[u8]) -> String {
    let text = String::from_utf8_lossy(field);
    let value = text.split_once(':').map_or("", |(_, value)| value);
    value
        .replace("\r\n", "")
        .replace('\n', "")
        .trim()
        .to_owned()
}

/// Each field's name and where it stands, with its line breaks.
fn fields(header: &[u8]) -> Vec<(String, Range<usize>)> {
    let mut found: Vec<(String, Range<usize>)> = Vec::new();
    let mut at = 0;
    for line in header.split_inclusive(|byte| *byte == b'\n') {
        let range = at..at + line.len();
        at = range.end;
        let folded = matches!(line.first(), Some(b' ' | b'\t'));
        match (found.last_mut(), line.iter().position(|byte| *byte == b':')) {
            (Some((_, last)), _) if folded => last.end = range.end,
            (_, Some(colon)) => {
                let name = String::from_utf8_lossy(&line[..colon]).trim().to_owned();
                found.push((name, range));
            }
            _ => {}
        }
    }
    found
}

fn some_fields(header: &[u8], wanted: impl Fn(&str) -> bool) -> Vec<u8> {
    let found = fields(header).into_iter().filter(|(name, _)| wanted(name));
    let mut out: Vec<u8> = found
        .flat_map(|(_, range)| header[range].to_vec())
        .collect();
    out.extend(b"\r\n");
    out
}

fn header_end(raw: &[u8], range: &Range<usize>) -> usize {
    let mut at = range.start;
    for line in raw[range.clone()].split_inclusive(|byte| *byte == b'\n') {
        at += line.len();
        if line == b"\r\n" || line == b"\n" {
            return at;
        }
    }
    range.end
}

/// Where the parts between the boundaries are, the line breaks before boundaries not included.
fn delimited(
    raw: &[u8],
    body: &Range<usize>,
    boundary: &str,
) -> impl Iterator<Item = Range<usize>> {
    let mut ranges = Vec::new();
    let (mut at, mut begun) = (body.start, None);
    for line in raw[body.clone()].split_inclusive(|byte| *byte == b'\n') {
        let next = at + line.len();
        let bare = line.trim_ascii_end();
        let rest = bare
            .strip_prefix(b"--")
            .and_then(|rest| rest.strip_prefix(boundary.as_bytes()));
        if let Some(rest) = rest.filter(|rest| rest.is_empty() || *rest == b"--") {
            if let Some(from) = begun {
                let text = &raw[from..at];
                let text = text.strip_suffix(b"\n").unwrap_or(text);
                let text = text.strip_suffix(b"\r").unwrap_or(text);
                ranges.push(from..from + text.len());
            }
            begun = rest.is_empty().then_some(next);
            if begun.is_none() {
                break;
            }
        }
        at = next;
    }
    ranges.extend(begun.map(|from| from..body.end));
    ranges.into_iter()
}

/// `text/plain; charset=utf-8` in lower case, its parameters' values aside.
fn typed(value: &str) -> (String, Vec<(String, String)>) {
    let mut pieces = envelope::split(value, ';').into_iter();
    let kind = pieces
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    let params = pieces.filter_map(|piece| {
        let (name, value) = piece.split_once('=')?;
        let value = value.trim();
        let value = value
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'))
            .unwrap_or(value);
        Some((name.trim().to_ascii_lowercase(), value.to_owned()))
    });
    (kind, params.collect())
}

fn write_params(out: &mut Vec<u8>, params: &[(String, String)]) {
    if params.is_empty() {
        return out.extend(b"NIL");
    }
    for (at, (name, value)) in params.iter().enumerate() {
        out.extend(if at == 0 { b"(" } else { b" " });
        envelope::string(out, name.to_uppercase().as_bytes());
        out.extend(b" ");
        envelope::string(out, value.as_bytes());
    }
    out.extend(b")");
}

#[cfg(test)]
mod tests {
    use super::*;

    const NESTED: &str = "Subject: out\r\nContent-Type: multipart/mixed; boundary=\"x y\"\r\n\r\npreamble\r\n--x y\r\n\
        Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\naGk=\r\n--x y\r\n\
        Content-Type: message/rfc822\r\n\r\nSubject: in\r\nContent-Type: multipart/alternative; boundary=z\r\n\r\n\
        --z\r\n\r\none\r\n--z\r\nContent-Type: text/html\r\n\r\n<b>\r\n--z--\r\n--x y\r\n\
        Content-Type: application/pdf; name=\"a;b.pdf\"\r\nContent-Disposition: attachment; filename=a.pdf\r\n\r\n%PDF\r\n--x y--\r\nepilogue";

    fn octets(raw: &str, path: &[u32], section: &Section) -> Option<String> {
        let found = Part::read(raw.as_bytes()).section(raw.as_bytes(), path, section);
        found.map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn sections_are_numbered_as_the_rfc_has_it() {
        let table: [(&[u32], Section, Option<&str>); 13] = [
            (&[1], Section::Whole, Some("aGk=")),
            (&[1, 1], Section::Whole, None),
            (&[1], Section::Header, None),
            (
                &[2],
                Section::Header,
                Some("Subject: in\r\nContent-Type: multipart/alternative; boundary=z\r\n\r\n"),
            ),
            (&[2, 1], Section::Whole, Some("one")),
            (&[2, 2], Section::Whole, Some("<b>")),
            (
                &[2, 2],
                Section::Mime,
                Some("Content-Type: text/html\r\n\r\n"),
            ),
            (&[2, 3], Section::Whole, None),
            (&[3], Section::Whole, Some("%PDF")),
            (&[4], Section::Whole, None),
            (&[0], Section::Whole, None),
            (
                &[],
                Section::Fields(vec!["SUBJECT".into()]),
                Some("Subject: out\r\n\r\n"),
            ),
            (
                &[2],
                Section::Fields(vec!["SUBJECT".into()]),
                Some("Subject: in\r\n\r\n"),
            ),
        ];
        for (path, section, want) in table {
            assert_eq!(
                octets(NESTED, path, &section).as_deref(),
                want,
                "{path:?} {section:?}"
            );
        }
        let plain = "A: b\r\n c\r\nD: e\r\n\r\nbody\r\n";
        assert_eq!(
            octets(plain, &[1], &Section::Whole).as_deref(),
            Some("body\r\n")
        );
        assert_eq!(
            octets(plain, &[], &Section::Text).as_deref(),
            Some("body\r\n")
        );
        let rest = Section::FieldsNot(vec!["D".into()]);
        assert_eq!(
            octets(plain, &[], &rest).as_deref(),
            Some("A: b\r\n c\r\n\r\n")
        );
    }

    #[test]
    fn structures_say_what_is_inside() {
        let part = Part::read(NESTED.as_bytes());
        let told = String::from_utf8(part.structure(NESTED.as_bytes(), Detail::Full)).unwrap();
        assert_eq!(
            told,
            "((\"TEXT\" \"PLAIN\" (\"CHARSET\" \"utf-8\") NIL NIL \"BASE64\" 4 0 NIL NIL NIL)\
             (\"MESSAGE\" \"RFC822\" NIL NIL NIL \"7BIT\" 118 (NIL \"in\" NIL NIL NIL NIL NIL NIL NIL NIL) \
             ((\"TEXT\" \"PLAIN\" NIL NIL NIL \"7BIT\" 3 0 NIL NIL NIL)(\"TEXT\" \"HTML\" NIL NIL NIL \"7BIT\" 3 0 NIL NIL NIL) \
             \"ALTERNATIVE\" (\"BOUNDARY\" \"z\") NIL NIL) 10 NIL NIL NIL)\
             (\"APPLICATION\" \"PDF\" (\"NAME\" \"a;b.pdf\") NIL NIL \"7BIT\" 4 NIL (\"ATTACHMENT\" (\"FILENAME\" \"a.pdf\")) NIL) \
             \"MIXED\" (\"BOUNDARY\" \"x y\") NIL NIL)"
        );
        assert!(part.has_attachment(NESTED.as_bytes()));
        assert!(part.text(NESTED.as_bytes()).contains("hi\none"));
    }

    #[test]
    fn what_is_broken_or_deep_is_one_part() {
        let nested: String = (0..200)
            .map(|n| format!("Content-Type: multipart/mixed; boundary=b{n}\r\n\r\n--b{n}\r\n"))
            .collect();
        for raw in [
            "",
            "\r\n",
            "no header",
            "Content-Type: multipart/mixed; boundary=a\r\n\r\n",
            &nested,
        ] {
            let part = Part::read(raw.as_bytes());
            assert!(!part.structure(raw.as_bytes(), Detail::Full).is_empty());
            assert!(
                part.section(raw.as_bytes(), &[1; 300], &Section::Whole)
                    .is_none()
            );
        }
    }
}
