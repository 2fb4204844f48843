//! Messages by their Message-IDs, and whole conversations, by the index of headers.
//!
//! The index only says where to look: a message is part of an answer when its own header says so.

mod follow;
mod search;

use mail::{AccountId, Kindred, Sought};
use rusqlite::Connection;

use super::catalog::Catalog;
use super::index::{Broken, Progress};
use super::work::Stop;
use search::{Discarded, Search};

/// What a question is answered from.
pub(super) struct Ground<'a> {
    pub(super) account: &'a AccountId,
    pub(super) catalog: &'a Catalog,
    /// The index.
    pub(super) conn: &'a mut Connection,
    pub(super) stop: &'a Stop,
    pub(super) progress: &'a Progress,
}

impl Ground<'_> {
    fn again(&mut self) -> Ground<'_> {
        Ground {
            account: self.account,
            catalog: self.catalog,
            conn: self.conn,
            stop: self.stop,
            progress: self.progress,
        }
    }
}

/// Every copy that has one of the ids. Trash and junk are looked at for those that are nowhere else.
pub(super) fn locate(ground: Ground<'_>, sought: &Sought) -> Result<Kindred, Broken> {
    answered(ground, sought, |search| {
        search.anchors(sought)?;
        search.discard(Discarded::Searched);
        Ok(())
    })
}

/// Everything that has or names one of the ids, and what those have and name in turn. Trash and junk are part of it where
/// one of the ids is there and nowhere else.
pub(super) fn kindred(ground: Ground<'_>, sought: &Sought) -> Result<Kindred, Broken> {
    answered(ground, sought, |search| {
        search.anchors(sought)?;
        search.discard(Discarded::Joined);
        search.close(sought)
    })
}

/// Searches, and once more where something was listed and then gone: it may lie by now in a folder that was listed before.
fn answered(
    mut ground: Ground<'_>,
    sought: &Sought,
    mut ask: impl FnMut(&mut Search<'_>) -> Result<(), Broken>,
) -> Result<Kindred, Broken> {
    let mut search = Search::begin(ground.again(), sought)?;
    ask(&mut search)?;
    if !search.lost {
        return Ok(search.end());
    }
    let mut search = Search::begin(ground, sought)?;
    ask(&mut search)?;
    search.exhausted &= !search.lost;
    Ok(search.end())
}

#[cfg(test)]
mod tests;
