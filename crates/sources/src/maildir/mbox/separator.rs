//! The line that begins a message: `From alice@example.org Mon Nov  3 10:12:30 2025`.

use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;

/// A longer one is no such line.
const MOST: usize = 1_000;
const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// The first line of these octets; none if it does not end in them.
pub(super) fn line(octets: &[u8]) -> Option<&[u8]> {
    let end = memchr::memchr(b'\n', octets)?;
    let line = octets.get(..end)?;
    Some(line.strip_suffix(b"\r").unwrap_or(line))
}

/// When the message came, in seconds since 1970; none if the line is none that begins a message.
///
/// Sentences begin with `From ` too, so there must be a time and a year in it. QUIRK: the line tells no time zone, or one
/// that nobody agrees on, so its time is taken for UTC; programs write the date in several orders, and Thunderbird a `-`
/// for the sender.
pub(super) fn sent(line: &[u8]) -> Option<i64> {
    let rest = line.strip_prefix(b"From ").filter(|_| line.len() <= MOST)?;
    let words = || {
        rest.split(|byte| matches!(byte, b' ' | b'\t' | b','))
            .filter(|word| !word.is_empty())
            .filter_map(|word| std::str::from_utf8(word).ok())
    };
    let time = words().find_map(clock)?;
    let year: i16 = words().filter(|word| word.len() == 4).find_map(number)?;
    if !(1970..=9998).contains(&year) {
        return None;
    }
    let month = words().find_map(month).unwrap_or(1);
    let day = words()
        .filter(|word| word.len() <= 2)
        .find_map(number)
        .unwrap_or(1);
    let date = Date::new(year, month, day).or_else(|_| Date::new(year, month, 1));
    let zoned = date.ok()?.to_datetime(time).to_zoned(TimeZone::UTC).ok()?;
    Some(zoned.timestamp().as_second())
}

/// Whether the line begins a message without telling when it came: a sender or a `-` alone. Sentences begin with `From `
/// too, so this holds only where a header follows.
pub(super) fn is_undated(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"From ") else {
        return false;
    };
    let sender = rest.trim_ascii();
    let is_word = sender.len() <= 320 && !sender.iter().any(u8::is_ascii_whitespace);
    is_word && (matches!(sender, b"" | b"-" | b"MAILER-DAEMON") || sender.contains(&b'@'))
}

/// Whether a message begins here, as far as its first two lines tell.
pub(super) fn begins(octets: &[u8]) -> bool {
    let Some(line) = line(octets) else {
        return false;
    };
    let end = memchr::memchr(b'\n', octets).map_or(octets.len(), |end| end + 1);
    let next = octets.get(end..).unwrap_or_default();
    sent(line).is_some() || (is_undated(line) && is_header(next))
}

/// Whether a header field begins here (RFC 5322 section 2.2).
pub(super) fn is_header(octets: &[u8]) -> bool {
    const LONGEST: usize = 77;
    let name = octets
        .iter()
        .take(LONGEST)
        .take_while(|byte| byte.is_ascii_graphic() && **byte != b':')
        .count();
    name > 0 && octets.get(name) == Some(&b':')
}

fn clock(word: &str) -> Option<Time> {
    let mut pieces = word.split(':');
    let hour = pieces.next().and_then(number)?;
    let minute = pieces.next().and_then(number)?;
    let second = match pieces.next() {
        Some(piece) => number(piece)?,
        None => 0,
    };
    // A leap second is the one before it.
    let time = Time::new(hour, minute, second.min(59), 0).ok()?;
    pieces.next().is_none().then_some(time)
}

fn month(word: &str) -> Option<i8> {
    let at = MONTHS
        .iter()
        .position(|month| month.eq_ignore_ascii_case(word))?;
    i8::try_from(at + 1).ok()
}

fn number<T: std::str::FromStr>(word: &str) -> Option<T> {
    let digits = (1..=4).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| word.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_begins_a_message_tells_when_it_came() {
        for (line, want) in [
            ("From a@b Mon Nov  3 10:12:30 2025", Some(1_762_164_750)),
            ("From a@b Mon Nov 3 10:12:30 2025", Some(1_762_164_750)),
            ("From a@b Mon Nov  3 10:12:30 UTC 2025", Some(1_762_164_750)),
            (
                "From a@b Mon, 3 Nov 2025 10:12:30 +0100",
                Some(1_762_164_750),
            ),
            (
                "From 17@xxx Mon Nov 03 10:12:30 +0000 2025",
                Some(1_762_164_750),
            ),
            ("From - Mon Nov  3 10:12:30 2025", Some(1_762_164_750)),
            (
                "From  Mon Nov  3 10:12:30 2025 remote from x",
                Some(1_762_164_750),
            ),
            ("From a@b Mon Nov  3 10:12 2025", Some(1_762_164_720)),
            ("From a@b Mon Nov 31 10:12:30 2025", Some(1_761_991_950)),
            ("From a@b Thu Jan  1 00:00:00 1970", Some(0)),
            ("From here on it is easy", None),
            ("From 2025 on", None),
            ("From 10:00 on", None),
            ("From a@b Mon Nov  3 25:12:30 2025", None),
            ("From: a@b Mon Nov  3 10:12:30 2025", None),
            (">From a@b Mon Nov  3 10:12:30 2025", None),
            ("from a@b Mon Nov  3 10:12:30 2025", None),
            ("From ", None),
            ("", None),
        ] {
            assert_eq!(sent(line.as_bytes()), want, "{line}");
        }
        for (line, want) in [
            ("From -", true),
            ("From - ", true),
            ("From ", true),
            ("From a@b", true),
            ("From MAILER-DAEMON", true),
            ("From here on it is easy", false),
            ("From home", false),
            ("From: a@b", false),
            (">From a@b", false),
        ] {
            assert_eq!(is_undated(line.as_bytes()), want, "{line}");
        }
        for (line, want) in [
            ("Subject: x", true),
            ("X-A: b", true),
            (": x", false),
            ("two words: x", false),
            ("word", false),
            ("", false),
        ] {
            assert_eq!(is_header(line.as_bytes()), want, "{line}");
        }
        let long = format!("From {} Mon Nov  3 10:12:30 2025", "a".repeat(MOST));
        assert_eq!(sent(long.as_bytes()), None);
        assert!(sent(b"From \xff\xfe Mon Nov  3 10:12:30 2025").is_some());
    }
}
