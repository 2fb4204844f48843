//! The tokenizer: atoms, strings, literals and lists, borrowed from the response they stand in.
//!
//! No recursion: a list may nest as deep as a server likes, and what lies below [`Limits::depth`] is passed over.

use std::borrow::Cow;

use bytes::Bytes;

use crate::Limits;

/// One value of a response.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value<'a> {
    /// Also `NIL`, numbers, flags, and `BODY[…]<…>` as a whole.
    Atom(&'a [u8]),
    Quoted(Cow<'a, [u8]>),
    Literal(&'a [u8]),
    List(Vec<Value<'a>>),
    /// A list below the depth limit.
    TooDeep,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a response that is no IMAP")]
pub struct Malformed;

impl<'a> Value<'a> {
    pub fn is_nil(&self) -> bool {
        matches!(self, Self::Atom(word) if word.eq_ignore_ascii_case(b"NIL"))
    }

    /// A string in any of its spellings; `None` for `NIL` and for lists.
    pub fn string(&self) -> Option<&[u8]> {
        match self {
            Self::Atom(_) if self.is_nil() => None,
            Self::Atom(bytes) | Self::Literal(bytes) => Some(bytes),
            Self::Quoted(bytes) => Some(bytes),
            Self::List(_) | Self::TooDeep => None,
        }
    }

    /// The names in a list of flags. Nothing in it is absent: a keyword may be called `NIL`.
    pub(crate) fn flags(&self) -> Option<Vec<String>> {
        let names = self.list()?.iter().filter_map(|flag| match flag {
            Self::Atom(name) => Some(*name),
            other => other.string(),
        });
        let names = names.map(|name| String::from_utf8_lossy(name).into_owned());
        Some(names.collect())
    }

    pub fn list(&self) -> Option<&[Value<'a>]> {
        match self {
            Self::List(values) => Some(values),
            _ => None,
        }
    }

    /// QUIRK: some servers quote numbers.
    pub fn number(&self) -> Option<u64> {
        number(self.string()?)
    }

    /// The string as bytes that outlive the tokenizer, shared with `frame` where possible.
    pub fn owned(&self, frame: &Bytes) -> Option<Bytes> {
        match self {
            Self::Atom(_) if self.is_nil() => None,
            Self::Atom(bytes) | Self::Literal(bytes) | Self::Quoted(Cow::Borrowed(bytes)) => {
                Some(share(frame, bytes))
            }
            Self::Quoted(Cow::Owned(bytes)) => Some(Bytes::copy_from_slice(bytes)),
            Self::List(_) | Self::TooDeep => None,
        }
    }
}

/// A slice of `frame` without a copy; anything else is copied.
pub(crate) fn share(frame: &Bytes, part: &[u8]) -> Bytes {
    let range = frame.as_ptr_range();
    let inner = part.as_ptr_range();
    if !part.is_empty() && range.start <= inner.start && inner.end <= range.end {
        frame.slice_ref(part)
    } else {
        Bytes::copy_from_slice(part)
    }
}

pub(crate) fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// All values of a response, or of a part of one.
pub(crate) fn values<'a>(input: &'a [u8], limits: &Limits) -> Result<Vec<Value<'a>>, Malformed> {
    let mut lexer = Lexer { rest: input };
    let mut open: Vec<Vec<Value<'a>>> = Vec::new();
    let mut current: Vec<Value<'a>> = Vec::new();
    let mut count = 0usize;
    while let Some(lexeme) = lexer.next_lexeme()? {
        count += 1;
        if count > limits.values {
            return Err(Malformed);
        }
        match lexeme {
            Lexeme::Open if open.len() >= limits.depth => {
                count += lexer.skip_list(limits.values.saturating_sub(count))?;
                current.push(Value::TooDeep);
            }
            Lexeme::Open => open.push(std::mem::take(&mut current)),
            Lexeme::Close => {
                let outer = open.pop().ok_or(Malformed)?;
                let inner = std::mem::replace(&mut current, outer);
                current.push(Value::List(inner));
            }
            Lexeme::Atom(bytes) => current.push(Value::Atom(bytes)),
            Lexeme::Quoted(bytes) => current.push(Value::Quoted(bytes)),
            Lexeme::Literal(bytes) => current.push(Value::Literal(bytes)),
        }
    }
    if open.is_empty() {
        Ok(current)
    } else {
        Err(Malformed)
    }
}

enum Lexeme<'a> {
    Open,
    Close,
    Atom(&'a [u8]),
    Quoted(Cow<'a, [u8]>),
    Literal(&'a [u8]),
}

struct Lexer<'a> {
    rest: &'a [u8],
}

impl<'a> Lexer<'a> {
    fn next_lexeme(&mut self) -> Result<Option<Lexeme<'a>>, Malformed> {
        self.rest = self.rest.trim_ascii_start();
        let Some((first, after)) = self.rest.split_first() else {
            return Ok(None);
        };
        let lexeme = match first {
            b'(' => {
                self.rest = after;
                Lexeme::Open
            }
            b')' => {
                self.rest = after;
                Lexeme::Close
            }
            b'"' => {
                self.rest = after;
                Lexeme::Quoted(self.quoted()?)
            }
            b'{' => match self.literal(after) {
                Some(bytes) => Lexeme::Literal(bytes),
                None => Lexeme::Atom(self.atom()),
            },
            // literal8 (RFC 3516)
            b'~' if after.first() == Some(&b'{') => {
                let digits = after
                    .split_first()
                    .map(|(_, rest)| rest)
                    .unwrap_or_default();
                match self.literal(digits) {
                    Some(bytes) => Lexeme::Literal(bytes),
                    None => Lexeme::Atom(self.atom()),
                }
            }
            _ => Lexeme::Atom(self.atom()),
        };
        Ok(Some(lexeme))
    }

    /// Passes over the rest of a list whose opening parenthesis is already read; says how many lexemes that took.
    fn skip_list(&mut self, most: usize) -> Result<usize, Malformed> {
        let mut depth = 1usize;
        let mut count = 0usize;
        while depth > 0 {
            count += 1;
            if count > most {
                return Err(Malformed);
            }
            match self.next_lexeme()?.ok_or(Malformed)? {
                Lexeme::Open => depth += 1,
                Lexeme::Close => depth -= 1,
                Lexeme::Atom(_) | Lexeme::Quoted(_) | Lexeme::Literal(_) => {}
            }
        }
        Ok(count)
    }

    /// INVARIANT: a string never runs over a line end. Behind one lies a literal, which is somebody's mail: it must
    /// not close the string and go on as syntax.
    fn quoted(&mut self) -> Result<Cow<'a, [u8]>, Malformed> {
        let start = self.rest;
        let mut unescaped: Option<Vec<u8>> = None;
        let mut rest = start;
        loop {
            let stop = memchr::memchr3(b'"', b'\\', b'\n', rest).ok_or(Malformed)?;
            let (plain, tail) = rest.split_at(stop);
            let (mark, tail) = tail.split_first().ok_or(Malformed)?;
            if *mark == b'"' {
                self.rest = tail;
                return Ok(match unescaped {
                    Some(mut bytes) => {
                        bytes.extend_from_slice(plain);
                        Cow::Owned(bytes)
                    }
                    None => Cow::Borrowed(plain),
                });
            }
            let (escaped, tail) = tail.split_first().ok_or(Malformed)?;
            if *mark == b'\n' || *escaped == b'\n' {
                return Err(Malformed);
            }
            let bytes = unescaped.get_or_insert_with(Vec::new);
            bytes.extend_from_slice(plain);
            // QUIRK: some servers put a lone backslash into a quoted string; it then stands for itself.
            if !matches!(escaped, b'"' | b'\\') {
                bytes.push(b'\\');
            }
            bytes.push(*escaped);
            rest = tail;
        }
    }

    /// `input` begins behind the brace. `None` when this is no literal after all.
    fn literal(&mut self, input: &'a [u8]) -> Option<&'a [u8]> {
        let (bytes, rest) = literal(input)?;
        self.rest = rest;
        Some(bytes)
    }

    /// Takes at least one byte, so the lexer always moves on.
    fn atom(&mut self) -> &'a [u8] {
        let input = self.rest;
        let mut length = 0usize;
        while let Some(byte) = input.get(length) {
            match byte {
                b' ' | b'(' | b')' | b'"' | b'\r' | b'\n' | b'\t' if length > 0 => break,
                // QUIRK: `BODY[]{5}` without a space. The framer took five octets for a literal, and so must we.
                b'{' | b'~' if length > 0 && begins_literal(input.get(length..)) => break,
                b'[' if is_section(input.get(..length).unwrap_or_default()) => {
                    length += section_length(input.get(length..).unwrap_or_default());
                }
                _ => length += 1,
            }
        }
        let (atom, rest) = input.split_at(length.min(input.len()));
        self.rest = rest;
        atom
    }
}

/// The octets of a literal and what follows it; `input` begins behind the brace.
fn literal(input: &[u8]) -> Option<(&[u8], &[u8])> {
    let close = memchr::memchr(b'}', input.get(..24).unwrap_or(input))?;
    let (digits, after) = input.split_at_checked(close)?;
    let length = number(digits.strip_suffix(b"+").unwrap_or(digits))?;
    let after = after.strip_prefix(b"}")?;
    let after = after
        .strip_prefix(b"\r")
        .unwrap_or(after)
        .strip_prefix(b"\n")?;
    after.split_at_checked(usize::try_from(length).ok()?)
}

/// Whether this is `{5}` or `~{5}` with its line end and its octets.
fn begins_literal(input: Option<&[u8]>) -> bool {
    let input = input.unwrap_or_default();
    let brace = input.strip_prefix(b"~").unwrap_or(input);
    brace
        .strip_prefix(b"{")
        .is_some_and(|inside| literal(inside).is_some())
}

/// Only these names carry a section with spaces and parentheses in it; elsewhere `[` is a character like others.
/// QUIRK: some servers repeat the `.PEEK` of the question.
fn is_section(name: &[u8]) -> bool {
    [&b"BODY"[..], b"BODY.PEEK", b"BINARY", b"BINARY.SIZE"]
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
}

/// No section that we ask for is longer. Bounded, lest a line of sections that never close take a day to read.
const LONGEST_SECTION: usize = 4_096;

/// The length of `[…]`, quoted strings respected; 1 when it never closes.
fn section_length(input: &[u8]) -> usize {
    let input = input.get(..LONGEST_SECTION).unwrap_or(input);
    if memchr::memchr(b']', input).is_none() {
        return 1;
    }
    let mut quoted = false;
    for (index, byte) in input.iter().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b']' if !quoted => return index + 1,
            b'\r' | b'\n' => break,
            _ => {}
        }
    }
    1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(input: &str) -> Vec<Value<'_>> {
        values(input.as_bytes(), &Limits::default()).unwrap()
    }

    #[test]
    fn every_kind_of_value() {
        let got = read("UID 7 (\\Seen $X [Gmail]/x) \"a\\\"b\\\\c\" {3}\r\nx(y ~{2}\r\n\0z NIL");
        let want = vec![
            Value::Atom(b"UID"),
            Value::Atom(b"7"),
            Value::List(vec![
                Value::Atom(b"\\Seen"),
                Value::Atom(b"$X"),
                Value::Atom(b"[Gmail]/x"),
            ]),
            Value::Quoted(Cow::Owned(b"a\"b\\c".to_vec())),
            Value::Literal(b"x(y"),
            Value::Literal(b"\0z"),
            Value::Atom(b"NIL"),
        ];
        assert_eq!(got, want);
    }

    #[test]
    fn a_section_is_one_atom() {
        let got = read("BODY[HEADER.FIELDS (DATE \"X]Y\")]<0> NIL BODY[1.2] NIL");
        assert_eq!(
            got[0],
            Value::Atom(b"BODY[HEADER.FIELDS (DATE \"X]Y\")]<0>")
        );
        assert_eq!(got[2], Value::Atom(b"BODY[1.2]"));
    }

    #[test]
    fn depth_is_passed_over_not_died_of() {
        let deep = format!("{}x{} after", "(".repeat(50_000), ")".repeat(50_000));
        let got = read(&deep);
        assert_eq!(got.len(), 2);
        assert_eq!(got[1], Value::Atom(b"after"));
    }

    #[test]
    fn broken_nesting_is_an_error() {
        for bad in ["(a", "a)", "\"open", "(a))"] {
            assert_eq!(
                values(bad.as_bytes(), &Limits::default()),
                Err(Malformed),
                "{bad}"
            );
        }
    }

    #[test]
    fn a_literal_is_never_syntax() {
        // Whatever stands before its brace, what the framer took for a literal stays one, or nothing is read.
        for before in [
            "",
            "X",
            "BODY[]",
            "BODY[TEXT]<0>",
            "BODY[open",
            "~",
            "X~",
            "(a",
            "\"s\"",
            "\"open",
        ] {
            let line = format!("{before}{{9}}\r\n) UID 66 \" after");
            for value in values(line.as_bytes(), &Limits::default()).unwrap_or_default() {
                assert_ne!(value, Value::Atom(b"66"), "{line:?}");
                assert_ne!(value, Value::Quoted(Cow::Borrowed(b" after")), "{line:?}");
            }
        }
        assert_eq!(
            read("BODY[]{3}\r\na) ~{1}\r\nb"),
            [
                Value::Atom(b"BODY[]"),
                Value::Literal(b"a) "),
                Value::Literal(b"b")
            ]
        );
    }

    #[test]
    fn a_quoted_string_ends_on_its_line() {
        for bad in ["\"a\nb\"", "\"a\\\nb\"", "\"a {2}\r\nb\" c"] {
            assert_eq!(values(bad.as_bytes(), &Limits::default()), Err(Malformed));
        }
    }

    #[test]
    fn sections_that_never_close_are_read_in_linear_time() {
        // Each used to be searched to the end of the line for its bracket.
        let line = "BODY[ ".repeat(40_000);
        assert_eq!(read(&line).len(), 40_000);
    }

    #[test]
    fn what_is_passed_over_counts_as_well() {
        let deep = format!(
            "{}{}{}",
            "(".repeat(101),
            "x ".repeat(300_000),
            ")".repeat(101)
        );
        assert_eq!(values(deep.as_bytes(), &Limits::default()), Err(Malformed));
    }

    #[test]
    fn too_many_values_are_an_error() {
        let many = "x ".repeat(300_000);
        assert_eq!(values(many.as_bytes(), &Limits::default()), Err(Malformed));
    }

    proptest! {
        #[test]
        fn any_bytes_end(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = values(&bytes, &Limits::default());
        }
    }
}
