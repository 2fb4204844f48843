//! What the database knows of a message whose file is not here: its envelope. Whom it names is not said here.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use mail::{Address, Envelope, HeaderId, Raw, Uid};
use rusqlite::Row as SqlRow;

use super::database::Database;
use super::rows::{int, text};

/// More of each are not read.
const MOST: usize = 1_000;

impl Database {
    /// As far as it can be told: what cannot be read is left out.
    pub(super) fn envelope(&self, uid: Uid) -> Envelope {
        let mut envelope = Envelope {
            subject: self.subject(uid).map(Raw::new),
            from: self.sender(uid).into_iter().collect(),
            message_id: self
                .id(uid)
                .map(|id| Raw::new([b"<", id.bytes(), b">"].concat())),
            date: self.sent(uid).map(Raw::new),
            ..Envelope::default()
        };
        for (kind, address) in self.recipients(uid) {
            match kind {
                0 => envelope.to.push(address),
                1 => envelope.cc.push(address),
                _ => {}
            }
        }
        envelope
    }

    /// The Message-ID, where the database has it.
    pub(super) fn id(&self, uid: Uid) -> Option<HeaderId> {
        if !self.schema.names_ids() {
            return None;
        }
        let sql = "SELECT g.message_id_header FROM messages m \
                   JOIN message_global_data g ON g.ROWID = m.global_message_id WHERE m.ROWID = ?1";
        header_id(&self.texts(sql, uid).pop()?)
    }

    fn subject(&self, uid: Uid) -> Option<Vec<u8>> {
        if !self.schema.has_subjects() {
            return None;
        }
        let prefix = self.schema.or("subject_prefix", "''");
        let sql = format!(
            "SELECT coalesce({prefix}, '') || s.subject FROM messages m JOIN subjects s ON s.ROWID = m.subject \
             WHERE m.ROWID = ?1"
        );
        self.texts(&sql, uid).pop()
    }

    fn sender(&self, uid: Uid) -> Option<Address> {
        if !self.schema.has_addresses() {
            return None;
        }
        let sql = "SELECT a.comment, a.address FROM messages m JOIN addresses a ON a.ROWID = m.sender \
                   WHERE m.ROWID = ?1";
        self.asked(sql, uid, |row| Some(address(text(row, 0), text(row, 1)?)))
            .pop()
    }

    fn recipients(&self, uid: Uid) -> Vec<(i64, Address)> {
        if !self.schema.has_recipients() || !self.schema.has_addresses() {
            return Vec::new();
        }
        let sql = "SELECT r.type, a.comment, a.address FROM recipients r JOIN addresses a ON a.ROWID = r.address \
                   WHERE r.message = ?1 ORDER BY r.type, r.position";
        self.asked(sql, uid, |row| {
            Some((int(row, 0)?, address(text(row, 1), text(row, 2)?)))
        })
    }

    /// As a header writes it.
    fn sent(&self, uid: Uid) -> Option<Vec<u8>> {
        if !self.schema.has("date_sent") {
            return None;
        }
        let sql = "SELECT m.date_sent FROM messages m WHERE m.ROWID = ?1";
        let seconds = self.asked(sql, uid, |row| int(row, 0)).pop()?;
        let at = Timestamp::from_second(seconds.saturating_add(self.schema.epoch)).ok()?;
        let at = at.to_zoned(TimeZone::UTC);
        Some(
            at.strftime("%a, %d %b %Y %H:%M:%S +0000")
                .to_string()
                .into_bytes(),
        )
    }

    fn texts(&self, sql: &str, uid: Uid) -> Vec<Vec<u8>> {
        self.asked(sql, uid, |row| text(row, 0))
    }

    fn asked<T>(&self, sql: &str, uid: Uid, read: impl Fn(&SqlRow<'_>) -> Option<T>) -> Vec<T> {
        let ask = || -> rusqlite::Result<Vec<T>> {
            let mut query = self.conn.prepare_cached(sql)?;
            let mut rows = query.query([i64::from(uid.0)])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()?
                && found.len() < MOST
            {
                found.extend(read(row));
            }
            Ok(found)
        };
        ask().unwrap_or_default()
    }
}

/// As `content` reads the field.
pub(super) fn header_id(text: &[u8]) -> Option<HeaderId> {
    let plain = |byte: &u8| byte.is_ascii_graphic() && !matches!(byte, b'<' | b'>');
    let inside = text
        .strip_prefix(b"<")
        .and_then(|text| text.strip_suffix(b">"));
    match inside.filter(|inside| inside.iter().all(plain)) {
        Some(inside) => HeaderId::new(inside),
        None => content::links(&[b"Message-ID: ", text, b"\r\n\r\n"].concat()).id,
    }
}

fn address(name: Option<Vec<u8>>, address: Vec<u8>) -> Address {
    let at = address.iter().rposition(|byte| *byte == b'@');
    let (mailbox, host) = match at {
        Some(at) => {
            let (mailbox, host) = address.split_at(at);
            (mailbox.to_vec(), host.get(1..).map(<[u8]>::to_vec))
        }
        None => (address, None),
    };
    Address {
        name: name.filter(|name| !name.is_empty()).map(Raw::new),
        mailbox: Some(Raw::new(mailbox)),
        host: host.map(Raw::new),
    }
}
