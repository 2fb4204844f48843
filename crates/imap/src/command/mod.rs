//! Commands, built from typed arguments. Nothing a caller passes can end an argument early or start a new line.
//!
//! One file per family: `session` (login and the like), `mailbox`, `search`, `fetch`, `change`.

use std::fmt;

mod change;
mod fetch;
mod mailbox;
mod search;
mod session;

pub use change::{FlagName, Stored, Which};
pub(crate) use fetch::{Fetches, Messages};
pub use fetch::{Item, Part};
pub use mailbox::ListReturn;
pub use search::{Day, Key, SearchReturn};
pub use session::{Bearer, InitialResponse};

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
    /// The `FETCH` responses that it asks for.
    fetches: Option<Fetches>,
}

#[derive(Clone, PartialEq, Eq)]
enum Piece {
    /// Syntax, as it stands.
    Text(Vec<u8>),
    /// A string that must travel as a literal.
    Literal(Vec<u8>),
    /// The server's go-ahead comes first (`AUTHENTICATE` without an initial response).
    AfterContinuation(Vec<u8>),
    /// A literal of so many octets, which whoever sends the command has.
    Streamed(u64),
}

/// What a connection does next to get a command across.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Chunk {
    Bytes(Vec<u8>),
    /// Nothing, until the server says to go ahead.
    Wait,
    /// So many octets that it does not have itself.
    Stream(u64),
}

/// A streamed literal beyond this waits for the server's go-ahead even where it need not: a message that is not wanted
/// is then not sent at all.
const MOST_UNASKED: u64 = 1 << 20;

/// Whether a literal waits for the server's go-ahead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sending {
    Asked,
    Unasked,
}

impl Literals {
    fn sending(self, octets: u64) -> Sending {
        match self {
            Self::Minus if octets <= 4_096 => Sending::Unasked,
            Self::Plus => Sending::Unasked,
            Self::Wait | Self::Minus => Sending::Asked,
        }
    }
}

impl Command {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            pieces: vec![Piece::Text(name.as_bytes().to_vec())],
            fetches: None,
        }
    }

    pub(crate) fn fetches(&self) -> Option<&Fetches> {
        self.fetches.as_ref()
    }

    pub fn name(&self) -> &'static str {
        self.name
    }

    /// So many octets it is long, about: announcements of literals and the tag aside.
    pub fn octets(&self) -> u64 {
        let each = self.pieces.iter().map(|piece| match piece {
            Piece::Text(bytes) | Piece::Literal(bytes) | Piece::AfterContinuation(bytes) => {
                u64::try_from(bytes.len()).unwrap_or(u64::MAX)
            }
            Piece::Streamed(octets) => *octets,
        });
        each.fold(0, u64::saturating_add)
    }

    /// What is to be sent, cut where the server's go-ahead must be awaited.
    pub(crate) fn encode(&self, tag: &str, literals: Literals) -> Vec<Chunk> {
        let mut chunks = Vec::new();
        let mut current = Vec::with_capacity(64);
        current.extend_from_slice(tag.as_bytes());
        current.push(b' ');
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => current.extend_from_slice(text),
                Piece::Literal(bytes) => {
                    let octets = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
                    let sending = literals.sending(octets);
                    sending.announce(&mut current, octets);
                    if sending == Sending::Asked {
                        chunks.extend([Chunk::Bytes(std::mem::take(&mut current)), Chunk::Wait]);
                    }
                    current.extend_from_slice(bytes);
                }
                Piece::AfterContinuation(bytes) => {
                    current.extend_from_slice(b"\r\n");
                    chunks.extend([Chunk::Bytes(std::mem::take(&mut current)), Chunk::Wait]);
                    current.extend_from_slice(bytes);
                }
                Piece::Streamed(octets) => {
                    let sending = match *octets > MOST_UNASKED {
                        true => Sending::Asked,
                        false => literals.sending(*octets),
                    };
                    sending.announce(&mut current, *octets);
                    chunks.push(Chunk::Bytes(std::mem::take(&mut current)));
                    chunks.extend((sending == Sending::Asked).then_some(Chunk::Wait));
                    chunks.push(Chunk::Stream(*octets));
                }
            }
        }
        current.extend_from_slice(b"\r\n");
        chunks.push(Chunk::Bytes(current));
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

impl Sending {
    /// Writes `{5}` or `{5+}`.
    fn announce(self, line: &mut Vec<u8>, octets: u64) {
        let mark = match self {
            Self::Asked => "",
            Self::Unasked => "+",
        };
        line.extend_from_slice(format!("{{{octets}{mark}}}\r\n").as_bytes());
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
    let text = chunks.iter().map(|chunk| match chunk {
        Chunk::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Chunk::Wait => "<wait>".to_owned(),
        Chunk::Stream(octets) => format!("<{octets} octets>"),
    });
    text.collect()
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
