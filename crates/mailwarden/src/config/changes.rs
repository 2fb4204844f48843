//! Whether and how mail may be changed: the gate, what deleting means, where changes are written down.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gateway::{Deletes, Writes};
use ledger::{Ledger, LedgerFault, Server};
use secrecy::SecretString;

use crate::network_disk;
use crate::shared_ledger;
use crate::state;

/// Unless something else is said: long enough for a server that has more to do.
pub(super) const SETTLE: Duration = Duration::from_secs(60);

/// What an operator said of changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Changes {
    pub writes: Writes,
    pub deletes: Deletes,
    /// How long a server may take to come to a command whose connection is gone.
    pub settle: Duration,
    pub ledger: LedgerPlace,
}

/// Where changes are written down, before they are made and after.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum LedgerPlace {
    /// With the rest of the installation's state.
    State,
    At(PathBuf),
    /// On a server, which replicas share.
    On(Box<Server>),
    /// A configuration directory that names no file: nothing can be changed.
    Nowhere,
}

impl LedgerPlace {
    pub(crate) fn on(server: Server, password: Option<&SecretString>) -> Self {
        Self::On(Box::new(match password {
            Some(password) => server.with_password(password),
            None => server,
        }))
    }

    /// Opens it, or makes it. `None` where there is no such place.
    pub(crate) async fn open(&self) -> Option<Result<Ledger, LedgerFault>> {
        if let Self::On(server) = self {
            return Some(shared_ledger::connect(server).await);
        }
        let path = self.path()?;
        Some(match network_disk::refuse(&path) {
            Ok(()) => Ledger::open(&path),
            Err(why) => Err(LedgerFault::Unwritable(why)),
        })
    }

    /// Whether there is one already, as far as can be told without asking anybody.
    pub(crate) fn exists(&self) -> bool {
        matches!(self, Self::On(_)) || self.path().is_some_and(|path| path.exists())
    }

    /// Its file, if it is one.
    fn path(&self) -> Option<PathBuf> {
        match self {
            Self::State => state::ledger(),
            Self::At(path) => Some(path.clone()),
            Self::On(_) | Self::Nowhere => None,
        }
    }
}

impl From<Option<PathBuf>> for LedgerPlace {
    /// Of the `wal.path` of a configuration directory.
    fn from(path: Option<PathBuf>) -> Self {
        path.map_or(Self::Nowhere, Self::At)
    }
}

/// For people. There is no password in it.
impl fmt::Display for LedgerPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, self.path()) {
            (Self::On(server), _) => server.fmt(f),
            (_, Some(path)) => path.display().fmt(f),
            (_, None) => f.write_str("nowhere"),
        }
    }
}

/// What the variable of the gate says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Gate {
    Open,
    Closed,
    /// Nothing: then the environment alone lets nobody change mail, and a directory leaves it to its policies.
    Unsaid,
}

impl Gate {
    pub(super) fn without_directory(self) -> Writes {
        match self {
            Self::Open => Writes::Allowed,
            Self::Closed | Self::Unsaid => Writes::Gated,
        }
    }

    /// Who closes it by name means it, whatever policies say.
    pub(super) fn beside_directory(self) -> Writes {
        match self {
            Self::Open | Self::Unsaid => Writes::Allowed,
            Self::Closed => Writes::Gated,
        }
    }
}

/// Where the ledger of a configuration is, also of one that is refused: what is wrong elsewhere does not matter.
pub(crate) fn ledger_place(directory: Option<&Path>) -> Result<LedgerPlace, super::Problems> {
    match directory {
        None => super::env::ledger_place(std::env::vars_os()),
        Some(directory) => super::dir::ledger_place(directory),
    }
}
