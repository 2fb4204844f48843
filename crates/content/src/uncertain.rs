//! Runs of text of which it is not certain that a person sees them, carried through every change of
//! the text.

use std::ops::Range;

use html::Rendered;

use crate::note::Note;

/// A run of uncertain characters, in code points of the text that it comes with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UncertainRun {
    pub start: usize,
    /// Exclusive.
    pub end: usize,
    pub reason: &'static str,
}

/// The same runs in bytes of one text: ascending, apart from each other.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Marks(Vec<Mark>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct Mark {
    range: Range<usize>,
    reason: &'static str,
}

impl Marks {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn of_html(rendered: &Rendered) -> Self {
        let runs = rendered.uncertain.iter().map(|run| UncertainRun {
            start: run.start,
            end: run.end,
            reason: run.reason.name(),
        });
        Self::from_runs(&rendered.text, &runs.collect::<Vec<_>>())
    }

    /// `ranges` ascend.
    pub(crate) fn of_ranges(ranges: Vec<Range<usize>>, reason: &'static str) -> Self {
        let mut marks = Self::default();
        for range in ranges {
            marks.push(range, reason);
        }
        marks
    }

    /// `runs` ascend.
    pub(crate) fn from_runs(text: &str, runs: &[UncertainRun]) -> Self {
        let mut marks = Self::default();
        let mut positions = CodePointPositions::new(text);
        for run in runs {
            let start = positions.byte_of(run.start);
            let end = positions.byte_of(run.end);
            marks.push(start..end, run.reason);
        }
        marks
    }

    /// In code points of `text`, without white space at their ends.
    pub(crate) fn runs(&self, text: &str) -> Vec<UncertainRun> {
        let mut positions = CodePointPositions::new(text);
        let mut runs: Vec<UncertainRun> = Vec::with_capacity(self.0.len());
        for mark in &self.0 {
            let Some(marked) = text.get(mark.range.clone()) else {
                continue;
            };
            let begin = marked.len() - marked.trim_start().len();
            let marked = marked.trim();
            if marked.is_empty() {
                continue;
            }
            let start = positions.char_of(mark.range.start + begin);
            let end = positions.char_of(mark.range.start + begin + marked.len());
            runs.push(UncertainRun {
                start,
                end,
                reason: mark.reason,
            });
        }
        runs
    }

    /// Adds the marks of a text that is put in at byte `at`, behind all that are here.
    pub(crate) fn append(&mut self, at: usize, other: &Self) {
        for mark in &other.0 {
            self.push(at + mark.range.start..at + mark.range.end, mark.reason);
        }
    }

    /// Where the marks are once the text was changed.
    pub(crate) fn after(&self, edits: &Edits) -> Self {
        let mut moved = Self::default();
        for mark in &self.0 {
            moved.push(
                edits.start(mark.range.start)..edits.end(mark.range.end),
                mark.reason,
            );
        }
        moved
    }

    /// Those of a part of the text, in bytes of that part.
    pub(crate) fn within(&self, part: Range<usize>) -> Self {
        let mut clipped = Self::default();
        for mark in &self.0 {
            let start = mark.range.start.max(part.start);
            let end = mark.range.end.min(part.end);
            if start < end {
                clipped.push(start - part.start..end - part.start, mark.reason);
            }
        }
        clipped
    }

    /// The text without what is marked, and how many characters that is, white space aside.
    pub(crate) fn without(&self, text: &str) -> (String, usize) {
        let mut kept = String::with_capacity(text.len());
        let mut chars = 0;
        let mut done = 0;
        for mark in &self.0 {
            kept.push_str(text.get(done..mark.range.start).unwrap_or_default());
            let left_out = text.get(mark.range.clone()).unwrap_or_default();
            chars += left_out
                .chars()
                .filter(|char| !char.is_whitespace())
                .count();
            done = mark.range.end;
        }
        kept.push_str(text.get(done..).unwrap_or_default());
        (kept, chars)
    }

    /// Says that parts of the text are marked.
    pub(crate) fn tell(&self, text: &str, notes: &mut Vec<Note>) {
        let (_, chars) = self.without(text);
        if chars > 0 {
            notes.push(Note::UncertainText {
                chars,
                reasons: self.reasons(),
            });
        }
    }

    /// Each reason once, in the order in which they were met.
    pub(crate) fn reasons(&self) -> Vec<&'static str> {
        let mut reasons: Vec<&'static str> = Vec::new();
        for mark in &self.0 {
            if !reasons.contains(&mark.reason) {
                reasons.push(mark.reason);
            }
        }
        reasons
    }

    fn push(&mut self, range: Range<usize>, reason: &'static str) {
        let start = match self.0.last_mut() {
            Some(last) if last.reason == reason && last.range.end >= range.start => {
                last.range.end = last.range.end.max(range.end);
                return;
            }
            Some(last) => range.start.max(last.range.end),
            None => range.start,
        };
        if start < range.end {
            self.0.push(Mark {
                range: start..range.end,
                reason,
            });
        }
    }
}

/// The places where a text was changed in length, ascending and in bytes.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Edits(Vec<Edit>);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Edit {
    /// Where in the text before.
    at: usize,
    removed: usize,
    /// Where in the text after.
    out: usize,
    inserted: usize,
}

impl Edit {
    fn end(&self) -> usize {
        self.at + self.removed
    }
}

impl Edits {
    /// In place of `removed` bytes from `at` on, `inserted` bytes were written. Places ascend.
    pub(crate) fn record(&mut self, at: usize, removed: usize, inserted: usize) {
        if let Some(last) = self.0.last_mut()
            && last.end() == at
            && last.inserted == 0
            && inserted == 0
        {
            last.removed += removed;
            return;
        }
        let out = self.0.last().map_or(at, |last| {
            last.out + last.inserted + at.saturating_sub(last.end())
        });
        self.0.push(Edit {
            at,
            removed,
            out,
            inserted,
        });
    }

    /// Where a run begins that began at `place`: behind what was inserted there.
    fn start(&self, place: usize) -> usize {
        let before = self.0.partition_point(|edit| edit.at <= place);
        match before.checked_sub(1).and_then(|last| self.0.get(last)) {
            Some(edit) if place < edit.end() => edit.out,
            Some(edit) => edit.out + edit.inserted + (place - edit.end()),
            None => place,
        }
    }

    /// Where a run ends that ended at `place`: before what was inserted there.
    fn end(&self, place: usize) -> usize {
        let before = self.0.partition_point(|edit| edit.at < place);
        match before.checked_sub(1).and_then(|last| self.0.get(last)) {
            Some(edit) => edit.out + edit.inserted + place.saturating_sub(edit.end()),
            None => place,
        }
    }
}

/// Bytes and code points of one text, looked up in ascending order in one pass.
struct CodePointPositions<'a> {
    rest: &'a str,
    byte: usize,
    char: usize,
}

impl<'a> CodePointPositions<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            rest: text,
            byte: 0,
            char: 0,
        }
    }

    fn byte_of(&mut self, char: usize) -> usize {
        let more = char.saturating_sub(self.char);
        let skipped = self.rest.char_indices().nth(more);
        let bytes = skipped.map_or(self.rest.len(), |(at, _)| at);
        self.skip(bytes);
        self.byte
    }

    fn char_of(&mut self, byte: usize) -> usize {
        self.skip(byte.saturating_sub(self.byte));
        self.char
    }

    fn skip(&mut self, bytes: usize) {
        let (before, after) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.byte += before.len();
        self.char += before.chars().count();
        self.rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(start: usize, end: usize, reason: &'static str) -> UncertainRun {
        UncertainRun { start, end, reason }
    }

    #[test]
    fn runs_are_counted_in_code_points() {
        let text = "äöü 𝄞ab  c";
        let runs = [run(1, 3, "a"), run(4, 5, "b"), run(6, 9, "b")];
        let marks = Marks::from_runs(text, &runs);
        assert_eq!(
            marks.runs(text),
            [run(1, 3, "a"), run(4, 5, "b"), run(6, 7, "b")]
        );
        assert_eq!(marks.without(text), ("ä ac".to_owned(), 4));
        assert_eq!(marks.reasons(), ["a", "b"]);
        assert_eq!(
            Marks::from_runs(text, &[run(8, 99, "x")]).runs(text),
            [run(9, 10, "x")]
        );
    }

    #[test]
    fn marks_move_with_what_is_removed_and_inserted() {
        // "ab|cd|ef" becomes "ab" + "XYZ" in place of "c", and "d" "f": "e" is gone.
        let mut edits = Edits::default();
        edits.record(2, 1, 3);
        edits.record(4, 1, 0);
        let marks = Marks(vec![Mark {
            range: 2..4,
            reason: "a",
        }]);
        assert_eq!(marks.after(&edits).0[0].range, 2..6);
        for (before, after) in [
            (0..2, Some(0..2)),
            (3..4, Some(5..6)),
            (4..5, None),
            (5..6, Some(6..7)),
        ] {
            let marks = Marks(vec![Mark {
                range: before,
                reason: "a",
            }]);
            let found = marks.after(&edits).0.first().map(|mark| mark.range.clone());
            assert_eq!(found, after);
        }
        let mut inserted = Edits::default();
        inserted.record(2, 0, 1);
        let marks = Marks(vec![Mark {
            range: 0..2,
            reason: "a",
        }]);
        assert_eq!(marks.after(&inserted).0[0].range, 0..2);
    }

    #[test]
    fn slice_keeps_only_its_marks() {
        let text = "one two three";
        let marks = Marks::from_runs(text, &[run(0, 3, "a"), run(8, 13, "b")]);
        assert_eq!(
            marks.within(2..10).runs("e two th"),
            [run(0, 1, "a"), run(6, 8, "b")]
        );
        let mut all = Marks::default();
        all.append(4, &marks);
        assert_eq!(all.runs("....one two three")[0], run(4, 7, "a"));
    }
}
