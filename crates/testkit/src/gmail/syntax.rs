//! A command line taken apart into words, strings and lists (RFC 3501 section 9). Knows no command.

use std::collections::VecDeque;

/// What cannot be read. Gmail calls all of it `Could not parse command`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bad;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Atom(String),
    /// A quoted string or a literal.
    Text(Vec<u8>),
    List(Vec<Token>),
}

/// Which octets a quoted string may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Octets {
    /// A string of 8-bit octets must be a literal; in quotes Gmail refuses it (imap_tools, "could not parse command").
    Ascii,
    /// After `ENABLE UTF8=ACCEPT` (imapfilter, "adding UTF-8 support").
    Utf8,
}

const MOST_DEPTH: usize = 50;

/// The arguments of a command that are yet to be read.
#[derive(Debug)]
pub(super) struct Args(VecDeque<Token>);

/// Everything in `bytes`, literals included, final CRLF not.
pub(super) fn read(bytes: &[u8], octets: Octets) -> Result<Args, Bad> {
    let mut reader = Reader {
        bytes,
        at: 0,
        octets,
    };
    let tokens = reader.tokens(0)?;
    match reader.at == bytes.len() {
        true => Ok(Args(tokens.into())),
        false => Err(Bad),
    }
}

impl Token {
    /// An atom or a string: `astring`.
    pub(super) fn text(&self) -> Result<String, Bad> {
        match self {
            Self::Atom(atom) => Ok(atom.clone()),
            Self::Text(bytes) => String::from_utf8(bytes.clone()).map_err(|_| Bad),
            Self::List(_) => Err(Bad),
        }
    }

    /// A list, or the one thing that stands where a list may.
    pub(super) fn items(&self) -> Vec<Token> {
        match self {
            Self::List(items) => items.clone(),
            one => vec![one.clone()],
        }
    }
}

impl Args {
    pub(super) fn of(tokens: Vec<Token>) -> Self {
        Self(tokens.into())
    }

    pub(super) fn next(&mut self) -> Result<Token, Bad> {
        self.0.pop_front().ok_or(Bad)
    }

    pub(super) fn peek(&self) -> Option<&Token> {
        self.0.front()
    }

    pub(super) fn text(&mut self) -> Result<String, Bad> {
        self.next()?.text()
    }

    pub(super) fn bytes(&mut self) -> Result<Vec<u8>, Bad> {
        match self.next()? {
            Token::Atom(atom) => Ok(atom.into_bytes()),
            Token::Text(bytes) => Ok(bytes),
            Token::List(_) => Err(Bad),
        }
    }

    /// An atom in upper case.
    pub(super) fn word(&mut self) -> Result<String, Bad> {
        match self.next()? {
            Token::Atom(atom) => Ok(atom.to_ascii_uppercase()),
            Token::Text(_) | Token::List(_) => Err(Bad),
        }
    }

    /// Takes the next atom if it is this one.
    pub(super) fn take(&mut self, word: &str) -> bool {
        let is = matches!(self.peek(), Some(Token::Atom(atom)) if atom.eq_ignore_ascii_case(word));
        if is {
            self.0.pop_front();
        }
        is
    }

    pub(super) fn number<N: std::str::FromStr>(&mut self) -> Result<N, Bad> {
        self.text()?.parse().map_err(|_| Bad)
    }

    pub(super) fn list(&mut self) -> Result<Args, Bad> {
        match self.next()? {
            Token::List(items) => Ok(Self::of(items)),
            Token::Atom(_) | Token::Text(_) => Err(Bad),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn end(&self) -> Result<(), Bad> {
        match self.is_empty() {
            true => Ok(()),
            false => Err(Bad),
        }
    }

    pub(super) fn rest(&mut self) -> Vec<Token> {
        std::mem::take(&mut self.0).into()
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    octets: Octets,
}

impl Reader<'_> {
    fn byte(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Up to the end, or up to the bracket that ends the list.
    fn tokens(&mut self, depth: usize) -> Result<Vec<Token>, Bad> {
        if depth > MOST_DEPTH {
            return Err(Bad);
        }
        let mut tokens = Vec::new();
        while let Some(byte) = self.byte() {
            match byte {
                b' ' => self.at += 1,
                b')' if depth > 0 => break,
                b'(' => {
                    self.at += 1;
                    tokens.push(Token::List(self.tokens(depth + 1)?));
                    if self.byte() != Some(b')') {
                        return Err(Bad);
                    }
                    self.at += 1;
                }
                b'"' => tokens.push(Token::Text(self.quoted()?)),
                b'{' => tokens.push(Token::Text(self.literal()?)),
                _ => tokens.push(Token::Atom(self.atom()?)),
            }
        }
        Ok(tokens)
    }

    fn quoted(&mut self) -> Result<Vec<u8>, Bad> {
        self.at += 1;
        let mut text = Vec::new();
        loop {
            let byte = self.byte().ok_or(Bad)?;
            self.at += 1;
            match byte {
                b'"' => break,
                b'\\' => {
                    let escaped = self.byte().filter(|byte| b"\"\\".contains(byte));
                    text.push(escaped.ok_or(Bad)?);
                    self.at += 1;
                }
                b'\r' | b'\n' | 0 => return Err(Bad),
                byte if !byte.is_ascii() && self.octets == Octets::Ascii => return Err(Bad),
                byte => text.push(byte),
            }
        }
        Ok(text)
    }

    fn literal(&mut self) -> Result<Vec<u8>, Bad> {
        let rest = &self.bytes[self.at..];
        let line = rest.iter().position(|byte| *byte == b'\n').ok_or(Bad)? + 1;
        let announced = crate::literal::announced(&rest[..line]).ok_or(Bad)?;
        let text = rest.get(line..line + announced.size).ok_or(Bad)?;
        self.at += line + announced.size;
        Ok(text.to_vec())
    }

    /// With whatever stands in its square brackets, as in `BODY[HEADER.FIELDS (DATE)]`.
    fn atom(&mut self) -> Result<String, Bad> {
        let from = self.at;
        let mut inside = false;
        while let Some(byte) = self.byte() {
            match byte {
                b'[' => inside = true,
                b']' => inside = false,
                b'\r' | b'\n' | 0 => return Err(Bad),
                b' ' | b'(' | b')' | b'{' if !inside => break,
                b'"' if !inside => return Err(Bad),
                byte if !byte.is_ascii() && self.octets == Octets::Ascii => return Err(Bad),
                _ => {}
            }
            self.at += 1;
        }
        if inside || self.at == from {
            return Err(Bad);
        }
        String::from_utf8(self.bytes[from..self.at].to_vec()).map_err(|_| Bad)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &str) -> Result<String, Bad> {
        read(line.as_bytes(), Octets::Ascii).map(|mut args| format!("{:?}", args.rest()))
    }

    #[test]
    fn lines_fall_into_words_strings_and_lists() {
        for (line, want) in [
            (
                "a \"b \\\"c\\\\\" (d (e))",
                r#"[Atom("a"), Text([98, 32, 34, 99, 92]), List([Atom("d"), List([Atom("e")])])]"#,
            ),
            (
                "BODY[HEADER.FIELDS (A B)]<0.5>",
                r#"[Atom("BODY[HEADER.FIELDS (A B)]<0.5>")]"#,
            ),
            (
                "x {2}\r\nhi y",
                r#"[Atom("x"), Text([104, 105]), Atom("y")]"#,
            ),
            ("\\Seen", r#"[Atom("\\Seen")]"#),
            ("()", "[List([])]"),
        ] {
            assert_eq!(told(line).as_deref(), Ok(want), "{line}");
        }
        for bad in [
            "(",
            ")",
            "\"",
            "\"a\\b\"",
            "x {5}\r\nhi",
            "ü",
            "\"ü\"",
            "a[",
            "a\"b\"",
        ] {
            assert_eq!(told(bad), Err(Bad), "{bad}");
        }
        assert!(told(&"(".repeat(60)).is_err());
        assert!(read("\"ü\"".as_bytes(), Octets::Utf8).is_ok());
    }
}
