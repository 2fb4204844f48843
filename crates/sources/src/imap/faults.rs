//! From what a server answers to what went wrong.

use imap::{Status, StatusKind};
use mail::{Fault, FaultKind, Stage};

use super::quirks::words_for_codes::{names_a_missing_folder, says_no_folder};
use super::quirks::{crowded, cut_short, no_mailbox};

/// INVARIANT: a tagged NO or BAD is an error, never an empty result.
pub(super) fn check(status: &Status, stage: Stage) -> Result<(), Fault> {
    let kind = match status.kind {
        // INVARIANT: part of an answer is not the answer.
        _ if cut_short::is_told(status) => FaultKind::Denied,
        _ if crowded::is_told(status) => FaultKind::Busy,
        _ if no_mailbox::is_told(status) => FaultKind::NoMailbox,
        StatusKind::Ok | StatusKind::Preauth => return Ok(()),
        StatusKind::No => FaultKind::Denied,
        StatusKind::Bad => FaultKind::Rejected,
        StatusKind::Bye => FaultKind::Bye,
    };
    Err(Fault::saying(kind, stage, &status.text))
}

pub(super) fn check_all(statuses: &[Status], stage: Stage) -> Result<(), Fault> {
    statuses.iter().try_for_each(|status| check(status, stage))
}

/// Whether a refused `EXAMINE` was about a folder that is not there.
pub(super) fn folder_refused(status: &Status) -> Fault {
    let kind = match status.kind {
        _ if crowded::is_told(status) => FaultKind::Busy,
        _ if no_mailbox::is_told(status) => FaultKind::NoMailbox,
        StatusKind::No if names_a_missing_folder(status) => FaultKind::NoSuchFolder,
        StatusKind::No => FaultKind::Denied,
        _ => FaultKind::Rejected,
    };
    Fault::saying(kind, Stage::OpenFolder, &status.text)
}

/// Why a change was refused. `stage` says whether it had a target.
pub(super) fn change_refused(status: &Status, stage: Stage) -> Fault {
    let code = status
        .code
        .as_ref()
        .map(|code| code.name.as_str())
        .unwrap_or_default();
    let targeted = matches!(stage, Stage::Copy | Stage::Move | Stage::Append);
    let kind = match (status.kind, code) {
        _ if crowded::is_told(status) => FaultKind::Busy,
        _ if no_mailbox::is_told(status) => FaultKind::NoMailbox,
        (_, "OVERQUOTA") => FaultKind::OverQuota,
        (_, "LIMIT" | "TOOBIG") => FaultKind::TooLarge,
        (_, "EXPUNGEISSUED") => FaultKind::NoSuchMessage,
        (_, "READ-ONLY" | "NOPERM") => FaultKind::ReadOnly,
        (_, "UNAVAILABLE" | "INUSE") => FaultKind::Busy,
        (_, "TRYCREATE" | "NONEXISTENT") if targeted => FaultKind::NoSuchTarget,
        (StatusKind::No, "") if targeted && says_no_folder(status) => FaultKind::NoSuchTarget,
        (StatusKind::No, _) => FaultKind::Denied,
        _ => FaultKind::Rejected,
    };
    Fault::saying(kind, stage, &status.text)
}

/// Why a login was refused.
pub(super) fn login_refused(status: &Status) -> Fault {
    let code = status
        .code
        .as_ref()
        .map(|code| code.name.as_str())
        .unwrap_or_default();
    let kind = match (status.kind, code) {
        (_, "PRIVACYREQUIRED") => FaultKind::NoSafeLogin,
        (_, "UNAVAILABLE" | "LIMIT" | "INUSE") => FaultKind::Busy,
        _ if crowded::is_told_at_login(status) => FaultKind::Busy,
        (StatusKind::No, _) => FaultKind::AuthFailed,
        (StatusKind::Bye, _) => FaultKind::Bye,
        _ => FaultKind::Rejected,
    };
    Fault::saying(kind, Stage::Login, &status.text)
}
