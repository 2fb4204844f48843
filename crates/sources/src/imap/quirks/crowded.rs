//! Servers that have had enough of a user, and say so in words of their own.
//!
//! Who: all large providers, each in another way, mostly without a code of RFC 5530, on a login as well as on any command. The
//! texts below are from reports and from the servers' own messages; those of Gmail and Exchange come with codes that mean
//! something else (`OVERQUOTA`) or as a `BAD`.
//!
//! Known by: these words. Done: no further connection is tried for a minute while others are open; nothing is repeated. Told:
//! `server_busy`, which may be tried again later, and not that the password or the command is wrong.

use imap::Status;

/// Who says it, and what, in lower case. What stands here is said of crowds only, on whatever command.
const WORDS: &[(&str, &str)] = &[
    ("Gmail", "too many simultaneous connections"),
    ("Gmail", "exceeded command or bandwidth limits"),
    (
        "Dovecot",
        "maximum number of connections from user+ip exceeded",
    ),
    ("Exchange Online", "request is throttled"),
    ("Exchange", "server unavailable. 15"),
    ("Yahoo, AOL", "rate limit hit"),
    // Seen in its SMTP server.
    ("Fastmail", "limit for logins by"),
    ("several", "too many connections"),
];

pub(in crate::imap) fn is_told(status: &Status) -> bool {
    let text = String::from_utf8_lossy(&status.text).to_lowercase();
    !status.is_ok() && WORDS.iter().any(|(_, words)| text.contains(words))
}

/// A login has nothing else of which there can be too many.
pub(in crate::imap) fn is_told_at_login(status: &Status) -> bool {
    let text = String::from_utf8_lossy(&status.text).to_lowercase();
    is_told(status) || (!status.is_ok() && text.contains("too many"))
}

#[cfg(test)]
mod tests {
    use imap::{Limits, Response};
    use mail::{FaultKind, Stage};

    use super::*;
    use crate::imap::faults;

    fn status(line: &str) -> Status {
        let line = bytes::Bytes::copy_from_slice(format!("w1 {line}\r\n").as_bytes());
        match Response::parse(&line, &Limits::default()) {
            Response::Tagged(_, status) => status,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_crowd_is_told_from_a_wrong_password_and_a_wrong_command() {
        for line in [
            "NO [ALERT] Too many simultaneous connections. (Failure)",
            "NO [UNAVAILABLE] Maximum number of connections from user+IP exceeded (mail_max_userip_connections=10)",
            "NO Too many open connections",
            "NO [LIMIT] LOGIN Rate limit hit.",
            "NO Server Unavailable. 15",
            "BAD Request is throttled. Suggested Backoff Time: 299961 milliseconds",
            "NO Already reached per-10 minute limit for logins by \"a@example.org\" of 500",
            "NO too many sessions",
            "NO [INUSE] try later",
        ] {
            let kind = faults::login_refused(&status(line)).kind;
            assert_eq!(kind, FaultKind::Busy, "{line}");
        }
        for line in [
            "NO [OVERQUOTA] Account exceeded command or bandwidth limits. (Failure)",
            "BAD Request is throttled. Suggested Backoff Time: 89117 milliseconds",
            "NO Request is throttled. Suggested Backoff Time: 299910 milliseconds",
            "NO [LIMIT] UID SEARCH Rate limit hit.",
            "NO Server Unavailable. 15",
        ] {
            let told = status(line);
            let checked = faults::check(&told, Stage::Search).unwrap_err();
            assert_eq!(checked.kind, FaultKind::Busy, "{line}");
            assert_eq!(faults::folder_refused(&told).kind, FaultKind::Busy);
            let change = faults::change_refused(&told, Stage::Copy);
            assert_eq!(change.kind, FaultKind::Busy, "{line}");
        }
        for (line, want) in [
            (
                "NO [AUTHENTICATIONFAILED] Authentication Failed",
                FaultKind::AuthFailed,
            ),
            ("NO AUTHENTICATE failed.", FaultKind::AuthFailed),
            ("NO LOGIN failed.", FaultKind::AuthFailed),
            ("BAD Command Argument Error. 12", FaultKind::Rejected),
        ] {
            assert_eq!(faults::login_refused(&status(line)).kind, want, "{line}");
        }
        let search = status("BAD Too many arguments, no connections of terms");
        let checked = faults::check(&search, Stage::Search).unwrap_err();
        assert_eq!(checked.kind, FaultKind::Rejected);
    }
}
