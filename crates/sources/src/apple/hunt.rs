//! Messages by their Message-IDs: the index guesses, the message confirms, and what nobody has read yet is read.
//!
//! What belongs together with them is not found here.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;

use mail::{
    Coverage, Fault, FolderName, HeaderId, Links, Skipped, Sought, SpecialUse, Uid, Why, Within,
};

use super::boxes::Mailbox;
use super::files::Files;
use super::index::Index;
use super::rows::Row;
use super::visit::{Visit, read_fault};

/// So many headers are kept at once.
const BATCH: usize = 1_000;

/// One search.
pub(super) struct Hunt<'a> {
    pub(super) visit: &'a Visit<'a>,
    pub(super) index: &'a mut Index,
    pub(super) files: Files<'a>,
    pub(super) sought: &'a Sought,
    /// Rows of the mailboxes that are searched.
    pub(super) within: HashSet<i64>,
    /// Trash and junk, as long as they are not.
    discarded: HashSet<i64>,
    /// Nothing that was to be looked at was passed over.
    pub(super) exhausted: bool,
}

/// What trash and junk are to a question, once they had to be looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Discarded {
    /// Folders like others.
    Searched,
    /// Those where something was found are part of the conversation, and the others are not; all of them where nothing
    /// was found anywhere.
    Joined,
}

/// Whether more headers are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reading {
    On,
    Enough,
}

impl<'a> Hunt<'a> {
    pub(super) fn begin(
        visit: &'a Visit<'a>,
        index: &'a mut Index,
        sought: &'a Sought,
    ) -> Result<Self, Fault> {
        index.refresh(&visit.db, visit.stop)?;
        let may = |one: &&Mailbox| match &sought.within {
            Within::All => true,
            Within::Only(names) => names.contains(&one.name),
        };
        let thrown = |one: &&Mailbox| {
            let thrown = matches!(one.special_use, Some(SpecialUse::Trash | SpecialUse::Junk));
            thrown && sought.within == Within::All
        };
        let allowed = visit.boxes.all.iter().filter(may);
        let (discarded, within): (Vec<_>, Vec<_>) = allowed.partition(thrown);
        let rows = |boxes: Vec<&Mailbox>| boxes.into_iter().map(|one| one.row).collect();
        Ok(Self {
            visit,
            index,
            files: visit.files(),
            sought,
            within: rows(within),
            discarded: rows(discarded),
            // A mailbox that has no name cannot be searched, and not be named either.
            exhausted: sought.within != Within::All || visit.boxes.unusable == 0,
        })
    }

    /// Every copy that has one of the ids. Trash and junk are looked at for those that are nowhere else.
    pub(super) fn anchors(&mut self, are: Discarded) -> Result<Vec<Row>, Fault> {
        let ids: HashSet<HeaderId> = self.sought.ids.iter().cloned().collect();
        let mut found = self.copies(&ids)?;
        let nowhere: HashSet<HeaderId> = ids
            .into_iter()
            .filter(|id| !found.contains_key(id))
            .collect();
        if !nowhere.is_empty() && !self.discarded.is_empty() {
            let discarded = std::mem::take(&mut self.discarded);
            let kept = std::mem::replace(&mut self.within, discarded.clone());
            let thrown = self.copies(&nowhere)?;
            let mut joined = HashSet::new();
            for row in thrown.values().flatten() {
                joined.extend(self.visit.folders_of(row)?.iter().map(|one| one.row));
            }
            let (taken, left): (HashSet<i64>, HashSet<i64>) =
                discarded.into_iter().partition(|row| {
                    are == Discarded::Searched || joined.is_empty() || joined.contains(row)
                });
            self.within = kept.union(&taken).copied().collect();
            self.discarded = left;
            found.extend(thrown);
        }
        let rows: BTreeMap<Uid, Row> = found
            .into_values()
            .flatten()
            .map(|row| (row.uid, row))
            .collect();
        Ok(rows.into_values().collect())
    }

    /// Messages that have these ids, in the folders that are searched.
    fn copies(&mut self, ids: &HashSet<HeaderId>) -> Result<HashMap<HeaderId, Vec<Row>>, Fault> {
        let mut found: HashMap<HeaderId, Vec<Row>> = HashMap::new();
        let mut lost = HashSet::new();
        // Without hashes a copy leads to no other: all have to be known.
        if !self.visit.db.schema.names_kin() {
            let unread = self.unread(self.unnamed())?;
            self.read_headers(unread, |_, _| Reading::On)?;
        }
        for id in ids {
            let rows = self.having(id)?;
            match rows.is_empty() {
                true => lost.insert(id.clone()),
                false => found.insert(id.clone(), rows).is_none(),
            };
        }
        if !lost.is_empty() {
            self.search(lost, &mut found)?;
        }
        // Copies that the index does not know: Apple has the same hash for them.
        let (db, stop) = (&self.visit.db, self.visit.stop);
        if db.schema.names_kin() {
            let (columns, live) = (db.columns(), db.schema.live());
            let sql =
                format!("SELECT {columns} FROM messages m WHERE m.message_id = ?1 AND {live}");
            for rows in found.values_mut() {
                let hashes: HashSet<i64> = rows.iter().map(|row| row.hash).collect();
                for hash in hashes.into_iter().filter(|hash| *hash != 0) {
                    rows.extend(db.rows(&sql, hash, stop)?);
                }
            }
        }
        let mut visible = HashMap::new();
        for (id, rows) in found {
            let mut seen = Vec::new();
            for row in rows {
                if self.may_see(&row)? {
                    seen.push(row);
                }
            }
            if !seen.is_empty() {
                visible.insert(id, seen);
            }
        }
        Ok(visible)
    }

    /// By the index alone.
    pub(super) fn having(&mut self, id: &HeaderId) -> Result<Vec<Row>, Fault> {
        let mut found = Vec::new();
        for uid in self.index.having(id)? {
            found.extend(self.confirmed(uid, |links| links.id.as_ref() == Some(id))?);
        }
        Ok(found)
    }

    /// By looking, where the index has none: the database, then headers that nobody has read yet.
    fn search(
        &mut self,
        mut lost: HashSet<HeaderId>,
        found: &mut HashMap<HeaderId, Vec<Row>>,
    ) -> Result<(), Fault> {
        let db = &self.visit.db;
        if db.schema.names_ids() && !self.index.is_exact(db) {
            let sql = format!(
                "SELECT {} FROM message_global_data g JOIN messages m ON m.global_message_id = g.ROWID \
                 WHERE g.message_id_header IN (?1, '<' || ?1 || '>') AND {}",
                db.columns(),
                db.schema.live()
            );
            for id in lost.clone() {
                let rows = db.rows_by_text(&sql, &String::from_utf8_lossy(id.bytes()))?;
                if !rows.is_empty() {
                    lost.remove(&id);
                    found.insert(id, rows);
                }
            }
        }
        if lost.is_empty() {
            return Ok(());
        }
        let unread = self.unread(self.unnamed())?;
        self.read_headers(unread, |row, links| {
            let Some(id) = links.id.as_ref().filter(|id| lost.contains(*id)) else {
                return Reading::On;
            };
            found.entry(id.clone()).or_default().push(row);
            // Further copies have the same hash.
            if row.hash != 0 {
                lost.remove(id);
            }
            match lost.is_empty() {
                true => Reading::Enough,
                false => Reading::On,
            }
        })
    }

    /// Messages whose ids the database does not say, the newest first.
    fn unnamed(&self) -> &'static str {
        match self.visit.db.schema.names_ids() {
            true => {
                "SELECT {columns} FROM messages m LEFT JOIN message_global_data g ON g.ROWID = m.global_message_id \
                 WHERE g.message_id_header IS NULL AND {live} AND m.ROWID > ?1 ORDER BY m.ROWID DESC"
            }
            false => EVERY,
        }
    }

    /// Messages of the folders that are searched whose headers nobody read, the newest first.
    pub(super) fn unread(&self, sql: &str) -> Result<Vec<Row>, Fault> {
        let db = &self.visit.db;
        let sql = sql.replace("{columns}", &db.columns());
        let sql = sql.replace("{live}", db.schema.live());
        let read = self.index.read()?;
        let mut rows = db.rows(&sql, 0, self.visit.stop)?;
        rows.retain(|row| !read.contains(&row.uid));
        let mut visible = Vec::with_capacity(rows.len());
        for row in rows {
            if self.may_see(&row)? {
                visible.push(row);
            }
        }
        Ok(visible)
    }

    /// Reads headers and keeps what they say, until it is enough.
    pub(super) fn read_headers(
        &mut self,
        rows: Vec<Row>,
        mut look: impl FnMut(Row, &Links) -> Reading,
    ) -> Result<(), Fault> {
        let total = u64::try_from(rows.len()).unwrap_or(u64::MAX);
        let mut kept = Vec::new();
        let mut done = 0;
        for row in rows {
            done += 1;
            match self.links(&row)? {
                Some(links) => {
                    let reading = look(row, &links);
                    kept.push((row.uid, links));
                    if reading == Reading::Enough {
                        break;
                    }
                }
                // What is downloaded later is read later.
                None => self.exhausted = false,
            }
            if kept.len() >= BATCH {
                self.index.learn(&kept)?;
                kept.clear();
                self.visit.stop.count(done, total);
            }
        }
        self.index.learn(&kept)?;
        self.visit.stop.count(total, total);
        Ok(())
    }

    /// None where there is no file, or none that can be read. Fails only when nobody waits.
    fn links(&mut self, row: &Row) -> Result<Option<Links>, Fault> {
        match self.files.links(row) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(read_fault(error)),
            other => Ok(other.unwrap_or_default()),
        }
    }

    /// INVARIANT: a hash is a guess. The message itself says whether it is the one.
    pub(super) fn confirmed(
        &mut self,
        uid: Uid,
        fits: impl Fn(&Links) -> bool,
    ) -> Result<Option<Row>, Fault> {
        let Some(row) = self.visit.db.row(uid, self.visit.stop)? else {
            return Ok(None);
        };
        if !self.may_see(&row)? {
            return Ok(None);
        }
        let said = Links {
            id: self.visit.db.id(uid),
            ..Links::default()
        };
        if fits(&said) {
            return Ok(Some(row));
        }
        let links = self.links(&row)?;
        Ok(Some(row).filter(|_| links.is_some_and(|links| fits(&links))))
    }

    /// INVARIANT: what lies in no folder that is searched is not opened.
    pub(super) fn may_see(&self, row: &Row) -> Result<bool, Fault> {
        if self.within.contains(&row.mailbox) {
            return Ok(true);
        }
        let labels = self.visit.db.labels(row.uid)?;
        Ok(labels.iter().any(|label| self.within.contains(label)))
    }

    pub(super) fn coverage(&self) -> Coverage {
        let boxes = &self.visit.boxes.all;
        let names = |rows: &HashSet<i64>| -> Vec<FolderName> {
            let chosen = boxes.iter().filter(|one| rows.contains(&one.row));
            chosen.map(|one| one.name.clone()).collect()
        };
        let skip = |why: Why| move |folder: FolderName| Skipped { folder, why };
        let mut skipped: Vec<Skipped> = names(&self.discarded)
            .into_iter()
            .map(skip(Why::Discarded))
            .collect();
        if let Within::Only(only) = &self.sought.within {
            let absent = only
                .iter()
                .filter(|name| !boxes.iter().any(|one| one.name == **name));
            skipped.extend(absent.cloned().map(skip(Why::Failed)));
        }
        Coverage {
            searched: names(&self.within),
            skipped,
            as_of: None,
            exhausted: self.exhausted,
        }
    }
}

/// Every message, the newest first.
pub(super) const EVERY: &str =
    "SELECT {columns} FROM messages m WHERE {live} AND m.ROWID > ?1 ORDER BY m.ROWID DESC";
