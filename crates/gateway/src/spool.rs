//! Messages as files, for whoever wants a path to one that lies at a server: in a directory of our own that nobody else
//! can read, under names that say nothing, and not for ever.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use mail::MessageRef;
use sha2::{Digest as _, Sha256};

/// All files together hold no more; the oldest go first.
const MOST_OCTETS: u64 = 512 << 20;
/// One that nobody asked for since is removed.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// A directory of message files.
#[derive(Clone, Debug)]
pub struct Spool {
    directory: PathBuf,
}

/// A message on its way into a file. Nothing of it is left where it is not finished.
pub(crate) struct Writing {
    file: File,
    unfinished: PathBuf,
    path: PathBuf,
    finished: bool,
}

impl Spool {
    /// Makes nothing yet.
    pub fn at(directory: PathBuf) -> Self {
        Self { directory }
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

    pub(crate) fn begin(&self, at: &MessageRef) -> io::Result<Writing> {
        make_private(&self.directory)?;
        self.sweep();
        let path = self.path(at);
        let mut random = [0u8; 8];
        getrandom::fill(&mut random).map_err(|_| io::Error::other("no randomness"))?;
        let unfinished = self.directory.join(format!("{}.part", hex(&random)));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Ok(Writing {
            file: options.open(&unfinished)?,
            unfinished,
            path,
            finished: false,
        })
    }

    /// INVARIANT: a name is made of a digest alone, never of anything that a stranger wrote.
    fn path(&self, at: &MessageRef) -> PathBuf {
        let digest = Sha256::digest(at.to_string().as_bytes());
        self.directory.join(format!("{}.eml", hex(&digest)))
    }

    /// The old ones go, and what is too much.
    fn sweep(&self) {
        let Ok(entries) = fs::read_dir(&self.directory) else {
            return;
        };
        let now = SystemTime::now();
        let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
            .flatten()
            .filter_map(|entry| {
                let found = entry.metadata().ok().filter(fs::Metadata::is_file)?;
                Some((found.modified().ok()?, found.len(), entry.path()))
            })
            .collect();
        files.sort();
        let mut total: u64 = files.iter().map(|(_, octets, _)| octets).sum();
        for (used, octets, path) in files {
            let old = now.duration_since(used).is_ok_and(|age| age > KEPT);
            if !old && total <= MOST_OCTETS {
                break;
            }
            if fs::remove_file(path).is_ok() {
                total -= octets;
            }
        }
    }
}

impl Writing {
    pub(crate) fn add(&mut self, octets: &[u8]) -> io::Result<()> {
        self.file.write_all(octets)
    }

    pub(crate) fn finish(mut self) -> io::Result<PathBuf> {
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
    #[cfg(unix)]
    if std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o077 != 0 {
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        fs::set_permissions(directory, private)?;
    }
    match found.is_dir() {
        true => Ok(()),
        false => Err(io::Error::other(
            "the place for message files is no directory",
        )),
    }
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
        let mut writing = spool.begin(at).unwrap();
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
    fn what_is_not_finished_leaves_nothing() {
        let place = tempfile::tempdir().unwrap();
        let spool = Spool::at(place.path().to_owned());
        let mut writing = spool.begin(&message("INBOX", 1)).unwrap();
        writing.add(b"half").unwrap();
        drop(writing);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_old_go() {
        let place = tempfile::tempdir().unwrap();
        let spool = Spool::at(place.path().to_owned());
        let (old, new) = (message("INBOX", 1), message("INBOX", 2));
        let path = put(&spool, &old, b"old");
        let then = SystemTime::now() - KEPT - Duration::from_secs(60);
        let file = File::options().append(true).open(&path).unwrap();
        file.set_modified(then).unwrap();
        let kept = put(&spool, &new, b"new");
        drop(spool.begin(&message("INBOX", 3)).unwrap());
        assert_eq!(spool.get(&old, Some(3)), None);
        assert_eq!(spool.get(&new, Some(3)), Some(kept));
    }
}
