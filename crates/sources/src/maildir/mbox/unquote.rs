//! The octets of one message out of an mbox file, without the quoting of `From `.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read, Seek as _, SeekFrom, Take};

use super::super::stamp::Stamp;
use super::lines::MOST;
use super::{Quoting, Slice};
use crate::local::look::Look;

/// So much of a line is read at once.
const PIECE: u64 = 64 * 1024;

/// Reads a message from where it lies.
pub(in super::super) struct Unquoting {
    lies: BufReader<Take<File>>,
    quoting: Quoting,
    part: Part,
    before: Before,
    piece: Vec<u8>,
    given: usize,
    of: Stamp,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Header,
    Text,
}

/// What stands before the next octet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    LineEnd,
    Line,
}

impl Unquoting {
    /// None where the file is not the one any more in which the message was found.
    pub(in super::super) fn open(mut file: File, slice: &Slice) -> io::Result<Option<Self>> {
        if Stamp::told(&Look::of(&file)?) != slice.of {
            return Ok(None);
        }
        file.seek(SeekFrom::Start(slice.separator))?;
        let mut first = [0; 5];
        if file.read_exact(&mut first).is_err() || first != *b"From " {
            return Ok(None);
        }
        file.seek(SeekFrom::Start(slice.begin))?;
        let length = slice.end.saturating_sub(slice.begin);
        Ok(Some(Self {
            lies: BufReader::with_capacity(16 * 1024, file.take(length)),
            quoting: slice.quoting,
            part: Part::Header,
            before: Before::LineEnd,
            piece: Vec::new(),
            given: 0,
            of: slice.of,
        }))
    }

    /// The file was not changed since it was cut into messages.
    pub(in super::super) fn is_unchanged(&self) -> bool {
        let file = self.lies.get_ref().get_ref();
        Look::of(file).is_ok_and(|look| Stamp::told(&look) == self.of)
    }

    fn next(&mut self) -> io::Result<()> {
        self.piece.clear();
        self.given = 0;
        (&mut self.lies)
            .take(PIECE)
            .read_until(b'\n', &mut self.piece)?;
        if self.before == Before::LineEnd {
            let blank = matches!(self.piece.as_slice(), b"\n" | b"\r\n");
            match self.part {
                Part::Header if blank => self.part = Part::Text,
                Part::Text if is_quoted(&self.piece) => self.given = 1,
                _ => {}
            }
        }
        self.before = match self.piece.last() {
            Some(b'\n') => Before::LineEnd,
            _ => Before::Line,
        };
        Ok(())
    }
}

impl Read for Unquoting {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.quoting == Quoting::Verbatim {
            return self.lies.read(into);
        }
        if self.given >= self.piece.len() {
            self.next()?;
        }
        let mut rest = self.piece.get(self.given..).unwrap_or_default();
        let read = rest.read(into)?;
        self.given += read;
        Ok(read)
    }
}

/// A line of a text that is `From ` behind one `>` or more.
pub(super) fn is_quoted(line: &[u8]) -> bool {
    let head = line.get(..MOST).unwrap_or(line);
    let quotes = head.iter().take_while(|byte| **byte == b'>').count();
    quotes > 0
        && head
            .get(quotes..)
            .is_some_and(|rest| rest.starts_with(b"From "))
}
