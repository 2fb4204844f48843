//! Messages as files, for whoever wants a path to one that lies at a server: in a directory of our own that nobody else
//! can read, under names that say nothing, and not for ever.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use mail::MessageRef;
use sha2::{Digest as _, Sha256};

/// All files together hold no more; the oldest go first.
const MOST_OCTETS: u64 = 512 << 20;
/// One that nobody asked for since is removed.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// One that was asked for just now stays, however full it is: its path may still be on its way.
const PROMISED: Duration = Duration::from_secs(10 * 60);

/// A directory of message files.
#[derive(Clone, Debug)]
pub struct Spool {
    directory: PathBuf,
    /// Names of files are made with it, so that no other process can compute one.
    key: [u8; 32],
    /// Whoever takes room takes it alone.
    taking: Arc<Mutex<()>>,
}

/// A message on its way into a file. Nothing of it is left where it is not finished.
pub(crate) struct Writing {
    file: File,
    unfinished: PathBuf,
    path: PathBuf,
    written: u64,
    finished: bool,
}

impl Spool {
    /// Makes nothing yet. Until it has a key it is there to be tidied.
    pub fn at(directory: PathBuf) -> Self {
        Self {
            directory,
            key: [0; 32],
            taking: Arc::default(),
        }
    }

    /// The same directory, with names that only this key leads to.
    pub(crate) fn keyed(self, key: [u8; 32]) -> Self {
        Self { key, ..self }
    }

    /// The file of a message of this size, if it is here already.
    pub(crate) fn get(&self, at: &MessageRef, size: Option<u64>) -> Option<PathBuf> {
        let path = self.path(at);
        let found = fs::symlink_metadata(&path).ok()?;
        let whole = found.is_file() && size == Some(found.len());
        // Asked for again, it stays.
        let used = File::options().append(true).open(&path).ok()?;
        let touched = used.set_modified(SystemTime::now());
        (whole && touched.is_ok()).then_some(path)
    }

    /// Fails where a message of this size has no room, and nothing may go for it.
    pub(crate) fn begin(&self, at: &MessageRef, size: u64) -> io::Result<Writing> {
        let _alone = self.taking.lock().unwrap_or_else(PoisonError::into_inner);
        make_private(&self.directory)?;
        if self.sweep(size) > MOST_OCTETS {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let path = self.path(at);
        let mut random = [0u8; 8];
        getrandom::fill(&mut random).map_err(|_| io::Error::other("no randomness"))?;
        let unfinished = self.directory.join(format!("{}.part", hex(&random)));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let writing = Writing {
            file: options.open(&unfinished)?,
            unfinished,
            path,
            written: 0,
            finished: false,
        };
        // The room is taken before it is filled, so that others see it.
        writing.file.set_len(size)?;
        Ok(writing)
    }

    /// INVARIANT: a name is made of a keyed digest alone: nothing that a stranger wrote is in it, and a caller that knows
    /// a message's reference cannot compute the path that another caller was given.
    fn path(&self, at: &MessageRef) -> PathBuf {
        let keyed = |text: &[u8]| Sha256::new().chain_update(self.key).chain_update(text);
        let digest = keyed(&keyed(at.to_string().as_bytes()).finalize()).finalize();
        self.directory.join(format!("{}.eml", hex(&digest)))
    }

    /// Removes what nobody asked for in a day, of this process or of one before it.
    pub fn tidy(&self) {
        self.sweep(0);
    }

    /// The old ones go, and what is too much once so many octets come. How many there are then.
    fn sweep(&self, coming: u64) -> u64 {
        // INVARIANT: nothing is removed that is not ours.
        let own = fs::symlink_metadata(&self.directory).is_ok_and(|found| found.is_dir());
        let entries = own.then(|| fs::read_dir(&self.directory).ok()).flatten();
        let entries = entries.into_iter().flatten();
        let now = SystemTime::now();
        let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
            .flatten()
            .filter(|entry| entry.file_name().to_str().is_some_and(is_ours))
            .filter_map(|entry| {
                let found = entry.metadata().ok().filter(fs::Metadata::is_file)?;
                Some((found.modified().ok()?, found.len(), entry.path()))
            })
            .collect();
        files.sort();
        let held: u64 = files.iter().map(|(_, octets, _)| octets).sum();
        let mut total = held.saturating_add(coming);
        for (used, octets, path) in files {
            let age = now.duration_since(used).unwrap_or_default();
            let too_much = total > MOST_OCTETS && age > PROMISED;
            if (age > KEPT || too_much) && fs::remove_file(path).is_ok() {
                total -= octets;
            }
        }
        total
    }
}

impl Writing {
    pub(crate) fn add(&mut self, octets: &[u8]) -> io::Result<()> {
        self.written += u64::try_from(octets.len()).unwrap_or(u64::MAX);
        self.file.write_all(octets)
    }

    pub(crate) fn finish(mut self) -> io::Result<PathBuf> {
        self.file.set_len(self.written)?;
        fs::rename(&self.unfinished, &self.path)?;
        self.finished = true;
        Ok(self.path.clone())
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        if !self.finished {
            let _ = fs::remove_file(&self.unfinished);
        }
    }
}

/// INVARIANT: a directory that others could write to would let them put their own files in place of mail.
fn make_private(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)?;
    let found = fs::symlink_metadata(directory)?;
    if !found.is_dir() {
        return Err(io::Error::other(
            "the place for message files is no directory",
        ));
    }
    #[cfg(unix)]
    if std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o077 != 0 {
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        fs::set_permissions(directory, private)?;
    }
    Ok(())
}

/// A name that is given here: of a message, or of one on its way.
fn is_ours(name: &str) -> bool {
    let (digits, length) = match name.split_once('.') {
        Some((digits, "eml")) => (digits, 64),
        Some((digits, "part")) => (digits, 16),
        _ => return false,
    };
    digits.len() == length && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(folder: &str, uid: u32) -> MessageRef {
        MessageRef::parse(&format!("imap:work:{folder}:1:{uid}")).unwrap()
    }

    fn put(spool: &Spool, at: &MessageRef, octets: &[u8]) -> PathBuf {
        let size = u64::try_from(octets.len()).unwrap();
        let mut writing = spool.begin(at, size).unwrap();
        writing.add(octets).unwrap();
        writing.finish().unwrap()
    }

    #[test]
    fn a_file_is_private_and_its_name_is_a_digest() {
        use std::os::unix::fs::PermissionsExt as _;
        let place = tempfile::tempdir().unwrap();
        let spool = Spool::at(place.path().join("messages"));
        let at = message("../../etc", 7);
        assert_eq!(spool.get(&at, Some(3)), None);
        let path = put(&spool, &at, b"abc");
        assert_eq!(path.parent(), Some(spool.directory.as_path()));
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(name.len() == 68 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'.'));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(&spool.directory)), (0o600, 0o700));
        assert_eq!(spool.get(&at, Some(3)), Some(path));
        // One of another size is another message, or not whole.
        assert_eq!(spool.get(&at, Some(4)), None);
        assert_eq!(spool.get(&message("INBOX", 7), Some(3)), None);
    }

    #[test]
    fn file_names_depend_on_the_installation_key() {
        let place = tempfile::tempdir().unwrap();
        let spool = |key: u8| Spool::at(place.path().to_owned()).keyed([key; 32]);
        let at = message("INBOX", 7);
        let path = put(&spool(1), &at, b"abc");
        assert_eq!(spool(1).get(&at, Some(3)), Some(path.clone()));
        assert_eq!(spool(2).get(&at, Some(3)), None);
        let plain = hex(&Sha256::digest(at.to_string().as_bytes()));
        assert!(!path.display().to_string().contains(&plain));
    }

    #[test]
    fn what_is_not_finished_leaves_nothing() {
        let place = tempfile::tempdir().unwrap();
        let spool = Spool::at(place.path().to_owned());
        let mut writing = spool.begin(&message("INBOX", 1), 4).unwrap();
        writing.add(b"half").unwrap();
        drop(writing);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }

    /// As if it had been asked for so long ago.
    fn age(path: &Path, age: Duration) {
        let file = File::options().append(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    }

    #[test]
    fn the_old_go() {
        let place = tempfile::tempdir().unwrap();
        let spool = Spool::at(place.path().to_owned());
        let (old, new) = (message("INBOX", 1), message("INBOX", 2));
        let path = put(&spool, &old, b"old");
        age(&path, KEPT + Duration::from_secs(60));
        let kept = put(&spool, &new, b"new");
        assert_eq!(spool.get(&old, Some(3)), None);
        assert_eq!(spool.get(&new, Some(3)), Some(kept.clone()));
        age(&kept, KEPT + Duration::from_secs(60));
        spool.tidy();
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_others_put_there_stays() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("messages");
        fs::create_dir(&directory).unwrap();
        let spool = Spool::at(directory.clone());
        let own = put(&spool, &message("INBOX", 1), b"own");
        let foreign = directory.join("letter.eml");
        fs::write(&foreign, b"somebody's").unwrap();
        // Through a link that stands in our place, nothing goes either.
        let linked = place.path().join("linked");
        std::os::unix::fs::symlink(&directory, &linked).unwrap();
        for path in [&own, &foreign] {
            age(path, KEPT + Duration::from_secs(60));
        }
        Spool::at(linked).tidy();
        assert!(own.exists() && foreign.exists());
        spool.tidy();
        assert!(!own.exists() && foreign.exists());
    }

    #[test]
    fn room_is_taken_before_it_is_filled() {
        let place = tempfile::tempdir().unwrap();
        let spool = Spool::at(place.path().to_owned());
        let half = MOST_OCTETS / 2 + 1;
        let mut first = spool.begin(&message("INBOX", 1), half).unwrap();
        let second = spool.begin(&message("INBOX", 2), half).map(drop);
        assert_eq!(second.unwrap_err().kind(), io::ErrorKind::StorageFull);
        first.add(b"less than was said").unwrap();
        let path = first.finish().unwrap();
        assert_eq!(fs::read(path).unwrap(), b"less than was said");
        spool.begin(&message("INBOX", 2), half).unwrap();
    }

    #[test]
    fn what_was_given_just_now_stays_however_full_it_is() {
        let place = tempfile::tempdir().unwrap();
        let spool = Spool::at(place.path().to_owned());
        let (first, second) = (message("INBOX", 1), message("INBOX", 2));
        let path = put(&spool, &first, b"");
        // A file with a hole: it has this size, and takes no room.
        let file = File::options().append(true).open(&path).unwrap();
        file.set_len(MOST_OCTETS).unwrap();
        drop(file);
        let full = spool.begin(&second, 1).map(drop);
        assert_eq!(full.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert!(path.exists());
        age(&path, PROMISED + Duration::from_secs(60));
        put(&spool, &second, b"b");
        assert!(!path.exists());
    }

    #[test]
    fn a_link_in_its_place_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let elsewhere = place.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        let before = fs::metadata(&elsewhere).unwrap().permissions();
        let linked = place.path().join("messages");
        std::os::unix::fs::symlink(&elsewhere, &linked).unwrap();
        assert!(Spool::at(linked).begin(&message("INBOX", 1), 1).is_err());
        assert_eq!(fs::metadata(&elsewhere).unwrap().permissions(), before);
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    }
}
