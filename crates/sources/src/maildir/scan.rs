//! What lies in one folder right now, newest first, told from file names alone wherever they suffice.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use mail::{Flag, Uid};

use super::mbox::Slice;
use super::name::{Name, Place};
use super::stamp::{Stamp, Stamps};
use super::work::Stop;
use crate::local::beneath::{Beneath, Kind, Named};

/// A directory that changes under our eyes is read again this often.
const MOST_READS: usize = 3;

/// One message of a folder, not opened yet.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) uid: Uid,
    /// Seconds since 1970: the delivery time in the name, else the file's own.
    pub(super) delivered: i64,
    pub(super) sharing: Sharing,
    lies: Lies,
}

/// Where a message is.
#[derive(Clone, Debug)]
enum Lies {
    File {
        place: Place,
        file: OsString,
        /// 0 where the system does not number files.
        inode: u64,
    },
    Slice(Box<Slice>),
}

/// Whether a uid means one file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sharing {
    Alone,
    /// Several files have this uid: none of them may be taken for the other.
    Shared,
}

#[derive(Default, Debug)]
pub(super) struct Scan {
    /// Newest first, then by falling uid; each uid once.
    pub(super) entries: Vec<Entry>,
    /// All files whose uids are shared.
    pub(super) sharing: Vec<Entry>,
    /// What the folder had before and after it was read; none if it did not come to rest.
    pub(super) stamps: Option<Stamps>,
    /// Where in `entries` a uid stands, by uid.
    positions: Vec<(Uid, usize)>,
}

impl Scan {
    pub(super) fn new(found: Settled, stamps: Option<Stamps>) -> Self {
        let Settled {
            mut entries,
            sharing,
        } = found;
        entries.sort_by_cached_key(|entry| Reverse(entry.order()));
        let mut positions: Vec<_> = entries
            .iter()
            .enumerate()
            .map(|(at, entry)| (entry.uid, at))
            .collect();
        positions.sort_unstable();
        Self {
            entries,
            sharing,
            stamps,
            positions,
        }
    }

    pub(super) fn get(&self, uid: Uid) -> Option<&Entry> {
        let found = self.positions.binary_search_by_key(&uid, |(uid, _)| *uid);
        let (_, at) = self.positions.get(found.ok()?)?;
        self.entries.get(*at)
    }
}

impl Entry {
    pub(super) fn slice(uid: Uid, delivered: i64, slice: Slice) -> Self {
        Self {
            uid,
            delivered,
            sharing: Sharing::Alone,
            lies: Lies::Slice(Box::new(slice)),
        }
    }

    /// Its own file inside the folder; empty where that is a file itself, which it lies in with others.
    pub(super) fn path(&self) -> PathBuf {
        match &self.lies {
            Lies::File { place, file, .. } => Path::new(place.directory()).join(file),
            Lies::Slice(_) => PathBuf::new(),
        }
    }

    /// Where it lies in a file with others.
    pub(super) fn within(&self) -> Option<&Slice> {
        match &self.lies {
            Lies::File { .. } => None,
            Lies::Slice(slice) => Some(slice),
        }
    }

    pub(super) fn flags(&self) -> Vec<Flag> {
        match &self.lies {
            Lies::File { place, file, .. } => {
                name(file).map_or_else(Vec::new, |name| name.flags(*place))
            }
            Lies::Slice(slice) => slice.flags.clone(),
        }
    }

    pub(super) fn is_unread(&self) -> bool {
        match &self.lies {
            Lies::File { place, file, .. } => !name(file).is_some_and(|name| name.seen(*place)),
            Lies::Slice(slice) => !slice.flags.iter().any(|flag| flag.is("\\Seen")),
        }
    }

    pub(super) fn arrived(&self) -> Option<Timestamp> {
        Timestamp::from_second(self.delivered).ok()
    }

    /// The place in the order of the folder.
    pub(super) fn order(&self) -> (i64, Uid) {
        let micros = match &self.lies {
            Lies::File { file, .. } => name(file).map_or(0, Name::micros),
            Lies::Slice(slice) => slice.nth_of_second,
        };
        (
            self.delivered
                .saturating_mul(1_000_000)
                .saturating_add(micros),
            self.uid,
        )
    }

    /// What stays the same as long as it is the same message.
    pub(super) fn key(&self) -> &[u8] {
        match &self.lies {
            Lies::File { file, .. } => name(file).map_or(&[], |name| name.unique),
            Lies::Slice(slice) => &slice.key,
        }
    }

    /// Another one means that the file was replaced under its name.
    pub(super) fn inode(&self) -> u64 {
        match &self.lies {
            Lies::File { inode, .. } => *inode,
            Lies::Slice(_) => 0,
        }
    }

    pub(super) fn is_same_message(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

fn name(file: &OsString) -> Option<Name<'_>> {
    Name::parse(file.as_encoded_bytes())
}

/// Reads a folder. A message that another program renames meanwhile is neither lost nor seen twice.
pub(super) fn scan(folder: &Beneath, stop: &Stop) -> io::Result<Scan> {
    let mut found = Vec::new();
    let (mut skipped, mut rested) = (0, None);
    for _ in 0..MOST_READS {
        let before = stamps(folder);
        found.clear();
        skipped = 0;
        // INVARIANT: new/ before cur/. A message moves from one to the other, so it is seen at least once.
        for place in [Place::New, Place::Cur] {
            skipped += read(folder, place, &mut found, stop)?;
        }
        if stamps(folder) == before {
            rested = Some(before);
            break;
        }
    }
    if skipped > 0 {
        tracing::warn!(
            skipped,
            "files with unusable names were left out of a folder"
        );
    }
    Ok(Scan::new(settle(folder, found), rested))
}

/// Adds the files of `new/` or `cur/`; answers how many names were unusable.
fn read(folder: &Beneath, place: Place, into: &mut Vec<Entry>, stop: &Stop) -> io::Result<usize> {
    let mut skipped = 0;
    let directory = Path::new(place.directory());
    let listed = folder.each(directory, |named| {
        stop.check()?;
        // Neither symbolic links nor directories are messages, and dot files are other programs' own.
        if named.name.as_encoded_bytes().starts_with(b".") || named.kind != Kind::File {
            return Ok(());
        }
        match Name::parse(named.name.as_encoded_bytes()) {
            Some(name) => into.push(Entry {
                uid: name.uid(),
                delivered: delivered(name, || modified(folder, directory, &named)),
                sharing: Sharing::Alone,
                lies: Lies::File {
                    place,
                    inode: named.inode,
                    file: named.name.clone(),
                },
            }),
            None => skipped += 1,
        }
        Ok(())
    });
    match listed {
        // A folder is what has a `cur`; `new` may be missing.
        Err(error) if place == Place::New && error.kind() == io::ErrorKind::NotFound => {}
        other => other?,
    }
    Ok(skipped)
}

/// Seconds since 1970.
fn delivered(name: Name<'_>, modified: impl FnOnce() -> i64) -> i64 {
    name.delivered()
        .filter(|seconds| Timestamp::from_second(*seconds).is_ok())
        .unwrap_or_else(modified)
}

fn modified(folder: &Beneath, directory: &Path, named: &Named) -> i64 {
    let look = folder.look(&directory.join(&named.name));
    look.map_or(0, |look| {
        i64::try_from(look.modified.div_euclid(1_000_000_000)).unwrap_or_default()
    })
}

/// When names in `new/` and `cur/` last changed.
pub(super) fn stamps(folder: &Beneath) -> Stamps {
    Stamps([Place::New, Place::Cur].map(|place| {
        let look = folder.look(Path::new(place.directory()));
        look.ok().map(|look| Stamp::told(&look))
    }))
}

/// Entries of which each has its uid alone, or stands for all that share it.
#[derive(Default)]
pub(super) struct Settled {
    pub(super) entries: Vec<Entry>,
    pub(super) sharing: Vec<Entry>,
}

/// Of several files with one uid those that are gone by now were renamed; if more than one is left, the uid is shared.
fn settle(folder: &Beneath, found: Vec<Entry>) -> Settled {
    settled(found, |entry| folder.look(&entry.path()).is_ok())
}

/// One entry for each uid.
pub(super) fn settled(found: Vec<Entry>, is_there: impl Fn(&Entry) -> bool) -> Settled {
    let mut count: HashMap<Uid, usize> = HashMap::with_capacity(found.len());
    for entry in &found {
        *count.entry(entry.uid).or_default() += 1;
    }
    let is_single = |entry: &Entry| count.get(&entry.uid).is_none_or(|n| *n < 2);
    let (mut entries, doubtful): (Vec<_>, Vec<_>) = found.into_iter().partition(is_single);
    let mut kept: HashMap<Uid, Vec<Entry>> = HashMap::new();
    for entry in doubtful.into_iter().filter(is_there) {
        kept.entry(entry.uid).or_default().push(entry);
    }
    let mut sharing = Vec::new();
    for mut those in kept.into_values() {
        if those.len() > 1 {
            those
                .iter_mut()
                .for_each(|one| one.sharing = Sharing::Shared);
            sharing.extend_from_slice(&those);
        }
        let delivered = those.iter().map(|one| one.delivered).max();
        if let (Some(mut first), Some(delivered)) = (those.into_iter().next(), delivered) {
            first.delivered = delivered;
            entries.push(first);
        }
    }
    Settled { entries, sharing }
}

/// The same message in a later scan, whatever its flags are by then.
pub(super) fn find<'a>(scan: &'a Scan, wanted: &Entry) -> Option<&'a Entry> {
    scan.get(wanted.uid)
        .filter(|entry| entry.is_same_message(wanted))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::UNIX_EPOCH;

    use super::*;

    fn folder(files: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for place in ["cur", "new", "tmp"] {
            fs::create_dir(root.path().join(place)).unwrap();
        }
        for file in files {
            fs::write(root.path().join(file), "").unwrap();
        }
        root
    }

    fn opened(root: &tempfile::TempDir) -> Beneath {
        Beneath::open(root.path()).unwrap()
    }

    fn read_all(root: &tempfile::TempDir) -> Scan {
        scan(&opened(root), &Stop::default()).unwrap()
    }

    #[test]
    fn newest_first_from_both_places() {
        let root = folder(&[
            "cur/1000000001.a:2,S",
            "new/1000000003.c",
            "cur/1000000002.b:2,",
        ]);
        let found = read_all(&root);
        let times: Vec<i64> = found.entries.iter().map(|e| e.delivered).collect();
        assert_eq!(times, [1_000_000_003, 1_000_000_002, 1_000_000_001]);
        let unread: Vec<bool> = found.entries.iter().map(Entry::is_unread).collect();
        assert_eq!(unread, [true, true, false]);
    }

    #[cfg(unix)]
    #[test]
    fn what_lies_behind_a_link_is_not_in_the_folder() {
        let elsewhere = folder(&["tmp/1000000009.secret"]);
        let root = folder(&["cur/1000000001.a:2,S"]);
        let new = root.path().join("new");
        fs::remove_dir(&new).unwrap();
        std::os::unix::fs::symlink(elsewhere.path().join("tmp"), &new).unwrap();
        let found = read_all(&root);
        let times: Vec<i64> = found.entries.iter().map(|e| e.delivered).collect();
        assert_eq!(times, [1_000_000_001]);
    }

    #[test]
    fn what_is_no_message_is_left_out() {
        let root = folder(&[
            "cur/1000000001.a:2,S",
            "cur/.hidden",
            "cur/1000000002.a\nb:2,S",
            "cur/\u{1b}[31m.x",
            "cur/:2,S",
            "tmp/1000000003.c",
            "dovecot-uidlist",
        ]);
        fs::create_dir(root.path().join("cur/1000000004.dir")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("/etc/passwd", root.path().join("cur/1000000005.x:2,")).unwrap();
        assert_eq!(read_all(&root).entries.len(), 1);
        let skipped = read(
            &opened(&root),
            Place::Cur,
            &mut Vec::new(),
            &Stop::default(),
        );
        assert_eq!(skipped.unwrap(), 3);
    }

    #[test]
    fn without_seconds_the_file_tells_its_time() {
        let root = folder(&["cur/letter.eml:2,"]);
        let file = fs::File::open(root.path().join("cur/letter.eml:2,")).unwrap();
        file.set_modified(UNIX_EPOCH + std::time::Duration::from_secs(77))
            .unwrap();
        assert_eq!(read_all(&root).entries[0].delivered, 77);
    }

    #[test]
    fn files_with_one_uid_are_one_shared_entry() {
        let root = folder(&[
            "cur/1000000001.a:2,S",
            "cur/1000000001.a:2,RS",
            "cur/1000000002.b:2,",
        ]);
        let found = read_all(&root);
        let sharing: Vec<Sharing> = found.entries.iter().map(|e| e.sharing).collect();
        assert_eq!(sharing, [Sharing::Alone, Sharing::Shared]);
        assert_eq!(found.sharing.len(), 2);
    }

    #[test]
    fn a_file_that_was_renamed_meanwhile_is_seen_once() {
        let root = folder(&["cur/1000000001.a:2,S"]);
        let (mut seen, folder) = (Vec::new(), opened(&root));
        read(&folder, Place::Cur, &mut seen, &Stop::default()).unwrap();
        fs::rename(
            root.path().join("cur/1000000001.a:2,S"),
            root.path().join("cur/1000000001.a:2,RS"),
        )
        .unwrap();
        read(&folder, Place::Cur, &mut seen, &Stop::default()).unwrap();
        assert_eq!(seen.len(), 2);
        let settled = settle(&folder, seen);
        assert_eq!(settled.entries.len(), 1);
        assert_eq!(settled.entries[0].sharing, Sharing::Alone);
        assert_eq!(settled.entries[0].flags().len(), 2);
    }

    #[test]
    fn a_folder_without_new_is_fine_and_one_without_cur_is_not() {
        let root = folder(&["cur/1000000001.a:2,S"]);
        fs::remove_dir(root.path().join("new")).unwrap();
        assert_eq!(read_all(&root).entries.len(), 1);
        fs::remove_dir_all(root.path().join("cur")).unwrap();
        assert!(scan(&opened(&root), &Stop::default()).is_err());
    }
}
