//! The text of attachments: what is text already is read here, the rest becomes jobs for readers behind a seam.

use bytes::Bytes;
use mail::{ExtractFault, ExtractJob, ExtractedText, Fetched, Leaf, Section, UncertainText};

use crate::body::Readable;
use crate::calendar;
use crate::charset;
use crate::choose::{BodyWish, MOST_DOCUMENT, is_too_large, looked_at};
use crate::claim::{self, Family, Promise, promise};
use crate::nested::{self, Place};
use crate::note::{HiddenReason, Note};
use crate::parts::{Parts, Piece, Sought};
use crate::roles::{is_html, roles};
use crate::sniff::{Reader, sniff};
use crate::text;
use crate::transfer;
use crate::uncertain::{Marks, UncertainRun};
use crate::window::window;

/// What came of the jobs, by section.
pub type Extractions = Vec<(Section, Result<ExtractedText, ExtractFault>)>;

/// The jobs that [`crate::view()`] wants done first. None when no text of attachments is wished.
pub fn extractions(fetched: &Fetched, wish: &BodyWish) -> Vec<(Section, ExtractJob)> {
    let Some(max_chars) = wish.attachment_text else {
        return Vec::new();
    };
    let parts = Parts::new(fetched, wish);
    let roles = roles(&fetched.structure);
    let attached = looked_at(&fetched.structure, &roles, wish);
    let jobs = attached.filter_map(|leaf| {
        let piece = parts.piece(leaf).filter(|piece| !piece.is_cut())?;
        let bytes = transfer::decode(piece.bytes, &leaf.encoding);
        let Some(Reader::Format(format)) = reader(leaf, &bytes) else {
            return None;
        };
        let fits = bytes.len() <= MOST_DOCUMENT;
        fits.then(|| {
            let job = ExtractJob {
                format,
                bytes: Bytes::from(bytes),
                max_chars,
            };
            (leaf.section.clone(), job)
        })
    });
    jobs.collect()
}

/// The wish for text of attachments, and what others have read of them.
pub(crate) struct Extracts<'a> {
    pub max_chars: usize,
    /// The one attachment that is asked for by its number.
    pub only: Option<&'a Section>,
    pub done: &'a Extractions,
    pub uncertain: UncertainText,
}

/// The text of an attachment, and what of it may not be visible.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct AttachmentText {
    pub text: String,
    pub uncertain: Vec<UncertainRun>,
}

impl Extracts<'_> {
    pub(crate) fn text(
        &self,
        leaf: &Leaf,
        parts: &Parts<'_>,
        notes: &mut Vec<Note>,
    ) -> Option<AttachmentText> {
        let part = || leaf.section.clone();
        let failed = |why| Note::ExtractionFailed { part: part(), why };
        let unsupported = || Note::ExtractionUnsupported { part: part() };
        if promise(leaf) == Promise::Nothing {
            // Nobody expects words of a picture or of a signature, unless it is asked for.
            if self.only.is_some() || !is_wordless(leaf) {
                notes.push(unsupported());
            }
            return None;
        }
        if is_too_large(leaf) {
            notes.push(failed(ExtractFault::TooLarge));
            return None;
        }
        let piece = match parts.find(leaf) {
            Sought::Here(piece) => piece,
            Sought::Missing if leaf.octets == 0 => return None,
            Sought::Missing => {
                notes.push(Note::PartMissing { part: part() });
                return None;
            }
            Sought::Left => {
                notes.push(Note::ExtractionSkipped { part: part() });
                return None;
            }
        };
        let bytes = transfer::decode(piece.bytes, &leaf.encoding);
        if promise(leaf) == Promise::Document && piece.is_cut() {
            notes.push(Note::ExtractionSkipped { part: part() });
            return None;
        }
        match reader(leaf, &bytes) {
            Some(Reader::Format(_)) if bytes.len() > MOST_DOCUMENT => {
                notes.push(failed(ExtractFault::TooLarge));
                None
            }
            Some(Reader::Format(_)) => match self.done.iter().find(|(at, _)| *at == leaf.section) {
                Some((_, Ok(found))) => Some(self.received(leaf, found, notes)),
                Some((_, Err(why))) => {
                    notes.push(failed(*why));
                    None
                }
                None => {
                    notes.push(failed(ExtractFault::Unavailable));
                    None
                }
            },
            Some(reader) => Some(self.read(leaf, reader, &bytes, piece, notes)),
            None => {
                notes.push(unsupported());
                None
            }
        }
    }

    fn received(
        &self,
        leaf: &Leaf,
        found: &ExtractedText,
        notes: &mut Vec<Note>,
    ) -> AttachmentText {
        let read = Readable {
            cut: found.cut,
            ..Readable::default()
        };
        if !found.hidden.is_empty() {
            let reasons = found.hidden.iter().map(|(reason, chars)| HiddenReason {
                name: reason.name(),
                chars: *chars,
                is_ordinary: false,
            });
            notes.push(Note::HiddenText {
                chars: found.hidden_chars(),
                notable: found.hidden_chars(),
                reasons: reasons.collect(),
            });
        }
        if let Some(why) = found.empty {
            notes.push(Note::ExtractionEmpty {
                part: leaf.section.clone(),
                why,
            });
        }
        let text = String::from_utf8_lossy(found.text.bytes());
        let runs = found.uncertain.iter().map(|run| UncertainRun {
            start: run.start,
            end: run.end,
            reason: run.reason.name(),
        });
        let marks = Marks::from_runs(&text, &runs.collect::<Vec<_>>());
        let read = read.of_rendered(&text, &marks);
        self.shown(leaf, read, notes)
    }

    fn read(
        &self,
        leaf: &Leaf,
        reader: Reader,
        bytes: &[u8],
        piece: Piece<'_>,
        notes: &mut Vec<Note>,
    ) -> AttachmentText {
        if reader == Reader::Mail {
            let encoded = matches!(leaf.encoding.as_str(), "base64" | "quoted-printable");
            let place = if leaf.mime_type == "message/rfc822" && !encoded {
                Place::Numbered(&leaf.section)
            } else {
                Place::Opaque
            };
            let told = nested::tell(bytes, place, piece.whole, self.max_chars);
            notes.extend(told.notes);
            return self.shown(leaf, told.read, notes);
        }
        let decoded = charset::decode(bytes, leaf.charset.as_deref(), piece.whole);
        let blank = Readable {
            cut: piece.is_cut(),
            ..Readable::of_charset(&decoded)
        };
        let read = match reader {
            Reader::Html => {
                let read = blank.of_html(&decoded.text, piece.whole);
                Readable {
                    cut: read.cut || piece.is_cut(),
                    ..read
                }
            }
            Reader::Calendar => match calendar::summary(&decoded.text) {
                Some(summary) => Readable {
                    cut: blank.cut || summary.cut,
                    ..blank.of_text(&summary.text)
                },
                None => blank.of_plain(&decoded.text),
            },
            Reader::Plain | Reader::Mail | Reader::Format(_) => match leaf.flow {
                mail::Flow::Fixed => blank.of_plain(&decoded.text),
                flow => blank.of_plain(&text::unflow(&decoded.text, flow)),
            },
        };
        self.shown(leaf, read, notes)
    }

    /// Bounded, with everything said that a reader should know.
    fn shown(&self, leaf: &Leaf, mut read: Readable, notes: &mut Vec<Note>) -> AttachmentText {
        let part = || leaf.section.clone();
        read.findings.tell_of_part(&leaf.section, notes);
        if self.uncertain == UncertainText::Withhold && !read.uncertain.is_empty() {
            notes.extend(read.withhold());
        }
        let shown = window(&read.text, 0, self.max_chars);
        if shown.left > 0 || read.cut {
            notes.push(Note::AttachmentTruncated { part: part() });
        }
        let uncertain = read.uncertain.within(0..shown.text.len());
        uncertain.tell(shown.text, notes);
        AttachmentText {
            uncertain: uncertain.runs(shown.text),
            text: shown.text.to_owned(),
        }
    }
}

fn is_wordless(leaf: &Leaf) -> bool {
    let kind = leaf.mime_type.as_str();
    ["image/", "audio/", "video/", "font/"]
        .iter()
        .any(|main| kind.starts_with(main))
        || kind.ends_with("-signature")
}

/// Who reads it: the bytes decide. Text that says nothing of itself is taken for what it claims to be.
fn reader(leaf: &Leaf, bytes: &[u8]) -> Option<Reader> {
    let found = sniff(bytes).map(|found| (found.reader, found.family));
    let declared =
        claim::of_type(&leaf.mime_type).or_else(|| claim::of_extension(&claim::extension(leaf)?));
    match (found, declared) {
        (Some((_, Family::Text)), Some(Family::Html)) => Some(Reader::Html),
        (Some((_, Family::Text)), Some(Family::Mail)) => Some(Reader::Mail),
        (Some((_, Family::Text)), Some(Family::Calendar)) => Some(Reader::Calendar),
        (Some((reader, _)), _) => reader,
        // Text in a charset that does not look like text, or with a stray control character in it.
        (None, Some(Family::Text)) => Some(Reader::Plain),
        (None, Some(Family::Html)) => Some(Reader::Html),
        (None, Some(Family::Mail)) => Some(Reader::Mail),
        (None, _) if bytes.is_empty() => Some(Reader::Plain),
        (None, _) if is_html(leaf) => Some(Reader::Html),
        (None, _) => None,
    }
}
