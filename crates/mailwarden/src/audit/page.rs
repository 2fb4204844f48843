//! Where the verbs write: stdout, line by line, and whoever reads may go away.

use std::fmt::Display;
use std::io::{self, BufWriter, Stdout, Write as _};

use crate::screen::Screen;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    Human,
    Json,
}

pub(super) struct Page {
    pub(super) screen: Screen,
    pub(super) form: Form,
    columns: usize,
    cut_at: usize,
    out: BufWriter<Stdout>,
}

impl Page {
    pub(super) fn new(screen: Screen, form: Form) -> Self {
        Self {
            screen,
            form,
            columns: screen.columns().min(100),
            cut_at: screen.cut_at().unwrap_or(usize::MAX),
            out: BufWriter::new(io::stdout()),
        }
    }

    /// How long a line may be that is cut.
    pub(super) fn cut_at(&self) -> usize {
        self.cut_at
    }

    pub(super) fn line(&mut self, text: impl Display) -> io::Result<()> {
        writeln!(self.out, "{text}")
    }

    /// A word at the margin, and a text beside it that is broken where it would be too wide.
    pub(super) fn beside(&mut self, word: &str, text: &str) -> io::Result<()> {
        const MARGIN: usize = 13;
        let lines = wrap(text, self.columns.saturating_sub(MARGIN));
        for (n, line) in lines.iter().enumerate() {
            let word = if n == 0 { word } else { "" };
            let pad = " ".repeat(MARGIN.saturating_sub(word.chars().count()));
            writeln!(self.out, "{}{pad}{line}", self.screen.dim(word))?;
        }
        Ok(())
    }

    pub(super) fn bytes(&mut self, line: &[u8]) -> io::Result<()> {
        self.out.write_all(line)?;
        self.out.write_all(b"\n")
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Breaks between words. A word that is too long for a line stays whole.
fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let Some(line) = lines.last_mut() else { break };
        let wide = line.chars().count() + 1 + word.chars().count();
        match (line.is_empty(), wide > columns) {
            (true, _) => line.push_str(word),
            (false, true) => lines.push(word.to_owned()),
            (false, false) => {
                line.push(' ');
                line.push_str(word);
            }
        }
    }
    lines
}

/// Text for a terminal: a log that somebody else could write to may hold anything.
pub(crate) fn safe(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '"' | '\'' | '\\' => out.push(char),
            other => out.extend(other.escape_debug()),
        }
    }
    out
}

/// Cuts a text to so many characters, and shows that it was cut.
pub(super) fn cut(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(columns.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_log_steers_a_terminal() {
        for (text, expected) in [
            ("INBOX", "INBOX"),
            ("Übersicht \"a\\b\"", "Übersicht \"a\\b\""),
            ("a\u{1b}[2Jb\r\n", "a\\u{1b}[2Jb\\r\\n"),
            ("x\u{202e}y\u{200b}", "x\\u{202e}y\\u{200b}"),
        ] {
            assert_eq!(safe(text), expected);
        }
    }

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("incomprehensible two", 7), ["incomprehensible", "two"]);
        assert_eq!(wrap("", 7), [""]);
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("abcd", 4), "abcd");
    }
}
