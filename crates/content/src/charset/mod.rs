//! Bytes to text: the declared charset where it can be true, what the bytes say where it cannot.

mod ascii_incompatible;
mod labels;
mod tables;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, ISO_2022_JP, UTF_8, UTF_16BE, UTF_16LE};
use mail::Structure;

use crate::outline::Completeness;
use labels::{Charset, charset};
use tables::Table;

/// Bytes that a guess is made from.
const DETECTOR_BYTES: usize = 64 * 1024;

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
    /// ASCII bytes that mean something else (iso-2022-jp, utf-16): only the label can tell.
    Shifting(&'static Encoding),
    /// As [`Declared::Shifting`], of charsets that encoding_rs does not know.
    Shifted(fn(&[u8]) -> String),
    /// Mistakes show: malformed bytes disprove it.
    MultiByte(&'static Encoding),
    /// Every byte is a character: only valid UTF-8 can disprove it.
    SingleByte(&'static Encoding),
    /// As [`Declared::SingleByte`].
    Table(&'static Table),
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
        Declared::Shifted(read) => told(read(bytes)),
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
        Declared::Table(table) => match utf8(bytes, whole) {
            Some(text) if !text.is_ascii() => guess(text),
            _ => told(table.decode(bytes)),
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

/// As [`decode`], of HTML. Its own `<meta charset>` counts where the mail declares none or ASCII:
/// servers invent `us-ascii` where the sender declared nothing.
pub(crate) fn decode_html(bytes: &[u8], label: Option<&str>, whole: Completeness) -> Decoded {
    match declared(label) {
        Declared::Bytes if !is_utf8_label(label) => {
            decode(bytes, of_html(bytes).as_deref().or(label), whole)
        }
        _ => decode(bytes, label, whole),
    }
}

/// Raw 8-bit text of a header field, where the body's charset is `label`.
pub(crate) fn decode_header(bytes: &[u8], label: Option<&str>) -> String {
    let by_body = match declared(label) {
        Declared::MultiByte(encoding) | Declared::SingleByte(encoding) => {
            let (text, malformed) = encoding.decode_without_bom_handling(bytes);
            (!malformed).then(|| text.into_owned())
        }
        Declared::Table(table) => Some(table.decode(bytes)),
        Declared::Bytes | Declared::Shifting(_) | Declared::Shifted(_) => None,
    };
    match (utf8(bytes, Completeness::Complete), by_body) {
        (Some(text), _) | (None, Some(text)) => text,
        (None, None) => by_bytes(bytes, label, Completeness::Complete).text,
    }
}

fn declared(label: Option<&str>) -> Declared {
    let Some(charset) = label.map(bare).and_then(charset) else {
        return Declared::Bytes;
    };
    match charset {
        Charset::Ascii => Declared::Bytes,
        Charset::Web(encoding) if encoding == UTF_8 => Declared::Bytes,
        Charset::Web(encoding) if !encoding.is_ascii_compatible() => Declared::Shifting(encoding),
        Charset::Web(encoding) if encoding.is_single_byte() => Declared::SingleByte(encoding),
        Charset::Web(encoding) => Declared::MultiByte(encoding),
        Charset::Table(table) => Declared::Table(table),
        Charset::Utf7 => Declared::Shifted(ascii_incompatible::utf7),
        Charset::Utf32 => Declared::Shifted(ascii_incompatible::utf32),
        Charset::Hz => Declared::Shifted(ascii_incompatible::hz),
        Charset::Iso2022Kr => Declared::Shifted(ascii_incompatible::iso_2022_kr),
        Charset::Iso2022Cn => Declared::Shifted(ascii_incompatible::iso_2022_cn),
    }
}

/// Whether text in a charset of that name can be decoded.
pub(crate) fn is_known(label: &str) -> bool {
    charset(bare(label)).is_some()
}

fn is_utf8_label(label: Option<&str>) -> bool {
    let known = label.map(bare).and_then(charset);
    matches!(known, Some(Charset::Web(encoding)) if encoding == UTF_8)
}

impl Table {
    fn decode(&self, bytes: &[u8]) -> String {
        let high: Vec<char> = self.high.chars().collect();
        let read = |byte: &u8| match byte.checked_sub(0x80) {
            Some(index) => high.get(usize::from(index)).copied().unwrap_or('\u{FFFD}'),
            None => {
                let low = self.low.iter().find(|(code, _)| code == byte);
                low.map_or(char::from(*byte), |(_, char)| *char)
            }
        };
        bytes.iter().map(read).collect()
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
        .filter(|label| !matches!(declared(Some(label)), Declared::Bytes))
}

/// The charset that HTML declares for itself, near its beginning.
pub(crate) fn of_html(html: &[u8]) -> Option<String> {
    let look = html.get(..2_048).unwrap_or(html).to_ascii_lowercase();
    let meta = memchr::memmem::find(&look, b"<meta")?;
    let rest = look.get(meta..)?;
    let at = memchr::memmem::find(rest, b"charset")?;
    let label = rest.get(at + "charset".len()..)?.trim_ascii_start();
    let label = label.strip_prefix(b"=")?.trim_ascii_start();
    let label = label
        .strip_prefix(b"\"")
        .or(label.strip_prefix(b"'"))
        .unwrap_or(label);
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_:.".contains(byte);
    let label: Vec<u8> = label.iter().copied().take_while(plain).take(40).collect();
    let label = String::from_utf8(label).ok()?;
    // A mark that is read at all is in ASCII: no document declares UTF-16 from within.
    match charset(&label)? {
        Charset::Web(encoding) if is_wide(encoding) => None,
        Charset::Utf32 => None,
        _ => Some(label),
    }
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
    let declared_utf8 = is_utf8_label(label);
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
    let encoding = detected(bytes);
    guess(encoding.decode_without_bom_handling(bytes).0.into_owned())
}

/// The legacy charset that the bytes look like. Lines of ASCII say nothing of it.
fn detected(bytes: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    let beginning = bytes.get(..DETECTOR_BYTES).unwrap_or(bytes);
    for line in beginning.split_inclusive(|byte| *byte == b'\n') {
        if !line.is_ascii() {
            detector.feed(line, false);
        }
    }
    detector.feed(b"", true);
    detector.guess(None, Utf8Detection::Deny)
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
    use tables::TABLES;

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
            (b"+ZYeB9FH6ckh5Pg -x", "utf-7", "文致出版社 -x"),
            (b"a+-b +AOQ-+AOQ.", "unicode-1-1-utf-7", "a+b ää."),
            (b"\x9b\x9c", "ibm850", "ø£"),
            (b"\x81\x9f", "cp437", "üƒ"),
            (b"\x88\xa9", "CP852", "łę"),
            (b"\x88\xa9", "dos-852", "łę"),
            (b"\xe1\xe2", "cp855", "рР"),
            (b"\x8f\xe0", "866", "Пр"),
            (b"\xcf\xf0\xe8", "win-1251", "При"),
            (b"\xcf\xf0\xe8", "windows_1251", "При"),
            (b"\x82\xa0", "cp932", "あ"),
            (b"\x82\xa0", "Windows-31J", "あ"),
            (b"\xb0\xa1", "cp949", "가"),
            (b"\xb0\xa1\x81\x41", "x-windows-949", "가갂"),
            (b"\xb0\xa1", "UHC", "가"),
            (b"\xa7A\xa6n", "cp950", "你好"),
            (b"\xc4\xe3\xba\xc3", "euc-cn", "你好"),
            (b"\x81\x30\x81\x30", "gb18030", "\u{80}"),
            (b"\x1b$)C\x0e0!\x0f hi", "iso-2022-kr", "가 hi"),
            (b"\x1b$)A\x0eDc:C\x0f.", "iso-2022-cn", "你好."),
            (b"\x1b$)G\x0e!!\x0f.", "iso-2022-cn", "\u{fffd}."),
            (b"~{Dc:C~} ~~", "hz-gb-2312", "你好 ~"),
            (b"\x8a\x9f", "macintosh", "äü"),
            (b"\x8a\xa5", "x-mac-ce", "ä•"),
            (b"\xa1\xd2", "tis-620", "กา"),
            (b"\xc0", "koi8-ru", "ю"),
            (b"\x8b\xc0", "koi8-t", "‹ю"),
            (b"\xb2\xb3", "armscii-8", "Աա"),
            (b"Vi\xaet", "viscii", "Việt"),
            (b"\x02", "viscii", "Ẳ"),
            (b"Vi\xd6t", "tcvn", "Việt"),
            (b"\xe4", "iso8859_1", "ä"),
            (b"\xb1", "iso8859-2", "ą"),
            (b"\xb1", "cp28592", "ą"),
            (b"\0\0\0h\0\x01\xf6\0", "utf-32be", "h😀"),
            (b"\xff\xfe\0\0h\0\0\0", "utf-32", "h"),
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
        let russian = "\u{417}\u{434}\u{440}\u{430}\u{432}\u{441}\u{442}\u{432}\u{443}\u{439}\u{442}\u{435}, \u{43a}\u{430}\u{43a} \u{434}\u{435}\u{43b}\u{430}?";
        let (koi8, _, _) = encoding_rs::KOI8_R.encode(russian);
        check(&koi8, None, russian, true);
        check(&koi8, Some("us-ascii"), russian, true);
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
    fn html_meta_charset_decodes_undeclared_mail() {
        let html = b"<meta charset=koi8-r>\xf0\xd2\xc9\xd7\xc5\xd4";
        for (label, want, guessed) in [
            (None, "Привет", false),
            (Some("us-ascii"), "Привет", false),
            (Some("x-nonsense"), "Привет", false),
            (Some("windows-1251"), "рТЙЧЕФ", false),
        ] {
            let found = decode_html(html, label, Completeness::Complete);
            assert!(found.text.ends_with(want), "{label:?} {}", found.text);
            assert_eq!(found.guessed, guessed, "{label:?}");
        }
    }

    #[test]
    fn headers_are_decoded_as_the_body() {
        for (bytes, label, want) in [
            (&b"\xcf\xf0\xe8\xe2\xe5\xf2"[..], "windows-1251", "Привет"),
            (b"\xf0\xd2\xc9\xd7\xc5\xd4", "koi8-r", "Привет"),
            (b"\x88\xa9", "cp852", "łę"),
            (b"\xc4\xe3\xba\xc3", "gb2312", "你好"),
            ("ü".as_bytes(), "windows-1251", "ü"),
            (b"J\xfcrgen", "utf-16", "Jürgen"),
            (b"J\xfcrgen", "us-ascii", "Jürgen"),
            (b"J\xfcrgen", "shift_jis", "Jürgen"),
        ] {
            assert_eq!(decode_header(bytes, Some(label)), want, "{label}");
        }
    }

    #[test]
    fn charset_tables_have_all_entries() {
        for table in TABLES {
            assert_eq!(table.high.chars().count(), 128, "{:?}", table.names);
        }
        let names: Vec<&str> = TABLES
            .iter()
            .flat_map(|table| table.names)
            .copied()
            .collect();
        for (at, name) in names.iter().enumerate() {
            assert!(!names[..at].contains(name), "{name} twice");
            assert!(is_known(name), "{name}");
        }
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>, label in "(utf-7|utf-32|hz|iso-2022-kr|iso-2022-cn|cp437|viscii|[a-z0-9-]{0,12})") {
            decode(&bytes, Some(&label), Completeness::Complete);
            decode_html(&bytes, Some(&label), Completeness::Cut);
            decode_header(&bytes, Some(&label));
        }
    }

    #[test]
    fn a_character_cut_in_two_falls_away() {
        check(b"a\xe2\x82", Some("utf-8"), "a", false);
        check(b"\xc4\xe3\xba", Some("gbk"), "你", false);
    }
}
