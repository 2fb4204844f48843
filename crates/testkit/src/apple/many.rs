//! A store of very many messages, made fast: one transaction, and files only for some of them.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, params};

use super::emlx::{self, Count, Trailer, emlx};
use super::letter::hash;
use super::{AppleStore, Generation};

/// How the messages of a large store are called and tied.
pub struct Many {
    pub store: AppleStore,
    pub count: i64,
    thread: i64,
}

impl Many {
    /// Messages in threads of `thread` each, half of them in the inbox and half in the sent mail; every `filed`-th thread
    /// has its files.
    pub fn new(count: i64, thread: i64, filed: i64) -> Self {
        let mut store = AppleStore::of(Generation::Modern);
        let boxes = [store.folder("INBOX"), store.folder("Sent Messages")];
        let directories = boxes.map(|mailbox| store.directory(mailbox));
        let many = Self {
            store,
            count,
            thread,
        };
        let mail = many.store.mail();
        many.store.sql(
            "BEGIN; INSERT INTO subjects (subject) VALUES ('Kettenwerk'); \
            INSERT INTO addresses (address, comment) VALUES ('anna@kettenwerk.example', 'Anna');",
        );
        {
            let mut global = mail
                .prepare("INSERT INTO message_global_data (ROWID, message_id, message_id_header) VALUES (?1, ?2, ?3)")
                .unwrap();
            let mut message = mail
                .prepare(
                    "INSERT INTO messages (ROWID, message_id, global_message_id, sender, subject, date_sent, \
                     date_received, mailbox, flags, read, size, conversation_id) \
                     VALUES (?1, ?2, ?1, 1, 1, ?3, ?3, ?4, 8590195841, 1, 400, ?5)",
                )
                .unwrap();
            let mut reference = mail
                .prepare("INSERT INTO message_references (message, reference, is_originator) VALUES (?1, ?2, 1)")
                .unwrap();
            for row in 1..=count {
                let (id, side) = (many.id(row), usize::try_from(row % 2).unwrap());
                global
                    .execute(params![row, hash(&id), format!("<{id}>")])
                    .unwrap();
                let when = 1_700_000_000 + row;
                message
                    .execute(params![
                        row,
                        hash(&id),
                        when,
                        boxes[side].0,
                        many.conversation(row)
                    ])
                    .unwrap();
                if let Some(parent) = many.parent(row) {
                    reference
                        .execute(params![row, hash(&many.id(parent))])
                        .unwrap();
                }
                if many.conversation(row) % filed == 0 {
                    let shelf = directories[side].join(emlx::shelf(row)).join("Messages");
                    fs::create_dir_all(&shelf).unwrap();
                    let file = emlx(many.raw(row).as_bytes(), Count::Padded, Trailer::There);
                    fs::write(shelf.join(format!("{row}.emlx")), file).unwrap();
                }
            }
        }
        many.store.sql("COMMIT");
        many.store.checkpoint();
        many
    }

    pub fn id(&self, row: i64) -> String {
        format!(
            "{row}.{:x}@kettenwerk.example",
            row.wrapping_mul(2_654_435_761)
        )
    }

    /// As much as it takes at least without an index of one's own: the message looked for in Apple's database, and its file
    /// read.
    pub fn scan(&self, row: i64) -> Vec<u8> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
        let conn = Connection::open_with_flags(self.store.database(), flags).unwrap();
        let sql = "SELECT m.ROWID FROM message_global_data g JOIN messages m ON m.global_message_id = g.ROWID \
                   WHERE g.message_id_header = ?1 AND m.deleted = 0";
        let found: i64 = conn
            .query_row(sql, [format!("<{}>", self.id(row))], |row| row.get(0))
            .unwrap();
        assert_eq!(found, row);
        fs::read(self.file(&self.store.version(), row)).unwrap()
    }

    /// Where its file lies, below the directory of the version.
    pub fn file(&self, version: &Path, row: i64) -> PathBuf {
        let side = usize::try_from(row % 2).unwrap();
        let name = ["INBOX.mbox", "Sent Messages.mbox"][side];
        let mailbox = version.join(super::ACCOUNT).join(name);
        let uuid = format!("5707E000-0000-4000-8000-{:012X}", side + 1);
        let messages = mailbox.join(uuid).join(emlx::shelf(row)).join("Messages");
        messages.join(format!("{row}.emlx"))
    }

    fn conversation(&self, row: i64) -> i64 {
        (row - 1) / self.thread + 1
    }

    fn parent(&self, row: i64) -> Option<i64> {
        (self.conversation(row) == self.conversation(row - 1) && row > 1).then_some(row - 1)
    }

    fn raw(&self, row: i64) -> String {
        let reply = self.parent(row).map_or_else(String::new, |parent| {
            format!("In-Reply-To: <{0}>\nReferences: <{0}>\n", self.id(parent))
        });
        format!(
            "From: Anna <anna@kettenwerk.example>\nTo: Ben <ben@kettenwerk.example>\nSubject: Kettenwerk\n\
             Date: Thu, 1 Jan 2026 00:00:00 +0000\nMessage-ID: <{}>\n{reply}MIME-Version: 1.0\n\
             Content-Type: text/plain; charset=utf-8\n\nMessage {row} of a long talk about chains.\n",
            self.id(row)
        )
    }
}
