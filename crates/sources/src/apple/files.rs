//! The files of messages: where Mail puts them, tried by exact name, and a bounded look around where they are not there.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::boxes::Boxes;
use super::place::Place;
use super::rows::Row;
use crate::local::beneath::{Beneath, Kind};
use crate::local::work::Stop;

/// In one call, so many messages that are not in their place are looked for elsewhere.
const MOST_WALKS: usize = 64;
/// Directories of one mailbox that are looked at on the way.
const MOST_DIRECTORIES: usize = 5_000;
const MOST_DEPTH: usize = 10;
/// Names that are remembered of directories in one call.
const MOST_LISTED: usize = 1_000_000;

#[cfg(test)]
thread_local! {
    /// How often this thread asked for a message's file.
    pub(super) static OPENED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    /// How many names it tried.
    static TRIED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Opens messages of one store.
pub(super) struct Files<'a> {
    pub(super) beneath: &'a Beneath,
    boxes: &'a Boxes,
    stop: &'a Stop,
    /// What is known of a mailbox by now.
    stores: HashMap<i64, Stores>,
    walks: usize,
    shelves: Shelves,
}

/// Directories of messages, and which messages lie in those that one was missed in: of the next that is missing the directory
/// is not asked again.
#[derive(Default)]
struct Shelves {
    listed: HashMap<PathBuf, Listed>,
    names: usize,
}

enum Listed {
    Messages(HashSet<u32>),
    /// It cannot be listed, or not remembered: names are tried.
    Unknown,
}

/// Where a mailbox keeps its messages.
#[derive(Clone, Default)]
struct Stores {
    /// Directories with `Data` in them, normally one.
    with_data: Vec<PathBuf>,
    /// All directories called `Messages`, once they were looked for.
    walked: Option<Vec<PathBuf>>,
}

/// An open message.
pub(super) struct Filed {
    pub(super) file: File,
    pub(super) size: u64,
    pub(super) extent: Extent,
    /// Below the directory of the version.
    pub(super) path: PathBuf,
}

/// Whether all of a message is in its file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Extent {
    Whole,
    /// Attachments lie beside it, or are not here at all.
    Partial,
}

impl Filed {
    /// The directory that holds `Messages` and `Attachments`.
    pub(super) fn shelf(&self) -> &Path {
        let messages = self.path.parent();
        messages.and_then(Path::parent).unwrap_or(Path::new(""))
    }
}

impl<'a> Files<'a> {
    pub(super) fn new(place: &'a Place, boxes: &'a Boxes, stop: &'a Stop) -> Self {
        Self {
            beneath: &place.beneath,
            boxes,
            stop,
            stores: HashMap::new(),
            walks: 0,
            shelves: Shelves::default(),
        }
    }

    /// None where it was not downloaded.
    pub(super) fn open(&mut self, row: &Row) -> io::Result<Option<Filed>> {
        self.stop.check()?;
        #[cfg(test)]
        OPENED.set(OPENED.get() + 1);
        let Some(mailbox) = self.boxes.path(row.mailbox) else {
            return Ok(None);
        };
        if !self.stores.contains_key(&row.mailbox) {
            let stores = Stores {
                with_data: stores(self.beneath, mailbox)?,
                walked: None,
            };
            self.stores.insert(row.mailbox, stores);
        }
        let Some(stores) = self.stores.get_mut(&row.mailbox) else {
            return Ok(None);
        };
        let shelf = shelf(row.uid.0);
        let derived = stores
            .with_data
            .iter()
            .map(|data| data.join(&shelf).join("Messages"));
        // Before there was `Data`, messages lay right in the mailbox.
        let flat = mailbox.join("Messages");
        for directory in derived.chain([flat]) {
            let filed = self
                .shelves
                .open(self.beneath, &directory, row, self.stop)?;
            if filed.is_some() {
                return Ok(filed);
            }
        }
        if self.walks >= MOST_WALKS {
            return Ok(None);
        }
        self.walks += 1;
        let walked = match &stores.walked {
            Some(walked) => walked,
            None => stores
                .walked
                .insert(walk(self.beneath, mailbox, self.stop)?),
        };
        for directory in walked {
            let filed = self.shelves.open(self.beneath, directory, row, self.stop)?;
            if filed.is_some() {
                return Ok(filed);
            }
        }
        Ok(None)
    }
}

impl Shelves {
    fn open(
        &mut self,
        beneath: &Beneath,
        directory: &Path,
        row: &Row,
        stop: &Stop,
    ) -> io::Result<Option<Filed>> {
        if let Some(Listed::Messages(numbers)) = self.listed.get(directory)
            && !numbers.contains(&row.uid.0)
        {
            return Ok(None);
        }
        let filed = named(beneath, directory, row)?;
        if filed.is_none() && !self.listed.contains_key(directory) {
            let listed = self.list(beneath, directory, stop)?;
            self.listed.insert(directory.to_owned(), listed);
        }
        Ok(filed)
    }

    fn list(&mut self, beneath: &Beneath, directory: &Path, stop: &Stop) -> io::Result<Listed> {
        let mut numbers = HashSet::new();
        let listed = beneath.each(directory, |one| {
            if self.names >= MOST_LISTED {
                return Err(io::ErrorKind::OutOfMemory.into());
            }
            self.names += 1;
            stop.check()?;
            numbers.extend(one.name.to_str().and_then(number));
            Ok(())
        });
        match listed {
            Ok(()) => Ok(Listed::Messages(numbers)),
            Err(error) => match error.kind() {
                io::ErrorKind::Interrupted => Err(error),
                io::ErrorKind::NotFound => Ok(Listed::Messages(HashSet::new())),
                _ => Ok(Listed::Unknown),
            },
        }
    }
}

/// Of the message that a name may be the file of.
fn number(name: &str) -> Option<u32> {
    let (number, ending) = name.split_once('.')?;
    let fits = ENDINGS
        .iter()
        .any(|(one, _)| ending.eq_ignore_ascii_case(one));
    number.parse().ok().filter(|_| fits)
}

const ENDINGS: [(&str, Extent); 2] = [("emlx", Extent::Whole), ("partial.emlx", Extent::Partial)];

/// The digits of the thousands, the last one first: 12345 lies in `2/1`.
pub(super) fn shelf(row: u32) -> PathBuf {
    let mut path = PathBuf::new();
    let mut thousands = row / 1_000;
    while thousands > 0 {
        path.push((thousands % 10).to_string());
        thousands /= 10;
    }
    path
}

/// INVARIANT: exact names. What merely begins with the number is another message.
fn named(beneath: &Beneath, directory: &Path, row: &Row) -> io::Result<Option<Filed>> {
    for (ending, extent) in ENDINGS {
        #[cfg(test)]
        TRIED.set(TRIED.get() + 1);
        let path = directory.join(format!("{}.{ending}", row.uid.0));
        match beneath.file(&path) {
            Ok((file, data)) => {
                return Ok(Some(Filed {
                    file,
                    size: data.len(),
                    extent,
                    path,
                }));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// `Data` of every directory that is named by a UUID.
fn stores(beneath: &Beneath, mailbox: &Path) -> io::Result<Vec<PathBuf>> {
    let inside = match beneath.list(mailbox) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let uuids = inside.iter().filter(|one| one.kind == Kind::Directory);
    let uuids = uuids.filter(|one| one.name.to_str().is_some_and(is_uuid));
    Ok(uuids
        .map(|one| mailbox.join(&one.name).join("Data"))
        .collect())
}

fn is_uuid(name: &str) -> bool {
    let hyphen = |at: usize| matches!(at, 8 | 13 | 18 | 23);
    let fits = |(at, byte): (usize, u8)| match hyphen(at) {
        true => byte == b'-',
        false => byte.is_ascii_hexdigit(),
    };
    name.len() == 36 && name.bytes().enumerate().all(fits)
}

/// Every `Messages` of a mailbox, those of the mailboxes inside it left out.
fn walk(beneath: &Beneath, mailbox: &Path, stop: &Stop) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut waiting = vec![(mailbox.to_owned(), 0)];
    let mut looked_at = 0;
    while let Some((directory, depth)) = waiting.pop() {
        stop.check()?;
        looked_at += 1;
        if looked_at > MOST_DIRECTORIES || depth > MOST_DEPTH {
            break;
        }
        let inside = beneath.list(&directory).unwrap_or_default();
        for one in inside.iter().filter(|one| one.kind == Kind::Directory) {
            let path = directory.join(&one.name);
            match one.name.to_str() {
                Some("Messages") => found.push(path),
                Some(name) if name != "Attachments" && !name.ends_with(".mbox") => {
                    waiting.push((path, depth + 1));
                }
                _ => {}
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use mail::{AccountId, FolderName};
    use testkit::apple::{ACCOUNT, AppleStore, Letter, Stored};

    use super::super::{Apple, Visit};
    use super::*;

    #[test]
    fn messages_that_are_not_here_are_not_tried_one_by_one() {
        let mut store = AppleStore::new();
        let inbox = store.folder("INBOX");
        let letter = |row| Letter::new("Subject: x\n\nx\n").row(row);
        for row in 1..=200 {
            store.message(inbox, letter(row).stored(Stored::Nothing));
        }
        store.message(inbox, letter(201));
        store.message(inbox, letter(202).stored(Stored::Partial));
        let account = AccountId::new("mac").unwrap();
        let apple = Apple::open(account, store.root(), Some(ACCOUNT.to_owned()), None);
        let stop = Stop::default();
        let visit = Visit::begin(&apple.settings, &stop).unwrap();
        let mut rows = visit.rows(&FolderName::new("INBOX").unwrap()).unwrap();
        rows.sort_by_key(|row| row.uid);
        let mut files = visit.files();
        TRIED.set(0);
        let found = rows.iter().filter_map(|row| files.open(row).unwrap());
        let found: Vec<Extent> = found.map(|filed| filed.extent).collect();
        assert_eq!(found, [Extent::Whole, Extent::Partial]);
        assert!(TRIED.get() < 20, "{}", TRIED.get());
    }

    #[test]
    fn names_of_files_begin_with_a_number() {
        for (name, want) in [
            ("12.emlx", Some(12)),
            ("12.partial.emlx", Some(12)),
            ("12.EMLX", Some(12)),
            ("12.2.emlxpart", None),
            ("12.emlx.bak", None),
            ("emlx", None),
            (".emlx", None),
            ("99999999999.emlx", None),
        ] {
            assert_eq!(number(name), want, "{name}");
        }
    }

    #[test]
    fn thousands_are_written_backwards() {
        for (row, want) in [
            (1, ""),
            (218, ""),
            (999, ""),
            (1_000, "1"),
            (9_865, "9"),
            (12_345, "2/1"),
            (105_895, "5/0/1"),
            (198_577, "8/9/1"),
            (1_277_162, "7/7/2/1"),
            (u32::MAX, "7/6/9/4/9/2/4"),
        ] {
            assert_eq!(shelf(row), PathBuf::from(want), "{row}");
        }
    }

    #[test]
    fn stores_are_named_by_uuids() {
        assert!(is_uuid("5707E000-0000-4000-8000-0000000000ff"));
        for name in [
            "",
            "Data",
            "5707E000-0000-4000-8000-0000000000f",
            "Info.plist",
            "../../../../../../../../../../../../",
        ] {
            assert!(!is_uuid(name), "{name}");
        }
    }
}
