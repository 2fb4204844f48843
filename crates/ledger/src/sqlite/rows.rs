//! A transaction as a row and back: every field, spelled so that a person can read it in the `sqlite3` shell.

use jiff::Timestamp;
use mail::{AccountId, Digest, Flag, FolderName, Horizon, Landing, MessageRef, Uid, UidValidity};
use rusqlite::Row;
use rusqlite::types::FromSql;

use crate::{
    Asked, Ending, Key, Kind, Known, LedgerFault, Mark, Place, State, StepName, StepRecord,
    StepState, Transaction, TransactionId,
};

/// Fixed in width, so that text sorts as time does.
pub(super) fn time(at: Timestamp) -> String {
    format!("{at:.9}")
}

pub(super) fn flags(flags: &[Flag]) -> String {
    list(flags.iter().map(|flag| flag.as_str().to_owned()))
}

pub(super) fn marks(marks: &[Mark]) -> String {
    list(marks.iter().map(|mark| match mark {
        Mark::Set(flag) => format!("+{}", flag.as_str()),
        Mark::Take(flag) => format!("-{}", flag.as_str()),
    }))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn list(texts: impl Iterator<Item = String>) -> String {
    serde_json::Value::from_iter(texts).to_string()
}

/// One row of `transactions`, apart from its steps.
pub(super) fn transaction(row: &Row<'_>) -> Result<Transaction, LedgerFault> {
    let cells = Cells(row);
    let state = cells.word("state", State::from_name)?;
    let ending = Ending {
        code: cells.get("ending_code")?,
        words: cells.get("ending_words")?,
    };
    Ok(Transaction {
        id: cells.word("id", TransactionId::parse)?,
        asked: asked(&cells)?,
        known: known(&cells)?,
        steps: Vec::new(),
        state,
        ending: (state != State::Open || ending != Ending::default()).then_some(ending),
        began: cells.word("began", parse_time)?,
        ended: cells.maybe("ended", parse_time)?,
        attempts: cells.get("attempts")?,
        next_try: cells.maybe("next_try", parse_time)?,
        undone_by: cells.maybe("undone_by", TransactionId::parse)?,
    })
}

pub(super) fn step(row: &Row<'_>) -> Result<StepRecord, LedgerFault> {
    let cells = Cells(row);
    Ok(StepRecord {
        name: cells.word("name", StepName::from_name)?,
        state: cells.word("state", StepState::from_name)?,
        at: cells.word("at", parse_time)?,
        why: cells.get("why")?,
    })
}

fn asked(cells: &Cells<'_>) -> Result<Asked, LedgerFault> {
    let account = cells.maybe("target_account", |text| AccountId::new(text).ok())?;
    let folder = cells.maybe("target_folder", |text| FolderName::new(text).ok())?;
    let name: Option<String> = cells.get("key")?;
    let arguments = cells.maybe("key_arguments", parse_hex)?;
    Ok(Asked {
        kind: cells.word("kind", Kind::from_name)?,
        caller: cells.get("caller")?,
        tool: cells.get("tool")?,
        request_id: cells.get("request_id")?,
        policy: cells.get("policy")?,
        source: cells.maybe("source", |text| MessageRef::parse(text).ok())?,
        target: account
            .zip(folder)
            .map(|(account, folder)| Place { account, folder }),
        source_home: cells.get("source_home")?,
        target_home: cells.get("target_home")?,
        horizon: horizon(cells, "horizon_uidvalidity", "horizon_next")?,
        marks: cells.word("marks", parse_marks)?,
        key: name
            .zip(arguments)
            .map(|(name, arguments)| Key { name, arguments }),
        undoes: cells.maybe("undoes", TransactionId::parse)?,
    })
}

fn known(cells: &Cells<'_>) -> Result<Known, LedgerFault> {
    let sha256 = cells.maybe("sha256", parse_hex)?;
    let octets: Option<i64> = cells.get("sha256_octets")?;
    let validity: Option<u32> = cells.get("landed_uidvalidity")?;
    let uid: Option<u32> = cells.get("landed_uid")?;
    Ok(Known {
        size: number(cells, "size")?,
        digest: sha256.zip(octets).map(|(sha256, octets)| Digest {
            sha256,
            octets: octets.cast_unsigned(),
        }),
        message_id: cells.get("message_id")?,
        flags: cells.maybe("flags", parse_flags)?,
        flags_after: cells.maybe("flags_after", parse_flags)?,
        arrived: cells.maybe("arrived", parse_time)?,
        landed: validity.zip(uid).map(|(validity, uid)| Landing {
            uidvalidity: UidValidity(validity),
            uid: Uid(uid),
        }),
        store_id: number(cells, "store_id")?,
        source_id: number(cells, "source_id")?,
        end_of_all: horizon(cells, "end_of_all_uidvalidity", "end_of_all_next")?,
    })
}

fn number(cells: &Cells<'_>, column: &str) -> Result<Option<u64>, LedgerFault> {
    let number: Option<i64> = cells.get(column)?;
    Ok(number.map(i64::cast_unsigned))
}

fn horizon(
    cells: &Cells<'_>,
    uidvalidity: &str,
    next: &str,
) -> Result<Option<Horizon>, LedgerFault> {
    let uidvalidity: Option<u32> = cells.get(uidvalidity)?;
    let next: Option<u32> = cells.get(next)?;
    Ok(uidvalidity.zip(next).map(|(uidvalidity, next)| Horizon {
        uidvalidity: UidValidity(uidvalidity),
        next: Uid(next),
    }))
}

struct Cells<'a>(&'a Row<'a>);

impl Cells<'_> {
    fn get<T: FromSql>(&self, column: &str) -> Result<T, LedgerFault> {
        self.0.get(column).map_err(|_| bad(column))
    }

    fn word<T>(
        &self,
        column: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, LedgerFault> {
        self.maybe(column, read)?.ok_or_else(|| bad(column))
    }

    fn maybe<T>(
        &self,
        column: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, LedgerFault> {
        let text: Option<String> = self.get(column)?;
        text.map(|text| read(&text).ok_or_else(|| bad(column)))
            .transpose()
    }
}

/// Somebody else has written this.
fn bad(column: &str) -> LedgerFault {
    LedgerFault::Foreign(format!(
        "a row holds something unknown in its column {column}"
    ))
}

pub(super) fn parse_time(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

fn parse_flags(text: &str) -> Option<Vec<Flag>> {
    let texts: Vec<String> = serde_json::from_str(text).ok()?;
    Some(texts.into_iter().map(Flag::new).collect())
}

fn parse_marks(text: &str) -> Option<Vec<Mark>> {
    let texts: Vec<String> = serde_json::from_str(text).ok()?;
    let mark = |text: &String| match text.split_at_checked(1)? {
        ("+", flag) => Some(Mark::Set(Flag::new(flag))),
        ("-", flag) => Some(Mark::Take(Flag::new(flag))),
        _ => None,
    };
    texts.iter().map(mark).collect()
}

fn parse_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0u8; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}
