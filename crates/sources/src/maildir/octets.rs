//! A message as it goes over the wire: the octets of its file, each line ended by CRLF, piece by piece.
//!
//! A file may end its lines by LF alone (most do); mail does not (RFC 5322 section 2.3), and a server that is sent such a
//! message stores another one than it was sent.

use std::io;

use bytes::Bytes;
use mail::{Fault, FolderName, Uid, Witness};

use super::catalog::Catalog;
use super::message;
use super::open::Opened;
use super::work::Stop;
use crate::beginning::{Digesting, message_id};
use crate::local::wire::with_crlf;

/// So much of a file is read at once.
const CHUNK: u64 = 256 << 10;

/// So many octets of a message are handed out; the digest covers as many as are asked for.
const MOST_SHOWN: usize = 1 << 20;

/// What a message is now, and its beginning.
pub(super) fn look(
    catalog: &Catalog,
    folder: &FolderName,
    uid: Uid,
    octets: u64,
    stop: &Stop,
) -> Result<(Witness, Bytes), Fault> {
    message::read(catalog, folder, uid, stop, |opened| {
        let mut digesting = Digesting::default();
        let mut shown = Vec::new();
        let size = each_piece(opened, stop, |piece| {
            let left = octets.saturating_sub(digesting.octets());
            let left = usize::try_from(left).unwrap_or(usize::MAX);
            let taken = piece.get(..left).unwrap_or(piece);
            digesting.take(taken);
            let room = MOST_SHOWN.saturating_sub(shown.len());
            shown.extend_from_slice(taken.get(..room).unwrap_or(taken));
            Reading::On
        })?;
        let shown = Bytes::from(shown);
        let witness = Witness {
            store_id: None,
            flags: Some(opened.entry.flags()),
            arrived: opened.entry.arrived(),
            size: Some(size),
            message_id: message_id(&shown, Some(size)),
            digest: (octets > 0).then(|| digesting.end()),
        };
        Ok((witness, shown))
    })
}

/// Octets from the middle.
pub(super) fn octets(
    catalog: &Catalog,
    folder: &FolderName,
    uid: Uid,
    from: u64,
    most: u32,
    stop: &Stop,
) -> Result<Bytes, Fault> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    message::read(catalog, folder, uid, stop, |opened| {
        let (mut skip, mut taken) = (from, Vec::new());
        each_piece(opened, stop, |piece| {
            let length = u64::try_from(piece.len()).unwrap_or(u64::MAX);
            let begin = usize::try_from(skip.min(length)).unwrap_or(piece.len());
            skip -= skip.min(length);
            let rest = piece.get(begin..).unwrap_or_default();
            let room = most.saturating_sub(taken.len());
            taken.extend_from_slice(rest.get(..room).unwrap_or(rest));
            match taken.len() < most {
                true => Reading::On,
                false => Reading::Enough,
            }
        })?;
        Ok(Bytes::from(taken))
    })
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reading {
    On,
    Enough,
}

/// Reads to the end, or until it is enough; how many octets that were.
fn each_piece(
    opened: &mut Opened,
    stop: &Stop,
    mut take: impl FnMut(&[u8]) -> Reading,
) -> io::Result<u64> {
    let mut total = 0;
    let mut last = None;
    loop {
        stop.check()?;
        let chunk = opened.bytes(CHUNK)?;
        if chunk.is_empty() {
            return Ok(total);
        }
        let piece = with_crlf(&chunk, last);
        last = chunk.last().copied();
        total += u64::try_from(piece.len()).unwrap_or_default();
        if take(&piece) == Reading::Enough {
            return Ok(total);
        }
    }
}
