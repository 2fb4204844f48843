//! How a line is quoted: the marks before it, the ways of putting one more there, and wrapping.
//!
//! Every way here is a plain function of the line that is quoted, so that it can be done again by whoever reads a marker.

/// Marks that our own HTML renderer puts before a line at most.
pub(super) const MOST_HTML_MARKS: usize = 5;

/// A way of quoting a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Style {
    /// As it is: a reply that puts the whole older message below itself.
    Same,
    /// `> ` before every line that is not empty.
    Spaced,
    /// The same, but `>` before a line that is quoted already (RFC 3676 section 4.5).
    Tight,
    /// As our HTML renderer writes: marks alone are not spaced, and there are five at most.
    Html,
    /// `>` before every line.
    Bare,
}

impl Style {
    /// Those with marks, the common ones first.
    pub(super) const MARKED: [Self; 4] = [Self::Spaced, Self::Tight, Self::Html, Self::Bare];

    pub(super) fn name(self) -> Option<&'static str> {
        match self {
            Self::Spaced => None,
            Self::Same => Some("as is"),
            Self::Tight => Some("tight"),
            Self::Html => Some("html"),
            Self::Bare => Some("bare"),
        }
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        let all = [Self::Same, Self::Tight, Self::Html, Self::Bare];
        all.into_iter().find(|style| style.name() == Some(name))
    }

    /// What is put before a line of this kind, and what kind it is then.
    fn once(self, kind: Kind) -> (&'static str, Kind) {
        let gap = match self {
            Self::Same => return ("", kind),
            Self::Html if kind.depth >= MOST_HTML_MARKS => return ("", kind),
            Self::Bare => "",
            _ if kind.is_empty => "",
            Self::Tight if kind.starts_marked => "",
            Self::Html if kind.only_marks => "",
            _ => " ",
        };
        let next = Kind {
            depth: kind.depth + 1,
            is_empty: false,
            starts_marked: true,
            only_marks: kind.only_marks && gap.is_empty(),
        };
        (if gap.is_empty() { ">" } else { "> " }, next)
    }
}

/// All of a line that decides how it is quoted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Kind {
    depth: usize,
    is_empty: bool,
    starts_marked: bool,
    only_marks: bool,
}

impl Kind {
    pub(super) fn of(line: &str) -> Self {
        Self {
            depth: marks(line).depth,
            is_empty: line.is_empty(),
            starts_marked: line.starts_with('>'),
            only_marks: line.bytes().all(|byte| byte == b'>'),
        }
    }
}

/// How a stretch of lines is quoted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Manner {
    pub style: Style,
    /// How often.
    pub times: usize,
    /// Lines that became longer than so many characters were wrapped between words.
    pub wrap: Option<usize>,
    /// Blanks at the end of a line were left out.
    pub trim: bool,
}

/// A line is quoted so often at most.
pub(super) const MOST_TIMES: usize = 8;

impl Manner {
    /// What stands before a line of this kind.
    pub(super) fn prefix(&self, mut kind: Kind) -> Prefix {
        let mut prefix = Prefix::default();
        for _ in 0..self.times {
            let (mark, next) = self.style.once(kind);
            prefix.put(mark);
            kind = next;
        }
        prefix
    }

    /// What becomes of one line.
    pub(super) fn apply(&self, line: &str) -> Vec<String> {
        let mut quoted = [self.prefix(Kind::of(line)).as_str(), line].concat();
        if self.trim {
            quoted.truncate(quoted.trim_end().len());
        }
        match self.wrap {
            Some(width) => wrap(&quoted, width),
            None => vec![quoted],
        }
    }
}

/// Marks that are put before a line. They are made for every line that is compared, and so need no room of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Prefix {
    /// Filled from its end.
    bytes: [u8; 2 * MOST_TIMES],
    begin: usize,
}

impl Default for Prefix {
    fn default() -> Self {
        Self {
            bytes: [b' '; 2 * MOST_TIMES],
            begin: 2 * MOST_TIMES,
        }
    }
}

impl Prefix {
    fn put(&mut self, mark: &str) {
        let Some(begin) = self.begin.checked_sub(mark.len()) else {
            return;
        };
        if let Some(place) = self.bytes.get_mut(begin..self.begin) {
            place.copy_from_slice(mark.as_bytes());
            self.begin = begin;
        }
    }

    pub(super) fn as_str(&self) -> &str {
        let bytes = self.bytes.get(self.begin..).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }
}

/// The marks a line begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Marks<'a> {
    pub depth: usize,
    /// Marks and the blanks between and behind them.
    pub before: &'a str,
    pub content: &'a str,
}

pub(super) fn marks(line: &str) -> Marks<'_> {
    let mut depth = 0;
    let mut rest = line;
    loop {
        let next = rest.strip_prefix(' ').unwrap_or(rest);
        match (next.strip_prefix('>'), depth) {
            // One blank before the first mark is text.
            (Some(behind), 1..) => rest = behind,
            (None, 1..) => {
                rest = next;
                break;
            }
            _ => match rest.strip_prefix('>') {
                Some(behind) => rest = behind,
                None => break,
            },
        }
        depth += 1;
    }
    let (before, content) = line
        .split_at_checked(line.len() - rest.len())
        .unwrap_or(("", line));
    Marks {
        depth,
        before,
        content,
    }
}

/// As many words on each line as fit, the marks before every one of them.
pub(super) fn wrap(line: &str, width: usize) -> Vec<String> {
    let Marks {
        before, content, ..
    } = marks(line);
    let indent = before.chars().count();
    let mut out = Vec::new();
    let mut open = before.to_owned();
    let mut room = width.saturating_sub(indent);
    let mut fresh = true;
    for word in content.split(' ') {
        let chars = word.chars().count();
        let needed = if fresh { chars } else { chars + 1 };
        if !fresh && needed > room {
            out.push(std::mem::replace(&mut open, before.to_owned()));
            open.push_str(word);
            room = width.saturating_sub(indent + chars);
            continue;
        }
        if !fresh {
            open.push(' ');
        }
        open.push_str(word);
        room = room.saturating_sub(needed);
        fresh = false;
    }
    out.push(open);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_told_from_text() {
        for (line, depth, before, content) in [
            ("a", 0, "", "a"),
            ("", 0, "", ""),
            ("> a", 1, "> ", "a"),
            (">a", 1, ">", "a"),
            (">>> a", 3, ">>> ", "a"),
            ("> > a", 2, "> > ", "a"),
            (">  a", 1, "> ", " a"),
            ("> >", 2, "> >", ""),
            (" > a", 0, "", " > a"),
            ("a > b", 0, "", "a > b"),
        ] {
            let want = Marks {
                depth,
                before,
                content,
            };
            assert_eq!(marks(line), want, "{line:?}");
        }
    }

    #[test]
    fn each_style_quotes_in_its_own_way() {
        for (line, spaced, tight, html, bare) in [
            ("a", "> a", "> a", "> a", ">a"),
            ("", ">", ">", ">", ">"),
            ("> a", "> > a", ">> a", "> > a", ">> a"),
            (">", "> >", ">>", ">>", ">>"),
            (
                "> > > > > a",
                "> > > > > > a",
                ">> > > > > a",
                "> > > > > a",
                ">> > > > > a",
            ),
        ] {
            let quoted = |style: Style| {
                let manner = Manner {
                    style,
                    times: 1,
                    wrap: None,
                    trim: false,
                };
                manner.apply(line).concat()
            };
            assert_eq!(Style::MARKED.map(quoted), [spaced, tight, html, bare]);
            assert_eq!(quoted(Style::Same), line);
        }
    }

    #[test]
    fn long_lines_wrap_between_words() {
        for (line, width, want) in [
            ("> one two three", 9, &["> one two", "> three"][..]),
            ("> one two three", 8, &["> one", "> two", "> three"]),
            ("> one", 2, &["> one"]),
            ("one  two", 4, &["one ", "two"]),
            ("", 5, &[""]),
        ] {
            assert_eq!(wrap(line, width), want, "{line:?} at {width}");
        }
    }
}
