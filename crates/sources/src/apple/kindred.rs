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
use super::hunt::{Discarded, EVERY, Hunt, Reading};
use super::rows::{Row, int};
use super::visit::read_fault;

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
        for row in self.anchors(Discarded::Searched)? {
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
        let mut waiting = self.anchors(Discarded::Joined)?;
        waiting.extend(self.naming()?);
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
            let sql = "SELECT reference FROM message_references WHERE message = ?1";
            let mut query = self.visit.db.conn.prepare_cached(sql)?;
            let rows = query.query_map([i64::from(uid.0)], |row| Ok(int(row, 0)))?;
            let rows: Vec<_> = rows.collect::<rusqlite::Result<_>>()?;
            Ok(rows.into_iter().flatten().collect())
        };
        ask().map_err(fault(Stage::Search))
    }

    /// Messages that name one of the ids. Those that name the id of a message that is here are found by that one's hash;
    /// here it is about ids that nobody has.
    fn naming(&mut self) -> Result<Vec<Row>, Fault> {
        let ids = self.sought.ids.clone();
        let unread = match self.visit.db.schema.names_kin() {
            true => {
                let mut everybody = true;
                for id in &ids {
                    everybody &= !self.having(id)?.is_empty();
                }
                if everybody {
                    return Ok(Vec::new());
                }
                // Whoever names only messages that may be seen names none of these.
                let within: Vec<String> = self.within.iter().map(i64::to_string).collect();
                let within = within.join(", ");
                self.unread(&format!(
                    "SELECT {{columns}} FROM messages m WHERE {{live}} AND m.ROWID > ?1 AND m.ROWID IN \
                     (SELECT r.message FROM message_references r WHERE r.reference NOT IN (SELECT o.message_id \
                     FROM messages o WHERE o.mailbox IN ({within}) AND o.message_id IS NOT NULL)) \
                     ORDER BY m.ROWID DESC"
                ))?
            }
            false => self.unread(EVERY)?,
        };
        self.read_headers(unread, |_, _| Reading::On)?;
        let mut found = Vec::new();
        for id in &ids {
            for uid in self.index.naming(id)? {
                found.extend(self.confirmed(uid, |links| links.ancestors().contains(id))?);
            }
        }
        Ok(found)
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
            None => (self.visit.db.links(row.uid), self.visit.described(&row)),
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
