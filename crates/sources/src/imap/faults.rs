//! From what a server answers to what went wrong.

use imap::{Status, StatusKind};
use mail::{Fault, FaultKind, Stage};

/// INVARIANT: a tagged NO or BAD is an error, never an empty result.
pub(super) fn check(status: &Status, stage: Stage) -> Result<(), Fault> {
    let kind = match status.kind {
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
        StatusKind::No if names_a_missing_folder(status) => FaultKind::NoSuchFolder,
        StatusKind::No => FaultKind::Denied,
        _ => FaultKind::Rejected,
    };
    Fault::saying(kind, Stage::OpenFolder, &status.text)
}

fn names_a_missing_folder(status: &Status) -> bool {
    if let Some(code) = &status.code {
        match code.name.as_str() {
            "NONEXISTENT" | "TRYCREATE" | "CANNOT" => return true,
            "UNAVAILABLE"
            | "INUSE"
            | "LIMIT"
            | "SERVERBUG"
            | "CONTACTADMIN"
            | "CLIENTBUG"
            | "EXPIRED"
            | "AUTHORIZATIONFAILED" => return false,
            _ => {}
        }
    }
    // QUIRK: servers without RFC 5530 codes say it in words.
    let text = String::from_utf8_lossy(&status.text).to_lowercase();
    [
        "exist",
        "not found",
        "no such",
        "unknown mailbox",
        "unknown folder",
        "unable to open",
        "can't open",
        "cannot open",
    ]
    .iter()
    .any(|words| text.contains(words))
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

/// QUIRK: servers without RFC 5530 codes say it in words. A message may be missing as well, so the folder must be named.
fn says_no_folder(status: &Status) -> bool {
    let text = String::from_utf8_lossy(&status.text).to_lowercase();
    ["mailbox", "folder"].iter().any(|word| text.contains(word)) && names_a_missing_folder(status)
}

/// Why a login was refused.
pub(super) fn login_refused(status: &Status) -> Fault {
    let code = status
        .code
        .as_ref()
        .map(|code| code.name.as_str())
        .unwrap_or_default();
    let text = String::from_utf8_lossy(&status.text).to_lowercase();
    let crowded = text.contains("too many") || text.contains("maximum number of connections");
    let kind = match (status.kind, code) {
        (_, "PRIVACYREQUIRED") => FaultKind::NoSafeLogin,
        (_, "UNAVAILABLE" | "LIMIT" | "INUSE") => FaultKind::Busy,
        (StatusKind::No, _) if crowded => FaultKind::Busy,
        (StatusKind::No, _) => FaultKind::AuthFailed,
        (StatusKind::Bye, _) => FaultKind::Bye,
        _ => FaultKind::Rejected,
    };
    Fault::saying(kind, Stage::Login, &status.text)
}
