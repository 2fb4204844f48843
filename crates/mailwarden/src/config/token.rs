//! `mailwarden config token`: a new token for a caller. It is shown once, and kept nowhere.

use anyhow::Context as _;

use super::dir::TokenDigest;
use crate::screen::Screen;

/// Says whose it is when one turns up where it should not.
const PREFIX: &str = "mw_";
/// 256 bits.
const BYTES: usize = 32;

pub(super) fn make(screen: Screen) -> anyhow::Result<()> {
    let mut random = [0; BYTES];
    getrandom::fill(&mut random).context("the system gives no randomness")?;
    let digits: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    let token = format!("{PREFIX}{digits}");
    let digest = TokenDigest::of(&token);
    screen.line(format!("token, for the client, shown this once: {token}"));
    screen.line(format!("for callers.yaml: - {{ sha256: \"{digest}\" }}"));
    Ok(())
}
