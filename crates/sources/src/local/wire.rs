//! A message as it goes over the wire: each line ended by CRLF.
//!
//! A file may end its lines by LF alone (most do); mail does not (RFC 5322 section 2.3), and a server that is sent such a
//! message stores another one than it was sent.

use bytes::Bytes;

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

/// Lines that end by LF alone.
pub(crate) fn bare(octets: &[u8], before: Option<u8>) -> u64 {
    let ends = |place: &usize| match place.checked_sub(1) {
        Some(before) => octets.get(before) != Some(&b'\r'),
        None => before != Some(b'\r'),
    };
    let bare = memchr::memchr_iter(b'\n', octets).filter(ends).count();
    u64::try_from(bare).unwrap_or(u64::MAX)
}

/// All octets of a message, or its beginning; as they are where they are so already.
pub(crate) fn on_the_wire(octets: Bytes) -> Bytes {
    match bare(&octets, None) {
        0 => octets,
        _ => Bytes::from(with_crlf(&octets, None)),
    }
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
            let more = (want.len() - text.len()) as u64;
            assert_eq!(bare(text.as_bytes(), before), more, "{text:?}");
        }
    }
}
