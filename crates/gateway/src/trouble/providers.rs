//! What to do about a fault where the host tells whose service it is. Recognizes hosts by their names, and nothing else; no
//! answer depends on it but its words.

/// How a provider's hosts end, and what its users have to know.
struct Provider {
    hosts: &'static [&'static str],
    /// When it refuses a password.
    password: &'static str,
    /// When it takes a login and opens nothing.
    mailbox: &'static str,
}

const PASSWORD: &str =
    "the server refused user name or password; many providers want an app password here";

const MAILBOX: &str = "wait some minutes, then check that IMAP is switched on for this mailbox and that the user is its owner";

const PROVIDERS: &[Provider] = &[
    Provider {
        hosts: &["mail.me.com", "icloud.com"],
        password: "iCloud refused user name or password; it takes an app-specific password only (account.apple.com, Sign-In and \
            Security), and as user the iCloud address or the part of it before the @, even where the Apple account has another one",
        mailbox: MAILBOX,
    },
    Provider {
        hosts: &["gmail.com", "googlemail.com"],
        password: "Google refused user name or password; it takes an app password only (myaccount.google.com/apppasswords), or a \
            login by OAuth",
        mailbox: MAILBOX,
    },
    Provider {
        hosts: &["mail.yahoo.com", "imap.aol.com"],
        password: "the server refused user name or password; Yahoo and AOL take an app password only, which the account's security \
            page makes",
        mailbox: MAILBOX,
    },
    Provider {
        hosts: &["office365.com", "outlook.com", "hotmail.com", "live.com"],
        password: "Microsoft refused user name or password; hardly any of its mailboxes takes one for IMAP any more, so set the \
            account up with OAuth, then run `mailwarden login --account ID`",
        mailbox: "Microsoft does so after too many sessions or logins in a short time, where IMAP is switched off for the mailbox, \
            and where user and token belong to different mailboxes; wait some minutes, then check these",
    },
    Provider {
        hosts: &["163.com", "126.com", "yeah.net", "188.com"],
        password: "the server refused user name or password; NetEase takes the authorization code that its settings page makes, \
            where IMAP has to be switched on first",
        mailbox: "NetEase does so with programs that it does not trust; switch IMAP on and make an authorization code at its \
            settings page, and use that as password",
    },
];

pub(super) fn refused_password(host: &str) -> &'static str {
    match provider(host) {
        Some(provider) => provider.password,
        None if is_here(host) => {
            "the server refused user name or password; many providers want an app password here, and a bridge on this \
             machine (Proton) wants the one that it shows"
        }
        None => PASSWORD,
    }
}

pub(super) fn no_mailbox(host: &str) -> &'static str {
    provider(host).map_or(MAILBOX, |provider| provider.mailbox)
}

pub(super) fn untrusted_certificate(host: &str) -> &'static str {
    match is_here(host) {
        true => {
            "a bridge on this machine (Proton) makes one of its own: export it there and name the file in \
             MAIL_IMAP_CA_CERT_PATH, or as ca_file of the account; after an update of the bridge export it again"
        }
        false => {
            "for a private one name its file in MAIL_IMAP_CA_CERT_PATH, or as ca_file of the account"
        }
    }
}

fn provider(host: &str) -> Option<&'static Provider> {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let is_of = |end: &&str| {
        let rest = host.strip_suffix(*end);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let mut providers = PROVIDERS.iter();
    providers.find(|provider| provider.hosts.iter().any(is_of))
}

/// Whether it is this machine.
fn is_here(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let address = host.parse::<std::net::IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_tells_what_its_users_have_to_know() {
        for (host, says) in [
            ("imap.mail.me.com", "app-specific password"),
            ("P42-IMAP.mail.me.com.", "app-specific password"),
            ("imap.gmail.com", "apppasswords"),
            ("imap.mail.yahoo.com", "Yahoo"),
            ("export.imap.aol.com", "AOL"),
            ("outlook.office365.com", "mailwarden login"),
            ("imap.163.com", "authorization code"),
            ("127.0.0.1", "Proton"),
            ("[::1]", "Proton"),
            ("mail.example.org", "many providers want an app password"),
            ("notmail.me.com.example.org", "many providers"),
            ("not163.com", "many providers"),
            ("", "many providers"),
        ] {
            assert!(refused_password(host).contains(says), "{host}");
        }
        assert!(no_mailbox("outlook.office365.com").contains("too many sessions"));
        assert!(no_mailbox("imap.example.org").contains("switched on"));
        assert!(untrusted_certificate("localhost").contains("export it"));
        for host in ["127.0.0.1", "mail.example.org"] {
            let words = untrusted_certificate(host);
            assert!(words.contains("MAIL_IMAP_CA_CERT_PATH") && words.contains("ca_file"));
        }
    }
}
