//! What an operator configured for logging in to one account by OAuth2.

use std::path::PathBuf;

use secrecy::{ExposeSecret as _, SecretString};

use super::proof;
use crate::SecretRef;

#[derive(Clone, Debug)]
pub struct Grant {
    /// The account's id, for messages and for the names of files.
    pub account: String,
    pub provider: Provider,
    /// None where the operator named none; then nothing can be asked of the provider.
    pub client_id: Option<String>,
    /// Of clients that have one; Google gives one to desktop programs too.
    pub client_secret: Option<SecretString>,
    /// None: what the provider needs for IMAP.
    pub scope: Option<String>,
    /// The mailbox: the provider is told who is to log in.
    pub user: String,
    /// Where the refresh token is kept.
    pub refresh_token: SecretRef,
    pub cache: TokenCache,
    /// Certificates (PEM) to be trusted beside the system's.
    pub ca_file: Option<PathBuf>,
}

impl Grant {
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let secrets = match (&self.client_secret, &other.client_secret) {
            (None, None) => true,
            (Some(one), Some(other)) => proof::same(one, other.expose_secret()),
            _ => false,
        };
        secrets
            && self.account == other.account
            && self.provider == other.provider
            && self.client_id == other.client_id
            && self.scope == other.scope
            && self.user == other.user
            && self.refresh_token == other.refresh_token
            && self.cache == other.cache
            && self.ca_file == other.ca_file
    }
}

/// Who gives the tokens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Provider {
    Google,
    /// The tenant, `common` where none is named.
    Microsoft {
        tenant: String,
    },
    Fastmail,
    Yahoo,
    /// Found out by discovery (RFC 8414, OpenID Connect Discovery).
    Custom {
        issuer: String,
    },
}

/// What becomes of access tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TokenCache {
    #[default]
    MemoryOnly,
    /// Kept on disk, sealed, so that a restart needs no refresh.
    PersistAll,
}
