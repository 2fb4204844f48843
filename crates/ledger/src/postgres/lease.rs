//! Who works on what, and who is alive. Never two at once: a lease is taken by a statement that has the row to itself.

use jiff::Timestamp;
use tokio_postgres::Row;

use super::conn::Conn;
use super::desk::Desk;
use super::find;
use super::text::spelled;
use super::trouble::Trouble;
use crate::filed::LOOK_AGAIN;
use crate::rows::{parse_time, time};
use crate::{Answered, Claimed, LedgerFault, State, TransactionId};

/// Nobody works on it: it was given back, or who had it is dead to this one. What a replica takes for its own is never so to
/// itself.
macro_rules! free {
    ($me:literal) => {
        concat!(
            "(lease_owner IS NULL OR (lease_owner <> ",
            $me,
            " AND dead(lease_owner, ",
            $me,
            ")))"
        )
    };
}

/// Between mailboxes of these homes; between any, where there is no list.
macro_rules! served {
    ($homes:literal) => {
        concat!(
            "(",
            $homes,
            "::TEXT[] IS NULL OR ((source_home IS NULL OR source_home = ANY (",
            $homes,
            "))
                AND (target_home IS NULL OR target_home = ANY (",
            $homes,
            "))))"
        )
    };
}

const CLAIM_DUE: &str = concat!(
    "WITH due AS (
        SELECT id AS wanted FROM transactions
        WHERE state = 'open' AND (next_try IS NULL OR next_try <= $1) AND ",
    free!("$4"),
    " AND ",
    served!("$3"),
    " ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED
    ), t AS (
        UPDATE transactions SET attempts = least(attempts + 1, 4294967295), lease_owner = $4, written_by = $5
        FROM due WHERE id = wanted RETURNING transactions.*
    ) ",
    find::with_steps!("FROM t ORDER BY id")
);

/// Open ones that are due by then and that nobody works on, the oldest first. `request` is what this very claim is called.
pub(super) async fn claim_due(
    desk: &Desk,
    conn: &Conn,
    due: Timestamp,
    most: usize,
    homes: Option<&[String]>,
    request: &str,
) -> Result<Vec<Claimed>, Trouble> {
    desk.be_heard(conn).await?;
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let homes: Option<Vec<String>> =
        homes.map(|homes| homes.iter().map(|home| spelled(home)).collect());
    let due = time(desk.there(due));
    let found = conn
        .query(CLAIM_DUE, &[&due, &most, &homes, &desk.name, &request])
        .await?;
    let mut claimed = Vec::with_capacity(found.len());
    for row in &found {
        // One that cannot be read must not keep the others from being worked on.
        match find::transaction(desk, row) {
            Ok(transaction) => claimed.push(Claimed {
                answered: match row.try_get("answered")? {
                    true => Answered::Yes,
                    false => Answered::Unknown,
                },
                ..Claimed::new(transaction, request)
            }),
            Err(why) => {
                let id: String = row.try_get("id")?;
                tracing::error!(transaction = id, %why, "an unfinished transaction cannot be read");
                free(conn, &desk.name, &[(id, request.to_owned())]).await?;
            }
        }
    }
    Ok(claimed)
}

const CLAIM: &str = concat!(
    "WITH t AS (
        UPDATE transactions SET state = 'open', attempts = least(attempts + 1, 4294967295), lease_owner = $3, written_by = $4,
            answered = TRUE, ending_code = CASE state WHEN 'open' THEN ending_code END,
            ending_words = CASE state WHEN 'open' THEN ending_words END,
            ended = CASE state WHEN 'open' THEN ended END
        WHERE id = $1 AND state = ANY ($2) AND (",
    free!("$3"),
    " OR (lease_owner = $3 AND written_by = ANY ($5))) RETURNING transactions.*
    ) ",
    find::with_steps!("FROM t")
);

/// This one, whatever its time, if it is in one of these states: somebody wants it done. `lost` are earlier attempts of the same claim, of which
/// nobody knows whether they hold.
pub(super) async fn claim(
    desk: &Desk,
    conn: &Conn,
    id: &TransactionId,
    states: &[State],
    request: &str,
    lost: &[String],
) -> Result<Claimed, Trouble> {
    desk.be_heard(conn).await?;
    let names: Vec<&str> = states.iter().map(|state| state.name()).collect();
    let found = conn
        .query(CLAIM, &[&id.as_str(), &names, &desk.name, &request, &lost])
        .await?;
    if let Some(row) = found.first() {
        return Ok(Claimed::new(find::transaction(desk, row)?, request));
    }
    const WHY_NOT: &str = concat!(
        "SELECT state, ",
        free!("$2"),
        " FROM transactions WHERE id = $1"
    );
    let found = conn.query(WHY_NOT, &[&id.as_str(), &desk.name]).await?;
    let Some(row) = found.first() else {
        return Err(LedgerFault::Unknown.into());
    };
    let (state, free): (String, bool) = (row.try_get(0)?, row.try_get(1)?);
    Err(match State::from_name(&state) {
        _ if !free => LedgerFault::Leased.into(),
        Some(state) if states.contains(&state) => Trouble::Outrun,
        Some(State::Open) => LedgerFault::UnderWay.into(),
        _ => LedgerFault::Over.into(),
    })
}

/// Gives back those that nobody works on any more: each by its name, and by what may have written it last. What is written by
/// anything else is leased by another claim.
pub(super) async fn free(
    conn: &Conn,
    owner: &str,
    writings: &[(String, String)],
) -> Result<(), Trouble> {
    const FREE: &str =
        "UPDATE transactions SET lease_owner = NULL, answered = answered OR attempts = 0
        FROM unnest($1::TEXT[], $2::TEXT[]) AS given (back, last)
        WHERE id = back AND written_by = last AND lease_owner = $3";
    let (ids, last): (Vec<&str>, Vec<&str>) = writings
        .iter()
        .map(|(id, last)| (id.as_str(), last.as_str()))
        .unzip();
    conn.execute(FREE, &[&ids, &last, &owner]).await?;
    Ok(())
}

/// Gives back what requests have leased that were given up.
pub(super) async fn free_requests(
    conn: &Conn,
    owner: &str,
    requests: &[String],
) -> Result<(), Trouble> {
    const FREE: &str = "UPDATE transactions SET lease_owner = NULL WHERE lease_owner = $2 AND written_by = ANY ($1)";
    conn.execute(FREE, &[&requests, &owner]).await?;
    Ok(())
}

/// Says that this replica lives, and learns what the server's clock says. Who was not heard of for a while begins anew to
/// watch the others: eight seconds, and two beats before and after, are still less than what makes one dead.
pub(super) async fn beat(desk: &Desk, conn: &Conn) -> Result<(), Trouble> {
    const BEAT: &str = "INSERT INTO replicas AS r (name, heard, since) VALUES ($1, clock_timestamp(), clock_timestamp())
        ON CONFLICT (name) DO UPDATE SET heard = excluded.heard,
            since = CASE WHEN r.heard < excluded.heard - INTERVAL '8 seconds' THEN excluded.heard ELSE r.since END
        RETURNING (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT";
    let found = conn.query(BEAT, &[&desk.name]).await?;
    desk.heard();
    if let Some(row) = found.first()
        && let Ok(now) = Timestamp::from_microsecond(row.try_get(0)?)
    {
        desk.set_clock(now);
    }
    Ok(())
}

/// These have begun, and this process knows it.
pub(super) async fn are_answered(
    conn: &Conn,
    owner: &str,
    ids: &[TransactionId],
) -> Result<(), Trouble> {
    const ANSWERED: &str = "UPDATE transactions SET answered = TRUE WHERE id = ANY ($1) AND lease_owner = $2 AND NOT answered";
    let ids: Vec<&str> = ids.iter().map(TransactionId::as_str).collect();
    conn.execute(ANSWERED, &[&ids, &owner]).await?;
    Ok(())
}

/// Forgets those who are long dead and have nothing left.
pub(super) async fn bury(conn: &Conn) -> Result<(), Trouble> {
    const BURY: &str = "DELETE FROM replicas WHERE heard < now() - INTERVAL '1 hour'
        AND NOT EXISTS (SELECT 1 FROM transactions WHERE lease_owner = replicas.name)";
    conn.execute(BURY, &[]).await?;
    Ok(())
}

/// Whoever comes next need not wait until this one counts as dead.
pub(super) async fn leave(conn: &Conn, owner: &str) -> Result<(), Trouble> {
    conn.execute(
        "UPDATE transactions SET lease_owner = NULL, answered = answered OR attempts = 0 WHERE lease_owner = $1",
        &[&owner],
    )
    .await?;
    conn.execute("DELETE FROM locks WHERE holder = $1", &[&owner])
        .await?;
    conn.execute("DELETE FROM replicas WHERE name = $1", &[&owner])
        .await?;
    Ok(())
}

const NEXT_DUE: &str = concat!(
    "SELECT min(coalesce(next_try, began)) FILTER (WHERE state = 'open' AND ",
    free!("$1"),
    " AND ",
    served!("$2"),
    "), coalesce(bool_or(lease_owner <> $1 AND NOT ",
    free!("$1"),
    "), FALSE) FROM transactions WHERE state = 'open' OR lease_owner IS NOT NULL"
);

/// When the first is due that this replica does not work on.
pub(super) async fn next_due(
    desk: &Desk,
    conn: &Conn,
    homes: Option<&[String]>,
    now: Timestamp,
) -> Result<Option<Timestamp>, Trouble> {
    let homes: Option<Vec<String>> =
        homes.map(|homes| homes.iter().map(|home| spelled(home)).collect());
    let found = conn.query(NEXT_DUE, &[&desk.name, &homes]).await?;
    let Some(row) = found.first() else {
        return Ok(None);
    };
    let (due, others) = told(row)?;
    // What others work on may be left to us at any time, and nobody would say so.
    let look_again = others.then(|| now.saturating_add(LOOK_AGAIN).unwrap_or(Timestamp::MAX));
    Ok([due.map(|due| desk.here(due)), look_again]
        .into_iter()
        .flatten()
        .min())
}

fn told(row: &Row) -> Result<(Option<Timestamp>, bool), Trouble> {
    let due: Option<String> = row.try_get(0)?;
    Ok((due.as_deref().and_then(parse_time), row.try_get(1)?))
}
