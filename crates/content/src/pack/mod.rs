//! A conversation's texts without what was said before: quoted lines that stand in an earlier text of the same result are
//! left out, and a line says where they are.
//!
//! Nothing is lost: from the packed texts alone [`unpack`] makes the full ones again, character for character. What is
//! not found word for word in an earlier text stays: quotes of messages that are not here, forwards, and the last lines
//! before an answer that is written between quoted lines. Judges no meaning, and leaves no signature out.
//!
//! Where a budget cuts texts, each cut is told, and so is a quote of lines that were cut away: what is shown and the rests
//! of what was cut make the full texts again.

mod fold;
mod index;
mod marker;
mod quote;
mod room;
mod run;
#[cfg(test)]
mod tests;
mod unpack;

use std::collections::HashMap;

use crate::uncertain::UncertainRun;

use fold::{Piece, fold};
use index::Index;
use marker::guard;
use room::{Size, cut, shares, size};

pub use unpack::{Broken, unpack};

/// One text on its way in, under the number by which others are told of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part<'a> {
    /// Each number once; of two texts with one number, nothing is left out because of the second.
    pub number: u32,
    pub text: &'a str,
    pub end: End,
    /// What of the text may not be visible: it is neither left out nor a source of quotes.
    pub uncertain: &'a [UncertainRun],
}

/// Whether a text that is given is all of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    Here,
    /// It goes on elsewhere, and its last line may be half of one: nothing is left out because of that line.
    Elsewhere,
}

/// How much may be shown of all texts together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Room {
    All,
    /// So many characters at most. The last text is the newest, and is cut only when all others are cut to
    /// [`LEAST`] already.
    Chars(usize),
}

/// Characters that are shown of every text, or all of it, unless there is not even room for that.
pub const LEAST: usize = 300;

/// One packed text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packed {
    pub number: u32,
    /// With markers such as `[quoted: lines 5-18 of #3]`, each on a line of its own. They count the lines of full texts.
    pub text: String,
    /// What of `text` may not be visible, line by line.
    pub uncertain: Vec<UncertainRun>,
    /// Absent where it is whole.
    pub cut: Option<Cut>,
}

/// How much of a full text is told, counted in characters of the full text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cut {
    pub number: u32,
    /// What is shown, and what markers in it stand for: an offset at which to go on.
    pub shown_chars: usize,
    pub total_chars: usize,
}

/// The texts in the order of the conversation, the newest last.
pub fn pack(parts: &[Part<'_>], room: Room) -> Vec<Packed> {
    let mut index = Index::default();
    let mut folded: Vec<(Vec<Piece>, Size)> = Vec::with_capacity(parts.len());
    for part in parts {
        let lines = lines(part);
        let uncertain = part.uncertain_lines(&lines);
        let pieces = fold(&lines, &index, &uncertain);
        index.add(part.number, part.sources(&lines), |line| {
            uncertain.binary_search(&line).is_ok()
        });
        let size = size(&lines, &pieces);
        folded.push((pieces, size));
    }
    drop(index);
    fitted(parts, &folded, room)
}

/// The same with every quote where it stands.
pub fn whole(parts: &[Part<'_>], room: Room) -> Vec<Packed> {
    let unfolded = parts.iter().map(|part| {
        let lines = lines(part);
        let pieces = vec![Piece::Stay(lines.len())];
        let size = size(&lines, &pieces);
        (pieces, size)
    });
    fitted(parts, &unfolded.collect::<Vec<_>>(), room)
}

fn fitted(parts: &[Part<'_>], folded: &[(Vec<Piece>, Size)], room: Room) -> Vec<Packed> {
    let sizes = || folded.iter().map(|(_, size)| size);
    let total: usize = sizes().map(|size| size.chars).sum();
    let shares = match room {
        Room::Chars(most) if total > most => {
            let needed: Vec<usize> = sizes().map(|size| size.chars + size.more).collect();
            Some(shares(&needed, most))
        }
        _ => None,
    };
    let mut shown: HashMap<u32, usize> = HashMap::new();
    let each = parts.iter().zip(folded).enumerate();
    each.map(|(place, (part, (pieces, _)))| {
        let share = shares
            .as_ref()
            .and_then(|shares| shares.get(place).copied());
        let lines = lines(part);
        let kept = cut(&lines, pieces, &shown, share);
        shown.entry(part.number).or_insert(kept.lines);
        Packed {
            number: part.number,
            cut: kept.shown_chars.map(|shown_chars| Cut {
                number: part.number,
                shown_chars,
                total_chars: part.text.chars().count(),
            }),
            uncertain: part.carried(&lines, pieces, &kept.text),
            text: kept.text,
        }
    })
    .collect()
}

impl Part<'_> {
    /// The places of lines that hold uncertain characters.
    fn uncertain_lines(&self, lines: &[&str]) -> Vec<usize> {
        if self.uncertain.is_empty() {
            return Vec::new();
        }
        let mut runs = self.uncertain.iter().peekable();
        let mut begin = 0;
        let mut found = Vec::new();
        for (place, line) in lines.iter().enumerate() {
            let end = begin + line.chars().count();
            while runs.next_if(|run| run.end <= begin).is_some() {}
            if runs.peek().is_some_and(|run| run.start < end) {
                found.push(place);
            }
            begin = end + 1;
        }
        found
    }

    /// Where the uncertain characters stand in the packed text.
    fn carried(&self, lines: &[&str], pieces: &[Piece], packed: &str) -> Vec<UncertainRun> {
        let mut carried = Vec::new();
        if self.uncertain.is_empty() {
            return carried;
        }
        let mut packed = packed.split('\n');
        let mut lines = lines.iter();
        let mut runs = self.uncertain.iter().peekable();
        let (mut from, mut to) = (0, 0);
        for piece in pieces {
            if let Piece::Left(count, _) = piece {
                let left = lines.by_ref().take(*count);
                from += left.map(|line| line.chars().count() + 1).sum::<usize>();
                to += packed.next().map_or(0, |line| line.chars().count() + 1);
                continue;
            }
            let Piece::Stay(count) = piece else { continue };
            for line in lines.by_ref().take(*count) {
                let Some(written) = packed.next() else {
                    return carried;
                };
                let end = from + line.chars().count();
                let guard = guard(line).len();
                let written = written.chars().count();
                while runs.next_if(|run| run.end <= from).is_some() {}
                for run in runs.clone().take_while(|run| run.start < end) {
                    let place = |at: usize| to + (guard + at.clamp(from, end) - from).min(written);
                    let (start, end) = (place(run.start), place(run.end));
                    if start < end {
                        carried.push(UncertainRun { start, end, ..*run });
                    }
                }
                from = end + 1;
                to += written + 1;
            }
        }
        carried
    }

    fn sources<'l, 'a>(&self, lines: &'l [&'a str]) -> &'l [&'a str] {
        match (self.end, lines.split_last()) {
            (End::Elsewhere, Some((_, whole))) => whole,
            _ => lines,
        }
    }
}

fn lines<'a>(part: &Part<'a>) -> Vec<&'a str> {
    part.text.split('\n').collect()
}
