//! What a server says of a folder by itself: which it is, where it ends, what has gone from it.

use imap::{Code, Data};
use mail::{Fault, FaultKind, Stage, UidValidity};

/// Which generation of a folder was opened. INVARIANT: two of them are a conflict, whichever of
/// them is true.
pub(super) fn uidvalidity(data: &[Data]) -> Result<UidValidity, Fault> {
    let protocol = |said| Fault::saying(FaultKind::Protocol, Stage::OpenFolder, said);
    let mut told = data.iter().filter_map(uidvalidity_of);
    let first = told.next();
    let first = first.ok_or_else(|| protocol("the server gave no UIDVALIDITY"))?;
    let first = first.ok_or_else(|| protocol("the server gave a UIDVALIDITY that is none"))?;
    if told.any(|other| other != Some(first)) {
        return Err(Fault::new(FaultKind::Conflict, Stage::OpenFolder));
    }
    Ok(first)
}

/// The UIDVALIDITY that a response names, and nothing in it where that is no number from 1 to 2^32
/// - 1.
pub(super) fn uidvalidity_of(one: &Data) -> Option<Option<UidValidity>> {
    let Data::Status(status) = one else {
        return None;
    };
    let code = status.code.as_ref().filter(|code| code.is("UIDVALIDITY"))?;
    let number = code.number().and_then(|number| u32::try_from(number).ok());
    Some(number.filter(|number| *number > 0).map(UidValidity))
}

/// How many messages an opened folder holds (RFC 3501 section 6.3.1). INVARIANT: not said is not
/// "none".
pub(super) fn check_exists(data: &[Data]) -> Result<(), Fault> {
    if data.iter().any(|one| matches!(one, Data::Exists(_))) {
        return Ok(());
    }
    let said = "the server did not say how many messages there are";
    Err(Fault::saying(FaultKind::Protocol, Stage::OpenFolder, said))
}

/// Which number the next message will have, where the server says it.
pub(super) fn uidnext(data: &[Data]) -> Option<u32> {
    codes(data)
        .filter(|code| code.is("UIDNEXT"))
        .find_map(|code| code.number()?.try_into().ok())
        .filter(|next| *next > 0)
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
