//! Mailbox names as IMAP and Maildir++ spell them: modified UTF-7 (RFC 3501 section 5.1.3). Does not say which names are allowed.

use base64::Engine as _;
use base64::alphabet::IMAP_MUTF7;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};

const BASE64: GeneralPurpose = GeneralPurpose::new(&IMAP_MUTF7, NO_PAD);

pub(crate) fn encode(name: &str) -> String {
    let mut out = String::new();
    let mut foreign = Vec::new();
    for c in name.chars() {
        if matches!(c, ' '..='~') {
            flush(&mut foreign, &mut out);
            out.push(c);
            if c == '&' {
                out.push('-');
            }
        } else {
            foreign.extend(
                c.encode_utf16(&mut [0; 2])
                    .iter()
                    .flat_map(|unit| unit.to_be_bytes()),
            );
        }
    }
    flush(&mut foreign, &mut out);
    out
}

/// None for what [`encode`] would not have written.
pub(crate) fn decode(name: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = name;
    while let Some((plain, after)) = rest.split_once('&') {
        let (foreign, after) = after.split_once('-')?;
        out.push_str(plain);
        rest = after;
        if foreign.is_empty() {
            out.push('&');
            continue;
        }
        let bytes = BASE64.decode(foreign).ok()?;
        let units = bytes
            .chunks_exact(2)
            .map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
        out.push_str(&String::from_utf16(&units.collect::<Vec<_>>()).ok()?);
    }
    out.push_str(rest);
    (encode(&out) == name).then_some(out)
}

fn flush(utf16: &mut Vec<u8>, out: &mut String) {
    if utf16.is_empty() {
        return;
    }
    out.push('&');
    BASE64.encode_string(&utf16, out);
    out.push('-');
    utf16.clear();
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn encodes_as_in_the_rfc() {
        assert_eq!(
            encode("~peter/mail/台北/日本語"),
            "~peter/mail/&U,BTFw-/&ZeVnLIqe-"
        );
        assert_eq!(encode("Projekte/Übersicht"), "Projekte/&ANw-bersicht");
        assert_eq!(encode("R&D"), "R&-D");
        assert_eq!(encode("📦"), "&2D3c5g-");
    }

    #[test]
    fn decodes_what_was_encoded_and_nothing_else() {
        for name in ["", "INBOX", "R&D", "台北/📦 x", "&", "a&-b"] {
            assert_eq!(decode(&encode(name)).as_deref(), Some(name));
        }
        for bad in ["&", "a&b", "&AGE-", "\u{fc}", "&!-"] {
            assert_eq!(decode(bad), None, "{bad}");
        }
    }
}
