//! Opening a message's file: a regular file inside the folder or nothing, followed when it is renamed.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use content::Completeness;

use super::folders::{Make, Place};
use super::mbox::Unquoting;
use super::scan::{Entry, Scan, Sharing, find};
use super::sizes::{Of, Sizes};
use super::stamp::Stamp;
use super::work::Stop;
use crate::local::beneath::Beneath;
use crate::local::loaded::MOST_HEADER;
use crate::local::look::Look;
use crate::local::wire::{bare, on_the_wire};

const CHUNK: usize = 8 * 1024;
/// Files up to this size are read whole, of larger ones only the beginning.
pub(super) const MOST_WHOLE: u64 = 64 * 1024 * 1024;
/// Read at once of what is only counted.
const DRAINED: u64 = 64 * 1024;
/// A file that was written within this time may not be whole yet.
const FRESH: Duration = Duration::from_millis(2_500);
const MOST_AHEAD: Duration = Duration::from_mins(1);
/// One call looks for renamed files this often.
const MOST_RESCANS: usize = 4;

/// A folder whose messages are being opened.
pub(super) struct Shelf<'a> {
    place: Place,
    stop: &'a Stop,
    /// The folder's directory, as it was found when the first message was opened or the folder last read.
    directory: Option<Beneath>,
    sizes: Arc<Sizes>,
    fresh: Option<Scan>,
    rescans: usize,
}

/// An open message.
pub(super) struct Opened {
    /// As it was found in the end: flags may have changed since the scan.
    pub(super) entry: Entry,
    /// Octets of the file.
    pub(super) stored: u64,
    pub(super) age: Age,
    lies: Lies,
    wire: Wire,
    sizes: Arc<Sizes>,
    /// What it is, where nobody may still be writing it.
    of: Option<Of>,
}

/// What was read so far, as it goes over the wire.
#[derive(Default)]
struct Wire {
    octets: u64,
    last: Option<u8>,
}

impl Wire {
    fn add(&mut self, bytes: &[u8]) {
        self.octets += length(bytes) + bare(bytes, self.last);
        self.last = bytes.last().copied().or(self.last);
    }
}

/// Whether somebody may still be writing it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Age {
    /// Of a file that was written a moment ago. QUIRK: mail is delivered by a rename, and copied by people who do not.
    Fresh,
    Settled,
}

/// Where its octets come from.
enum Lies {
    Alone(File),
    Among(Box<Unquoting>),
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
    pub(super) fn new(place: Place, stop: &'a Stop) -> Self {
        Self {
            place,
            stop,
            directory: None,
            sizes: Arc::default(),
            fresh: None,
            rescans: 0,
        }
    }

    /// With sizes that were counted before.
    pub(super) fn counting(self, sizes: Arc<Sizes>) -> Self {
        Self { sizes, ..self }
    }

    /// `None` when the message is gone. Another program may rename it between the scan and here; one that does so all the
    /// time is a fault, and no message that is not there.
    pub(super) fn open(&mut self, wanted: &Entry) -> io::Result<Option<Opened>> {
        self.stop.check()?;
        if let Some(opened) = self.attempt(wanted)? {
            return Ok(Some(opened));
        }
        loop {
            let rested = self
                .fresh
                .as_ref()
                .is_some_and(|scan| scan.stamps.is_some());
            let known = self.fresh.as_ref().and_then(|scan| find(scan, wanted));
            match known.cloned() {
                Some(entry) if entry.sharing == Sharing::Alone => {
                    if let Some(opened) = self.attempt(&entry)? {
                        return Ok(Some(opened));
                    }
                }
                // A folder that changes while it is read may have it all the same.
                None if rested => return Ok(None),
                _ => {}
            }
            if self.rescans == MOST_RESCANS {
                return Err(io::ErrorKind::ResourceBusy.into());
            }
            self.rescans += 1;
            self.directory = None;
            self.fresh = Some(self.place.read(self.stop)?);
        }
    }

    /// Opens it and reads of it, again if it was written to meanwhile. `None` when it is gone.
    pub(super) fn read<T>(
        &mut self,
        wanted: &Entry,
        mut read: impl FnMut(&mut Opened) -> io::Result<T>,
    ) -> io::Result<Option<T>> {
        loop {
            let Some(mut opened) = self.open(wanted)? else {
                return Ok(None);
            };
            match read(&mut opened) {
                Err(error)
                    if error.kind() == io::ErrorKind::ResourceBusy
                        && self.rescans < MOST_RESCANS => {}
                other => return other.map(Some),
            }
        }
    }

    /// INVARIANT: what is opened is a regular file inside the folder, and never what a link leads to, whenever that is put
    /// there.
    fn attempt(&mut self, entry: &Entry) -> io::Result<Option<Opened>> {
        let (file, data) = match self.file(entry) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        let written = age(&data);
        let begin = entry.within().map_or(0, |slice| slice.begin);
        let of = match written {
            Age::Settled => Some((Stamp::told(&Look::of(&file)?), begin)),
            Age::Fresh => None,
        };
        let (lies, size, age) = match entry.within() {
            None => (Lies::Alone(file), data.len(), written),
            Some(slice) => match Unquoting::open(file, slice)? {
                Some(slices) => (Lies::Among(Box::new(slices)), slice.size, Age::Settled),
                None => return Ok(None),
            },
        };
        Ok(Some(Opened {
            entry: entry.clone(),
            stored: size,
            age,
            lies,
            wire: Wire::default(),
            sizes: Arc::clone(&self.sizes),
            of,
        }))
    }

    fn file(&mut self, entry: &Entry) -> io::Result<(File, Metadata)> {
        if self.place.make == Make::Mbox {
            return self.place.store.file(&self.place.path);
        }
        let directory = match self.directory.take() {
            Some(directory) => directory,
            None => self.place.directory()?,
        };
        self.directory.insert(directory).file(&entry.path())
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
        let text_truncated = self.stored > length(&header) + length(&text) || text.len() > wanted;
        text.truncate(wanted);
        let fits = end.is_some_and(|end| end <= MOST_HEADER) || self.stored <= length(&header);
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
        let expected = usize::try_from(self.stored.min(most)).unwrap_or_default();
        let mut bytes = Vec::with_capacity(expected);
        self.lies.read(most, &mut bytes)?;
        self.wire.add(&bytes);
        Ok(Bytes::from(bytes))
    }

    /// Octets of the message with each line ended by CRLF, which is how every other store counts them. Reads what was not
    /// read yet, unless they were counted before: nothing follows.
    ///
    /// QUIRK: a file that is too large to be read counts as it lies there.
    pub(super) fn wire_size(&mut self) -> io::Result<u64> {
        if self.stored > MOST_WHOLE {
            return Ok(self.stored);
        }
        if let Some(octets) = self.of.and_then(|of| self.sizes.get(&of)) {
            return Ok(octets);
        }
        while !self.bytes(DRAINED)?.is_empty() {}
        if let Some(of) = self.of.filter(|(stamp, _)| self.lies.is_still(stamp)) {
            self.sizes.keep(of, self.wire.octets);
        }
        Ok(self.wire.octets)
    }

    fn more(&mut self, into: &mut Vec<u8>, most: usize) -> io::Result<usize> {
        let most = u64::try_from(most).unwrap_or(u64::MAX);
        let before = into.len();
        let read = self.lies.read(most, into)?;
        self.wire.add(into.get(before..).unwrap_or_default());
        Ok(read)
    }
}

impl Beginning {
    /// Each line ended by CRLF; of the text no more octets than were asked for.
    pub(super) fn on_the_wire(mut self, wanted: usize) -> Self {
        self.header = on_the_wire(self.header);
        self.text = on_the_wire(self.text);
        self.text_truncated |= self.text.len() > wanted;
        self.text.truncate(wanted);
        self
    }
}

impl Lies {
    /// INVARIANT: what was read out of a file with others is part of one message, though the file is written to meanwhile.
    fn read(&mut self, most: u64, into: &mut Vec<u8>) -> io::Result<usize> {
        match self {
            Self::Alone(file) => file.take(most).read_to_end(into),
            Self::Among(slice) => {
                let read = slice.as_mut().take(most).read_to_end(into)?;
                match slice.is_unchanged() {
                    true => Ok(read),
                    false => Err(io::ErrorKind::ResourceBusy.into()),
                }
            }
        }
    }

    /// Nobody wrote to it.
    fn is_still(&self, stamp: &Stamp) -> bool {
        match self {
            Self::Alone(file) => Look::of(file).is_ok_and(|look| Stamp::told(&look) == *stamp),
            Self::Among(slice) => slice.is_unchanged(),
        }
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

fn age(data: &Metadata) -> Age {
    let now = SystemTime::now();
    let fresh = match data.modified().map(|written| now.duration_since(written)) {
        Ok(Ok(ago)) => ago < FRESH,
        // From a clock that goes ahead, or a time that means nothing.
        Ok(Err(ahead)) => ahead.duration() < MOST_AHEAD,
        Err(_) => false,
    };
    match fresh {
        true => Age::Fresh,
        false => Age::Settled,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn place(root: &tempfile::TempDir) -> Place {
        Place::inbox(root.path())
    }

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
        let scan = place(root).read(&Stop::default()).unwrap();
        scan.entries[0].clone()
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
            let mut shelf = Shelf::new(place(&root), &stop);
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
        let mut shelf = Shelf::new(place(&root), &stop);
        let mut opened = shelf.open(&entry).unwrap().unwrap();
        assert_eq!(opened.entry.flags().len(), 2);
        assert_eq!(opened.bytes(1_000).unwrap(), "a: b\n\nhello");
        fs::remove_file(renamed).unwrap();
        let mut shelf = Shelf::new(place(&root), &stop);
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
        let mut shelf = Shelf::new(place(&root), &stop);
        assert!(shelf.open(&entry).unwrap().is_none());
    }

    /// The folder is listed, then another program puts links where it was, and then its messages are opened.
    #[cfg(unix)]
    #[test]
    fn a_link_put_in_the_place_of_a_directory_is_not_followed() {
        let stop = Stop::default();
        let name = "1000000001.a:2,";
        for (path, swapped) in [
            ("", "cur"),
            (".Work", ".Work"),
            (".Work", ".Work/cur"),
            ("work/sent", "work"),
            ("work/sent", "work/sent/cur"),
        ] {
            let home = tempfile::tempdir().unwrap();
            for store in ["mail", "outside"] {
                let folder = home.path().join(store).join(path);
                fs::create_dir_all(folder.join("cur")).unwrap();
                fs::write(folder.join("cur").join(name), format!("a: {store}\n\n")).unwrap();
            }
            let root = home.path().join("mail");
            let place = Place::new("x", &root, path, Make::Maildir);
            let scan = place.read(&stop).unwrap();
            let text = |shelf: &mut Shelf<'_>| {
                let opened = shelf.read(&scan.entries[0], |opened| opened.bytes(1_000));
                opened.ok().flatten()
            };
            // One that has the folder open already, and one that has not.
            let mut before = Shelf::new(place.clone(), &stop);
            assert_eq!(text(&mut before).unwrap(), "a: mail\n\n");
            let mut after = Shelf::new(place.clone(), &stop);
            let (here, away) = (root.join(swapped), home.path().join("away"));
            fs::rename(&here, away).unwrap();
            std::os::unix::fs::symlink(home.path().join("outside").join(swapped), &here).unwrap();
            let still = text(&mut before);
            assert!(
                still.is_none_or(|text| text == "a: mail\n\n"),
                "{path} {swapped}"
            );
            assert!(text(&mut after).is_none(), "{path} {swapped}");
            assert!(place.read(&stop).map_or(0, |scan| scan.entries.len()) == 0);
        }
    }
}
