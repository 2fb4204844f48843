//! Bytes to text: the declared charset where it can be true, what the bytes say where it cannot.

use encoding_rs::{Encoding, ISO_2022_JP, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

use mail::Structure;

use crate::mime;
use crate::outline::Completeness;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Decoded {
    pub text: String,
    /// The declared charset was missing, unknown or wrong, and the bytes were not plain ASCII.
    pub guessed: bool,
}

/// How far a declared charset can be believed.
enum Declared {
    /// Missing, unknown, ASCII or UTF-8: the bytes decide.
    Bytes,
    /// ASCII bytes that mean something else (iso-2022-jp, utf-7, utf-16): only the label can tell.
    Shifting(&'static Encoding),
    /// Mistakes show: malformed bytes disprove it.
    MultiByte(&'static Encoding),
    /// Every byte is a character: only valid UTF-8 can disprove it.
    SingleByte(&'static Encoding),
    /// Not known to encoding_rs.
    Rare(String),
}

pub(crate) fn decode(bytes: &[u8], label: Option<&str>, whole: Completeness) -> Decoded {
    let mut decoded = match declared(label) {
        Declared::Bytes => by_bytes(bytes, label, whole),
        Declared::Shifting(encoding) => match wide(bytes) {
            // QUIRK: text that was converted on its way and kept its old label.
            Wide::No if is_wide(encoding) => guess(by_bytes(bytes, None, whole).text),
            Wide::Known(found) if is_wide(encoding) => by_label(bytes, found),
            _ => by_label(bytes, encoding),
        },
        Declared::MultiByte(encoding) => {
            let (text, malformed) = encoding.decode_without_bom_handling(bytes);
            match utf8(bytes, whole) {
                Some(text) if malformed => guess(text),
                _ => told(text.into_owned()),
            }
        }
        Declared::SingleByte(encoding) => match utf8(bytes, whole) {
            Some(text) if !text.is_ascii() => guess(text),
            _ => by_label(bytes, encoding),
        },
        Declared::Rare(label) => match mime::rare_charset(&label, bytes) {
            Some(text) => told(text),
            None => by_bytes(bytes, None, whole),
        },
    };
    if decoded.text.starts_with('\u{FEFF}') {
        decoded.text.remove(0);
    }
    if whole == Completeness::Cut {
        let kept = decoded.text.trim_end_matches('\u{FFFD}').len();
        decoded.text.truncate(kept);
    }
    decoded
}

fn declared(label: Option<&str>) -> Declared {
    let Some(label) = label.map(bare).filter(|label| !label.is_empty()) else {
        return Declared::Bytes;
    };
    let lower = label.to_ascii_lowercase();
    if matches!(
        lower.as_str(),
        "us-ascii" | "ascii" | "utf8" | "utf-8" | "unknown-8bit"
    ) {
        return Declared::Bytes;
    }
    match Encoding::for_label_no_replacement(label.as_bytes()) {
        Some(encoding) if encoding == UTF_8 => Declared::Bytes,
        Some(encoding) if !encoding.is_ascii_compatible() => Declared::Shifting(encoding),
        Some(encoding) if encoding.is_single_byte() => Declared::SingleByte(encoding),
        Some(encoding) => Declared::MultiByte(encoding),
        None => Declared::Rare(lower),
    }
}

/// QUIRK: labels in stray quotes, with their own name before them, or two of them.
fn bare(label: &str) -> &str {
    let stray = |c: char| c.is_whitespace() || "'\"=;<>".contains(c);
    let label = label.trim_matches(stray);
    let label = match label.split_at_checked("charset=".len()) {
        Some((name, value)) if name.eq_ignore_ascii_case("charset=") => value.trim_matches(stray),
        _ => label,
    };
    let end = label
        .find([';', ',', ' ', '"', '\''])
        .unwrap_or(label.len());
    label.get(..end).unwrap_or(label)
}

/// Whether bytes are UTF-16, and which.
enum Wide {
    Known(&'static Encoding),
    Unknown,
    No,
}

fn is_wide(encoding: &'static Encoding) -> bool {
    encoding == UTF_16LE || encoding == UTF_16BE
}

/// By the byte order mark, else by where the zeros of Latin letters and blanks stand.
fn wide(bytes: &[u8]) -> Wide {
    match bytes {
        [0xFF, 0xFE, ..] => return Wide::Known(UTF_16LE),
        [0xFE, 0xFF, ..] => return Wide::Known(UTF_16BE),
        _ => {}
    }
    let look = bytes.get(..2_048).unwrap_or(bytes);
    let zeros = |odd: usize| {
        let every_second = look.iter().skip(odd).step_by(2);
        every_second.filter(|byte| **byte == 0).count()
    };
    match (zeros(0), zeros(1)) {
        (0, 0) if look.contains(&b' ') && std::str::from_utf8(look).is_ok() => Wide::No,
        (high, low) if low > high * 4 => Wide::Known(UTF_16LE),
        (high, low) if high > low * 4 => Wide::Known(UTF_16BE),
        _ => Wide::Unknown,
    }
}

/// A byte order mark, or zeros in most of the pairs: stray zeros are none.
fn is_certain(bytes: &[u8]) -> bool {
    let look = bytes.get(..2_048).unwrap_or(bytes);
    let zeros = look.iter().filter(|byte| **byte == 0).count();
    matches!(bytes, [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..]) || zeros * 8 >= look.len() * 3
}

/// The charset of the first text that declares one: raw 8-bit header fields are written in it, too.
pub(crate) fn of_structure(structure: &Structure) -> Option<&str> {
    let texts = structure.leaves.iter();
    texts
        .filter(|leaf| leaf.mime_type.starts_with("text/"))
        .find_map(|leaf| leaf.charset.as_deref())
}

/// The charset that HTML declares for itself, near its beginning.
pub(crate) fn of_html(html: &[u8]) -> Option<String> {
    let look = html.get(..2_048).unwrap_or(html).to_ascii_lowercase();
    let meta = memchr::memmem::find(&look, b"<meta")?;
    let rest = look.get(meta..)?;
    let at = memchr::memmem::find(rest, b"charset=")?;
    let label = rest.get(at + "charset=".len()..)?.trim_ascii_start();
    let label = label
        .strip_prefix(b"\"")
        .or(label.strip_prefix(b"'"))
        .unwrap_or(label);
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_:.".contains(byte);
    let label: Vec<u8> = label.iter().copied().take_while(plain).take(40).collect();
    // A mark that is read at all is in ASCII: no document declares UTF-16 from within.
    Encoding::for_label_no_replacement(&label).filter(|found| !is_wide(found))?;
    String::from_utf8(label).ok()
}

fn by_label(bytes: &[u8], encoding: &'static Encoding) -> Decoded {
    told(encoding.decode_with_bom_removal(bytes).0.into_owned())
}

fn by_bytes(bytes: &[u8], label: Option<&str>, whole: Completeness) -> Decoded {
    if let Wide::Known(encoding) = wide(bytes)
        && is_certain(bytes)
    {
        return guess(by_label(bytes, encoding).text);
    }
    // Escapes that nothing else uses.
    let japanese = [&b"\x1b$B"[..], b"\x1b$@"]
        .iter()
        .any(|escape| memchr::memmem::find(bytes, escape).is_some());
    if japanese && bytes.is_ascii() {
        return guess(by_label(bytes, ISO_2022_JP).text);
    }
    let declared_utf8 = label.is_some_and(|label| label.to_ascii_lowercase().starts_with("utf"));
    if let Some(text) = utf8(bytes, whole) {
        return Decoded {
            guessed: !bytes.is_ascii() && !declared_utf8,
            text,
        };
    }
    // Damaged UTF-8 still holds whole characters; Latin-1 mislabelled as UTF-8 almost never does.
    let holds_utf8 = bytes.utf8_chunks().any(|chunk| !chunk.valid().is_ascii());
    if declared_utf8 && holds_utf8 {
        return guess(String::from_utf8_lossy(bytes).into_owned());
    }
    guess(
        WINDOWS_1252
            .decode_without_bom_handling(bytes)
            .0
            .into_owned(),
    )
}

/// Valid UTF-8; where the bytes were cut, so may be their last character.
fn utf8(bytes: &[u8], whole: Completeness) -> Option<String> {
    let valid = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() && whole == Completeness::Cut => {
            std::str::from_utf8(bytes.get(..error.valid_up_to())?).ok()?
        }
        Err(_) => return None,
    };
    Some(valid.to_owned())
}

fn told(text: String) -> Decoded {
    Decoded {
        text,
        guessed: false,
    }
}

fn guess(text: String) -> Decoded {
    Decoded {
        text,
        guessed: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], label: Option<&str>, want: &str, guessed: bool) {
        let found = decode(bytes, label, Completeness::Cut);
        assert_eq!(
            (found.text.as_str(), found.guessed),
            (want, guessed),
            "{label:?}"
        );
    }

    #[test]
    fn declared_charsets_are_believed() {
        for (bytes, label, want) in [
            (&b"\xe4"[..], "iso-8859-1", "ä"),
            (b"\xcf\xf0\xe8\xe2\xe5\xf2", "Windows-1251", "Привет"),
            (b"\xf0\xd2\xc9\xd7\xc5\xd4", "koi8-r", "Привет"),
            (b"\x1b$B%O%m!<\x1b(B", "ISO-2022-JP", "ハロー"),
            (b"\xc4\xe3\xba\xc3", "gb2312", "你好"),
            (b"\xa7A\xa6n", "big5", "你好"),
            (b"+ZYeB9FH6ckh5Pg-", "utf-7", "文致出版社"),
            (b"\x9b\x9c", "ibm850", "ø£"),
            (b"h\x00i\x00", "utf-16le", "hi"),
            ("ü".as_bytes(), "utf-8", "ü"),
            (b"\xEF\xBB\xBFbom", "utf-8", "bom"),
            (b"\xFF\xFEh\x00i\x00", "utf-16", "hi"),
            (b"\xFE\xFF\x00h\x00i", "utf-16", "hi"),
            (b"\x00h\x00i", "utf-16", "hi"),
            (b"h\x00i\x00", "utf-16be", "hi"),
            (b"\x60\x4f\x7d\x59", "utf-16le", "你好"),
            (b"\xe4", "'iso-8859-1'", "ä"),
            (b"\xe4", "charset=\"iso-8859-1\"", "ä"),
            (b"\xe4", "iso-8859-1; charset=utf-8", "ä"),
        ] {
            check(bytes, Some(label), want, false);
        }
    }

    #[test]
    fn wrong_and_missing_charsets_are_guessed() {
        check("ü".as_bytes(), None, "ü", true);
        check("ü".as_bytes(), Some("iso-8859-1"), "ü", true);
        check("ü".as_bytes(), Some("x-nonsense"), "ü", true);
        check(b"f\xfcr", None, "für", true);
        check(b"f\xfcr", Some("utf-8"), "für", true);
        check(b"f\xfcr", Some("us-ascii"), "für", true);
        check(b"plain", None, "plain", false);
        check(b"\xFF\xFEh\x00i\x00", None, "hi", true);
        check(b"h\x00i\x00", None, "hi", true);
        check(b"\x00h\x00i", Some("utf-8"), "hi", true);
        check(b"\x1b$B%O%m!<\x1b(B", None, "ハロー", true);
        check(b"plain words", Some("utf-16"), "plain words", true);
        check(
            "ü \u{20ac} \u{fffd}x".as_bytes(),
            Some("gb2312"),
            "ü € \u{fffd}x",
            true,
        );
        check(b"\xc3\xbc \xff ok", Some("utf-8"), "ü \u{fffd} ok", true);
    }

    #[test]
    fn html_declares_its_own() {
        for (html, want) in [
            (
                "<html><META http-equiv=x content='text/html; charset=KOI8-R'>",
                Some("koi8-r"),
            ),
            ("<meta charset=\"shift_jis\">", Some("shift_jis")),
            ("<meta charset=utf-16>", None),
            ("<meta charset=nonsense>", None),
            ("charset=utf-8", None),
        ] {
            assert_eq!(of_html(html.as_bytes()).as_deref(), want, "{html}");
        }
    }

    #[test]
    fn a_character_cut_in_two_falls_away() {
        check(b"a\xe2\x82", Some("utf-8"), "a", false);
        check(b"\xc4\xe3\xba", Some("gbk"), "你", false);
    }
}
