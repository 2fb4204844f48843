//! The seam behind which text is taken out of attachments: formats, answers, failures.
//!
//! Formats whose parsers can crash, hang or bloat are read behind this seam, away from everything else.
//! What is text already (plain, HTML, calendars, forwarded mail) does not come here: `content` reads it.

use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;
use thiserror::Error;

use crate::Raw;

/// Takes the text out of one attachment at a time. Dropping the answer ends the work.
pub trait Extractor: Send + Sync {
    fn text<'a>(&'a self, job: ExtractJob) -> Extracting<'a>;
}

pub type Extracting<'a> =
    Pin<Box<dyn Future<Output = Result<ExtractedText, ExtractFault>> + Send + 'a>>;

/// Bytes of an attachment that are read, transfer encoding off.
pub const MOST_EXTRACT_BYTES: usize = 5 * 1024 * 1024;
/// Characters of text taken out of one.
pub const MOST_EXTRACT_CHARS: usize = 50_000;

/// What an attachment is, judged by its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Format {
    Pdf,
    Docx,
    Xlsx,
    Pptx,
    /// OpenDocument text.
    Odt,
    /// OpenDocument spreadsheet.
    Ods,
    /// OpenDocument presentation.
    Odp,
    Rtf,
    /// An archive: its list of names, never its contents.
    Zip,
}

#[derive(Clone, Debug)]
pub struct ExtractJob {
    pub format: Format,
    /// Transfer encoding already off.
    pub bytes: Bytes,
    pub max_chars: usize,
}

#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct ExtractedText {
    /// UTF-8, not shielded.
    pub text: Raw,
    /// The attachment holds more text than `max_chars`, or more pages, sheets or cells than are looked at.
    pub cut: bool,
    /// Characters left out because a reader of the document would not see them, by reason.
    pub hidden: Vec<(HidingReason, usize)>,
    /// Runs of `text` that may not be seen, in order and without overlap.
    pub uncertain: Vec<UncertainRun>,
    /// Why `text` is empty although the document was read.
    pub empty: Option<EmptyReason>,
}

impl ExtractedText {
    pub fn hidden_chars(&self) -> usize {
        let counts = self.hidden.iter().map(|(_, chars)| *chars);
        counts.fold(0, usize::saturating_add)
    }
}

/// A run of text of which it is not known whether a reader of the document sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UncertainRun {
    /// Code points from the start of the text.
    pub start: usize,
    /// The code point after the last one.
    pub end: usize,
    pub reason: HidingReason,
}

/// Uncertain runs of one text; more than these become one.
pub const MAX_UNCERTAIN_RUNS: usize = 1_000;

/// What hides text of a document, or may hide it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum HidingReason {
    /// The document says not to show it.
    Marked,
    Colour,
    TinyFont,
    ZeroSize,
    OffPage,
    Transparent,
    Clipped,
    Covered,
    NumberFormat,
    /// A format that holds under a condition.
    Conditional,
    /// A layer that is switched on and off.
    Layer,
    /// The text layer of a scanned page: a picture is shown in its place.
    ScanLayer,
    /// A property or value that is not understood.
    NotUnderstood,
}

/// Why a document that was read has no text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum EmptyReason {
    #[error("its pages are pictures without a text layer")]
    Scanned,
    #[error("its letters are drawn as shapes")]
    Outlines,
    #[error("its fonts do not tell which characters they show")]
    UnreadableFonts,
    #[error("its content could not be decoded")]
    Undecodable,
    #[error("all of its text is hidden")]
    AllHidden,
    #[error("it has no text")]
    NoText,
}

impl HidingReason {
    pub const ALL: [Self; 13] = [
        Self::Marked,
        Self::Colour,
        Self::TinyFont,
        Self::ZeroSize,
        Self::OffPage,
        Self::Transparent,
        Self::Clipped,
        Self::Covered,
        Self::NumberFormat,
        Self::Conditional,
        Self::Layer,
        Self::ScanLayer,
        Self::NotUnderstood,
    ];

    /// In the words of a warning.
    pub fn name(self) -> &'static str {
        match self {
            Self::Marked => "hidden in the document",
            Self::Colour => "colour of its background",
            Self::TinyFont => "tiny font",
            Self::ZeroSize => "zero-size box",
            Self::OffPage => "off the page",
            Self::Transparent => "transparent",
            Self::Clipped => "clipped",
            Self::Covered => "covered",
            Self::NumberFormat => "number format",
            Self::Conditional => "conditional format",
            Self::Layer => "optional layer",
            Self::ScanLayer => "text layer of a scan",
            Self::NotUnderstood => "not understood",
        }
    }
}

impl EmptyReason {
    pub const ALL: [Self; 6] = [
        Self::Scanned,
        Self::Outlines,
        Self::UnreadableFonts,
        Self::Undecodable,
        Self::AllHidden,
        Self::NoText,
    ];
}

/// Why there is no text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum ExtractFault {
    #[error("it is larger than 5 MB")]
    TooLarge,
    #[error("it is protected by a password")]
    Encrypted,
    #[error("it is damaged or not what it claims to be")]
    Malformed,
    #[error("it holds more than can be unpacked safely")]
    Bomb,
    #[error("reading it took too long")]
    TimedOut,
    #[error("its reader crashed")]
    Crashed,
    #[error("the reader could not be started")]
    Unavailable,
}

impl Format {
    pub const ALL: [Self; 9] = [
        Self::Pdf,
        Self::Docx,
        Self::Xlsx,
        Self::Pptx,
        Self::Odt,
        Self::Ods,
        Self::Odp,
        Self::Rtf,
        Self::Zip,
    ];

    /// Short, lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pdf => "pdf",
            Self::Docx => "docx",
            Self::Xlsx => "xlsx",
            Self::Pptx => "pptx",
            Self::Odt => "odt",
            Self::Ods => "ods",
            Self::Odp => "odp",
            Self::Rtf => "rtf",
            Self::Zip => "zip",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }
}
