//! The verdict on a run of text, and its reasons.

/// Whether a reader sees a run of text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// Nothing can hide it, and all that decides this was understood.
    Visible,
    /// Something certainly hides it.
    Hidden(Reason),
    /// Something may hide it.
    Uncertain(Reason),
}

/// Why text is hidden, or why it may be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reason {
    Display,
    Visibility,
    Transparent,
    TinyFont,
    ZeroBox,
    OffPage,
    Clipped,
    SameColor,
    /// Inside a closed `<details>`.
    Closed,
    Comment,
    /// The alternative text of a picture too small to be seen.
    Pixel,
    /// Browsers do not render what stands in such elements.
    NotRendered,
    /// Something may be painted over it.
    Covered,
    /// It is moved away from its place.
    Moved,
    /// An element whose rendering is not known.
    Element,
    /// A property whose effect is not computed.
    Property(&'static str),
    /// A style sheet that was not read.
    StyleSheet,
    /// A font that may have no shapes.
    Font,
    /// The page costs more than its budget.
    Budget,
}

impl Reason {
    /// In the words of a warning.
    pub fn name(self) -> &'static str {
        match self {
            Self::Display => "display:none",
            Self::Visibility => "visibility",
            Self::Transparent => "transparent",
            Self::TinyFont => "tiny font",
            Self::ZeroBox => "zero-size box",
            Self::OffPage => "off the page",
            Self::Clipped => "clipped",
            Self::SameColor => "colour of its background",
            Self::Closed => "closed details",
            Self::Comment => "comment",
            Self::Pixel => "text of a tracking pixel",
            Self::NotRendered => "not rendered",
            Self::Covered => "may be covered",
            Self::Moved => "moved from its place",
            Self::Element => "element not understood",
            Self::Property(name) => name,
            Self::StyleSheet => "style sheet not read",
            Self::Font => "font not known",
            Self::Budget => "style too complex to judge",
        }
    }

    /// Whether ordinary mail has such text, which no warning is due for.
    pub fn is_ordinary(self) -> bool {
        matches!(self, Self::Comment | Self::Pixel | Self::NotRendered)
    }
}
