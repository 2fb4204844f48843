//! Messages as the database lists them: number, mailbox, time, flags. Their text is in no table.

use std::collections::HashMap;
use std::ops::ControlFlow;

use jiff::Timestamp;
use mail::{Counts, Fault, Flag, Stage, Uid};
use rusqlite::types::ValueRef;
use rusqlite::{Row as SqlRow, ToSql};

use super::database::{Database, fault};
use crate::local::work::{Stop, unreadable};

/// One message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Row {
    pub(super) uid: Uid,
    /// Where its file lies; labels show it elsewhere too.
    pub(super) mailbox: i64,
    /// Seconds since 1970.
    received: Option<i64>,
    flags: i64,
    size: Option<i64>,
    /// 0 where there is none.
    pub(super) conversation: i64,
    /// Apple's number for its Message-ID; 0 where there is none, or nothing is tied by it.
    pub(super) hash: i64,
}

/// Bits of `messages.flags` and what IMAP calls them.
const MARKS: [(u32, &str); 8] = [
    (0, "\\Seen"),
    (1, "\\Deleted"),
    (2, "\\Answered"),
    (4, "\\Flagged"),
    (6, "\\Draft"),
    (8, "$Forwarded"),
    (24, "$Junk"),
    (25, "$NotJunk"),
];

impl Row {
    pub(super) fn flags(&self) -> Vec<Flag> {
        let marks = MARKS.iter().filter(|(bit, _)| self.flags >> bit & 1 == 1);
        marks.map(|(_, name)| Flag::new(*name)).collect()
    }

    pub(super) fn arrived(&self) -> Option<Timestamp> {
        Timestamp::from_second(self.received?).ok()
    }

    /// As the server told it, of a message whose file is not here.
    pub(super) fn size(&self) -> Option<u64> {
        self.size
            .and_then(|size| u64::try_from(size).ok())
            .filter(|size| *size > 0)
    }

    /// The place in the order of the folder.
    pub(super) fn order(&self) -> (i64, Uid) {
        (self.received.unwrap_or_default(), self.uid)
    }
}

impl Database {
    /// What [`Row::read`] reads, of `messages m`.
    pub(super) fn columns(&self) -> String {
        let schema = &self.schema;
        let conversation = schema.or("conversation_id", "0");
        let hash = match schema.names_kin() {
            true => "m.message_id".to_owned(),
            false => "0".to_owned(),
        };
        [
            "m.ROWID".to_owned(),
            "m.mailbox".to_owned(),
            "m.date_received".to_owned(),
            "m.flags".to_owned(),
            schema.or("read", "NULL"),
            schema.or("flagged", "NULL"),
            schema.or("size", "NULL"),
            conversation,
            hash,
        ]
        .join(", ")
    }

    /// All messages of a mailbox, the newest first: those that lie in it and those that a label shows in it.
    pub(super) fn rows_of(&self, mailbox: i64, stop: &Stop) -> Result<Vec<Row>, Fault> {
        let (columns, live) = (self.columns(), self.schema.live());
        let mut found = self.rows(
            &format!("SELECT {columns} FROM messages m WHERE m.mailbox = ?1 AND {live}"),
            mailbox,
            stop,
        )?;
        if self.schema.has_labels() {
            let labelled = format!(
                "SELECT {columns} FROM labels l JOIN messages m ON m.ROWID = l.message_id \
                 WHERE l.mailbox_id = ?1 AND {live}"
            );
            found.extend(self.rows(&labelled, mailbox, stop)?);
        }
        found.sort_unstable_by_key(|row| std::cmp::Reverse(row.order()));
        found.dedup_by_key(|row| row.uid);
        Ok(found)
    }

    /// How many messages a mailbox has, and how many of them nobody has read.
    pub(super) fn counts(&self) -> Result<HashMap<i64, Counts>, Fault> {
        let live = self.schema.live();
        let read = self.schema.or("read", "NULL");
        let unread = format!("total(coalesce({read}, m.flags & 1) = 0)");
        let mut asked = vec![format!(
            "SELECT m.mailbox, count(*), {unread} FROM messages m WHERE {live} GROUP BY m.mailbox"
        )];
        if self.schema.has_labels() {
            asked.push(format!(
                "SELECT l.mailbox_id, count(*), {unread} FROM labels l JOIN messages m ON m.ROWID = l.message_id \
                 WHERE l.mailbox_id <> m.mailbox AND {live} GROUP BY l.mailbox_id"
            ));
        }
        let mut counts: HashMap<i64, Counts> = HashMap::new();
        let mut ask = |sql: &str| -> rusqlite::Result<()> {
            let mut query = self.conn.prepare(sql)?;
            let mut rows = query.query([])?;
            while let Some(row) = rows.next()? {
                let number = |index| int(row, index).and_then(|number| u64::try_from(number).ok());
                let (Some(mailbox), Some(messages), Some(unread)) =
                    (int(row, 0), number(1), number(2))
                else {
                    continue;
                };
                let sum = counts.entry(mailbox).or_insert(Counts {
                    messages: 0,
                    unread: 0,
                });
                sum.messages += messages;
                sum.unread += unread;
            }
            Ok(())
        };
        asked
            .iter()
            .try_for_each(|sql| ask(sql))
            .map_err(fault(Stage::ListFolders))?;
        Ok(counts)
    }

    /// Messages by one number: that of their mailbox, their conversation, their hash, or their own.
    pub(super) fn rows(&self, sql: &str, by: i64, stop: &Stop) -> Result<Vec<Row>, Fault> {
        self.rows_by(sql, by, stop)
    }

    /// Messages by a text.
    pub(super) fn rows_by_text(&self, sql: &str, by: &str, stop: &Stop) -> Result<Vec<Row>, Fault> {
        self.rows_by(sql, by, stop)
    }

    fn rows_by(&self, sql: &str, by: impl ToSql, stop: &Stop) -> Result<Vec<Row>, Fault> {
        let mut found = Vec::new();
        self.each(sql, by, stop, |row| {
            found.push(row);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }

    /// One after the other, until it is enough.
    pub(super) fn each(
        &self,
        sql: &str,
        by: impl ToSql,
        stop: &Stop,
        mut look: impl FnMut(Row) -> Result<ControlFlow<()>, Fault>,
    ) -> Result<(), Fault> {
        let stage = Stage::Search;
        let mut query = self.conn.prepare_cached(sql).map_err(fault(stage))?;
        let mut rows = query.query([by]).map_err(fault(stage))?;
        let mut looked_at = 0_usize;
        while let Some(row) = rows.next().map_err(fault(stage))? {
            if looked_at.is_multiple_of(1_024) {
                stop.check().map_err(unreadable(stage))?;
            }
            looked_at += 1;
            if let Some(row) = Row::read(row, self.schema.epoch)
                && look(row)?.is_break()
            {
                break;
            }
        }
        Ok(())
    }

    /// Messages that Apple has one number for: copies.
    pub(super) fn rows_hashed(&self, hash: i64, stop: &Stop) -> Result<Vec<Row>, Fault> {
        let (columns, live) = (self.columns(), self.schema.live());
        let sql = format!("SELECT {columns} FROM messages m WHERE m.message_id = ?1 AND {live}");
        self.rows(&sql, hash, stop)
    }

    /// One message, whatever folders it is seen in.
    pub(super) fn row(&self, uid: Uid, stop: &Stop) -> Result<Option<Row>, Fault> {
        let (columns, live) = (self.columns(), self.schema.live());
        let sql = format!("SELECT {columns} FROM messages m WHERE m.ROWID = ?1 AND {live}");
        Ok(self.rows(&sql, i64::from(uid.0), stop)?.pop())
    }

    /// The labels of a message: mailboxes that show it beside the one it lies in.
    pub(super) fn labels(&self, uid: Uid) -> Result<Vec<i64>, Fault> {
        if !self.schema.has_labels() {
            return Ok(Vec::new());
        }
        let ask = || -> rusqlite::Result<Vec<i64>> {
            let sql = "SELECT mailbox_id FROM labels WHERE message_id = ?1";
            let mut query = self.conn.prepare_cached(sql)?;
            let found = query.query_map([i64::from(uid.0)], |row| Ok(int(row, 0)))?;
            Ok(found
                .collect::<rusqlite::Result<Vec<_>>>()?
                .into_iter()
                .flatten()
                .collect())
        };
        ask().map_err(fault(Stage::Search))
    }
}

impl Row {
    /// None where the number is none.
    fn read(row: &SqlRow<'_>, epoch: i64) -> Option<Self> {
        let mut flags = int(row, 3).unwrap_or_default();
        // The columns are what Mail looks at; triggers keep the bits in step.
        for (index, bit) in [(4, 1), (5, 1 << 4)] {
            match int(row, index) {
                Some(0) => flags &= !bit,
                Some(_) => flags |= bit,
                None => {}
            }
        }
        Some(Self {
            uid: Uid(u32::try_from(int(row, 0)?).ok().filter(|uid| *uid > 0)?),
            mailbox: int(row, 1)?,
            received: int(row, 2).map(|at| at.saturating_add(epoch)),
            flags,
            size: int(row, 6),
            // QUIRK: "none" is 0 in some generations and -1 in others.
            conversation: int(row, 7).filter(|id| *id > 0).unwrap_or_default(),
            hash: int(row, 8).unwrap_or_default(),
        })
    }
}

/// A number, or nothing where something else stands.
pub(super) fn int(row: &SqlRow<'_>, index: usize) -> Option<i64> {
    match row.get_ref(index).ok()? {
        ValueRef::Integer(number) => Some(number),
        // QUIRK: dates are sometimes kept with their fractions.
        #[expect(
            clippy::cast_possible_truncation,
            reason = "seconds; what does not fit is cut off"
        )]
        ValueRef::Real(number) => Some(number as i64),
        _ => None,
    }
}

/// Text, or nothing where something else stands.
pub(super) fn text(row: &SqlRow<'_>, index: usize) -> Option<Vec<u8>> {
    match row.get_ref(index).ok()? {
        ValueRef::Text(text) => Some(text.to_vec()),
        _ => None,
    }
}
