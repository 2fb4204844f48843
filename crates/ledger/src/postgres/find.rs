//! Finds transactions, each with its steps in one round trip. Nothing here writes.

use bytes::Bytes;
use mail::{Uid, UidValidity};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::conn::Conn;
use super::desk::Desk;
use super::text::{digest, read, spelled};
use super::trouble::Trouble;
use crate::going::taken;
use crate::rows::{self, Columns, Unread};
use crate::{Filter, LedgerFault, Place, Transaction, TransactionId, Unsettled};

/// More than anybody reads, and little enough for memory.
const MOST_LISTED: usize = 10_000;

/// A row of `transactions t`, and its steps as JSON.
macro_rules! with_steps {
    ($($tail:tt)*) => {
        concat!(
            "SELECT t.*, (SELECT json_agg(json_build_array(name, state, at, why) ORDER BY number)::TEXT
                          FROM steps WHERE transaction_id = t.id) AS steps ",
            $($tail)*
        )
    };
}
pub(super) use with_steps;

pub(super) async fn get(
    desk: &Desk,
    conn: &Conn,
    id: &TransactionId,
) -> Result<Option<Transaction>, Trouble> {
    one(
        desk,
        conn,
        with_steps!("FROM transactions t WHERE id = $1"),
        &[&id.as_str()],
    )
    .await
}

pub(super) async fn by_key(
    desk: &Desk,
    conn: &Conn,
    caller: &str,
    key: &str,
) -> Result<Option<Transaction>, Trouble> {
    let key = key_digest(caller, key);
    one(
        desk,
        conn,
        with_steps!("FROM transactions t WHERE key_digest = $1"),
        &[&key],
    )
    .await
}

/// The transaction that undid this one, or is about to.
pub(super) async fn undoing(
    desk: &Desk,
    conn: &Conn,
    undone: &TransactionId,
) -> Result<Option<Transaction>, Trouble> {
    const UNDOING: &str = with_steps!(
        "FROM transactions t WHERE id = (SELECT undone_by FROM transactions WHERE id = $1)"
    );
    one(desk, conn, UNDOING, &[&undone.as_str()]).await
}

pub(super) async fn list(
    desk: &Desk,
    conn: &Conn,
    filter: &Filter,
) -> Result<Vec<Transaction>, Trouble> {
    const LIST: &str = with_steps!(
        "FROM transactions t WHERE ($1::TEXT IS NULL OR caller = $1) AND ($2::TEXT[] IS NULL OR state = ANY ($2))
         ORDER BY id DESC LIMIT $3"
    );
    let caller = filter.caller.as_deref().map(spelled);
    let states: Vec<&str> = filter.states.iter().map(|state| state.name()).collect();
    let states = (!states.is_empty()).then_some(states);
    let limit = match filter.limit {
        0 => MOST_LISTED,
        some => some.min(MOST_LISTED),
    };
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let found = conn.query(LIST, &[&caller, &states, &limit]).await?;
    let read = found.iter().map(|row| transaction(desk, row));
    Ok(read.collect::<Result<_, _>>()?)
}

pub(super) async fn unsettled(desk: &Desk, conn: &Conn) -> Result<Unsettled, Trouble> {
    let found = conn.query(rows::UNSETTLED, &[]).await?;
    let row = found.first().ok_or(Trouble::Outrun)?;
    let (open, needs_operator): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
    let oldest: Option<String> = row.try_get(2)?;
    Ok(Unsettled {
        open: open.cast_unsigned(),
        needs_operator: needs_operator.cast_unsigned(),
        oldest: oldest
            .as_deref()
            .and_then(rows::parse_time)
            .map(|then| desk.here(then)),
    })
}

pub(super) async fn content(conn: &Conn, id: &TransactionId) -> Result<Option<Bytes>, Trouble> {
    let found = conn
        .query(
            "SELECT octets FROM contents WHERE transaction_id = $1",
            &[&id.as_str()],
        )
        .await?;
    let Some(row) = found.first() else {
        return Ok(None);
    };
    let octets: Vec<u8> = row.try_get(0)?;
    Ok(Some(Bytes::from(octets)))
}

pub(super) async fn landed(
    conn: &Conn,
    place: &Place,
    uidvalidity: UidValidity,
    but: &TransactionId,
) -> Result<Vec<Uid>, Trouble> {
    const LANDED: &str = "SELECT landed_uid, why FROM transactions
        LEFT JOIN steps ON transaction_id = id AND name = 'thin'
        WHERE target_account = $1 AND left(target_folder, 100) = left($2, 100) AND target_folder = $2 AND landed_uidvalidity = $3
            AND landed_uid IS NOT NULL AND id <> $4";
    let (account, folder) = (
        spelled(place.account.as_str()),
        spelled(place.folder.as_str()),
    );
    let validity = i64::from(uidvalidity.0);
    let found = conn
        .query(LANDED, &[&account, &folder, &validity, &but.as_str()])
        .await?;
    let mut rows = Vec::with_capacity(found.len());
    for row in &found {
        let uid: i64 = row.try_get(0)?;
        let uid = Uid(u32::try_from(uid).map_err(|_| unknown("landed_uid"))?);
        rows.push((uid, row.try_get(1)?));
    }
    Ok(taken(rows, uidvalidity))
}

/// A caller's name for its request.
pub(super) fn key_digest(caller: &str, key: &str) -> Vec<u8> {
    digest(&[Some(caller), Some(key)])
}

async fn one(
    desk: &Desk,
    conn: &Conn,
    sql: &'static str,
    values: &[&(dyn ToSql + Sync)],
) -> Result<Option<Transaction>, Trouble> {
    let found = conn.query(sql, values).await?;
    Ok(found
        .first()
        .map(|row| transaction(desk, row))
        .transpose()?)
}

/// One row as `with_steps` gives it.
pub(super) fn transaction(desk: &Desk, row: &Row) -> Result<Transaction, LedgerFault> {
    let cells = Cells(row);
    let mut transaction = rows::transaction(&cells)?;
    // INVARIANT: all times in the tables are the server's, and all that leave this module are ours.
    transaction.began = desk.here(transaction.began);
    transaction.ended = transaction.ended.map(|then| desk.here(then));
    transaction.next_try = transaction.next_try.map(|then| desk.here(then));
    let steps: Option<String> = row.try_get("steps").map_err(|_| unknown("steps"))?;
    let steps: Vec<[Option<String>; 4]> = match steps {
        None => Vec::new(),
        Some(json) => serde_json::from_str(&json).map_err(|_| unknown("steps"))?,
    };
    for step in steps {
        let mut step = rows::step(&Step(step))?;
        step.at = desk.here(step.at);
        transaction.steps.push(step);
    }
    Ok(transaction)
}

fn unknown(column: &str) -> LedgerFault {
    LedgerFault::Foreign(format!(
        "a row holds something unknown in its column {column}"
    ))
}

struct Cells<'a>(&'a Row);

impl Columns for Cells<'_> {
    fn text(&self, column: &str) -> Result<Option<String>, Unread> {
        let text: Option<String> = self.0.try_get(column).map_err(|_| Unread)?;
        Ok(text.map(read))
    }

    fn whole(&self, column: &str) -> Result<Option<i64>, Unread> {
        self.0.try_get(column).map_err(|_| Unread)
    }
}

/// Name, state, time and reason.
struct Step([Option<String>; 4]);

impl Columns for Step {
    fn text(&self, column: &str) -> Result<Option<String>, Unread> {
        let [name, state, at, why] = &self.0;
        let cell = match column {
            "name" => name,
            "state" => state,
            "at" => at,
            "why" => why,
            _ => return Err(Unread),
        };
        Ok(cell.clone().map(read))
    }

    fn whole(&self, _: &str) -> Result<Option<i64>, Unread> {
        Err(Unread)
    }
}
