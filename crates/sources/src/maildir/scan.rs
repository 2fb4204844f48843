//! What lies in one folder right now, newest first, told from file names alone wherever they suffice.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use mail::{Flag, Uid};

use super::name::{Name, Place};
use super::work::Stop;

/// A directory that changes under our eyes is read again this often.
const MOST_READS: usize = 3;

/// One message of a folder, not opened yet.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) uid: Uid,
    /// Seconds since 1970: the delivery time in the name, else the file's own.
    pub(super) delivered: i64,
    pub(super) sharing: Sharing,
    place: Place,
    file: OsString,
}

/// Whether a uid means one file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sharing {
    Alone,
    /// Several files have this uid: none of them may be taken for the other.
    Shared,
}

#[derive(Default)]
pub(super) struct Scan {
    /// Newest first, then by falling uid; each uid once.
    pub(super) entries: Vec<Entry>,
}

impl Entry {
    pub(super) fn path(&self, directory: &Path) -> PathBuf {
        directory.join(self.place.directory()).join(&self.file)
    }

    pub(super) fn flags(&self) -> Vec<Flag> {
        self.name()
            .map(|name| name.flags(self.place))
            .unwrap_or_default()
    }

    pub(super) fn is_unread(&self) -> bool {
        !self.name().is_some_and(|name| name.seen(self.place))
    }

    pub(super) fn arrived(&self) -> Option<Timestamp> {
        Timestamp::from_second(self.delivered).ok()
    }

    /// The place in the order of the folder.
    pub(super) fn order(&self) -> (i64, Uid) {
        let micros = self.name().map_or(0, Name::micros);
        (
            self.delivered
                .saturating_mul(1_000_000)
                .saturating_add(micros),
            self.uid,
        )
    }

    fn name(&self) -> Option<Name<'_>> {
        Name::parse(self.file.as_encoded_bytes())
    }

    pub(super) fn is_same_message(&self, other: &Self) -> bool {
        self.name().map(|name| name.unique) == other.name().map(|name| name.unique)
    }
}

/// Reads a folder. A message that another program renames meanwhile is neither lost nor seen twice.
pub(super) fn scan(directory: &Path, stop: &Stop) -> io::Result<Scan> {
    let mut found = Vec::new();
    let mut skipped = 0;
    for _ in 0..MOST_READS {
        let before = changed_at(directory);
        found.clear();
        skipped = 0;
        // INVARIANT: new/ before cur/. A message moves from one to the other, so it is seen at least once.
        for place in [Place::New, Place::Cur] {
            skipped += read(directory, place, &mut found, stop)?;
        }
        if changed_at(directory) == before {
            break;
        }
    }
    if skipped > 0 {
        tracing::warn!(
            skipped,
            "files with unusable names were left out of a folder"
        );
    }
    let mut entries = settle(directory, found);
    entries.sort_by_cached_key(|entry| Reverse(entry.order()));
    Ok(Scan { entries })
}

/// Adds the files of `new/` or `cur/`; answers how many names were unusable.
fn read(directory: &Path, place: Place, into: &mut Vec<Entry>, stop: &Stop) -> io::Result<usize> {
    let directory = directory.join(place.directory());
    // INVARIANT: a link leads out of the store, whatever it is called.
    if fs::symlink_metadata(&directory).is_ok_and(|found| found.is_symlink()) {
        return Ok(0);
    }
    let listing = match fs::read_dir(&directory) {
        // A folder is what has a `cur`; `new` may be missing.
        Err(error) if place == Place::New && error.kind() == io::ErrorKind::NotFound => {
            return Ok(0);
        }
        other => other?,
    };
    let mut skipped = 0;
    for entry in listing {
        stop.check()?;
        let entry = entry?;
        let file = entry.file_name();
        // Neither symbolic links nor directories are messages, and dot files are other programs' own.
        if file.as_encoded_bytes().starts_with(b".") || !is_file(&entry) {
            continue;
        }
        match Name::parse(file.as_encoded_bytes()) {
            Some(name) => into.push(Entry {
                uid: name.uid(),
                delivered: delivered(name, &entry),
                sharing: Sharing::Alone,
                place,
                file: file.clone(),
            }),
            None => skipped += 1,
        }
    }
    Ok(skipped)
}

fn is_file(entry: &DirEntry) -> bool {
    entry.file_type().is_ok_and(|kind| kind.is_file())
}

fn delivered(name: Name<'_>, entry: &DirEntry) -> i64 {
    let told = name
        .delivered()
        .filter(|seconds| Timestamp::from_second(*seconds).is_ok());
    told.unwrap_or_else(|| {
        let modified = entry.metadata().and_then(|data| data.modified());
        modified.map(seconds).unwrap_or_default()
    })
}

fn seconds(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_secs()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_secs()).map_or(i64::MIN, |s| -s),
    }
}

/// When names in `new/` and `cur/` last changed.
fn changed_at(directory: &Path) -> [Option<SystemTime>; 2] {
    [Place::New, Place::Cur].map(|place| {
        fs::symlink_metadata(directory.join(place.directory()))
            .and_then(|data| data.modified())
            .ok()
    })
}

/// One entry for each uid. Of several files with one uid those that are gone by now were renamed;
/// if more than one is left, the uid is shared.
fn settle(directory: &Path, found: Vec<Entry>) -> Vec<Entry> {
    let mut count: HashMap<Uid, usize> = HashMap::with_capacity(found.len());
    for entry in &found {
        *count.entry(entry.uid).or_default() += 1;
    }
    let is_single = |entry: &Entry| count.get(&entry.uid).is_none_or(|n| *n < 2);
    let (mut single, doubtful): (Vec<_>, Vec<_>) = found.into_iter().partition(is_single);
    let mut kept: HashMap<Uid, Entry> = HashMap::new();
    for entry in doubtful {
        if fs::symlink_metadata(entry.path(directory)).is_err() {
            continue;
        }
        match kept.get_mut(&entry.uid) {
            Some(first) => {
                first.sharing = Sharing::Shared;
                first.delivered = first.delivered.max(entry.delivered);
            }
            None => {
                kept.insert(entry.uid, entry);
            }
        }
    }
    single.extend(kept.into_values());
    single
}

/// The same message in a later scan, whatever its flags are by then.
pub(super) fn find<'a>(scan: &'a Scan, wanted: &Entry) -> Option<&'a Entry> {
    scan.entries
        .iter()
        .find(|entry| entry.uid == wanted.uid && entry.is_same_message(wanted))
}

#[cfg(test)]
mod tests {
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

    fn read_all(root: &tempfile::TempDir) -> Scan {
        scan(root.path(), &Stop::default()).unwrap()
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
        let skipped = read(root.path(), Place::Cur, &mut Vec::new(), &Stop::default());
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
    }

    #[test]
    fn a_file_that_was_renamed_meanwhile_is_seen_once() {
        let root = folder(&["cur/1000000001.a:2,S"]);
        let mut seen = Vec::new();
        read(root.path(), Place::Cur, &mut seen, &Stop::default()).unwrap();
        fs::rename(
            root.path().join("cur/1000000001.a:2,S"),
            root.path().join("cur/1000000001.a:2,RS"),
        )
        .unwrap();
        read(root.path(), Place::Cur, &mut seen, &Stop::default()).unwrap();
        assert_eq!(seen.len(), 2);
        let settled = settle(root.path(), seen);
        assert_eq!(settled.len(), 1);
        assert_eq!(settled[0].sharing, Sharing::Alone);
        assert_eq!(settled[0].flags().len(), 2);
    }

    #[test]
    fn a_folder_without_new_is_fine_and_one_without_cur_is_not() {
        let root = folder(&["cur/1000000001.a:2,S"]);
        fs::remove_dir(root.path().join("new")).unwrap();
        assert_eq!(read_all(&root).entries.len(), 1);
        fs::remove_dir_all(root.path().join("cur")).unwrap();
        assert!(scan(root.path(), &Stop::default()).is_err());
    }
}
