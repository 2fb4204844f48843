//! Flags and keywords of a message.

/// A flag as its source spells it (`\Seen`, `$Forwarded`, `project-x`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Flag(String);

impl Flag {
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Flags compare without regard to ASCII case.
    pub fn is(&self, other: &str) -> bool {
        self.0.eq_ignore_ascii_case(other)
    }
}
