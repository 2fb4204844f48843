//! What the accounts of the store are called, as far as the system says so: a database beside the store.
//!
//! Without it (another system, no permission) accounts go by their numbers; that is no failure.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::database::{READ_ONLY, beside, seen, uri};

/// More accounts than these are not read.
const MOST: usize = 1_000;

/// What an account is called.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Called {
    pub(super) name: Option<String>,
    /// Mostly an address.
    pub(super) user: Option<String>,
}

/// By number, in capitals.
#[derive(Default, Debug)]
pub(super) struct Accounts(HashMap<String, Called>);

impl Accounts {
    pub(super) fn read(path: Option<&Path>) -> Self {
        let known = path.filter(|path| seen(path).is_some()).and_then(|path| {
            query(path)
                .inspect_err(|error| {
                    let code = error.sqlite_error_code();
                    tracing::debug!(?code, "the names of accounts cannot be read");
                })
                .ok()
        });
        Self(known.unwrap_or_default())
    }

    pub(super) fn of(&self, number: &str) -> Called {
        let number = number.to_ascii_uppercase();
        self.0.get(&number).cloned().unwrap_or_default()
    }
}

fn query(path: &Path) -> rusqlite::Result<HashMap<String, Called>> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    // Without the index of its log nobody has it open, and SQLite would leave one behind. An old name does no harm.
    let how = match seen(&beside(path, "-shm")) {
        Some(_) => READ_ONLY,
        None => "mode=ro&immutable=1",
    };
    let conn = Connection::open_with_flags(uri(path, how), flags)?;
    conn.busy_timeout(Duration::from_millis(500))?;
    conn.pragma_update(None, "query_only", true)?;
    conn.pragma_update(None, "trusted_schema", false)?;
    let mut rows = conn.prepare(
        "SELECT a.ZIDENTIFIER, coalesce(nullif(a.ZACCOUNTDESCRIPTION, ''), p.ZACCOUNTDESCRIPTION), \
         coalesce(nullif(a.ZUSERNAME, ''), p.ZUSERNAME) \
         FROM ZACCOUNT a LEFT JOIN ZACCOUNT p ON p.Z_PK = a.ZPARENTACCOUNT WHERE a.ZIDENTIFIER IS NOT NULL",
    )?;
    let rows = rows.query_map([], |row| {
        let number: String = row.get(0)?;
        let called = Called {
            name: row.get(1)?,
            user: row.get(2)?,
        };
        Ok((number.to_ascii_uppercase(), called))
    })?;
    rows.take(MOST).collect()
}
