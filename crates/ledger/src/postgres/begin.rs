//! A transaction begins, once for each key: one flight, and another only where it does not begin.

use super::conn::{Conn, Sentence};
use super::desk::{Attempt, Desk};
use super::text::{digest, spelled};
use super::trouble::Trouble;
use super::{find, write};
use crate::request::Beginning;
use crate::rows::{hex, marks, time};
use crate::{Asked, Begun, Kind, Lease, StepState, TransactionId};

/// Everybody who would begin the same waits here, in one order.
const ALONE: &str = "
SELECT pg_advisory_xact_lock(one) FROM (SELECT DISTINCT one FROM unnest($1::BIGINT[]) AS one ORDER BY one) AS ordered";

/// Nothing is written where the key is known, what is to be undone is being undone, or the message is being taken away.
const BEGIN: &str = "
WITH new AS (
    INSERT INTO transactions (id, kind, caller, tool, request_id, policy, source, target_account, target_folder,
        source_home, target_home, horizon_uidvalidity, horizon_next, marks, key, key_arguments, undoes, state, began, attempts,
        size, sha256, sha256_octets, message_id, flags, flags_after, arrived, landed_uidvalidity, landed_uid, store_id,
        source_id, end_of_all_uidvalidity, end_of_all_next, lease_owner, written_by, key_digest, source_digest, target_digest,
        answered)
    SELECT $1::TEXT, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17::TEXT, 'open', $18::TEXT, 0,
        $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $1::TEXT, $33::BYTEA, $34::BYTEA, $35,
        FALSE
    WHERE NOT EXISTS (SELECT 1 FROM transactions WHERE id = $1)
        AND NOT EXISTS (SELECT 1 FROM transactions WHERE key_digest = $33)
        AND NOT EXISTS (SELECT 1 FROM transactions WHERE id = $17
            AND EXISTS (SELECT 1 FROM transactions u WHERE u.id = transactions.undone_by))
        AND ($36::BYTEA IS NULL OR NOT EXISTS (SELECT 1 FROM transactions
            WHERE state = 'open' AND source_digest = $36 AND kind IN ('move', 'delete')))
    RETURNING id
), step AS (
    INSERT INTO steps (transaction_id, number, name, state, at) SELECT id, 1, $37, $38, $18::TEXT FROM new
), content AS (
    INSERT INTO contents (transaction_id, octets) SELECT id, $39::BYTEA FROM new WHERE $39::BYTEA IS NOT NULL
), undone AS (
    UPDATE transactions SET undone_by = new.id FROM new WHERE transactions.id = $17
)
SELECT id FROM new";

pub(super) async fn begin(
    desk: &Desk,
    conn: &Conn,
    new: &Beginning,
    attempt: Attempt,
) -> Result<Begun, Trouble> {
    desk.be_heard(conn).await?;
    // An earlier attempt that holds without our knowing is found by the name that it was given.
    if attempt == Attempt::Again && find::get(desk, conn, &new.id).await?.is_some() {
        return Ok(Begun::New(Lease::of_beginning(&new.id)));
    }
    if insert(desk, conn, new).await? {
        return Ok(Begun::New(Lease::of_beginning(&new.id)));
    }
    why_not(desk, conn, new).await
}

async fn why_not(desk: &Desk, conn: &Conn, new: &Beginning) -> Result<Begun, Trouble> {
    let asked = &new.asked;
    if find::get(desk, conn, &new.id).await?.is_some() {
        return Ok(Begun::New(Lease::of_beginning(&new.id)));
    }
    if let Some(key) = &asked.key
        && let Some(earlier) = find::by_key(desk, conn, &asked.caller, &key.name).await?
    {
        let same = earlier.asked.key.as_ref() == Some(key);
        return Ok(if same {
            Begun::Known(Box::new(earlier))
        } else {
            Begun::Conflict
        });
    }
    if let Some(undone) = &asked.undoes
        && let Some(undoing) = find::undoing(desk, conn, undone).await?
    {
        return Ok(Begun::Known(Box::new(undoing)));
    }
    let taken = taken(asked);
    let leaving = "SELECT 1 FROM transactions WHERE state = 'open' AND source_digest = $1 AND kind IN ('move', 'delete')";
    if taken.is_some() && !conn.query(leaving, &[&taken]).await?.is_empty() {
        return Ok(Begun::Leaving);
    }
    // Whatever was in the way has gone meanwhile.
    Err(Trouble::Outrun)
}

async fn insert(desk: &Desk, conn: &Conn, new: &Beginning) -> Result<bool, Trouble> {
    let (id, asked) = (new.id.as_str(), &new.asked);
    let text = |text: &str| spelled(text);
    let target = asked.target.as_ref();
    let key = asked.key.as_ref();
    let known = write::Columns::of(&new.known);
    let (kind, caller, tool) = (asked.kind.name(), text(&asked.caller), text(&asked.tool));
    let (request, policy) = (text(&asked.request_id), text(&asked.policy));
    let source = asked.source.as_ref().map(|it| text(&it.to_string()));
    let account = target.map(|place| text(place.account.as_str()));
    let folder = target.map(|place| text(place.folder.as_str()));
    let source_home = asked.source_home.as_deref().map(text);
    let target_home = asked.target_home.as_deref().map(text);
    let validity = asked
        .horizon
        .map(|horizon| i64::from(horizon.uidvalidity.0));
    let next = asked.horizon.map(|horizon| i64::from(horizon.next.0));
    let marks = text(&marks(&asked.marks));
    let key_name = key.map(|key| text(&key.name));
    let arguments = key.map(|key| hex(&key.arguments));
    let undoes = asked.undoes.as_ref().map(TransactionId::as_str);
    let began = time(desk.now());
    let key_digest = key.map(|key| find::key_digest(&asked.caller, &key.name));
    let source_digest = source_digest(asked);
    let target_digest = target
        .zip(asked.target_home.as_deref())
        .map(|(place, home)| digest(&[Some(home), Some(place.folder.as_str())]));
    let taken = taken(asked);
    let (first, intended) = (new.first.name(), StepState::Intended.name());
    let content = new.content.as_deref();
    let begin = Sentence::new(
        BEGIN,
        &[
            &id,
            &kind,
            &caller,
            &tool,
            &request,
            &policy,
            &source,
            &account,
            &folder,
            &source_home,
            &target_home,
            &validity,
            &next,
            &marks,
            &key_name,
            &arguments,
            &undoes,
            &began,
            &known.size,
            &known.sha256,
            &known.sha256_octets,
            &known.message_id,
            &known.flags,
            &known.flags_after,
            &known.arrived,
            &known.landed_uidvalidity,
            &known.landed_uid,
            &known.store_id,
            &known.source_id,
            &known.end_of_all_uidvalidity,
            &known.end_of_all_next,
            &desk.name,
            &key_digest,
            &source_digest,
            &target_digest,
            &taken,
            &first,
            &intended,
            &content,
        ],
    );
    let locks = locks(asked);
    let found = if locks.is_empty() {
        conn.query(begin.sql, &begin.values).await?
    } else {
        let mut answers = conn
            .flight(&[Sentence::new(ALONE, &[&locks]), begin])
            .await?;
        answers.pop().unwrap_or_default()
    };
    Ok(!found.is_empty())
}

fn source_digest(asked: &Asked) -> Option<Vec<u8>> {
    let source = asked.source.as_ref()?.to_string();
    Some(digest(&[Some(&source), asked.source_home.as_deref()]))
}

/// The message that this would take away.
fn taken(asked: &Asked) -> Option<Vec<u8>> {
    match asked.kind {
        Kind::Move | Kind::Delete => source_digest(asked),
        Kind::Flags | Kind::Copy | Kind::Draft => None,
    }
}

/// What nobody else may begin beside it: the same key, the same undoing, taking away the same message.
fn locks(asked: &Asked) -> Vec<i64> {
    let key = asked.key.as_ref();
    let key = key.map(|key| digest(&[Some("key"), Some(&asked.caller), Some(&key.name)]));
    let undoes = asked.undoes.as_ref();
    let undoes = undoes.map(|id| digest(&[Some("undoes"), Some(id.as_str())]));
    let all = [key, undoes, taken(asked)];
    all.into_iter()
        .flatten()
        .filter_map(|digest| Some(i64::from_be_bytes(*digest.first_chunk()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::State;

    #[test]
    fn statements_spell_states_and_kinds_as_they_are() {
        let names = (State::Open.name(), Kind::Move.name(), Kind::Delete.name());
        assert_eq!(names, ("open", "move", "delete"));
        assert!(BEGIN.contains("'open'") && BEGIN.contains("('move', 'delete')"));
    }
}
