//! What the shield changed, counted: for one string, for one message, for one answer.

use std::iter::Sum;
use std::ops::{Add, AddAssign};

use crate::note::Note;

/// Counts of what is not as it was sent. Line endings made uniform are not counted.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Changes {
    /// Characters that nobody sees, or that mean nothing outside one program, taken out or replaced.
    pub invisible: usize,
    /// Control tokens of chat models, broken up by one blank behind the opening bracket.
    pub markers: usize,
}

impl Changes {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Says it in the notes, where one says so already by adding to it.
    pub fn tell(self, notes: &mut Vec<Note>) {
        for (count, fresh) in [
            (self.invisible, Note::InvisibleRemoved { chars: 0 }),
            (self.markers, Note::MarkersBroken { count: 0 }),
        ] {
            if count == 0 {
                continue;
            }
            if !notes.iter().any(|note| note.code() == fresh.code()) {
                notes.push(fresh.clone());
            }
            let said = notes.iter_mut().find(|note| note.code() == fresh.code());
            if let Some(
                Note::InvisibleRemoved { chars: sum } | Note::MarkersBroken { count: sum },
            ) = said
            {
                *sum += count;
            }
        }
    }

    /// What the notes say.
    pub(crate) fn told(notes: &[Note]) -> Self {
        let mut sum = Self::default();
        for note in notes {
            match note {
                Note::InvisibleRemoved { chars } => sum.invisible += chars,
                Note::MarkersBroken { count } => sum.markers += count,
                _ => {}
            }
        }
        sum
    }
}

impl Add for Changes {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            invisible: self.invisible + other.invisible,
            markers: self.markers + other.markers,
        }
    }
}

impl AddAssign for Changes {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Changes {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Self::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_say_each_change_once() {
        let mut notes = vec![Note::MarkersBroken { count: 1 }, Note::HtmlConverted];
        let changes = Changes {
            invisible: 2,
            markers: 3,
        };
        changes.tell(&mut notes);
        assert_eq!(
            notes,
            [
                Note::MarkersBroken { count: 4 },
                Note::HtmlConverted,
                Note::InvisibleRemoved { chars: 2 },
            ]
        );
        assert_eq!(
            Changes::told(&notes),
            changes
                + Changes {
                    markers: 1,
                    ..Changes::default()
                }
        );
        assert!(!changes.is_empty() && Changes::default().is_empty());
        assert_eq!([changes, changes].into_iter().sum::<Changes>().invisible, 4);
    }
}
