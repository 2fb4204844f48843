//! Why the ledger could not answer. What is to be done about it is for its user to say.

use std::time::Duration;

use rusqlite::ErrorCode;

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LedgerFault {
    /// Nothing of what was asked is known to be written down. Where a server did not answer in time and a beginning turns
    /// out to hold, it is ended as undone; other notes may hold, and whoever takes the transaction up finds them.
    #[error("the ledger cannot be written: {0}")]
    Unwritable(String),
    /// The same, because its server does not answer: it is worth asking `again` after so long.
    #[error("the ledger cannot be reached: {why}")]
    Away { why: String, again: Duration },
    #[error("the ledger is not one that this program can use: {0}")]
    Foreign(String),
    /// Somebody else has the lease, or nobody: this process does not work on it.
    #[error("somebody else is working on this transaction")]
    Leased,
    /// What it says is its own is another transaction's.
    #[error("another transaction has put that message there")]
    Taken,
    /// Who had the only right to it has lost it: it was taken for dead, or gave it back.
    #[error("somebody else has the lock by now")]
    LockLost,
    #[error("this transaction is over")]
    Over,
    /// Nobody has left it to a person.
    #[error("this transaction is still under way")]
    UnderWay,
    #[error("there is no such transaction")]
    Unknown,
}

impl From<rusqlite::Error> for LedgerFault {
    fn from(error: rusqlite::Error) -> Self {
        let why = match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => {
                return Self::Foreign("the file is no SQLite database".to_owned());
            }
            Some(ErrorCode::ConstraintViolation) if names_a_landing(&error) => return Self::Taken,
            Some(ErrorCode::DatabaseCorrupt) => {
                return Self::Foreign(format!("the file is damaged ({error})"));
            }
            Some(ErrorCode::DiskFull) => "the disk is full; it is written again when there is room",
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                "another process has been writing to it for too long"
            }
            Some(ErrorCode::ReadOnly) => "the file, or its directory, may only be read",
            Some(ErrorCode::CannotOpen) => "the file, or one beside it, cannot be opened",
            _ => return Self::Unwritable(error.to_string()),
        };
        Self::Unwritable(why.to_owned())
    }
}

impl From<std::io::Error> for LedgerFault {
    fn from(error: std::io::Error) -> Self {
        Self::Unwritable(error.to_string())
    }
}

fn names_a_landing(error: &rusqlite::Error) -> bool {
    error.to_string().contains("landed_uid")
}
