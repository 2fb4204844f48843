//! A transaction begins, once for each key.

use jiff::Timestamp;
use rusqlite::{Connection, named_params};

use super::lease::{self, Taker};
use super::{find, write};
use crate::request::Beginning;
use crate::rows::{hex, marks, time};
use crate::{Asked, Begun, Kind, Lease, LedgerFault, State, StepState, TransactionId};

pub(crate) fn begin(
    conn: &Connection,
    new: &Beginning,
    owner: &str,
    now: Timestamp,
) -> Result<Begun, LedgerFault> {
    let Beginning { id, asked, .. } = new;
    if let Some(key) = &asked.key
        && let Some(earlier) = find::by_key(conn, &asked.caller, &key.name)?
    {
        let same = earlier.asked.key.as_ref() == Some(key);
        return Ok(if same {
            Begun::Known(Box::new(earlier))
        } else {
            Begun::Conflict
        });
    }
    if let Some(undone) = &asked.undoes
        && let Some(undoing) = find::undoing(conn, undone)?
    {
        return Ok(Begun::Known(Box::new(undoing)));
    }
    if let Some(source) = &asked.source
        && is_leaving(conn, asked, &source.to_string())?
    {
        return Ok(Begun::Leaving);
    }
    insert(conn, new, now)?;
    write::known(conn, id, &new.known)?;
    write::step(conn, id, new.first, StepState::Intended, None, now)?;
    if let Some(content) = &new.content {
        conn.execute(
            "INSERT INTO contents (transaction_id, octets) VALUES (?1, ?2)",
            (id.as_str(), content.as_ref()),
        )?;
    }
    if let Some(undone) = &asked.undoes {
        write::undone_by(conn, undone, id)?;
    }
    let lease = Lease::of_beginning(id);
    let claim = &lease.claim;
    lease::take(conn, id, &Taker { owner, claim, now })?;
    Ok(Begun::New(lease))
}

/// Whether an open transaction takes away what this one would.
fn is_leaving(conn: &Connection, asked: &Asked, source: &str) -> Result<bool, LedgerFault> {
    if !matches!(asked.kind, Kind::Move | Kind::Delete) {
        return Ok(false);
    }
    let found = conn.query_row(
        "SELECT EXISTS (SELECT 1 FROM transactions
             WHERE state = 'open' AND source = ?1 AND source_home IS ?2 AND kind IN ('move', 'delete'))",
        (source, &asked.source_home),
        |row| row.get(0),
    )?;
    Ok(found)
}

fn insert(conn: &Connection, new: &Beginning, now: Timestamp) -> Result<(), LedgerFault> {
    let asked = &new.asked;
    let target = asked.target.as_ref();
    let key = asked.key.as_ref();
    conn.execute(
        "INSERT INTO transactions (id, kind, caller, tool, request_id, policy, source, target_account, target_folder,
             source_home, target_home, horizon_uidvalidity, horizon_next, marks, key, key_arguments, undoes, state, began, attempts)
         VALUES (:id, :kind, :caller, :tool, :request_id, :policy, :source, :target_account, :target_folder,
             :source_home, :target_home, :horizon_uidvalidity, :horizon_next, :marks, :key, :key_arguments, :undoes, :state, :began, 0)",
        named_params! {
            ":id": new.id.as_str(),
            ":kind": asked.kind.name(),
            ":caller": asked.caller,
            ":tool": asked.tool,
            ":request_id": asked.request_id,
            ":policy": asked.policy,
            ":source": asked.source.as_ref().map(ToString::to_string),
            ":target_account": target.map(|place| place.account.as_str()),
            ":target_folder": target.map(|place| place.folder.as_str()),
            ":source_home": asked.source_home,
            ":target_home": asked.target_home,
            ":horizon_uidvalidity": asked.horizon.map(|horizon| horizon.uidvalidity.0),
            ":horizon_next": asked.horizon.map(|horizon| horizon.next.0),
            ":marks": marks(&asked.marks),
            ":key": key.map(|key| key.name.as_str()),
            ":key_arguments": key.map(|key| hex(&key.arguments)),
            ":undoes": asked.undoes.as_ref().map(TransactionId::as_str),
            ":state": State::Open.name(),
            ":began": time(now),
        },
    )?;
    Ok(())
}
