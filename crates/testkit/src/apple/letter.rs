//! One message of a store: its row and everything that hangs on it.

use rusqlite::{Connection, params};

use super::emlx::{Count, Trailer};
use super::{Generation, Mailbox};

/// Set in all samples of real stores; what they mean is not known. Attachments are not counted, priority is normal.
pub(super) const ALWAYS: i64 = 8_590_195_840;

/// A message to be put into a store.
#[derive(Clone, Debug)]
pub struct Letter {
    pub(super) raw: Vec<u8>,
    row: Option<i64>,
    received: i64,
    flags: i64,
    conversation: i64,
    known: Known,
    labels: Vec<Mailbox>,
    pub(super) stored: Stored,
    pub(super) sidecars: Vec<Sidecar>,
}

/// Whether the database says what a message calls itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Known {
    Said,
    Null,
}

/// What lies on disk of a message.
#[derive(Clone, Debug)]
pub enum Stored {
    /// `<ROWID>.emlx`, its lines ended by LF as Mail does it.
    Whole(Count, Trailer),
    /// The same with its lines as they are.
    AsItIs,
    /// `<ROWID>.partial.emlx`.
    Partial,
    /// These octets and no others.
    Octets(Vec<u8>),
    /// Never downloaded.
    Nothing,
}

/// An attachment that lies beside its message, decoded.
#[derive(Clone, Debug)]
pub struct Sidecar {
    /// As IMAP numbers parts.
    pub part: String,
    pub name: String,
    pub octets: Vec<u8>,
}

impl Letter {
    /// An unread message that arrived on 2026-01-01 00:00 UTC.
    pub fn new(raw: impl Into<Vec<u8>>) -> Self {
        Self {
            raw: raw.into(),
            row: None,
            received: 1_767_225_600,
            flags: ALWAYS,
            conversation: 0,
            known: Known::Said,
            labels: Vec::new(),
            stored: Stored::Whole(Count::Padded, Trailer::There),
            sidecars: Vec::new(),
        }
    }

    #[must_use]
    pub fn row(mut self, row: i64) -> Self {
        self.row = Some(row);
        self
    }

    /// Seconds since 1970.
    #[must_use]
    pub fn received(mut self, seconds: i64) -> Self {
        self.received = seconds;
        self
    }

    /// The bits as Mail keeps them.
    #[must_use]
    pub fn flags(mut self, bits: i64) -> Self {
        self.flags = bits;
        self
    }

    /// More bits than it has.
    #[must_use]
    pub fn marked(mut self, bits: i64) -> Self {
        self.flags |= bits;
        self
    }

    #[must_use]
    pub fn conversation(mut self, id: i64) -> Self {
        self.conversation = id;
        self
    }

    /// `message_id_header` is NULL.
    #[must_use]
    pub fn unnamed(mut self) -> Self {
        self.known = Known::Null;
        self
    }

    #[must_use]
    pub fn labels(mut self, labels: &[Mailbox]) -> Self {
        self.labels = labels.to_vec();
        self
    }

    #[must_use]
    pub fn stored(mut self, stored: Stored) -> Self {
        self.stored = stored;
        self
    }

    #[must_use]
    pub fn sidecar(mut self, part: &str, name: &str, octets: impl Into<Vec<u8>>) -> Self {
        self.sidecars.push(Sidecar {
            part: part.to_owned(),
            name: name.to_owned(),
            octets: octets.into(),
        });
        self
    }
}

/// Writes a message's rows; answers its ROWID.
pub(super) fn insert(
    mail: &Connection,
    generation: Generation,
    mailbox: Mailbox,
    letter: &Letter,
) -> i64 {
    let id = ids(&letter.raw, "message-id").into_iter().next();
    let subject = row_of(
        mail,
        "subjects",
        "subject",
        &field(&letter.raw, "subject").unwrap_or_default(),
    );
    let from = field(&letter.raw, "from").unwrap_or_default();
    let sender = address(mail, &from);
    let (read, flagged, deleted) = (
        letter.flags & 1,
        (letter.flags >> 4) & 1,
        (letter.flags >> 1) & 1,
    );
    let size = i64::try_from(letter.raw.len()).unwrap();
    match generation {
        Generation::Modern | Generation::Older => {
            let hash = id.as_deref().map_or(0, hash);
            let global = global(mail, generation, hash, id.as_deref(), letter.known);
            mail.execute(
                "INSERT INTO messages (ROWID, message_id, global_message_id, sender, subject, date_sent, \
                 date_received, mailbox, flags, read, flagged, deleted, size, conversation_id) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
                params![
                    letter.row, hash, global, sender, subject, letter.received, mailbox.0,
                    letter.flags, read, flagged, deleted, size, letter.conversation
                ],
            )
            .unwrap();
        }
        Generation::Ancient => {
            let conversation = match letter.conversation {
                0 => -1,
                other => other,
            };
            mail.execute(
                "INSERT INTO messages (ROWID, sender, subject, date_sent, date_received, mailbox, flags, read, \
                 flagged, size, conversation_id) VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                params![
                    letter.row, sender, subject, letter.received, mailbox.0, letter.flags, read,
                    flagged, size, conversation
                ],
            )
            .unwrap();
        }
    }
    let row = mail.last_insert_rowid();
    for (kind, name) in [(0, "to"), (1, "cc")] {
        let list = field(&letter.raw, name).unwrap_or_default();
        for (position, one) in list
            .split(',')
            .filter(|one| !one.trim().is_empty())
            .enumerate()
        {
            let put =
                "INSERT INTO recipients (message, address, type, position) VALUES (?1, ?2, ?3, ?4)";
            let position = i64::try_from(position).unwrap();
            mail.execute(put, params![row, address(mail, one), kind, position])
                .unwrap();
        }
    }
    for label in &letter.labels {
        let put = "INSERT INTO labels (message_id, mailbox_id) VALUES (?1, ?2)";
        mail.execute(put, [row, label.0]).unwrap();
    }
    if generation != Generation::Ancient {
        references(mail, row, &letter.raw);
    }
    row
}

fn global(
    mail: &Connection,
    generation: Generation,
    hash: i64,
    id: Option<&str>,
    known: Known,
) -> i64 {
    let find = "SELECT ROWID FROM message_global_data WHERE message_id = ?1";
    if hash != 0
        && let Ok(row) = mail.query_row(find, [hash], |row| row.get(0))
    {
        return row;
    }
    let hash = Some(hash).filter(|hash| *hash != 0);
    match generation {
        Generation::Modern => {
            let header = id
                .filter(|_| known == Known::Said)
                .map(|id| format!("<{id}>"));
            let put =
                "INSERT INTO message_global_data (message_id, message_id_header) VALUES (?1, ?2)";
            mail.execute(put, params![hash, header]).unwrap();
        }
        _ => {
            let put = "INSERT INTO message_global_data (message_id) VALUES (?1)";
            mail.execute(put, params![hash]).unwrap();
        }
    }
    mail.last_insert_rowid()
}

fn references(mail: &Connection, row: i64, raw: &[u8]) {
    let mut named = ids(raw, "references");
    let parents = ids(raw, "in-reply-to");
    for parent in &parents {
        if !named.contains(parent) {
            named.push(parent.clone());
        }
    }
    for id in named {
        let parent = i64::from(parents.first() == Some(&id));
        let put = "INSERT INTO message_references (message, reference, is_originator) VALUES (?1, ?2, ?3)";
        mail.execute(put, [row, hash(&id), parent]).unwrap();
    }
}

/// Some number for a Message-ID, never zero: how Apple makes it is not known.
pub(super) fn hash(id: &str) -> i64 {
    let sum = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    i64::from_ne_bytes(sum.to_ne_bytes()) | 1
}

fn row_of(mail: &Connection, table: &str, column: &str, value: &str) -> i64 {
    let put = format!("INSERT OR IGNORE INTO {table} ({column}) VALUES (?1)");
    mail.execute(&put, [value]).unwrap();
    let find = format!("SELECT ROWID FROM {table} WHERE {column} = ?1");
    mail.query_row(&find, [value], |row| row.get(0)).unwrap()
}

fn address(mail: &Connection, text: &str) -> i64 {
    let (name, address) = match text.trim().split_once('<') {
        Some((name, rest)) => (name.trim().trim_matches('"'), rest.trim_end_matches('>')),
        None => ("", text.trim()),
    };
    let put = "INSERT OR IGNORE INTO addresses (address, comment) VALUES (?1, ?2)";
    mail.execute(put, [address, name]).unwrap();
    let find = "SELECT ROWID FROM addresses WHERE address = ?1 AND comment = ?2";
    mail.query_row(find, [address, name], |row| row.get(0))
        .unwrap()
}

/// A header field's value on one line.
fn field(raw: &[u8], name: &str) -> Option<String> {
    let text = String::from_utf8_lossy(raw);
    let mut lines = text.lines().take_while(|line| !line.is_empty()).peekable();
    while let Some(line) = lines.next() {
        let Some((found, value)) = line.split_once(':') else {
            continue;
        };
        if !found.eq_ignore_ascii_case(name) {
            continue;
        }
        let mut value = value.trim().to_owned();
        while let Some(more) = lines.next_if(|next| next.starts_with([' ', '\t'])) {
            value.push(' ');
            value.push_str(more.trim());
        }
        return Some(value);
    }
    None
}

fn ids(raw: &[u8], name: &str) -> Vec<String> {
    let value = field(raw, name).unwrap_or_default();
    let inside = value.split('<').skip(1);
    inside
        .filter_map(|rest| Some(rest.split_once('>')?.0.to_owned()))
        .collect()
}
