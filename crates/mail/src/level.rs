//! How much of a message a caller may see.

/// Each level includes those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// Nothing: the message is invisible.
    None,
    /// It is counted.
    Count,
    /// Its uid, size and flags.
    Metadata,
    /// From, To, Subject, Date.
    Envelope,
    /// The whole header block.
    Headers,
    /// The text.
    Body,
    /// Everything, attachments and source included.
    Full,
}

impl Level {
    pub const ALL: [Self; 7] = [
        Self::None,
        Self::Count,
        Self::Metadata,
        Self::Envelope,
        Self::Headers,
        Self::Body,
        Self::Full,
    ];

    /// The name that the contract gives it.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "NONE",
            Self::Count => "COUNT",
            Self::Metadata => "METADATA",
            Self::Envelope => "ENVELOPE",
            Self::Headers => "HEADERS",
            Self::Body => "BODY",
            Self::Full => "FULL",
        }
    }
}
