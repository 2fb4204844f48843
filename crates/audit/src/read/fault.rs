//! What is wrong with a log, where, and what may have happened: the first thing that is, in words for people.

use std::fmt;

use super::days::At;
use super::lines::MOST;
use crate::{BadCheckpoint, Malformed};

/// The first bad record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The record that should be there; unknown where the log's beginning is gone.
    pub expected: Option<u64>,
    /// The record that is there, as far as it can be read.
    pub found: Option<u64>,
    /// None when it is not about a line.
    pub at: Option<At>,
    pub wrong: Wrong,
    pub cause: Cause,
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Wrong {
    #[error("the line is no record: {0}")]
    Malformed(#[from] Malformed),
    #[error("the line is longer than {MOST} bytes, which no record is")]
    TooLong,
    #[error("the file ends within a line, and it is not the newest")]
    Unended,
    #[error("the line goes on behind the record and does not end")]
    Overlong,
    #[error("the file cannot be read from here on: {0}")]
    Unreadable(String),
    #[error("its hash is not that of its text")]
    Hash,
    #[error("another record stands in its place")]
    Place,
    #[error("its prev_hash is not the hash of the record before it")]
    Prev,
    #[error("its hash is not the one that the record after it states as prev_hash")]
    Next,
    #[error("the log begins with record {0}, and no record says that those before it were deleted")]
    Beginning(u64),
    #[error("a day begins with day_opened, and this is {0}")]
    NotOpened(String),
    #[error("a day is opened once, and this stands behind other records of the day")]
    OpenedAgain,
    #[error("the day was closed by the record before it")]
    AfterClosed,
    #[error("the day ends without day_closed, and it is not the newest")]
    NotClosed,
    #[error("the file is named after a day that was over when it was opened")]
    OtherDay,
    #[error("what it must state cannot be read")]
    Unclear,
    #[error("the tree that it states is not the one over the records before it")]
    Tree,
    #[error("records are missing before it, and the process that wrote it has noticed: log_cut")]
    CutWhileWriting,
    #[error("the bytes that were set aside as {0} are not those that it states")]
    KeptChanged(String),
    #[error("the bytes that were set aside as {0} hold whole records, {1} of them")]
    KeptRecords(String, u64),
    #[error("the checkpoint in the file {0} cannot be used: {1}")]
    Checkpoint(String, BadCheckpoint),
    #[error(
        "the checkpoint in the file {name} signs another root: of the records up to {last}, from this one on, not all are those that were signed"
    )]
    Root { name: String, last: u64 },
    #[error("the checkpoint in the file {name} covers {size} records, and the log ends before")]
    Short { name: String, size: u64 },
    #[error(
        "the checkpoint in the file {name} covers {size} records, and the log begins behind them: nothing is left that it could be compared with"
    )]
    Behind { name: String, size: u64 },
}

/// What may have happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    Changed,
    /// From the expected record up to the one before this.
    Missing(u64),
    Inserted,
    Twice,
    OutOfOrder,
    /// The end is gone.
    Cut,
    /// It, or something before it, was written anew together with its hash.
    Rewritten,
    /// Not about a record.
    Elsewhere,
    /// Good or bad cannot be told.
    Incomparable,
}

impl Cause {
    pub fn word(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Missing(_) => "missing",
            Self::Inserted => "inserted",
            Self::Twice => "twice",
            Self::OutOfOrder => "out_of_order",
            Self::Cut => "cut",
            Self::Rewritten => "rewritten",
            Self::Elsewhere => "elsewhere",
            Self::Incomparable => "incomparable",
        }
    }
}

impl Fault {
    /// What may have happened, in a sentence.
    pub fn story(&self) -> String {
        let expected = self.expected.unwrap_or_default();
        match self.cause {
            Cause::Changed => {
                "the line was changed after it was written, or the disk damaged it".to_owned()
            }
            Cause::Missing(next) if expected + 1 >= next => {
                format!("record {expected} was removed")
            }
            Cause::Missing(next) => format!("the records {expected} to {} were removed", next - 1),
            Cause::Inserted => {
                "the line was put in here; the record that belongs here follows it".to_owned()
            }
            Cause::Twice => {
                "the line stands further up already: it was put in a second time".to_owned()
            }
            Cause::OutOfOrder => "lines were moved from where they stood".to_owned(),
            Cause::Cut => format!("the end of the log was cut off, from record {expected} on"),
            Cause::Rewritten => {
                "records were written anew together with their hashes, here or from here on"
                    .to_owned()
            }
            Cause::Elsewhere => {
                "a file was renamed, was changed, or belongs to another log".to_owned()
            }
            Cause::Incomparable => {
                "retention deleted what it covers, and a newer checkpoint is needed; or the whole log was written anew"
                    .to_owned()
            }
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.expected, self.found) {
            (Some(expected), _) => write!(f, "record {expected}")?,
            (None, Some(found)) => write!(f, "record {found}")?,
            (None, None) => f.write_str("the log")?,
        }
        if let Some(at) = &self.at {
            write!(f, " ({}, line {})", at.file, at.line)?;
        }
        write!(f, ": {}", self.wrong)
    }
}
