//! The secret store, as far as one account's refresh token goes: asked off the async threads.

use std::sync::Arc;

use secrecy::{ExposeSecret as _, SecretString};

use super::looks::Cost;
use super::proof;
use crate::{NoSecret, SecretRef, Store};

/// The place of one refresh token.
#[derive(Clone, Debug)]
pub(crate) struct Vault {
    place: Place,
    which: SecretRef,
}

#[derive(Clone, Debug)]
enum Place {
    Store(Arc<Store>),
    #[cfg(test)]
    Imagined(Arc<super::tests::store::Imagined>),
}

impl Vault {
    pub(crate) fn new(store: Arc<Store>, which: SecretRef) -> Self {
        Self {
            place: Place::Store(store),
            which,
        }
    }

    #[cfg(test)]
    pub(crate) fn imagined(store: &Arc<super::tests::store::Imagined>, which: SecretRef) -> Self {
        Self {
            place: Place::Imagined(Arc::clone(store)),
            which,
        }
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let places = match (&self.place, &other.place) {
            (Place::Store(one), Place::Store(other)) => one.is_same(other),
            #[cfg(test)]
            (Place::Imagined(one), Place::Imagined(other)) => Arc::ptr_eq(one, other),
            #[cfg(test)]
            _ => false,
        };
        places && self.which == other.which
    }

    /// What it costs to look.
    pub(crate) fn cost(&self) -> Cost {
        match &self.place {
            Place::Store(store) if store.runs_programs() => Cost::Program,
            Place::Store(_) => Cost::Little,
            #[cfg(test)]
            Place::Imagined(store) => store.cost(),
        }
    }

    /// By its kind, whatever else may be in the way.
    pub(crate) fn is_read_only(&self) -> bool {
        match &self.place {
            Place::Store(store) => store.is_read_only(),
            #[cfg(test)]
            Place::Imagined(store) => store.writable().is_err(),
        }
    }

    /// Tells the place of this token from all others: what is remembered of one says nothing of another.
    pub(crate) fn place(&self) -> String {
        let store = match &self.place {
            Place::Store(store) => store.place(),
            #[cfg(test)]
            Place::Imagined(_) => String::new(),
        };
        format!("{store} {}", self.which.path())
    }

    /// May run a program and wait for it: not for an async thread.
    pub(crate) fn read(&self) -> Result<SecretString, NoSecret> {
        match &self.place {
            Place::Store(store) => store.read(&self.which),
            #[cfg(test)]
            Place::Imagined(store) => store.read(),
        }
    }

    /// Puts a secret into the place of `old`, where there was one. INVARIANT: what counts as kept has been read back;
    /// programs of others end well and keep nothing, keep it elsewhere, or fail half-way.
    pub(crate) fn put(&self, next: &SecretString, old: Option<&SecretString>) -> Put {
        if let Err(why) = self.writable() {
            return Put::ReadOnly(why);
        }
        let written = self.write(next);
        match (self.read(), written) {
            (Ok(found), _) if proof::same(&found, next.expose_secret()) => Put::Kept,
            (Ok(found), written) => {
                let why = written.err().unwrap_or_else(elsewhere);
                match old.is_some_and(|old| proof::same(&found, old.expose_secret())) {
                    true => Put::Unchanged(why),
                    false => Put::Torn(why, Some(found)),
                }
            }
            (Err(why), Ok(())) if why.is_absent() => Put::Torn(elsewhere(), None),
            (Err(_), Err(why)) | (Err(why), Ok(())) => Put::Torn(why, None),
        }
    }

    /// As [`Store::write`]: wholly or not at all, and on disk when it returns, as far as that is ours to say.
    fn write(&self, secret: &SecretString) -> Result<(), NoSecret> {
        match &self.place {
            Place::Store(store) => store.write(&self.which, secret),
            #[cfg(test)]
            Place::Imagined(store) => store.write(secret),
        }
    }

    pub(crate) fn writable(&self) -> Result<(), NoSecret> {
        match &self.place {
            Place::Store(store) => store.writable(&self.which),
            #[cfg(test)]
            Place::Imagined(store) => store.writable(),
        }
    }
}

/// What became of a secret that was to be kept.
#[derive(Debug)]
pub(crate) enum Put {
    Kept,
    /// Nothing was tried.
    ReadOnly(NoSecret),
    /// The store holds what it held before.
    Unchanged(NoSecret),
    /// It holds something else, or does not say what.
    Torn(NoSecret, Option<SecretString>),
}

fn elsewhere() -> NoSecret {
    NoSecret::new(
        "the secret store took the refresh token and does not give it back",
        "let reading and writing lead to the same secret: command and store_command, where it has them",
    )
}

/// Runs what may take its time where it holds up nobody.
pub(crate) async fn off_thread<T, F>(work: F) -> Result<T, Stopped>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    tokio::task::spawn_blocking(work).await.map_err(|_| Stopped)
}

/// The program is ending.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stopped;
