//! Finds transactions. Nothing here writes.

use bytes::Bytes;
use mail::{Uid, UidValidity};
use rusqlite::{Connection, OptionalExtension as _, Params, Row, params_from_iter};

use crate::going::taken;
use crate::rows::{self, Columns, Unread};
use crate::{Filter, LedgerFault, Place, Transaction, TransactionId, Unsettled};

/// More than anybody reads, and little enough for memory.
const MOST_LISTED: usize = 10_000;

pub(crate) fn get(
    conn: &Connection,
    id: &TransactionId,
) -> Result<Option<Transaction>, LedgerFault> {
    one(conn, "id = ?1", [id.as_str()])
}

pub(crate) fn by_key(
    conn: &Connection,
    caller: &str,
    key: &str,
) -> Result<Option<Transaction>, LedgerFault> {
    one(conn, "caller = ?1 AND key = ?2", (caller, key))
}

/// The transaction that undid this one, or is about to.
pub(super) fn undoing(
    conn: &Connection,
    undone: &TransactionId,
) -> Result<Option<Transaction>, LedgerFault> {
    one(
        conn,
        "id = (SELECT undone_by FROM transactions WHERE id = ?1)",
        [undone.as_str()],
    )
}

pub(crate) fn list(conn: &Connection, filter: &Filter) -> Result<Vec<Transaction>, LedgerFault> {
    let mut conditions = Vec::new();
    let mut values = Vec::new();
    if let Some(caller) = &filter.caller {
        conditions.push("caller = ?".to_owned());
        values.push(caller.as_str());
    }
    if !filter.states.is_empty() {
        let places = vec!["?"; filter.states.len()].join(", ");
        conditions.push(format!("state IN ({places})"));
        values.extend(filter.states.iter().map(|state| state.name()));
    }
    let condition = match conditions.as_slice() {
        [] => "TRUE".to_owned(),
        some => some.join(" AND "),
    };
    let limit = match filter.limit {
        0 => MOST_LISTED,
        some => some.min(MOST_LISTED),
    };
    let tail = format!("{condition} ORDER BY id DESC LIMIT {limit}");
    all(conn, &tail, params_from_iter(values))
}

pub(crate) fn unsettled(conn: &Connection) -> Result<Unsettled, LedgerFault> {
    let (open, needs_operator, oldest): (i64, i64, Option<String>) =
        conn.query_row(rows::UNSETTLED, [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?;
    Ok(Unsettled {
        open: open.cast_unsigned(),
        needs_operator: needs_operator.cast_unsigned(),
        oldest: oldest.as_deref().and_then(rows::parse_time),
    })
}

pub(crate) fn content(conn: &Connection, id: &TransactionId) -> Result<Option<Bytes>, LedgerFault> {
    let octets: Option<Vec<u8>> = conn
        .query_row(
            "SELECT octets FROM contents WHERE transaction_id = ?1",
            [id.as_str()],
            |row| row.get(0),
        )
        .optional()?;
    Ok(octets.map(Bytes::from))
}

pub(crate) fn landed(
    conn: &Connection,
    place: &Place,
    uidvalidity: UidValidity,
    but: &TransactionId,
) -> Result<Vec<Uid>, LedgerFault> {
    let mut found = conn.prepare(
        "SELECT landed_uid, why FROM transactions
         LEFT JOIN steps ON transaction_id = id AND name = 'thin'
         WHERE target_account = ?1 AND target_folder = ?2 AND landed_uidvalidity = ?3 AND landed_uid IS NOT NULL
             AND id <> ?4",
    )?;
    let rows = found.query_map(
        (
            place.account.as_str(),
            place.folder.as_str(),
            uidvalidity.0,
            but.as_str(),
        ),
        |row| Ok((row.get(0).map(Uid)?, row.get(1)?)),
    )?;
    Ok(taken(rows.collect::<Result<_, _>>()?, uidvalidity))
}

fn one(
    conn: &Connection,
    condition: &str,
    values: impl Params,
) -> Result<Option<Transaction>, LedgerFault> {
    Ok(all(conn, condition, values)?.into_iter().next())
}

fn all(
    conn: &Connection,
    tail: &str,
    values: impl Params,
) -> Result<Vec<Transaction>, LedgerFault> {
    let mut found = conn.prepare(&format!("SELECT * FROM transactions WHERE {tail}"))?;
    let mut rows = found.query(values)?;
    let mut transactions = Vec::new();
    while let Some(row) = rows.next()? {
        transactions.push(rows::transaction(&Cells(row))?);
    }
    let mut found =
        conn.prepare("SELECT * FROM steps WHERE transaction_id = ?1 ORDER BY number")?;
    for transaction in &mut transactions {
        let mut rows = found.query([transaction.id.as_str()])?;
        while let Some(row) = rows.next()? {
            transaction.steps.push(rows::step(&Cells(row))?);
        }
    }
    Ok(transactions)
}

struct Cells<'a>(&'a Row<'a>);

impl Columns for Cells<'_> {
    fn text(&self, column: &str) -> Result<Option<String>, Unread> {
        self.0.get(column).map_err(|_| Unread)
    }

    fn whole(&self, column: &str) -> Result<Option<i64>, Unread> {
        self.0.get(column).map_err(|_| Unread)
    }
}
