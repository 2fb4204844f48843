//! What an operator configured for one IMAP account.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use imap::Bearer;
use secrecy::{ExposeSecret as _, SecretString};
use secrets::Tokens;

use super::tls::Roots;

#[derive(Debug)]
pub struct Settings {
    pub host: String,
    pub port: u16,
    pub security: Security,
    pub user: String,
    pub login: Login,
    pub roots: Roots,
    pub timeouts: Timeouts,
    /// At most this many connections at once.
    pub max_connections: usize,
    /// As [`mail::Described::authserv_id`].
    pub authserv_id: Option<String>,
}

impl Settings {
    /// Whether a source made from the one would do all that one made from the other does.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.host == other.host
            && self.port == other.port
            && self.security == other.security
            && self.user == other.user
            && self.login.is_same(&other.login)
            && self.roots.is_same(&other.roots)
            && self.timeouts == other.timeouts
            && self.max_connections == other.max_connections
            && self.authserv_id == other.authserv_id
    }
}

/// What the account's owner is known by.
#[derive(Clone)]
pub enum Login {
    Password(SecretString),
    /// Access tokens, shown in this way.
    Tokens(Bearer, Arc<Tokens>),
}

impl Login {
    /// Another number when what was refused may be taken: after a person has logged in.
    pub(super) fn attempt(&self) -> u64 {
        match self {
            Self::Password(_) => 0,
            Self::Tokens(_, tokens) => tokens.logins(),
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Password(one), Self::Password(other)) => {
                one.expose_secret() == other.expose_secret()
            }
            (Self::Tokens(how, one), Self::Tokens(other_how, other)) => {
                how == other_how && one.is_same(other)
            }
            _ => false,
        }
    }
}

/// INVARIANT: it shows which way it is and nothing else.
impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Password(_) => f.write_str("Password(..)"),
            Self::Tokens(how, _) => write!(f, "Tokens({}, ..)", how.name()),
        }
    }
}

/// How the connection is protected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Security {
    /// TLS from the first byte.
    Implicit,
    /// TLS by `STARTTLS`; without it there is no login.
    StartTls,
    /// None. Whether that is acceptable is for configuration to judge.
    Plain,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timeouts {
    /// Name lookup, TCP and TLS together.
    pub connect: Duration,
    pub greeting: Duration,
    /// Silence during a command that may take its time, such as a search.
    pub socket: Duration,
    /// Silence during a command that every server answers promptly.
    pub prompt: Duration,
    /// Silence while a message is added to a folder, and between two pieces of it.
    pub append: Duration,
    /// A connection that was idle must show life within this time.
    pub probe: Duration,
    /// An unused connection is closed after this time.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_millis(30_000),
            greeting: Duration::from_millis(15_000),
            socket: Duration::from_millis(300_000),
            prompt: Duration::from_secs(30),
            append: Duration::from_millis(300_000),
            probe: Duration::from_secs(5),
            // Under the five minutes after which many routers forget a connection.
            idle: Duration::from_secs(240),
        }
    }
}
