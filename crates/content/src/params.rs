//! `Content-Type` and `Content-Disposition` values: the leading word and the parameters (RFC 2045, RFC 2231).

/// More parameters than this are not read.
const MOST: usize = 64;

#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Params {
    /// Lower case, such as `text/plain` or `attachment`; empty when missing.
    pub value: String,
    list: Vec<(String, Vec<u8>)>,
}

impl Params {
    pub(crate) fn parse(value: &[u8]) -> Self {
        let mut rest = Scan {
            bytes: value,
            at: 0,
        };
        let value = lower(&rest.until(b";"));
        let mut list = Vec::new();
        while rest.skip(b';') && list.len() < MOST {
            let name = lower(&rest.until(b"=;"));
            if rest.skip(b'=') {
                list.push((name, rest.until(b";")));
            }
        }
        Self { value, list }
    }

    /// A parameter as text, when it is ASCII.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        let bytes = self.raw(name)?;
        bytes.is_ascii().then(|| String::from_utf8(bytes).ok())?
    }

    /// As [`parameter`].
    pub(crate) fn raw(&self, name: &str) -> Option<Vec<u8>> {
        parameter(&self.list, name)
    }
}

/// A parameter's bytes, from a list whose names are lower case. One that RFC 2231 encodes or cuts into pieces
/// comes as one ext-value (`utf-8''na%C3%AFve`), which [`crate::filename`] decodes.
pub fn parameter<V: AsRef<[u8]>>(list: &[(String, V)], name: &str) -> Option<Vec<u8>> {
    extended(list, name).or_else(|| {
        let (_, plain) = list.iter().find(|(key, _)| key == name)?;
        Some(plain.as_ref().to_vec())
    })
}

fn extended<V: AsRef<[u8]>>(list: &[(String, V)], name: &str) -> Option<Vec<u8>> {
    let mut pieces: Vec<(u32, Form, &[u8])> = Vec::new();
    for (key, value) in list {
        let Some(suffix) = key.strip_prefix(name).and_then(|s| s.strip_prefix('*')) else {
            continue;
        };
        if suffix.is_empty() {
            return Some(value.as_ref().to_vec());
        }
        let (number, form) = match suffix.strip_suffix('*') {
            Some(number) => (number, Form::Percent),
            None => (suffix, Form::Plain),
        };
        if let Ok(number) = number.parse() {
            pieces.push((number, form, value.as_ref()));
        }
    }
    pieces.sort_by_key(|(number, _, _)| *number);
    let (_, head, _) = pieces.first()?;
    let encoded = pieces.iter().any(|(_, form, _)| *form == Form::Percent);
    let mut out = Vec::new();
    if encoded && *head == Form::Plain {
        out.extend_from_slice(b"utf-8''");
    }
    for (_, form, value) in &pieces {
        if encoded && *form == Form::Plain {
            percent(value, &mut out);
        } else {
            out.extend_from_slice(value);
        }
    }
    Some(out)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Plain,
    Percent,
}

fn percent(value: &[u8], out: &mut Vec<u8>) {
    for byte in value {
        if byte.is_ascii_alphanumeric() || b"-._".contains(byte) {
            out.push(*byte);
        } else {
            out.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
}

fn lower(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_ascii_lowercase()
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scan<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    /// Everything up to one of `ends`: quotes undone, comments and line endings left out, trimmed.
    fn until(&mut self, ends: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut quoted = false;
        // What was quoted keeps its blanks.
        let mut solid = 0;
        let mut comment = 0_usize;
        while let Some(byte) = self.peek() {
            if comment == 0 && !quoted && ends.contains(&byte) {
                break;
            }
            self.at += 1;
            match byte {
                b'\r' | b'\n' => {}
                b'\\' if quoted || comment > 0 => {
                    let escaped = self.peek();
                    self.at += 1;
                    // QUIRK: Windows paths stand unescaped in file names; keep the backslash there.
                    if comment == 0 {
                        match escaped {
                            Some(b'"' | b'\\') => {}
                            _ => out.push(b'\\'),
                        }
                        out.extend(escaped);
                    }
                }
                b'(' if !quoted => comment += 1,
                b')' if comment > 0 => comment -= 1,
                _ if comment > 0 => {}
                b'"' => {
                    quoted = !quoted;
                    solid = out.len();
                }
                b' ' | b'\t' if !quoted && out.is_empty() => {}
                _ => out.push(byte),
            }
        }
        let kept = out.trim_ascii_end().len();
        out.truncate(kept.max(solid));
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_parameters() {
        let one = Params::parse(
            b" Text/PLAIN (c; x=y); charset=\"UTF-8\"; name=my file.txt;\r\n b=\"a;\\\"b\"; x",
        );
        assert_eq!(one.value, "text/plain");
        assert_eq!(one.text("charset").as_deref(), Some("UTF-8"));
        assert_eq!(one.text("name").as_deref(), Some("my file.txt"));
        assert_eq!(one.text("b").as_deref(), Some("a;\"b"));
        assert_eq!(one.text("x"), None);
        let blank = Params::parse(b"a; boundary=\"b \" ; c=d ");
        assert_eq!(blank.text("boundary").as_deref(), Some("b "));
        assert_eq!(blank.text("c").as_deref(), Some("d"));
    }

    #[test]
    fn extended_parameters_become_one_value() {
        for (header, want) in [
            ("a; filename*=utf-8''%C3%A4.txt", "utf-8''%C3%A4.txt"),
            ("a; filename=x; filename*=utf-8''y", "utf-8''y"),
            ("a; filename*1=b; filename*0=a", "ab"),
            (
                "a; filename*0*=utf-8''%C3; filename*1*=%A4; filename*2=\" b\"",
                "utf-8''%C3%A4%20b",
            ),
            ("a; filename=\"C:\\dir\\x.txt\"", "C:\\dir\\x.txt"),
        ] {
            let found = Params::parse(header.as_bytes()).text("filename");
            assert_eq!(found.as_deref(), Some(want), "{header}");
        }
    }

    #[test]
    fn damaged_values_still_give_something() {
        for header in [
            "",
            ";",
            "=",
            "a;=",
            "a; b=\"",
            "a; b=\"\\",
            "a; (",
            "a; b*0*=",
        ] {
            let _ = Params::parse(header.as_bytes()).raw("b");
        }
    }
}
