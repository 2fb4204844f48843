//! What the octets of a message tell of it: a digest, and its Message-ID.

use bytes::Bytes;
use mail::Digest;
use sha2::{Digest as _, Sha256};

/// A longer one identifies nothing (RFC 5322 section 2.1.1).
const LONGEST_ID: usize = 998;

/// A digest in the making.
#[derive(Clone, Default)]
pub(crate) struct Digesting {
    state: Sha256,
    octets: u64,
}

impl Digesting {
    pub(crate) fn take(&mut self, octets: &[u8]) {
        self.state.update(octets);
        self.octets += u64::try_from(octets.len()).unwrap_or_default();
    }

    /// How much of the message it covers so far.
    pub(crate) fn octets(&self) -> u64 {
        self.octets
    }

    pub(crate) fn end(self) -> Digest {
        Digest {
            sha256: self.state.finalize().into(),
            octets: self.octets,
        }
    }
}

/// The Message-ID of a message of which this is the beginning, or all.
pub(crate) fn message_id(beginning: &Bytes, size: Option<u64>) -> Option<String> {
    let here = u64::try_from(beginning.len()).ok()?;
    let envelope = match size.is_some_and(|size| size <= here) {
        true => content::envelope(beginning),
        false => content::envelope_of_beginning(beginning),
    };
    let field = envelope.message_id?;
    let text = String::from_utf8_lossy(field.bytes()).trim().to_owned();
    let id = text.strip_prefix('<').and_then(|id| id.strip_suffix('>'));
    let id = id.unwrap_or(&text);
    (!id.is_empty() && id.len() <= LONGEST_ID).then(|| id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_without_their_brackets() {
        for (text, cut, want) in [
            ("Message-ID: <a@b>\r\n\r\nx", false, Some("a@b")),
            ("message-id:\r\n <a@b> \r\nX: y\r\n\r\n", false, Some("a@b")),
            ("Message-ID: a@b\r\n\r\n", false, Some("a@b")),
            ("Message-ID: <a@b", true, None),
            ("Message-ID: <a@b>\r\n\r\nbo", true, Some("a@b")),
            ("Message-ID: <>\r\n\r\n", false, None),
            ("X: y\r\n\r\nMessage-ID: <a@b>\r\n", false, None),
            ("", false, None),
        ] {
            let beginning = Bytes::from_static(text.as_bytes());
            let size = beginning.len() as u64 + u64::from(cut);
            assert_eq!(
                message_id(&beginning, Some(size)).as_deref(),
                want,
                "{text:?}"
            );
        }
    }

    #[test]
    fn a_digest_in_pieces_is_that_of_the_whole() {
        let mut digesting = Digesting::default();
        digesting.take(b"ab");
        digesting.take(b"c");
        let digest = digesting.end();
        assert_eq!(digest.octets, 3);
        assert_eq!(digest.sha256[..4], [0xba, 0x78, 0x16, 0xbf]);
    }
}
