//! Buckets in a file of their own beside the ledger, shared by the processes of a machine. Nothing in it is worth a sync, and one
//! that is damaged is made anew.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior};

use crate::identity::Identity;
use crate::pace::{self, Draw, Drawn, Levels, Price};
use crate::{LedgerFault, files};

const PATIENCE: Duration = Duration::from_secs(5);

/// What nobody has used for so long is cleared, if it is full by then.
const UNUSED: Duration = Duration::from_secs(3600);

/// Times are microseconds since 1970.
const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS buckets (
    name    TEXT PRIMARY KEY,
    level   REAL NOT NULL,
    at      INTEGER NOT NULL,
    full_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
";

pub(crate) struct Buckets {
    conn: Connection,
    file: Identity,
}

impl Buckets {
    pub(crate) fn path(ledger: &Path) -> PathBuf {
        let mut path = ledger.as_os_str().to_owned();
        path.push(".pace");
        path.into()
    }

    pub(crate) fn open(path: &Path) -> Result<Self, LedgerFault> {
        match Self::try_open(path) {
            Err(LedgerFault::Foreign(why)) => {
                tracing::warn!(
                    why,
                    "what is known of everybody's pace is damaged, and begun anew"
                );
                for tail in ["", "-wal", "-shm"] {
                    let mut file = path.as_os_str().to_owned();
                    file.push(tail);
                    let _ = fs::remove_file(file);
                }
                Self::try_open(path)
            }
            opened => opened,
        }
    }

    fn try_open(path: &Path) -> Result<Self, LedgerFault> {
        // Made before SQLite makes it, so that it is private from the first.
        match files::private().write(true).create_new(true).open(path) {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.into()),
        }
        let conn = Connection::open(path)?;
        conn.busy_timeout(PATIENCE)?;
        conn.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
        conn.pragma_update(None, "synchronous", "off")?;
        conn.pragma_update(None, "trusted_schema", false)?;
        conn.execute_batch(SCHEMA)?;
        let file = Identity::of(path)?;
        Ok(Self { conn, file })
    }

    /// Whether others who share the ledger count in the same file.
    pub(crate) fn is_shared(&self) -> bool {
        self.file.check().is_ok()
    }

    /// One commit for all of them.
    pub(crate) fn draw_all(
        &mut self,
        asks: &[(Vec<Draw>, Price)],
        now: Timestamp,
    ) -> Result<Vec<Drawn>, LedgerFault> {
        let tx = self
            .conn
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let now = now.as_microsecond();
        let drawn = asks
            .iter()
            .map(|(draws, price)| draw(&tx, draws, *price, now))
            .collect::<Result<Vec<_>, _>>()?;
        tx.commit()?;
        Ok(drawn)
    }

    pub(crate) fn clear(&self, now: Timestamp) -> Result<(), LedgerFault> {
        let now = now.as_microsecond();
        self.conn.execute(
            "DELETE FROM buckets WHERE at < ?1 AND full_at < ?2",
            (now.saturating_sub(micros(UNUSED)), now),
        )?;
        Ok(())
    }
}

fn draw(
    tx: &Transaction<'_>,
    draws: &[Draw],
    price: Price,
    now: i64,
) -> Result<Drawn, LedgerFault> {
    let mut levels = Levels::new();
    for draw in draws {
        if let Some(level) = level(tx, draw, now)? {
            levels.insert(draw.bucket.clone(), level);
        }
    }
    let drawn = pace::draw(&mut levels, draws, price);
    if let Drawn::Granted(_) = drawn {
        let mut put = tx.prepare(
            "INSERT INTO buckets (name, level, at, full_at) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (name) DO UPDATE SET level = excluded.level, at = excluded.at, full_at = excluded.full_at",
        )?;
        for draw in draws {
            if let Some(level) = levels.get(&draw.bucket) {
                let full_at = now.saturating_add(micros(draw.full_in(*level)));
                put.execute((&draw.bucket, level, now, full_at))?;
            }
        }
    }
    Ok(drawn)
}

fn level(tx: &Transaction<'_>, draw: &Draw, now: i64) -> Result<Option<f64>, LedgerFault> {
    let found: Option<(f64, i64)> = tx
        .prepare("SELECT level, at FROM buckets WHERE name = ?1")?
        .query_row([&draw.bucket], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((level, at)) = found else {
        return Ok(None);
    };
    if at > now {
        // A clock that was set back fills nothing, but fills again from now on.
        tx.execute(
            "UPDATE buckets SET at = ?2 WHERE name = ?1",
            (&draw.bucket, now),
        )?;
    }
    let elapsed = u64::try_from(now.saturating_sub(at)).unwrap_or_default();
    Ok(Some(draw.filled(level, Duration::from_micros(elapsed))))
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}
