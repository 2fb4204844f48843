//! Cursors: sealed, self-contained tokens. The server keeps no cursor state, so any replica can read one, twice.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use jiff::{SignedDuration, Timestamp};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// How long a page's cursor may be used.
const LIFETIME: SignedDuration = SignedDuration::from_hours(24);
const NONCE: usize = 24;

/// The key of an installation. Whoever holds it can make cursors and say what a person was asked, and nothing else.
#[derive(Clone)]
pub struct CursorKey([u8; 32]);

impl CursorKey {
    pub fn new(key: [u8; 32]) -> Self {
        Self(key)
    }

    /// Another key, for this purpose. Nothing leads from it back to this one.
    pub(crate) fn derived(&self, purpose: &[u8]) -> [u8; 32] {
        let inner = Sha256::new().chain_update(self.0).chain_update(purpose);
        let outer = Sha256::new().chain_update(self.0);
        outer.chain_update(inner.finalize()).finalize().into()
    }
}

/// Whom and what a cursor is for. It is not in the token: it must be said again, and must be the same.
pub(crate) struct Binding<'a> {
    pub caller: &'a str,
    pub account: &'a str,
    pub folder: &'a str,
}

/// Where a search goes on. Written as an array: every byte is a token for somebody.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Place<Q>(pub PlaceFields<Q>);

/// Conditions, uidvalidity, order and uid of the last message, matches shown so far, page size.
pub(crate) type PlaceFields<Q> = (Q, u32, i64, u32, u64, u32);

/// Why a cursor cannot be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BadCursor {
    /// Not one of ours, or not whole.
    Foreign,
    Expired,
}

impl CursorKey {
    pub(crate) fn seal<Q: Serialize>(
        &self,
        place: &Place<Q>,
        binding: &Binding<'_>,
        now: Timestamp,
    ) -> Option<String> {
        let expires = now.checked_add(LIFETIME).ok()?.as_second();
        let plain = serde_json::to_vec(&(expires, place)).ok()?;
        self.enclose(&plain, &binding.bytes())
    }

    pub(crate) fn open<Q: DeserializeOwned>(
        &self,
        token: &str,
        binding: &Binding<'_>,
        now: Timestamp,
    ) -> Result<Place<Q>, BadCursor> {
        let plain = self.disclose(token, &binding.bytes());
        let plain = plain.ok_or(BadCursor::Foreign)?;
        let (expires, place): (i64, Place<Q>) =
            serde_json::from_slice(&plain).map_err(|_| BadCursor::Foreign)?;
        if now.as_second() > expires {
            return Err(BadCursor::Expired);
        }
        Ok(place)
    }

    /// INVARIANT: `purpose` begins with a word for what the token is, which no other kind of token begins with.
    pub(crate) fn enclose(&self, plain: &[u8], purpose: &[u8]) -> Option<String> {
        let mut nonce = [0u8; NONCE];
        getrandom::fill(&mut nonce).ok()?;
        let payload = Payload {
            msg: plain,
            aad: purpose,
        };
        let sealed = self.cipher().encrypt(&XNonce::from(nonce), payload).ok()?;
        let mut token = nonce.to_vec();
        token.extend_from_slice(&sealed);
        Some(URL_SAFE_NO_PAD.encode(token))
    }

    /// None of what was not made here, or for another purpose.
    pub(crate) fn disclose(&self, token: &str, purpose: &[u8]) -> Option<Vec<u8>> {
        let token = URL_SAFE_NO_PAD.decode(token).ok()?;
        let (nonce, sealed) = token.split_first_chunk::<NONCE>()?;
        let payload = Payload {
            msg: sealed,
            aad: purpose,
        };
        let opened = self.cipher().decrypt(&XNonce::from(*nonce), payload);
        opened.ok()
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(&self.0.into())
    }
}

impl Binding<'_> {
    /// NUL stands in none of them, so no two bindings look the same.
    fn bytes(&self) -> Vec<u8> {
        ["cursor 1", self.caller, self.account, self.folder]
            .join("\0")
            .into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HERE: Binding<'_> = Binding {
        caller: "owner",
        account: "work",
        folder: "INBOX",
    };

    fn place() -> Place<String> {
        Place(("from anna".to_owned(), 7, 0, 42, 10, 10))
    }

    fn open(key: &CursorKey, token: &str, now: i64) -> Result<Place<String>, BadCursor> {
        key.open(token, &HERE, at(now))
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_cursor_opens_with_its_key_only_and_again_and_again() {
        let key = CursorKey::new([1; 32]);
        let token = key.seal(&place(), &HERE, at(1_000)).unwrap();
        assert_eq!(open(&key, &token, 1_001), Ok(place()));
        assert_eq!(open(&key, &token, 2_000), Ok(place()));
        assert_eq!(
            open(&CursorKey::new([2; 32]), &token, 1_001),
            Err(BadCursor::Foreign)
        );
        let elsewhere = Binding {
            folder: "Sent",
            ..HERE
        };
        assert_eq!(
            key.open::<String>(&token, &elsewhere, at(1_001)),
            Err(BadCursor::Foreign)
        );
    }

    #[test]
    fn it_expires_after_a_day() {
        let key = CursorKey::new([1; 32]);
        let token = key.seal(&place(), &HERE, at(1_000)).unwrap();
        assert!(open(&key, &token, 1_000 + 86_400).is_ok());
        assert_eq!(open(&key, &token, 1_001 + 86_400), Err(BadCursor::Expired));
    }

    proptest! {
        #[test]
        fn a_changed_cursor_never_opens(index in 0usize..200, flip in 1u8..=255) {
            let key = CursorKey::new([1; 32]);
            let token = key.seal(&place(), &HERE, at(1_000)).unwrap();
            let mut bytes = URL_SAFE_NO_PAD.decode(&token).unwrap();
            let index = index % bytes.len();
            bytes[index] ^= flip;
            let changed = URL_SAFE_NO_PAD.encode(bytes);
            prop_assert_eq!(open(&key, &changed, 1_001), Err(BadCursor::Foreign));
        }

        #[test]
        fn no_text_makes_it_fall(text in "\\PC{0,120}") {
            prop_assert!(open(&CursorKey::new([1; 32]), &text, 0).is_err());
        }
    }
}
