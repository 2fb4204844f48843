//! Where and for whom is listened: the command line first, then the environment.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use super::names::{HostName, Names, Origin};
use super::tls;
use crate::cli;
use crate::config::{Problem, Problems};

const HOST: &str = "IMAP_MCP_HTTP_HOST";
const PORT: &str = "IMAP_MCP_HTTP_PORT";
const TLS_CERT: &str = "MAILWARDEN_HTTP_TLS_CERT";
const TLS_KEY: &str = "MAILWARDEN_HTTP_TLS_KEY";
const BEHIND_PROXY: &str = "MAILWARDEN_HTTP_BEHIND_PROXY";
const ALLOWED_HOSTS: &str = "MAILWARDEN_HTTP_ALLOWED_HOSTS";
const ALLOWED_ORIGINS: &str = "MAILWARDEN_HTTP_ALLOWED_ORIGINS";
const SESSIONS: &str = "MAILWARDEN_HTTP_SESSIONS";

/// Each is a task and its queues.
const MOST_SESSIONS: usize = 10_000;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Settings {
    pub(super) host: IpAddr,
    pub(super) port: u16,
    pub(super) tls: Option<tls::Files>,
    pub(super) front: Front,
    pub(super) names: Names,
    /// How many clients of older revisions may have a session at a time; 0: none has one.
    pub(super) sessions: usize,
}

/// Who is at the other end of connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Front {
    Clients,
    /// One program that speaks for all clients, and sees to TLS.
    Proxy,
}

impl cli::Http {
    pub(crate) fn settings(
        &self,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Settings, Problems> {
        let variables: Vec<(OsString, OsString)> = variables.into_iter().collect();
        let set = |name: &str| {
            let found = variables.iter().find(|(known, _)| known == name);
            let value = found.map(|(_, value)| value.to_string_lossy().into_owned());
            value.filter(|value| !value.is_empty())
        };
        let list = |given: &[String], name: &str| -> Vec<String> {
            match set(name).filter(|_| given.is_empty()) {
                Some(text) => text.split(',').map(|one| one.trim().to_owned()).collect(),
                None => given.to_vec(),
            }
        };
        let settings = Settings {
            host: host(self.host.clone().or_else(|| set(HOST)))?,
            port: match self.port {
                Some(port) => port,
                None => number(
                    set(PORT),
                    PORT,
                    "is no port; a number from 0 to 65535, where 0 takes a free one",
                )?,
            },
            tls: tls_files(
                self.tls_cert
                    .clone()
                    .or_else(|| set(TLS_CERT).map(PathBuf::from)),
                self.tls_key
                    .clone()
                    .or_else(|| set(TLS_KEY).map(PathBuf::from)),
            )?,
            front: match (self.behind_proxy, set(BEHIND_PROXY).as_deref()) {
                (true, _) | (false, Some("true")) => Front::Proxy,
                (false, None | Some("false")) => Front::Clients,
                (false, Some(_)) => return wrong(BEHIND_PROXY, "must be true or false"),
            },
            names: Names {
                hosts: each(
                    &list(&self.allowed_host, ALLOWED_HOSTS),
                    HostName::parse,
                    ALLOWED_HOSTS,
                    "must hold names such as mail.example.com, with or without a port, and nothing else",
                )?,
                origins: each(
                    &list(&self.allowed_origin, ALLOWED_ORIGINS),
                    Origin::parse,
                    ALLOWED_ORIGINS,
                    "must hold origins such as https://app.example.com, without a path; null and * are none",
                )?,
            },
            sessions: match self.sessions {
                Some(sessions) => sessions,
                None => number(
                    set(SESSIONS),
                    SESSIONS,
                    "is no number of sessions; 0 for none",
                )?,
            },
        };
        settings.check()
    }
}

impl Settings {
    /// INVARIANT: nothing that carries tokens and mail travels in the clear beyond this machine, unless somebody has said
    /// that a proxy stands in front.
    fn check(self) -> Result<Self, Problems> {
        if self.sessions > MOST_SESSIONS {
            return wrong(
                SESSIONS,
                "allows more sessions than one process holds; 10000 at most",
            );
        }
        let open = !self.host.to_canonical().is_loopback();
        if open && self.tls.is_none() && self.front == Front::Clients {
            return wrong(
                HOST,
                "is an address that others can reach, and tokens and mail would travel there in the clear. \
                 There are three ways: listen on 127.0.0.1 or ::1; give a certificate by --tls-cert and --tls-key; \
                 or say --behind-proxy, where nothing but a proxy that sees to TLS can reach this address",
            );
        }
        Ok(self)
    }

    pub(super) fn scheme(&self) -> &'static str {
        match self.tls {
            Some(_) => "https",
            None => "http",
        }
    }
}

fn wrong<T>(name: &str, what: &str) -> Result<T, Problems> {
    Err(Problems(vec![Problem::variable(name, what)]))
}

fn host(given: Option<String>) -> Result<IpAddr, Problems> {
    match given.as_deref() {
        None | Some("localhost") => Ok(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        Some(other) => match other.trim_matches(['[', ']']).parse() {
            Ok(address) => Ok(address),
            Err(_) => wrong(HOST, "is no IP address; such as 127.0.0.1 or ::1"),
        },
    }
}

/// Nothing given is 0.
fn number<N: std::str::FromStr + Default>(
    given: Option<String>,
    name: &str,
    what: &str,
) -> Result<N, Problems> {
    match given {
        None => Ok(N::default()),
        Some(text) => text.trim().parse().or_else(|_| wrong(name, what)),
    }
}

fn each<T>(
    given: &[String],
    parse: impl Fn(&str) -> Option<T>,
    name: &str,
    what: &str,
) -> Result<Vec<T>, Problems> {
    let read: Option<Vec<T>> = given.iter().map(|one| parse(one)).collect();
    read.map_or_else(|| wrong(name, what), Ok)
}

fn tls_files(
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
) -> Result<Option<tls::Files>, Problems> {
    match (certificate, key) {
        (None, None) => Ok(None),
        (Some(certificate), Some(key)) => Ok(Some(tls::Files { certificate, key })),
        (Some(_), None) => wrong(
            TLS_KEY,
            "is not set; a certificate is worth nothing without its key",
        ),
        (None, Some(_)) => wrong(
            TLS_CERT,
            "is not set; a key is worth nothing without its certificate",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(words: &[&str], set: &[(&str, &str)]) -> Result<Settings, String> {
        let set = set.iter().map(|(name, value)| (name.into(), value.into()));
        let http = cli::Http::typed(words);
        http.settings(set).map_err(|problems| problems.to_string())
    }

    #[test]
    fn beyond_this_machine_only_by_one_of_three_ways() {
        for host in ["127.0.0.1", "::1", "localhost", "127.9.9.9", "[::1]"] {
            assert!(settings(&["--host", host], &[]).is_ok(), "{host}");
        }
        for host in [
            "0.0.0.0",
            "::",
            "192.0.2.1",
            "2001:db8::1",
            "::ffff:192.0.2.1",
        ] {
            let refused = settings(&["--host", host], &[]).unwrap_err();
            for way in ["127.0.0.1", "--tls-cert", "--behind-proxy"] {
                assert!(refused.contains(way), "{refused}");
            }
            assert!(settings(&["--host", host, "--behind-proxy"], &[]).is_ok());
            let tls = ["--host", host, "--tls-cert", "a", "--tls-key", "b"];
            assert!(settings(&tls, &[]).is_ok());
        }
        assert!(settings(&["--host", "0.0.0.0"], &[(BEHIND_PROXY, "true")]).is_ok());
        assert!(settings(&["--host", "0.0.0.0"], &[(BEHIND_PROXY, "false")]).is_err());
        for (words, name) in [
            (&["--tls-cert", "a"][..], TLS_KEY),
            (&["--tls-key", "a"], TLS_CERT),
            (&["--host", "mail.example.com"], HOST),
            (&["--allowed-host", "https://a"], ALLOWED_HOSTS),
            (&["--allowed-origin", "null"], ALLOWED_ORIGINS),
            (&["--allowed-origin", "*"], ALLOWED_ORIGINS),
            (&["--sessions", "10001"], SESSIONS),
        ] {
            let refused = settings(words, &[]).unwrap_err();
            assert!(refused.starts_with(name), "{words:?}: {refused}");
        }
        for (name, value) in [(BEHIND_PROXY, "yes"), (PORT, "70000"), (SESSIONS, "-1")] {
            let refused = settings(&[], &[(name, value)]).unwrap_err();
            assert!(refused.starts_with(name), "{refused}");
        }
    }

    #[test]
    fn variables_hold_lists_and_words_come_first() {
        let set = [
            (ALLOWED_HOSTS, "a.example, b.example:8443"),
            (PORT, "7000"),
            (SESSIONS, "3"),
        ];
        let found = settings(&[], &set).unwrap();
        assert_eq!(
            (found.names.hosts.len(), found.port, found.sessions),
            (2, 7000, 3)
        );
        let words = [
            "--allowed-host",
            "c.example",
            "--port",
            "1",
            "--sessions",
            "0",
        ];
        let found = settings(&words, &set).unwrap();
        assert_eq!(
            (found.names.hosts.len(), found.port, found.sessions),
            (1, 1, 0)
        );
    }
}
