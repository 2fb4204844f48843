//! Two ways to read a page, where it cannot be told which one a reader's program takes.
//!
//! INVARIANT: text is shown only when it is seen in both. Whatever depends on a condition that is not known here,
//! or on the size of the window, can thus hide text but never show it.

use crate::conditions::Window;

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct World {
    pub window: Window,
    pub doubt: Doubt,
}

/// What becomes of rules whose condition cannot be judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Doubt {
    Applies,
    Fails,
}

impl World {
    /// An upright window, and everything that may apply does.
    pub(crate) const FIRST: Self = Self {
        window: (900.0, 1200.0),
        doubt: Doubt::Applies,
    };
    /// A wide one, and only what is certain applies.
    pub(crate) const SECOND: Self = Self {
        window: (1366.0, 700.0),
        doubt: Doubt::Fails,
    };
}
