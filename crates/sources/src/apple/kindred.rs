//! Copies of a message, and whole conversations.
//!
//! Apple's own tables say who names whom, by hashes; where they do not, headers do. What Apple calls one conversation comes
//! along as well. Nobody belongs to a conversation by its subject.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::ops::ControlFlow;

use mail::{
    AccountId, Fault, HeaderId, Kindred, Links, Member, MessageRef, Snippets, SourceKind, Stage,
    Summary, Uid,
};

use super::database::fault;
use super::headers::{Confirmed, Tie, Unread};
use super::hunt::{Discarded, Hunt};
use super::rows::{Row, int};
use super::visit::read_fault;
use crate::local::work::unreadable;

/// Of the messages that one names by their hashes, more are not read.
const MOST_NAMED: usize = 1_000;
/// What more hashes stand for is not asked in one question.
const MOST_NAMES: usize = 100_000;
/// Copies of a message whose headers are read for its name.
const MOST_COPIES: usize = 8;

/// A message that was found, read already.
struct Kin {
    row: Row,
    links: Links,
    summary: Summary,
    ties: Ties,
}

/// Whether it is known what a message is called and whom it names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ties {
    Known,
    /// It may belong here, or lead to others, and nobody can tell.
    InPart,
}

/// What led somewhere already, and who was met on the way.
#[derive(Default)]
struct Trail {
    ids: HashSet<HeaderId>,
    hashes: HashSet<i64>,
    conversations: HashSet<i64>,
    /// Messages that joined, and those that never will.
    met: HashSet<Uid>,
    joined: usize,
    /// Of those that joined, what nobody followed yet.
    waiting: Vec<Row>,
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
            let kin = self.kin(row)?;
            // Whom it names is not asked here.
            if kin.links.id.is_none() {
                self.exhausted = false;
            }
            found.insert(row.uid, kin);
        }
        self.told(account, found)
    }

    /// All that belongs together with them. Rounds are not counted: nothing here has to be waited for.
    pub(super) fn kindred(mut self, account: &AccountId) -> Result<Kindred, Fault> {
        let anchors = self.anchors(Discarded::Joined)?;
        let mut trail = Trail::default();
        trail.ids.extend(self.sought.ids.iter().cloned());
        for row in anchors.rows {
            if self.join(row, &mut trail)?.is_break() {
                break;
            }
        }
        self.naming(&anchors.alone, &mut trail)?;
        let mut found: BTreeMap<Uid, Kin> = BTreeMap::new();
        while let Some(row) = trail.waiting.pop() {
            let kin = self.kin(row)?;
            if kin.ties == Ties::InPart {
                self.exhausted = false;
            }
            self.follow(&kin, &mut trail)?;
            found.insert(row.uid, kin);
        }
        self.told(account, found)
    }

    /// Each message once, and as many as there is room for.
    ///
    /// INVARIANT: what is in no folder that is searched takes no room.
    fn join(&mut self, row: Row, trail: &mut Trail) -> Result<ControlFlow<()>, Fault> {
        if !trail.met.insert(row.uid) || !self.may_see(&row)? {
            return Ok(ControlFlow::Continue(()));
        }
        if trail.joined >= self.sought.effort.messages {
            self.exhausted = false;
            return Ok(ControlFlow::Break(()));
        }
        trail.joined += 1;
        trail.waiting.push(row);
        Ok(ControlFlow::Continue(()))
    }

    /// The messages that one leads to, of those that nobody led to before.
    fn follow(&mut self, kin: &Kin, trail: &mut Trail) -> Result<(), Fault> {
        let (db, stop) = (&self.visit.db, self.visit.stop);
        let (columns, live) = (db.columns(), db.schema.live());
        let conversation = kin.row.conversation;
        if db.schema.has_conversations()
            && conversation > 0
            && trail.conversations.insert(conversation)
        {
            let sql =
                format!("SELECT {columns} FROM messages m WHERE m.conversation_id = ?1 AND {live}");
            db.each(&sql, conversation, stop, |row| self.join(row, trail))?;
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
                if hash != 0 && trail.hashes.insert(hash) {
                    for sql in [&have, &name] {
                        db.each(sql, hash, stop, |row| self.join(row, trail))?;
                    }
                }
            }
        }
        for id in kin.links.all() {
            if trail.ids.insert(id.clone()) {
                let mut hits = self.index.having(id)?;
                hits.extend(self.index.naming(id)?);
                self.try_each(hits, id, Tie::HasOrNames, trail)?;
            }
        }
        Ok(())
    }

    /// What the index leads to, as far as it is true.
    fn try_each(
        &mut self,
        hits: Vec<Uid>,
        id: &HeaderId,
        tie: Tie,
        trail: &mut Trail,
    ) -> Result<(), Fault> {
        for uid in hits {
            self.visit.stop.check().map_err(unreadable(Stage::Search))?;
            if trail.met.contains(&uid) {
                continue;
            }
            match self.confirmed(uid, id, tie)? {
                Confirmed::Yes(row) => {
                    if self.join(row, trail)?.is_break() {
                        break;
                    }
                }
                Confirmed::No => {}
                Confirmed::Never => {
                    trail.met.insert(uid);
                }
            }
        }
        Ok(())
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
    fn naming(&mut self, alone: &HashSet<HeaderId>, trail: &mut Trail) -> Result<(), Fault> {
        if alone.is_empty() {
            return Ok(());
        }
        self.read_all(Unread::NamingOthers)?;
        for id in alone {
            let hits = self.index.naming(id)?;
            self.try_each(hits, id, Tie::Names, trail)?;
        }
        Ok(())
    }

    /// Whom a message names that is not here itself: the database knows them by a hash alone.
    fn named(&mut self, uid: Uid) -> Result<(Vec<HeaderId>, Ties), Fault> {
        if !self.visit.db.schema.names_kin() {
            return Ok((Vec::new(), Ties::InPart));
        }
        let hashes = self.references(uid)?;
        let mut ties = match hashes.len() <= MOST_NAMED {
            true => Ties::Known,
            false => Ties::InPart,
        };
        let mut named = Vec::new();
        for hash in hashes.into_iter().take(MOST_NAMED) {
            match self.called(hash)? {
                Some(id) => named.push(id),
                None if hash == 0 => {}
                None => ties = Ties::InPart,
            }
        }
        Ok((named, ties))
    }

    /// What a hash stands for.
    ///
    /// INVARIANT: that is learned of messages that are searched, and of no others: whether there is one elsewhere changes
    /// no answer.
    fn called(&mut self, hash: i64) -> Result<Option<HeaderId>, Fault> {
        if let Some(name) = self.names.get(&hash) {
            return Ok(name.clone());
        }
        if hash == 0 || self.names.len() >= MOST_NAMES {
            return Ok(None);
        }
        let name = self.name_of(hash)?;
        self.names.insert(hash, name.clone());
        Ok(name)
    }

    /// As the database says it of a copy, else as the header of one does.
    fn name_of(&mut self, hash: i64) -> Result<Option<HeaderId>, Fault> {
        let visit = self.visit;
        let mut unnamed = Vec::new();
        for row in visit.db.rows_hashed(hash, visit.stop)? {
            if !self.may_see(&row)? {
                continue;
            }
            if let Some(id) = visit.db.id(row.uid) {
                return Ok(Some(id));
            }
            unnamed.push(row);
        }
        for row in unnamed.iter().take(MOST_COPIES) {
            let links = self.links(row)?;
            if let Some(id) = links.and_then(|links| links.id) {
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
        if let Some(loaded) = loaded {
            return Ok(Kin {
                row,
                links: content::links(loaded.header()),
                summary: loaded.line(row.uid, row.order().0, Snippets::Without),
                ties: Ties::Known,
            });
        }
        let id = match self.visit.db.id(row.uid) {
            None => self.called(row.hash)?,
            known => known,
        };
        let (references, mut ties) = self.named(row.uid)?;
        if id.is_none() {
            ties = Ties::InPart;
        }
        Ok(Kin {
            row,
            links: Links {
                id,
                references,
                in_reply_to: Vec::new(),
            },
            summary: self.visit.described(&row),
            ties,
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
                        uidvalidity: self.visit.generation,
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

#[cfg(test)]
mod tests {
    use mail::{Effort, Sought, Within};
    use testkit::apple::{AppleStore, Generation, Letter};

    use super::super::files::OPENED;
    use super::super::index::Index;
    use super::super::{Apple, Visit};
    use super::*;
    use crate::local::work::Stop;

    #[test]
    fn a_message_that_all_others_lead_to_is_not_read_for_each_of_them() {
        const MANY: usize = 60;
        let id = |number: usize| format!("{number}@x");
        for generation in Generation::ALL {
            let mut store = AppleStore::of(generation);
            let inbox = store.folder("INBOX");
            for number in 0..MANY {
                let names: Vec<String> = (0..number).map(|one| format!("<{}>", id(one))).collect();
                let text = format!(
                    "Message-ID: <{}>\nReferences: {}\n\nText.\n",
                    id(number),
                    names.join(" ")
                );
                store.message(inbox, Letter::new(text));
            }
            let account = AccountId::new("mac").unwrap();
            let apple = Apple::open(account.clone(), store.root(), None, None);
            let stop = Stop::default();
            let visit = Visit::begin(&apple.settings, &stop).unwrap();
            let mut index = Index::in_memory().unwrap();
            let mut sought = Sought {
                ids: HeaderId::new(b"nobody@x").into_iter().collect(),
                within: Within::All,
                effort: Effort {
                    folders: 10,
                    rounds: 10,
                    messages: 1_000,
                },
            };
            // Every header is in the index by then.
            let all = Hunt::begin(&visit, &mut index, &sought).unwrap();
            all.kindred(&account).unwrap();
            sought.ids = HeaderId::new(id(MANY / 2).as_bytes()).into_iter().collect();
            OPENED.set(0);
            let hunt = Hunt::begin(&visit, &mut index, &sought).unwrap();
            let found = hunt.kindred(&account).unwrap();
            assert_eq!(found.members.len(), MANY, "{generation:?}");
            assert!(found.coverage.exhausted, "{generation:?}");
            let opened = OPENED.get();
            assert!(opened <= 3 * MANY, "{generation:?}: {opened}");
        }
    }
}
