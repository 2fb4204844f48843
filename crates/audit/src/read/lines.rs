//! The lines of one day, plain or compressed, one at a time in a buffer that is never longer than the longest record.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::rc::Rc;

use flate2::read::MultiGzDecoder;

use crate::{DayFile, Form};

/// The longest line that can be a record, without its line feed.
pub const MOST: usize = 1 << 20;

/// The buffer at first; hardly a record needs more.
const BUFFER: usize = 1 << 17;

/// What comes next in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Piece<'a> {
    /// A line, without its line feed.
    Line(&'a [u8]),
    /// More than a record can be without a line feed; what follows it is read on.
    TooLong,
    /// What stands behind the last line feed.
    Tail(&'a [u8]),
}

/// A reader of lines. Where a line ends is all that it knows.
pub struct Lines<R> {
    source: R,
    buffer: Vec<u8>,
    /// What of the buffer is read and not yet given out.
    begin: usize,
    end: usize,
    /// Up to where it is known to hold no line feed.
    seen: usize,
    /// The piece that was found last.
    kind: Kind,
    range: Range<usize>,
    number: u64,
    state: State,
}

#[derive(Clone, Copy)]
enum Kind {
    Line,
    TooLong,
    Tail,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Reads,
    /// Passes over the rest of a line that was too long.
    Skips,
    Ended,
}

impl<R: Read> Lines<R> {
    pub fn new(source: R) -> Self {
        Self {
            source,
            buffer: vec![0; BUFFER],
            begin: 0,
            end: 0,
            seen: 0,
            kind: Kind::Line,
            range: 0..0,
            number: 0,
            state: State::Reads,
        }
    }

    /// The number of the piece that it stands at; the first is 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Goes on to the next piece. False at the end. After an error nothing more can be read.
    pub fn advance(&mut self) -> io::Result<bool> {
        loop {
            let unseen = self.buffer.get(self.seen..self.end).unwrap_or_default();
            if let Some(at) = memchr::memchr(b'\n', unseen) {
                let (begin, end) = (self.begin, self.seen + at);
                (self.begin, self.seen) = (end + 1, end + 1);
                if self.state == State::Skips {
                    self.state = State::Reads;
                    continue;
                }
                return Ok(self.found(Kind::Line, begin..end));
            }
            self.seen = self.end;
            if self.end - self.begin > MOST || self.state == State::Skips {
                let before = std::mem::replace(&mut self.state, State::Skips);
                (self.begin, self.end, self.seen) = (0, 0, 0);
                if before == State::Reads {
                    return Ok(self.found(Kind::TooLong, 0..0));
                }
            }
            if self.state == State::Ended || !self.fill()? {
                self.state = State::Ended;
                let rest = self.begin..self.end;
                (self.begin, self.end, self.seen) = (0, 0, 0);
                return Ok(!rest.is_empty() && self.found(Kind::Tail, rest));
            }
        }
    }

    /// The piece that it stands at.
    pub fn piece(&self) -> Piece<'_> {
        let bytes = self.buffer.get(self.range.clone()).unwrap_or_default();
        match self.kind {
            Kind::Line => Piece::Line(bytes),
            Kind::TooLong => Piece::TooLong,
            Kind::Tail => Piece::Tail(bytes),
        }
    }

    fn found(&mut self, kind: Kind, range: Range<usize>) -> bool {
        (self.kind, self.range) = (kind, range);
        self.number += 1;
        true
    }

    /// Reads more behind what is there. False at the end of the source.
    fn fill(&mut self) -> io::Result<bool> {
        self.buffer.copy_within(self.begin..self.end, 0);
        (self.begin, self.end) = (0, self.end - self.begin);
        self.seen = self.end;
        if self.end == self.buffer.len() {
            self.buffer.resize((2 * self.end).min(MOST + 1), 0);
        }
        let free = self.buffer.get_mut(self.end..).unwrap_or_default();
        loop {
            match self.source.read(free) {
                Ok(count) => {
                    self.end += count;
                    return Ok(count > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.state = State::Ended;
                    (self.begin, self.end, self.seen) = (0, 0, 0);
                    return Err(error);
                }
            }
        }
    }
}

impl Lines<Box<dyn Read>> {
    /// Opens a day. `taken` counts the bytes that are read from the disk.
    pub fn open(file: &DayFile, taken: Rc<Cell<u64>>) -> io::Result<Self> {
        let source = Counted {
            file: File::open(&file.path)?,
            taken,
        };
        Ok(Self::new(match file.form {
            Form::Plain => Box::new(source),
            Form::Gzip => Box::new(MultiGzDecoder::new(io::BufReader::with_capacity(
                1 << 16,
                source,
            ))),
        }))
    }
}

struct Counted {
    file: File,
    taken: Rc<Cell<u64>>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.taken.set(self.taken.get() + count as u64);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives out a few bytes at a time, as a slow disk may.
    struct Few<'a>(&'a [u8], usize);

    impl Read for Few<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(self.0.len()).min(buffer.len());
            let (now, later) = self.0.split_at(count);
            buffer[..count].copy_from_slice(now);
            self.0 = later;
            Ok(count)
        }
    }

    fn pieces(text: &[u8], step: usize) -> Vec<String> {
        let mut lines = Lines::new(Few(text, step));
        let mut said = Vec::new();
        while lines.advance().unwrap() {
            let piece = match lines.piece() {
                Piece::Line(line) => format!("line {}", line.len()),
                Piece::Tail(tail) => format!("tail {}", tail.len()),
                Piece::TooLong => "too long".to_owned(),
            };
            said.push(format!("{}: {piece}", lines.number()));
        }
        assert!(!lines.advance().unwrap());
        said
    }

    #[test]
    fn lines_come_one_by_one() {
        let cases: [(&[u8], &[&str]); 5] = [
            (b"", &[]),
            (b"\n", &["1: line 0"]),
            (b"ab\n\nc\n", &["1: line 2", "2: line 0", "3: line 1"]),
            (b"ab\ncde", &["1: line 2", "2: tail 3"]),
            (b"abc", &["1: tail 3"]),
        ];
        for (text, expected) in cases {
            for step in [1, 2, 1000] {
                assert_eq!(pieces(text, step), expected, "{text:?}");
            }
        }
    }

    #[test]
    fn a_line_without_end_is_passed_over() {
        let long = |length: usize| vec![b'x'; length];
        let cases = [
            ([long(MOST), b"\na\n".to_vec()].concat(), "1: line 1048576"),
            ([long(MOST + 1), b"\na\n".to_vec()].concat(), "1: too long"),
            ([long(3 * MOST), b"\na\n".to_vec()].concat(), "1: too long"),
        ];
        for (text, first) in cases {
            for step in [4096, 10_000_000] {
                assert_eq!(pieces(&text, step), [first, "2: line 1"]);
            }
        }
        assert_eq!(pieces(&long(2 * MOST), 4096), ["1: too long"]);
    }
}
