//! Lines of a byte string, ended by CRLF or LF alone.

/// One line and where it stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Line<'a> {
    /// Without its line ending.
    pub text: &'a [u8],
    pub start: usize,
    /// Where the text ends and the line ending begins.
    pub end: usize,
    /// Where the next line starts.
    pub next: usize,
    /// The line ending was seen; it is missing only on the last line.
    pub ended: bool,
}

pub(crate) struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// The lines from `at` on.
pub(crate) fn lines_from(bytes: &[u8], at: usize) -> Lines<'_> {
    Lines { bytes, at }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        let start = self.at;
        let rest = self.bytes.get(start..).filter(|rest| !rest.is_empty())?;
        let (text, next, ended) = match memchr::memchr(b'\n', rest) {
            Some(index) => (rest.get(..index)?, start + index + 1, true),
            None => (rest, self.bytes.len(), false),
        };
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        self.at = next;
        Some(Line {
            text,
            start,
            end: start + text.len(),
            next,
            ended,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_line_endings_and_none() {
        let found: Vec<_> = lines_from(b"a\r\nb\n\nc", 0)
            .map(|line| (line.text, line.start, line.end, line.next, line.ended))
            .collect();
        assert_eq!(
            found,
            [
                (&b"a"[..], 0, 1, 3, true),
                (b"b", 3, 4, 5, true),
                (b"", 5, 5, 6, true),
                (b"c", 6, 7, 7, false),
            ]
        );
    }
}
