//! Commands, built from typed arguments. Nothing a caller passes can end an argument early or start a new line.
//!
//! One file per family: `session` (login and the like), `mailbox`, `search`, `fetch`.

use std::fmt;

mod fetch;
mod mailbox;
mod search;
mod session;

pub use fetch::{Item, Part};
pub use mailbox::ListReturn;
pub use search::{Day, Key, SearchReturn};

/// Which literals the server takes without being asked first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Literals {
    /// `{n}` and wait (RFC 3501).
    #[default]
    Wait,
    /// `{n+}` up to 4,096 octets (`LITERAL-`, RFC 7888).
    Minus,
    /// `{n+}` (`LITERAL+`, RFC 7888).
    Plus,
}

/// An argument that IMAP cannot carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a mail server cannot be sent text with a NUL character, nor a name that is not of the protocol's letters"
)]
pub struct BadArgument;

/// One command without its tag.
#[derive(Clone, PartialEq, Eq)]
pub struct Command {
    name: &'static str,
    pieces: Vec<Piece>,
}

#[derive(Clone, PartialEq, Eq)]
enum Piece {
    /// Syntax, as it stands.
    Text(Vec<u8>),
    /// A string that must travel as a literal.
    Literal(Vec<u8>),
    /// The server's go-ahead comes first (`AUTHENTICATE` without an initial response).
    AfterContinuation(Vec<u8>),
}

impl Command {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            pieces: vec![Piece::Text(name.as_bytes().to_vec())],
        }
    }

    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The bytes, cut where the server's go-ahead must be awaited.
    pub(crate) fn encode(&self, tag: &str, literals: Literals) -> Vec<Vec<u8>> {
        let mut chunks = Vec::new();
        let mut current = Vec::with_capacity(64);
        current.extend_from_slice(tag.as_bytes());
        current.push(b' ');
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => current.extend_from_slice(text),
                Piece::Literal(bytes) => {
                    let free = match literals {
                        Literals::Wait => false,
                        Literals::Minus => bytes.len() <= 4_096,
                        Literals::Plus => true,
                    };
                    let mark = if free { "+" } else { "" };
                    current.extend_from_slice(format!("{{{}{mark}}}\r\n", bytes.len()).as_bytes());
                    if !free {
                        chunks.push(std::mem::take(&mut current));
                    }
                    current.extend_from_slice(bytes);
                }
                Piece::AfterContinuation(bytes) => {
                    current.extend_from_slice(b"\r\n");
                    chunks.push(std::mem::take(&mut current));
                    current.extend_from_slice(bytes);
                }
            }
        }
        current.extend_from_slice(b"\r\n");
        chunks.push(current);
        chunks
    }

    /// Syntax that this crate wrote itself; never anything from a caller.
    fn syntax(mut self, text: &str) -> Self {
        match self.pieces.last_mut() {
            Some(Piece::Text(last)) => last.extend_from_slice(text.as_bytes()),
            _ => self.pieces.push(Piece::Text(text.as_bytes().to_vec())),
        }
        self
    }

    /// A string from outside: an atom never, a quoted string when that is safe, else a literal.
    fn string(self, bytes: &[u8]) -> Result<Self, BadArgument> {
        if bytes.contains(&0) {
            return Err(BadArgument);
        }
        let quotable = bytes.len() <= 1_000 && bytes.iter().all(|b| (b' '..=b'~').contains(b));
        if !quotable {
            return Ok(self.literal(bytes));
        }
        let mut quoted = Vec::with_capacity(bytes.len() + 2);
        quoted.push(b'"');
        for byte in bytes {
            if matches!(byte, b'"' | b'\\') {
                quoted.push(b'\\');
            }
            quoted.push(*byte);
        }
        quoted.push(b'"');
        let mut command = self;
        match command.pieces.last_mut() {
            Some(Piece::Text(last)) => last.append(&mut quoted),
            _ => command.pieces.push(Piece::Text(quoted)),
        }
        Ok(command)
    }

    fn literal(mut self, bytes: &[u8]) -> Self {
        self.pieces.push(Piece::Literal(bytes.to_vec()));
        self
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // INVARIANT: arguments are passwords or somebody's mail; only the name may reach a log.
        f.write_str(self.name)
    }
}

#[cfg(test)]
pub(crate) fn wire(command: &Command, literals: Literals) -> String {
    let chunks = command.encode("a1", literals);
    let text: Vec<String> = chunks
        .iter()
        .map(|c| String::from_utf8_lossy(c).into_owned())
        .collect();
    text.join("<wait>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_travel_safely() {
        for (text, want) in [
            ("plain", "a1 X \"plain\"\r\n"),
            ("a \"b\" \\c", "a1 X \"a \\\"b\\\" \\\\c\"\r\n"),
            ("{5}", "a1 X \"{5}\"\r\n"),
            (
                "a\r\nb1 DELETE INBOX",
                "a1 X {18+}\r\na\r\nb1 DELETE INBOX\r\n",
            ),
            ("grün", "a1 X {5+}\r\ngrün\r\n"),
            ("", "a1 X \"\"\r\n"),
        ] {
            let command = Command::new("X")
                .syntax(" ")
                .string(text.as_bytes())
                .unwrap();
            assert_eq!(wire(&command, Literals::Plus), want);
        }
        assert_eq!(Command::new("X").string(b"a\0b"), Err(BadArgument));
    }

    #[test]
    fn literals_wait_when_they_must() {
        let small = Command::new("X")
            .syntax(" ")
            .string("ü".as_bytes())
            .unwrap()
            .syntax(" END");
        assert_eq!(wire(&small, Literals::Wait), "a1 X {2}\r\n<wait>ü END\r\n");
        assert_eq!(wire(&small, Literals::Minus), "a1 X {2+}\r\nü END\r\n");
        let large = Command::new("X")
            .syntax(" ")
            .string(&[b'a'; 5_000])
            .unwrap();
        assert!(wire(&large, Literals::Minus).starts_with("a1 X {5000}\r\n<wait>"));
        assert!(wire(&large, Literals::Plus).starts_with("a1 X {5000+}\r\na"));
    }

    #[test]
    fn debug_shows_the_name_alone() {
        let login = Command::login("alice", "secret").unwrap();
        assert_eq!(format!("{login:?}"), "LOGIN");
    }
}
