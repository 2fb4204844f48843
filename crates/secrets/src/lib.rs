//! Credentials: where secrets are kept, and the OAuth tokens that are got with them.
//!
//! It decides nothing about mail, and nothing that it holds is ever logged, printed or part of an error.

mod oauth;
mod reference;
mod store;

pub use oauth::{
    AccessToken, Found, Grant, HeldLock, Issuer, NeedsLogin, NoToken, Provider, Reach, Records,
    RefreshOutcome, Refreshed, Remedy, Rotation, Stamp, Standing, TokenCache, Tokens, Unvouched,
    Verifier, Vouched, finish_refreshes, first_look, login,
};
pub use reference::SecretRef;
pub use store::{
    Command, CommandLine, FileDir, GpgFile, Keyring, NoSecret, Store, Variables, end_programs,
    own_variables, read_file,
};
