//! The text in headers and parts, decoded, and whether it holds what is sought. Renders nothing: HTML keeps its tags.

use super::settings::Matching;
use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// A header's value with its encoded words read (RFC 2047).
pub(super) fn header(value: &str) -> String {
    let mut out = String::new();
    let (mut rest, mut last) = (value, Last::Text);
    while let Some(from) = rest.find("=?") {
        let (before, word) = rest.split_at(from);
        let Some((text, length)) = encoded_word(word) else {
            out.push_str(before);
            out.push_str("=?");
            (rest, last) = (&word[2..], Last::Text);
            continue;
        };
        // White space between two encoded words belongs to neither.
        if last == Last::Text || !before.trim().is_empty() {
            out.push_str(before);
        }
        out.push_str(&text);
        (rest, last) = (&word[length..], Last::Word);
    }
    out.push_str(rest);
    out
}

/// What was read before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Text,
    Word,
}

/// A part's octets as text, by its transfer encoding.
pub(super) fn part(bytes: &[u8], encoding: &str) -> String {
    match encoding.to_ascii_lowercase().as_str() {
        "base64" => {
            let dense: Vec<u8> = bytes
                .iter()
                .copied()
                .filter(|b| !b.is_ascii_whitespace())
                .collect();
            read(&LENIENT.decode(dense).unwrap_or_default())
        }
        "quoted-printable" => read(&quoted_printable(bytes)),
        _ => read(bytes),
    }
}

/// Whether `hay` holds `needle`, whatever the case.
pub(super) fn holds(hay: &str, needle: &str, matching: Matching) -> bool {
    match matching {
        Matching::Substrings => hay.to_lowercase().contains(&needle.to_lowercase()),
        Matching::Words => {
            let (hay, needle) = (words(hay), words(needle));
            match needle.is_empty() {
                true => true,
                false => hay.windows(needle.len()).any(|window| window == needle),
            }
        }
    }
}

fn words(text: &str) -> Vec<String> {
    let parts = text.split(|c: char| !c.is_alphanumeric());
    parts
        .filter(|part| !part.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// UTF-8, or Latin-1 where it is none.
fn read(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}

/// The word that `text` begins with, and how long it is.
fn encoded_word(text: &str) -> Option<(String, usize)> {
    let mut parts = text.strip_prefix("=?")?.splitn(3, '?');
    let (charset, encoding, rest) = (parts.next()?, parts.next()?, parts.next()?);
    let end = rest.find("?=")?;
    let inner = &rest[..end];
    if inner.contains(' ') {
        return None;
    }
    let bytes = match encoding {
        "B" | "b" => LENIENT.decode(inner).ok()?,
        "Q" | "q" => quoted_printable(inner.replace('_', " ").as_bytes()),
        _ => return None,
    };
    Some((
        read(&bytes),
        2 + charset.len() + 1 + encoding.len() + 1 + end + 2,
    ))
}

fn quoted_printable(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'=' {
            out.push(*first);
            continue;
        }
        if let Some(next) = rest
            .strip_prefix(b"\r\n")
            .or_else(|| rest.strip_prefix(b"\n"))
        {
            rest = next;
            continue;
        }
        let hex = rest
            .get(..2)
            .and_then(|pair| std::str::from_utf8(pair).ok());
        match hex.and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                rest = &rest[2..];
            }
            None => out.push(b'='),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_and_parts_are_decoded() {
        for (value, want) in [
            ("plain", "plain"),
            ("=?utf-8?B?w5xiZXI=?= =?utf-8?q?_sicht?=", "Über sicht"),
            ("a =?utf-8?q?b?= c", "a b c"),
            ("=?utf-8?x?b?= =?", "=?utf-8?x?b?= =?"),
            ("=?iso-8859-1?q?=FCber?=", "über"),
        ] {
            assert_eq!(header(value), want, "{value}");
        }
        assert_eq!(part(b"w7xi\r\nZXI=", "BASE64"), "über");
        assert_eq!(part(b"a=3Db=\r\nc", "quoted-printable"), "a=bc");
        assert_eq!(part(b"=zz", "quoted-printable"), "=zz");
    }

    #[test]
    fn words_are_found_whole_and_in_their_order() {
        for (needle, want) in [
            ("budget", true),
            ("BUDGET 2026", true),
            ("2026 budget", false),
            ("budg", false),
            ("alice@example.com", true),
            ("example", true),
            ("", true),
        ] {
            let hay = "The budget, 2026 <alice@example.com>";
            assert_eq!(holds(hay, needle, Matching::Words), want, "{needle}");
        }
        assert!(holds("the budget", "udge", Matching::Substrings));
    }
}
