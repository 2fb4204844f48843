//! Transfer encodings undone (RFC 2045): base64 and quoted-printable, damaged or cut off anywhere.

/// The decoded bytes. Unknown encodings are taken for none.
pub(crate) fn decode(bytes: &[u8], encoding: &str) -> Vec<u8> {
    match encoding {
        "base64" => base64(bytes),
        "quoted-printable" => quoted_printable(bytes),
        _ => bytes.to_vec(),
    }
}

/// `%41` decoded, as in addresses and in RFC 2231.
pub(crate) fn percent(data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(data.len());
    let mut rest = data;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match (first, after) {
            (b'%', [high, low, after @ ..]) if hex(*high, *low).is_some() => {
                bytes.extend(hex(*high, *low));
                rest = after;
            }
            _ => bytes.push(*first),
        }
    }
    bytes
}

/// Foreign characters are passed over; padding ends a group, and more groups may follow it.
pub(crate) fn base64(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() / 4 * 3 + 3);
    let mut group = Group::default();
    for byte in bytes {
        match sextet(*byte) {
            Some(bits) => {
                group.bits = group.bits << 6 | u32::from(bits);
                group.count += 1;
                if group.count == 4 {
                    group.flush(&mut out);
                }
            }
            None if *byte == b'=' => group.flush(&mut out),
            None => {}
        }
    }
    group.flush(&mut out);
    out
}

/// A `=` that begins no code stays as it is; one at the very end is a cut and falls away.
pub(crate) fn quoted_printable(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(index) = memchr::memchr(b'=', rest) {
        let (plain, code) = rest.split_at(index);
        out.extend_from_slice(plain);
        rest = match code {
            [b'='] => &[],
            [b'=', high] if high.is_ascii_hexdigit() => &[],
            [b'=', high, low, after @ ..] if hex(*high, *low).is_some() => {
                out.extend(hex(*high, *low));
                after
            }
            [_, after @ ..] => match soft_break(after) {
                Some(after) => after,
                None => {
                    out.push(b'=');
                    after
                }
            },
            [] => &[],
        };
    }
    out.extend_from_slice(rest);
    out
}

pub(crate) fn hex(high: u8, low: u8) -> Option<u8> {
    let high = char::from(high).to_digit(16)?;
    let low = char::from(low).to_digit(16)?;
    u8::try_from(high * 16 + low).ok()
}

/// What follows a soft line break. Blanks before the line ending are transport padding.
fn soft_break(after: &[u8]) -> Option<&[u8]> {
    // INVARIANT: padding is looked for in a bounded stretch, so `= = = …` stays linear.
    let padding = after
        .iter()
        .take(80)
        .take_while(|byte| matches!(byte, b' ' | b'\t'))
        .count();
    match after.get(padding..)? {
        [b'\r', b'\n', rest @ ..] | [b'\n', rest @ ..] => Some(rest),
        [] | [b'\r'] => Some(&[]),
        _ => None,
    }
}

#[derive(Default)]
struct Group {
    bits: u32,
    count: u8,
}

impl Group {
    fn flush(&mut self, out: &mut Vec<u8>) {
        let [_, first, second, third] = match self.count {
            2 => self.bits << 12,
            3 => self.bits << 6,
            _ => self.bits,
        }
        .to_be_bytes();
        match self.count {
            2 => out.push(first),
            3 => out.extend([first, second]),
            4 => out.extend([first, second, third]),
            _ => {}
        }
        *self = Self::default();
    }
}

fn sextet(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_whole_cut_and_damaged() {
        for (from, want) in [
            ("aGVsbG8=", "hello"),
            ("aGVs\r\nbG8=\r\n", "hello"),
            ("aGVsbG8", "hello"),
            ("aGVsbG", "hell"),
            ("aGVsb", "hel"),
            ("aGVs!bG8=", "hello"),
            ("aGU=aGU=", "hehe"),
            ("", ""),
            ("====", ""),
            ("A", ""),
        ] {
            assert_eq!(base64(from.as_bytes()), want.as_bytes(), "{from}");
        }
    }

    #[test]
    fn quoted_printable_whole_cut_and_damaged() {
        for (from, want) in [
            ("a=3Db", "a=b"),
            ("soft=\r\nbreak", "softbreak"),
            ("soft= \t\nbreak", "softbreak"),
            ("lower=e4", "lower\u{e4}"),
            ("50% = half", "50% = half"),
            ("a=ZZb", "a=ZZb"),
            ("cut=", "cut"),
            ("cut=C", "cut"),
            ("cut=\r", "cut"),
        ] {
            let found: String = quoted_printable(from.as_bytes())
                .into_iter()
                .map(char::from)
                .collect();
            assert_eq!(found, want, "{from}");
        }
    }
}
