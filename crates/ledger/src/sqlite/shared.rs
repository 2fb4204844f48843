//! Keys, records and locks in the ledger's file.

use rusqlite::{Connection, OptionalExtension as _};

use super::lease;
use crate::LedgerFault;
use crate::owners::Life;
use crate::rows::time;
use crate::shared::{Locked, Record};
use crate::writer::Desk;

/// The one that is there, or this one.
pub(crate) fn key(conn: &Connection, name: &str, fresh: &[u8]) -> Result<Vec<u8>, LedgerFault> {
    conn.execute(
        "INSERT INTO keys (name, octets) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
        (name, fresh),
    )?;
    let found = conn.query_row("SELECT octets FROM keys WHERE name = ?1", [name], |row| {
        row.get(0)
    })?;
    Ok(found)
}

pub(crate) fn record(conn: &Connection, name: &str) -> Result<Option<Record>, LedgerFault> {
    let found = conn.query_row(
        "SELECT octets, stamp FROM records WHERE name = ?1",
        [name],
        |row| {
            let stamp: i64 = row.get(1)?;
            Ok(Record {
                octets: row.get(0)?,
                stamp: stamp.cast_unsigned(),
            })
        },
    );
    Ok(found.optional()?)
}

/// INVARIANT: nobody writes but who has the lock.
pub(crate) fn replace(
    conn: &Connection,
    name: &str,
    turn: &str,
    octets: &[u8],
) -> Result<u64, LedgerFault> {
    let stamp: Option<i64> = conn
        .query_row(
            "INSERT INTO records (name, octets, stamp)
             SELECT ?1, ?2, 1 WHERE EXISTS (SELECT 1 FROM locks WHERE name = ?1 AND turn = ?3)
             ON CONFLICT (name) DO UPDATE SET octets = excluded.octets, stamp = stamp + 1 RETURNING stamp",
            (name, octets, turn),
            |row| row.get(0),
        )
        .optional()?;
    Ok(stamp.ok_or(LedgerFault::LockLost)?.cast_unsigned())
}

/// `turn` tells one holding from the next of the same process.
pub(crate) fn lock(desk: &Desk<'_>, name: &str, turn: &str) -> Result<Locked, LedgerFault> {
    let (conn, owner) = (desk.conn, desk.owner);
    let held: Option<(String, Option<String>)> = conn
        .query_row(
            "SELECT holder, until FROM locks WHERE name = ?1",
            [name],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    if let Some((holder, until)) = held {
        let keeps = match desk.owners.life(&holder) {
            _ if holder == owner => true,
            Life::Alive => true,
            Life::Dead => false,
            // As with leases: who cannot be asked is not robbed before its time is up.
            Life::Untold => until.is_some_and(|until| until >= time(desk.now)),
        };
        if keeps {
            return Ok(Locked::ByAnother);
        }
    }
    conn.execute(
        "INSERT INTO locks (name, holder, turn, until) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, turn = excluded.turn, until = excluded.until",
        (name, owner, turn, lease::until(desk.now)),
    )?;
    Ok(Locked::Now)
}

pub(crate) fn unlock(conn: &Connection, name: &str, turn: &str) -> Result<(), LedgerFault> {
    conn.execute(
        "DELETE FROM locks WHERE name = ?1 AND turn = ?2",
        (name, turn),
    )?;
    Ok(())
}
