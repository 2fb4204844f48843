//! Who works on what. Never two at once: every function here runs in a transaction that has the only right to write.

use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, OptionalExtension as _};

use super::find;
use crate::owners::{Life, Owners};
use crate::rows::time;
use crate::writer::Desk;
use crate::{Claimed, Lease, LedgerFault, State, TransactionId};

/// How long a lease holds that nobody renews, where its owner cannot be asked.
const LEASE: SignedDuration = SignedDuration::from_secs(120);

/// Who takes a lease, by which claim, and when.
pub(crate) struct Taker<'a> {
    pub(super) owner: &'a str,
    pub(super) claim: &'a str,
    pub(super) now: Timestamp,
}

impl<'a> Taker<'a> {
    pub(crate) fn new(desk: &Desk<'a>, claim: &'a str) -> Self {
        Self {
            owner: desk.owner,
            claim,
            now: desk.now,
        }
    }
}

/// Whether this process works on it, by this very claim.
pub(super) fn check(conn: &Connection, lease: &Lease, owner: &str) -> Result<(), LedgerFault> {
    let found: Option<bool> = conn
        .query_row(
            "SELECT lease_owner IS ?2 AND lease_claim IS ?3 FROM transactions WHERE id = ?1",
            (lease.id.as_str(), owner, &lease.claim),
            |row| row.get(0),
        )
        .optional()?;
    match found.ok_or(LedgerFault::Unknown)? {
        true => Ok(()),
        false => Err(LedgerFault::Leased),
    }
}

pub(super) fn take(
    conn: &Connection,
    id: &TransactionId,
    taker: &Taker<'_>,
) -> Result<(), LedgerFault> {
    conn.execute(
        "UPDATE transactions SET lease_owner = ?2, lease_claim = ?3, lease_until = ?4 WHERE id = ?1",
        (id.as_str(), taker.owner, taker.claim, until(taker.now)),
    )?;
    Ok(())
}

/// Between mailboxes of these homes, which are a JSON list; between any, where there is none.
const SERVED: &str = "(?3 IS NULL OR (
    (source_home IS NULL OR source_home IN (SELECT value FROM json_each(?3)))
    AND (target_home IS NULL OR target_home IN (SELECT value FROM json_each(?3)))))";

/// Open ones that are due by then and that nobody works on, the oldest first.
pub(crate) fn claim_due(
    conn: &Connection,
    due: Timestamp,
    most: usize,
    homes: Option<&str>,
    taker: &Taker<'_>,
) -> Result<Vec<Claimed>, LedgerFault> {
    let mut found = conn.prepare(&format!(
        "SELECT id FROM transactions
         WHERE state = 'open' AND lease_owner IS NULL AND (next_try IS NULL OR next_try <= ?1) AND {SERVED}
         ORDER BY id LIMIT ?2",
    ))?;
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let ids = found
        .query_map((time(due), most, homes), |row| row.get::<_, String>(0))?
        .collect::<Result<Vec<_>, _>>()?;
    let mut claimed = Vec::with_capacity(ids.len());
    for id in ids {
        // One that cannot be read must not keep the others from being worked on.
        match claim_one(conn, &id, taker) {
            Ok(transaction) => claimed.push(transaction),
            Err(LedgerFault::Foreign(why)) => {
                tracing::error!(
                    transaction = id,
                    why,
                    "an unfinished transaction cannot be read"
                );
            }
            Err(fault) => return Err(fault),
        }
    }
    Ok(claimed)
}

/// This one, whatever its time, if it is in one of these states.
pub(crate) fn claim(
    conn: &Connection,
    id: &TransactionId,
    states: &[State],
    taker: &Taker<'_>,
) -> Result<Claimed, LedgerFault> {
    if holder(conn, id)?.is_some() {
        return Err(LedgerFault::Leased);
    }
    let found = find::get(conn, id)?.ok_or(LedgerFault::Unknown)?;
    match found.state {
        state if states.contains(&state) => {}
        State::Open => return Err(LedgerFault::UnderWay),
        State::Done | State::Undone | State::NeedsOperator => return Err(LedgerFault::Over),
    }
    conn.execute(
        "UPDATE transactions SET state = 'open', ending_code = NULL, ending_words = NULL, ended = NULL
         WHERE id = ?1 AND state <> 'open'",
        [id.as_str()],
    )?;
    claim_one(conn, id.as_str(), taker)
}

fn claim_one(conn: &Connection, id: &str, taker: &Taker<'_>) -> Result<Claimed, LedgerFault> {
    let id = TransactionId::parse(id).ok_or_else(|| {
        LedgerFault::Foreign("a transaction has a name that is none of ours".to_owned())
    })?;
    let mut transaction = find::get(conn, &id)?.ok_or(LedgerFault::Unknown)?;
    transaction.attempts = transaction.attempts.saturating_add(1);
    conn.execute(
        "UPDATE transactions SET attempts = ?2 WHERE id = ?1",
        (id.as_str(), transaction.attempts),
    )?;
    take(conn, &id, taker)?;
    Ok(Claimed::new(transaction, taker.claim))
}

/// Takes leases away from those who cannot need them any more.
pub(crate) fn free_forsaken(
    conn: &Connection,
    owners: &Owners,
    owner: &str,
    now: Timestamp,
) -> Result<(), LedgerFault> {
    for holder in holders(conn)?.iter().filter(|holder| *holder != owner) {
        // INVARIANT: who lives keeps its leases, expired or not. A machine that slept would else wake up to two who
        // work on the same message.
        let expired_by = match owners.life(holder) {
            Life::Alive => continue,
            Life::Dead => None,
            Life::Untold => Some(time(now)),
        };
        conn.execute(
            "UPDATE transactions SET lease_owner = NULL, lease_until = NULL
             WHERE lease_owner = ?1 AND (?2 IS NULL OR lease_until < ?2)",
            (holder, expired_by),
        )?;
    }
    Ok(())
}

/// Gives back one that nobody works on any more.
pub(crate) fn free(conn: &Connection, lease: &Lease, owner: &str) -> Result<(), LedgerFault> {
    conn.execute(
        "UPDATE transactions SET lease_owner = NULL, lease_until = NULL
         WHERE id = ?1 AND lease_owner = ?2 AND lease_claim = ?3",
        (lease.id.as_str(), owner, &lease.claim),
    )?;
    Ok(())
}

pub(crate) fn free_all(conn: &Connection, owner: &str) -> Result<(), LedgerFault> {
    conn.execute(
        "UPDATE transactions SET lease_owner = NULL, lease_until = NULL WHERE lease_owner = ?1",
        [owner],
    )?;
    conn.execute("DELETE FROM locks WHERE holder = ?1", [owner])?;
    Ok(())
}

pub(crate) fn renew(conn: &Connection, owner: &str, now: Timestamp) -> Result<(), LedgerFault> {
    conn.execute(
        "UPDATE transactions SET lease_until = ?2 WHERE lease_owner = ?1",
        (owner, until(now)),
    )?;
    conn.execute(
        "UPDATE locks SET until = ?2 WHERE holder = ?1",
        (owner, until(now)),
    )?;
    Ok(())
}

/// Everybody who has a lease or a lock, and is to be known as dead when it is.
pub(crate) fn wanted(conn: &Connection) -> Result<Vec<String>, LedgerFault> {
    let mut found = conn.prepare(
        "SELECT lease_owner FROM transactions WHERE lease_owner IS NOT NULL UNION SELECT holder FROM locks",
    )?;
    let names = found.query_map([], |row| row.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}

/// Everybody who has a lease.
pub(crate) fn holders(conn: &Connection) -> Result<Vec<String>, LedgerFault> {
    let mut found = conn
        .prepare("SELECT DISTINCT lease_owner FROM transactions WHERE lease_owner IS NOT NULL")?;
    let names = found.query_map([], |row| row.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}

/// When the first of these is due: those that nobody has a lease of, or one of these owners.
pub(crate) fn first_due(
    conn: &Connection,
    forsaken: &[String],
    homes: Option<&str>,
) -> Result<Option<Timestamp>, LedgerFault> {
    let mut first = None;
    let mut consider = |owner: Option<&str>| -> Result<(), LedgerFault> {
        let due: Option<String> = conn.query_row(
            &format!(
                "SELECT min(coalesce(next_try, began)) FROM transactions
                 WHERE state = ?1 AND lease_owner IS ?2 AND {SERVED}"
            ),
            (State::Open.name(), owner, homes),
            |row| row.get(0),
        )?;
        let due = due.as_deref().and_then(crate::rows::parse_time);
        first = [first, due].into_iter().flatten().min();
        Ok(())
    };
    consider(None)?;
    forsaken
        .iter()
        .try_for_each(|owner| consider(Some(owner)))?;
    Ok(first)
}

fn holder(conn: &Connection, id: &TransactionId) -> Result<Option<String>, LedgerFault> {
    let found = conn
        .query_row(
            "SELECT lease_owner FROM transactions WHERE id = ?1",
            [id.as_str()],
            |row| row.get(0),
        )
        .optional()?;
    found.ok_or(LedgerFault::Unknown)
}

pub(super) fn until(now: Timestamp) -> String {
    time(now.saturating_add(LEASE).unwrap_or(Timestamp::MAX))
}
