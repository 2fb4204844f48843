//! The records of several logs as one stream, by time. Within a log they keep their order, whatever its clock did.

use std::io;

use audit::Line;
use audit::read::{Days, Piece, Read};

use super::logs::Log;
use super::record::Unread;
use super::span::Span;

/// Of one log: what is left of it, and the record that comes next.
struct Stream<'a> {
    log: &'a Log,
    days: Days,
    next: Option<Next>,
}

struct Next {
    ts: String,
    line: Vec<u8>,
}

/// Whether a line of a log is wanted. None when it is no record.
type Fits<'a> = dyn Fn(usize, &[u8]) -> Option<bool> + 'a;

/// Hands on the lines that are wanted. What cannot be read is noted, and the rest goes on.
pub(super) fn each(
    logs: &[Log],
    span: &Span,
    unread: &mut Unread,
    fits: &Fits<'_>,
    mut take: impl FnMut(&Log, Vec<u8>) -> io::Result<()>,
) -> anyhow::Result<()> {
    let mut streams = Vec::with_capacity(logs.len());
    for log in logs {
        let mut stream = Stream {
            log,
            days: span.days(&log.dir)?,
            next: None,
        };
        stream.advance(streams.len(), unread, fits);
        streams.push(stream);
    }
    let first = |streams: &[Stream<'_>]| {
        let waiting = streams.iter().enumerate();
        let waiting = waiting.filter_map(|(n, stream)| Some((&stream.next.as_ref()?.ts, n)));
        waiting.min().map(|(_, n)| n)
    };
    while let Some(n) = first(&streams) {
        let Some(stream) = streams.get_mut(n) else {
            break;
        };
        if let Some(next) = stream.next.take() {
            take(stream.log, next.line)?;
        }
        stream.advance(n, unread, fits);
    }
    Ok(())
}

impl Stream<'_> {
    fn advance(&mut self, n: usize, unread: &mut Unread, fits: &Fits<'_>) {
        while let Some(read) = self.days.advance() {
            let line = match read {
                Read::Piece(Piece::Line(line)) => line,
                Read::Day(_) | Read::Piece(Piece::Tail(_)) => continue,
                Read::Piece(Piece::TooLong) => {
                    unread.line();
                    continue;
                }
                Read::Unreadable(error) => {
                    unread.file(&error);
                    continue;
                }
            };
            match (fits(n, line), Line::parse(line)) {
                (Some(true), Ok(parsed)) => {
                    self.next = Some(Next {
                        ts: parsed.ts.to_owned(),
                        line: line.to_vec(),
                    });
                    return;
                }
                (Some(false), _) => {}
                _ => unread.line(),
            }
        }
    }
}
