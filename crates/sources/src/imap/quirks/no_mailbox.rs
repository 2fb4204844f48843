//! Servers that take a login and open nothing behind it.
//!
//! Who: Exchange Online answers every command `BAD User is authenticated but not connected.`, for a while after too many
//! sessions or logins, and for good where IMAP is switched off, the token lacks the scope, or user and token belong to
//! different mailboxes (reported for node-imap, MailKit, getmail6, imapsync, email-oauth2-proxy, php-imap). NetEase answers
//! `NO … Unsafe Login` to clients that it does not know; see `id_first`.
//!
//! Known by: these words, in a `NO` or a `BAD`. Done: the session is given up, and what was asked is asked once more on a new
//! one. Told: `mailbox_unavailable`, with what usually is the cause where the host tells whose service it is.

use imap::Status;

const WORDS: [&str; 2] = ["authenticated but not connected", UNSAFE];

const UNSAFE: &str = "unsafe login";

pub(in crate::imap) fn is_told(status: &Status) -> bool {
    !status.is_ok() && WORDS.iter().any(|words| says(status, words))
}

/// Whether it may be because the server does not know us.
pub(in crate::imap) fn is_for_want_of_id(status: &Status) -> bool {
    !status.is_ok() && says(status, UNSAFE)
}

fn says(status: &Status, words: &str) -> bool {
    let text = String::from_utf8_lossy(&status.text).to_lowercase();
    text.contains(words)
}
