//! What a server says of a folder by itself: which it is, where it ends, what has gone from it.

use imap::{Code, Data};
use mail::{Fault, FaultKind, Stage, UidValidity};

/// Which generation of a folder was opened.
pub(super) fn uidvalidity(data: &[Data]) -> Result<UidValidity, Fault> {
    let told = codes(data)
        .filter(|code| code.is("UIDVALIDITY"))
        .find_map(|code| code.number()?.try_into().ok());
    told.map(UidValidity).ok_or_else(|| {
        let said = "the server gave no UIDVALIDITY";
        Fault::saying(FaultKind::Protocol, Stage::OpenFolder, said)
    })
}

/// Which number the next message will have, where the server says it.
pub(super) fn uidnext(data: &[Data]) -> Option<u32> {
    codes(data)
        .filter(|code| code.is("UIDNEXT"))
        .find_map(|code| code.number()?.try_into().ok())
}

/// The codes of untagged status responses.
pub(super) fn codes(data: &[Data]) -> impl Iterator<Item = &Code> + Clone {
    data.iter().filter_map(|one| match one {
        Data::Status(status) => status.code.as_ref(),
        _ => None,
    })
}

/// How many messages the server says are gone.
pub(super) fn gone(data: &[Data]) -> u32 {
    let counts = data.iter().map(|one| match one {
        Data::Expunge(_) => 1,
        Data::Vanished(uids) => u32::try_from(uids.len()).unwrap_or(u32::MAX),
        _ => 0,
    });
    counts.fold(0, u32::saturating_add)
}
