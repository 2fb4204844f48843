//! Several tests over a folder at once, and messages described by their UIDs.

use std::io;

use mail::{Fault, FolderName, Order, Sifted, Snippets, Stage, Summary, Uid, UidSet};

use super::UIDVALIDITY;
use super::catalog::Catalog;
use super::matching::{Test, Verdict, judge};
use super::message::Loaded;
use super::open::Shelf;
use super::scan::{Entry, Sharing};
use super::work::{Stop, unreadable};

/// A message that could not be looked at is in no set.
pub(super) fn sift(
    catalog: &Catalog,
    folder: &FolderName,
    tests: &[Test],
    stop: &Stop,
) -> Result<Sifted, Fault> {
    let place = catalog.place(folder, stop)?;
    let scan = catalog
        .scan(&place, stop)
        .map_err(unreadable(Stage::OpenFolder))?;
    let mut shelf = catalog.shelf(place, stop);
    let mut found: Vec<Vec<Uid>> = vec![Vec::new(); tests.len()];
    for entry in &scan.entries {
        let verdicts = judge(tests, entry, &mut shelf).map_err(unreadable(Stage::Search))?;
        for (uids, verdict) in found.iter_mut().zip(verdicts) {
            if verdict == Verdict::Match {
                uids.push(entry.uid);
            }
        }
    }
    Ok(Sifted {
        uidvalidity: UIDVALIDITY,
        sets: found
            .into_iter()
            .map(|uids| uids.into_iter().collect())
            .collect(),
        order: Order::Listed(scan.entries.iter().map(Entry::order).collect()),
    })
}

/// Those that are gone or cannot be read are left out, and those whose uid means several files.
pub(super) fn summaries(
    catalog: &Catalog,
    folder: &FolderName,
    uids: &UidSet,
    snippets: Snippets,
    stop: &Stop,
) -> Result<Vec<Summary>, Fault> {
    let place = catalog.place(folder, stop)?;
    let scan = catalog
        .scan(&place, stop)
        .map_err(unreadable(Stage::OpenFolder))?;
    let mut shelf = catalog.shelf(place, stop);
    let wanted = scan.entries.iter().filter(|entry| uids.contains(entry.uid));
    let mut found = Vec::new();
    for entry in wanted.filter(|entry| entry.sharing == Sharing::Alone) {
        match summary(&mut shelf, entry, snippets) {
            Ok(summary) => found.extend(summary),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                return Err(unreadable(Stage::Fetch)(error));
            }
            Err(_) => {}
        }
    }
    Ok(found)
}

fn summary(
    shelf: &mut Shelf<'_>,
    entry: &Entry,
    snippets: Snippets,
) -> io::Result<Option<Summary>> {
    let loaded = shelf.read(entry, Loaded::read)?;
    Ok(loaded.map(|loaded| loaded.summary(entry, snippets)))
}
