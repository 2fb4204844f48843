//! Servers that say in words what RFC 5530 has codes for: that a folder is not there.
//!
//! Who: Exchange, Courier, UW IMAP, Gmail and older releases of most others. Known by: the words below, in a `NO` without a
//! code that says otherwise. Done: the folder counts as missing. Told: that there is no such mailbox, and not that the server
//! refused something.

use imap::Status;

const WORDS: [&str; 8] = [
    "exist",
    "not found",
    "no such",
    "unknown mailbox",
    "unknown folder",
    "unable to open",
    "can't open",
    "cannot open",
];

/// Of a refusal to open a folder.
pub(in crate::imap) fn names_a_missing_folder(status: &Status) -> bool {
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
    let text = text(status);
    WORDS.iter().any(|words| text.contains(words))
}

/// The same of a refused change. A message may be missing as well, so the folder must be named.
pub(in crate::imap) fn says_no_folder(status: &Status) -> bool {
    let text = text(status);
    ["mailbox", "folder"].iter().any(|word| text.contains(word)) && names_a_missing_folder(status)
}

fn text(status: &Status) -> String {
    String::from_utf8_lossy(&status.text).to_lowercase()
}
