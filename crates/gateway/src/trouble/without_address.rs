//! What a caller with a policy is told of a fault: what it is, and whether to wait or to have it mended. It names no host, no port, no
//! provider and no setting: who mends it finds them in `mailwarden check`.

use mail::{Described, Fault, FaultKind, SourceKind, Stage};

/// Of an account whose place is nobody's business.
pub(super) fn explain(kind: FaultKind, fault: &Fault) -> String {
    let words = match kind {
        FaultKind::AuthFailed => {
            "the account's mail server refused its user name or password; tell whoever runs this server"
        }
        FaultKind::TokenRefused => {
            "the account's mail server does not take its access token; tell whoever runs this server"
        }
        FaultKind::TokenMisconfigured => {
            "there is no password or access token for this account; tell whoever runs this server"
        }
        FaultKind::NoSafeLogin | FaultKind::NoSuchMechanism => {
            "the account's mail server cannot be logged in to in the way that is configured; tell whoever runs this server"
        }
        FaultKind::HostNotFound | FaultKind::Refused | FaultKind::Unreachable => {
            "the account's mail server does not answer; try again later, and if that lasts, tell whoever runs this server"
        }
        FaultKind::CertificateExpired
        | FaultKind::CertificateWrongHost
        | FaultKind::CertificateUntrusted
        | FaultKind::TlsFailed => {
            "there is no encrypted connection with the account's mail server that could be trusted; tell whoever runs this server"
        }
        FaultKind::TimedOut if fault.stage == Stage::Greeting => {
            "the account's mail server accepted the connection and said nothing; try again later"
        }
        FaultKind::TimedOut => {
            return format!(
                "the account's mail server did not answer in time at '{}'; try again later",
                fault.stage.name()
            );
        }
        FaultKind::Lost => "the account's mail server closed the connection; try again",
        FaultKind::Bye => "the account's mail server ended the session; try again later",
        FaultKind::Busy => {
            "the account's mail server accepts no more connections or commands for now; wait some minutes"
        }
        FaultKind::NoMailbox => {
            "the account's mail server took the login and opens no mailbox behind it; wait some minutes, then tell whoever runs this server"
        }
        FaultKind::Protocol => {
            "the account's mail server does not answer as one should; tell whoever runs this server"
        }
        FaultKind::NotOffered => "the account's mail store cannot do this",
        FaultKind::Unreadable
        | FaultKind::NoPermission
        | FaultKind::NoStore
        | FaultKind::UnknownStore => {
            "the account's mail store cannot be read; tell whoever runs this server"
        }
        FaultKind::TokenUnavailable
        | FaultKind::NeedsLogin
        | FaultKind::ReadingOnly
        | FaultKind::Denied
        | FaultKind::Rejected
        | FaultKind::ReadOnly
        | FaultKind::OverQuota
        | FaultKind::FlagNotKept
        | FaultKind::StaysInAll
        | FaultKind::NoCopyThere
        | FaultKind::TooLarge
        | FaultKind::NotDownloaded
        | FaultKind::NoSuchFolder
        | FaultKind::NoSuchMessage
        | FaultKind::NoSuchTarget
        | FaultKind::AnotherMessage
        | FaultKind::Conflict
        | FaultKind::TooMany { .. } => return super::explain(kind, &nowhere(), fault),
    };
    words.to_owned()
}

/// What is said alike to everybody names no place; if it should, this is the one.
fn nowhere() -> Described {
    Described {
        kind: SourceKind::Imap,
        host: String::new(),
        port: 0,
        secure: true,
        authserv_id: None,
        home: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trouble::{KINDS, Told, sort};

    /// INVARIANT: whichever fault, whoever has a policy reads neither where the server is nor how it is set up.
    #[test]
    fn no_fault_tells_a_caller_where_the_server_is() {
        let at = Described {
            host: "imap.gmail.com".to_owned(),
            port: 9_931,
            ..nowhere()
        };
        let mut named = 0;
        let reading = [
            FaultKind::NotOffered,
            FaultKind::Unreadable,
            FaultKind::NoPermission,
            FaultKind::NoStore,
            FaultKind::UnknownStore,
            FaultKind::NotDownloaded,
        ];
        for kind in KINDS.into_iter().chain(reading) {
            for stage in [Stage::Greeting, Stage::Login, Stage::Search] {
                let fault = Fault::new(kind, stage);
                let Ok(issue) = sort(&fault, Told::Caller) else {
                    continue;
                };
                for word in ["gmail", "Google", "9931", "MAIL_IMAP", ":0", "port", "host"] {
                    assert!(!issue.message.contains(word), "{kind:?}: {}", issue.message);
                }
                // The owner of the account is told, and both by the same code.
                let owners = sort(&fault, Told::Owner(&at)).unwrap();
                assert_eq!(
                    (&owners.code, &owners.stage, owners.retryable),
                    (&issue.code, &issue.stage, issue.retryable)
                );
                named += usize::from(owners.message.contains("imap.gmail.com"));
            }
        }
        assert!(named > 30, "{named}");
    }
}
