//! Finds the lines of a text that stand in earlier ones, and decides which of them are left out.

use super::index::{Index, Place};
use super::marker::{Marker, Shown};
use super::quote::{MOST_HTML_MARKS, MOST_TIMES, Style, marks};
use super::run::{Run, Work, extend};

/// Quoted lines before an answer that stay, so that it can be understood.
const CONTEXT: usize = 4;

/// A stretch of a text, in lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Piece {
    /// So many lines that stay.
    Stay(usize),
    /// So many lines for which a marker stands.
    Left(usize, Marker),
}

/// All lines of a text in order. Those that may not be visible stay, in ascending places.
pub(super) fn fold(lines: &[&str], index: &Index<'_>, uncertain: &[usize]) -> Vec<Piece> {
    if index.is_empty() {
        return vec![Piece::Stay(lines.len())];
    }
    let mut pieces = Vec::new();
    let mut below = Below::Own;
    let mut work = Work::of(lines);
    let mut uncertain = uncertain.iter().copied().peekable();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        below = below.at(lines, at);
        while uncertain.next_if(|place| *place < at).is_some() {}
        let certain = uncertain.peek().and_then(|place| lines.get(..*place));
        let run = match below {
            Below::Forward => None,
            _ => longest(certain.unwrap_or(lines), at, index, below, &mut work),
        };
        let Some(run) = run.filter(|_| !line.trim().is_empty()) else {
            stay(&mut pieces, 1);
            at += 1;
            continue;
        };
        let kept = folded(lines, at, &run, index);
        let left = kept.map_or(0, |(left, _)| left);
        pieces.extend(kept.map(|(left, marker)| Piece::Left(left, marker)));
        // What stays of a run is not looked at again.
        stay(&mut pieces, run.lines().saturating_sub(left));
        at += run.lines();
    }
    pieces
}

fn stay(pieces: &mut Vec<Piece>, lines: usize) {
    match pieces.last_mut() {
        Some(Piece::Stay(before)) => *before += lines,
        _ if lines > 0 => pieces.push(Piece::Stay(lines)),
        _ => {}
    }
}

/// What the text around a line is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Below {
    Own,
    /// An older message stands here as it is, under a head of its own.
    Original,
    /// Forwarded text stays.
    Forward,
}

impl Below {
    fn at(self, lines: &[&str], at: usize) -> Self {
        match self {
            Self::Forward => Self::Forward,
            _ if lines.get(at).is_some_and(|line| is_forward(line)) => Self::Forward,
            Self::Own if is_head(lines, at) => Self::Original,
            other => other,
        }
    }
}

/// What people and programs put above a message that they pass on: a ruled line, or the words with which it begins.
fn is_forward(line: &str) -> bool {
    const RULED: [&str; 8] = [
        "forwarded message",
        "forwarded by",
        "weitergeleitete nachricht",
        "message transféré",
        "mensaje reenviado",
        "messaggio inoltrato",
        "doorgestuurd bericht",
        "mensagem encaminhada",
    ];
    const BEGINS: [&str; 6] = [
        "begin forwarded message",
        "anfang der weitergeleiteten nachricht",
        "début du message réexpédié",
        "inicio del mensaje reenviado",
        "inizio messaggio inoltrato",
        "begin doorgestuurd bericht",
    ];
    if line.len() > 200 {
        return false;
    }
    let lower = line.to_lowercase();
    lower.starts_with("--") && RULED.iter().any(|words| lower.contains(words))
        || BEGINS.iter().any(|words| lower.starts_with(words))
}

/// `-----Original Message-----`, a line of underscores, or a block of header fields: in any language, because it only allows
/// to look.
fn is_head(lines: &[&str], at: usize) -> bool {
    let Some(line) = lines.get(at).map(|line| line.trim()) else {
        return false;
    };
    let ruled = line.len() < 100 && line.starts_with("-----") && line.ends_with("-----");
    if ruled && line.contains(char::is_alphabetic) {
        return true;
    }
    if line.len() >= 20 && line.bytes().all(|byte| byte == b'_') {
        return true;
    }
    let block = lines.get(at..at + 3).unwrap_or_default();
    block.len() == 3 && block.iter().all(|line| is_field(line))
}

fn is_field(line: &str) -> bool {
    let name = line
        .split_once(':')
        .map(|(name, _)| name.trim_matches(['*', ' ']));
    name.is_some_and(|name| {
        let letters = |char: char| char.is_alphabetic() || matches!(char, ' ' | '-');
        (2..=40).contains(&name.len()) && name.chars().all(letters)
    })
}

/// Of all places where the line may be quoted from, the one from which most lines are.
fn longest(
    lines: &[&str],
    at: usize,
    index: &Index<'_>,
    below: Below,
    work: &mut Work,
) -> Option<Run> {
    let read = marks(lines.get(at)?);
    let mut best: Option<Run> = None;
    let mut offer = |places: Vec<Place>, times: usize, styles: &[Style]| {
        for place in places {
            let run = extend(lines, at, index, place, times, styles, work);
            let more = |run: &Run| best.as_ref().is_none_or(|best| run.lines() > best.lines());
            if let Some(run) = run.filter(more) {
                best = Some(run);
            }
        }
    };
    if below == Below::Original {
        offer(index.places(read.depth, read.content), 1, &[Style::Same]);
    }
    for times in 1..=read.depth.min(MOST_TIMES) {
        let places = index.places(read.depth - times, read.content);
        offer(places, times, &Style::MARKED);
    }
    // Our HTML renderer puts no more marks before a line that has many.
    if read.depth >= MOST_HTML_MARKS {
        offer(index.places(read.depth, read.content), 1, &[Style::Html]);
    }
    best
}

/// How many lines of a run are left out, and the marker for them; none where that is not worth it.
fn folded(lines: &[&str], at: usize, run: &Run, index: &Index<'_>) -> Option<(usize, Marker)> {
    let style = run.manner.style;
    let count = match style != Style::Same && is_answered(lines, at + run.lines()) {
        true => run.without_context(CONTEXT, |line| {
            let line = lines.get(at + line);
            line.is_none_or(|line| marks(line).content.trim().is_empty())
        }),
        false => run.ends.len(),
    };
    let left = count.checked_sub(1).and_then(|last| run.ends.get(last))?;
    let marker = Marker {
        number: index.number(run.place)?,
        first: run.place.line,
        count,
        manner: run.manner,
        shown: Shown::All,
    };
    let taken = lines.get(at..at + left)?;
    let chars: usize = taken.iter().map(|line| line.chars().count() + 1).sum();
    let worth = chars > 2 * marker.spelled().len();
    (worth && is_exact(taken, &marker, run.place, index)).then_some((*left, marker))
}

/// Somebody's own words come next.
fn is_answered(lines: &[&str], at: usize) -> bool {
    let rest = lines.get(at..).unwrap_or_default();
    let next = rest.iter().find(|line| !line.trim().is_empty());
    next.is_some_and(|line| marks(line).depth == 0)
}

/// INVARIANT: nothing is left out that the marker does not give back, character for character.
fn is_exact(taken: &[&str], marker: &Marker, place: Place, index: &Index<'_>) -> bool {
    let mut taken = taken.iter();
    for line in (0..marker.count).map(|more| place.line + more) {
        let text = place.text;
        let Some(source) = index.line(Place { text, line }) else {
            return false;
        };
        for made in marker.manner.apply(source.text) {
            if taken.next().is_none_or(|line| **line != *made) {
                return false;
            }
        }
    }
    taken.next().is_none()
}
