//! Where a log ends on disk, found from the end of its newest file; and what a crash left behind it.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use crate::chain::Chain;
use crate::event::DAY_CLOSED;
use crate::line::Line;
use crate::{Day, DayFile, Form, day, files};

/// How much is read from the end at first; four times as much each time when that holds no record to begin at.
const WINDOW: u64 = 256 * 1024;

/// The end of a log.
pub(crate) struct Found {
    pub chain: Chain,
    /// The newest file, unless there is none.
    pub newest: Option<Newest>,
    /// Compressed days that cannot be read to their end: the chain goes on behind what can be read
    /// of them.
    pub damaged: Vec<Damaged>,
}

/// A file of the log that cannot be read to its end.
pub(crate) struct Damaged {
    /// Its name in the log's directory.
    pub file: String,
    pub why: String,
}

pub(crate) struct Newest {
    pub day: Day,
    pub path: PathBuf,
    pub closed: Closed,
    /// So long is the part that holds whole records.
    pub len: u64,
    /// What is behind them. No record is in it.
    pub torn: Vec<u8>,
}

/// Whether a file has had its last record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Closed {
    Yes,
    No,
}

/// Looks for the last record. The lock must be held: no other process may be writing.
pub(crate) fn find(dir: &Path) -> io::Result<Found> {
    end(&day::days(dir)?)
}

fn end(files: &[DayFile]) -> io::Result<Found> {
    let Some((file, before)) = files.split_last() else {
        return Ok(Found {
            chain: Chain::new(),
            newest: None,
            damaged: Vec::new(),
        });
    };
    // The log goes on as if it were not there.
    if files::is_empty(file) {
        return end(before);
    }
    let mut damaged = Vec::new();
    let mut tail = match file.form {
        Form::Plain => tail_of(&mut File::open(&file.path)?)?,
        Form::Gzip => {
            let (tail, fault) = tail_of_gzip(File::open(&file.path)?)?;
            damaged.extend(fault.map(|error| Damaged {
                file: file_name(&file.path),
                why: error.to_string(),
            }));
            tail
        }
    };
    let from = match tail.base.take() {
        Some(chain) => chain,
        // Its first record was not yet whole when the process ended, or is damaged: the day before says where it goes on.
        None => {
            let before = end(before)?;
            damaged.extend(before.damaged);
            before.chain
        }
    };
    let walked = walk(from, &tail.bytes).map_err(|Misfit(seq)| {
        io::Error::other(format!(
            "record {seq} of {} does not fit where it stands; `mailwarden audit verify` says more, and a new log begins \
             when the directory is moved away",
            file.day
        ))
    })?;
    let torn = tail.bytes.get(walked.good..).unwrap_or_default().to_vec();
    // INVARIANT: nothing is written to a compressed day, damaged or not.
    let closed = match file.form {
        Form::Plain => walked.closed,
        Form::Gzip => Closed::Yes,
    };
    // Nobody writes behind a file's last record: what stands there is not ours to move.
    let torn = match closed {
        Closed::Yes => Vec::new(),
        Closed::No => torn,
    };
    let newest = Newest {
        day: file.day,
        path: file.path.clone(),
        closed,
        len: tail.begin + u64::try_from(walked.good).unwrap_or(u64::MAX),
        torn,
    };
    Ok(Found {
        chain: walked.chain,
        newest: Some(newest),
        damaged,
    })
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The last piece of a file: from a record that states the whole tree, or all of it where there is none.
struct Tail {
    base: Option<Chain>,
    begin: u64,
    bytes: Vec<u8>,
}

fn tail_of(file: &mut File) -> io::Result<Tail> {
    let size = file.metadata()?.len();
    let mut window = WINDOW;
    loop {
        let begin = size.saturating_sub(window);
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(begin))?;
        file.take(size - begin).read_to_end(&mut bytes)?;
        // The first line is whole only at the beginning of the file.
        let skip = match begin {
            0 => 0,
            _ => memchr::memchr(b'\n', &bytes).map_or(bytes.len(), |at| at + 1),
        };
        if let Some((at, chain)) = last_base(bytes.get(skip..).unwrap_or_default()) {
            bytes.drain(..skip + at);
            return Ok(Tail {
                base: Some(chain),
                begin: begin + u64::try_from(skip + at).unwrap_or(u64::MAX),
                bytes,
            });
        }
        if begin == 0 {
            return Ok(Tail {
                base: None,
                begin,
                bytes,
            });
        }
        window = window.saturating_mul(4);
    }
}

/// The tail of a compressed day. Such a day is the newest only where the files of later days were
/// removed. What cannot be
/// decoded of it is left out, and the damage is returned beside the rest.
fn tail_of_gzip(file: impl io::Read) -> io::Result<(Tail, Option<io::Error>)> {
    let mut bytes = Vec::new();
    let decoded = flate2::read::MultiGzDecoder::new(file).read_to_end(&mut bytes);
    let damage = match decoded {
        Ok(_) => None,
        Err(error) if is_damage(&error) => Some(error),
        Err(error) => return Err(error),
    };
    let found = last_base(&bytes);
    let (at, base) = found.map_or((0, None), |(at, chain)| (at, Some(chain)));
    bytes.drain(..at);
    let tail = Tail {
        base,
        begin: 0,
        bytes,
    };
    Ok((tail, damage))
}

/// Whether the decoder rejected the bytes of a file. INVARIANT: an error of the disk is no damage.
/// Another read may
/// succeed, and a log that went on from the part that was read would fork its chain.
fn is_damage(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    let rejected = matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof);
    rejected && error.raw_os_error().is_none()
}

/// Where the last record stands that states the tree, and the chain before it.
fn last_base(lines: &[u8]) -> Option<(usize, Chain)> {
    let mut end = lines.len();
    while let Some(at) = lines
        .get(..end)
        .and_then(|part| memchr::memrchr(b'\n', part))
    {
        // The line that ends at `at` begins behind the line feed before it.
        let begin = lines
            .get(..at)
            .and_then(|part| memchr::memrchr(b'\n', part))
            .map_or(0, |before| before + 1);
        let text = lines.get(begin..at).unwrap_or_default();
        let chain = Line::parse(text)
            .ok()
            .and_then(|line| Chain::before_base(&line, text));
        if let Some(chain) = chain {
            return Some((begin, chain));
        }
        end = at;
    }
    None
}

struct Walked {
    chain: Chain,
    closed: Closed,
    /// So many bytes end with the last record.
    good: usize,
}

/// A whole record that does not belong where it stands.
struct Misfit(u64);

/// Follows the records. INVARIANT: a record is never taken for what a crash left, be it damaged: a torn write leaves no line
/// that ends as a record does. A damaged one is stepped over by the hash that its successor states, or that it states
/// itself, and verifying names it.
fn walk(mut chain: Chain, bytes: &[u8]) -> Result<Walked, Misfit> {
    let (mut closed, mut good) = (Closed::No, 0);
    let mut damaged = None;
    for (text, end) in whole_lines(bytes) {
        let Ok(line) = Line::parse(text) else {
            continue;
        };
        if closed == Closed::Yes {
            break;
        }
        if !line.is_whole() {
            let fits = (line.seq, line.prev) == (chain.seq(), chain.prev());
            damaged = damaged.or(fits.then_some((line.hash, end)));
            continue;
        }
        damaged = None;
        if line.seq == chain.seq() + 1 {
            chain.step_over(line.prev);
        }
        chain.follow(&line).map_err(|_| Misfit(line.seq))?;
        if line.event == DAY_CLOSED {
            closed = Closed::Yes;
        }
        good = end;
    }
    if let Some((hash, end)) = damaged {
        chain.step_over(hash);
        good = end;
    }
    Ok(Walked {
        chain,
        closed,
        good,
    })
}

/// Lines that end in a line feed, without it, and where each ends with it.
fn whole_lines(bytes: &[u8]) -> impl Iterator<Item = (&[u8], usize)> {
    let mut begin = 0;
    memchr::memchr_iter(b'\n', bytes).map(move |end| {
        let text = bytes.get(begin..end).unwrap_or_default();
        begin = end + 1;
        (text, begin)
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// A compressed file of which only the first half can be read; then this error.
    fn half_read(error: Option<io::Error>) -> io::Result<Option<io::ErrorKind>> {
        struct Failing(Option<io::Error>);
        impl io::Read for Failing {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                self.0.take().map_or(Ok(0), Err)
            }
        }
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(&b"a line\n".repeat(1_000)).unwrap();
        let packed = packed.finish().unwrap();
        let half = &packed[..packed.len() / 2];
        let (_, damage) = tail_of_gzip(half.chain(Failing(error)))?;
        Ok(damage.map(|error| error.kind()))
    }

    #[test]
    fn compressed_day_cut_short_is_damaged() {
        let damage = half_read(None).unwrap();
        assert_eq!(damage, Some(io::ErrorKind::UnexpectedEof));
    }

    #[test]
    fn compressed_day_with_rejected_bytes_is_damaged() {
        let (_, damage) = tail_of_gzip(&b"these bytes are not gzip"[..]).unwrap();
        assert_eq!(damage.unwrap().kind(), io::ErrorKind::InvalidInput);
    }

    #[cfg(unix)]
    #[test]
    fn compressed_day_on_a_failing_disk_is_an_error() {
        use rustix::io::Errno;
        for errno in [Errno::IO, Errno::STALE, Errno::INVAL] {
            let error = half_read(Some(errno.into())).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(errno.raw_os_error()));
        }
    }
}
