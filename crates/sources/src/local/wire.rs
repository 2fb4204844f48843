//! A message as it goes over the wire: each line ended by CRLF.
//!
//! A file may end its lines by LF alone (most do); mail does not (RFC 5322 section 2.3), and a server that is sent such a
//! message stores another one than it was sent.

/// The octets with every bare LF made a CRLF; `before` is the octet in front of them.
pub(crate) fn with_crlf(octets: &[u8], mut before: Option<u8>) -> Vec<u8> {
    let mut out = Vec::with_capacity(octets.len() + octets.len() / 32);
    for octet in octets {
        if *octet == b'\n' && before != Some(b'\r') {
            out.push(b'\r');
        }
        out.push(*octet);
        before = Some(*octet);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_as_they_do_on_the_wire() {
        for (text, before, want) in [
            ("a\nb\n", None, "a\r\nb\r\n"),
            ("a\r\nb\n", None, "a\r\nb\r\n"),
            ("\n", Some(b'\r'), "\n"),
            ("\n", Some(b'\n'), "\r\n"),
            ("\n\n", None, "\r\n\r\n"),
            ("a\rb", None, "a\rb"),
            ("", None, ""),
        ] {
            assert_eq!(
                with_crlf(text.as_bytes(), before),
                want.as_bytes(),
                "{text:?}"
            );
        }
    }
}
