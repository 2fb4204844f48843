//! Tokens that lie in a file: sealed under a key that only the secret store can give, and recognized by a fingerprint.
//!
//! It reads and writes no file. Who has the file alone can do nothing with it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

const NONCE: usize = 24;
const FINGERPRINT_WORD: &str = "mailwarden oauth fingerprint 1";
const KEY_WORD: &str = "mailwarden oauth seal 1";

/// Says that two tokens are the same one, and nothing else: half of a hash of what cannot be guessed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Fingerprint(String);

impl Fingerprint {
    pub(crate) fn of(account: &str, token: &SecretString) -> Self {
        let digest = digest(FINGERPRINT_WORD, account, token);
        Self(STANDARD_NO_PAD.encode(digest.get(..16).unwrap_or_default()))
    }
}

/// What is sealed, and for whom: one cannot be passed off as the other.
pub(crate) struct Binding<'a> {
    pub kind: Kind,
    pub account: &'a str,
    /// Who gave it, and to which client.
    pub given: &'a str,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Access,
    /// The refresh token that takes the place of the one in the store.
    Successor,
}

/// A token that only the holder of another one can read.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sealed {
    /// The token that it is sealed under.
    pub under: Fingerprint,
    sealed: String,
}

impl Sealed {
    /// None where the system has no random octets.
    pub(crate) fn new(plain: &[u8], under: &SecretString, binding: &Binding<'_>) -> Option<Self> {
        let mut nonce = [0u8; NONCE];
        getrandom::fill(&mut nonce).ok()?;
        let payload = Payload {
            msg: plain,
            aad: &binding.octets(),
        };
        let sealed = cipher(under, binding.account)
            .encrypt(&XNonce::from(nonce), payload)
            .ok()?;
        let whole = [nonce.as_slice(), &sealed].concat();
        Some(Self {
            under: Fingerprint::of(binding.account, under),
            sealed: STANDARD_NO_PAD.encode(whole),
        })
    }

    /// None where it was sealed under another token, for something else, or is damaged.
    pub(crate) fn open(
        &self,
        under: &SecretString,
        binding: &Binding<'_>,
    ) -> Option<Zeroizing<Vec<u8>>> {
        let whole = STANDARD_NO_PAD.decode(&self.sealed).ok()?;
        let (nonce, sealed) = whole.split_at_checked(NONCE)?;
        let nonce: [u8; NONCE] = nonce.try_into().ok()?;
        let payload = Payload {
            msg: sealed,
            aad: &binding.octets(),
        };
        let plain = cipher(under, binding.account).decrypt(&XNonce::from(nonce), payload);
        plain.ok().map(Zeroizing::new)
    }
}

impl Binding<'_> {
    fn octets(&self) -> Vec<u8> {
        let kind = match self.kind {
            Kind::Access => "access",
            Kind::Successor => "successor",
        };
        let mut octets = Vec::new();
        for part in [kind, self.account, self.given] {
            octets.extend_from_slice(&length(part));
            octets.extend_from_slice(part.as_bytes());
        }
        octets
    }
}

fn cipher(under: &SecretString, account: &str) -> XChaCha20Poly1305 {
    let key = digest(KEY_WORD, account, under);
    XChaCha20Poly1305::new((&*key).into())
}

/// INVARIANT: the word keeps keys and fingerprints apart: from one, nothing is learnt of the other.
fn digest(word: &str, account: &str, token: &SecretString) -> Zeroizing<[u8; 32]> {
    let mut hash = Sha256::new();
    for part in [word, account, token.expose_secret()] {
        hash.update(length(part));
        hash.update(part);
    }
    Zeroizing::new(hash.finalize().into())
}

fn length(part: &str) -> [u8; 8] {
    (part.len() as u64).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binding(kind: Kind) -> Binding<'static> {
        Binding {
            kind,
            account: "work",
            given: "google client",
        }
    }

    #[test]
    fn only_the_same_token_opens_it_for_the_same_purpose() {
        let store: SecretString = "refresh-1".into();
        let sealed = Sealed::new(b"access-1", &store, &binding(Kind::Access)).unwrap();
        let opened = sealed.open(&store, &binding(Kind::Access)).unwrap();
        assert_eq!(opened.as_slice(), b"access-1");

        let other = "refresh-2".into();
        assert_eq!(sealed.open(&other, &binding(Kind::Access)), None);
        assert_eq!(sealed.open(&store, &binding(Kind::Successor)), None);
        let foreign = Binding {
            account: "home",
            ..binding(Kind::Access)
        };
        assert_eq!(sealed.open(&store, &foreign), None);
        let regiven = Binding {
            given: "google other",
            ..binding(Kind::Access)
        };
        assert_eq!(sealed.open(&store, &regiven), None);
    }

    #[test]
    fn no_changed_or_shortened_box_opens() {
        let store: SecretString = "refresh-1".into();
        let sealed = Sealed::new(b"access-1", &store, &binding(Kind::Access)).unwrap();
        let whole = STANDARD_NO_PAD.decode(&sealed.sealed).unwrap();
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            for damaged in [&changed[..], &whole[..at]] {
                let damaged = Sealed {
                    under: sealed.under.clone(),
                    sealed: STANDARD_NO_PAD.encode(damaged),
                };
                assert_eq!(damaged.open(&store, &binding(Kind::Access)), None);
            }
        }
        let nonsense = Sealed {
            under: sealed.under.clone(),
            sealed: "not base64!".to_owned(),
        };
        assert_eq!(nonsense.open(&store, &binding(Kind::Access)), None);
    }

    #[test]
    fn a_fingerprint_tells_tokens_and_accounts_apart_and_holds_nothing_of_them() {
        let token: SecretString = "refresh-1".into();
        let print = Fingerprint::of("work", &token);
        assert_eq!(print, Fingerprint::of("work", &token));
        assert_ne!(print, Fingerprint::of("home", &token));
        assert_ne!(print, Fingerprint::of("work", &"refresh-2".into()));
        assert!(!format!("{print:?}").contains("refresh"));
    }
}
