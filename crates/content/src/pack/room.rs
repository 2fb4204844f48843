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
    let mut size = Size::default();
    let mut at = 0;
    for piece in pieces {
        match piece {
            Piece::Stay(count) => {
                let stay = lines.get(at..at + count).unwrap_or_default();
                let chars = stay
                    .iter()
                    .map(|line| guard(line).len() + line.chars().count());
                // Each but the first stands behind a line break.
                size.chars += chars.sum::<usize>() + count - usize::from(at == 0);
                at += count;
            }
            Piece::Left(taken, marker) => {
                size.chars += marker.spelled().len() + usize::from(at > 0);
                size.more += Shown::LONGEST;
                at += taken;
            }
        }
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

impl Kept {
    /// One more line of the packed text, and the lines of the full text that it tells.
    fn push(&mut self, written: &str, told: &[&str]) {
        if self.lines > 0 {
            self.text.push('\n');
        }
        self.text.push_str(written);
        self.lines += told.len();
    }
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
    let mut room = share.unwrap_or(usize::MAX);
    for piece in pieces {
        let rest = lines.get(kept.lines..).unwrap_or_default();
        match piece {
            Piece::Stay(count) => {
                for line in rest.iter().take(*count) {
                    let written = [guard(line), line].concat();
                    let gap = usize::from(kept.lines > 0);
                    let needed = gap + written.chars().count();
                    if needed > room {
                        let partial = part_of(&written, line, room.saturating_sub(gap));
                        return ended(kept, lines, partial, guard(line));
                    }
                    room -= needed;
                    kept.push(&written, &[line]);
                }
            }
            Piece::Left(taken, marker) => {
                let there = shown_lines.get(&marker.number).copied();
                let written = marker.when(there.unwrap_or_default()).spelled();
                let needed = usize::from(kept.lines > 0) + written.len();
                if needed > room {
                    return ended(kept, lines, None, "");
                }
                room -= needed;
                kept.push(&written, rest.get(..*taken).unwrap_or_default());
            }
        }
    }
    kept
}

/// What is kept so far and a part of the next line, and how much of the full text that is.
fn ended(mut kept: Kept, lines: &[&str], partial: Option<&str>, guard: &str) -> Kept {
    let whole = lines.get(..kept.lines).unwrap_or_default();
    let chars: usize = whole.iter().map(|line| line.chars().count() + 1).sum();
    kept.shown_chars = Some(match partial {
        Some(partial) => {
            kept.push(partial, &[]);
            chars + partial.chars().count() - guard.len()
        }
        None => chars.saturating_sub(1),
    });
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
