//! Where the server is and how it is spoken to, as an operator says it in an address. Never with the password in it.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};
use tokio_postgres::config::{Host, SslMode};

use crate::writer::Clock;

/// `postgres://user@host:port/database`, with `sslmode` and `sslrootcert` behind a question mark.
#[derive(Clone)]
pub struct Server {
    config: tokio_postgres::Config,
    pub(super) encryption: Encryption,
    pub(super) roots: Option<PathBuf>,
    clock: Option<(Clock, Trust)>,
    place: String,
}

/// Why an address is none.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{what}")]
pub struct BadServer {
    pub what: String,
    /// What to do about it.
    pub hint: &'static str,
}

/// What becomes of a clock that is not the server's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Trust {
    Believed,
    SetRight,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Encryption {
    /// Nothing leaves this machine.
    None,
    /// TLS, with a certificate that is good for the host's name.
    Verified,
}

const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];
const FORM: &str = "write postgres://user@host:5432/database";

impl Server {
    pub fn parse(address: &str) -> Result<Self, BadServer> {
        let bad = |what: &str, hint| {
            Err(BadServer {
                what: what.to_owned(),
                hint,
            })
        };
        if !SCHEMES.iter().any(|scheme| address.starts_with(scheme)) {
            return bad("is no address of a PostgreSQL server", FORM);
        }
        let (plain, query) = address.split_once('?').unwrap_or((address, ""));
        if has_password(plain) {
            return bad(
                "holds a password",
                "take it out of the address: ledger_secret_ref names where it is kept, or set MAILWARDEN_LEDGER_PASSWORD",
            );
        }
        let mut mode = None;
        let mut roots = None;
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value),
                Some(("sslrootcert", value)) if value.starts_with('/') && !value.contains('%') => {
                    roots = Some(PathBuf::from(value));
                }
                Some(("sslrootcert", _)) => {
                    return bad(
                        "names an sslrootcert that is no absolute path",
                        "give the whole path of a PEM file",
                    );
                }
                Some(("password", _)) => {
                    return bad(
                        "holds a password",
                        "ledger_secret_ref names where it is kept",
                    );
                }
                _ => {
                    return bad(
                        "has a parameter that is not known here",
                        "sslmode and sslrootcert are; leave out the others",
                    );
                }
            }
        }
        let Ok(mut config) = plain.parse::<tokio_postgres::Config>() else {
            return bad("is no address of a PostgreSQL server", FORM);
        };
        if config.get_hosts().len() != 1 {
            return bad("names no host, or several", FORM);
        }
        if config.get_user().is_none() || config.get_dbname().is_none_or(str::is_empty) {
            return bad("does not name the user and the database", FORM);
        }
        let encryption = encryption(mode, &config)?;
        config
            .ssl_mode(match encryption {
                Encryption::None => SslMode::Disable,
                Encryption::Verified => SslMode::Require,
            })
            .application_name("mailwarden")
            .connect_timeout(Duration::from_secs(3))
            .keepalives_idle(Duration::from_secs(10))
            .keepalives_interval(Duration::from_secs(3))
            .keepalives_retries(3)
            .tcp_user_timeout(Duration::from_secs(15));
        Ok(Self {
            config,
            encryption,
            roots,
            clock: None,
            place: address.to_owned(),
        })
    }

    #[must_use]
    pub fn with_password(mut self, password: &SecretString) -> Self {
        self.config.password(password.expose_secret());
        self
    }

    /// With another clock, so that a test can let time pass. Who lives is still told by the server's.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        self.clock = Some((Arc::new(clock), Trust::Believed));
        self
    }

    /// With a clock that may be wrong, as that of a machine may be: what others see is set right by the server's.
    #[must_use]
    pub fn with_wrong_clock(
        mut self,
        clock: impl Fn() -> Timestamp + Send + Sync + 'static,
    ) -> Self {
        self.clock = Some((Arc::new(clock), Trust::SetRight));
        self
    }

    pub(crate) fn clock(&self) -> Clock {
        match &self.clock {
            Some((clock, _)) => Arc::clone(clock),
            None => Arc::new(Timestamp::now),
        }
    }

    pub(super) fn trust(&self) -> Trust {
        self.clock
            .as_ref()
            .map_or(Trust::SetRight, |(_, trust)| *trust)
    }

    pub(super) fn config(&self) -> &tokio_postgres::Config {
        &self.config
    }
}

/// Before the host there may be a name alone.
fn has_password(plain: &str) -> bool {
    let behind = plain.split_once("://").map_or("", |(_, behind)| behind);
    let authority = behind.split('/').next().unwrap_or_default();
    let user = authority.rsplit_once('@').map(|(user, _)| user);
    // A password may have a slash that nobody has escaped, and then its @ stands behind that.
    user.is_some_and(|user| user.contains(':'))
        || behind
            .split_once('/')
            .is_some_and(|(_, tail)| tail.contains('@'))
}

/// INVARIANT: what leaves this machine is encrypted, and for a server that has proven its name.
fn encryption(
    mode: Option<&str>,
    config: &tokio_postgres::Config,
) -> Result<Encryption, BadServer> {
    let here = config.get_hosts().iter().all(is_here);
    match mode {
        None | Some("disable" | "prefer" | "allow") if here => Ok(Encryption::None),
        None | Some("require" | "verify-full") => Ok(Encryption::Verified),
        Some("disable" | "prefer" | "allow") => Err(BadServer {
            what: "would send mail and passwords over a network in clear".to_owned(),
            hint: "leave sslmode out, or write sslmode=verify-full; sslrootcert names the authority, if it is your own",
        }),
        Some(_) => Err(BadServer {
            what: "has an sslmode that is not known here".to_owned(),
            hint: "write verify-full; elsewhere than on this machine there is no weaker one",
        }),
    }
}

fn is_here(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            let address = name.trim_start_matches('[').trim_end_matches(']');
            name == "localhost" || address.parse::<IpAddr>().is_ok_and(|it| it.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place)
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place)
    }
}

impl PartialEq for Server {
    fn eq(&self, other: &Self) -> bool {
        self.place == other.place && self.config == other.config
    }
}

impl Eq for Server {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_whole_without_secrets_and_never_in_clear_over_a_network() {
        use Encryption::{None, Verified};
        for (address, expected) in [
            ("postgres://a@localhost/b", Ok(None)),
            ("postgresql://a@127.0.0.1:5433/b", Ok(None)),
            ("postgres://a@[::1]/b", Ok(None)),
            ("postgres://a@%2Frun%2Fpostgresql/b", Ok(None)),
            ("postgres://a@localhost/b?sslmode=prefer", Ok(None)),
            ("postgres://a@localhost/b?sslmode=require", Ok(Verified)),
            ("postgres://a@db.example/b", Ok(Verified)),
            (
                "postgres://a@db.example/b?sslmode=verify-full&sslrootcert=/etc/ca.pem",
                Ok(Verified),
            ),
            ("postgres://a@10.0.0.1/b?sslmode=disable", Err("in clear")),
            ("postgres://a@db.example/b?sslmode=prefer", Err("in clear")),
            (
                "postgres://a@db.example/b?sslmode=verify-ca",
                Err("sslmode"),
            ),
            (
                "postgres://a@db.example/b?sslrootcert=ca.pem",
                Err("absolute"),
            ),
            ("postgres://a@db.example/b?options=-c", Err("parameter")),
            ("postgres://a:pw@db.example/b", Err("password")),
            ("postgres://a:p/w@db.example/b", Err("password")),
            ("postgres://a:@db.example/b", Err("password")),
            ("postgres://a@db.example/b?password=x", Err("password")),
            ("postgres://db.example/b", Err("user")),
            ("postgres://a@db.example", Err("database")),
            ("postgres://a@one,two/b", Err("several")),
            ("mysql://a@b/c", Err("no address")),
            ("", Err("no address")),
        ] {
            let parsed = Server::parse(address);
            match (&parsed, expected) {
                (Ok(server), Ok(encryption)) => {
                    assert_eq!(server.encryption, encryption, "{address}")
                }
                (Err(bad), Err(words)) => {
                    assert!(bad.what.contains(words), "{address}: {bad}");
                    assert!(!bad.what.contains("pw") && !bad.hint.is_empty());
                }
                _ => panic!("{address}: {parsed:?}"),
            }
        }
    }
}
