//! Where a log ends on disk, found from the end of its newest file; and what a crash left behind it.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use crate::chain::Chain;
use crate::event::DAY_CLOSED;
use crate::line::Line;
use crate::{Day, Form, day};

/// How much is read from the end at first; four times as much each time when that holds no record to begin at.
const WINDOW: u64 = 256 * 1024;

/// The end of a log.
pub(crate) struct Found {
    pub chain: Chain,
    /// The newest file, unless there is none.
    pub newest: Option<Newest>,
}

pub(crate) struct Newest {
    pub day: Day,
    pub path: PathBuf,
    pub closed: Closed,
    /// So long is the part that holds whole records.
    pub len: u64,
    /// What is behind them and is no record.
    pub torn: Vec<u8>,
}

/// Whether a file has had its last record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Closed {
    Yes,
    No,
}

/// Looks at the newest file that holds a record. The lock must be held: no other process may be writing.
pub(crate) fn find(dir: &Path) -> io::Result<Found> {
    let mut newest = None;
    for file in day::days(dir)?.into_iter().rev() {
        let mut opened = File::open(&file.path)?;
        let end = match file.form {
            Form::Plain => end_of(&mut opened)?,
            Form::Gzip => end_of_gzip(opened)?,
        };
        let this = |end: &End| Newest {
            day: file.day,
            path: file.path.clone(),
            closed: end.closed,
            len: end.len,
            torn: end.torn.clone(),
        };
        match &end.chain {
            Some(chain) => {
                let chain = chain.clone();
                let newest = newest.unwrap_or_else(|| this(&end));
                return Ok(Found {
                    chain,
                    newest: Some(newest),
                });
            }
            // Made and not yet written to when the process ended: the chain ends in the day before.
            None => newest = newest.or_else(|| Some(this(&end))),
        }
    }
    Ok(Found {
        chain: Chain::new(),
        newest,
    })
}

struct End {
    /// None when the file holds no whole record.
    chain: Option<Chain>,
    closed: Closed,
    len: u64,
    torn: Vec<u8>,
}

fn end_of(file: &mut File) -> io::Result<End> {
    let size = file.metadata()?.len();
    let mut window = WINDOW;
    loop {
        let from = size.saturating_sub(window);
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(from))?;
        file.take(size - from).read_to_end(&mut bytes)?;
        // The first line is whole only at the beginning of the file.
        let skip = match from {
            0 => 0,
            _ => memchr::memchr(b'\n', &bytes).map_or(bytes.len(), |at| at + 1),
        };
        let lines = bytes.get(skip..).unwrap_or_default();
        if let Some((chain, closed, good)) = follow(lines) {
            let len = skip + good;
            // Nobody writes behind a file's last record: what stands there is not ours to move.
            let torn = match closed {
                Closed::Yes => Vec::new(),
                Closed::No => bytes.get(len..).unwrap_or_default().to_vec(),
            };
            let len = from + u64::try_from(len).unwrap_or(u64::MAX);
            return Ok(End {
                chain: Some(chain),
                closed,
                len,
                torn,
            });
        }
        if from == 0 {
            return Ok(End {
                chain: None,
                closed: Closed::No,
                len: 0,
                torn: bytes,
            });
        }
        window = window.saturating_mul(4);
    }
}

/// A day that was compressed is never the newest, unless somebody took the others away.
fn end_of_gzip(file: File) -> io::Result<End> {
    let mut bytes = Vec::new();
    flate2::read::MultiGzDecoder::new(file).read_to_end(&mut bytes)?;
    Ok(End {
        chain: follow(&bytes).map(|(chain, ..)| chain),
        closed: Closed::Yes,
        len: 0,
        torn: Vec::new(),
    })
}

/// From the last record that states the tree as far as records follow each other; and how many bytes that is.
fn follow(lines: &[u8]) -> Option<(Chain, Closed, usize)> {
    let whole = whole_lines(lines);
    let (base, mut chain) = whole
        .iter()
        .enumerate()
        .rev()
        .find_map(|(index, (text, _))| {
            let line = Line::parse(text).ok()?;
            Some((index, Chain::before_base(&line, text)?))
        })?;
    let mut closed = Closed::No;
    let mut good = 0;
    for (text, end) in whole.iter().skip(base) {
        let Ok(line) = Line::parse(text) else { break };
        if closed == Closed::Yes || chain.follow(&line).is_err() {
            break;
        }
        if line.event == DAY_CLOSED {
            closed = Closed::Yes;
        }
        good = *end;
    }
    Some((chain, closed, good))
}

/// Lines that end in a line feed, without it, and where each ends with it.
fn whole_lines(bytes: &[u8]) -> Vec<(&[u8], usize)> {
    let mut begin = 0;
    let ends = memchr::memchr_iter(b'\n', bytes);
    ends.map(|end| {
        let text = bytes.get(begin..end).unwrap_or_default();
        begin = end + 1;
        (text, begin)
    })
    .collect()
}
