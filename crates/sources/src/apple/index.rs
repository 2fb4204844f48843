//! Which messages have which Message-IDs, and name which: an index of our own beside Apple's, which has none.
//!
//! Kept are hashes, never the ids themselves, so a hit is only a guess that the message has to confirm. All of it can be read
//! from the store again: a file that is broken, or of another make or another store, is begun anew.

mod file;

use std::cell::Cell;
use std::collections::HashSet;
use std::path::PathBuf;

use mail::{Fault, FaultKind, HeaderId, Links, Stage, Uid};
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, TransactionBehavior, params};
use sha2::{Digest as _, Sha256};

pub(super) use file::private_directory;

use super::database::{Database, fault};
use super::envelope::header_id;
use super::rows::{int, text};
use crate::local::work::{Stop, unreadable};

/// So many rows are written at once; a crash loses no more than these.
const BATCH: i64 = 20_000;
/// So often others may be faster before we go our own way. Whoever is faster than us has written a batch meanwhile.
const MOST_ROUNDS: usize = 256;
/// One that fails is opened, or built anew, so often in one question.
const MOST_ATTEMPTS: usize = 2;

/// The index as all questions of this process have it, one after the other.
pub(super) struct Shared {
    file: Option<PathBuf>,
    index: Option<Index>,
}

/// The index of one store.
pub(super) struct Index {
    conn: Connection,
    kept: Kept,
    /// What the store looked like when all of it was read anew.
    exact: Option<String>,
    /// The store that this question is about, and how far it was read.
    of: Option<(String, i64)>,
    /// Why it cannot be used any more.
    trouble: Cell<Option<Trouble>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kept {
    File,
    Memory,
}

/// What may be wrong with it. None of that is a fault of the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Trouble {
    /// It is no index, or half of one.
    Damaged,
    /// Somebody else writes to it, and does not end.
    Busy,
    /// Somebody else began it anew, or was faster, again and again.
    Overtaken,
    /// It was deleted or moved away, the disk is full, or whatever else the system says.
    Unusable(Option<ErrorCode>),
}

/// What it was made of.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Known {
    file: String,
    /// The newest message in it.
    high: i64,
    stamp: String,
}

/// Whether something could be written, or somebody else was there first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Written {
    Done,
    Overtaken,
}

impl Shared {
    /// In a file of its own, or in memory where there is none.
    pub(super) fn new(file: Option<PathBuf>) -> Self {
        Self { file, index: None }
    }

    /// Does something with it. Where it fails, whatever became of it, it is opened or built again, and in the end in memory,
    /// where it stays: `work` begins anew then.
    pub(super) fn with<T>(
        &mut self,
        mut work: impl FnMut(&mut Index) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        for _ in 0..MOST_ATTEMPTS {
            let mut index = match self.index.take() {
                Some(index) => index,
                None => Index::open(self.file.as_deref())?,
            };
            let done = work(&mut index).and_then(|done| index.stayed().map(|()| done));
            let Some(trouble) = index.trouble.get() else {
                self.index = Some(index);
                return done;
            };
            if index.kept == Kept::Memory {
                return done;
            }
            drop(index);
            tracing::warn!(
                ?trouble,
                "the index of a mail store failed, and is opened again"
            );
            match (trouble, &self.file) {
                (Trouble::Busy, _) => break,
                (Trouble::Damaged, Some(file)) => {
                    // What cannot be removed is met again, and then left alone.
                    let _ = file::discard(file);
                }
                _ => {}
            }
        }
        tracing::warn!("the index of a mail store cannot be kept; it is built in memory");
        let index = self.index.insert(Index::in_memory()?);
        work(index)
    }
}

impl Index {
    /// In a file of its own, or in memory where there is no directory, or none that can be written to.
    fn open(file: Option<&std::path::Path>) -> Result<Self, Fault> {
        let Some(file) = file else {
            return Self::in_memory();
        };
        match file::kept(file) {
            Ok(conn) => Ok(Self::new(conn, Kept::File)),
            Err(error) => {
                let why = error.to_string();
                tracing::warn!(
                    why,
                    "the index of a mail store cannot be kept; it is built in memory"
                );
                Self::in_memory()
            }
        }
    }

    pub(super) fn in_memory() -> Result<Self, Fault> {
        let conn = file::in_memory().map_err(|error| Trouble::of(&error).fault())?;
        Ok(Self::new(conn, Kept::Memory))
    }

    fn new(conn: Connection, kept: Kept) -> Self {
        Self {
            conn,
            kept,
            exact: None,
            of: None,
            trouble: Cell::new(None),
        }
    }

    /// Brings it up to date with the store: new messages are added, another store begins it anew. Other processes may be at
    /// the same: whoever finds that one of them was faster looks again at what there is.
    pub(super) fn refresh(&mut self, db: &Database, stop: &Stop) -> Result<(), Fault> {
        for _ in 0..MOST_ROUNDS {
            stop.check().map_err(unreadable(Stage::Index))?;
            if self.catch_up(db, stop)? == Written::Done {
                return Ok(());
            }
        }
        Err(self.failed(Trouble::Overtaken))
    }

    fn catch_up(&mut self, db: &Database, stop: &Stop) -> Result<Written, Fault> {
        let (file, stamp) = (db.stamp.file_spelled(), db.stamp.spelled());
        let known = self.told(known(&self.conn))?;
        let same = known.as_ref().filter(|known| known.file == file);
        if let Some(same) = same.filter(|same| same.stamp == stamp) {
            self.of = Some((file, same.high));
            return Ok(Written::Done);
        }
        let highest = "SELECT coalesce(max(ROWID), 0) FROM messages";
        let highest = db.conn.query_row(highest, [], |row| row.get::<_, i64>(0));
        let highest = highest.map_err(fault(Stage::Index))?;
        let (high, written) = match same {
            Some(same) if same.high > highest => (highest, self.forget_beyond(highest, same)),
            Some(same) => (same.high, Ok(Written::Done)),
            None => (0, self.begin_anew(&file, known.as_ref())),
        };
        if self.told(written)? == Written::Overtaken
            || self.add(db, &file, (high, highest), stop)? == Written::Overtaken
        {
            return Ok(Written::Overtaken);
        }
        let done = "UPDATE store SET stamp = ?1 WHERE file = ?2 AND high = ?3";
        let done = self.conn.execute(done, params![stamp, file, highest]);
        if self.told(done)? == 0 {
            return Ok(Written::Overtaken);
        }
        self.exact = (high == 0).then_some(stamp);
        self.of = Some((file, highest));
        Ok(Written::Done)
    }

    /// INVARIANT: what is wiped is what was looked at. Another process may have begun it anew since, for this very store.
    fn begin_anew(&mut self, file: &str, was: Option<&Known>) -> rusqlite::Result<Written> {
        let tx = self
            .conn
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        if known(&tx)?.as_ref() != was {
            return Ok(Written::Overtaken);
        }
        tx.execute_batch(
            "DELETE FROM store; DELETE FROM has; DELETE FROM named; DELETE FROM headers",
        )?;
        tx.execute("INSERT INTO store VALUES (1, ?1, 0, '')", [file])?;
        tx.commit()?;
        Ok(Written::Done)
    }

    /// The newest messages were removed, or another process saw some that this view of the store has not. Their numbers may
    /// come again, for other messages; of what is below nothing changed.
    fn forget_beyond(&mut self, highest: i64, was: &Known) -> rusqlite::Result<Written> {
        let tx = self
            .conn
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        if known(&tx)?.as_ref() != Some(was) {
            return Ok(Written::Overtaken);
        }
        for table in ["has", "named", "headers"] {
            tx.execute(&format!("DELETE FROM {table} WHERE row > ?1"), [highest])?;
        }
        tx.execute("UPDATE store SET high = ?1, stamp = ''", [highest])?;
        tx.commit()?;
        Ok(Written::Done)
    }

    /// What the database says of the messages between.
    fn add(
        &mut self,
        db: &Database,
        file: &str,
        (high, highest): (i64, i64),
        stop: &Stop,
    ) -> Result<Written, Fault> {
        let stage = Stage::Index;
        let total = |rows: i64| u64::try_from(rows).unwrap_or_default();
        let mut from = high;
        while from < highest {
            stop.check().map_err(unreadable(stage))?;
            stop.count(total(from - high), total(highest - high));
            let (to, mut found) = match db.schema.names_ids() {
                true => {
                    let to = from.saturating_add(BATCH).min(highest);
                    (to, said(db, from, to).map_err(fault(stage))?)
                }
                false => (highest, Vec::new()),
            };
            // In the order of the table, which is several times as fast.
            found.sort_unstable();
            let written = self.write(&found, file, (from, to));
            if self.told(written)? == Written::Overtaken {
                return Ok(Written::Overtaken);
            }
            from = to;
        }
        if highest > high {
            stop.count(total(highest - high), total(highest - high));
        }
        Ok(Written::Done)
    }

    /// INVARIANT: what is added follows what is there, and is of the same file. So who began with nothing and was never
    /// overtaken knows that all of it is of one view of the store.
    fn write(
        &mut self,
        found: &[(i64, i64)],
        file: &str,
        (from, to): (i64, i64),
    ) -> rusqlite::Result<Written> {
        let tx = self
            .conn
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let reach = "UPDATE store SET high = ?1 WHERE file = ?2 AND high = ?3";
        if tx.execute(reach, params![to, file, from])? == 0 {
            return Ok(Written::Overtaken);
        }
        {
            let mut put =
                tx.prepare_cached("INSERT OR IGNORE INTO has (hash, row) VALUES (?1, ?2)")?;
            for (hash, row) in found {
                put.execute([hash, row])?;
            }
        }
        tx.commit()?;
        Ok(Written::Done)
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
        self.told(ask())
    }

    /// Messages whose header need not be read again.
    pub(super) fn read(&self) -> Result<HashSet<Uid>, Fault> {
        let ask = || -> rusqlite::Result<HashSet<Uid>> {
            let mut query = self.conn.prepare_cached("SELECT row FROM headers")?;
            let rows = query.query_map([], |row| row.get::<_, u32>(0))?;
            rows.map(|row| row.map(Uid)).collect()
        };
        self.told(ask())
    }

    /// What headers say.
    ///
    /// INVARIANT: a header that was read is not read again, so what is kept of it is kept for the store that it is of.
    pub(super) fn learn(&mut self, headers: &[(Uid, Links)]) -> Result<(), Fault> {
        let of = self.of.clone();
        let mut learn = || -> rusqlite::Result<Written> {
            let tx = self
                .conn
                .transaction_with_behavior(TransactionBehavior::Immediate)?;
            if !reaches(&tx, of.as_ref())? {
                return Ok(Written::Overtaken);
            }
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
            tx.commit()?;
            Ok(Written::Done)
        };
        let learned = learn();
        match self.told(learned)? {
            Written::Done => Ok(()),
            Written::Overtaken => Err(self.failed(Trouble::Overtaken)),
        }
    }

    /// Nobody took anything away from it while this question was answered.
    fn stayed(&self) -> Result<(), Fault> {
        match self.told(reaches(&self.conn, self.of.as_ref()))? {
            true => Ok(()),
            false => Err(self.failed(Trouble::Overtaken)),
        }
    }

    fn told<T>(&self, done: rusqlite::Result<T>) -> Result<T, Fault> {
        done.map_err(|error| self.failed(Trouble::of(&error)))
    }

    fn failed(&self, trouble: Trouble) -> Fault {
        self.trouble.set(Some(trouble));
        trouble.fault()
    }
}

impl Trouble {
    fn of(error: &rusqlite::Error) -> Self {
        let code = error.sqlite_error_code();
        match code {
            _ if file::busy(error) => Self::Busy,
            // A table that is missing or of another shape is an unknown error to SQLite, and a value to its driver.
            None
            | Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown) => {
                Self::Damaged
            }
            Some(_) => Self::Unusable(code),
        }
    }

    /// Nothing is wrong with the mail, and the words do not say so.
    fn fault(self) -> Fault {
        let (kind, why) = match self {
            Self::Busy | Self::Overtaken => (
                FaultKind::Busy,
                "another process is writing mailwarden's own index of this store",
            ),
            Self::Damaged => (
                FaultKind::Unreadable,
                "mailwarden's own index of this store is damaged; it can be deleted at any time",
            ),
            Self::Unusable(_) => (
                FaultKind::Unreadable,
                "mailwarden's own index of this store cannot be written; is the disk full?",
            ),
        };
        Fault::saying(kind, Stage::Index, why)
    }
}

fn known(conn: &Connection) -> rusqlite::Result<Option<Known>> {
    let sql = "SELECT file, high, stamp FROM store";
    let known = conn.query_row(sql, [], |row| {
        Ok(Known {
            file: row.get(0)?,
            high: row.get(1)?,
            stamp: row.get(2)?,
        })
    });
    known.optional()
}

/// Whether it is of this store, and goes so far.
fn reaches(conn: &Connection, of: Option<&(String, i64)>) -> rusqlite::Result<bool> {
    let Some((file, high)) = of else {
        return Ok(true);
    };
    let known = known(conn)?;
    Ok(known.is_some_and(|known| known.file == *file && known.high >= *high))
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

#[cfg(test)]
mod tests;
