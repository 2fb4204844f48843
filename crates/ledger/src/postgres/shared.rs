//! Keys, records and locks that replicas share.

use super::conn::Conn;
use super::desk::Desk;
use super::text::spelled;
use super::trouble::Trouble;
use crate::LedgerFault;
use crate::shared::{Locked, Record};

/// The one that is there, or this one.
pub(super) async fn key(conn: &Conn, name: &str, fresh: &[u8]) -> Result<Vec<u8>, Trouble> {
    let name = spelled(name);
    conn.execute(
        "INSERT INTO keys (name, octets) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        &[&name, &fresh],
    )
    .await?;
    let found = conn
        .query("SELECT octets FROM keys WHERE name = $1", &[&name])
        .await?;
    let row = found.first().ok_or(Trouble::Outrun)?;
    Ok(row.try_get(0)?)
}

pub(super) async fn record(conn: &Conn, name: &str) -> Result<Option<Record>, Trouble> {
    let found = conn
        .query(
            "SELECT octets, stamp FROM records WHERE name = $1",
            &[&spelled(name)],
        )
        .await?;
    let Some(row) = found.first() else {
        return Ok(None);
    };
    let stamp: i64 = row.try_get(1)?;
    Ok(Some(Record {
        octets: row.try_get(0)?,
        stamp: stamp.cast_unsigned(),
    }))
}

/// INVARIANT: nobody writes but who has the lock, and nobody takes that meanwhile; so writing it once more writes the same, and
/// an attempt that comes too late writes nothing.
pub(super) async fn replace(
    conn: &Conn,
    name: &str,
    turn: &str,
    octets: &[u8],
) -> Result<u64, Trouble> {
    const REPLACE: &str = "WITH held AS (SELECT 1 FROM locks WHERE name = $1 AND turn = $3 FOR SHARE)
        INSERT INTO records (name, octets, stamp) SELECT $1, $2, nextval('record_stamps') FROM held
        ON CONFLICT (name) DO UPDATE SET octets = excluded.octets, stamp = excluded.stamp RETURNING stamp";
    let found = conn
        .query(REPLACE, &[&spelled(name), &octets, &turn])
        .await?;
    let row = found.first().ok_or(LedgerFault::LockLost)?;
    let stamp: i64 = row.try_get(0)?;
    Ok(stamp.cast_unsigned())
}

/// Where a row stands, its holder has the lock until it is dead to the other. Asked again for the same turn it is still that.
pub(super) async fn lock(
    desk: &Desk,
    conn: &Conn,
    name: &str,
    turn: &str,
) -> Result<Locked, Trouble> {
    const LOCK: &str = "INSERT INTO locks AS l (name, holder, turn) VALUES ($1, $2, $3)
        ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, turn = excluded.turn
        WHERE l.turn = excluded.turn OR (l.holder <> excluded.holder AND dead(l.holder, excluded.holder))
        RETURNING 1";
    desk.be_heard(conn).await?;
    let found = conn
        .query(LOCK, &[&spelled(name), &desk.name, &turn])
        .await?;
    Ok(match found.is_empty() {
        true => Locked::ByAnother,
        false => Locked::Now,
    })
}

pub(super) async fn unlock(conn: &Conn, turns: &[String]) -> Result<(), Trouble> {
    conn.execute("DELETE FROM locks WHERE turn = ANY ($1)", &[&turns])
        .await?;
    Ok(())
}
