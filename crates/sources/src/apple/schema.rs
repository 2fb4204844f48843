//! Which generation of the store this is, found by looking: tables and columns come and go between versions of macOS.

use std::collections::BTreeSet;

use mail::{Fault, FaultKind, Stage};
use rusqlite::Connection;

/// So much of what is there is said of a store that is not known.
const MOST_SAID: usize = 1_500;

/// The columns of the tables that a reader of mail meets, in lower case.
#[derive(Debug, Default)]
pub(super) struct Schema {
    messages: BTreeSet<String>,
    mailboxes: BTreeSet<String>,
    global: BTreeSet<String>,
    references: BTreeSet<String>,
    labels: BTreeSet<String>,
    subjects: BTreeSet<String>,
    addresses: BTreeSet<String>,
    recipients: BTreeSet<String>,
    /// Added to every date: 0 where they count from 1970.
    pub(super) epoch: i64,
}

/// Seconds between 1970 and 2001.
const FROM_2001: i64 = 978_307_200;
/// Apple Mail of these generations has no date before; those that count from 2001 reach it in 2039.
const EARLIEST: i64 = 1_200_000_000;

impl Schema {
    pub(super) fn read(conn: &Connection) -> rusqlite::Result<Self> {
        let columns = |table: &str| -> rusqlite::Result<BTreeSet<String>> {
            let mut names = conn.prepare("SELECT lower(name) FROM pragma_table_info(?1)")?;
            let names = names.query_map([table], |row| row.get(0))?;
            names.collect()
        };
        let mut schema = Self {
            messages: columns("messages")?,
            mailboxes: columns("mailboxes")?,
            global: columns("message_global_data")?,
            references: columns("message_references")?,
            labels: columns("labels")?,
            subjects: columns("subjects")?,
            addresses: columns("addresses")?,
            recipients: columns("recipients")?,
            epoch: 0,
        };
        if schema.has("date_received") {
            let latest: Option<i64> =
                conn.query_row("SELECT max(date_received) FROM messages", [], |row| {
                    row.get(0)
                })?;
            // QUIRK: some stores are said to count from 2001.
            if latest.is_some_and(|latest| (1..EARLIEST).contains(&latest)) {
                schema.epoch = FROM_2001;
            }
        }
        Ok(schema)
    }

    /// Without these nothing can be said of mail.
    pub(super) fn check(&self) -> Result<(), Fault> {
        let wants = [
            ("messages", &self.messages, "mailbox"),
            ("messages", &self.messages, "flags"),
            ("messages", &self.messages, "date_received"),
            ("mailboxes", &self.mailboxes, "url"),
        ];
        let lacks: Vec<String> = wants
            .iter()
            .filter(|(_, columns, wanted)| !columns.contains(*wanted))
            .map(|(table, columns, wanted)| {
                let there: Vec<&str> = columns.iter().map(String::as_str).collect();
                format!("{table} has no column {wanted}, but: {}", there.join(", "))
            })
            .collect();
        if lacks.is_empty() {
            return Ok(());
        }
        let said: String = lacks.join("; ").chars().take(MOST_SAID).collect();
        Err(Fault::saying(
            FaultKind::UnknownStore,
            Stage::OpenFolder,
            said,
        ))
    }

    /// A column of `messages`.
    pub(super) fn has(&self, column: &str) -> bool {
        self.messages.contains(column)
    }

    /// A column of `messages`, or what stands for it.
    pub(super) fn or(&self, column: &str, instead: &'static str) -> String {
        match self.has(column) {
            true => format!("m.{column}"),
            false => instead.to_owned(),
        }
    }

    /// What is not deleted, and has a number that fits.
    pub(super) fn live(&self) -> &'static str {
        match self.has("deleted") {
            true => "m.deleted = 0 AND m.ROWID BETWEEN 1 AND 4294967295",
            false => "(m.flags & 2) = 0 AND m.ROWID BETWEEN 1 AND 4294967295",
        }
    }

    /// What lies in one of the mailboxes of `?1`, a list in JSON, or is shown there by a label.
    pub(super) fn shown(&self) -> &'static str {
        match self.has_labels() {
            // The plus: looked up by the message, not by each mailbox in turn.
            true => {
                "(m.mailbox IN (SELECT value FROM json_each(?1)) OR EXISTS (SELECT 1 FROM labels l \
                 WHERE l.message_id = m.ROWID AND +l.mailbox_id IN (SELECT value FROM json_each(?1))))"
            }
            false => "m.mailbox IN (SELECT value FROM json_each(?1))",
        }
    }

    /// Message-IDs stand in the database.
    pub(super) fn names_ids(&self) -> bool {
        self.has("global_message_id") && self.global.contains("message_id_header")
    }

    /// Who names whom stands there, by hashes.
    pub(super) fn names_kin(&self) -> bool {
        let wanted = ["message", "reference"];
        self.has("message_id") && wanted.iter().all(|one| self.references.contains(*one))
    }

    pub(super) fn has_conversations(&self) -> bool {
        self.has("conversation_id")
    }

    pub(super) fn has_labels(&self) -> bool {
        let wanted = ["message_id", "mailbox_id"];
        wanted.iter().all(|one| self.labels.contains(*one))
    }

    pub(super) fn has_subjects(&self) -> bool {
        self.has("subject") && self.subjects.contains("subject")
    }

    pub(super) fn has_addresses(&self) -> bool {
        self.has("sender")
            && ["address", "comment"]
                .iter()
                .all(|one| self.addresses.contains(*one))
    }

    pub(super) fn has_recipients(&self) -> bool {
        let wanted = ["message", "address", "type", "position"];
        wanted.iter().all(|one| self.recipients.contains(*one))
    }
}
