//! Messages by what they call themselves and whom they name: copies of one, and whole conversations.
//!
//! Apple's own tables say who names whom, by hashes; where they do not, headers do. Nobody belongs to a conversation by its
//! subject.

use std::collections::{BTreeMap, HashSet};
use std::io;

use mail::{
    AccountId, Coverage, Fault, HeaderId, Kindred, Links, Member, MessageRef, Skipped, Snippets,
    Sought, SourceKind, Stage, Summary, Uid, Why, Within,
};

use super::UIDVALIDITY;
use super::boxes::Mailbox;
use super::database::fault;
use super::files::Files;
use super::index::Index;
use super::rows::{Row, int};
use super::visit::{Visit, read_fault};

/// So many headers are kept at once.
const BATCH: usize = 1_000;

/// One search.
pub(super) struct Hunt<'a> {
    visit: &'a Visit<'a>,
    index: &'a mut Index,
    files: Files<'a>,
    sought: &'a Sought,
    /// Rows of the mailboxes that may be searched.
    within: HashSet<i64>,
}

/// A message that was found, read already.
struct Kin {
    row: Row,
    links: Links,
    summary: Summary,
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
        let within = visit
            .boxes
            .all
            .iter()
            .filter(may)
            .map(|one| one.row)
            .collect();
        Ok(Self {
            visit,
            index,
            files: visit.files(),
            sought,
            within,
        })
    }

    /// Every copy of the messages that have one of these ids.
    pub(super) fn locate(mut self, account: &AccountId) -> Result<Kindred, Fault> {
        let mut found = BTreeMap::new();
        let mut exhausted = true;
        for row in self.copies()? {
            if found.len() >= self.sought.effort.messages {
                exhausted = false;
                break;
            }
            found.extend(self.kin(row)?.map(|kin| (row.uid, kin)));
        }
        self.told(account, found, exhausted)
    }

    /// All that belongs together with them.
    pub(super) fn kindred(mut self, account: &AccountId) -> Result<Kindred, Fault> {
        let mut waiting = self.copies()?;
        waiting.extend(self.naming()?);
        let mut found: BTreeMap<Uid, Kin> = BTreeMap::new();
        let mut known = Known::default();
        known.ids.extend(self.sought.ids.iter().cloned());
        let mut exhausted = true;
        while let Some(row) = waiting.pop() {
            if found.contains_key(&row.uid) || !self.may_see(&row)? {
                continue;
            }
            if found.len() >= self.sought.effort.messages {
                exhausted = false;
                break;
            }
            let Some(kin) = self.kin(row)? else { continue };
            waiting.extend(self.tied(&kin, &mut known)?);
            found.insert(row.uid, kin);
        }
        self.told(account, found, exhausted)
    }

    /// The messages that one leads to, of those that nobody led to before.
    fn tied(&mut self, kin: &Kin, known: &mut Known) -> Result<Vec<Row>, Fault> {
        let (db, stop) = (&self.visit.db, self.visit.stop);
        let (columns, live) = (db.columns(), db.schema.live());
        let mut tied = Vec::new();
        let conversation = kin.row.conversation;
        if db.schema.has_conversations()
            && conversation > 0
            && known.conversations.insert(conversation)
        {
            let sql =
                format!("SELECT {columns} FROM messages m WHERE m.conversation_id = ?1 AND {live}");
            tied.extend(db.rows(&sql, conversation, stop)?);
        }
        if db.schema.names_kin() {
            let mut hashes = self.references(kin.row.uid)?;
            hashes.push(kin.row.hash);
            let have =
                format!("SELECT {columns} FROM messages m WHERE m.message_id = ?1 AND {live}");
            let name = format!(
                "SELECT {columns} FROM message_references r JOIN messages m ON m.ROWID = r.message \
                 WHERE r.reference = ?1 AND {live}"
            );
            for hash in hashes {
                if hash != 0 && known.hashes.insert(hash) {
                    tied.extend(db.rows(&have, hash, stop)?);
                    tied.extend(db.rows(&name, hash, stop)?);
                }
            }
        }
        for id in kin.links.all() {
            if known.ids.insert(id.clone()) {
                for uid in self
                    .index
                    .having(id)?
                    .into_iter()
                    .chain(self.index.naming(id)?)
                {
                    tied.extend(self.confirmed(uid, |links| links.all().any(|one| one == id))?);
                }
            }
        }
        Ok(tied)
    }

    fn references(&self, uid: Uid) -> Result<Vec<i64>, Fault> {
        let ask = || -> rusqlite::Result<Vec<i64>> {
            let sql = "SELECT reference FROM message_references WHERE message = ?1";
            let mut query = self.visit.db.conn.prepare_cached(sql)?;
            let rows = query.query_map([i64::from(uid.0)], |row| Ok(int(row, 0)))?;
            Ok(rows
                .collect::<rusqlite::Result<Vec<_>>>()?
                .into_iter()
                .flatten()
                .collect())
        };
        ask().map_err(fault(Stage::Search))
    }

    /// Messages that have one of the ids, in folders that may be searched.
    fn copies(&mut self) -> Result<Vec<Row>, Fault> {
        let ids: HashSet<&HeaderId> = self.sought.ids.iter().collect();
        let mut found: BTreeMap<Uid, Row> = BTreeMap::new();
        let mut lost: HashSet<HeaderId> = HashSet::new();
        for id in ids {
            let rows = self.having(id)?;
            if rows.is_empty() {
                lost.insert(id.clone());
            }
            found.extend(rows.into_iter().map(|row| (row.uid, row)));
        }
        if !lost.is_empty() {
            for row in self.searched(lost)? {
                found.insert(row.uid, row);
            }
        }
        // Copies that the index does not know: Apple has the same hash for them.
        let (db, stop) = (&self.visit.db, self.visit.stop);
        if db.schema.names_kin() {
            let (columns, live) = (db.columns(), db.schema.live());
            let sql =
                format!("SELECT {columns} FROM messages m WHERE m.message_id = ?1 AND {live}");
            let hashes: HashSet<i64> = found.values().map(|row| row.hash).collect();
            for hash in hashes.into_iter().filter(|hash| *hash != 0) {
                for row in db.rows(&sql, hash, stop)? {
                    found.entry(row.uid).or_insert(row);
                }
            }
        }
        let mut visible = Vec::new();
        for row in found.into_values() {
            if self.may_see(&row)? {
                visible.push(row);
            }
        }
        Ok(visible)
    }

    /// By the index alone.
    fn having(&mut self, id: &HeaderId) -> Result<Vec<Row>, Fault> {
        let mut found = Vec::new();
        for uid in self.index.having(id)? {
            found.extend(self.confirmed(uid, |links| links.id.as_ref() == Some(id))?);
        }
        Ok(found)
    }

    /// By looking, where the index has none: the database, then headers that nobody has read yet.
    fn searched(&mut self, mut lost: HashSet<HeaderId>) -> Result<Vec<Row>, Fault> {
        let mut found = Vec::new();
        let db = &self.visit.db;
        if db.schema.names_ids() && !self.index.is_exact() {
            let live = db.schema.live();
            let columns = db.columns();
            for id in lost.clone() {
                let text = String::from_utf8_lossy(id.bytes());
                let sql = format!(
                    "SELECT {columns} FROM message_global_data g JOIN messages m ON m.global_message_id = g.ROWID \
                     WHERE g.message_id_header IN (?1, '<' || ?1 || '>') AND {live}"
                );
                let rows = db.rows_by_text(&sql, &text)?;
                if !rows.is_empty() {
                    lost.remove(&id);
                }
                found.extend(rows);
            }
        }
        if lost.is_empty() {
            return Ok(found);
        }
        let unread = self.unread(match db.schema.names_ids() {
            true => "SELECT {columns} FROM messages m LEFT JOIN message_global_data g ON g.ROWID = m.global_message_id \
                     WHERE g.message_id_header IS NULL AND {live} AND m.ROWID > ?1 ORDER BY m.ROWID DESC",
            false => "SELECT {columns} FROM messages m WHERE {live} AND m.ROWID > ?1 ORDER BY m.ROWID DESC",
        })?;
        let names_kin = db.schema.names_kin();
        self.read_headers(unread, |row, links| {
            if let Some(id) = links.id.as_ref().filter(|id| lost.contains(*id)) {
                found.push(row);
                // Further copies have the same hash; without hashes they have to be read.
                if names_kin && row.hash != 0 {
                    let id = id.clone();
                    lost.remove(&id);
                }
            }
            match lost.is_empty() {
                true => Reading::Enough,
                false => Reading::On,
            }
        })?;
        Ok(found)
    }

    /// Messages that name one of the ids. Those that name the id of a message that is here are found by that one's hash;
    /// here it is about ids that nobody has.
    fn naming(&mut self) -> Result<Vec<Row>, Fault> {
        let mut found = Vec::new();
        let db = &self.visit.db;
        let unread = match db.schema.names_kin() {
            true => {
                let mut orphaned: HashSet<HeaderId> = self.sought.ids.iter().cloned().collect();
                for id in self.sought.ids.clone() {
                    if !self.having(&id)?.is_empty() {
                        orphaned.remove(&id);
                    }
                }
                if orphaned.is_empty() {
                    return Ok(Vec::new());
                }
                // Whoever names only messages that may be seen names none of these.
                let within: Vec<String> = self.within.iter().map(i64::to_string).collect();
                let within = within.join(", ");
                self.unread(&format!(
                    "SELECT {{columns}} FROM messages m WHERE {{live}} AND m.ROWID > ?1 AND m.ROWID IN \
                     (SELECT r.message FROM message_references r WHERE r.reference NOT IN \
                     (SELECT o.message_id FROM messages o WHERE o.mailbox IN ({within}) AND o.message_id IS NOT NULL)) \
                     ORDER BY m.ROWID DESC"
                ))?
            }
            false => self.unread("SELECT {columns} FROM messages m WHERE {live} AND m.ROWID > ?1 ORDER BY m.ROWID DESC")?,
        };
        self.read_headers(unread, |_, _| Reading::On)?;
        for id in &self.sought.ids {
            for uid in self.index.naming(id)? {
                found.extend(self.confirmed(uid, |links| links.ancestors().contains(id))?);
            }
        }
        Ok(found)
    }

    /// Messages of the folders that may be searched whose headers nobody read, the newest first.
    fn unread(&self, sql: &str) -> Result<Vec<Row>, Fault> {
        let db = &self.visit.db;
        let sql = sql
            .replace("{columns}", &db.columns())
            .replace("{live}", db.schema.live());
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
    fn read_headers(
        &mut self,
        rows: Vec<Row>,
        mut look: impl FnMut(Row, &Links) -> Reading,
    ) -> Result<(), Fault> {
        let total = u64::try_from(rows.len()).unwrap_or(u64::MAX);
        let mut kept = Vec::new();
        let mut done = 0;
        for row in rows {
            done += 1;
            match self.files.links(&row) {
                Ok(Some(links)) => {
                    let reading = look(row, &links);
                    kept.push((row.uid, links));
                    if reading == Reading::Enough {
                        break;
                    }
                }
                // What is downloaded later is read later.
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                    return Err(read_fault(error));
                }
                Err(_) => {}
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

    /// INVARIANT: a hash is a guess. The message itself says whether it is the one.
    fn confirmed(&mut self, uid: Uid, fits: impl Fn(&Links) -> bool) -> Result<Option<Row>, Fault> {
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
        let links = match self.files.links(&row) {
            Ok(links) => links,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                return Err(read_fault(error));
            }
            Err(_) => None,
        };
        Ok(Some(row).filter(|_| links.is_some_and(|links| fits(&links))))
    }

    /// INVARIANT: what lies in no folder that may be searched is not opened.
    fn may_see(&self, row: &Row) -> Result<bool, Fault> {
        if self.within.contains(&row.mailbox) {
            return Ok(true);
        }
        let labels = self.visit.db.labels(row.uid)?;
        Ok(labels.iter().any(|label| self.within.contains(label)))
    }

    /// None where it cannot be read.
    fn kin(&mut self, row: Row) -> Result<Option<Kin>, Fault> {
        let loaded = match self.files.load(&row) {
            Ok(loaded) => loaded,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                return Err(read_fault(error));
            }
            // It is there, and its file is broken: the database still says what it is.
            Err(_) => None,
        };
        let (links, summary) = match loaded {
            Some(loaded) => {
                let links = content::links(loaded.header());
                (
                    links,
                    loaded.line(row.uid, row.order().0, Snippets::Without),
                )
            }
            None => (self.visit.db.links(row.uid), self.visit.described(&row)),
        };
        Ok(Some(Kin {
            row,
            links,
            summary,
        }))
    }

    fn told(
        self,
        account: &AccountId,
        found: BTreeMap<Uid, Kin>,
        exhausted: bool,
    ) -> Result<Kindred, Fault> {
        let mut members = Vec::new();
        for kin in found.into_values() {
            let folders = self.visit.folders_of(&kin.row)?;
            for folder in folders.iter().filter(|one| self.within.contains(&one.row)) {
                members.push(Member {
                    at: MessageRef {
                        source: SourceKind::Apple,
                        account: account.clone(),
                        folder: folder.name.clone(),
                        uidvalidity: UIDVALIDITY,
                        uid: kin.row.uid,
                    },
                    links: kin.links.clone(),
                    summary: kin.summary.clone(),
                });
            }
        }
        let boxes = &self.visit.boxes.all;
        let searched = boxes.iter().filter(|one| self.within.contains(&one.row));
        let skipped = match &self.sought.within {
            Within::All => Vec::new(),
            Within::Only(names) => {
                let absent = names
                    .iter()
                    .filter(|name| !boxes.iter().any(|one| one.name == **name));
                absent
                    .map(|name| Skipped {
                        folder: name.clone(),
                        why: Why::Failed,
                    })
                    .collect()
            }
        };
        Ok(Kindred {
            members,
            coverage: Coverage {
                searched: searched.map(|one| one.name.clone()).collect(),
                skipped,
                as_of: None,
                exhausted,
            },
        })
    }
}

/// What led somewhere already.
#[derive(Default)]
struct Known {
    ids: HashSet<HeaderId>,
    hashes: HashSet<i64>,
    conversations: HashSet<i64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reading {
    On,
    Enough,
}
