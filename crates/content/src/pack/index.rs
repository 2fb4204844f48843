//! Where the lines of earlier texts stand, to be found by what a quote of them reads.

use std::collections::{HashMap, HashSet};

use super::quote::{Kind, Marks, marks};

/// Places that are looked at for one quoted line.
const MOST_PLACES: usize = 8;
/// Words by which a long line is found when only its beginning is on the quoted line.
const FIRST_WORDS: usize = 3;
/// Shorter lines are hardly wrapped.
const LONG: usize = 40;

/// Lines that are remembered, of all texts together: what comes later can be no source.
const MOST_LINES: usize = 200_000;

/// A line of an earlier text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub text: usize,
    pub line: usize,
}

#[derive(Default)]
pub(super) struct Index<'a> {
    texts: Vec<Text<'a>>,
    numbers: HashSet<u32>,
    count: usize,
    /// By marks and content.
    whole: HashMap<(usize, &'a str), Vec<Place>>,
    /// By marks and first words, of long lines.
    begun: HashMap<(usize, &'a str), Vec<Place>>,
}

struct Text<'a> {
    number: u32,
    lines: Vec<Line<'a>>,
}

/// A line, and what is asked of it again and again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    pub text: &'a str,
    pub marks: Marks<'a>,
    pub kind: Kind,
    /// It may not be visible: no quote is one of it.
    is_uncertain: bool,
}

impl Line<'_> {
    /// Blanks and nothing else.
    pub(super) fn is_blank(&self) -> bool {
        !self.text.is_empty() && self.text.trim().is_empty()
    }
}

impl<'a> Index<'a> {
    /// `is_uncertain` says of each line, by its place, whether it may not be visible.
    pub(super) fn add(
        &mut self,
        number: u32,
        lines: &[&'a str],
        is_uncertain: impl Fn(usize) -> bool,
    ) {
        if !self.numbers.insert(number) {
            return;
        }
        let lines: Vec<Line<'a>> = lines
            .iter()
            .take(MOST_LINES.saturating_sub(self.count))
            .enumerate()
            .map(|(at, text)| Line {
                is_uncertain: is_uncertain(at),
                text,
                marks: marks(text),
                kind: Kind::of(text),
            })
            .collect();
        self.count += lines.len();
        let text = self.texts.len();
        for (line, read) in lines.iter().enumerate() {
            let Marks { depth, content, .. } = read.marks;
            let content = content.trim_end();
            if content.is_empty() {
                continue;
            }
            let place = Place { text, line };
            keep(self.whole.entry((depth, content)).or_default(), place);
            if content.len() > LONG
                && let Some(begin) = first_words(content)
            {
                keep(self.begun.entry((depth, begin)).or_default(), place);
            }
        }
        self.texts.push(Text { number, lines });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    pub(super) fn number(&self, place: Place) -> Option<u32> {
        self.texts.get(place.text).map(|text| text.number)
    }

    pub(super) fn line(&self, place: Place) -> Option<&Line<'a>> {
        let line = self.texts.get(place.text)?.lines.get(place.line);
        line.filter(|line| !line.is_uncertain)
    }

    /// Where lines with so many marks read so, or begin so; the youngest first.
    pub(super) fn places(&self, depth: usize, content: &str) -> Vec<Place> {
        let content = content.trim_end();
        let whole = self.whole.get(&(depth, content));
        let begun = first_words(content).and_then(|begin| self.begun.get(&(depth, begin)));
        let all = [whole, begun].into_iter().flatten();
        all.flat_map(|places| places.iter().rev().copied())
            .collect()
    }
}

/// The youngest are kept: a reply quotes what came last.
fn keep(places: &mut Vec<Place>, place: Place) {
    if places.len() >= MOST_PLACES {
        places.remove(0);
    }
    places.push(place);
}

fn first_words(content: &str) -> Option<&str> {
    let mut gaps = content.match_indices(' ');
    let end = gaps.nth(FIRST_WORDS - 1).map(|(at, _)| at);
    match end {
        Some(end) => content.get(..end),
        // A wrapped line may hold no more than these.
        None => (content.split(' ').count() == FIRST_WORDS).then_some(content),
    }
}
