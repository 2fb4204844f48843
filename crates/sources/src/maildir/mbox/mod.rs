//! A file of many messages, read as a folder: where each of them lies, and what its number is.
//!
//! mboxrd, mboxo and mboxcl2. The file is neither locked nor changed, and never in memory: it is read once from end to end
//! whenever it changed, and then each message from where it lies.

mod cut;
mod internal;
mod lines;
mod separator;
mod status;
mod unquote;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Read as _};
use std::path::Path;

use mail::{Flag, Uid};
use sha2::{Digest as _, Sha256};

use super::scan::{Entry, Scan, Settled, settled};
use super::stamp::{Stamp, Stamps};
use super::work::Stop;
use crate::local::beneath::Beneath;
use crate::local::look::Look;
use cut::{Cut, Cutter};
pub(super) use unquote::Unquoting;

/// A file that changes under our eyes is read again this often.
const MOST_READS: usize = 3;
const BUFFER: usize = 256 * 1024;
/// Enough for the line that tells an mbox file.
const FIRST_LINE: u64 = 1_024;

/// Where a message lies in its file, and what was read of it on the way.
#[derive(Clone, Debug)]
pub(super) struct Slice {
    /// Where its `From ` line begins.
    pub(super) separator: u64,
    /// Where its header begins.
    pub(super) begin: u64,
    pub(super) end: u64,
    /// Without the quoting of `From `.
    pub(super) size: u64,
    pub(super) quoting: Quoting,
    pub(super) flags: Vec<Flag>,
    /// How many messages before it came in the same second.
    pub(super) nth_of_second: i64,
    pub(super) key: Key,
    /// Of the file in which all this is so.
    pub(super) of: Stamp,
}

/// What stays the same when others are added or taken away, flags change, or the file is written anew: the first octets
/// of a digest over what nobody changes, and which of several that are the same it is.
pub(super) type Key = [u8; 20];

/// How lines that begin with `From ` are kept from cutting a message in two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Quoting {
    /// QUIRK: mboxrd puts a `>` before `From `, `>From `, `>>From ` and so on, mboxo before the first of these alone. They
    /// cannot be told apart; one `>` is taken away, as mboxrd wants it.
    Prefixed,
    /// mboxcl2: the length is told by the header, and nothing is quoted.
    Verbatim,
}

/// Whether the file begins as an mbox file does. An empty one does not.
pub(super) fn is_mbox(store: &Beneath, path: &Path) -> bool {
    let Ok((file, _)) = store.file(path) else {
        return false;
    };
    let mut begin = Vec::new();
    let read = file.take(FIRST_LINE).read_to_end(&mut begin);
    read.is_ok() && separator::begins(&begin)
}

pub(super) fn stamps(store: &Beneath, path: &Path) -> Stamps {
    let look = store.look(path);
    Stamps([None, look.ok().map(|look| Stamp::told(&look))])
}

/// Reads the file from end to end.
pub(super) fn scan(store: &Beneath, path: &Path, stop: &Stop) -> io::Result<Scan> {
    let mut found = Settled::default();
    let mut rested = None;
    for _ in 0..MOST_READS {
        let (file, _) = store.file(path)?;
        let before = Stamp::told(&Look::of(&file)?);
        let (probe, _) = store.file(path)?;
        found = entries(cut(file, probe, stop)?, before);
        let after = stamps(store, path);
        if after == Stamps([None, Some(before)]) {
            rested = Some(after);
            break;
        }
    }
    Ok(Scan::new(found, rested))
}

fn cut(file: File, probe: File, stop: &Stop) -> io::Result<Vec<Cut>> {
    let mut cutter = Cutter::new(probe);
    let mut reader = BufReader::with_capacity(BUFFER, file);
    lines::each(&mut reader, stop, |line| cutter.take(&line))?;
    cutter.end()
}

fn entries(cuts: Vec<Cut>, of: Stamp) -> Settled {
    let mut alike: HashMap<[u8; 16], u32> = HashMap::with_capacity(cuts.len());
    let mut seconds: HashMap<i64, i64> = HashMap::new();
    let mut found = Vec::with_capacity(cuts.len());
    for cut in cuts {
        let before = alike.entry(cut.identity).or_default();
        let key = key(cut.identity, *before);
        *before += 1;
        let nth = seconds.entry(cut.sent).or_default();
        let slice = Slice {
            separator: cut.separator,
            begin: cut.begin,
            end: cut.end,
            size: cut.size,
            quoting: cut.quoting,
            flags: cut.flags,
            nth_of_second: (*nth).min(999_999),
            key,
            of,
        };
        *nth += 1;
        found.push(Entry::slice(uid(&key), cut.sent, slice));
    }
    settled(found, |_| true)
}

fn key(identity: [u8; 16], nth: u32) -> Key {
    let mut key = Key::default();
    let bytes = identity.into_iter().chain(nth.to_be_bytes());
    key.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
    key
}

/// A number for it, the same on every run and machine, never zero. Two messages may have the same by chance; a sender does not
/// know what delivery writes into the header, and so cannot choose it.
pub(super) fn uid(key: &Key) -> Uid {
    let digest = Sha256::digest(key);
    let number = digest.iter().take(4).fold(0u32, |number, byte| {
        number.wrapping_shl(8) | u32::from(*byte)
    });
    Uid(number.max(1))
}

#[cfg(test)]
mod tests;
