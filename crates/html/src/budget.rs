//! How much a page may cost: a measure of work that replaces a clock.

use std::cell::Cell;

/// Elements that selectors may look at, about; some tenths of a second at most.
const MAX_WORK: usize = 4_000_000;
/// Bytes of values that cost as much as one element.
const BYTES_PER_ELEMENT: usize = 16;

/// INVARIANT: what was not judged within the budget is uncertain.
#[derive(Default)]
pub(crate) struct Budget(Cell<usize>);

impl Budget {
    pub(crate) fn look_at(&self, elements: usize) {
        self.0.set(self.0.get().saturating_add(elements));
    }

    /// Reads a text of so many bytes.
    pub(crate) fn spend(&self, bytes: usize) {
        self.look_at(4 + bytes / BYTES_PER_ELEMENT);
    }

    /// Nothing more can be judged.
    pub(crate) fn exhaust(&self) {
        self.look_at(usize::MAX);
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.0.get() > MAX_WORK
    }
}
