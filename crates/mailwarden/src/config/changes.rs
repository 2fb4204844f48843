//! Whether and how mail may be changed: the gate, what deleting means, where changes are written down.

use std::path::{Path, PathBuf};
use std::time::Duration;

use gateway::{Deletes, Writes};

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
    /// A configuration directory that names no file: nothing can be changed.
    Nowhere,
}

impl LedgerPlace {
    /// `None` where there is no such place.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        match self {
            Self::State => state::ledger(),
            Self::At(path) => Some(path.clone()),
            Self::Nowhere => None,
        }
    }
}

impl From<Option<PathBuf>> for LedgerPlace {
    /// Of the `wal.path` of a configuration directory.
    fn from(path: Option<PathBuf>) -> Self {
        path.map_or(Self::Nowhere, Self::At)
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
        None => Ok(LedgerPlace::State),
        Some(directory) => super::dir::ledger_path(directory).map(LedgerPlace::from),
    }
}
