//! Header text decoded: RFC 2047 words, RFC 2231 file names, raw 8-bit text.

use mail::{HeaderId, Raw};

use crate::changes::Changes;
use crate::charset;
use crate::header;
use crate::outline::Completeness;
use crate::shield::{self, Fitted, Shape};
use crate::transfer;

/// A header value is decoded up to this many bytes and shown up to this many characters.
const MOST_BYTES: usize = 16 * 1024;
const MOST_CHARS: usize = 1_000;

/// A header value as text on one line: decoded, unfolded, shielded and bounded.
pub fn header_text(raw: &Raw, changes: &mut Changes) -> String {
    shown(raw.bytes(), changes).text
}

/// A file name: as [`header_text`], and RFC 2231 ext-values (`utf-8''na%C3%AFve.txt`) decoded too.
pub fn filename(raw: &Raw, changes: &mut Changes) -> String {
    match ext_value(raw.bytes()) {
        Some(text) => shield::bounded(&text, Shape::Line, MOST_CHARS, changes),
        None => shown(raw.bytes(), changes).text,
    }
}

/// What a server or the system said, for an error message: one line, shielded, at most 300 characters.
pub fn said(raw: &[u8], changes: &mut Changes) -> String {
    let text = text(raw.get(..MOST_BYTES).unwrap_or(raw), None);
    let words: Vec<&str> = text.split_whitespace().collect();
    shield::bounded(&words.join(" "), Shape::Line, 300, changes)
}

/// A Message-ID in its brackets, shielded as a whole: with them it may read as what no mail may say.
pub fn header_id(id: &HeaderId, changes: &mut Changes) -> String {
    let bracketed = [b"<", id.bytes(), b">"].concat();
    shield::bounded(&text(&bracketed, None), Shape::Line, MOST_CHARS, changes)
}

/// The name of a folder or a file on one line, shielded. Ordinary names come back as they are.
pub fn name(text: &str, changes: &mut Changes) -> String {
    shield::bounded(text, Shape::Line, MOST_CHARS, changes)
}

/// As [`header_text`], and whether there was more.
pub(crate) fn shown(value: &[u8], changes: &mut Changes) -> Fitted {
    shown_in(value, None, changes)
}

/// As [`shown`]. Raw 8-bit text is in `charset`, which is the one of the body.
pub(crate) fn shown_in(value: &[u8], charset: Option<&str>, changes: &mut Changes) -> Fitted {
    let near = value.get(..MOST_BYTES);
    let mut text = decoded_in(near.unwrap_or(value), charset);
    if near.is_some_and(|near| near.len() < value.len()) {
        // Encoded words take many bytes for few characters: what was not decoded is cut too.
        text.push('…');
    }
    let mut fitted = shield::fitted(&text, Shape::Line, MOST_CHARS, changes);
    fitted.cut |= value.len() > MOST_BYTES;
    fitted
}

/// As the sender wrote it: decoded and unfolded, neither shielded nor bounded.
pub(crate) fn decoded(value: &[u8]) -> String {
    decoded_in(value, None)
}

fn decoded_in(value: &[u8], charset: Option<&str>) -> String {
    match plain(value) {
        Some(text) => text.trim_matches(' ').to_owned(),
        None => decode(&header::unfolded(value), charset).trim().to_owned(),
    }
}

/// What most values are: ASCII on one line with nothing encoded in it, which stands for itself.
fn plain(value: &[u8]) -> Option<&str> {
    let others = |found: bool, byte: &u8| found | (byte.wrapping_sub(b' ') > b'~' - b' ');
    if value.iter().fold(false, others) || memchr::memmem::find(value, b"=?").is_some() {
        return None;
    }
    std::str::from_utf8(value).ok()
}

/// Adjacent words of one charset are joined before decoding: senders cut characters in two.
fn decode(value: &[u8], charset: Option<&str>) -> String {
    let mut out = String::new();
    let mut open: Option<(String, Vec<u8>)> = None;
    let mut rest = value;
    while let Some(index) = memchr::memmem::find(rest, b"=?") {
        let (before, from) = rest.split_at(index);
        let Some((word, after)) = word(from) else {
            let (kept, after) = rest.split_at(index + 2);
            close(&mut open, &mut out);
            out.push_str(&raw_text(kept, charset));
            rest = after;
            continue;
        };
        let joins = before.trim_ascii().is_empty();
        match &mut open {
            Some((label, bytes))
                if joins && label.eq_ignore_ascii_case(&word.charset) && !is_stateful(label) =>
            {
                bytes.extend_from_slice(&word.bytes);
            }
            _ => {
                let blank = joins && open.is_some();
                close(&mut open, &mut out);
                if !blank {
                    out.push_str(&raw_text(before, charset));
                }
                open = Some((word.charset, word.bytes));
            }
        }
        rest = after;
    }
    close(&mut open, &mut out);
    out.push_str(&raw_text(rest, charset));
    out
}

/// Each word of these begins in the initial state (RFC 2047 section 3), so joined ones decode wrongly.
fn is_stateful(charset: &str) -> bool {
    let charset = charset.to_ascii_lowercase();
    charset.starts_with("iso-2022-") || charset.contains("utf-7") || charset.starts_with("hz")
}

fn close(open: &mut Option<(String, Vec<u8>)>, out: &mut String) {
    if let Some((charset, bytes)) = open.take() {
        out.push_str(&text(&bytes, Some(&charset)));
    }
}

fn text(bytes: &[u8], charset: Option<&str>) -> String {
    charset::decode(bytes, charset, Completeness::Complete).text
}

/// Text outside of encoded words. ASCII is ASCII, whatever the body is written in.
fn raw_text(bytes: &[u8], charset: Option<&str>) -> String {
    if bytes.is_ascii() {
        return text(bytes, None);
    }
    charset::decode_header(bytes, charset)
}

struct Word {
    charset: String,
    bytes: Vec<u8>,
}

/// `=?charset*language?encoding?data?=` at the beginning of `from`, and what follows it.
fn word(from: &[u8]) -> Option<(Word, &[u8])> {
    let from = from.strip_prefix(b"=?")?;
    let (charset, from) = split(from, from.iter().take(80).position(|b| *b == b'?')?)?;
    let charset = charset.split(|b| *b == b'*').next()?;
    let [encoding, b'?', from @ ..] = from else {
        return None;
    };
    // QUIRK: Q words may hold blanks and end far away; they never hold `?`.
    let (data, after) = split(from, memchr::memchr(b'?', from)?)?;
    let after = after.strip_prefix(b"=")?;
    let bytes = match encoding {
        b'b' | b'B' => transfer::base64(data),
        b'q' | b'Q' => {
            let spaced: Vec<u8> = data
                .iter()
                .map(|b| if *b == b'_' { b' ' } else { *b })
                .collect();
            transfer::quoted_printable(&spaced)
        }
        _ => return None,
    };
    let charset = String::from_utf8(charset.to_vec()).ok()?;
    Some((Word { charset, bytes }, after))
}

/// Before and after the byte at `index`.
fn split(bytes: &[u8], index: usize) -> Option<(&[u8], &[u8])> {
    Some((bytes.get(..index)?, bytes.get(index + 1..)?))
}

/// `charset'language'percent-encoded` (RFC 2231 section 4), when it is nothing else.
fn ext_value(value: &[u8]) -> Option<String> {
    let mut parts = value.splitn(3, |b| *b == b'\'');
    let (charset, language, data) = (parts.next()?, parts.next()?, parts.next()?);
    let label = |bytes: &[u8]| {
        bytes
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || b"-_:.".contains(b))
    };
    let fits = (1..=40).contains(&charset.len()) && label(charset) && label(language);
    if !fits || !data.is_ascii() || data.contains(&b' ') {
        return None;
    }
    let charset = std::str::from_utf8(charset).ok()?;
    if !charset::is_known(charset) {
        return None;
    }
    let bytes = transfer::percent(data);
    Some(text(&bytes, Some(charset)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_and_raw_text() {
        for (raw, want) in [
            (&b"plain subject"[..], "plain subject"),
            (b"=?utf-8?Q?caf=C3=A9_au_lait?=", "café au lait"),
            (b"=?UTF-8?B?w6TDtsO8?= and more", "äöü and more"),
            (b"=?iso-8859-1*de?q?f=FCr?= x", "für x"),
            (b"=?utf-8?q?a?= =?utf-8?q?b?=", "ab"),
            (
                b"=?iso-2022-jp?B?GyRCRnxLXBsoQg==?= =?iso-2022-jp?B?GyRCOGwbKEI=?=",
                "日本語",
            ),
            (b"=?utf-8?q?a?=\r\n =?iso-8859-1?q?=E4?=", "aä"),
            (b"=?utf-8?B?4pg=?= =?utf-8?B?ug==?=", "☺"),
            (b"=?koi8-r?B?8NLJ18XU?=", "Привет"),
            (b"=?iso-2022-jp?B?GyRCJU8lbSE8GyhC?=", "ハロー"),
            (b"folded\r\n\tsubject", "folded subject"),
            (b"raw \xc3\xa4", "raw ä"),
            (b"raw \xe4", "raw ä"),
            (b"=?utf-8?q?with blank?=", "with blank"),
            (b"=?broken", "=?broken"),
            (b"=?utf-8?x?a?=", "=?utf-8?x?a?="),
            (b"a =?utf-8?q?b?=", "a b"),
            (b"=?x-nope?q?ok?=", "ok"),
            (b"=?utf-8?q?two=0D=0ALines: x?=", "two Lines: x"),
            (b"", ""),
        ] {
            assert_eq!(shown(raw, &mut Changes::default()).text, want);
        }
    }

    #[test]
    fn file_names() {
        for (raw, want) in [
            ("utf-8''na%C3%AFve%20plan.txt", "naïve plan.txt"),
            ("iso-8859-1'en'%A3.txt", "£.txt"),
            ("=?utf-8?Q?r=C3=A9sum=C3=A9.pdf?=", "résumé.pdf"),
            ("it's bob's file.txt", "it's bob's file.txt"),
            ("100%.txt", "100%.txt"),
        ] {
            let found = filename(&Raw::copied(raw.as_bytes()), &mut Changes::default());
            assert_eq!(found, want);
        }
    }

    #[test]
    fn long_headers_are_bounded() {
        for value in [b"=?utf-8?q?a?=".repeat(100_000), b"x".repeat(1_001)] {
            let long = shown(&value, &mut Changes::default());
            assert!(long.cut && long.text.ends_with('…'));
            assert!(long.text.chars().count() <= MOST_CHARS);
        }
        assert!(!shown(&b"x".repeat(1_000), &mut Changes::default()).cut);
    }

    proptest! {
        /// The quick look and the long one see the same.
        #[test]
        fn what_is_plain_is_what_it_decodes_to(value in "[ -~]{0,40}(=[?])?[ -~]{0,40}") {
            let long = decode(&header::unfolded(value.as_bytes()), None).trim().to_owned();
            prop_assert_eq!(decoded(value.as_bytes()), long);
        }

        #[test]
        fn no_bytes_make_it_fall(bytes: Vec<u8>) {
            let raw = Raw::new(bytes);
            let mut changes = Changes::default();
            prop_assert!(header_text(&raw, &mut changes).chars().count() <= MOST_CHARS);
            filename(&raw, &mut changes);
        }

        #[test]
        fn no_near_words_make_it_fall(text in "[=?uft8qQbB*'% _A-F0-9\\-]{0,60}") {
            header_text(&Raw::new(text.into_bytes()), &mut Changes::default());
        }
    }
}
