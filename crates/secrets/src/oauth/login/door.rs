//! An address of this machine that leads to the provider, once.
//!
//! Whoever opens a browser is given it in its words, which every user of the machine can read: in it is nothing that ties an answer
//! to this login.

use std::sync::Mutex;

use secrecy::{ExposeSecret as _, SecretString};
use zeroize::Zeroizing;

#[derive(Debug)]
pub(super) struct Door {
    path: String,
    /// None once somebody has gone through.
    beyond: Mutex<Option<Beyond>>,
}

struct Beyond(Zeroizing<String>);

/// INVARIANT: the state is in it.
impl std::fmt::Debug for Beyond {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("Beyond(..)")
    }
}

/// What is behind it.
#[derive(PartialEq, Eq)]
pub(super) enum Behind {
    Address(Zeroizing<String>),
    /// Somebody has been here.
    Nothing,
}

impl Door {
    /// `word` is one that nobody guesses.
    pub(super) fn new(word: &SecretString, beyond: String) -> Self {
        Self {
            path: format!("/{}", word.expose_secret()),
            beyond: Mutex::new(Some(Beyond(Zeroizing::new(beyond)))),
        }
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) fn open(&self) -> Behind {
        let mut beyond = match self.beyond.lock() {
            Ok(beyond) => beyond,
            Err(poisoned) => poisoned.into_inner(),
        };
        beyond
            .take()
            .map_or(Behind::Nothing, |it| Behind::Address(it.0))
    }
}
