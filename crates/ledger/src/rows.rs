//! A transaction as a row and back, whichever database has it: every field, spelled so that a person can read it in its shell.

use jiff::Timestamp;
use mail::{AccountId, Digest, Flag, FolderName, Horizon, Landing, MessageRef, Uid, UidValidity};

use crate::{
    Asked, Ending, Key, Kind, Known, LedgerFault, Mark, Place, State, StepName, StepRecord,
    StepState, Transaction, TransactionId,
};

/// A row, as its database gives it. None where the column is empty; an error where there is something else, or no such column.
pub(crate) trait Columns {
    fn text(&self, column: &str) -> Result<Option<String>, Unread>;
    fn whole(&self, column: &str) -> Result<Option<i64>, Unread>;
}

/// Somebody else has written it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Unread;

/// Both databases understand it, and have an index for just this.
pub(crate) const UNSETTLED: &str = "
SELECT count(*) FILTER (WHERE state = 'open'), count(*) FILTER (WHERE state = 'needs_operator'),
    min(began) FILTER (WHERE state = 'open')
FROM transactions WHERE state IN ('open', 'needs_operator')";

/// Fixed in width, so that text sorts as time does.
pub(crate) fn time(at: Timestamp) -> String {
    format!("{at:.9}")
}

pub(crate) fn flags(flags: &[Flag]) -> String {
    list(flags.iter().map(|flag| flag.as_str().to_owned()))
}

pub(crate) fn marks(marks: &[Mark]) -> String {
    list(marks.iter().map(|mark| match mark {
        Mark::Set(flag) => format!("+{}", flag.as_str()),
        Mark::Take(flag) => format!("-{}", flag.as_str()),
    }))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn list(texts: impl Iterator<Item = String>) -> String {
    serde_json::Value::from_iter(texts).to_string()
}

/// One row of `transactions`, apart from its steps.
pub(crate) fn transaction(row: &dyn Columns) -> Result<Transaction, LedgerFault> {
    let cells = Cells(row);
    let state = cells.word("state", State::from_name)?;
    let ending = Ending {
        code: cells.text("ending_code")?,
        words: cells.text("ending_words")?,
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
        attempts: cells.small("attempts")?.ok_or_else(|| bad("attempts"))?,
        next_try: cells.maybe("next_try", parse_time)?,
        undone_by: cells.maybe("undone_by", TransactionId::parse)?,
    })
}

pub(crate) fn step(row: &dyn Columns) -> Result<StepRecord, LedgerFault> {
    let cells = Cells(row);
    Ok(StepRecord {
        name: cells.word("name", StepName::from_name)?,
        state: cells.word("state", StepState::from_name)?,
        at: cells.word("at", parse_time)?,
        why: cells.text("why")?,
    })
}

fn asked(cells: &Cells<'_>) -> Result<Asked, LedgerFault> {
    let account = cells.maybe("target_account", |text| AccountId::new(text).ok())?;
    let folder = cells.maybe("target_folder", |text| FolderName::new(text).ok())?;
    let name = cells.text("key")?;
    let arguments = cells.maybe("key_arguments", parse_hex)?;
    Ok(Asked {
        kind: cells.word("kind", Kind::from_name)?,
        caller: cells.word("caller", owned)?,
        tool: cells.word("tool", owned)?,
        request_id: cells.word("request_id", owned)?,
        policy: cells.word("policy", owned)?,
        source: cells.maybe("source", |text| MessageRef::parse(text).ok())?,
        target: account
            .zip(folder)
            .map(|(account, folder)| Place { account, folder }),
        source_home: cells.text("source_home")?,
        target_home: cells.text("target_home")?,
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
    let octets = cells.whole("sha256_octets")?;
    let validity = cells.small("landed_uidvalidity")?;
    let uid = cells.small("landed_uid")?;
    Ok(Known {
        size: number(cells, "size")?,
        digest: sha256.zip(octets).map(|(sha256, octets)| Digest {
            sha256,
            octets: octets.cast_unsigned(),
        }),
        message_id: cells.text("message_id")?,
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
    Ok(cells.whole(column)?.map(i64::cast_unsigned))
}

fn horizon(
    cells: &Cells<'_>,
    uidvalidity: &str,
    next: &str,
) -> Result<Option<Horizon>, LedgerFault> {
    let uidvalidity = cells.small(uidvalidity)?;
    let next = cells.small(next)?;
    Ok(uidvalidity.zip(next).map(|(uidvalidity, next)| Horizon {
        uidvalidity: UidValidity(uidvalidity),
        next: Uid(next),
    }))
}

struct Cells<'a>(&'a dyn Columns);

impl Cells<'_> {
    fn text(&self, column: &str) -> Result<Option<String>, LedgerFault> {
        self.0.text(column).map_err(|Unread| bad(column))
    }

    fn whole(&self, column: &str) -> Result<Option<i64>, LedgerFault> {
        self.0.whole(column).map_err(|Unread| bad(column))
    }

    fn small(&self, column: &str) -> Result<Option<u32>, LedgerFault> {
        let number = self.whole(column)?.map(u32::try_from);
        number.transpose().map_err(|_| bad(column))
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
        let text = self.text(column)?;
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

pub(crate) fn parse_time(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

fn owned(text: &str) -> Option<String> {
    Some(text.to_owned())
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
