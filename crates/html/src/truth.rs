//! Three-valued logic (Kleene): what holds, what does not, and what cannot be told.

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Truth {
    No,
    Unknown,
    Yes,
}

impl Truth {
    pub(crate) fn of(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }

    pub(crate) fn not(self) -> Self {
        match self {
            Self::Yes => Self::No,
            Self::No => Self::Yes,
            Self::Unknown => Self::Unknown,
        }
    }

    pub(crate) fn and(self, other: Self) -> Self {
        self.min(other)
    }

    pub(crate) fn or(self, other: Self) -> Self {
        self.max(other)
    }

    /// It holds, or it may.
    pub(crate) fn may(self) -> bool {
        self != Self::No
    }

    pub(crate) fn is_certain(self) -> bool {
        self == Self::Yes
    }
}
