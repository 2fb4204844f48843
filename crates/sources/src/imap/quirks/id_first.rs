//! Servers that open no folder before they know the client: `ID` (RFC 2971) goes out alone, right after the login.
//!
//! Who: 163.com, 126.com and yeah.net of NetEase, on Coremail. Their help pages ask for it; a login without it succeeds, and
//! `SELECT` and `EXAMINE` are then answered `NO … Unsafe Login. Please contact kefu@188.com for help` (reported for himalaya,
//! imapclient, node-imap, go-imap, OfflineIMAP, Roundcube). An `ID` that is not spelled as RFC 2971 has it is a `BAD`.
//!
//! Known by: the host's name, the greeting of Coremail, or the refusal itself. Done: `ID` is sent by itself and awaited before
//! anything else, on every session, and never again in a flight with others. Everywhere else it goes in the first flight, and
//! costs nothing. Told: nothing; and where it does not help, what `no_mailbox` says.

use imap::{BadArgument, Command, Status};

/// NetEase's domains of mail.
const HOSTS: [&str; 5] = ["163.com", "126.com", "yeah.net", "188.com", "netease.com"];

/// How the server's greeting names its program, in lower case.
const GREETING: &str = "coremail";

pub(in crate::imap) fn goes_alone(host: &str, greeting: &Status) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let known = HOSTS.iter().any(|domain| {
        let rest = host.strip_suffix(domain);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    });
    let text = String::from_utf8_lossy(&greeting.text).to_lowercase();
    known || text.contains(GREETING)
}

/// Who we are, and nothing about who uses us.
pub(in crate::imap) fn command() -> Result<Command, BadArgument> {
    let version = env!("CARGO_PKG_VERSION");
    Command::id(&[("name", "mailwarden"), ("version", version)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use imap::StatusKind;

    #[test]
    fn those_who_want_it_first_are_known_by_name_or_greeting() {
        for (host, greeting, want) in [
            ("imap.163.com", "", true),
            ("IMAP.126.COM.", "", true),
            ("imap.vip.163.com", "", true),
            ("yeah.net", "", true),
            (
                "mail.example.org",
                "Coremail System IMap Server Ready(163com[1])",
                true,
            ),
            ("not163.com", "Dovecot ready.", false),
            ("163.com.example.org", "ready", false),
            ("", "", false),
        ] {
            let greeting = Status {
                kind: StatusKind::Ok,
                code: None,
                text: Bytes::from_static(greeting.as_bytes()),
            };
            assert_eq!(goes_alone(host, &greeting), want, "{host}");
        }
    }
}
