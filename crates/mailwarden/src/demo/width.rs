//! How wide text is in a terminal, near enough, and making it fit: clip, pad, wrap.
//!
//! Not the whole of Unicode's rules: wide East Asian letters and emoji take two columns, marks that join the
//! letter before take none, control characters are shown as blanks.

/// Columns that `text` takes.
pub(super) fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

/// At most `room` columns of one line, an ellipsis for what is left out.
pub(super) fn clip(text: &str, room: usize) -> String {
    let line: String = text.chars().map(printable).collect();
    if width(&line) <= room {
        return line;
    }
    let (kept, _) = split(&line, room.saturating_sub(1));
    format!("{}…", kept.trim_end())
}

/// Exactly `room` columns.
pub(super) fn pad(text: &str, room: usize) -> String {
    let mut out = clip(text, room);
    let blank = room.saturating_sub(width(&out));
    out.extend(std::iter::repeat_n(' ', blank));
    out
}

/// Lines of at most `room` columns, broken at blanks where there are any.
pub(super) fn wrap(text: &str, room: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.lines() {
        let line: String = line.chars().map(printable).collect();
        let mut rest = line.trim_end();
        while width(rest) > room {
            let (kept, after) = split(rest, room);
            let kept = match kept.rsplit_once(' ') {
                Some((words, _)) if !after.starts_with(' ') && !words.trim().is_empty() => words,
                _ => kept,
            };
            lines.push(kept.trim_end().to_owned());
            if kept.is_empty() {
                // Not even one letter fits.
                return lines;
            }
            rest = rest.strip_prefix(kept).unwrap_or_default().trim_start();
        }
        lines.push(rest.to_owned());
    }
    lines
}

/// The first `room` columns and the rest.
fn split(text: &str, room: usize) -> (&str, &str) {
    let mut used = 0;
    let end = text.char_indices().find(|(_, char)| {
        used += columns(*char);
        used > room
    });
    text.split_at(end.map_or(text.len(), |(at, _)| at))
}

fn printable(char: char) -> char {
    if char.is_control() { ' ' } else { char }
}

fn columns(char: char) -> usize {
    match u32::from(char) {
        // Combining marks, joiners, variation selectors.
        0x0300..=0x036F
        | 0x0591..=0x05BD
        | 0x064B..=0x065F
        | 0x200B..=0x200F
        | 0x2060..=0x2064
        | 0x20D0..=0x20FF
        | 0xFE00..=0xFE0F
        | 0xFEFF
        | 0x1F3FB..=0x1F3FF => 0,
        // Hangul, kana, ideographs, full-width forms, pictures.
        0x1100..=0x115F
        | 0x2E80..=0x303E
        | 0x3041..=0xA4CF
        | 0xAC00..=0xD7A3
        | 0xF900..=0xFAFF
        | 0xFE30..=0xFE6F
        | 0xFF00..=0xFF60
        | 0xFFE0..=0xFFE6
        | 0x1F300..=0x1F64F
        | 0x1F680..=0x1F6FF
        | 0x1F900..=0x1FAFF
        | 0x20000..=0x3FFFD => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_take_their_columns() {
        for (text, want) in [
            ("", 0),
            ("Zoë", 3),
            ("Zoe\u{308}", 3),
            ("цепи", 4),
            ("田中", 4),
            ("📦 da", 5),
            ("a\u{200B}b", 2),
        ] {
            assert_eq!(width(text), want, "{text:?}");
        }
    }

    #[test]
    fn text_is_made_to_fit() {
        for (text, room, clipped, padded) in [
            ("short", 8, "short", "short   "),
            ("exactly8", 8, "exactly8", "exactly8"),
            ("a longer one", 8, "a longe…", "a longe…"),
            ("田中田中田中", 6, "田中…", "田中… "),
            ("a\tb\nc", 8, "a b c", "a b c   "),
            ("\u{1b}[31m", 8, " [31m", " [31m   "),
        ] {
            assert_eq!(clip(text, room), clipped);
            assert_eq!(pad(text, room), padded);
        }
    }

    #[test]
    fn lines_break_at_blanks() {
        for (text, want) in [
            ("one two three", &["one two", "three"] as &[&str]),
            ("one four five", &["one four", "five"]),
            ("unbreakable", &["unbreaka", "ble"]),
            ("  a bcdef ghi", &["  a", "bcdef", "ghi"]),
            ("  unbreakable", &["  unbrea", "kable"]),
            ("a\n\nb", &["a", "", "b"]),
            ("田中田中田中", &["田中田中", "田中"]),
        ] {
            assert_eq!(wrap(text, 8), want, "{text:?}");
        }
        assert_eq!(wrap("田", 1), [""]);
    }
}
