//! What is written down of a transaction while it is under way, and what is forgotten of it later.

use jiff::Timestamp;
use tokio_postgres::types::ToSql;

use super::conn::{Conn, Sentence};
use super::desk::{Attempt, Desk, Erased, chance};
use super::text::spelled;
use super::trouble::Trouble;
use crate::rows::{flags, hex, time};
use crate::{Ending, Known, Lease, LedgerFault, Note, State, TransactionId};

/// Refuses, and with it everything that comes behind it in the flight, unless this replica has the lease, and one of these writings
/// was the last.
const HOLD: &str = "SELECT hold($1, $2, $3)";

/// Who has it since it began knows that it began.
const WRITTEN: &str = "
UPDATE transactions SET written_by = $2, answered = answered OR attempts = 0 WHERE id = $1";

const KNOWS: &str = "
UPDATE transactions SET size = $2, sha256 = $3, sha256_octets = $4, message_id = $5, flags = $6, flags_after = $7, arrived = $8,
    landed_uidvalidity = $9, landed_uid = $10, store_id = $11, source_id = $12, end_of_all_uidvalidity = $13, end_of_all_next = $14
WHERE id = $1";

/// The last step of this name gets its outcome, if it waits for one; else this is another step.
const STEP: &str = "
WITH last AS (
    SELECT number, state FROM steps WHERE transaction_id = $1 AND name = $2 ORDER BY number DESC LIMIT 1
), told AS (
    UPDATE steps SET state = $3, at = $4, why = $5 FROM last
    WHERE transaction_id = $1 AND steps.number = last.number AND $3 <> 'intended' AND last.state IN ('intended', 'unknown')
    RETURNING 1
)
INSERT INTO steps (transaction_id, number, name, state, at, why)
SELECT $1, (SELECT 1 + coalesce(max(number), 0) FROM steps WHERE transaction_id = $1), $2, $3, $4, $5
WHERE NOT EXISTS (SELECT 1 FROM told)";

const ENDS: &str = "
UPDATE transactions SET state = $2, ending_code = $3, ending_words = $4, ended = $5, next_try = NULL, lease_owner = NULL
WHERE id = $1";

/// An undoing that came to nothing leaves what it would have undone as it was.
const NOT_UNDONE: &str = "
UPDATE transactions SET undone_by = NULL
WHERE undone_by = $1 AND id = (SELECT undoes FROM transactions WHERE id = $1)";

const ERASE: &str = "DELETE FROM contents WHERE transaction_id = $1 RETURNING 1";

const LATER: &str = "UPDATE transactions SET next_try = $2, lease_owner = NULL WHERE id = $1";

const FREES_KEY: &str =
    "UPDATE transactions SET key = NULL, key_arguments = NULL, key_digest = NULL WHERE id = $1";

/// All of them, in their order, in one flight. `request` is what this very writing is called: one whose answer was lost is
/// known by it, and not done again.
pub(super) async fn notes(
    desk: &Desk,
    conn: &Conn,
    lease: &Lease,
    notes: &[Note],
    request: &str,
    attempt: Attempt,
) -> Result<(), Trouble> {
    desk.be_heard(conn).await?;
    let transaction = &lease.id;
    if attempt == Attempt::Again && is_written(conn, transaction, request).await? {
        return Ok(());
    }
    let mut follows = desk.last_written(lease);
    follows.retain(|one| one != request);
    let values: Vec<Values> = notes.iter().map(|note| Values::of(desk, note)).collect();
    let id = transaction.as_str();
    let mut flight = vec![
        Sentence::new(HOLD, &[&id, &desk.name, &follows]),
        Sentence::new(WRITTEN, &[&id, &request]),
    ];
    for values in &values {
        for (sql, values) in &values.0 {
            let mut all: Vec<&(dyn ToSql + Sync)> = vec![&id];
            all.extend(values.iter().map(|value| &**value as &(dyn ToSql + Sync)));
            flight.push(Sentence { sql, values: all });
        }
    }
    let answers = match conn.flight(&flight).await {
        // The earlier attempt was faster after all.
        Err(Trouble::Said(LedgerFault::Leased))
            if attempt == Attempt::Again && is_written(conn, transaction, request).await? =>
        {
            return Ok(());
        }
        answers => answers?,
    };
    let erased = flight
        .iter()
        .zip(&answers)
        .any(|(sentence, rows)| sentence.sql == ERASE && !rows.is_empty());
    if erased {
        desk.erased.set(Erased::NotYet);
    }
    Ok(())
}

/// Waits for the earlier attempt, should the server still be at it: the row is its own until it ends.
async fn is_written(conn: &Conn, id: &TransactionId, request: &str) -> Result<bool, Trouble> {
    let found = conn
        .query(
            "SELECT written_by = $2 FROM transactions WHERE id = $1 FOR UPDATE",
            &[&id.as_str(), &request],
        )
        .await?;
    Ok(match found.first() {
        Some(row) => row.try_get(0)?,
        None => false,
    })
}

/// INVARIANT: what waits for a person is not over: it keeps its content, for another try, and is never forgotten.
fn is_over(state: State) -> bool {
    matches!(state, State::Done | State::Undone)
}

type Value = Box<dyn ToSql + Sync>;

/// The statements of a note, and what stands in them behind the transaction's name.
struct Values(Vec<(&'static str, Vec<Value>)>);

impl Values {
    fn of(desk: &Desk, note: &Note) -> Self {
        let now = || time(desk.now());
        Self(match note {
            Note::Knows(known) => vec![(KNOWS, Columns::of(known).values())],
            Note::Step(name, state, why) => {
                let why = why.as_deref().map(spelled);
                vec![(
                    STEP,
                    vec![
                        Box::new(name.name()),
                        Box::new(state.name()),
                        Box::new(now()),
                        Box::new(why),
                    ],
                )]
            }
            Note::Ends(state, ending) => {
                let code = ending.code.as_deref().map(spelled);
                let words = ending.words.as_deref().map(spelled);
                let ended = is_over(*state).then(now);
                let end: Vec<Value> = vec![
                    Box::new(state.name()),
                    Box::new(code),
                    Box::new(words),
                    Box::new(ended),
                ];
                let mut all = vec![(ENDS, end)];
                if *state == State::Undone {
                    all.push((NOT_UNDONE, Vec::new()));
                }
                if is_over(*state) {
                    all.push((ERASE, Vec::new()));
                }
                all
            }
            Note::Later(then) => vec![(LATER, vec![Box::new(time(desk.there(*then)))])],
            Note::FreesKey => vec![(FREES_KEY, Vec::new())],
        })
    }
}

/// What is known of a message, as columns.
pub(super) struct Columns {
    pub(super) size: Option<i64>,
    pub(super) sha256: Option<String>,
    pub(super) sha256_octets: Option<i64>,
    pub(super) message_id: Option<String>,
    pub(super) flags: Option<String>,
    pub(super) flags_after: Option<String>,
    pub(super) arrived: Option<String>,
    pub(super) landed_uidvalidity: Option<i64>,
    pub(super) landed_uid: Option<i64>,
    pub(super) store_id: Option<i64>,
    pub(super) source_id: Option<i64>,
    pub(super) end_of_all_uidvalidity: Option<i64>,
    pub(super) end_of_all_next: Option<i64>,
}

impl Columns {
    pub(super) fn of(known: &Known) -> Self {
        let digest = known.digest.as_ref();
        let text = |text: String| spelled(&text);
        Self {
            size: known.size.map(u64::cast_signed),
            sha256: digest.map(|digest| hex(&digest.sha256)),
            sha256_octets: digest.map(|digest| digest.octets.cast_signed()),
            message_id: known.message_id.as_deref().map(spelled),
            flags: known.flags.as_deref().map(flags).map(text),
            flags_after: known.flags_after.as_deref().map(flags).map(text),
            arrived: known.arrived.map(time),
            landed_uidvalidity: known.landed.map(|landed| landed.uidvalidity.0.into()),
            landed_uid: known.landed.map(|landed| landed.uid.0.into()),
            store_id: known.store_id.map(u64::cast_signed),
            source_id: known.source_id.map(u64::cast_signed),
            end_of_all_uidvalidity: known.end_of_all.map(|end| end.uidvalidity.0.into()),
            end_of_all_next: known.end_of_all.map(|end| end.next.0.into()),
        }
    }

    /// In the order of the statement.
    fn values(self) -> Vec<Value> {
        vec![
            Box::new(self.size),
            Box::new(self.sha256),
            Box::new(self.sha256_octets),
            Box::new(self.message_id),
            Box::new(self.flags),
            Box::new(self.flags_after),
            Box::new(self.arrived),
            Box::new(self.landed_uidvalidity),
            Box::new(self.landed_uid),
            Box::new(self.store_id),
            Box::new(self.source_id),
            Box::new(self.end_of_all_uidvalidity),
            Box::new(self.end_of_all_next),
        ]
    }
}

/// Ends a beginning whose answer nobody got, should it hold: no step of it was taken, and its key is free again.
pub(super) async fn never_begun(
    desk: &Desk,
    conn: &Conn,
    id: &TransactionId,
) -> Result<(), Trouble> {
    const BEGUN: &str =
        "SELECT 1 FROM transactions WHERE id = $1 AND written_by = $1 AND lease_owner = $2";
    let values: [&(dyn ToSql + Sync); 2] = [&id.as_str(), &desk.name];
    if conn.query(BEGUN, &values).await?.is_empty() {
        return Ok(());
    }
    let words = "the ledger did not answer in time when this began, so nothing was done";
    let ending = Ending {
        code: Some("internal".to_owned()),
        words: Some(words.to_owned()),
    };
    let end = [Note::FreesKey, Note::Ends(State::Undone, ending)];
    let lease = Lease::of_beginning(id);
    desk.has(&lease);
    let ended = notes(desk, conn, &lease, &end, &chance()?, Attempt::First).await;
    desk.forget(&lease);
    ended
}

/// How many there were.
pub(super) async fn forget_before(
    desk: &Desk,
    conn: &Conn,
    then: Timestamp,
) -> Result<u64, Trouble> {
    let then = time(desk.there(then));
    conn.execute("DELETE FROM transactions WHERE ended < $1", &[&then])
        .await
}

/// What was deleted still stands in the file until that is written anew. Not done where somebody reads or writes it now, or
/// another replica does the same. The connection is good for nothing else afterwards.
pub(super) async fn rewrite_contents(conn: &Conn) -> Result<(), Trouble> {
    /// "mwvc"
    const REWRITING: i64 = 0x6d77_7663;
    let alone = conn
        .query("SELECT pg_try_advisory_lock($1)", &[&REWRITING])
        .await?;
    let alone = alone.first().ok_or(Trouble::Outrun)?;
    if !alone.try_get::<_, bool>(0)? {
        return Err(Trouble::Outrun);
    }
    conn.client()
        .batch_execute("SET lock_timeout = '200ms'")
        .await?;
    Ok(conn
        .client()
        .batch_execute("VACUUM (FULL) contents")
        .await?)
}
