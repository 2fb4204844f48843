//! Brings the index up to date: directories whose stamps are as before are not read, files that are known are not opened.
//!
//! Several processes may do so at once. Each adds what it sees and says in the same transaction for which stamps of the
//! folder that holds, so that an older view that is written later is found out by the next look.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior};

use super::super::catalog::Catalog;
use super::super::folders::Place;
use super::super::open::{Age, Shelf};
use super::super::scan::{Entry, Scan, Sharing};
use super::super::stamp::Stamps;
use super::super::work::Stop;
use super::{Broken, NAMED, OWN, Progress, hash};

/// Messages that are read before they are written down.
const CHUNK: usize = 4_096;

/// A folder that is in the index.
pub(in super::super) struct Folder {
    pub(in super::super) id: i64,
    /// Messages that could not be read, so that nobody knows what they name.
    pub(in super::super) unread: u64,
    /// What lies in it, where that had to be looked at.
    pub(in super::super) scan: Option<Arc<Scan>>,
    /// What it had when it was looked at; none where it did not come to rest.
    pub(in super::super) stamps: Option<Stamps>,
}

/// One folder. Fails with an I/O error where the folder cannot be read.
pub(in super::super) fn refresh(
    conn: &mut Connection,
    catalog: &Catalog,
    place: &Place,
    stop: &Stop,
    progress: &Progress,
) -> Result<Folder, Broken> {
    let (id, held) = folder(conn, path(place))?;
    let unread = unread(conn, id)?;
    let stamps = place.stamps();
    if unread == 0 && held == Some(stamps.bytes()) {
        return Ok(Folder {
            id,
            unread,
            scan: None,
            stamps: Some(stamps),
        });
    }
    // INVARIANT: what is known is read before the folder is. What is known and not in the folder then is gone, and not new.
    let known = known(conn, id)?;
    let listed = catalog.list(place, stop)?;
    let files = Files::of(&listed.scan);
    let is_known = |entry: &Entry| {
        known
            .get(entry.key())
            .is_some_and(|known| known.inode == signed(entry.inode()) && known.state == State::Read)
    };
    let entries = files.entries.iter().copied();
    let fresh: Vec<&Entry> = entries.filter(|entry| !is_known(entry)).collect();
    progress.expect(fresh.len());
    let mut shelf = catalog.shelf(place.clone(), stop);
    let mut proof = listed.proof;
    for chunk in fresh.chunks(CHUNK) {
        let mut rows = Vec::with_capacity(chunk.len());
        for entry in chunk {
            rows.extend(match files.doubled.contains(entry.key()) {
                true => Some(Row::unread(entry)),
                false => read(&mut shelf, entry)?,
            });
            progress.did(1);
        }
        if rows.iter().any(|row| row.age == Age::Fresh) {
            proof = None;
        }
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        hold(&tx, id, None)?;
        write(&tx, id, &rows)?;
        tx.commit()?;
    }
    let here: HashSet<&[u8]> = files.entries.iter().map(|entry| entry.key()).collect();
    let gone = known
        .iter()
        .filter(|(key, _)| !here.contains(key.as_slice()));
    let gone: Vec<i64> = gone.map(|(_, known)| known.id).collect();
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for message in gone {
        forget(&tx, message)?;
    }
    hold(&tx, id, proof)?;
    tx.commit()?;
    Ok(Folder {
        id,
        unread: self::unread(conn, id)?,
        stamps: listed.scan.stamps,
        scan: Some(listed.scan),
    })
}

/// Takes away what was in folders that are there no more.
pub(in super::super) fn prune(conn: &mut Connection, places: &[Place]) -> Result<(), Broken> {
    let here: HashSet<&[u8]> = places.iter().map(path).collect();
    let all: Vec<(i64, Vec<u8>)> = {
        let mut statement = conn.prepare("SELECT id, path FROM folders")?;
        let all = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        all.collect::<Result<_, _>>()?
    };
    for (folder, path) in all {
        if here.contains(path.as_slice()) {
            continue;
        }
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for known in known(&tx, folder)?.into_values() {
            forget(&tx, known.id)?;
        }
        tx.execute("DELETE FROM folders WHERE id = ?1", [folder])?;
        tx.commit()?;
    }
    Ok(())
}

fn path(place: &Place) -> &[u8] {
    place.path.as_os_str().as_encoded_bytes()
}

struct Known {
    id: i64,
    inode: i64,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Read,
    Unread,
}

/// What is written down of a message.
struct Row {
    key: Vec<u8>,
    inode: i64,
    /// The first is its own, if there is one; none where it could not be read.
    ids: Option<Vec<(i64, i64)>>,
    age: Age,
}

impl Row {
    fn unread(entry: &Entry) -> Self {
        Self {
            key: entry.key().to_vec(),
            inode: signed(entry.inode()),
            ids: None,
            age: Age::Settled,
        }
    }
}

/// What there is to read in a folder. Messages that share a uid are looked at too: they cannot be asked for, and whoever
/// asks for one of them is told that something is missing.
struct Files<'a> {
    entries: Vec<&'a Entry>,
    /// Keys that several files have, so that nobody knows which of them is meant.
    doubled: HashSet<&'a [u8]>,
}

impl<'a> Files<'a> {
    fn of(scan: &'a Scan) -> Self {
        let alone = scan.entries.iter();
        let mut entries: Vec<&Entry> = alone
            .filter(|entry| entry.sharing == Sharing::Alone)
            .collect();
        let mut seen = HashSet::new();
        let mut doubled = HashSet::new();
        for entry in &scan.sharing {
            match seen.insert(entry.key()) {
                true => entries.push(entry),
                false => {
                    doubled.insert(entry.key());
                }
            }
        }
        Self { entries, doubled }
    }
}

/// None when it is gone.
fn read(shelf: &mut Shelf<'_>, entry: &Entry) -> io::Result<Option<Row>> {
    match shelf.read(entry, |opened| {
        Ok((opened.beginning(0)?.header, opened.age))
    }) {
        Ok(None) => Ok(None),
        Ok(Some((header, age))) => {
            let links = content::links(&header);
            let own = links.id.iter().map(|id| (hash(id), OWN));
            let named = links.all().map(|id| (hash(id), NAMED));
            Ok(Some(Row {
                ids: Some(own.chain(named).collect()),
                // Of a file that may not be whole yet another one, so that it is read again.
                inode: match age {
                    Age::Settled => signed(entry.inode()),
                    Age::Fresh => !signed(entry.inode()),
                },
                age,
                ..Row::unread(entry)
            }))
        }
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
        Err(_) => Ok(Some(Row::unread(entry))),
    }
}

fn folder(conn: &Connection, path: &[u8]) -> Result<(i64, Option<Vec<u8>>), Broken> {
    let find = || {
        conn.query_row(
            "SELECT id, stamps FROM folders WHERE path = ?1",
            [path],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()
    };
    if let Some(found) = find()? {
        return Ok(found);
    }
    conn.execute("INSERT OR IGNORE INTO folders (path) VALUES (?1)", [path])?;
    Ok(find()?.ok_or(rusqlite::Error::QueryReturnedNoRows)?)
}

fn unread(conn: &Connection, folder: i64) -> Result<u64, Broken> {
    let count: i64 = conn.query_row(
        "SELECT count(*) FROM messages WHERE folder = ?1 AND ids IS NULL",
        [folder],
        |row| row.get(0),
    )?;
    Ok(u64::try_from(count).unwrap_or_default())
}

fn known(conn: &Connection, folder: i64) -> Result<HashMap<Vec<u8>, Known>, Broken> {
    let mut statement =
        conn.prepare("SELECT key, id, inode, ids IS NULL FROM messages WHERE folder = ?1")?;
    let rows = statement.query_map([folder], |row| {
        let state = match row.get(3)? {
            true => State::Unread,
            false => State::Read,
        };
        let (id, inode) = (row.get(1)?, row.get(2)?);
        Ok((row.get(0)?, Known { id, inode, state }))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn hold(tx: &Transaction<'_>, folder: i64, proof: Option<Stamps>) -> Result<(), Broken> {
    let stamps = proof.map(|proof| proof.bytes());
    tx.execute(
        "UPDATE folders SET stamps = ?2 WHERE id = ?1",
        (folder, stamps),
    )?;
    Ok(())
}

fn write(tx: &Transaction<'_>, folder: i64, rows: &[Row]) -> Result<(), Broken> {
    let mut find =
        tx.prepare("SELECT id, inode, ids FROM messages WHERE folder = ?1 AND key = ?2")?;
    let mut message =
        tx.prepare("INSERT INTO messages (folder, key, inode, ids) VALUES (?1, ?2, ?3, ?4)")?;
    let mut links = Vec::new();
    for row in rows {
        let ids = row.ids.as_ref().map(|ids| octets(ids));
        let there = find
            .query_row((folder, &row.key), |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })
            .optional()?;
        if let Some((id, inode, held)) = there {
            let (inode, held): (i64, Option<Vec<u8>>) = (inode, held);
            // Another process was faster.
            if inode == row.inode && held == ids {
                continue;
            }
            forget(tx, id)?;
        }
        message.execute((folder, &row.key, row.inode, ids))?;
        let id = tx.last_insert_rowid();
        let ids = row.ids.iter().flatten();
        links.extend(ids.map(|(hash, role)| (*hash, id, *role)));
    }
    // In the order of the table, and what a message has before what it names.
    links.sort_unstable_by_key(|(hash, id, role)| (*hash, *id, -*role));
    let mut link =
        tx.prepare("INSERT OR IGNORE INTO links (hash, message, role) VALUES (?1, ?2, ?3)")?;
    for row in links {
        link.execute(row)?;
    }
    Ok(())
}

fn forget(tx: &Transaction<'_>, message: i64) -> Result<(), Broken> {
    let ids: Option<Option<Vec<u8>>> = tx
        .query_row("SELECT ids FROM messages WHERE id = ?1", [message], |row| {
            row.get(0)
        })
        .optional()?;
    let mut unlink = tx.prepare("DELETE FROM links WHERE hash = ?1 AND message = ?2")?;
    let ids = ids.flatten().unwrap_or_default();
    for octets in ids.as_chunks::<8>().0 {
        unlink.execute((i64::from_be_bytes(*octets), message))?;
    }
    tx.execute("DELETE FROM messages WHERE id = ?1", [message])?;
    Ok(())
}

fn octets(ids: &[(i64, i64)]) -> Vec<u8> {
    ids.iter()
        .flat_map(|(hash, _)| hash.to_be_bytes())
        .collect()
}

/// SQLite has no other numbers.
fn signed(number: u64) -> i64 {
    i64::from_ne_bytes(number.to_ne_bytes())
}
