//! One message as others ask for it: its bytes, its beginning with a digest, octets from its middle.

use bytes::Bytes;
use mail::{Fault, FolderName, MessageRef, RawMessage, Uid, Witness};

use super::visit::{Visit, not_downloaded, read_fault};
use crate::beginning::{Digesting, message_id};
use crate::local::loaded::Loaded;

/// So many octets of a message are handed out; the digest covers as many as are asked for.
const MOST_SHOWN: usize = 1 << 20;
/// Of messages that are read together.
const MOST_HELD: u64 = 64 << 20;

pub(super) fn load(visit: &Visit<'_>, folder: &FolderName, uid: Uid) -> Result<Loaded, Fault> {
    let row = visit.row(folder, uid)?;
    let loaded = visit.files().load(&row).map_err(read_fault)?;
    loaded.ok_or_else(not_downloaded)
}

/// As many of them as fit into memory together, and at least one.
pub(super) fn load_some(
    visit: &Visit<'_>,
    wanted: Vec<Result<MessageRef, Fault>>,
) -> Result<Vec<Result<Loaded, Fault>>, Fault> {
    let mut held = 0;
    let mut all = Vec::new();
    for at in wanted {
        visit.stop.check().map_err(read_fault)?;
        let loaded = at.and_then(|at| {
            visit.check(at.uidvalidity)?;
            load(visit, &at.folder, at.uid)
        });
        held += loaded.as_ref().map_or(0, Loaded::size);
        all.push(loaded);
        if held >= MOST_HELD {
            break;
        }
    }
    Ok(all)
}

pub(super) fn raw(
    visit: &Visit<'_>,
    folder: &FolderName,
    uid: Uid,
    max_bytes: u64,
) -> Result<RawMessage, Fault> {
    let bytes = bytes(visit, folder, uid)?;
    let most = usize::try_from(max_bytes).unwrap_or(usize::MAX);
    Ok(RawMessage {
        size: length(&bytes),
        bytes: bytes.slice(..most.min(bytes.len())),
    })
}

pub(super) fn look(
    visit: &Visit<'_>,
    folder: &FolderName,
    uid: Uid,
    octets: u64,
) -> Result<(Witness, Bytes), Fault> {
    let row = visit.row(folder, uid)?;
    let bytes = bytes(visit, folder, uid)?;
    let most = usize::try_from(octets)
        .unwrap_or(usize::MAX)
        .min(bytes.len());
    let mut digesting = Digesting::default();
    let taken = bytes.slice(..most);
    digesting.take(&taken);
    let shown = taken.slice(..MOST_SHOWN.min(taken.len()));
    let witness = Witness {
        store_id: None,
        flags: Some(row.flags()),
        arrived: row.arrived(),
        size: Some(length(&bytes)),
        message_id: message_id(&shown, Some(length(&bytes))),
        digest: (octets > 0).then(|| digesting.end()),
    };
    Ok((witness, Bytes::copy_from_slice(&shown)))
}

pub(super) fn octets(
    visit: &Visit<'_>,
    folder: &FolderName,
    uid: Uid,
    from: u64,
    most: u32,
) -> Result<Bytes, Fault> {
    let bytes = bytes(visit, folder, uid)?;
    let from = usize::try_from(from).unwrap_or(usize::MAX).min(bytes.len());
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let rest = bytes.slice(from..);
    Ok(Bytes::copy_from_slice(rest.get(..most).unwrap_or(&rest)))
}

fn bytes(visit: &Visit<'_>, folder: &FolderName, uid: Uid) -> Result<Bytes, Fault> {
    let row = visit.row(folder, uid)?;
    let whole = visit.files().whole(&row).map_err(read_fault)?;
    Ok(whole.ok_or_else(not_downloaded)?.bytes)
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}
