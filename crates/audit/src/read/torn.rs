//! The bytes that were set aside after a crash: they are there, they are the same, and no record hides in them.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::lines::{Lines, Piece};
use crate::{Hash, Line};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kept {
    /// As stated, and nothing of worth.
    Same,
    /// Not there any more.
    Gone,
    Changed,
    /// So many whole records, with their line feeds.
    Records(u64),
}

pub(super) fn look(dir: &Path, kept_as: &str, bytes: u64, sha256: Hash) -> Kept {
    if !is_name(kept_as) {
        return Kept::Changed;
    }
    match read(&dir.join(kept_as)) {
        Ok(found) if found.bytes != bytes || found.sha256 != sha256 => Kept::Changed,
        Ok(found) if found.records > 0 => Kept::Records(found.records),
        Ok(_) => Kept::Same,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Kept::Gone,
        Err(_) => Kept::Changed,
    }
}

/// `2026-11-15.torn-1`: of this directory, whatever a log may say.
fn is_name(text: &str) -> bool {
    let parts = text.split_once(".torn-");
    parts.is_some_and(|(day, number)| {
        crate::Day::parse(day).is_some() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

struct Found {
    bytes: u64,
    sha256: Hash,
    records: u64,
}

fn read(path: &Path) -> io::Result<Found> {
    let mut seen = Hashed {
        file: File::open(path)?,
        bytes: 0,
        hash: Sha256::new(),
    };
    let mut records = 0;
    let mut lines = Lines::new(&mut seen);
    while lines.advance()? {
        // A write may be torn right before its line feed: what stands behind the last one was not written to its end.
        let Piece::Line(line) = lines.piece() else {
            continue;
        };
        records += u64::from(Line::parse(line).is_ok_and(|line| line.is_whole()));
    }
    drop(lines);
    Ok(Found {
        bytes: seen.bytes,
        sha256: Hash::from_bytes(seen.hash.finalize().into()),
        records,
    })
}

struct Hashed {
    file: File,
    bytes: u64,
    hash: Sha256,
}

impl Read for Hashed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.hash.update(buffer.get(..count).unwrap_or_default());
        self.bytes += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Place;

    #[test]
    fn what_was_set_aside_is_looked_at() {
        let dir = tempfile::tempdir().unwrap();
        let mut record = Vec::new();
        let place = Place {
            seq: 3,
            ts: jiff::Timestamp::UNIX_EPOCH,
            prev: Hash::ZERO,
        };
        crate::line::write(&mut record, &place, "call", b"");
        let hidden = [b"xx\n".as_slice(), &record].concat();
        let unended = record.strip_suffix(b"\n").unwrap();
        let cases: [(&str, &[u8], Kept); 6] = [
            ("2026-11-15.torn-0", b"{\"seq\":1", Kept::Same),
            ("2026-11-15.torn-1", &[0; 5000], Kept::Same),
            ("2026-11-15.torn-2", &hidden, Kept::Records(1)),
            ("2026-11-15.torn-3", unended, Kept::Same),
            (
                "2026-11-15.torn-4",
                &[&record[..], unended].concat(),
                Kept::Records(1),
            ),
            ("2026-11-15.torn-x", b"", Kept::Changed),
        ];
        for (name, bytes, expected) in cases {
            std::fs::write(dir.path().join(name), bytes).unwrap();
            let (length, hash) = (bytes.len() as u64, Hash::of_bytes(bytes));
            assert_eq!(look(dir.path(), name, length, hash), expected, "{name}");
            if expected == Kept::Same {
                assert_eq!(look(dir.path(), name, length, Hash::ZERO), Kept::Changed);
                assert_eq!(look(dir.path(), name, 1, hash), Kept::Changed);
            }
        }
        let gone = look(dir.path(), "2026-11-15.torn-9", 0, Hash::ZERO);
        assert_eq!(gone, Kept::Gone);
        let outside = look(dir.path(), "../2026-11-15.torn-0", 0, Hash::ZERO);
        assert_eq!(outside, Kept::Changed);
    }
}
