//! How much a page may cost: the measure of work that replaces a clock.

use std::cell::Cell;

/// Elements looked at while matching selectors, about; some tenths of a second at most.
const MOST: usize = 4_000_000;
/// Bytes of values that cost as much as one element.
const BYTES: usize = 16;

/// INVARIANT: what was not judged within the measure counts as hidden.
#[derive(Default)]
pub(crate) struct Work(Cell<usize>);

impl Work {
    pub(crate) fn look_at(&self, elements: usize) {
        self.0.set(self.0.get().saturating_add(elements));
    }

    /// Reading a text of so many bytes.
    pub(crate) fn spend(&self, bytes: usize) {
        self.look_at(4 + bytes / BYTES);
    }

    /// Nothing more can be judged.
    pub(crate) fn exhaust(&self) {
        self.look_at(usize::MAX);
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.0.get() > MOST
    }
}
