//! The folders of an account and what lies in them, read again only where something changed.
//!
//! What is remembered is looked at before it is used: a listing holds as long as the stamps of its directories do.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};

use mail::{Fault, FaultKind, FolderName, Stage};

use super::folders::{Place, Tree, Wanted};
use super::open::Shelf;
use super::scan::Scan;
use super::sizes::Sizes;
use super::stamp::Stamps;
use super::work::Stop;

/// Listings of more messages than this together are not kept.
const MOST_KEPT: usize = 2_000_000;

/// The mail below one root.
pub(super) struct Catalog {
    pub(super) root: PathBuf,
    kept: Mutex<HashMap<PathBuf, Kept>>,
    pub(super) sizes: Arc<Sizes>,
    /// How often a folder was read.
    #[cfg(test)]
    pub(super) reads: std::sync::atomic::AtomicUsize,
}

struct Kept {
    stamps: Stamps,
    /// When these stamps were first met.
    seen: Instant,
    listed: Listed,
}

/// What lies in a folder.
#[derive(Clone)]
pub(super) struct Listed {
    pub(super) scan: Arc<Scan>,
    /// As long as the folder has these, nothing in it changed. None where that cannot be told yet.
    pub(super) proof: Option<Stamps>,
}

impl Catalog {
    pub(super) fn new(root: PathBuf) -> Self {
        Self {
            root,
            kept: Mutex::default(),
            sizes: Arc::default(),
            #[cfg(test)]
            reads: std::sync::atomic::AtomicUsize::default(),
        }
    }

    pub(super) fn tree(&self, wanted: Wanted<'_>, stop: &Stop) -> Result<Tree, Fault> {
        Tree::read(&self.root, wanted, stop)
    }

    pub(super) fn place(&self, name: &FolderName, stop: &Stop) -> Result<Place, Fault> {
        self.tree(Wanted::Only(std::slice::from_ref(name)), stop)?
            .places
            .into_iter()
            .find(|place| place.name == *name)
            .ok_or_else(|| Fault::new(FaultKind::NoSuchFolder, Stage::OpenFolder))
    }

    pub(super) fn scan(&self, place: &Place, stop: &Stop) -> io::Result<Arc<Scan>> {
        Ok(self.list(place, stop)?.scan)
    }

    pub(super) fn list(&self, place: &Place, stop: &Stop) -> io::Result<Listed> {
        let looked = Instant::now();
        let now = place.stamps();
        let seen = match self.kept().get(&place.path) {
            Some(kept) if kept.stamps == now => {
                if kept.listed.proof == Some(now) {
                    return Ok(kept.listed.clone());
                }
                kept.seen
            }
            _ => looked,
        };
        #[cfg(test)]
        self.reads
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let scan = Arc::new(place.read(stop)?);
        let proof = scan
            .stamps
            .filter(|stamps| *stamps == now && stamps.settled(seen, looked, SystemTime::now()));
        let listed = Listed { scan, proof };
        if let Some(stamps) = listed.scan.stamps {
            let seen = if stamps == now { seen } else { Instant::now() };
            self.keep(&place.path, stamps, seen, listed.clone());
        }
        Ok(listed)
    }

    /// To open messages of a folder.
    pub(super) fn shelf<'a>(&self, place: Place, stop: &'a Stop) -> Shelf<'a> {
        Shelf::new(place, stop).counting(Arc::clone(&self.sizes))
    }

    fn keep(&self, path: &Path, stamps: Stamps, seen: Instant, listed: Listed) {
        let mut kept = self.kept();
        kept.remove(path);
        let others: usize = kept
            .values()
            .map(|kept| kept.listed.scan.entries.len())
            .sum();
        if others.saturating_add(listed.scan.entries.len()) > MOST_KEPT {
            kept.clear();
        }
        let one = Kept {
            stamps,
            seen,
            listed,
        };
        kept.insert(path.to_owned(), one);
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<PathBuf, Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalog").field("root", &self.root).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn folder() -> (tempfile::TempDir, Catalog, Place) {
        let root = tempfile::tempdir().unwrap();
        for place in ["cur", "new"] {
            fs::create_dir(root.path().join(place)).unwrap();
        }
        let catalog = Catalog::new(root.path().to_owned());
        let place = Place::inbox(root.path());
        (root, catalog, place)
    }

    /// As if it had been met long ago.
    fn age(catalog: &Catalog) {
        for kept in catalog.kept().values_mut() {
            kept.seen -= std::time::Duration::from_mins(1);
        }
    }

    #[test]
    fn what_did_not_change_is_not_read_again() {
        let (root, catalog, place) = folder();
        let stop = Stop::default();
        fs::write(root.path().join("cur/1000000001.a:2,"), "").unwrap();
        let first = catalog.list(&place, &stop).unwrap();
        assert!(first.proof.is_none(), "it may still change unseen");
        age(&catalog);
        let second = catalog.list(&place, &stop).unwrap();
        assert!(second.proof.is_some());
        assert!(!Arc::ptr_eq(&first.scan, &second.scan));
        let third = catalog.list(&place, &stop).unwrap();
        assert!(Arc::ptr_eq(&second.scan, &third.scan));
        fs::write(root.path().join("cur/1000000002.b:2,"), "").unwrap();
        assert_eq!(catalog.scan(&place, &stop).unwrap().entries.len(), 2);
    }

    #[test]
    fn changes_within_one_step_of_the_clock_are_seen() {
        let (root, catalog, place) = folder();
        let stop = Stop::default();
        for number in 0..300 {
            let name = format!("cur/{}.a:2,", 1_000_000_000 + number);
            fs::write(root.path().join(name), "").unwrap();
            let found = catalog.scan(&place, &stop).unwrap();
            assert_eq!(found.entries.len(), number + 1);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_time_that_is_set_back_hides_nothing() {
        let (root, catalog, place) = folder();
        let stop = Stop::default();
        let cur = root.path().join("cur");
        let before = fs::metadata(&cur).unwrap().modified().unwrap();
        catalog.scan(&place, &stop).unwrap();
        age(&catalog);
        catalog.scan(&place, &stop).unwrap();
        fs::write(cur.join("1000000001.a:2,"), "").unwrap();
        let directory = fs::File::open(&cur).unwrap();
        directory.set_modified(before).unwrap();
        assert_eq!(catalog.scan(&place, &stop).unwrap().entries.len(), 1);
    }
}
