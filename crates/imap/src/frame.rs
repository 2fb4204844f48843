//! Cuts the byte stream into whole responses: a line, and the lines and literals that continue it.
//!
//! It looks at line ends and literal lengths only; what a response means is not its business.

use std::fmt;

use bytes::{Buf as _, Bytes, BytesMut};

use crate::Limits;
use crate::response::word;

/// Responses up to this length do not share the read buffer.
const MAX_COPIED_BYTES: usize = 2 << 10;

/// Collects bytes and hands out whole responses.
pub struct Framer {
    buffer: BytesMut,
    /// Everything before this offset has been looked at and belongs to the response being collected.
    seen: usize,
    /// Where the current line of that response begins.
    line_start: usize,
    limits: Limits,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    #[error("a response of more than {0} octets")]
    ResponseTooLong(usize),
    #[error("a line of more than {0} octets")]
    LineTooLong(usize),
}

impl Framer {
    pub fn new(limits: Limits) -> Self {
        Self {
            buffer: BytesMut::new(),
            seen: 0,
            line_start: 0,
            limits,
        }
    }

    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The buffer, to read into directly.
    pub fn space(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// Bytes that no response has claimed yet.
    pub fn pending(&self) -> usize {
        self.buffer.len()
    }

    /// The next whole response with its line end, when it has arrived.
    pub fn next_response(&mut self) -> Result<Option<Bytes>, FrameError> {
        loop {
            let unseen = self.buffer.get(self.seen..).unwrap_or_default();
            let Some(newline) = memchr::memchr(b'\n', unseen) else {
                // A literal that is still arriving lies beyond the buffer; only text counts as a line.
                if self.seen <= self.buffer.len() {
                    self.check(self.buffer.len())?;
                    self.seen = self.buffer.len().max(self.line_start);
                }
                return Ok(None);
            };
            let end = self.seen + newline + 1;
            self.check(end)?;
            let line = self.buffer.get(self.line_start..end).unwrap_or_default();
            let literal = match self.line_start {
                0 if is_one_line(line) => None,
                _ => announced_literal(line),
            };
            let Some(length) = literal else {
                self.seen = 0;
                self.line_start = 0;
                return Ok(Some(self.take(end)));
            };
            let after = end.saturating_add(length);
            if after > self.limits.response {
                return Err(FrameError::ResponseTooLong(self.limits.response));
            }
            self.seen = after;
            self.line_start = after;
            if after > self.buffer.len() {
                self.buffer.reserve(after - self.buffer.len() + 64);
                return Ok(None);
            }
        }
    }

    /// A small response is copied: a part of it that is kept would keep the whole buffer around it.
    fn take(&mut self, end: usize) -> Bytes {
        match self.buffer.get(..end) {
            Some(small) if end <= MAX_COPIED_BYTES => {
                let frame = Bytes::copy_from_slice(small);
                self.buffer.advance(end);
                frame
            }
            _ => self.buffer.split_to(end).freeze(),
        }
    }

    /// Whether a response whose text reaches to `end` is still within both limits. The one that is met first is
    /// named, however the bytes arrive.
    fn check(&self, end: usize) -> Result<(), FrameError> {
        let line_end = self.line_start.saturating_add(self.limits.line);
        if end <= line_end.min(self.limits.response) {
            return Ok(());
        }
        Err(if line_end <= self.limits.response {
            FrameError::LineTooLong(self.limits.line)
        } else {
            FrameError::ResponseTooLong(self.limits.response)
        })
    }
}

/// INVARIANT: a log sees how much there is, not what: these bytes are somebody's mail.
impl fmt::Debug for Framer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Framer")
            .field("pending", &self.pending())
            .finish_non_exhaustive()
    }
}

/// QUIRK: human text may end in something like `{5}`. A status response or a continuation is always one line.
fn is_one_line(line: &[u8]) -> bool {
    if line.starts_with(b"+") {
        return true;
    }
    let (_tag, rest) = word(line);
    let (word, _) = word(rest);
    let word = word.trim_ascii_end();
    [&b"OK"[..], b"NO", b"BAD", b"BYE", b"PREAUTH"]
        .iter()
        .any(|status| word.eq_ignore_ascii_case(status))
}

/// The length in `{123}` or `{123+}` at the end of a line.
fn announced_literal(line: &[u8]) -> Option<usize> {
    let line = line.strip_suffix(b"\n")?;
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let inside = line.strip_suffix(b"}")?;
    let inside = inside.strip_suffix(b"+").unwrap_or(inside);
    let open = memchr::memrchr(b'{', inside)?;
    let digits = inside.get(open + 1..)?;
    if digits.is_empty() || digits.len() > 19 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    // A length beyond usize is beyond every limit as well.
    Some(
        std::str::from_utf8(digits)
            .ok()?
            .parse()
            .unwrap_or(usize::MAX),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(framer: &mut Framer) -> Vec<Bytes> {
        std::iter::from_fn(|| framer.next_response().unwrap()).collect()
    }

    #[test]
    fn responses_are_cut_at_their_ends() {
        let stream = b"* OK hi {3}\r\n* 1 FETCH (BODY[] {5}\r\na\r\nb) UID {2+}\r\n12)\r\na1 OK done\r\n* bare\n";
        let want: [&[u8]; 4] = [
            b"* OK hi {3}\r\n",
            b"* 1 FETCH (BODY[] {5}\r\na\r\nb) UID {2+}\r\n12)\r\n",
            b"a1 OK done\r\n",
            b"* bare\n",
        ];
        let mut framer = Framer::new(Limits::default());
        framer.feed(stream);
        assert_eq!(all(&mut framer), want);
        assert_eq!(framer.pending(), 0);
    }

    #[test]
    fn limits_hold_before_the_bytes_arrive() {
        let limits = Limits {
            response: 1000,
            line: 100,
            ..Limits::default()
        };
        let mut framer = Framer::new(limits);
        framer.feed(b"* 1 FETCH (BODY[] {99999999999999999999}\r\n");
        // Twenty digits are no length: the line stands for itself.
        assert!(framer.next_response().unwrap().is_some());
        framer.feed(b"* 1 FETCH (BODY[] {9999999999999999999}\r\n");
        assert_eq!(
            framer.next_response(),
            Err(FrameError::ResponseTooLong(1000))
        );

        let mut framer = Framer::new(limits);
        framer.feed(&[b'x'; 101]);
        assert_eq!(framer.next_response(), Err(FrameError::LineTooLong(100)));

        let mut framer = Framer::new(limits);
        framer.feed(b"* 1 FETCH (BODY[] {500}\r\n");
        assert_eq!(framer.next_response(), Ok(None));
        framer.feed(&[b'x'; 400]);
        assert_eq!(framer.next_response(), Ok(None));
    }

    #[test]
    fn the_same_limit_is_named_however_bytes_arrive() {
        for (response, line) in [(1000, 100), (100, 1000), (150, 100)] {
            let limits = Limits {
                response,
                line,
                ..Limits::default()
            };
            for stream in [
                [b'x'; 2000].to_vec(),
                [&[b'x'; 1500][..], b"\r\n"].concat(),
                [b"* X {90}\r\n", &[b'x'; 1500][..]].concat(),
                [b"* X {90}\r\n", &[b'x'; 95][..], b"{80}\r\n"].concat(),
            ] {
                let mut whole = Framer::new(limits);
                whole.feed(&stream);
                let mut slow = Framer::new(limits);
                let got = stream.iter().find_map(|octet| {
                    slow.feed(&[*octet]);
                    slow.next_response().err()
                });
                assert_eq!(got, whole.next_response().err(), "{response} {line}");
            }
        }
    }

    #[test]
    fn a_continuation_is_one_line() {
        let mut framer = Framer::new(Limits::default());
        framer.feed(b"+ send {5}\r\n+{5}\r\n*  NO  {5}\r\n");
        assert_eq!(all(&mut framer).len(), 3);
    }

    proptest! {
        #[test]
        fn splitting_the_stream_changes_nothing(cuts in proptest::collection::vec(1usize..9, 1..60)) {
            let stream = b"* OK [X {1}] hi\r\n* 1 FETCH (BODY[] {9}\r\n{3}\r\nab) X)\r\n* 2 EXISTS\r\n".repeat(3);
            let mut whole = Framer::new(Limits::default());
            whole.feed(&stream);
            let want = all(&mut whole);
            let mut framer = Framer::new(Limits::default());
            let mut got = Vec::new();
            let mut rest = stream.as_slice();
            for cut in cuts.iter().cycle() {
                let (head, tail) = rest.split_at((*cut).min(rest.len()));
                framer.feed(head);
                got.extend(all(&mut framer));
                rest = tail;
                if rest.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(got, want);
        }
    }
}
