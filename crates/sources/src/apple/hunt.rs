//! Messages by their Message-IDs: the index guesses, the message confirms, and what nobody has read yet is read.
//!
//! What belongs together with them is not found here.

use std::collections::{BTreeMap, HashMap, HashSet};

use mail::{Coverage, Fault, FolderName, HeaderId, Skipped, Sought, SpecialUse, Uid, Why, Within};

use super::boxes::Mailbox;
use super::files::Files;
use super::headers::{Confirmed, Read, Reading, Tie, Unread};
use super::index::Index;
use super::rows::Row;
use super::visit::Visit;

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
    /// What those are called that messages name by their hashes, as far as it was asked.
    pub(super) names: HashMap<i64, Option<HeaderId>>,
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

/// Where a search begins.
pub(super) struct Anchors {
    pub(super) rows: Vec<Row>,
    /// Ids that the database leads nowhere from.
    pub(super) alone: HashSet<HeaderId>,
}

/// Messages by the id they have.
type Found = HashMap<HeaderId, Vec<Row>>;

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
            names: HashMap::new(),
        })
    }

    /// Every copy that has one of the ids. Trash and junk are looked at for those that are nowhere else.
    pub(super) fn anchors(&mut self, are: Discarded) -> Result<Anchors, Fault> {
        let ids: HashSet<HeaderId> = self.sought.ids.iter().cloned().collect();
        let mut found = self.copies(&ids)?;
        let nowhere = ids.iter().filter(|id| !found.contains_key(*id));
        let nowhere: HashSet<HeaderId> = nowhere.cloned().collect();
        if !nowhere.is_empty() && !self.discarded.is_empty() {
            found.extend(self.discarded_copies(&nowhere, are)?);
        }
        let leads = |id: &HeaderId| found.get(id).is_some_and(|rows| lead_on(rows));
        let alone = ids.into_iter().filter(|id| !leads(id)).collect();
        let rows: BTreeMap<Uid, Row> = found
            .into_values()
            .flatten()
            .map(|row| (row.uid, row))
            .collect();
        let rows = rows.into_values().collect();
        Ok(Anchors { rows, alone })
    }

    /// The same in trash and junk, which are searched from now on as far as they have part in it.
    fn discarded_copies(
        &mut self,
        ids: &HashSet<HeaderId>,
        are: Discarded,
    ) -> Result<Found, Fault> {
        let discarded = std::mem::take(&mut self.discarded);
        let kept = std::mem::replace(&mut self.within, discarded.clone());
        let thrown = self.copies(ids)?;
        let mut joined = HashSet::new();
        for row in thrown.values().flatten() {
            joined.extend(self.visit.folders_of(row)?.iter().map(|one| one.row));
        }
        let (taken, left): (HashSet<i64>, HashSet<i64>) = discarded.into_iter().partition(|row| {
            are == Discarded::Searched || joined.is_empty() || joined.contains(row)
        });
        self.within = kept.union(&taken).copied().collect();
        self.discarded = left;
        Ok(thrown)
    }

    /// Messages that have these ids, in the folders that are searched.
    ///
    /// INVARIANT: what lies elsewhere is left out before anything hangs on it: an id that is had only there is looked for
    /// as one that nobody has.
    fn copies(&mut self, ids: &HashSet<HeaderId>) -> Result<Found, Fault> {
        let names_kin = self.visit.db.schema.names_kin();
        // Without hashes a copy leads to no other: all have to be known.
        if !names_kin {
            self.read_all(Unread::Unnamed)?;
        }
        let mut found = Found::new();
        for id in ids {
            found.insert(id.clone(), self.having(id)?);
        }
        self.scan(&mut found)?;
        if names_kin {
            self.search(&mut found)?;
            self.add_twins(&mut found)?;
        }
        found.retain(|_, rows| !rows.is_empty());
        Ok(found)
    }

    /// By the index alone.
    fn having(&mut self, id: &HeaderId) -> Result<Vec<Row>, Fault> {
        let mut found = Vec::new();
        for uid in self.index.having(id)? {
            if let Confirmed::Yes(row) = self.confirmed(uid, id, Tie::Has)? {
                found.push(row);
            }
        }
        Ok(found)
    }

    /// By what the database says by now and did not say when the index was made of it.
    fn scan(&self, found: &mut Found) -> Result<(), Fault> {
        let db = &self.visit.db;
        if !db.schema.names_ids() || self.index.is_exact(db) {
            return Ok(());
        }
        let sql = format!(
            "SELECT {} FROM message_global_data g JOIN messages m ON m.global_message_id = g.ROWID \
             WHERE g.message_id_header IN (?1, '<' || ?1 || '>') AND {}",
            db.columns(),
            db.schema.live()
        );
        for (id, rows) in found.iter_mut().filter(|(_, rows)| !lead_on(rows)) {
            let id = String::from_utf8_lossy(id.bytes());
            let said = db.rows_by_text(&sql, &id, self.visit.stop)?;
            rows.extend(self.visible(said)?);
        }
        Ok(())
    }

    /// By headers that nobody has read yet.
    fn search(&mut self, found: &mut Found) -> Result<(), Fault> {
        let lost = found.iter().filter(|(_, rows)| !lead_on(rows));
        let mut lost: HashSet<HeaderId> = lost.map(|(id, _)| id.clone()).collect();
        if lost.is_empty() {
            return Ok(());
        }
        let unread = self.unread(Unread::Unnamed)?;
        let read = self.read_headers(unread, |row, links| {
            let Some(id) = links.id.as_ref().filter(|id| lost.contains(*id)) else {
                return Reading::On;
            };
            found.entry(id.clone()).or_default().push(row);
            if lead_on(&[row]) {
                lost.remove(id);
            }
            match lost.is_empty() {
                true => Reading::Enough,
                false => Reading::On,
            }
        })?;
        // One that was found leads to all others, whatever could not be read on the way to it.
        if read == Read::InPart && !lost.is_empty() {
            self.exhausted = false;
        }
        Ok(())
    }

    /// Copies that the index does not know: Apple has the same hash for them.
    fn add_twins(&self, found: &mut Found) -> Result<(), Fault> {
        for rows in found.values_mut() {
            let hashes: HashSet<i64> = rows.iter().map(|row| row.hash).collect();
            for hash in hashes.into_iter().filter(|hash| *hash != 0) {
                let twins = self.visit.db.rows_hashed(hash, self.visit.stop)?;
                rows.extend(self.visible(twins)?);
            }
        }
        Ok(())
    }

    fn visible(&self, rows: Vec<Row>) -> Result<Vec<Row>, Fault> {
        let mut seen = Vec::with_capacity(rows.len());
        for row in rows {
            if self.may_see(&row)? {
                seen.push(row);
            }
        }
        Ok(seen)
    }

    /// INVARIANT: what lies in no folder that is searched is not opened. `Schema::shown` says the same in SQL.
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

/// Messages that have an id have it by one hash: one of them that has a hash leads to the others, and to all that name it.
fn lead_on(rows: &[Row]) -> bool {
    rows.iter().any(|row| row.hash != 0)
}
