//! The tokens of one account: asked for by every connection, refreshed once for all of them.

use std::path::PathBuf;
use std::sync::Arc;

use secrecy::SecretString;

use super::Grant;
use crate::Store;

/// The tokens of one account.
pub struct Tokens {
    grant: Grant,
    store: Arc<Store>,
    state: Option<PathBuf>,
}

/// What a mail server is shown. Its Debug says nothing of it.
#[derive(Clone, Debug)]
pub struct AccessToken(Arc<SecretString>);

/// How far the login of an account goes, as far as is known without asking anybody.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Standing {
    Good,
    /// What was granted, or asked for, lets nothing be changed.
    ReadOnly,
    NeedsLogin(NeedsLogin),
}

/// Why a person has to log in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NeedsLogin {
    /// Nobody has yet.
    Never,
    /// The provider does not take the refresh token any more.
    Refused,
    /// Another scope is configured than was logged in for.
    ScopeChanged,
}

/// Why there is no token. INVARIANT: no part of a secret is in it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NoToken {
    #[error("the account has to be logged in")]
    NeedsLogin(NeedsLogin),
    /// The provider could not be reached, or did not answer as it should; later it may.
    #[error("{said}")]
    Unavailable { said: String },
    /// Something has to be changed in the configuration, the client's registration or the secret store.
    #[error("{said}")]
    Misconfigured { said: String },
}

impl Tokens {
    /// Asks nobody yet, but looks up what is remembered. `state` is a directory of ours; without it nothing is remembered.
    pub fn new(grant: Grant, store: Arc<Store>, state: Option<PathBuf>) -> Arc<Self> {
        Arc::new(Self {
            grant,
            store,
            state,
        })
    }

    /// Whether tokens made from the other's configuration would be the same.
    pub fn is_same(&self, other: &Self) -> bool {
        self.grant.account == other.grant.account
            && Arc::ptr_eq(&self.store, &other.store)
            && self.state == other.state
    }

    pub fn grant(&self) -> &Grant {
        &self.grant
    }

    /// Asks nobody.
    pub fn standing(&self) -> Standing {
        Standing::NeedsLogin(NeedsLogin::Never)
    }

    /// One that is good for a while yet; refreshed first if need be, once for all who ask meanwhile.
    pub async fn access(&self) -> Result<AccessToken, NoToken> {
        Err(NoToken::NeedsLogin(NeedsLogin::Never))
    }

    /// A mail server refused this one. Another one, newly got, unless somebody has got one meanwhile.
    pub async fn instead_of(&self, refused: &AccessToken) -> Result<AccessToken, NoToken> {
        let _ = refused;
        self.access().await
    }
}

impl AccessToken {
    pub fn secret(&self) -> &SecretString {
        &self.0
    }

    /// Whether it is the very same, not one that was got later.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
