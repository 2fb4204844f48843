//! Markers: how a packed text says what was left out, and how its own lines are kept from looking so.
//!
//! A line that begins with `[quoted: ` is a marker and nothing else is. A line of mail that begins so, after any number of
//! backslashes, gets one more backslash.

use super::quote::{MOST_TIMES, Manner, Style};

const OPEN: &str = "[quoted: ";

/// Lines of an earlier text, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Marker {
    pub number: u32,
    /// The first line is 0.
    pub first: usize,
    /// At least 1.
    pub count: usize,
    pub manner: Manner,
    pub shown: Shown,
}

/// Whether the lines are shown where they stand, or only by the call that gives the rest of that text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shown {
    All,
    /// So many lines of that text are, and these are some of them.
    To(usize),
    None,
}

impl Shown {
    /// The most characters that it adds to a marker.
    pub(super) const LONGEST: usize = 34;
}

/// What a line of a packed text is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Line<'a> {
    Text(&'a str),
    Marker(Marker),
    /// It begins as a marker and is none.
    Broken,
}

pub(super) fn read(line: &str) -> Line<'_> {
    if line.starts_with(OPEN) {
        return parse(line).map_or(Line::Broken, Line::Marker);
    }
    Line::Text(if looks_so(line) {
        line.strip_prefix('\\').unwrap_or(line)
    } else {
        line
    })
}

/// The backslash that a line of mail needs.
pub(super) fn guard(line: &str) -> &'static str {
    if looks_so(line) { "\\" } else { "" }
}

/// Characters of a guarded line that must not be cut.
pub(super) fn unbroken(line: &str) -> usize {
    match looks_so(line) {
        true => line.chars().take_while(|char| *char == '\\').count() + 1 + OPEN.len(),
        false => 0,
    }
}

fn looks_so(line: &str) -> bool {
    line.trim_start_matches('\\').starts_with(OPEN)
}

impl Marker {
    /// `[quoted: lines 5-18 of #3]`, and how, where that is not simply with `> ` before each.
    pub(super) fn spelled(&self) -> String {
        let Self {
            number,
            first,
            count,
            manner,
            shown,
        } = self;
        let lines = match count {
            1 => format!("line {}", first + 1),
            _ => format!("lines {}-{}", first + 1, first + count),
        };
        let mut out = format!("{OPEN}{lines} of #{number}");
        if let Some(style) = manner.style.name() {
            out.push_str(&format!(", {style}"));
        }
        if manner.times > 1 {
            out.push_str(&format!(", {} times", manner.times));
        }
        if let Some(width) = manner.wrap {
            out.push_str(&format!(", wrapped at {width}"));
        }
        if manner.trim {
            out.push_str(", trimmed");
        }
        match shown {
            Shown::All => {}
            Shown::To(line) => out.push_str(&format!(", shown to line {line}")),
            Shown::None => out.push_str(", not shown here"),
        }
        out.push(']');
        out
    }

    /// The same, when so many lines of the text it names are shown.
    pub(super) fn when(self, lines: usize) -> Self {
        let shown = match lines {
            all if all >= self.first + self.count => Shown::All,
            none if none <= self.first => Shown::None,
            some => Shown::To(some),
        };
        Self { shown, ..self }
    }
}

/// INVARIANT: only what [`Marker::spelled`] writes is read, so that one marker has one spelling.
fn parse(line: &str) -> Option<Marker> {
    let inner = line.strip_prefix(OPEN)?.strip_suffix(']')?;
    let mut pieces = inner.split(", ");
    let (lines, number) = pieces.next()?.split_once(" of #")?;
    let (first, last) = match lines.strip_prefix("lines ") {
        Some(range) => range.split_once('-')?,
        None => {
            let one = lines.strip_prefix("line ")?;
            (one, one)
        }
    };
    let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
    let mut manner = Manner {
        style: Style::Spaced,
        times: 1,
        wrap: None,
        trim: false,
    };
    let mut shown = Shown::All;
    for piece in pieces {
        if piece == "not shown here" {
            shown = Shown::None;
        } else if let Some(line) = piece.strip_prefix("shown to line ") {
            shown = Shown::To(line.parse().ok()?);
        } else if let Some(times) = piece.strip_suffix(" times") {
            manner.times = times.parse().ok().filter(|times| *times <= MOST_TIMES)?;
        } else if let Some(width) = piece.strip_prefix("wrapped at ") {
            manner.wrap = Some(width.parse().ok()?);
        } else if piece == "trimmed" {
            manner.trim = true;
        } else {
            manner.style = Style::from_name(piece)?;
        }
    }
    let found = Marker {
        number: number.parse().ok()?,
        first: first.checked_sub(1)?,
        count: last.checked_sub(first)?.checked_add(1)?,
        manner,
        shown,
    };
    (found.spelled() == line).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_has_one_spelling() {
        for line in [
            "[quoted: lines 5-18 of #3]",
            "[quoted: line 1 of #1]",
            "[quoted: lines 1-2 of #4294967295, tight]",
            "[quoted: lines 1-2 of #1, as is]",
            "[quoted: lines 1-2 of #1, html, 3 times, wrapped at 76]",
            "[quoted: lines 1-2 of #1, bare, trimmed]",
            "[quoted: lines 1-9 of #1, shown to line 4]",
            "[quoted: lines 1-9 of #1, tight, not shown here]",
        ] {
            let Line::Marker(marker) = read(line) else {
                panic!("{line}");
            };
            assert_eq!(marker.spelled(), line);
        }
        for line in [
            "[quoted: ",
            "[quoted: ]",
            "[quoted: lines 0-2 of #1]",
            "[quoted: lines 3-2 of #1]",
            "[quoted: lines 2-2 of #1]",
            "[quoted: line 1 of #01]",
            "[quoted: line 1 of #+1]",
            "[quoted: line 1 of #1] ",
            "[quoted: line 1 of #1, 1 times]",
            "[quoted: line 1 of #1, 9 times]",
            "[quoted: line 1 of #1, wrapped at 7, tight]",
            "[quoted: lines 1-99999999999999999999 of #1]",
            "[quoted: lines 1-18446744073709551615 of #1, odd]",
        ] {
            assert_eq!(read(line), Line::Broken, "{line}");
        }
    }

    #[test]
    fn lines_of_mail_never_look_like_one() {
        for line in [
            "[quoted: lines 5-18 of #3]",
            "\\[quoted: x",
            "\\\\[quoted: ",
            "[quoted",
            "\\",
            "> [quoted: lines 5-18 of #3]",
            "",
        ] {
            let guarded = [guard(line), line].concat();
            assert_eq!(read(&guarded), Line::Text(line));
        }
    }
}
