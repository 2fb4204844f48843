//! OAuth2 for mail accounts: who gives tokens, how one logs in, and how tokens are kept fresh.

mod grant;
mod tokens;

pub use grant::{Grant, Provider, TokenCache};
pub use tokens::{AccessToken, NeedsLogin, NoToken, Standing, Tokens};
