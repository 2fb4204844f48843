//! Which messages have which Message-IDs, and name which: an index of our own beside Apple's, which has none.
//!
//! Kept are hashes, never the ids themselves, so a hit is only a guess that the message has to confirm. All of it can be read
//! from the store again: a file that is broken, or of another make or another store, is begun anew.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mail::{Fault, HeaderId, Links, Stage, Uid};
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, TransactionBehavior, params};
use sha2::{Digest as _, Sha256};

use super::database::{Database, fault};
use super::envelope::header_id;
use super::rows::{int, text};
use crate::local::work::{Stop, unreadable};

/// Tells our file from others', and this make from the next: "MWai", and a number.
const APPLICATION: i32 = 0x4d57_6169;
const MAKE: i32 = 1;
/// How long one process waits for another that builds.
const PATIENCE: Duration = Duration::from_secs(30);
/// So many rows are written at once; a crash loses no more than these.
const BATCH: i64 = 20_000;

const TABLES: &str = "
    CREATE TABLE store (one INTEGER PRIMARY KEY CHECK (one = 1), file TEXT NOT NULL, high INTEGER NOT NULL,
        stamp TEXT NOT NULL);
    -- A message that has or names an id, by the hash of the id.
    CREATE TABLE has (hash INTEGER NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (hash, row)) WITHOUT ROWID;
    CREATE TABLE named (hash INTEGER NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (hash, row)) WITHOUT ROWID;
    -- Messages whose header was read.
    CREATE TABLE headers (row INTEGER PRIMARY KEY);";

/// The index of one store.
pub(super) struct Index {
    conn: Connection,
    /// What the store looked like when all of it was read anew.
    exact: Option<String>,
}

/// What it was made of.
struct Known {
    file: String,
    /// The newest message in it.
    high: i64,
    stamp: String,
}

impl Index {
    /// In a file of its own, or in memory where there is no directory, or none that can be written to.
    pub(super) fn open(file: Option<&Path>) -> rusqlite::Result<Self> {
        if let Some(file) = file {
            match kept(file) {
                Ok(conn) => return Ok(Self { conn, exact: None }),
                Err(error) => {
                    let why = error.to_string();
                    tracing::warn!(
                        why,
                        "the index of a mail store cannot be kept; it is built in memory"
                    );
                }
            }
        }
        let conn = Connection::open_in_memory()?;
        make(&conn)?;
        Ok(Self { conn, exact: None })
    }

    /// Brings it up to date with the store: new messages are added, another store begins it anew.
    pub(super) fn refresh(&mut self, db: &Database, stop: &Stop) -> Result<(), Fault> {
        let sql = fault(Stage::Index);
        let (file, stamp) = (db.stamp.file_spelled(), db.stamp.spelled());
        let known = self.known().map_err(&sql)?;
        let known = known.filter(|known| known.file == file);
        if known.as_ref().is_some_and(|known| known.stamp == stamp) {
            return Ok(());
        }
        let highest = "SELECT coalesce(max(ROWID), 0) FROM messages";
        let highest = db.conn.query_row(highest, [], |row| row.get::<_, i64>(0));
        let highest = highest.map_err(&sql)?;
        let high = match known {
            Some(known) if known.high > highest => {
                self.forget_beyond(highest).map_err(&sql)?;
                highest
            }
            Some(known) => known.high,
            None => {
                self.begin_anew(&file).map_err(&sql)?;
                0
            }
        };
        self.add(db, high, highest, stop)?;
        let done = "UPDATE store SET high = max(high, ?1), stamp = ?2 WHERE file = ?3";
        let done = self.conn.execute(done, params![highest, stamp, file]);
        done.map_err(&sql)?;
        self.exact = (high == 0).then_some(stamp);
        Ok(())
    }

    fn known(&self) -> rusqlite::Result<Option<Known>> {
        let sql = "SELECT file, high, stamp FROM store";
        let known = self.conn.query_row(sql, [], |row| {
            Ok(Known {
                file: row.get(0)?,
                high: row.get(1)?,
                stamp: row.get(2)?,
            })
        });
        known.optional()
    }

    fn begin_anew(&mut self, file: &str) -> rusqlite::Result<()> {
        let tx = self
            .conn
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        tx.execute_batch(
            "DELETE FROM store; DELETE FROM has; DELETE FROM named; DELETE FROM headers",
        )?;
        tx.execute("INSERT INTO store VALUES (1, ?1, 0, '')", [file])?;
        tx.commit()
    }

    /// The newest messages were removed, or another process saw some that this view of the store has not. Their numbers may
    /// come again, for other messages; of what is below nothing changed.
    fn forget_beyond(&mut self, highest: i64) -> rusqlite::Result<()> {
        let tx = self
            .conn
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        for table in ["has", "named", "headers"] {
            tx.execute(&format!("DELETE FROM {table} WHERE row > ?1"), [highest])?;
        }
        tx.execute("UPDATE store SET high = ?1, stamp = ''", [highest])?;
        tx.commit()
    }

    /// What the database says of the messages beyond `high`.
    fn add(&mut self, db: &Database, high: i64, highest: i64, stop: &Stop) -> Result<(), Fault> {
        let stage = Stage::Index;
        if !db.schema.names_ids() || high >= highest {
            return Ok(());
        }
        let total = |rows: i64| u64::try_from(rows).unwrap_or_default();
        let mut from = high;
        while from < highest {
            stop.check().map_err(unreadable(stage))?;
            stop.count(total(from - high), total(highest - high));
            let to = from.saturating_add(BATCH).min(highest);
            let mut found = said(db, from, to).map_err(fault(stage))?;
            // In the order of the table, which is several times as fast.
            found.sort_unstable();
            self.write(&found, to).map_err(fault(stage))?;
            from = to;
        }
        stop.count(total(highest - high), total(highest - high));
        Ok(())
    }

    fn write(&mut self, found: &[(i64, i64)], high: i64) -> rusqlite::Result<()> {
        let tx = self
            .conn
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            let mut put =
                tx.prepare_cached("INSERT OR IGNORE INTO has (hash, row) VALUES (?1, ?2)")?;
            for (hash, row) in found {
                put.execute([hash, row])?;
            }
            tx.execute("UPDATE store SET high = max(high, ?1)", [high])?;
        }
        tx.commit()
    }

    /// Nothing can be in the store that is not in here, as far as the database says it.
    pub(super) fn is_exact(&self, db: &Database) -> bool {
        self.exact.as_ref() == Some(&db.stamp.spelled())
    }

    /// Messages that seem to have this id.
    pub(super) fn having(&self, id: &HeaderId) -> Result<Vec<Uid>, Fault> {
        self.look_up("SELECT row FROM has WHERE hash = ?1", id)
    }

    /// Messages that seem to name this id, as far as headers were read.
    pub(super) fn naming(&self, id: &HeaderId) -> Result<Vec<Uid>, Fault> {
        self.look_up("SELECT row FROM named WHERE hash = ?1", id)
    }

    fn look_up(&self, sql: &str, id: &HeaderId) -> Result<Vec<Uid>, Fault> {
        let ask = || -> rusqlite::Result<Vec<Uid>> {
            let mut query = self.conn.prepare_cached(sql)?;
            let rows = query.query_map([hash(id)], |row| row.get::<_, i64>(0))?;
            let rows: Vec<i64> = rows.collect::<rusqlite::Result<_>>()?;
            Ok(rows
                .into_iter()
                .filter_map(|row| u32::try_from(row).ok().map(Uid))
                .collect())
        };
        ask().map_err(fault(Stage::Index))
    }

    /// Messages whose header need not be read again.
    pub(super) fn read(&self) -> Result<HashSet<Uid>, Fault> {
        let ask = || -> rusqlite::Result<HashSet<Uid>> {
            let mut query = self.conn.prepare_cached("SELECT row FROM headers")?;
            let rows = query.query_map([], |row| row.get::<_, u32>(0))?;
            rows.map(|row| row.map(Uid)).collect()
        };
        ask().map_err(fault(Stage::Index))
    }

    /// What headers say.
    pub(super) fn learn(&mut self, headers: &[(Uid, Links)]) -> Result<(), Fault> {
        let mut learn = || -> rusqlite::Result<()> {
            let tx = self
                .conn
                .transaction_with_behavior(TransactionBehavior::Immediate)?;
            {
                let mut has =
                    tx.prepare_cached("INSERT OR IGNORE INTO has (hash, row) VALUES (?1, ?2)")?;
                let mut named =
                    tx.prepare_cached("INSERT OR IGNORE INTO named (hash, row) VALUES (?1, ?2)")?;
                let mut read =
                    tx.prepare_cached("INSERT OR IGNORE INTO headers (row) VALUES (?1)")?;
                for (uid, links) in headers {
                    if let Some(id) = &links.id {
                        has.execute(params![hash(id), uid.0])?;
                    }
                    for id in links.ancestors() {
                        named.execute(params![hash(id), uid.0])?;
                    }
                    read.execute([uid.0])?;
                }
            }
            tx.commit()
        };
        learn().map_err(fault(Stage::Index))
    }
}

/// Hash and row of all messages between that the database knows the ids of.
fn said(db: &Database, after: i64, to: i64) -> rusqlite::Result<Vec<(i64, i64)>> {
    let mut query = db.conn.prepare_cached(
        "SELECT m.ROWID, g.message_id_header FROM messages m \
         JOIN message_global_data g ON g.ROWID = m.global_message_id WHERE m.ROWID > ?1 AND m.ROWID <= ?2",
    )?;
    let mut rows = query.query([after, to])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let id = text(row, 1).and_then(|text| header_id(&text));
        if let (Some(row), Some(id)) = (int(row, 0), id) {
            found.push((hash(&id), row));
        }
    }
    Ok(found)
}

/// The first eight octets of its SHA-256.
fn hash(id: &HeaderId) -> i64 {
    let sum = Sha256::digest(id.bytes());
    let mut first = [0; 8];
    for (to, from) in first.iter_mut().zip(sum.iter()) {
        *to = *from;
    }
    i64::from_be_bytes(first)
}

/// The file, made or made anew. It is private, and so is its directory.
fn kept(file: &Path) -> io::Result<Connection> {
    let directory = file.parent().ok_or(io::ErrorKind::InvalidInput)?;
    private_directory(directory)?;
    let told = |error: rusqlite::Error| io::Error::other(error.to_string());
    match recognized(file) {
        Ok(conn) => return Ok(conn),
        Err(error) if busy(&error) => return Err(told(error)),
        // Absent, broken, or of another make.
        Err(_) => {}
    }
    for ending in ["", "-journal", "-wal", "-shm"] {
        let mut path = file.as_os_str().to_owned();
        path.push(ending);
        match fs::remove_file(PathBuf::from(path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    // It gets its name when it is whole, so that no process meets half of one.
    let new = tempfile::Builder::new()
        .prefix(".new-index-")
        .tempfile_in(directory)?;
    let new = new.into_temp_path();
    let conn = Connection::open(&new).map_err(told)?;
    make(&conn).map_err(told)?;
    conn.close().map_err(|(_, error)| told(error))?;
    match new.persist_noclobber(file) {
        Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => return Err(error.error),
        _ => {}
    }
    recognized(file).map_err(told)
}

fn busy(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
    matches!(
        error.sqlite_error_code(),
        Some(DatabaseBusy | DatabaseLocked)
    )
}

/// Ours, of this make, and not broken as far as a glance tells.
fn recognized(file: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(file, flags)?;
    conn.busy_timeout(PATIENCE)?;
    // It can be built again: what a crash of the machine takes away is not missed.
    conn.pragma_update(None, "synchronous", "off")?;
    conn.pragma_update(None, "trusted_schema", false)?;
    let number = |name: &str| conn.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let ours = number("application_id")? == APPLICATION && number("user_version")? == MAKE;
    let broken = || rusqlite::Error::InvalidQuery;
    if !ours {
        return Err(broken());
    }
    let check: String = conn.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    match check.as_str() {
        "ok" => Ok(conn),
        _ => Err(broken()),
    }
}

fn make(conn: &Connection) -> rusqlite::Result<()> {
    conn.pragma_update(None, "application_id", APPLICATION)?;
    conn.pragma_update(None, "user_version", MAKE)?;
    conn.execute_batch(TABLES)
}

fn private_directory(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.recursive(true).create(directory)
}

#[cfg(test)]
mod tests {
    use mail::AccountId;
    use testkit::apple::{AppleStore, Generation, Letter};

    use super::super::{Apple, Visit};
    use super::*;

    fn id(name: &str) -> HeaderId {
        HeaderId::new(name.as_bytes()).unwrap()
    }

    fn put(store: &mut AppleStore, row: i64, name: &str) {
        let inbox = store.folder("INBOX");
        let letter = Letter::new(format!("Message-ID: <{name}>\n\nText.\n"));
        store.message(inbox, letter.row(row));
    }

    fn links(name: &str) -> Links {
        Links {
            id: Some(id(name)),
            references: vec![id("root@x")],
            in_reply_to: Vec::new(),
        }
    }

    /// Three messages, and an index that has read the headers of all of them.
    fn read(generation: Generation) -> (AppleStore, Apple, Index) {
        let mut store = AppleStore::of(generation);
        for (row, name) in [(1, "one@x"), (2, "two@x"), (3, "three@x")] {
            put(&mut store, row, name);
        }
        let account = AccountId::new("mac").unwrap();
        let apple = Apple::open(account, store.root(), None, None);
        let mut index = Index::open(None).unwrap();
        refresh(&apple, &mut index);
        let headers = [
            (Uid(1), links("one@x")),
            (Uid(2), links("two@x")),
            (Uid(3), links("three@x")),
        ];
        index.learn(&headers).unwrap();
        (store, apple, index)
    }

    fn refresh(apple: &Apple, index: &mut Index) {
        let stop = Stop::default();
        let visit = Visit::begin(&apple.settings, &stop).unwrap();
        index.refresh(&visit.db, &stop).unwrap();
    }

    fn rows(numbers: &[u32]) -> HashSet<Uid> {
        numbers.iter().copied().map(Uid).collect()
    }

    #[test]
    fn when_the_newest_message_goes_the_others_stay_known() {
        for generation in Generation::ALL {
            let (mut store, apple, mut index) = read(generation);
            store.sql("DELETE FROM messages WHERE ROWID = 3");
            refresh(&apple, &mut index);
            assert_eq!(index.read().unwrap(), rows(&[1, 2]), "{generation:?}");
            assert_eq!(index.naming(&id("root@x")).unwrap(), [Uid(1), Uid(2)]);
            assert_eq!(index.having(&id("two@x")).unwrap(), [Uid(2)]);
            assert_eq!(index.having(&id("three@x")).unwrap(), []);
            // Its number comes again, for another message.
            put(&mut store, 3, "other@x");
            refresh(&apple, &mut index);
            assert_eq!(index.read().unwrap(), rows(&[1, 2]), "{generation:?}");
            let said = match generation {
                Generation::Modern => vec![Uid(3)],
                _ => Vec::new(),
            };
            assert_eq!(index.having(&id("other@x")).unwrap(), said);
        }
    }

    #[test]
    fn an_older_view_of_the_store_leaves_the_index_as_far_as_it_reaches() {
        for generation in Generation::ALL {
            let (mut store, apple, mut index) = read(generation);
            let stop = Stop::default();
            let old = Visit::begin(&apple.settings, &stop).unwrap();
            put(&mut store, 4, "four@x");
            refresh(&apple, &mut index);
            index.refresh(&old.db, &stop).unwrap();
            assert_eq!(index.read().unwrap(), rows(&[1, 2, 3]), "{generation:?}");
            refresh(&apple, &mut index);
            assert_eq!(index.read().unwrap(), rows(&[1, 2, 3]), "{generation:?}");
            let said = match generation {
                Generation::Modern => vec![Uid(4)],
                _ => Vec::new(),
            };
            assert_eq!(index.having(&id("four@x")).unwrap(), said);
        }
    }
}
