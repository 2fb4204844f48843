//! The `.emlx` file: a count, a message, and a property list that says what the database says better.

use std::ops::Range;

/// More digits than these are no count.
const MOST_DIGITS: usize = 19;

/// Where the message lies in a file. None where the file is none of these.
pub(super) fn message(file: &[u8]) -> Option<Range<usize>> {
    let end = file.iter().take(64).position(|byte| *byte == b'\n')?;
    let line = file.get(..end)?.trim_ascii();
    let digits = !line.is_empty() && line.iter().all(u8::is_ascii_digit);
    if !digits || line.len() > MOST_DIGITS {
        return None;
    }
    let count: u64 = std::str::from_utf8(line).ok()?.parse().ok()?;
    let begin = end + 1;
    let rest = file.get(begin..)?;
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    if count <= rest.len() {
        return Some(begin..begin + count);
    }
    // QUIRK: files that were edited by hand count more than they hold. Only then the trailer is looked for: `<?xml` may stand
    // in any message.
    let trailer = trailer(rest).unwrap_or(rest.len());
    Some(begin..begin + trailer)
}

/// Where the property list begins.
fn trailer(rest: &[u8]) -> Option<usize> {
    const MARK: &[u8] = b"<?xml";
    rest.windows(MARK.len()).rposition(|at| at == MARK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_lie_between_count_and_trailer() {
        for (file, want) in [
            ("5         \nhello<?xml?>", Some("hello")),
            ("5\nhello<?xml?>", Some("hello")),
            ("5\nhello", Some("hello")),
            ("12\nhello<?xml a", Some("hello<?xml a")),
            ("99\nhel<?xml lo<?xml?>", Some("hel<?xml lo")),
            ("99\nhello", Some("hello")),
            ("99999999999999999999999\nhello", None),
            ("18446744073709551615\nhello", None),
            ("9223372036854775807\nhello", Some("hello")),
            ("0\n<?xml?>", Some("")),
            ("5", None),
            ("\nhello", None),
            ("-5\nhello", None),
            ("From: a\n\nhello", None),
            ("", None),
        ] {
            let found = message(file.as_bytes()).and_then(|range| file.get(range));
            assert_eq!(found, want, "{file:?}");
        }
    }
}
