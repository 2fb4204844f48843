//! A budget: how much of each text is shown, and where a text is cut.

use std::collections::HashMap;

use super::LEAST;
use super::fold::Piece;
use super::marker::{Shown, guard, unbroken};
use crate::shield;

/// Room below which a line is not cut in its middle.
const PARTIAL: usize = 40;

/// Characters for each text, whose sum is `most` at most. The newest, which is the last, takes what it needs as long as the
/// others keep [`LEAST`]; what is left is the others' in equal parts.
pub(super) fn shares(sizes: &[usize], most: usize) -> Vec<usize> {
    let Some((newest, older)) = sizes.split_last() else {
        return Vec::new();
    };
    let least: usize = older.iter().map(|size| LEAST.min(*size)).sum();
    let own = match most.checked_sub(least) {
        Some(room) if room >= LEAST.min(*newest) => room.min(*newest),
        // Not even that fits: everybody gets the same.
        _ => level(sizes, most).min(*newest),
    };
    let level = level(older, most - own.min(most));
    let mut all: Vec<usize> = older.iter().map(|size| level.min(*size)).collect();
    all.push(own);
    all
}

/// The largest share that all may have.
fn level(sizes: &[usize], most: usize) -> usize {
    let mut sorted = sizes.to_vec();
    sorted.sort_unstable();
    let mut room = most;
    for (done, size) in sorted.iter().enumerate() {
        let each = room / (sorted.len() - done);
        if *size > each {
            return each;
        }
        room -= size;
    }
    usize::MAX
}

/// Characters of a packed text.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Size {
    pub chars: usize,
    /// What may have to be said in its markers where others are cut.
    pub more: usize,
}

pub(super) fn size(lines: &[&str], pieces: &[Piece]) -> Size {
    let mut line = 0;
    let mut size = Size::default();
    for piece in pieces {
        let (chars, taken) = match piece {
            Piece::Line => {
                let line = lines.get(line).copied().unwrap_or_default();
                (guard(line).len() + line.chars().count(), 1)
            }
            Piece::Left(taken, marker) => {
                size.more += Shown::LONGEST;
                (marker.spelled().len(), *taken)
            }
        };
        size.chars += chars + usize::from(line > 0);
        line += taken;
    }
    size
}

/// What is shown of a packed text.
pub(super) struct Kept {
    pub text: String,
    /// Lines of the full text that are told whole.
    pub lines: usize,
    /// Characters of the full text that are told; absent where all are.
    pub shown_chars: Option<usize>,
}

/// The packed text from its beginning on, cut at the end of a line, or within a long one, where it is longer than `share`.
/// Of each text before it, `shown_lines` says how many lines are shown.
pub(super) fn cut(
    lines: &[&str],
    pieces: &[Piece],
    shown_lines: &HashMap<u32, usize>,
    share: Option<usize>,
) -> Kept {
    let mut kept = Kept {
        text: String::new(),
        lines: 0,
        shown_chars: None,
    };
    let mut chars = 0;
    let mut shown = 0;
    for piece in pieces {
        let line = lines.get(kept.lines).copied().unwrap_or_default();
        let (written, taken) = match piece {
            Piece::Line => ([guard(line), line].concat(), 1),
            Piece::Left(taken, marker) => {
                let there = shown_lines.get(&marker.number).copied();
                (marker.when(there.unwrap_or_default()).spelled(), *taken)
            }
        };
        let gap = usize::from(kept.lines > 0);
        let needed = gap + written.chars().count();
        let room = share.map(|share| share.saturating_sub(chars));
        if room.is_some_and(|room| needed > room) {
            let partial = match piece {
                Piece::Line => {
                    part_of(&written, line, room.unwrap_or_default().saturating_sub(gap))
                }
                Piece::Left(..) => None,
            };
            if let Some(partial) = partial {
                shown += gap + partial.chars().count() - guard(line).len();
                kept.text.extend(["\n"].iter().take(gap).copied());
                kept.text.push_str(partial);
            }
            kept.shown_chars = Some(shown);
            return kept;
        }
        kept.text.extend(["\n"].iter().take(gap).copied());
        kept.text.push_str(&written);
        chars += needed;
        let full = lines
            .get(kept.lines..kept.lines + taken)
            .unwrap_or_default();
        shown += gap + taken.saturating_sub(1);
        shown += full.iter().map(|line| line.chars().count()).sum::<usize>();
        kept.lines += taken;
    }
    kept
}

/// INVARIANT: what is shown of a line is as safe as the line, and is read back as its beginning.
fn part_of<'a>(written: &'a str, line: &str, room: usize) -> Option<&'a str> {
    if room < PARTIAL {
        return None;
    }
    let near = shield::cut(written, room)?;
    let word = near.rfind(' ').filter(|at| at * 2 > near.len());
    let kept = word.and_then(|at| near.get(..at)).unwrap_or(near);
    (kept.chars().count() > unbroken(line)).then_some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_is_heard_and_the_newest_most() {
        for (what, sizes, most, want) in [
            ("nothing to share", &[][..], 100, &[][..]),
            ("all fits", &[10, 20], 100, &[10, 20]),
            (
                "the newest whole",
                &[5_000, 400, 2_000],
                4_000,
                &[1_600, 400, 2_000],
            ),
            (
                "the others keep the least",
                &[5_000, 400, 9_000],
                4_000,
                &[300, 300, 3_400],
            ),
            (
                "short ones stay whole",
                &[50, 5_000, 9_000],
                1_000,
                &[50, 300, 650],
            ),
            (
                "too little for all",
                &[500, 500, 500],
                300,
                &[100, 100, 100],
            ),
            (
                "too little for all but one",
                &[500, 10, 500],
                300,
                &[145, 10, 145],
            ),
            ("nothing", &[500, 500], 0, &[0, 0]),
        ] {
            let found = shares(sizes, most);
            assert_eq!(found, want, "{what}");
            assert!(found.iter().sum::<usize>() <= most, "{what}");
        }
    }
}
