//! A `~/Library/Mail` of Apple Mail, made for a test on any system, in several generations of its schema.
//!
//! The database is real, in WAL mode, with rows that only the log holds as long as the store is not told to quit. What
//! Apple computes in ways that nobody outside knows (the hash of a Message-ID) is some stand-in of ours.

mod cases;
mod emlx;
mod letter;
mod many;
mod schema;

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};
use tempfile::TempDir;

pub use cases::{Cases, EXCHANGE, GMAIL, INSIDE, ON_MY_MAC, rows};
pub use emlx::{Count, Trailer, emlx, placed};
pub use letter::{Letter, Sidecar, Stored};
pub use many::Many;
pub use schema::Generation;

use crate::delivery::{Delivery, Flag};

/// The account that mailboxes of tests belong to when nothing else is said.
pub const ACCOUNT: &str = "F0B71D52-6A1C-4E0D-9A59-0D3B7C6A1B11";

/// A mailbox of a store: the ROWID of its row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Mailbox(pub i64);

/// The store, gone without trace when dropped.
pub struct AppleStore {
    home: TempDir,
    generation: Generation,
    /// Open as long as Mail would be running.
    mail: Option<Connection>,
}

impl Default for AppleStore {
    fn default() -> Self {
        Self::new()
    }
}

impl AppleStore {
    /// Of the newest generation.
    pub fn new() -> Self {
        Self::of(Generation::Modern)
    }

    pub fn of(generation: Generation) -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut store = Self {
            home,
            generation,
            mail: None,
        };
        fs::create_dir_all(store.data()).unwrap();
        store.start();
        store.sql(schema::tables(generation));
        store
    }

    /// `~/Library/Mail`.
    pub fn root(&self) -> PathBuf {
        self.home.path().join("Library/Mail")
    }

    /// `~/Library/Mail/V10`.
    pub fn version(&self) -> PathBuf {
        self.root().join(self.generation.directory())
    }

    fn data(&self) -> PathBuf {
        self.version().join("MailData")
    }

    pub fn database(&self) -> PathBuf {
        self.data().join("Envelope Index")
    }

    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// The database as Mail has it open.
    pub fn mail(&self) -> &Connection {
        self.mail.as_ref().expect("Mail has quit")
    }

    pub fn sql(&self, statements: &str) {
        self.mail().execute_batch(statements).unwrap();
    }

    /// What was written so far leaves the log.
    pub fn checkpoint(&self) {
        self.sql("PRAGMA wal_checkpoint(TRUNCATE)");
    }

    /// Mail ends as it should: the log is gone, and its index.
    pub fn quit(&mut self) {
        self.mail = None;
    }

    /// Mail runs again.
    pub fn start(&mut self) {
        let mail = Connection::open(self.database()).unwrap();
        let mode: String = mail
            .pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))
            .unwrap();
        assert_eq!(mode, "wal");
        mail.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
        mail.pragma_update(None, "synchronous", "off").unwrap();
        self.mail = Some(mail);
    }

    /// The tree as a backup would hold it that was made while Mail ran: with the log, without its index.
    pub fn backup(&self) -> TempDir {
        let to = tempfile::tempdir().unwrap();
        copy(&self.root(), to.path());
        to
    }

    /// By its URL, made when it is new.
    pub fn mailbox(&mut self, url: &str) -> Mailbox {
        let find = "SELECT ROWID FROM mailboxes WHERE url = ?1";
        if let Ok(row) = self.mail().query_row(find, [url], |row| row.get(0)) {
            return Mailbox(row);
        }
        let make = "INSERT INTO mailboxes (url) VALUES (?1)";
        self.mail().execute(make, [url]).unwrap();
        Mailbox(self.mail().last_insert_rowid())
    }

    /// A folder of the usual account by its name, `/` between its parts.
    pub fn folder(&mut self, name: &str) -> Mailbox {
        let parts: Vec<String> = name.split('/').map(percent).collect();
        self.mailbox(&format!("imap://{ACCOUNT}/{}", parts.join("/")))
    }

    /// A label: its messages lie in `source`.
    pub fn label(&mut self, url: &str, source: Mailbox) -> Mailbox {
        let label = self.mailbox(url);
        let set = "UPDATE mailboxes SET source = ?2 WHERE ROWID = ?1";
        self.mail().execute(set, [label.0, source.0]).unwrap();
        label
    }

    pub fn url(&self, mailbox: Mailbox) -> String {
        let find = "SELECT url FROM mailboxes WHERE ROWID = ?1";
        self.mail()
            .query_row(find, [mailbox.0], |row| row.get(0))
            .unwrap()
    }

    /// The directory of a mailbox, with the store's UUID behind it; made when it is not there.
    pub fn directory(&self, mailbox: Mailbox) -> PathBuf {
        let mbox = self.version().join(placed(&self.url(mailbox)));
        let uuid = format!("5707E000-0000-4000-8000-{:012X}", mailbox.0);
        let directory = mbox.join(uuid);
        fs::create_dir_all(directory.join("Data")).unwrap();
        directory
    }

    /// The same mail as elsewhere: bytes, arrival time, flags.
    pub fn deliver(&mut self, mailbox: Mailbox, delivery: &Delivery) -> i64 {
        let bits = delivery.flags.iter().map(|flag| match flag {
            Flag::Seen => 1,
            Flag::Deleted => 1 << 1,
            Flag::Answered => 1 << 2,
            Flag::Flagged => 1 << 4,
            Flag::Draft => 1 << 6,
        });
        let letter = Letter::new(delivery.raw.clone())
            .received(i64::try_from(delivery.unix_time).unwrap())
            .flags(bits.fold(letter::ALWAYS, |all, bit| all | bit));
        self.message(mailbox, letter)
    }

    /// Puts a message there, its file with it; answers its ROWID.
    pub fn message(&mut self, mailbox: Mailbox, letter: Letter) -> i64 {
        let row = letter::insert(self.mail(), self.generation, mailbox, &letter);
        emlx::store(&self.directory(mailbox), row, &letter);
        row
    }

    /// An account as the system knows it. A child has no name of its own: its parent's counts.
    pub fn account(
        &self,
        uuid: &str,
        name: Option<&str>,
        user: Option<&str>,
        parent: Option<&str>,
    ) {
        let accounts = self.home.path().join("Library/Accounts");
        fs::create_dir_all(&accounts).unwrap();
        let conn = Connection::open(accounts.join("Accounts4.sqlite")).unwrap();
        conn.execute_batch(schema::ACCOUNTS).unwrap();
        let parent: Option<i64> = parent.map(|parent| {
            let find = "SELECT Z_PK FROM ZACCOUNT WHERE ZIDENTIFIER = ?1";
            conn.query_row(find, [parent], |row| row.get(0)).unwrap()
        });
        conn.execute(
            "INSERT INTO ZACCOUNT (ZIDENTIFIER, ZACCOUNTDESCRIPTION, ZUSERNAME, ZPARENTACCOUNT) \
             VALUES (?1, ?2, ?3, ?4)",
            params![uuid, name, user, parent],
        )
        .unwrap();
    }
}

/// As mailbox URLs write a name.
pub fn percent(text: &str) -> String {
    let octet = |byte: u8| match byte {
        b'-' | b'_' | b'.' | b'(' | b')' => char::from(byte).to_string(),
        letter if letter.is_ascii_alphanumeric() => char::from(letter).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(octet).collect()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in from.read_dir().unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        let name = entry.file_name();
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else if !name.to_string_lossy().ends_with("-shm") {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Where public samples of such stores lie, when they do: beside the checkout.
pub fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/apple")
}
