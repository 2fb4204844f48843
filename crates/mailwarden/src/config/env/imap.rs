//! IMAP accounts: where each is, how the connection is protected, who logs in.

use std::collections::BTreeMap;
use std::net::IpAddr;

use sources::imap::{Login, Security, Settings};

use super::{IMAP, Reader, Shared};

impl Reader {
    pub(super) fn imap_account(
        &mut self,
        name: &str,
        fields: &BTreeMap<String, String>,
        shared: &Shared,
    ) -> Option<Settings> {
        let before = self.problems.len();
        let variable = |suffix: &str| format!("{IMAP}{name}_{suffix}");
        let mut required = |suffix: &str| {
            let value = fields.get(suffix).map(String::as_str).unwrap_or_default();
            if value.is_empty() {
                self.problem(&variable(suffix), super::pass::MISSING);
            } else if value.chars().any(char::is_control) {
                self.problem(&variable(suffix), "contains control characters");
            }
            value.to_owned()
        };
        let host = required("HOST");
        let user = required("USER");
        let password = self.password(name, fields);
        if let Some(flaw) = flaw_of_host(&host) {
            let what = format!("{flaw}; a port goes into PORT");
            self.problem(&variable("HOST"), &what);
        }
        let security = self.security(&variable("SECURE"), fields.get("SECURE"), &host, shared);
        let port = match fields.get("PORT").map(|text| text.trim().parse::<u16>()) {
            None if security == Security::Implicit => 993,
            None => 143,
            Some(Ok(port)) if port > 0 => port,
            Some(_) => {
                self.problem(&variable("PORT"), "must be a port number from 1 to 65535");
                0
            }
        };
        let authserv_id = fields.get("AUTHSERV_ID").cloned();
        if authserv_id.as_deref().is_some_and(|id| !is_token(id)) {
            self.problem(
                &variable("AUTHSERV_ID"),
                "must be one word, such as mx.example.com: what Authentication-Results of your server begin with",
            );
        }
        let password = password.filter(|_| self.problems.len() == before)?;
        Some(Settings {
            host,
            port,
            security,
            user,
            login: Login::Password(password),
            roots: shared.roots.clone(),
            timeouts: shared.timeouts,
            max_connections: shared.max_connections,
            authserv_id,
        })
    }

    fn security(
        &mut self,
        variable: &str,
        value: Option<&String>,
        host: &str,
        shared: &Shared,
    ) -> Security {
        let word = value.map(|value| value.trim().to_ascii_lowercase());
        match word.as_deref() {
            None | Some("true" | "1" | "yes") => Security::Implicit,
            Some("starttls") => Security::StartTls,
            Some("false" | "0" | "no") => {
                if !is_this_machine(host) && !shared.allow_plaintext {
                    self.problem(
                        variable,
                        "is false, and would send the password in the clear to another machine; use true or starttls (or set MAIL_IMAP_ALLOW_PLAINTEXT=true if you must)",
                    );
                }
                Security::Plain
            }
            Some(_) => {
                self.problem(variable, "must be true, starttls or false");
                Security::Implicit
            }
        }
    }
}

/// Why this cannot be a host, and what it should be.
pub(in crate::config) fn flaw_of_host(host: &str) -> Option<&'static str> {
    if host.contains("://") || host.contains('/') || host.contains(char::is_whitespace) {
        return Some("must be a host name such as imap.example.com, without scheme or path");
    }
    let is_address = host.parse::<IpAddr>().is_ok() || host.starts_with('[');
    let has_port = host.contains(':') && !is_address;
    has_port.then_some("must be a host name such as imap.example.com, without a port")
}

pub(in crate::config) fn is_this_machine(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => bare.eq_ignore_ascii_case("localhost"),
    }
}

/// A word as it can stand before the first semicolon of a header.
pub(in crate::config) fn is_token(text: &str) -> bool {
    let plain = |c: char| !c.is_whitespace() && !c.is_control() && !"()<>;=\"\\".contains(c);
    !text.is_empty() && text.len() <= 253 && text.chars().all(plain)
}
