//! What an error of the server means: an answer, or that it is worth asking again.
//!
//! INVARIANT: no word of it shows a password, or a value that was written.

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use super::schema::{NO_SUCH, NOT_HELD};
use crate::LedgerFault;

/// Why a request got no answer from one connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Trouble {
    /// This is the answer.
    Said(LedgerFault),
    /// The server took it back: another was faster. It is tried again at once.
    Outrun,
    /// The connection is gone, and with it the news of what became of the request.
    Lost(String),
}

impl From<LedgerFault> for Trouble {
    fn from(fault: LedgerFault) -> Self {
        Self::Said(fault)
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        let Some(db) = error.as_db_error() else {
            let words = words(&error);
            if words.contains("password missing") {
                return Self::Said(unwritable(
                    "its server wants a password; check user and password: ledger_secret_ref, or MAILWARDEN_LEDGER_PASSWORD",
                ));
            }
            // A certificate that is no good does not become better.
            return match is_distrust(&error) {
                true => Self::Said(unwritable(&words)),
                false => Self::Lost(words),
            };
        };
        let code = db.code();
        let said = |why: &str| Self::Said(unwritable(why));
        match code.code() {
            NOT_HELD => Self::Said(LedgerFault::Leased),
            NO_SUCH => Self::Said(LedgerFault::Unknown),
            // serialization_failure, deadlock_detected
            "40001" | "40P01" => Self::Outrun,
            // A statement that was cancelled, or waited too long for a lock.
            "57014" | "55P03" => Self::Lost("its server is too slow, or somebody holds its tables".to_owned()),
            // A server that stops, has crashed, or starts.
            "57P01" | "57P02" | "57P03" => Self::Lost("its server is stopping or starting".to_owned()),
            "53300" => Self::Lost("its server takes no more connections; raise max_connections".to_owned()),
            // A statement that was prepared before a newer version changed the tables, or by a session that is another's by now.
            "0A000" | "26000" => Self::Lost("its tables were changed meanwhile".to_owned()),
            // The session was ended from elsewhere.
            "57P05" | "25P03" => Self::Lost("its server has ended the connection".to_owned()),
            "28P01" | "28000" => said("its server refuses the login; check user and password"),
            "3D000" => said("its server has no such database; create it"),
            "42501" => said("the role lacks rights: it needs CREATE on the database, or to own the schema mailwarden"),
            "25006" => said("its server may only be read; give the address of the primary"),
            "53100" => said("its server's disk is full; it is written again when there is room"),
            "3F000" | "42P01" | "42703" | "42883" => Self::Said(LedgerFault::Foreign(
                "the schema mailwarden was removed or changed while it was in use; start the program again".to_owned(),
            )),
            _ if code == &SqlState::UNIQUE_VIOLATION => match db.constraint() {
                Some("transactions_landed") => Self::Said(LedgerFault::Taken),
                _ => Self::Outrun,
            },
            code if code.starts_with("08") => Self::Lost("the connection to its server is broken".to_owned()),
            // The message names tables and types; values are in its detail, which is left out.
            code => said(&format!("its server says: {} ({code})", db.message())),
        }
    }
}

pub(super) fn unwritable(why: &str) -> LedgerFault {
    LedgerFault::Unwritable(why.to_owned())
}

fn is_distrust(error: &Error) -> bool {
    let mut source = std::error::Error::source(error);
    while let Some(one) = source {
        if one.to_string().contains("invalid peer certificate") {
            return true;
        }
        source = one.source();
    }
    false
}

/// The error and what it came of.
fn words(error: &Error) -> String {
    let mut all = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(one) = source {
        let more = one.to_string();
        if !all.contains(&more) {
            all = format!("{all}: {more}");
        }
        source = one.source();
    }
    all
}
