//! Refreshes and logins against a small provider that is precise about rotation, and a store that can fail.

mod logging_in;
mod looking;
mod provider;
mod quiet;
mod refreshing;
mod replicas;
mod rotating;
mod secured;
pub(crate) mod store;
mod succeeding;
mod tearing;

use std::path::Path;
use std::sync::Arc;

use super::grant::{Grant, Provider, TokenCache};
use super::tokens::Tokens;
use super::vault::Vault;
use crate::SecretRef;
use store::Imagined;

pub(super) fn reference() -> SecretRef {
    SecretRef::parse("secret://accounts/work/refresh_token", "").unwrap()
}

pub(super) fn grant(issuer: &str) -> Grant {
    Grant {
        account: "work".to_owned(),
        provider: Provider::Custom {
            issuer: issuer.to_owned(),
        },
        client_id: Some("client-1".to_owned()),
        client_secret: None,
        scope: Some("mail".to_owned()),
        user: "anna@example.org".to_owned(),
        refresh_token: reference(),
        cache: TokenCache::MemoryOnly,
        ca_file: None,
    }
}

fn tokens(grant: Grant, store: &Arc<Imagined>, state: &Path) -> Arc<Tokens> {
    let vault = Vault::imagined(store, reference());
    let tokens = Tokens::with(grant, vault, Some(state.to_owned()));
    super::tokens::first_look(&[Arc::clone(&tokens)]);
    tokens
}

/// Everything that lies in a directory.
fn contents(dir: &Path) -> String {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let text = entries.map(|it| std::fs::read(it.path()).unwrap_or_default());
    let text = text.map(|octets| String::from_utf8_lossy(&octets).into_owned());
    text.collect::<Vec<_>>().join("\n")
}
