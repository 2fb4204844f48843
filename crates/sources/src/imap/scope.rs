//! The folders that a search goes through, those that it leaves out, and what it says of both.
//!
//! It asks nobody: what became of a folder is told by the hunt.

use std::collections::HashSet;

use mail::{Coverage, FolderName, Skipped, Why};

use super::catalogue::Places;
use super::hunt::Hunt;

/// How a search came to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// No tie is left that nobody was asked for.
    Whole,
    /// A bound was met, or there are ids that no server can be searched for.
    Early,
}

impl End {
    /// Of two searches.
    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Whole, Self::Whole) => Self::Whole,
            _ => Self::Early,
        }
    }
}

/// The folders that are searched, and those that are not.
pub(super) struct Scope {
    searched: Vec<FolderName>,
    beyond: Vec<FolderName>,
    discarded: Vec<FolderName>,
    most: usize,
    nameless: bool,
    /// Some of what was thrown away is searched.
    lowered: bool,
}

impl Scope {
    pub(super) fn new(places: Places, most: usize) -> Self {
        let mut searched = places.first;
        searched.extend(places.rest);
        let beyond = searched.split_off(most.min(searched.len()));
        Self {
            searched,
            beyond,
            discarded: places.discarded,
            most,
            nameless: places.nameless,
            lowered: false,
        }
    }

    pub(super) fn searched(&self) -> &[FolderName] {
        &self.searched
    }

    pub(super) fn has_discarded(&self) -> bool {
        self.lowered
    }

    /// Searches these folders before others. Trash waits all the same: what lies there and elsewhere is not thrown away.
    pub(super) fn take_up(&mut self, wanted: &HashSet<FolderName>) {
        let (taken, left): (Vec<_>, Vec<_>) = self
            .beyond
            .drain(..)
            .partition(|folder| wanted.contains(folder));
        self.beyond = left;
        self.searched.splice(0..0, taken);
        let surplus = self.searched.split_off(self.most.min(self.searched.len()));
        self.beyond.extend(surplus);
    }

    /// What was thrown away, as far as there is room for it. What there is no room for would have been searched too.
    pub(super) fn take_discarded(&mut self) -> Vec<FolderName> {
        let room = self.most.saturating_sub(self.searched.len());
        let mut taken = std::mem::take(&mut self.discarded);
        self.beyond.extend(taken.split_off(room.min(taken.len())));
        self.searched.extend(taken.iter().cloned());
        self.lowered |= !taken.is_empty();
        taken
    }

    /// Of what was thrown away, folders where something was found are part of the conversation, and the others are not; all
    /// of them where nothing was found. Those that are left out.
    pub(super) fn join(
        &mut self,
        late: &[FolderName],
        joined: &HashSet<FolderName>,
    ) -> Vec<FolderName> {
        if joined.is_empty() {
            return Vec::new();
        }
        let left = late.iter().filter(|folder| !joined.contains(*folder));
        let left: Vec<FolderName> = left.cloned().collect();
        self.searched.retain(|folder| !left.contains(folder));
        self.discarded.extend(left.iter().cloned());
        left
    }

    pub(super) fn coverage(&self, hunt: &Hunt<'_>, end: End) -> Coverage {
        let failed = |folder: &&FolderName| hunt.failed().contains(folder);
        let lists = [
            (self.searched.iter().filter(failed).collect(), Why::Failed),
            (self.beyond.iter().collect::<Vec<_>>(), Why::Effort),
            (self.discarded.iter().collect(), Why::Discarded),
        ];
        let skipped = lists.into_iter().flat_map(|(folders, why)| {
            let each = folders.into_iter().cloned();
            each.map(move |folder| Skipped { folder, why })
        });
        let searched = self.searched.iter().filter(|folder| !failed(folder));
        let whole = hunt.failed().is_empty() && self.beyond.is_empty() && !self.nameless;
        Coverage {
            searched: searched.cloned().collect(),
            skipped: skipped.collect(),
            as_of: None,
            // What was not searched may have tied together what was, or hold what came first.
            exhausted: end == End::Whole && whole && !hunt.is_cut(),
        }
    }
}
