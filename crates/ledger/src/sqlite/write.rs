//! What is written down of a transaction while it is under way, and what is forgotten of it later.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, named_params};

use super::lease;
use crate::rows::{flags, hex, time};
use crate::{Ending, Known, Lease, LedgerFault, Note, State, StepName, StepState, TransactionId};

/// Whether octets of mail were among what is no longer kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Erased {
    Nothing,
    Content,
}

/// All of them, in their order. Whoever calls this takes everything back if it fails.
pub(crate) fn notes(
    conn: &Connection,
    lease: &Lease,
    notes: &[Note],
    owner: &str,
    now: Timestamp,
) -> Result<Erased, LedgerFault> {
    lease::check(conn, lease, owner)?;
    let id = &lease.id;
    let mut erased = Erased::Nothing;
    for note in notes {
        match note {
            Note::Knows(what) => known(conn, id, what)?,
            Note::Step(name, state, why) => step(conn, id, *name, *state, why.as_deref(), now)?,
            Note::Ends(state, ending) => {
                ends(conn, id, *state, ending, now)?;
                if is_over(*state) && erase(conn, id)? > 0 {
                    erased = Erased::Content;
                }
            }
            Note::Later(then) => later(conn, id, *then)?,
            Note::FreesKey => free_key(conn, id)?,
        }
    }
    Ok(erased)
}

pub(super) fn known(
    conn: &Connection,
    id: &TransactionId,
    known: &Known,
) -> Result<(), LedgerFault> {
    let digest = known.digest.as_ref();
    conn.execute(
        "UPDATE transactions SET size = :size, sha256 = :sha256, sha256_octets = :sha256_octets, message_id = :message_id,
             flags = :flags, flags_after = :flags_after, arrived = :arrived,
             landed_uidvalidity = :landed_uidvalidity, landed_uid = :landed_uid, store_id = :store_id,
             source_id = :source_id, end_of_all_uidvalidity = :end_of_all_uidvalidity, end_of_all_next = :end_of_all_next
         WHERE id = :id",
        named_params! {
            ":id": id.as_str(),
            ":size": known.size.map(u64::cast_signed),
            ":sha256": digest.map(|digest| hex(&digest.sha256)),
            ":sha256_octets": digest.map(|digest| digest.octets.cast_signed()),
            ":message_id": known.message_id,
            ":flags": known.flags.as_deref().map(flags),
            ":flags_after": known.flags_after.as_deref().map(flags),
            ":arrived": known.arrived.map(time),
            ":landed_uidvalidity": known.landed.map(|landed| landed.uidvalidity.0),
            ":landed_uid": known.landed.map(|landed| landed.uid.0),
            ":store_id": known.store_id.map(u64::cast_signed),
            ":source_id": known.source_id.map(u64::cast_signed),
            ":end_of_all_uidvalidity": known.end_of_all.map(|end| end.uidvalidity.0),
            ":end_of_all_next": known.end_of_all.map(|end| end.next.0),
        },
    )?;
    Ok(())
}

/// What was intended, or asked for without an answer, gets its outcome; anything else is a step of its own.
pub(super) fn step(
    conn: &Connection,
    id: &TransactionId,
    name: StepName,
    state: StepState,
    why: Option<&str>,
    now: Timestamp,
) -> Result<(), LedgerFault> {
    let last: Option<(i64, String)> = conn
        .query_row(
            "SELECT number, state FROM steps WHERE transaction_id = ?1 AND name = ?2 ORDER BY number DESC LIMIT 1",
            (id.as_str(), name.name()),
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    let waiting = |was: &str| {
        let was = StepState::from_name(was);
        matches!(was, Some(StepState::Intended | StepState::Unknown))
    };
    match last {
        Some((number, was)) if state != StepState::Intended && waiting(&was) => conn.execute(
            "UPDATE steps SET state = ?3, at = ?4, why = ?5 WHERE transaction_id = ?1 AND number = ?2",
            (id.as_str(), number, state.name(), time(now), why),
        )?,
        _ => conn.execute(
            "INSERT INTO steps (transaction_id, number, name, state, at, why)
             VALUES (?1, (SELECT 1 + coalesce(max(number), 0) FROM steps WHERE transaction_id = ?1), ?2, ?3, ?4, ?5)",
            (id.as_str(), name.name(), state.name(), time(now), why),
        )?,
    };
    Ok(())
}

/// INVARIANT: what waits for a person is not over: it keeps its content, for another try, and is never forgotten.
fn is_over(state: State) -> bool {
    matches!(state, State::Done | State::Undone)
}

fn ends(
    conn: &Connection,
    id: &TransactionId,
    state: State,
    ending: &Ending,
    now: Timestamp,
) -> Result<(), LedgerFault> {
    conn.execute(
        "UPDATE transactions SET state = :state, ending_code = :code, ending_words = :words, ended = :ended,
             next_try = NULL, lease_owner = NULL, lease_until = NULL
         WHERE id = :id",
        named_params! {
            ":id": id.as_str(),
            ":state": state.name(),
            ":code": ending.code,
            ":words": ending.words,
            ":ended": is_over(state).then(|| time(now)),
        },
    )?;
    // An undoing that came to nothing leaves what it would have undone as it was.
    if state == State::Undone {
        conn.execute(
            "UPDATE transactions SET undone_by = NULL WHERE undone_by = ?1
                 AND id = (SELECT undoes FROM transactions WHERE id = ?1)",
            [id.as_str()],
        )?;
    }
    Ok(())
}

fn erase(conn: &Connection, id: &TransactionId) -> Result<usize, LedgerFault> {
    let gone = conn.execute(
        "DELETE FROM contents WHERE transaction_id = ?1",
        [id.as_str()],
    )?;
    Ok(gone)
}

fn later(conn: &Connection, id: &TransactionId, then: Timestamp) -> Result<(), LedgerFault> {
    conn.execute(
        "UPDATE transactions SET next_try = ?2, lease_owner = NULL, lease_until = NULL WHERE id = ?1",
        (id.as_str(), time(then)),
    )?;
    Ok(())
}

fn free_key(conn: &Connection, id: &TransactionId) -> Result<(), LedgerFault> {
    conn.execute(
        "UPDATE transactions SET key = NULL, key_arguments = NULL WHERE id = ?1",
        [id.as_str()],
    )?;
    Ok(())
}

/// From now on what is undone names its undoing.
pub(super) fn undone_by(
    conn: &Connection,
    id: &TransactionId,
    by: &TransactionId,
) -> Result<(), LedgerFault> {
    conn.execute(
        "UPDATE transactions SET undone_by = ?2 WHERE id = ?1",
        (id.as_str(), by.as_str()),
    )?;
    Ok(())
}

/// How many there were.
pub(crate) fn forget_before(conn: &Connection, then: Timestamp) -> Result<u64, LedgerFault> {
    let gone = conn.execute("DELETE FROM transactions WHERE ended < ?1", [time(then)])?;
    Ok(u64::try_from(gone).unwrap_or(u64::MAX))
}
