//! What ties an answer to its question: `state` (RFC 6749, section 10.12) and the proof key (RFC 7636). It talks to nobody.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

/// The system gave no random octets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NoRandomness;

/// 256 bits that nobody can guess, in 43 characters that need no escaping anywhere.
pub(crate) fn random() -> Result<SecretString, NoRandomness> {
    let mut octets = Zeroizing::new([0u8; 32]);
    getrandom::fill(octets.as_mut_slice()).map_err(|_| NoRandomness)?;
    Ok(URL_SAFE_NO_PAD.encode(octets.as_slice()).into())
}

/// S256 (RFC 7636, section 4.2). `plain` is not spoken here, so nobody can talk us down to it.
pub(crate) fn challenge(verifier: &SecretString) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.expose_secret()))
}

/// Takes as long for a near miss as for any other.
pub(crate) fn same(one: &SecretString, other: &str) -> bool {
    let one = one.expose_secret().as_bytes();
    one.ct_eq(other.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_is_that_of_rfc_7636_appendix_b() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".into();
        assert_eq!(
            challenge(&verifier),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
    }

    #[test]
    fn what_is_drawn_is_long_enough_plain_and_never_the_same() {
        let (one, other) = (random().unwrap(), random().unwrap());
        let text = one.expose_secret();
        assert_eq!(text.len(), 43);
        let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        assert!(text.bytes().all(unreserved));
        assert!(!same(&other, text));
        assert!(same(&one, text));
    }

    #[test]
    fn only_the_whole_is_the_same() {
        let state: SecretString = "abcdef".into();
        for other in ["", "abcde", "abcdefg", "abcdeF", "fedcba"] {
            assert!(!same(&state, other), "{other}");
        }
    }
}
