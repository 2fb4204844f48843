//! Charsets in which ASCII bytes mean something else: UTF-7, UTF-32, HZ and the ISO-2022 family
//! without Japanese.

use encoding_rs::{EUC_KR, GBK};

/// RFC 2152. What is no Base64 stands for itself.
pub(super) fn utf7(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'+' {
            out.push(char::from(*byte));
            continue;
        }
        let length = after
            .iter()
            .take_while(|byte| sextet(**byte).is_some())
            .count();
        let (shifted, after) = after.split_at(length);
        rest = after.strip_prefix(b"-").unwrap_or(after);
        if shifted.is_empty() {
            // `+-` is a plus.
            out.push('+');
            continue;
        }
        let mut units = Vec::with_capacity(shifted.len() * 3 / 8);
        let (mut bits, mut count) = (0_u32, 0);
        for value in shifted.iter().filter_map(|byte| sextet(*byte)) {
            bits = bits << 6 | u32::from(value);
            count += 6;
            if count >= 16 {
                count -= 16;
                units.push(u16::try_from(bits >> count & 0xFFFF).unwrap_or_default());
                bits &= (1 << count) - 1;
            }
        }
        out.push_str(&String::from_utf16_lossy(&units));
        if units.is_empty() {
            out.push('\u{FFFD}');
        }
    }
    out
}

fn sextet(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

/// Big endian, unless a byte order mark or the zeros say otherwise.
pub(super) fn utf32(bytes: &[u8]) -> String {
    let little = |unit: &&[u8; 4]| matches!(unit, [_, _, 0..=0x10, 0] if unit != &&[0; 4]);
    let (units, _) = bytes.as_chunks::<4>();
    let is_little = units.iter().filter(little).count() * 2 > units.len();
    let read = |unit: &[u8; 4]| {
        let code = match is_little {
            true => u32::from_le_bytes(*unit),
            false => u32::from_be_bytes(*unit),
        };
        char::from_u32(code).unwrap_or('\u{FFFD}')
    };
    units.iter().map(read).collect()
}

/// RFC 1843: `~{` begins two-byte text and `~}` ends it.
pub(super) fn hz(bytes: &[u8]) -> String {
    let mut euc = Vec::with_capacity(bytes.len());
    let mut shifted = false;
    let mut rest = bytes;
    while let Some((byte, after)) = rest.split_first() {
        let (taken, plain): (usize, &[u8]) = match (byte, after.first()) {
            (b'~', Some(b'{')) => {
                shifted = true;
                (2, b"")
            }
            (b'~', Some(b'}')) => {
                shifted = false;
                (2, b"")
            }
            (b'~', Some(b'~')) if !shifted => (2, b"~"),
            (b'~', Some(b'\n')) => (2, b""),
            (b'\n', _) => {
                shifted = false;
                (1, b"\n")
            }
            _ => (1, std::slice::from_ref(byte)),
        };
        euc.extend(plain.iter().map(|byte| high(*byte, shifted)));
        rest = rest.get(taken..).unwrap_or_default();
    }
    GBK.decode_without_bom_handling(&euc).0.into_owned()
}

/// RFC 1557.
pub(super) fn iso_2022_kr(bytes: &[u8]) -> String {
    let euc = shifts_undone(bytes);
    EUC_KR.decode_without_bom_handling(&euc).0.into_owned()
}

/// RFC 1922, of which only GB 2312 is read: CNS 11643 becomes U+FFFD.
pub(super) fn iso_2022_cn(bytes: &[u8]) -> String {
    let euc = shifts_undone(bytes);
    GBK.decode_without_bom_handling(&euc).0.into_owned()
}

/// Two-byte text between SO and SI with its high bits set, as in the EUC form of the charset.
fn shifts_undone(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut shifted = false;
    let mut known = true;
    let mut rest = bytes;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            0x0E => shifted = true,
            0x0F => shifted = false,
            // A designation: `ESC $ ) C`. G is a plane of CNS 11643.
            0x1B => match after {
                [b'$', b')', set, after @ ..] => {
                    known = *set != b'G';
                    rest = after;
                }
                [b'$', b'*' | b'+', _, after @ ..] => rest = after,
                // A single shift into CNS 11643.
                [b'N' | b'O', _, _, after @ ..] => {
                    out.push(0xFF);
                    rest = after;
                }
                _ => {}
            },
            b'\n' => {
                shifted = false;
                out.push(b'\n');
            }
            0x21..=0x7E if shifted && !known => {
                out.push(0xFF);
                rest = after.get(1..).unwrap_or_default();
            }
            byte => out.push(high(*byte, shifted)),
        }
    }
    out
}

fn high(byte: u8, shifted: bool) -> u8 {
    match byte {
        0x21..=0x7E if shifted => byte | 0x80,
        _ => byte,
    }
}
