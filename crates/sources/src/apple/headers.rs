//! Headers of messages: those that nobody has read yet, read and kept in the index, and those that confirm what it says.
//!
//! What is looked for in them is said elsewhere.

use std::io;

use mail::{Fault, HeaderId, Links, Uid};

use super::hunt::Hunt;
use super::rows::Row;
use super::visit::read_fault;

/// So many headers are kept at once.
const BATCH: usize = 1_000;

/// Headers that nobody has read yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unread {
    /// Of messages whose ids the database does not say.
    Unnamed,
    /// Of messages that name one that is in no folder that is searched; of all where the database does not say whom they
    /// name.
    NamingOthers,
}

/// Whether more headers are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reading {
    On,
    Enough,
}

/// Whether all headers that were wanted could be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Read {
    Wholly,
    InPart,
}

/// How a message may be tied to an id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tie {
    Has,
    Names,
    HasOrNames,
}

/// What came of a guess.
pub(super) enum Confirmed {
    Yes(Row),
    No,
    /// Nor will any other guess about this message: it is gone, or lies where is not searched.
    Never,
}

impl Hunt<'_> {
    /// Messages of the folders that are searched whose headers nobody read, the newest first.
    pub(super) fn unread(&self, which: Unread) -> Result<Vec<Row>, Fault> {
        let db = &self.visit.db;
        let (columns, live, shown) = (db.columns(), db.schema.live(), db.schema.shown());
        let among = match which {
            Unread::Unnamed if db.schema.names_ids() => {
                "NOT EXISTS (SELECT 1 FROM message_global_data g WHERE g.ROWID = m.global_message_id \
                 AND g.message_id_header IS NOT NULL)"
                    .to_owned()
            }
            Unread::NamingOthers if db.schema.names_kin() => format!(
                "m.ROWID IN (SELECT r.message FROM message_references r WHERE r.reference NOT IN \
                 (SELECT m.message_id FROM messages m WHERE {live} AND {shown} AND m.message_id IS NOT NULL))"
            ),
            _ => "TRUE".to_owned(),
        };
        let sql = format!(
            "SELECT {columns} FROM messages m WHERE {live} AND {shown} AND {among} ORDER BY m.ROWID DESC"
        );
        let within: Vec<String> = self.within.iter().map(i64::to_string).collect();
        let within = format!("[{}]", within.join(","));
        let read = self.index.read()?;
        let mut rows = db.rows_by_text(&sql, &within, self.visit.stop)?;
        rows.retain(|row| !read.contains(&row.uid));
        Ok(rows)
    }

    /// Reads all of these headers; those that cannot be read may be what is looked for.
    pub(super) fn read_all(&mut self, which: Unread) -> Result<(), Fault> {
        let unread = self.unread(which)?;
        if self.read_headers(unread, |_, _| Reading::On)? == Read::InPart {
            self.exhausted = false;
        }
        Ok(())
    }

    /// Reads headers and keeps what they say, until it is enough.
    pub(super) fn read_headers(
        &mut self,
        rows: Vec<Row>,
        mut look: impl FnMut(Row, &Links) -> Reading,
    ) -> Result<Read, Fault> {
        let total = u64::try_from(rows.len()).unwrap_or(u64::MAX);
        let mut read = Read::Wholly;
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
                None => read = Read::InPart,
            }
            if kept.len() >= BATCH {
                self.index.learn(&kept)?;
                kept.clear();
                self.visit.stop.count(done, total);
            }
        }
        self.index.learn(&kept)?;
        self.visit.stop.count(total, total);
        Ok(read)
    }

    /// INVARIANT: a hash is a guess. The message itself says whether it is the one; where it is not here to say it, it may be.
    pub(super) fn confirmed(
        &mut self,
        uid: Uid,
        id: &HeaderId,
        tie: Tie,
    ) -> Result<Confirmed, Fault> {
        let Some(row) = self.visit.db.row(uid, self.visit.stop)? else {
            return Ok(Confirmed::Never);
        };
        if !self.may_see(&row)? {
            return Ok(Confirmed::Never);
        }
        let said = self.visit.db.id(uid);
        if tie != Tie::Names && said.as_ref() == Some(id) {
            return Ok(Confirmed::Yes(row));
        }
        let Some(links) = self.links(&row)? else {
            self.exhausted &= tie == Tie::Has && said.is_some();
            return Ok(Confirmed::No);
        };
        let fits = match tie {
            Tie::Has => links.id.as_ref() == Some(id),
            Tie::Names => links.ancestors().contains(id),
            Tie::HasOrNames => links.all().any(|one| one == id),
        };
        match fits {
            true => Ok(Confirmed::Yes(row)),
            false => Ok(Confirmed::No),
        }
    }

    /// None where there is no file, or none that can be read. Fails only when nobody waits.
    pub(super) fn links(&mut self, row: &Row) -> Result<Option<Links>, Fault> {
        match self.files.links(row) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(read_fault(error)),
            other => Ok(other.unwrap_or_default()),
        }
    }
}
