//! The lines of a file one after the other, of each as much as tells what it is.

use std::io::{self, BufRead};

use super::super::work::Stop;

/// So much of a line is looked at.
pub(super) const MOST: usize = 1_024;
/// Lines between two questions whether the answer is still wanted.
const PATIENCE: u32 = 4_096;

pub(super) struct Line<'a> {
    pub(super) offset: u64,
    /// With its end.
    pub(super) length: u64,
    /// Its beginning, without its end.
    pub(super) head: &'a [u8],
}

impl Line<'_> {
    pub(super) fn is_blank(&self) -> bool {
        self.head.is_empty()
    }

    pub(super) fn after(&self) -> u64 {
        self.offset.saturating_add(self.length)
    }
}

/// Lines end by LF or CRLF.
pub(super) fn each(
    reader: &mut impl BufRead,
    stop: &Stop,
    mut take: impl FnMut(Line<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let mut offset = 0;
    // What came of a line whose end did not come yet.
    let (mut head, mut length) = (Vec::with_capacity(MOST), 0);
    for count in 0u32.. {
        if count.is_multiple_of(PATIENCE) {
            stop.check()?;
        }
        let here = reader.fill_buf()?;
        if here.is_empty() {
            break;
        }
        let end = memchr::memchr(b'\n', here);
        let piece = here.get(..end.unwrap_or(here.len())).unwrap_or_default();
        let consumed = piece.len() + usize::from(end.is_some());
        let whole = match length {
            0 => piece,
            _ => {
                keep(&mut head, piece);
                &head
            }
        };
        let total = length + wide(consumed);
        if end.is_some() {
            take(Line {
                offset,
                length: total,
                head: cut(whole),
            })?;
            offset += total;
            length = 0;
            head.clear();
        } else {
            if length == 0 {
                keep(&mut head, piece);
            }
            length = total;
        }
        reader.consume(consumed);
    }
    if length > 0 {
        take(Line {
            offset,
            length,
            head: head.get(..MOST).unwrap_or(&head),
        })?;
    }
    Ok(())
}

fn keep(head: &mut Vec<u8>, piece: &[u8]) {
    // One more than is shown: it may be the CR before the end.
    let room = (MOST + 1).saturating_sub(head.len());
    head.extend_from_slice(piece.get(..room).unwrap_or(piece));
}

fn cut(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    line.get(..MOST).unwrap_or(line)
}

fn wide(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    #[test]
    fn lines_are_the_same_whatever_is_read_at_once() {
        let long = format!("{}\nz\n", "y".repeat(5_000));
        for (text, want) in [
            ("", &[][..]),
            ("a\nbc\r\n\n", &[(0, 2, "a"), (2, 4, "bc"), (6, 1, "")]),
            ("a", &[(0, 1, "a")]),
            ("\r\nx\r", &[(0, 2, ""), (2, 2, "x\r")]),
            (
                &long,
                &[(0, 5_001, long.get(..MOST).unwrap()), (5_001, 2, "z")],
            ),
        ] {
            for at_once in [1, 2, 3, 7, 1_000, 10_000] {
                let mut reader = BufReader::with_capacity(at_once, text.as_bytes());
                let mut found = Vec::new();
                each(&mut reader, &Stop::default(), |line| {
                    found.push((line.offset, line.length, line.head.to_vec()));
                    Ok(())
                })
                .unwrap();
                let want: Vec<_> = want
                    .iter()
                    .map(|(offset, length, head)| (*offset, *length, head.as_bytes().to_vec()))
                    .collect();
                assert_eq!(found, want, "{at_once}");
            }
        }
    }
}
