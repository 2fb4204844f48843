//! Flags in an mbox file: `Status`, `X-Status`, `X-Keywords`, and what Thunderbird writes.
//!
//! QUIRK: they stand in the header of the message, where a sender can write them too. They say what was said, no more.

use mail::Flag;

/// Fields that programs write, change and take away: no part of what a message is.
const OWN: [&str; 11] = [
    "status",
    "x-status",
    "x-keywords",
    "x-uid",
    "x-imap",
    "x-imapbase",
    "content-length",
    "lines",
    "x-mozilla-status",
    "x-mozilla-status2",
    "x-mozilla-keys",
];

const STATUS: [(u8, &str); 1] = [(b'R', "\\Seen")];
const X_STATUS: [(u8, &str); 4] = [
    (b'A', "\\Answered"),
    (b'D', "\\Deleted"),
    (b'F', "\\Flagged"),
    (b'T', "\\Draft"),
];
const MOZILLA: [(u32, &str); 5] = [
    (0x0001, "\\Seen"),
    (0x0002, "\\Answered"),
    (0x0004, "\\Flagged"),
    (0x0008, "\\Deleted"),
    (0x1000, "$Forwarded"),
];

/// More keywords, or longer ones, are passed over.
const MOST_KEYWORDS: usize = 64;
const LONGEST_KEYWORD: usize = 128;

/// The name and the value of a line, if it is a field that programs write for themselves.
pub(super) fn own(line: &[u8]) -> Option<(&'static str, &[u8])> {
    let colon = memchr::memchr(b':', line)?;
    let name = line.get(..colon)?.trim_ascii_end();
    let value = line.get(colon + 1..)?.trim_ascii();
    let own = OWN.iter();
    own.copied()
        .find(|own| own.as_bytes().eq_ignore_ascii_case(name))
        .map(|own| (own, value))
}

/// Adds what a field says.
pub(super) fn read(name: &str, value: &[u8], flags: &mut Vec<Flag>) {
    match name {
        "status" => letters(&STATUS, value, flags),
        "x-status" => letters(&X_STATUS, value, flags),
        "x-keywords" => keywords(value, flags),
        "x-mozilla-status" => mozilla(value, flags),
        _ => {}
    }
}

fn letters(known: &[(u8, &str)], value: &[u8], flags: &mut Vec<Flag>) {
    for (letter, flag) in known {
        if value.contains(letter) {
            add(flag, flags);
        }
    }
}

fn mozilla(value: &[u8], flags: &mut Vec<Flag>) {
    let bits = std::str::from_utf8(value)
        .ok()
        .and_then(|text| u32::from_str_radix(text, 16).ok());
    for (bit, flag) in MOZILLA {
        if bits.is_some_and(|bits| bits & bit != 0) {
            add(flag, flags);
        }
    }
}

fn keywords(value: &[u8], flags: &mut Vec<Flag>) {
    let fits = |word: &&[u8]| {
        (1..=LONGEST_KEYWORD).contains(&word.len())
            && word
                .iter()
                .all(|byte| byte.is_ascii_graphic() && !b"\\\"(){%*]".contains(byte))
    };
    let words = value.split(|byte| matches!(byte, b' ' | b'\t' | b','));
    for word in words.filter(fits).take(MOST_KEYWORDS) {
        if let Ok(word) = std::str::from_utf8(word) {
            add(word, flags);
        }
    }
}

fn add(flag: &str, flags: &mut Vec<Flag>) {
    if !flags.iter().any(|known| known.is(flag)) {
        flags.push(Flag::new(flag));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_tell_flags() {
        for (lines, want) in [
            (&["Status: RO"][..], "\\Seen"),
            (&["Status: O"], ""),
            (&["status:R"], "\\Seen"),
            (
                &["Status: R", "X-Status: AFT"],
                "\\Seen \\Answered \\Flagged \\Draft",
            ),
            (&["X-Status: D"], "\\Deleted"),
            (
                &["X-Keywords: $Forwarded  work,work  a\\b \u{e4}"],
                "$Forwarded work",
            ),
            (&["X-Mozilla-Status: 1003"], "\\Seen \\Answered $Forwarded"),
            (&["X-Mozilla-Status: zz"], ""),
            (&["Status: R", "X-Mozilla-Status: 0001"], "\\Seen"),
            (&["Subject: Status: R", "X-UID: 7", "R"], ""),
        ] {
            let mut flags = Vec::new();
            for line in lines {
                if let Some((name, value)) = own(line.as_bytes()) {
                    read(name, value, &mut flags);
                }
            }
            let shown: Vec<&str> = flags.iter().map(Flag::as_str).collect();
            assert_eq!(shown.join(" "), want, "{lines:?}");
        }
    }
}
