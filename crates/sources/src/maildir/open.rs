//! Opening a message's file: a regular file inside the folder or nothing, followed when it is renamed.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use content::Completeness;

use super::scan::{Entry, Scan, Sharing, find, scan};
use super::work::Stop;
use crate::local::loaded::MOST_HEADER;

const CHUNK: usize = 8 * 1024;
/// One call looks for renamed files this often.
const MOST_RESCANS: usize = 4;

/// A folder whose messages are being opened.
pub(super) struct Shelf<'a> {
    directory: PathBuf,
    stop: &'a Stop,
    fresh: Option<Scan>,
    rescans: usize,
}

/// An open message.
pub(super) struct Opened {
    /// As it was found in the end: flags may have changed since the scan.
    pub(super) entry: Entry,
    pub(super) size: u64,
    file: File,
}

/// The beginning of a file.
pub(super) struct Beginning {
    /// The header block with its blank line, as far as it fits.
    pub(super) header: Bytes,
    pub(super) header_whole: Completeness,
    /// What was asked for of the text.
    pub(super) text: Bytes,
    pub(super) text_truncated: bool,
}

impl<'a> Shelf<'a> {
    pub(super) fn new(directory: PathBuf, stop: &'a Stop) -> Self {
        Self {
            directory,
            stop,
            fresh: None,
            rescans: 0,
        }
    }

    /// `None` when the message is gone. Another program may rename it between the scan and here.
    pub(super) fn open(&mut self, wanted: &Entry) -> io::Result<Option<Opened>> {
        self.stop.check()?;
        if let Some(opened) = attempt(&self.directory, wanted)? {
            return Ok(Some(opened));
        }
        if let Some(opened) = self.reopen(wanted)? {
            return Ok(Some(opened));
        }
        while self.rescans < MOST_RESCANS {
            self.rescans += 1;
            self.fresh = Some(scan(&self.directory, self.stop)?);
            let still_there = self.fresh.as_ref().and_then(|fresh| find(fresh, wanted));
            if still_there.is_none() {
                return Ok(None);
            }
            if let Some(opened) = self.reopen(wanted)? {
                return Ok(Some(opened));
            }
        }
        Ok(None)
    }

    fn reopen(&self, wanted: &Entry) -> io::Result<Option<Opened>> {
        let known = self.fresh.as_ref().and_then(|fresh| find(fresh, wanted));
        match known.filter(|entry| entry.sharing == Sharing::Alone) {
            Some(entry) => attempt(&self.directory, entry),
            None => Ok(None),
        }
    }
}

impl Opened {
    /// The header, and `wanted` bytes of what follows it.
    pub(super) fn beginning(&mut self, wanted: usize) -> io::Result<Beginning> {
        let mut bytes = Vec::with_capacity(CHUNK);
        let mut end = None;
        while end.is_none() && bytes.len() < MOST_HEADER {
            let from = bytes.len().saturating_sub(2);
            if self.more(&mut bytes, CHUNK)? == 0 {
                break;
            }
            end = header_end(&bytes, from);
        }
        let cut = end.unwrap_or(bytes.len()).min(MOST_HEADER);
        let missing = cut.saturating_add(wanted).saturating_sub(bytes.len());
        if wanted > 0 && missing > 0 {
            self.more(&mut bytes, missing)?;
        }
        let mut header = Bytes::from(bytes);
        let mut text = header.split_off(cut);
        let text_truncated = self.size > length(&header) + length(&text) || text.len() > wanted;
        text.truncate(wanted);
        let fits = end.is_some_and(|end| end <= MOST_HEADER) || self.size <= length(&header);
        Ok(Beginning {
            header_whole: match fits {
                true => Completeness::Complete,
                false => Completeness::Cut,
            },
            header,
            text,
            text_truncated,
        })
    }

    /// Up to `most` bytes from where reading stands.
    pub(super) fn bytes(&mut self, most: u64) -> io::Result<Bytes> {
        let expected = usize::try_from(self.size.min(most)).unwrap_or_default();
        let mut bytes = Vec::with_capacity(expected);
        (&mut self.file).take(most).read_to_end(&mut bytes)?;
        Ok(Bytes::from(bytes))
    }

    fn more(&mut self, into: &mut Vec<u8>, most: usize) -> io::Result<usize> {
        let most = u64::try_from(most).unwrap_or(u64::MAX);
        (&mut self.file).take(most).read_to_end(into)
    }
}

/// Behind the first empty line at or after `from`; a header that begins empty ends at once.
pub(super) fn header_end(bytes: &[u8], from: usize) -> Option<usize> {
    if bytes.starts_with(b"\n") {
        return Some(1);
    }
    if bytes.starts_with(b"\r\n") {
        return Some(2);
    }
    let mut at = from;
    loop {
        let rest = bytes.get(at..)?;
        at += rest.iter().position(|b| *b == b'\n')? + 1;
        match bytes.get(at..)? {
            [b'\n', ..] => return Some(at + 1),
            [b'\r', b'\n', ..] => return Some(at + 2),
            _ => {}
        }
    }
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

fn attempt(directory: &Path, entry: &Entry) -> io::Result<Option<Opened>> {
    match open_regular(&entry.path(directory)) {
        Ok((file, data)) => Ok(Some(Opened {
            entry: entry.clone(),
            size: data.len(),
            file,
        })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// INVARIANT: what is opened is the regular file that lies there, never what a symbolic link points to,
/// even if the link appears between looking and opening.
fn open_regular(path: &Path) -> io::Result<(File, Metadata)> {
    let looked_at = fs::symlink_metadata(path)?;
    if !looked_at.is_file() {
        return Err(io::ErrorKind::NotFound.into());
    }
    let file = File::open(path)?;
    let opened = file.metadata()?;
    if !is_same_file(&looked_at, &opened) {
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok((file, opened))
}

#[cfg(unix)]
fn is_same_file(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
fn is_same_file(_: &Metadata, b: &Metadata) -> bool {
    b.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for place in ["cur", "new"] {
            fs::create_dir(root.path().join(place)).unwrap();
        }
        for (file, text) in files {
            fs::write(root.path().join(file), text).unwrap();
        }
        root
    }

    fn only(root: &tempfile::TempDir) -> Entry {
        scan(root.path(), &Stop::default()).unwrap().entries[0].clone()
    }

    #[test]
    fn headers_end_at_the_empty_line() {
        for (bytes, want) in [
            ("a: b\n\nbody", Some(6)),
            ("a: b\r\n\r\nbody", Some(8)),
            ("a: b\n\r\nbody", Some(7)),
            ("\nbody", Some(1)),
            ("\r\nbody", Some(2)),
            ("a: b\n", None),
            ("a: b\n\r", None),
            ("", None),
        ] {
            assert_eq!(header_end(bytes.as_bytes(), 0), want, "{bytes:?}");
        }
    }

    #[test]
    fn beginnings_of_messages() {
        let long = format!("a: {}\n\n{}", "x".repeat(CHUNK - 4), "y".repeat(100));
        let endless = "z".repeat(MOST_HEADER + 10);
        for (text, wanted, header, body, truncated) in [
            ("a: b\n\nhello", 3, 6, "hel", true),
            ("a: b\n\nhello", 5, 6, "hello", false),
            ("a: b\n\nhello", 0, 6, "", true),
            ("a: b\n\n", 10, 6, "", false),
            ("a: b\n", 10, 5, "", false),
            ("", 10, 0, "", false),
            (long.as_str(), 2, CHUNK + 1, "yy", true),
            (endless.as_str(), 4, MOST_HEADER, "zzzz", true),
        ] {
            let root = folder(&[("cur/1000000001.a:2,", text)]);
            let stop = Stop::default();
            let mut shelf = Shelf::new(root.path().to_owned(), &stop);
            let mut opened = shelf.open(&only(&root)).unwrap().unwrap();
            let found = opened.beginning(wanted).unwrap();
            assert_eq!(found.header.len(), header);
            let cut = found.header_whole == Completeness::Cut;
            assert_eq!(cut, text.starts_with('z'));
            assert_eq!(found.text, body.as_bytes());
            assert_eq!(found.text_truncated, truncated);
        }
    }

    #[test]
    fn a_renamed_message_is_followed_and_a_removed_one_is_gone() {
        let root = folder(&[("new/1000000001.a", "a: b\n\nhello")]);
        let stop = Stop::default();
        let entry = only(&root);
        let renamed = root.path().join("cur/1000000001.a:2,RS");
        fs::rename(root.path().join("new/1000000001.a"), &renamed).unwrap();
        let mut shelf = Shelf::new(root.path().to_owned(), &stop);
        let mut opened = shelf.open(&entry).unwrap().unwrap();
        assert_eq!(opened.entry.flags().len(), 2);
        assert_eq!(opened.bytes(1_000).unwrap(), "a: b\n\nhello");
        fs::remove_file(renamed).unwrap();
        let mut shelf = Shelf::new(root.path().to_owned(), &stop);
        assert!(shelf.open(&entry).unwrap().is_none());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_put_in_the_place_of_a_message_is_not_followed() {
        let root = folder(&[("cur/1000000001.a:2,", "a: b\n\nhello")]);
        let entry = only(&root);
        let path = root.path().join("cur/1000000001.a:2,");
        fs::remove_file(&path).unwrap();
        fs::write(root.path().join("secret"), "no mail").unwrap();
        std::os::unix::fs::symlink(root.path().join("secret"), &path).unwrap();
        let stop = Stop::default();
        let mut shelf = Shelf::new(root.path().to_owned(), &stop);
        assert!(shelf.open(&entry).unwrap().is_none());
    }
}
