//! A stream of IMAP cut into first lines and what belongs to them, either direction. Does not interpret the lines.

use crate::literal::{self, Sending};
use memchr::memchr;

/// A part of the stream. All parts in a row are the stream, byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// The first line of a command or response, CRLF included.
    Start(Vec<u8>),
    /// Literals, and the lines that continue after them.
    More(Vec<u8>),
}

#[derive(Debug, Default)]
pub(super) struct Splitter {
    buffer: Vec<u8>,
    /// Bytes of a literal still to come.
    literal: usize,
    /// The next line belongs to a command or response already begun.
    continues: bool,
    /// The rest of the present command is thrown away.
    dropping: bool,
    /// The present command's tag.
    tag: Vec<u8>,
    /// A synchronising literal awaits the server's consent.
    asks: bool,
}

impl Splitter {
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Everything not yet handed out, lines or not.
    pub(super) fn take_rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.buffer)
    }

    /// The beginning of a long line whose end has not come, up to where its literal might be announced.
    pub(super) fn take_long_line(&mut self) -> Vec<u8> {
        const LONG: usize = 4096;
        const ANNOUNCEMENT: usize = 32;
        if self.literal > 0 || self.buffer.len() < LONG {
            return Vec::new();
        }
        self.continues = true;
        let end = self.buffer.split_off(self.buffer.len() - ANNOUNCEMENT);
        std::mem::replace(&mut self.buffer, end)
    }

    /// All pieces that are complete, each put through `each`.
    pub(super) fn drain(&mut self, mut each: impl FnMut(&mut Self, Piece)) {
        let bytes = self.take_rest();
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let literal = self.literal.min(rest.len());
            let Some(end) = (if literal > 0 {
                Some(literal)
            } else {
                memchr(b'\n', rest).map(|at| at + 1)
            }) else {
                break;
            };
            let (piece, after) = rest.split_at(end);
            rest = after;
            if literal > 0 {
                self.literal -= literal;
                self.asks = false;
                self.hand_out(Piece::More(piece.to_vec()), &mut each);
                continue;
            }
            let first = !std::mem::take(&mut self.continues);
            if first {
                self.dropping = false;
                self.tag = tag(piece).to_vec();
            }
            self.asks = false;
            if let Some(literal) = literal::announced(piece) {
                self.literal = literal.size;
                self.continues = true;
                self.asks = literal.sending == Sending::Synchronising;
            }
            let piece = piece.to_vec();
            self.hand_out(
                if first {
                    Piece::Start(piece)
                } else {
                    Piece::More(piece)
                },
                &mut each,
            );
        }
        self.buffer = rest.to_vec();
    }

    /// Throws away what is left of the command whose first line was just handed out.
    pub(super) fn drop_command(&mut self) {
        if std::mem::take(&mut self.asks) {
            // The client will be told no, and not send the literal.
            (self.literal, self.continues) = (0, false);
        }
        self.dropping = self.continues;
    }

    /// The server's answer to the command with this tag: a literal still waiting for consent will not come.
    pub(super) fn answered(&mut self, tag: &[u8]) {
        if self.asks && self.tag == tag {
            (self.literal, self.continues, self.asks) = (0, false, false);
        }
    }

    fn hand_out(&mut self, piece: Piece, each: &mut impl FnMut(&mut Self, Piece)) {
        if !self.dropping {
            each(self, piece);
        }
    }
}

/// What stands before the first space.
pub(super) fn tag(line: &[u8]) -> &[u8] {
    let end = line
        .iter()
        .position(|byte| b" \r\n".contains(byte))
        .unwrap_or(line.len());
    &line[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(splitter: &mut Splitter, bytes: &str) -> Vec<Piece> {
        let mut out = Vec::new();
        splitter.feed(bytes.as_bytes());
        splitter.drain(|_, piece| out.push(piece));
        out
    }

    fn start(text: &str) -> Piece {
        Piece::Start(text.into())
    }

    fn more(text: &str) -> Piece {
        Piece::More(text.into())
    }

    #[test]
    fn literals_are_no_lines() {
        let all = "a APPEND x {9+}\r\nb NOOP\r\n\n (x)\r\nc NOOP\r\n";
        let expected = [
            start("a APPEND x {9+}\r\n"),
            more("b NOOP\r\n\n"),
            more(" (x)\r\n"),
            start("c NOOP\r\n"),
        ];
        assert_eq!(pieces(&mut Splitter::default(), all), expected);
    }

    #[test]
    fn lines_may_arrive_in_parts() {
        let mut splitter = Splitter::default();
        assert_eq!(pieces(&mut splitter, "a NO"), []);
        assert_eq!(
            pieces(&mut splitter, "OP\r\nb X {2}\r\nh"),
            [start("a NOOP\r\n"), start("b X {2}\r\n"), more("h")]
        );
        assert_eq!(pieces(&mut splitter, "i\r\nc"), [more("i"), more("\r\n")]);
        assert_eq!(splitter.take_rest(), b"c");
    }

    #[test]
    fn a_long_line_need_not_wait_for_its_end() {
        let mut splitter = Splitter::default();
        let begin = format!("* SEARCH{}", " 1234567".repeat(1000));
        assert_eq!(pieces(&mut splitter, &begin), []);
        let passed = splitter.take_long_line();
        assert_eq!(passed.len(), begin.len() - 32);
        let rest = more(&format!("{} {{2}}\r\n", &begin[passed.len()..]));
        let after = [rest, more("a\n"), more("\r\n"), start("* OK\r\n")];
        assert_eq!(pieces(&mut splitter, " {2}\r\na\n\r\n* OK\r\n"), after);
    }

    #[test]
    fn a_refused_literal_does_not_come() {
        let mut splitter = Splitter::default();
        pieces(&mut splitter, "a APPEND x {9}\r\n");
        splitter.answered(b"a");
        assert_eq!(pieces(&mut splitter, "b NOOP\r\n"), [start("b NOOP\r\n")]);
    }

    #[test]
    fn a_dropped_command_takes_its_literals_along() {
        let mut splitter = Splitter::default();
        let mut kept = Vec::new();
        splitter.feed(b"a DROP {3+}\r\nxyz {1}\r\nq\r\nb NOOP\r\nc DROP {3}\r\nd NOOP\r\n");
        splitter.drain(|splitter, piece| match piece {
            Piece::Start(line) if line.windows(4).any(|w| w == b"DROP") => splitter.drop_command(),
            piece => kept.push(piece),
        });
        assert_eq!(kept, [start("b NOOP\r\n"), start("d NOOP\r\n")]);
    }
}
