//! What stands behind a bad line, and what that tells about it: whether something is missing, was put in, or was moved.

use super::days::{Days, Read, Spot};
use super::fault::Cause;
use super::lines::Piece;
use crate::event::DAY_OPENED;
use crate::{DayFile, Hash, Line};

/// A whole record, without its text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Whole {
    pub(super) seq: u64,
    pub(super) prev: Hash,
    pub(super) hash: Hash,
    pub(super) event: String,
    /// How many files behind the one that was asked about.
    pub(super) files_on: usize,
}

impl Whole {
    pub(super) fn of(line: &Line<'_>) -> Self {
        Self {
            seq: line.seq,
            prev: line.prev,
            hash: line.hash,
            event: line.event.to_owned(),
            files_on: 0,
        }
    }

    /// Whether it opens the very file that was asked about.
    pub(super) fn opens_same_file(&self) -> bool {
        self.files_on == 0 && self.event == DAY_OPENED
    }
}

/// The two records behind a line, as long as they are whole. Reads the file once more: there is one bad line in a run.
pub(super) fn after(files: &[DayFile], spot: Spot) -> [Option<Whole>; 2] {
    let mut days = Days::new(files.get(spot.file..).unwrap_or_default().to_vec());
    let mut found = [None, None];
    let mut left = found.iter_mut();
    let mut here = Spot { file: 0, line: 0 };
    let mut begun = false;
    while let Some(read) = days.advance() {
        let record = match read {
            Read::Day(_) => {
                here.file += usize::from(begun);
                (here.line, begun) = (0, true);
                continue;
            }
            Read::Unreadable(_) => break,
            Read::Piece(piece) => {
                here.line += 1;
                if here.file == 0 && here.line <= spot.line {
                    continue;
                }
                whole(piece)
            }
        };
        match (left.next(), record) {
            (Some(place), Some(record)) => {
                *place = Some(Whole {
                    files_on: here.file,
                    ..record
                });
            }
            _ => break,
        }
    }
    found
}

fn whole(piece: Piece<'_>) -> Option<Whole> {
    let Piece::Line(line) = piece else {
        return None;
    };
    let line = Line::parse(line).ok().filter(Line::is_whole)?;
    Some(Whole::of(&line))
}

/// Where the chain stands: the record that is expected, and the hash of the one before it.
#[derive(Clone, Copy)]
pub(super) struct Chain {
    pub(super) next: u64,
    pub(super) head: Hash,
}

impl Chain {
    fn is_followed_by(&self, record: &Option<Whole>) -> bool {
        record
            .as_ref()
            .is_some_and(|record| record.seq == self.next && record.prev == self.head)
    }

    /// Why a line that is no whole record stands here.
    pub(super) fn cause_of_broken(&self, after: &[Option<Whole>; 2]) -> Cause {
        match self.is_followed_by(&after[0]) {
            true => Cause::Inserted,
            false => Cause::Changed,
        }
    }

    /// Why a whole record stands here that does not have the expected number.
    pub(super) fn cause_of_other(&self, found: &Whole, after: &[Option<Whole>; 2]) -> Cause {
        let [first, second] = after;
        if found.hash == self.head {
            return Cause::Twice;
        }
        if self.is_followed_by(first) {
            let linked = first.as_ref().is_some_and(|one| one.hash == found.prev);
            let again = second.as_ref().is_some_and(|one| one.seq == found.seq);
            return match linked && !again {
                true => Cause::OutOfOrder,
                false => Cause::Inserted,
            };
        }
        match found.seq > self.next {
            true => Cause::Missing(found.seq),
            false => Cause::Twice,
        }
    }
}
