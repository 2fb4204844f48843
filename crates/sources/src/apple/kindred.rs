//! Copies of a message, and whole conversations.
//!
//! Apple's own tables say who names whom, by hashes; where they do not, headers do. What Apple calls one conversation comes
//! along as well. Nobody belongs to a conversation by its subject.

use std::collections::{BTreeMap, HashSet};
use std::io;

use mail::{
    AccountId, Fault, HeaderId, Kindred, Links, Member, MessageRef, Snippets, SourceKind, Stage,
    Summary, Uid,
};

use super::UIDVALIDITY;
use super::database::fault;
use super::headers::Unread;
use super::hunt::{Discarded, Hunt};
use super::rows::{Row, int};
use super::visit::read_fault;

/// Of the messages that one names by their hashes, more are not read.
const MOST_NAMED: usize = 1_000;

/// A message that was found, read already.
struct Kin {
    row: Row,
    links: Links,
    summary: Summary,
}

/// What led somewhere already.
#[derive(Default)]
struct Known {
    ids: HashSet<HeaderId>,
    hashes: HashSet<i64>,
    conversations: HashSet<i64>,
}

impl Hunt<'_> {
    /// Every copy of the messages that have one of these ids.
    pub(super) fn locate(mut self, account: &AccountId) -> Result<Kindred, Fault> {
        let mut found = BTreeMap::new();
        for row in self.anchors(Discarded::Searched)?.rows {
            if found.len() >= self.sought.effort.messages {
                self.exhausted = false;
                break;
            }
            found.insert(row.uid, self.kin(row)?);
        }
        self.told(account, found)
    }

    /// All that belongs together with them. Rounds are not counted: nothing here has to be waited for.
    pub(super) fn kindred(mut self, account: &AccountId) -> Result<Kindred, Fault> {
        let anchors = self.anchors(Discarded::Joined)?;
        let mut waiting = anchors.rows;
        waiting.extend(self.naming(&anchors.alone)?);
        let mut found: BTreeMap<Uid, Kin> = BTreeMap::new();
        let mut known = Known::default();
        known.ids.extend(self.sought.ids.iter().cloned());
        while let Some(row) = waiting.pop() {
            if found.contains_key(&row.uid) || !self.may_see(&row)? {
                continue;
            }
            if found.len() >= self.sought.effort.messages {
                self.exhausted = false;
                break;
            }
            let kin = self.kin(row)?;
            waiting.extend(self.tied(&kin, &mut known)?);
            found.insert(row.uid, kin);
        }
        self.told(account, found)
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
            let name = format!(
                "SELECT {columns} FROM message_references r JOIN messages m ON m.ROWID = r.message \
                 WHERE r.reference = ?1 AND {live}"
            );
            for hash in hashes {
                if hash != 0 && known.hashes.insert(hash) {
                    tied.extend(db.rows_hashed(hash, stop)?);
                    tied.extend(db.rows(&name, hash, stop)?);
                }
            }
        }
        for id in kin.links.all() {
            if known.ids.insert(id.clone()) {
                let having = self.index.having(id)?.into_iter();
                for uid in having.chain(self.index.naming(id)?) {
                    tied.extend(self.confirmed(uid, |links| links.all().any(|one| one == id))?);
                }
            }
        }
        Ok(tied)
    }

    fn references(&self, uid: Uid) -> Result<Vec<i64>, Fault> {
        let ask = || -> rusqlite::Result<Vec<i64>> {
            let sql = "SELECT reference FROM message_references WHERE message = ?1 ORDER BY ROWID";
            let mut query = self.visit.db.conn.prepare_cached(sql)?;
            let rows = query.query_map([i64::from(uid.0)], |row| Ok(int(row, 0)))?;
            let rows: Vec<_> = rows.collect::<rusqlite::Result<_>>()?;
            Ok(rows.into_iter().flatten().collect())
        };
        ask().map_err(fault(Stage::Search))
    }

    /// Messages that name one of these ids. Those that name the id of a message that is here are found by that one's hash;
    /// here it is about ids that nobody has.
    fn naming(&mut self, alone: &HashSet<HeaderId>) -> Result<Vec<Row>, Fault> {
        if alone.is_empty() {
            return Ok(Vec::new());
        }
        self.read_all(Unread::NamingOthers)?;
        let mut found = Vec::new();
        for id in alone {
            for uid in self.index.naming(id)? {
                found.extend(self.confirmed(uid, |links| links.ancestors().contains(id))?);
            }
        }
        Ok(found)
    }

    /// Whom a message names that is not here itself: the database knows them by a hash alone.
    ///
    /// INVARIANT: what a hash stands for is learned of messages that are searched, and of no others.
    fn named(&mut self, uid: Uid) -> Result<Vec<HeaderId>, Fault> {
        let schema = &self.visit.db.schema;
        if !schema.names_ids() || !schema.names_kin() {
            return Ok(Vec::new());
        }
        let mut named = Vec::new();
        for hash in self.references(uid)?.into_iter().take(MOST_NAMED) {
            if !self.names.contains_key(&hash) {
                let name = self.name_of(hash)?;
                self.names.insert(hash, name);
            }
            named.extend(self.names.get(&hash).cloned().flatten());
        }
        Ok(named)
    }

    fn name_of(&self, hash: i64) -> Result<Option<HeaderId>, Fault> {
        if hash == 0 {
            return Ok(None);
        }
        let db = &self.visit.db;
        for row in db.rows_hashed(hash, self.visit.stop)? {
            if self.may_see(&row)?
                && let Some(id) = db.id(row.uid)
            {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    fn kin(&mut self, row: Row) -> Result<Kin, Fault> {
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
            None => {
                let links = Links {
                    id: self.visit.db.id(row.uid),
                    references: self.named(row.uid)?,
                    in_reply_to: Vec::new(),
                };
                (links, self.visit.described(&row))
            }
        };
        Ok(Kin {
            row,
            links,
            summary,
        })
    }

    /// A message that several folders show is a member of each.
    fn told(self, account: &AccountId, found: BTreeMap<Uid, Kin>) -> Result<Kindred, Fault> {
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
        Ok(Kindred {
            members,
            coverage: self.coverage(),
        })
    }
}
