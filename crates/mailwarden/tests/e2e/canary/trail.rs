//! Finds a word in bytes however it is spelled: quoted, escaped, percent-encoded, in base64 or in hexadecimal digits, in
//! any case, with signs in between.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Everything that some bytes can be read as, in lower-case letters and digits alone.
pub(crate) struct Trail(Vec<String>);

impl Trail {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let plain = bytes.to_vec();
        let unescaped = unescape(bytes);
        let mut readings = Vec::new();
        for reading in [plain, unescaped] {
            readings.extend(runs(&reading, is_base64).flat_map(from_base64));
            readings.extend(runs(&reading, |byte| byte.is_ascii_hexdigit()).flat_map(from_hex));
            readings.push(reading);
        }
        Self(readings.iter().map(|reading| squeeze(reading)).collect())
    }

    pub(crate) fn holds(&self, word: &str) -> bool {
        let word = squeeze(word.as_bytes());
        assert!(word.len() >= 8, "{word} could be there by chance");
        self.0.iter().any(|reading| reading.contains(&word))
    }
}

fn squeeze(bytes: &[u8]) -> String {
    let letters = bytes.iter().filter(|byte| byte.is_ascii_alphanumeric());
    letters
        .map(|byte| char::from(byte.to_ascii_lowercase()))
        .collect()
}

/// With `%41`, `=41`, `\x41`, `\u0041` and `\u{41}` as what they stand for.
fn unescape(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        let escape = [
            (&b"\\u{"[..], 0),
            (b"\\u00", 2),
            (b"\\x", 2),
            (b"%", 2),
            (b"=", 2),
        ]
        .into_iter()
        .find_map(|(sign, digits)| escaped(rest.strip_prefix(sign)?, digits));
        match escape {
            Some((byte, after)) => {
                out.push(byte);
                rest = after;
            }
            None => {
                out.push(*first);
                rest = after;
            }
        }
    }
    out
}

/// So many hexadecimal digits, or up to a brace.
fn escaped(text: &[u8], digits: usize) -> Option<(u8, &[u8])> {
    let (digits, skip) = match digits {
        0 => (text.iter().take(7).position(|byte| *byte == b'}')?, 1),
        digits => (digits, 0),
    };
    let number = std::str::from_utf8(text.get(..digits)?).ok()?;
    let byte = u8::from_str_radix(number, 16).ok()?;
    Some((byte, &text[digits + skip..]))
}

/// Stretches of such bytes that are long enough to hide something.
fn runs(bytes: &[u8], belongs: fn(&u8) -> bool) -> impl Iterator<Item = &[u8]> {
    bytes
        .split(move |byte| !belongs(byte))
        .filter(|run| run.len() >= 10)
}

fn is_base64(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/-_".contains(byte)
}

/// From each of four beginnings, for what stands in front may belong to something else.
fn from_base64(run: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let lenient = GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let engine = GeneralPurpose::new(&alphabet::STANDARD, lenient);
    let run: Vec<u8> = run
        .iter()
        .map(|byte| match byte {
            b'-' => b'+',
            b'_' => b'/',
            other => *other,
        })
        .collect();
    (0..4).filter_map(move |from| {
        let part = run.get(from..)?;
        // One character alone is no byte.
        let length = if part.len() % 4 == 1 {
            part.len() - 1
        } else {
            part.len()
        };
        engine.decode(&part[..length]).ok()
    })
}

/// From both beginnings.
fn from_hex(run: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    (0..2).filter_map(move |from| run.get(from..)?.chunks_exact(2).map(byte).collect())
}

#[test]
fn a_word_is_found_however_it_is_spelled() {
    let word = "Marabu+%/=7 Pass";
    let base64 = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    let each = |spell: fn(u8) -> String| word.bytes().map(spell).collect::<String>();
    for spelled in [
        word.to_owned(),
        format!("{word:?}"),
        word.to_uppercase(),
        word.replace('P', "\\\"P\\\""),
        each(|byte| format!("%{byte:02x}")),
        each(|byte| format!("={byte:02X}")),
        each(|byte| format!("\\u00{byte:02x}")),
        each(|byte| format!("\\u{{{byte:x}}}")),
        each(|byte| format!("\\x{byte:02x}")),
        each(|byte| format!("{byte:02x}")),
        each(|byte| format!("{},", char::from(byte))),
        base64(word),
        base64(&format!("\0alice\0{word}")),
        base64(&format!("a{word}b")),
        base64(word).trim_end_matches('=').to_owned(),
        base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(word),
    ] {
        for around in ["", "x/", "token=", "abc"] {
            let text = format!("INFO {around}{spelled} and more");
            assert!(Trail::of(text.as_bytes()).holds(word), "{text}");
        }
    }
    assert!(!Trail::of(b"Marabu-Pass").holds(word));
}
