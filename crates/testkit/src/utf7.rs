//! Mailbox names as IMAP and Maildir++ spell them: modified UTF-7 (RFC 3501 section 5.1.3). Encodes only.

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
    use super::encode;

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
}
