//! Whether a log is the one that was written: every record of it, from the first to the last.
//!
//! What a log can say about itself has an end: whoever can write the directory can cut off its tail, or write all of it
//! anew. That is what a checkpoint that is kept elsewhere is for.

use std::fmt;
use std::io;
use std::path::Path;

use super::check::{Begins, Check};
use super::checkpoints::{Compared, From, Signed, stored};
use super::days::{Days, Read, Spot};
use super::fault::{Cause, Fault, Wrong};
use crate::{Checkpoint, Day, Hash, Verifier, verifier};

/// What to verify, and against what.
#[derive(Clone, Debug, Default)]
pub struct Verify {
    /// Begin with this day, and believe what it states about the days before it.
    pub since: Option<Day>,
    /// Who must have signed; the log's own `log.pub` when it is not given.
    pub key: Option<Verifier>,
    /// Checkpoints from elsewhere. Those beside the log are compared too.
    pub checkpoints: Vec<Signed>,
}

/// What was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// The first record that was read.
    pub first: u64,
    /// How many records the tree covers: one more than the number of the last good one.
    pub size: u64,
    pub root: Hash,
    /// The hash of the last good record.
    pub head: Hash,
    pub days: usize,
    /// As they lie on the disk.
    pub bytes: u64,
    /// How many checkpoints agree.
    pub checkpoints: usize,
    pub notices: Vec<Notice>,
    /// The first thing that is wrong. Nothing behind it was looked at.
    pub fault: Option<Fault>,
}

/// What is worth a word and no failure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Notice {
    /// The newest file ends within a line.
    Tail {
        bytes: u64,
    },
    /// A crash left bytes behind, which were set aside.
    Torn {
        seq: u64,
        name: String,
        bytes: u64,
    },
    TornGone {
        seq: u64,
        name: String,
    },
    /// Retention deleted the records up to the last one.
    Deleted {
        seq: u64,
        last: u64,
        day: String,
    },
    /// The records before were not read.
    Since {
        first: u64,
    },
    /// Why the log does not begin with record 0 was not found out.
    Unexplained {
        first: u64,
    },
    /// A file without a record, by its number among the days.
    Empty {
        file: usize,
    },
    /// A checkpoint that ends before the first record.
    NotCovered {
        name: String,
        size: u64,
    },
    /// There is no public key.
    NoKey,
    /// So many closed days could be written to.
    Writable {
        files: usize,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tail { bytes } => write!(
                f,
                "the last {bytes} bytes are no whole record: one is being written, or a write was torn"
            ),
            Self::Torn { seq, name, bytes } => write!(
                f,
                "{bytes} bytes that a crash left are kept as {name} (record {seq}); no record that was written to its end is in them"
            ),
            Self::TornGone { seq, name } => {
                write!(
                    f,
                    "the bytes that were kept as {name} (record {seq}) are gone"
                )
            }
            Self::Deleted { seq, last, day } => write!(
                f,
                "the records 0 to {last}, up to the day {day}, were deleted by retention (record {seq})"
            ),
            Self::Since { first } => {
                write!(
                    f,
                    "the records before {first} were not read; what the day states about them is believed"
                )
            }
            Self::Unexplained { first } => {
                write!(
                    f,
                    "the log begins with record {first}; why was not read, because of the bad record"
                )
            }
            Self::Empty { .. } => f.write_str("a day's file is empty"),
            Self::NotCovered { name, size } => {
                write!(
                    f,
                    "the checkpoint in the file {name} covers {size} records, and the log begins behind them"
                )
            }
            Self::NoKey => f.write_str("there is no log.pub: no checkpoint was compared"),
            Self::Writable { files } => write!(f, "{files} closed day(s) can be written to"),
        }
    }
}

/// Reads the log from its first record to its last, or to the first that is bad. `progress` is told how many bytes of how
/// many were read, now and then.
pub fn verify(
    dir: &Path,
    wanted: &Verify,
    progress: &mut dyn FnMut(u64, u64),
) -> io::Result<Report> {
    // The checkpoints first: while a server writes, the log only grows.
    let (checkpoints, mut notices, beside) = signed(dir, wanted)?;
    let mut days = Days::of(dir, wanted.since, None)?;
    let files = days.files().to_vec();
    if files.is_empty() {
        return Err(io::Error::new(
            io::ErrorKind::NotFound,
            format!("there is no day of a log in {}", dir.display()),
        ));
    }
    let begins = match crate::days(dir)?.len() > files.len() {
        true => Begins::Later,
        false => Begins::Oldest,
    };
    let total = days.bytes();
    let mut check = Check::new(dir, &files, begins, &checkpoints);
    let walked = walk(&mut days, &mut check, &mut |taken| progress(taken, total));
    let fault = match walked {
        Err(found) => Some(check.explain(found)),
        Ok(()) => check.finish(days.spot()),
    };
    progress(days.taken(), total);
    let first = check.first().unwrap_or_default();
    if begins == Begins::Later && first > 0 {
        notices.push(Notice::Since { first });
    }
    notices.append(&mut check.notices);
    notices.extend(writable(&files));
    Ok(Report {
        first,
        size: check.tree().size(),
        root: check.tree().root(),
        head: check.head(),
        days: files.len(),
        bytes: days.taken(),
        checkpoints: check.checked,
        notices,
        fault: fault.or(beside),
    })
}

/// How many records lie between two words about progress.
const STEP: u64 = 8192;

fn walk(
    days: &mut Days,
    check: &mut Check<'_>,
    progress: &mut dyn FnMut(u64),
) -> Result<(), Box<super::explain::Break>> {
    let mut spot: Option<Spot> = None;
    while let Some(read) = days.advance() {
        match (read, &mut spot) {
            (Read::Day(_), before) => {
                if let Some(before) = *before {
                    check.end(before)?;
                }
                let file = before.map_or(0, |before| before.file + 1);
                *before = Some(Spot { file, line: 0 });
            }
            (Read::Piece(piece), Some(spot)) => {
                spot.line += 1;
                check.piece(piece, *spot)?;
                if spot.line.is_multiple_of(STEP) {
                    progress(days.taken());
                }
            }
            // Retention deleted the oldest day just now. That it may have is for the records that follow to say.
            (Read::Unreadable(error), before)
                if error.kind() == io::ErrorKind::NotFound && !check.started() =>
            {
                let file = before.map_or(0, |before| before.file + 1);
                *before = Some(Spot { file, line: 0 });
            }
            (Read::Unreadable(error), _) => return Err(check.unreadable(days.spot(), &error)),
            (Read::Piece(_), None) => {}
        }
    }
    spot.map_or(Ok(()), |last| check.end(last))
}

type Gathered = (Vec<Compared>, Vec<Notice>, Option<Fault>);

/// All checkpoints that are signed by this log, smallest first, and the first that is not.
fn signed(dir: &Path, wanted: &Verify) -> io::Result<Gathered> {
    let given = wanted.checkpoints.iter().cloned();
    let given = given.map(|signed| (From::Elsewhere, signed));
    let beside = stored(dir)?.into_iter();
    let all: Vec<(From, Signed)> = given
        .chain(beside.map(|signed| (From::Beside, signed)))
        .collect();
    let key = match &wanted.key {
        Some(key) => key.clone(),
        None => match verifier(dir) {
            Ok(key) => key,
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Err(_) if wanted.checkpoints.is_empty() => {
                let notices = match all.is_empty() {
                    true => Vec::new(),
                    false => vec![Notice::NoKey],
                };
                return Ok((Vec::new(), notices, None));
            }
            Err(_) => {
                return Err(io::Error::other(
                    "there is no log.pub beside the log to check the checkpoint with; give its public key",
                ));
            }
        },
    };
    let mut checkpoints = Vec::new();
    let mut fault = None;
    for (from, Signed { name, note }) in all {
        match Checkpoint::open(&note, &key) {
            Ok(checkpoint) => checkpoints.push(Compared {
                name,
                from,
                checkpoint,
            }),
            Err(why) => {
                fault.get_or_insert(Fault {
                    expected: None,
                    found: None,
                    at: None,
                    wrong: Wrong::Checkpoint(name, why),
                    cause: Cause::Elsewhere,
                });
            }
        }
    }
    checkpoints.sort_by_key(|compared| compared.checkpoint.size);
    Ok((checkpoints, Vec::new(), fault))
}

/// Closed days are made read-only; a copy of a log often is not.
fn writable(files: &[crate::DayFile]) -> Option<Notice> {
    let closed = files.split_last().map_or(&[][..], |(_, closed)| closed);
    let open = |file: &&crate::DayFile| {
        let data = file.path.metadata();
        data.is_ok_and(|data| !data.permissions().readonly())
    };
    let files = closed.iter().filter(open).count();
    (files > 0).then_some(Notice::Writable { files })
}
