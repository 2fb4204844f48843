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
    /// Characters left out because a reader of the document would not see them.
    pub hidden: usize,
    /// Characters that are in `text` though a reader would not see them, where nothing tells them apart. The text
    /// under a scanned page is not among them: it says what the picture shows.
    pub invisible: usize,
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
