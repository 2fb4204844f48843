//! The text that is being taken out: lines, table rows, and the bound that nothing passes.
//!
//! Formats say what happens (text, end of a paragraph, a cell, a row); how that looks is decided here, once.

use mail::{EmptyReason, ExtractedText, HidingReason, MAX_UNCERTAIN_RUNS, Raw, UncertainRun};

use super::verdict::Verdict;

pub(super) struct Draft {
    text: String,
    /// Characters that may still come.
    left: usize,
    cut: bool,
    hidden: Vec<(HidingReason, usize)>,
    /// Runs of `text` in bytes, in order.
    uncertain: Vec<UncertainRun>,
    /// Of the text that is written next.
    verdict: Option<HidingReason>,
    empty: Option<EmptyReason>,
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
            hidden: Vec::new(),
            uncertain: Vec::new(),
            verdict: None,
            empty: None,
            pending: Pending::Nothing,
            rows: Vec::new(),
        }
    }

    /// Text of the author's: written, written and marked, or counted.
    pub(super) fn show(&mut self, text: &str, verdict: Verdict) {
        match verdict {
            Verdict::Visible => self.push(text),
            Verdict::Uncertain(reason) => {
                self.verdict = Some(reason);
                self.push(text);
                self.verdict = None;
            }
            Verdict::Hidden(reason) => self.hide(text, reason),
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
                let start = self.text.len();
                self.put(line);
                if let Some(reason) = self.verdict {
                    self.mark(start, self.text.len(), reason);
                }
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
        let (start, end) = (row.cell, self.text.len());
        for _ in 0..times {
            self.begin_cell();
            self.repeat_from(start, end);
        }
    }

    /// The row ends, and stands for so many more below it.
    pub(super) fn repeat_row(&mut self, times: usize) {
        let start = self.rows.last().map(|row| row.start);
        let filled = self.rows.last().is_some_and(|row| row.filled);
        self.end_row();
        if let Some(start) = start.filter(|_| filled) {
            let end = self.text.len();
            for _ in 0..times {
                self.put_pending();
                self.repeat_from(start, end);
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
            self.truncate(kept);
            self.end_line();
        } else {
            self.truncate(row.start);
            self.left = row.left;
        }
    }

    /// Text that a reader of the document would not see. White space is not counted.
    pub(super) fn hide(&mut self, text: &str, reason: HidingReason) {
        let chars = text.chars().filter(|char| !char.is_whitespace()).count();
        self.hide_chars(chars, reason);
    }

    pub(super) fn hide_chars(&mut self, chars: usize, reason: HidingReason) {
        if chars == 0 {
            return;
        }
        match self.hidden.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count = count.saturating_add(chars),
            None => self.hidden.push((reason, chars)),
        }
    }

    /// Why there may be no text at all. The first reason stays.
    pub(super) fn explain_empty(&mut self, reason: EmptyReason) {
        self.empty.get_or_insert(reason);
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
        self.truncate(end);
        let uncertain = runs_in_chars(&self.text, &self.uncertain);
        let empty = if !self.text.is_empty() {
            None
        } else if !self.hidden.is_empty() && !self.cut {
            Some(EmptyReason::AllHidden)
        } else {
            self.empty.or((!self.cut).then_some(EmptyReason::NoText))
        };
        ExtractedText {
            text: Raw::new(self.text.into_bytes()),
            cut: self.cut,
            hidden: self.hidden,
            uncertain,
            empty,
        }
    }

    fn truncate(&mut self, end: usize) {
        self.text.truncate(end);
        while let Some(run) = self.uncertain.last_mut() {
            run.end = run.end.min(end);
            if run.start < run.end {
                break;
            }
            self.uncertain.pop();
        }
    }

    /// What was written from `start` on, once more.
    fn repeat_from(&mut self, start: usize, end: usize) {
        let text = self.text.get(start..end).unwrap_or_default().to_owned();
        let runs: Vec<UncertainRun> = self
            .uncertain
            .iter()
            .rev()
            .take_while(|run| run.end > start)
            .filter(|run| run.start < end)
            .copied()
            .collect();
        let at = self.text.len();
        self.put(&text);
        let written = self.text.len();
        for run in runs.into_iter().rev() {
            let moved = |place: usize| (place.max(start) - start + at).min(written);
            self.mark(moved(run.start), moved(run.end), run.reason);
        }
    }

    fn mark(&mut self, start: usize, end: usize, reason: HidingReason) {
        if start >= end {
            return;
        }
        match self.uncertain.last_mut() {
            Some(last) if last.end == start && last.reason == reason => last.end = end,
            _ => self.uncertain.push(UncertainRun { start, end, reason }),
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

/// In code points, with runs joined that only white space stands between, and no more than are
/// sent.
fn runs_in_chars(text: &str, runs: &[UncertainRun]) -> Vec<UncertainRun> {
    let mut counted: Vec<UncertainRun> = Vec::new();
    let (mut bytes, mut chars) = (0, 0);
    let mut end_of_last = 0;
    for run in runs {
        let between = text.get(end_of_last..run.start).unwrap_or_default();
        let joins = between.trim().is_empty();
        let mut count_to = |place: usize| {
            chars += text
                .get(bytes..place)
                .map_or(0, |more| more.chars().count());
            bytes = place;
            chars
        };
        let (start, end) = (count_to(run.start), count_to(run.end));
        end_of_last = run.end;
        let full = counted.len() >= MAX_UNCERTAIN_RUNS;
        match counted.last_mut() {
            Some(last) if full || (joins && last.reason == run.reason) => last.end = end,
            _ => counted.push(UncertainRun {
                start,
                end,
                reason: run.reason,
            }),
        }
    }
    counted
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

    #[test]
    fn uncertain_text_is_marked_in_code_points() {
        let mut draft = Draft::new(100);
        let unsure = Verdict::Uncertain(HidingReason::Conditional);
        draft.show("äö ", Verdict::Visible);
        draft.show("ü1", unsure);
        draft.end_line();
        draft.show("2", unsure);
        draft.show("gone  ", Verdict::Hidden(HidingReason::Colour));
        draft.end_line();
        draft.begin_row();
        draft.begin_cell();
        draft.show("x", unsure);
        draft.repeat_cell(1);
        draft.repeat_row(1);
        let done = draft.finish();
        assert_eq!(done.text.bytes(), "äö ü1\n2\nx | x\nx | x".as_bytes());
        let runs: Vec<_> = done
            .uncertain
            .iter()
            .map(|run| (run.start, run.end))
            .collect();
        assert_eq!(runs, [(3, 9), (12, 15), (18, 19)]);
        assert_eq!(done.hidden, [(HidingReason::Colour, 4)]);
        assert_eq!(done.empty, None);
    }

    #[test]
    fn uncertain_runs_beyond_the_bound_become_one() {
        let mut draft = Draft::new(10_000);
        for _ in 0..MAX_UNCERTAIN_RUNS + 10 {
            draft.show("a", Verdict::Uncertain(HidingReason::Covered));
            draft.push("b");
        }
        let done = draft.finish();
        assert_eq!(done.uncertain.len(), MAX_UNCERTAIN_RUNS);
        let last = done.uncertain.last().expect("a run");
        assert_eq!(last.end, 2 * (MAX_UNCERTAIN_RUNS + 10) - 1);
    }
}
