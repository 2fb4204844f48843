//! One message from disk: its header, its structure, the parts that were chosen, or its bytes as they lie.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;

use content::Completeness;
use mail::{
    Fault, FaultKind, FolderName, Links, MessageRef, RawMessage, Snippets, Stage, Summary, Uid,
};

use super::catalog::Catalog;
use super::open::{MOST_WHOLE, Opened};
use super::scan::{Entry, Sharing};
use super::visit::Visit;
use super::work::{Stop, unreadable};
pub(super) use crate::local::loaded::Loaded;
use crate::local::loaded::Marks;
use crate::local::wire::on_the_wire;

/// Of files that are too large to be read whole.
const BEGINNING: u64 = 4 * 1024 * 1024;

pub(super) fn load(
    catalog: &Catalog,
    folder: &FolderName,
    uid: Uid,
    stop: &Stop,
) -> Result<Loaded, Fault> {
    read(catalog, folder, uid, stop, Loaded::read)
}

/// As many of them as fit into memory together, and at least one.
pub(super) fn load_some(
    catalog: &Catalog,
    wanted: Vec<Result<MessageRef, Fault>>,
    stop: &Stop,
) -> Result<Vec<Result<Loaded, Fault>>, Fault> {
    let mut held = 0;
    let mut all = Vec::new();
    let mut visits: HashMap<FolderName, Result<Visit<'_>, Fault>> = HashMap::new();
    for at in wanted {
        stop.check().map_err(unreadable(Stage::Fetch))?;
        let loaded = at.and_then(|at| {
            let visit = visits.entry(at.folder);
            let visit = visit.or_insert_with_key(|folder| Visit::named(catalog, folder, stop));
            let visit = visit.as_mut().map_err(|fault| fault.clone())?;
            visited(visit, at.uid, Loaded::read)
        });
        held += loaded.as_ref().map_or(0, |loaded| loaded.held());
        all.push(loaded);
        if held >= MOST_WHOLE {
            break;
        }
    }
    Ok(all)
}

pub(super) fn raw(
    catalog: &Catalog,
    folder: &FolderName,
    uid: Uid,
    max_bytes: u64,
    stop: &Stop,
) -> Result<RawMessage, Fault> {
    read(catalog, folder, uid, stop, |opened| {
        let mut bytes = on_the_wire(opened.bytes(max_bytes)?);
        bytes.truncate(usize::try_from(max_bytes).unwrap_or(usize::MAX));
        Ok(RawMessage {
            size: opened.wire_size()?,
            bytes,
        })
    })
}

/// The file of a message that has one of its own.
pub(super) fn file(
    catalog: &Catalog,
    folder: &FolderName,
    uid: Uid,
    stop: &Stop,
) -> Result<Option<PathBuf>, Fault> {
    let mut visit = Visit::named(catalog, folder, stop)?;
    let entry = entry(&mut visit, uid)?;
    if entry.within().is_some() {
        return Ok(None);
    }
    // Opened, so that it is a path to a regular file that was there a moment ago.
    let opened = visit.shelf.open(&entry);
    let opened = opened.map_err(unreadable(Stage::Fetch))?.ok_or_else(none)?;
    let folder = catalog.root.join(&visit.place().path);
    Ok(Some(folder.join(opened.entry.path())))
}

/// Opens a message and reads of it, again if it was written to meanwhile.
pub(super) fn read<T>(
    catalog: &Catalog,
    folder: &FolderName,
    uid: Uid,
    stop: &Stop,
    read: impl FnMut(&mut Opened) -> io::Result<T>,
) -> Result<T, Fault> {
    visited(&mut Visit::named(catalog, folder, stop)?, uid, read)
}

fn visited<T>(
    visit: &mut Visit<'_>,
    uid: Uid,
    read: impl FnMut(&mut Opened) -> io::Result<T>,
) -> Result<T, Fault> {
    let entry = entry(visit, uid)?;
    let read = visit.shelf.read(&entry, read);
    read.map_err(unreadable(Stage::Fetch))?.ok_or_else(none)
}

/// INVARIANT: a uid that several files share opens none of them.
fn entry(visit: &mut Visit<'_>, uid: Uid) -> Result<Entry, Fault> {
    let entry = visit.entry(uid).map_err(unreadable(Stage::OpenFolder))?;
    let entry = entry.ok_or_else(none)?;
    match entry.sharing {
        Sharing::Alone => Ok(entry),
        Sharing::Shared => Err(Fault::saying(
            FaultKind::Conflict,
            Stage::Fetch,
            "several files have this uid",
        )),
    }
}

fn none() -> Fault {
    Fault::new(FaultKind::NoSuchMessage, Stage::Fetch)
}

impl Loaded {
    pub(super) fn read(opened: &mut Opened) -> io::Result<Self> {
        let (most, file) = if opened.stored > MOST_WHOLE {
            (BEGINNING, Completeness::Cut)
        } else {
            (MOST_WHOLE, Completeness::Complete)
        };
        let bytes = on_the_wire(opened.bytes(most)?);
        let marks = Marks {
            flags: opened.entry.flags(),
            arrived: opened.entry.arrived(),
            size: opened.wire_size()?,
        };
        Ok(Self::new(&bytes, marks, file))
    }

    pub(super) fn links(&self) -> Links {
        content::links(self.header())
    }

    /// The message in a line, its structure with it.
    pub(super) fn summary(self, entry: &Entry, snippets: Snippets) -> Summary {
        self.line(entry.uid, entry.order().0, snippets)
    }
}
