//! Transfer encodings, writing only: quoted-printable, base64 lines, encoded words.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Lines of 76 characters, each ended by CRLF (RFC 2045 section 6.8).
pub(crate) fn base64_lines(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 4 / 3 + bytes.len() / 28 + 8);
    for line in bytes.chunks(57) {
        STANDARD.encode_string(line, &mut out);
        out.push_str("\r\n");
    }
    out
}

/// RFC 2045 section 6.7; CRLF stays a line break.
pub(crate) fn quoted_printable(bytes: &[u8]) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = String::with_capacity(bytes.len() * 5 / 4);
    let mut column = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        if byte == b'\r' || byte == b'\n' {
            out.push(char::from(byte));
            column = 0;
            continue;
        }
        if column > 71 {
            out.push_str("=\r\n");
            column = 0;
        }
        let before_break = bytes.get(at + 1).is_none_or(|next| *next == b'\r');
        if matches!(byte, b'!'..=b'<' | b'>'..=b'~') || byte == b' ' && !before_break {
            out.push(char::from(byte));
            column += 1;
        } else {
            out.push('=');
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
            column += 3;
        }
    }
    out
}

/// Header text: as it is when ASCII, else folded encoded words (RFC 2047).
pub(crate) fn encoded_words(text: &str) -> String {
    if text.is_ascii() {
        return text.to_owned();
    }
    let mut words = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices() {
        if at + c.len_utf8() - start > 42 {
            words.push(&text[start..at]);
            start = at;
        }
    }
    words.push(&text[start..]);
    let words: Vec<_> = words
        .iter()
        .map(|word| format!("=?utf-8?B?{}?=", STANDARD.encode(word)))
        .collect();
    words.join("\r\n ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_printable_escapes_what_it_must() {
        assert_eq!(quoted_printable(b"a=b \r\n\xE4 c"), "a=3Db=20\r\n=E4 c");
        assert!(
            quoted_printable(&[b'x'; 500])
                .split("\r\n")
                .all(|line| line.len() <= 76)
        );
    }

    #[test]
    fn encoded_words_hold_whole_characters() {
        assert_eq!(encoded_words("plain"), "plain");
        assert_eq!(encoded_words("Grüße"), "=?utf-8?B?R3LDvMOfZQ==?=");
        let long = encoded_words(&"請求書".repeat(20));
        assert!(long.split("\r\n ").all(|word| word.len() <= 75), "{long}");
    }
}
