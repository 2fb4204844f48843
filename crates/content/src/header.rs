//! A header block cut into its fields; values stay as they lie, folded and undecoded.

use crate::lines::lines_from;

/// One header field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Field<'a> {
    pub name: &'a [u8],
    /// Still folded, without the last line ending.
    pub value: &'a [u8],
}

impl Field<'_> {
    pub(crate) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
    }
}

/// The fields in order. Lines that are no field (mbox `From `, garbage) are passed over.
pub(crate) fn fields(block: &[u8]) -> impl Iterator<Item = Field<'_>> {
    let mut lines = lines_from(block, 0).peekable();
    std::iter::from_fn(move || {
        loop {
            let line = lines.next()?;
            if line.text.is_empty() {
                return None;
            }
            let mut end = line.end;
            while let Some(more) = lines.next_if(|next| continues(next.text)) {
                end = more.end;
            }
            if let Some(field) = split(block.get(line.start..end)?) {
                return Some(field);
            }
        }
    })
}

/// The first field of that name.
pub(crate) fn first<'a>(block: &'a [u8], name: &str) -> Option<&'a [u8]> {
    fields(block)
        .find(|field| field.is(name))
        .map(|field| field.value)
}

/// The value on one line (RFC 5322 section 2.2.3), a blank where it was folded, trimmed.
pub(crate) fn unfolded(value: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::with_capacity(value.len());
    for line in lines_from(value, 0) {
        let text = line.text.trim_ascii();
        if !out.is_empty() && !text.is_empty() {
            out.push(b' ');
        }
        out.extend_from_slice(text);
    }
    out
}

fn continues(line: &[u8]) -> bool {
    matches!(line.first(), Some(b' ' | b'\t'))
}

fn split(field: &[u8]) -> Option<Field<'_>> {
    let colon = memchr::memchr(b':', field)?;
    // QUIRK: some senders put blanks before the colon.
    let name = field.get(..colon)?.trim_ascii_end();
    let named = !name.is_empty() && name.iter().all(|b| (33..127).contains(b));
    named.then_some(Field {
        name,
        value: field.get(colon + 1..)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(block: &[u8]) -> Vec<(String, String)> {
        fields(block)
            .map(|field| {
                (
                    String::from_utf8_lossy(field.name).into_owned(),
                    String::from_utf8_lossy(&unfolded(field.value)).into_owned(),
                )
            })
            .collect()
    }

    #[test]
    fn fields_fold_repeat_and_end_at_the_blank_line() {
        let block =
            b"From x Mon Jan 1\r\nTo: a\r\n b\r\nX-A : 1\nX-A: 2\nno field here\n\nBody: no";
        let want =
            [("To", "a b"), ("X-A", "1"), ("X-A", "2")].map(|(n, v)| (n.to_owned(), v.to_owned()));
        assert_eq!(read(block), want);
        assert_eq!(first(block, "x-a"), Some(&b" 1"[..]));
    }

    #[test]
    fn strange_blocks_hold_no_fields() {
        for block in [&b""[..], b"\r\n", b":", b": x", b" : x", b"\xff\xfe: x"] {
            assert_eq!(read(block), [], "{block:?}");
        }
    }
}
