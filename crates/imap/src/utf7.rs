//! Mailbox names on the wire: modified UTF-7 (RFC 3501 section 5.1.3).
//!
//! Decoding is strict, so that two spellings never mean the same mailbox: `R&-D` is `R&D`, and a bare `R&D` is no name.

use base64::Engine as _;
use base64::alphabet::Alphabet;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};

/// Base64 with `,` in place of `/`.
const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+,";

fn engine() -> Option<GeneralPurpose> {
    Alphabet::new(ALPHABET)
        .ok()
        .map(|alphabet| GeneralPurpose::new(&alphabet, NO_PAD))
}

/// The wire spelling of a decoded name. ASCII whatever the name holds.
pub fn encode(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut pending: Vec<u8> = Vec::new();
    for character in name.chars() {
        if (' '..='~').contains(&character) {
            flush(&mut out, &mut pending);
            out.push(character);
            if character == '&' {
                out.push('-');
            }
        } else {
            let mut units = [0u16; 2];
            for unit in character.encode_utf16(&mut units) {
                pending.extend_from_slice(&unit.to_be_bytes());
            }
        }
    }
    flush(&mut out, &mut pending);
    out
}

fn flush(out: &mut String, pending: &mut Vec<u8>) {
    if pending.is_empty() {
        return;
    }
    if let Some(engine) = engine() {
        out.push('&');
        out.push_str(&engine.encode(&*pending));
        out.push('-');
    }
    pending.clear();
}

/// The decoded name, or `None` when the bytes are not what [`encode`] would have written.
pub fn decode(wire: &[u8]) -> Option<String> {
    let wire = std::str::from_utf8(wire).ok()?;
    let mut out = String::with_capacity(wire.len());
    let mut rest = wire;
    while let Some((plain, shifted)) = rest.split_once('&') {
        out.push_str(plain);
        let (inside, after) = shifted.split_once('-')?;
        if inside.is_empty() {
            out.push('&');
        } else {
            let bytes = engine()?.decode(inside).ok()?;
            let units = bytes.chunks(2).map(|pair| match pair {
                [high, low] => Some(u16::from_be_bytes([*high, *low])),
                _ => None,
            });
            out.push_str(&String::from_utf16(&units.collect::<Option<Vec<u16>>>()?).ok()?);
        }
        rest = after;
    }
    out.push_str(rest);
    (encode(&out) == wire).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_names() {
        for (name, wire) in [
            ("INBOX", "INBOX"),
            ("R&D", "R&-D"),
            ("Entwürfe", "Entw&APw-rfe"),
            ("~peter/mail/台北/日本語", "~peter/mail/&U,BTFw-/&ZeVnLIqe-"),
            ("📦 Pakete", "&2D3c5g- Pakete"),
        ] {
            assert_eq!(encode(name), wire);
            assert_eq!(decode(wire.as_bytes()).as_deref(), Some(name));
        }
    }

    #[test]
    fn one_mailbox_has_one_spelling() {
        for bad in [
            "R&D",
            "&",
            "&AGE-",
            "&APw",
            "&APw-&APw-",
            "&2D0-",
            "a\u{fc}b",
            "&A-",
            "\u{7f}",
        ] {
            assert_eq!(decode(bad.as_bytes()), None, "{bad:?}");
        }
        assert_eq!(decode(b"\xff"), None);
    }

    proptest! {
        #[test]
        fn decode_undoes_encode(name in "\\PC{0,40}") {
            let wire = encode(&name);
            prop_assert!(wire.is_ascii());
            prop_assert_eq!(decode(wire.as_bytes()), Some(name));
        }
    }
}
