//! Where secrets are kept: one store for an installation, of one of several kinds.

use secrecy::SecretString;

use crate::SecretRef;

/// A place that `secret://` references lead to.
#[derive(Debug)]
pub enum Store {
    /// None is configured.
    None,
}

/// Why there is no secret, or why it could not be kept, and what to do. INVARIANT: no part of a secret is in it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{what}; {hint}")]
pub struct NoSecret {
    pub what: String,
    pub hint: String,
}

impl NoSecret {
    pub fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            hint: hint.into(),
        }
    }
}

impl Store {
    /// May run a program and wait for it: not for an async thread.
    pub fn read(&self, wanted: &SecretRef) -> Result<SecretString, NoSecret> {
        let _ = wanted;
        Err(NoSecret::new(
            "there is no secret_store that this could lead to",
            "add one",
        ))
    }

    /// Replaces a secret, wholly or not at all; it is on disk when this returns.
    pub fn write(&self, which: &SecretRef, secret: &SecretString) -> Result<(), NoSecret> {
        let _ = secret;
        self.writable(which)
    }

    /// Whether a secret could be kept here; changes nothing.
    pub fn writable(&self, which: &SecretRef) -> Result<(), NoSecret> {
        let _ = which;
        Err(NoSecret::new(
            "there is no secret_store that this could lead to",
            "add one",
        ))
    }
}
