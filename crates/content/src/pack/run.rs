//! A run: consecutive lines of a text that quote consecutive lines of an earlier one, all in the same manner.

use super::index::{Index, Line, Place};
use super::quote::{Manner, Prefix, Style};

/// A longer line of an earlier text is not looked for in wrapped form.
const MOST_WRAPPED: usize = 64;
/// Characters of a word that are counted.
const MOST_WORD: usize = 2_000;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Run {
    pub place: Place,
    pub manner: Manner,
    /// For each line of the earlier text, how many lines of this one it and those before it take.
    pub ends: Vec<usize>,
}

impl Run {
    pub(super) fn lines(&self) -> usize {
        self.ends.last().copied().unwrap_or_default()
    }

    /// How many lines of the earlier text are left when the last paragraph stays, or its last lines.
    pub(super) fn without_context(&self, most: usize, is_blank: impl Fn(usize) -> bool) -> usize {
        let begin = |line: usize| match line.checked_sub(1) {
            Some(before) => self.ends.get(before).copied().unwrap_or_default(),
            None => 0,
        };
        let mut count = self.ends.len();
        while count > 0 && is_blank(begin(count - 1)) {
            count -= 1;
        }
        let end = count;
        while count > 0 && end - count < most && !is_blank(begin(count - 1)) {
            count -= 1;
        }
        count
    }
}

/// INVARIANT: comparing ends, whatever two texts have in common: what is not found by then stays.
pub(super) struct Work(usize);

impl Work {
    /// A line is compared two or three times, where nobody means harm.
    pub(super) fn of(lines: &[&str]) -> Self {
        let once: usize = lines.iter().map(|line| Self::cost(line)).sum();
        Self(20 * once + 10_000)
    }

    fn spend(&mut self, line: &str) -> Option<()> {
        self.0 = self.0.checked_sub(Self::cost(line))?;
        Some(())
    }

    fn cost(line: &str) -> usize {
        1 + line.len() / 64
    }
}

/// From the line at `at` on, as many lines as quote those from `place` on in one of these styles.
pub(super) fn extend(
    lines: &[&str],
    at: usize,
    index: &Index<'_>,
    place: Place,
    times: usize,
    styles: &[Style],
    work: &mut Work,
) -> Option<Run> {
    let mut alive: Vec<Style> = styles.to_vec();
    let mut ends = Vec::new();
    let mut width = Width::default();
    let mut taken = 0;
    let mut trim = false;
    let sources = (place.line..).map_while(|line| index.line(Place { line, ..place }));
    for source in sources {
        let rest = lines.get(at + taken..).unwrap_or_default();
        let Some(found) = step(rest, source, times, &alive, width, work) else {
            break;
        };
        alive.retain(|style| manner(*style, times).prefix(source.kind) == found.prefix);
        width = found.width;
        trim |= found.trimmed;
        taken += found.lines;
        ends.push(taken);
    }
    let style = *alive.first()?;
    let wrap = (width.below < usize::MAX).then_some(width.least);
    let run = Run {
        place,
        manner: Manner {
            wrap,
            trim,
            ..manner(style, times)
        },
        ends,
    };
    (run.lines() > 0).then_some(run)
}

fn manner(style: Style, times: usize) -> Manner {
    Manner {
        style,
        times,
        wrap: None,
        trim: false,
    }
}

/// What is known of the width at which lines were wrapped: at least, and less than.
#[derive(Clone, Copy, Debug)]
struct Width {
    least: usize,
    below: usize,
}

impl Default for Width {
    fn default() -> Self {
        Self {
            least: 0,
            below: usize::MAX,
        }
    }
}

impl Width {
    fn holds(&mut self, before: usize, content: &str) {
        // A word alone may be longer than any width.
        if content.contains(' ') {
            self.least = self.least.max(before + content.chars().count());
        }
    }

    fn ends(&mut self, before: usize, content: &str, rest: &str) {
        let word = rest.chars().take(MOST_WORD).take_while(|char| *char != ' ');
        let longer = before + content.chars().count() + 1 + word.count();
        self.below = self.below.min(longer);
    }

    fn checked(self) -> Option<Self> {
        (self.least < self.below).then_some(self)
    }
}

/// One line of the earlier text, found.
struct Found {
    lines: usize,
    prefix: Prefix,
    width: Width,
    /// Without the blanks at its end.
    trimmed: bool,
}

fn step(
    rest: &[&str],
    source: &Line<'_>,
    times: usize,
    alive: &[Style],
    width: Width,
    work: &mut Work,
) -> Option<Found> {
    let first = rest.first()?;
    let mut tried: Option<Prefix> = None;
    for style in alive {
        let prefix = manner(*style, times).prefix(source.kind);
        if tried.replace(prefix) == Some(prefix) {
            continue;
        }
        work.spend(first)?;
        if source.is_blank() && *first == prefix.as_str().trim_end() {
            return Some(Found {
                lines: 1,
                prefix,
                width,
                trimmed: true,
            });
        }
        let read = first.strip_prefix(prefix.as_str());
        let found = read.and_then(|read| unwrapped(read, rest, source, prefix, width, work));
        if found.is_some() {
            return found;
        }
    }
    None
}

/// The lines from the first on, which reads `read` behind its new marks, that hold the whole source
/// between them.
fn unwrapped(
    read: &str,
    rest: &[&str],
    source: &Line<'_>,
    prefix: Prefix,
    mut width: Width,
    work: &mut Work,
) -> Option<Found> {
    let marks = [prefix.as_str(), source.marks.before];
    let indent: usize = marks.iter().map(|marks| marks.len()).sum();
    let mut content = read.strip_prefix(source.marks.before)?;
    let mut left = source.marks.content;
    let mut lines = 1;
    while content != left && content != left.trim_end() {
        left = left.strip_prefix(content)?.strip_prefix(' ')?;
        width.holds(indent, content);
        width.ends(indent, content, left);
        let next = rest.get(lines).filter(|_| lines < MOST_WRAPPED)?;
        work.spend(next)?;
        let [new, old] = marks;
        content = next.strip_prefix(new)?.strip_prefix(old)?;
        lines += 1;
    }
    width.holds(indent, content);
    Some(Found {
        lines,
        prefix,
        width: width.checked()?,
        trimmed: content != left,
    })
}
