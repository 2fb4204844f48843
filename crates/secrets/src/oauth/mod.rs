//! OAuth2: for mail accounts, who gives tokens, how one logs in, and how tokens are kept fresh; for callers, whether a token
//! that they bring is good.

mod answer;
mod bearer;
mod discovery;
mod flights;
mod grant;
mod http;
mod keep;
mod kept;
mod lock;
pub mod login;
mod looks;
mod memory;
mod proof;
mod provider;
mod records;
mod refresh;
mod scope;
mod seal;
mod standing;
#[cfg(test)]
pub(crate) mod tests;
mod tokens;
mod vault;
mod web;

pub use bearer::{Issuer, Unvouched, Verifier, Vouched};
pub use flights::finish_refreshes;
pub use grant::{Grant, Provider, TokenCache};
pub use memory::AccessToken;
pub use records::{HeldLock, Reach, Records, Stamp};
pub use refresh::{RefreshOutcome, Refreshed, Rotation};
pub use standing::{NeedsLogin, Standing};
pub use tokens::{Found, NoToken, Remedy, Tokens, first_look};
