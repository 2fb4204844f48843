//! Where and for whom is listened: the command line first, then the environment.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use super::names::{HostName, Names, Origin};
use super::tls;
use crate::cli;
use crate::config::{Problem, Problems, Said, Setting};

const HOST: Setting = setting("--host", "IMAP_MCP_HTTP_HOST");
const PORT: Setting = setting("--port", "IMAP_MCP_HTTP_PORT");
const TLS_CERT: Setting = setting("--tls-cert", "MAILWARDEN_HTTP_TLS_CERT");
const TLS_KEY: Setting = setting("--tls-key", "MAILWARDEN_HTTP_TLS_KEY");
const BEHIND_PROXY: Setting = setting("--behind-proxy", "MAILWARDEN_HTTP_BEHIND_PROXY");
const ALLOWED_HOSTS: Setting = setting("--allowed-host", "MAILWARDEN_HTTP_ALLOWED_HOSTS");
const ALLOWED_ORIGINS: Setting = setting("--allowed-origin", "MAILWARDEN_HTTP_ALLOWED_ORIGINS");
const SESSIONS: Setting = setting("--sessions", "MAILWARDEN_HTTP_SESSIONS");

const fn setting(option: &'static str, variable: &'static str) -> Setting {
    Setting { option, variable }
}

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
        let set = |setting: Setting| {
            let found = variables.iter().find(|(name, _)| name == setting.variable);
            let value = found.map(|(_, value)| value.to_string_lossy().into_owned());
            value.filter(|value| !value.is_empty())
        };
        let list = |given: &[String], setting: Setting| -> (Vec<String>, Said) {
            match set(setting).filter(|_| given.is_empty()) {
                Some(text) => {
                    let all = text.split(',').map(|one| one.trim().to_owned());
                    (all.collect(), Said::ByVariable)
                }
                None => (given.to_vec(), Said::ByOption),
            }
        };
        let settings = Settings {
            host: host(
                self.host.clone().or_else(|| set(HOST)),
                Said::of(self.host.as_ref()),
            )?,
            port: match self.port {
                Some(port) => port,
                None => number(
                    set(PORT),
                    PORT,
                    "is no port; a number from 0 to 65535, where 0 takes a free one",
                )?,
            },
            tls: self.tls_files(
                set(TLS_CERT).map(PathBuf::from),
                set(TLS_KEY).map(PathBuf::from),
            )?,
            front: match (self.behind_proxy, set(BEHIND_PROXY).as_deref()) {
                (true, _) | (false, Some("true")) => Front::Proxy,
                (false, None | Some("false")) => Front::Clients,
                (false, Some(_)) => {
                    return wrong(BEHIND_PROXY, Said::ByVariable, "must be true or false");
                }
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
        settings.check(self)
    }

    /// What is missing is told by the name that whoever gave the other half knows.
    fn tls_files(
        &self,
        certificate: Option<PathBuf>,
        key: Option<PathBuf>,
    ) -> Result<Option<tls::Files>, Problems> {
        let certificate = self.tls_cert.clone().or(certificate);
        let key = self.tls_key.clone().or(key);
        match (certificate, key) {
            (None, None) => Ok(None),
            (Some(certificate), Some(key)) => Ok(Some(tls::Files { certificate, key })),
            (Some(_), None) => wrong(
                TLS_KEY,
                Said::of(self.tls_cert.as_ref()),
                "is not set; a certificate is worth nothing without its key",
            ),
            (None, Some(_)) => wrong(
                TLS_CERT,
                Said::of(self.tls_key.as_ref()),
                "is not set; a key is worth nothing without its certificate",
            ),
        }
    }
}

impl Settings {
    /// INVARIANT: nothing that carries tokens and mail travels in the clear beyond this machine, unless somebody has said
    /// that a proxy stands in front.
    fn check(self, given: &cli::Http) -> Result<Self, Problems> {
        if self.sessions > MOST_SESSIONS {
            return wrong(
                SESSIONS,
                Said::of(given.sessions.as_ref()),
                "allows more sessions than one process holds; 10000 at most",
            );
        }
        let open = !self.host.to_canonical().is_loopback();
        if open && self.tls.is_none() && self.front == Front::Clients {
            return wrong(
                HOST,
                Said::of(given.host.as_ref()),
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

fn wrong<T>(setting: Setting, said: Said, what: &str) -> Result<T, Problems> {
    Err(Problems(vec![Problem::setting(setting, said, what)]))
}

fn host(given: Option<String>, said: Said) -> Result<IpAddr, Problems> {
    match given.as_deref() {
        None | Some("localhost") => Ok(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        Some(other) => match other.trim_matches(['[', ']']).parse() {
            Ok(address) => Ok(address),
            Err(_) => wrong(HOST, said, "is no IP address; such as 127.0.0.1 or ::1"),
        },
    }
}

/// Of a variable: what an option says is a number by then. Nothing given is 0.
fn number<N: std::str::FromStr + Default>(
    given: Option<String>,
    setting: Setting,
    what: &str,
) -> Result<N, Problems> {
    let wrong = |_| wrong(setting, Said::ByVariable, what);
    match given {
        None => Ok(N::default()),
        Some(text) => text.trim().parse().or_else(wrong),
    }
}

fn each<T>(
    (given, said): &(Vec<String>, Said),
    parse: impl Fn(&str) -> Option<T>,
    setting: Setting,
    what: &str,
) -> Result<Vec<T>, Problems> {
    let read: Option<Vec<T>> = given.iter().map(|one| parse(one)).collect();
    read.map_or_else(|| wrong(setting, *said, what), Ok)
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
        assert!(settings(&["--host", "0.0.0.0"], &[(BEHIND_PROXY.variable, "true")]).is_ok());
        assert!(settings(&["--host", "0.0.0.0"], &[(BEHIND_PROXY.variable, "false")]).is_err());
    }

    #[test]
    fn what_is_wrong_is_named_as_it_was_said() {
        for (words, name) in [
            (&["--tls-cert", "a"][..], TLS_KEY),
            (&["--tls-key", "a"], TLS_CERT),
            (&["--host", "mail.example.com"], HOST),
            (&["--host", "0.0.0.0"], HOST),
            (&["--allowed-host", "https://a"], ALLOWED_HOSTS),
            (&["--allowed-origin", "null"], ALLOWED_ORIGINS),
            (&["--allowed-origin", "*"], ALLOWED_ORIGINS),
            (&["--sessions", "10001"], SESSIONS),
        ] {
            let refused = settings(words, &[]).unwrap_err();
            assert!(refused.starts_with(name.option), "{words:?}: {refused}");
            assert!(!refused.contains(name.variable), "{words:?}: {refused}");
        }
        for (name, value, wrong) in [
            (BEHIND_PROXY, "yes", BEHIND_PROXY),
            (PORT, "70000", PORT),
            (SESSIONS, "-1", SESSIONS),
            (SESSIONS, "10001", SESSIONS),
            (HOST, "mail.example.com", HOST),
            (HOST, "0.0.0.0", HOST),
            (ALLOWED_HOSTS, "https://a", ALLOWED_HOSTS),
            (TLS_CERT, "a", TLS_KEY),
            (TLS_KEY, "a", TLS_CERT),
        ] {
            let refused = settings(&[], &[(name.variable, value)]).unwrap_err();
            assert!(refused.starts_with(wrong.variable), "{refused}");
        }
    }

    #[test]
    fn variables_hold_lists_and_words_come_first() {
        let set = [
            (ALLOWED_HOSTS.variable, "a.example, b.example:8443"),
            (PORT.variable, "7000"),
            (SESSIONS.variable, "3"),
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
