//! The text that is being taken out: lines, table rows, and the bound that nothing passes.
//!
//! Formats say what happens (text, end of a paragraph, a cell, a row); how that looks is decided here, once.

use mail::{ExtractedText, Raw};

pub(super) struct Draft {
    text: String,
    /// Characters that may still come.
    left: usize,
    cut: bool,
    hidden: usize,
    invisible: usize,
    /// A break that is written when something follows it.
    pending: Pending,
    /// The rows that are open; a table in a cell opens one inside another.
    rows: Vec<Row>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Pending {
    Nothing,
    Space,
    Line,
    Paragraph,
}

struct Row {
    /// Where its line begins, to take it back when it stays empty.
    start: usize,
    left: usize,
    cells: usize,
    /// Where its open cell begins: no break is written before a cell's first text.
    cell: usize,
    filled: bool,
}

const CELL: &str = " | ";

impl Draft {
    pub(super) fn new(max_chars: usize) -> Self {
        Self {
            text: String::new(),
            left: max_chars,
            cut: false,
            hidden: 0,
            invisible: 0,
            pending: Pending::Nothing,
            rows: Vec::new(),
        }
    }

    /// Text on the current line. A line feed in it is a line's end.
    pub(super) fn push(&mut self, text: &str) {
        for (number, line) in text.split('\n').enumerate() {
            if number > 0 {
                self.end_line();
            }
            if !line.is_empty() {
                self.put_pending();
                if !line.trim().is_empty()
                    && let Some(row) = self.rows.last_mut()
                {
                    row.filled = true;
                }
                self.put(line);
            }
        }
    }

    /// The line ends; in a cell, a space does.
    pub(super) fn end_line(&mut self) {
        self.wish(if self.rows.is_empty() {
            Pending::Line
        } else {
            Pending::Space
        });
    }

    /// An empty line follows: pages, slides, sheets and the like.
    pub(super) fn end_block(&mut self) {
        self.wish(if self.rows.is_empty() {
            Pending::Paragraph
        } else {
            Pending::Space
        });
    }

    /// A line of ours that says what follows: `[slide 2]`.
    pub(super) fn label(&mut self, words: &str) {
        self.end_block();
        self.push("[");
        self.push(&words.replace(['\n', '\r'], " "));
        self.push("]");
        self.end_line();
    }

    pub(super) fn begin_row(&mut self) {
        if !self.rows.is_empty() {
            // A table in a cell goes on in the cell's line.
            self.wish(Pending::Space);
        }
        self.put_pending();
        self.rows.push(Row {
            start: self.text.len(),
            left: self.left,
            cells: 0,
            cell: self.text.len(),
            filled: false,
        });
    }

    pub(super) fn begin_cell(&mut self) {
        self.pending = Pending::Nothing;
        if let Some(row) = self.rows.last_mut() {
            row.cells += 1;
            if row.cells > 1 {
                self.put(CELL);
            }
        }
        if let Some(row) = self.rows.last_mut() {
            row.cell = self.text.len();
        }
    }

    /// The open cell stands for so many more beside it.
    pub(super) fn repeat_cell(&mut self, times: usize) {
        let Some(row) = self.rows.last() else { return };
        let text = self.text.get(row.cell..).unwrap_or_default().to_owned();
        for _ in 0..times {
            self.begin_cell();
            self.put(&text);
        }
    }

    /// The row ends, and stands for so many more below it.
    pub(super) fn repeat_row(&mut self, times: usize) {
        let start = self.rows.last().map(|row| row.start);
        let filled = self.rows.last().is_some_and(|row| row.filled);
        self.end_row();
        if let Some(start) = start.filter(|_| filled) {
            let line = self.text.get(start..).unwrap_or_default().to_owned();
            for _ in 0..times {
                self.put_pending();
                self.put(&line);
                self.end_line();
            }
        }
    }

    pub(super) fn end_row(&mut self) {
        let Some(row) = self.rows.pop() else { return };
        if row.filled {
            if let Some(outer) = self.rows.last_mut() {
                outer.filled = true;
            }
            self.pending = Pending::Nothing;
            let kept = self.text.trim_end_matches([' ', '|']).len().max(row.start);
            self.left += self.text.get(kept..).map_or(0, |tail| tail.chars().count());
            self.text.truncate(kept);
            self.end_line();
        } else {
            self.text.truncate(row.start);
            self.left = row.left;
        }
    }

    /// Text that a reader of the document would not see.
    pub(super) fn hide(&mut self, text: &str) {
        self.hidden += text.chars().count();
    }

    pub(super) fn hide_chars(&mut self, chars: usize) {
        self.hidden += chars;
    }

    /// Characters that are in the text though a reader would not see them, because nothing tells them apart.
    pub(super) fn mark_invisible(&mut self, chars: usize) {
        self.invisible += chars;
    }

    /// More is there than is looked at.
    pub(super) fn cut(&mut self) {
        self.cut = true;
    }

    /// Nothing more fits: whoever reads on only finds what is hidden.
    pub(super) fn is_full(&self) -> bool {
        self.left == 0 && self.cut
    }

    pub(super) fn finish(mut self) -> ExtractedText {
        let end = self.text.trim_end().len();
        self.text.truncate(end);
        ExtractedText {
            text: Raw::new(self.text.into_bytes()),
            cut: self.cut,
            hidden: self.hidden,
            invisible: self.invisible,
        }
    }

    fn wish(&mut self, wish: Pending) {
        self.pending = self.pending.max(wish);
    }

    fn put_pending(&mut self) {
        let pending = std::mem::replace(&mut self.pending, Pending::Nothing);
        let start = self.rows.last().map_or(0, |row| row.cell);
        if self.text.len() <= start {
            return;
        }
        match pending {
            Pending::Nothing => {}
            Pending::Space => self.put(" "),
            Pending::Line => self.put("\n"),
            Pending::Paragraph => self.put("\n\n"),
        }
    }

    fn put(&mut self, text: &str) {
        if self.left == 0 {
            self.cut = true;
            return;
        }
        let mut chars = text.char_indices();
        match chars.by_ref().nth(self.left) {
            Some((end, _)) => {
                self.text.push_str(text.get(..end).unwrap_or_default());
                self.left = 0;
                self.cut = true;
            }
            None => {
                self.text.push_str(text);
                self.left -= text.chars().count();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(max: usize, write: impl FnOnce(&mut Draft)) -> (String, bool) {
        let mut draft = Draft::new(max);
        write(&mut draft);
        let done = draft.finish();
        let text = String::from_utf8(done.text.bytes().to_vec()).expect("UTF-8");
        (text, done.cut)
    }

    fn row(draft: &mut Draft, cells: &[&str]) {
        draft.begin_row();
        for cell in cells {
            draft.begin_cell();
            draft.push(cell);
        }
        draft.end_row();
    }

    #[test]
    fn rows_become_lines() {
        for (rows, expected) in [
            (&[&["a", "b"][..], &["c", "d"]][..], "a | b\nc | d"),
            (&[&["a", "", "c"]], "a |  | c"),
            (&[&["", ""], &["x", ""]], "x"),
            (&[&["two\nlines", "b"]], "two lines | b"),
        ] {
            let (text, _) = shown(100, |draft| {
                for cells in rows {
                    row(draft, cells);
                }
            });
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn a_table_in_a_cell_stays_in_its_line() {
        let (text, _) = shown(100, |draft| {
            draft.begin_row();
            draft.begin_cell();
            draft.push("outer");
            row(draft, &["a", "b"]);
            draft.begin_cell();
            draft.push("last");
            draft.end_row();
            draft.push("after");
        });
        assert_eq!(text, "outer a | b | last\nafter");
    }

    #[test]
    fn breaks_are_written_only_between_text() {
        let (text, _) = shown(100, |draft| {
            draft.end_block();
            draft.label("slide 1");
            draft.push("one");
            draft.end_line();
            draft.end_line();
            draft.push("two\n\nthree");
            draft.label("slide\n2");
            draft.end_line();
        });
        assert_eq!(text, "[slide 1]\none\ntwo\nthree\n\n[slide 2]");
    }

    #[test]
    fn the_bound_holds_and_is_said() {
        for (max, expected, cut) in [
            (0, "", true),
            (3, "äöü", true),
            (6, "äöüabc", false),
            (7, "äöüabc", false),
        ] {
            let seen = shown(max, |draft| {
                draft.push("äöü");
                draft.push("abc");
            });
            assert_eq!(seen, (expected.to_owned(), cut), "{max}");
        }
    }
}
