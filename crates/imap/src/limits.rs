//! What a server may make us hold.

/// Bounds on a single response. Breaking one ends the connection.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Octets of one response, literals included.
    pub response: usize,
    /// Octets of one line between literals.
    pub line: usize,
    /// Nesting of parentheses that is read; what lies deeper is passed over.
    pub depth: usize,
    /// Values in one response.
    pub values: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            response: 16 << 20,
            line: 8 << 20,
            depth: 100,
            values: 200_000,
        }
    }
}
