//! One message from disk: its header, its structure, the parts that were chosen, or its bytes as they lie.

use std::io;
use std::path::Path;

use content::Completeness;
use mail::{Fault, FaultKind, FolderName, RawMessage, Snippets, Stage, Summary, Uid};

use super::folders::Tree;
use super::open::{Opened, Shelf};
use super::scan::{Entry, Sharing, scan};
use super::work::{Stop, unreadable};
pub(super) use crate::local::loaded::Loaded;
use crate::local::loaded::Marks;

/// Files up to this size are read whole, of larger ones only the beginning.
const MOST_WHOLE: u64 = 64 * 1024 * 1024;
const BEGINNING: u64 = 4 * 1024 * 1024;

pub(super) fn load(
    root: &Path,
    folder: &FolderName,
    uid: Uid,
    stop: &Stop,
) -> Result<Loaded, Fault> {
    let mut opened = open(root, folder, uid, stop)?;
    Loaded::read(&mut opened).map_err(unreadable(Stage::Fetch))
}

pub(super) fn raw(
    root: &Path,
    folder: &FolderName,
    uid: Uid,
    max_bytes: u64,
    stop: &Stop,
) -> Result<RawMessage, Fault> {
    let mut opened = open(root, folder, uid, stop)?;
    Ok(RawMessage {
        size: opened.size,
        bytes: opened.bytes(max_bytes).map_err(unreadable(Stage::Fetch))?,
    })
}

/// INVARIANT: a uid that several files share opens none of them.
pub(super) fn open(
    root: &Path,
    folder: &FolderName,
    uid: Uid,
    stop: &Stop,
) -> Result<Opened, Fault> {
    let directory = Tree::directory(root, folder, stop)?;
    let scan = scan(&directory, stop).map_err(unreadable(Stage::OpenFolder))?;
    let none = || Fault::new(FaultKind::NoSuchMessage, Stage::Fetch);
    let entry = scan
        .entries
        .iter()
        .find(|entry| entry.uid == uid)
        .ok_or_else(none)?;
    if entry.sharing == Sharing::Shared {
        return Err(Fault::saying(
            FaultKind::Conflict,
            Stage::Fetch,
            "several files have this uid",
        ));
    }
    Shelf::new(directory, stop)
        .open(entry)
        .map_err(unreadable(Stage::Fetch))?
        .ok_or_else(none)
}

impl Loaded {
    pub(super) fn read(opened: &mut Opened) -> io::Result<Self> {
        let (most, file) = if opened.size > MOST_WHOLE {
            (BEGINNING, Completeness::Cut)
        } else {
            (MOST_WHOLE, Completeness::Complete)
        };
        let bytes = opened.bytes(most)?;
        let marks = Marks {
            flags: opened.entry.flags(),
            arrived: opened.entry.arrived(),
            size: opened.size,
        };
        Ok(Self::new(&bytes, marks, file))
    }

    /// The message in a line, its structure with it.
    pub(super) fn summary(self, entry: &Entry, snippets: Snippets) -> Summary {
        self.line(entry.uid, entry.order().0, snippets)
    }
}
