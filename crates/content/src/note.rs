//! What a caller should know about a view: everything that was guessed, left out or changed.

use std::fmt;

use mail::{EmptyReason, ExtractFault, Section};

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Note {
    /// The declared charset was missing, unknown or wrong.
    CharsetGuessed {
        part: Section,
    },
    /// The text was made from HTML: there is no plain text, or none that tells the same.
    HtmlConverted,
    /// Text that a reader of the HTML would not see was left out.
    HiddenText {
        chars: usize,
        /// Of these, characters that ordinary mail does not hide.
        notable: usize,
        reasons: Vec<HiddenReason>,
    },
    /// Text that may not be visible is shown and marked.
    UncertainText {
        chars: usize,
        reasons: Vec<&'static str>,
    },
    /// Text that may not be visible was left out.
    UncertainWithheld {
        chars: usize,
        reasons: Vec<&'static str>,
    },
    /// The sanitized HTML holds text that may not be visible, and is left out with it.
    HtmlWithheld,
    /// A plain-text version of the body holds text that the version people see does not show.
    PlainDiffers {
        chars: usize,
    },
    /// The version of the body that people see shows no text.
    HtmlShowsNothing {
        pictures: usize,
    },
    /// Versions of the body that people are not shown, beside those that were compared.
    VersionsLeftOut {
        count: usize,
    },
    /// Neither text nor attachment was found, though the message is not empty.
    NothingFound,
    /// HTML nested beyond any use was left out.
    TooDeep {
        chars: usize,
    },
    /// A link whose text names another host than the one it leads to.
    LinkNamesOther {
        shown: String,
        target: String,
    },
    /// An address or host that mixes scripts, or that looks like another one.
    LookAlike {
        shown: String,
    },
    /// A display name that holds an address other than the one it stands for.
    NameHoldsAddress {
        shown: String,
        real: String,
    },
    /// An address that programs read in different ways: malformed, or with a disguised local part.
    AddressAmbiguous {
        shown: String,
    },
    /// Signed with S/MIME or OpenPGP; nothing was verified.
    Signed {
        with: &'static str,
    },
    /// Encrypted with S/MIME or OpenPGP; the text cannot be read here.
    Encrypted {
        with: &'static str,
    },
    /// `winmail.dat`: parts of the message may be inside.
    Tnef {
        part: Section,
    },
    /// A header that must stand once stands several times.
    HeaderRepeated {
        name: &'static str,
    },
    /// An attachment is not what it claims to be.
    TypeDiffers {
        part: Section,
        claimed: String,
        found: &'static str,
    },
    ExtractionFailed {
        part: Section,
        why: ExtractFault,
    },
    /// A document was read and has no text to show.
    ExtractionEmpty {
        part: Section,
        why: EmptyReason,
    },
    /// Invisible characters were taken out.
    InvisibleRemoved {
        chars: usize,
    },
    /// Control tokens of chat models were broken up by one blank each.
    MarkersBroken {
        count: usize,
    },
    BodyTruncated,
    /// The text ends before the offset that was asked for.
    BeyondEnd {
        chars: usize,
    },
    HtmlTruncated,
    /// HTML was wished for and there is none.
    NoHtml,
    /// There are more texts, or larger ones, than one view takes.
    PartsLeftOut {
        count: usize,
    },
    /// Signed with S/MIME in a way that wraps the message itself.
    Sealed {
        part: Section,
    },
    HeadersTruncated,
    /// The source described only the first or outer parts.
    StructureCut,
    /// A part that should have been shown did not come.
    PartMissing {
        part: Section,
    },
    /// There are more attachments than are listed.
    MoreAttachments {
        unlisted: usize,
    },
    AttachmentTruncated {
        part: Section,
    },
    /// The message holds more text than one view takes.
    ExtractionSkipped {
        part: Section,
    },
    /// No text can be taken out of this kind of attachment.
    ExtractionUnsupported {
        part: Section,
    },
}

/// One reason for which text of a page is hidden.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HiddenReason {
    pub name: &'static str,
    pub chars: usize,
    /// Ordinary mail has it: comments, scripts, tracking pixels.
    pub is_ordinary: bool,
}

impl Note {
    /// The structured answer says it; a warning would only distract.
    pub fn is_ordinary(&self) -> bool {
        match self {
            Self::HtmlConverted => true,
            Self::HiddenText { notable, .. } => *notable == 0,
            _ => false,
        }
    }

    /// It counts something, so that two of it make one.
    pub(crate) fn is_count(&self) -> bool {
        self.clone().absorb(self)
    }

    /// Adds a note that counts the same thing, and says whether it did.
    pub(crate) fn absorb(&mut self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::HiddenText {
                    chars,
                    notable,
                    reasons,
                },
                Self::HiddenText {
                    chars: more,
                    notable: more_notable,
                    reasons: others,
                },
            ) => {
                *chars += more;
                *notable += more_notable;
                for other in others {
                    match reasons.iter_mut().find(|known| known.name == other.name) {
                        Some(known) => known.chars += other.chars,
                        None => reasons.push(*other),
                    }
                }
            }
            (
                Self::UncertainText { chars, reasons },
                Self::UncertainText {
                    chars: more,
                    reasons: others,
                },
            )
            | (
                Self::UncertainWithheld { chars, reasons },
                Self::UncertainWithheld {
                    chars: more,
                    reasons: others,
                },
            ) => {
                *chars += more;
                for other in others {
                    if !reasons.contains(other) {
                        reasons.push(other);
                    }
                }
            }
            (Self::TooDeep { chars }, Self::TooDeep { chars: more })
            | (Self::PlainDiffers { chars }, Self::PlainDiffers { chars: more })
            | (Self::InvisibleRemoved { chars }, Self::InvisibleRemoved { chars: more }) => {
                *chars += more;
            }
            (Self::MarkersBroken { count }, Self::MarkersBroken { count: more })
            | (Self::VersionsLeftOut { count }, Self::VersionsLeftOut { count: more })
            | (
                Self::HtmlShowsNothing { pictures: count },
                Self::HtmlShowsNothing { pictures: more },
            ) => *count += more,
            _ => return false,
        }
        true
    }

    /// The words of the mail that it is about: shielded and bounded, but a stranger's.
    pub fn quote(&self) -> Option<String> {
        match self {
            Self::LinkNamesOther { shown, target } => Some(format!("{shown} -> {target}")),
            Self::LookAlike { shown } | Self::AddressAmbiguous { shown } => Some(shown.clone()),
            Self::NameHoldsAddress { shown, real } => Some(format!("{shown} -> {real}")),
            Self::TypeDiffers { claimed, .. } => Some(claimed.clone()),
            _ => None,
        }
    }

    /// The name on the wire.
    pub fn code(&self) -> &'static str {
        match self {
            Self::CharsetGuessed { .. } => "charset_guessed",
            Self::HtmlConverted => "html_converted",
            Self::HiddenText { .. } => "hidden_text_left_out",
            Self::PlainDiffers { .. } => "plain_text_differs",
            Self::HtmlShowsNothing { .. } => "html_shows_no_text",
            Self::VersionsLeftOut { .. } => "versions_left_out",
            Self::NothingFound => "nothing_found",
            Self::TooDeep { .. } => "nested_too_deeply",
            Self::UncertainText { .. } => "uncertain_text",
            Self::UncertainWithheld { .. } => "uncertain_text_left_out",
            Self::HtmlWithheld => "html_left_out",
            Self::LinkNamesOther { .. } => "link_names_other_host",
            Self::LookAlike { .. } => "look_alike",
            Self::NameHoldsAddress { .. } => "name_holds_other_address",
            Self::AddressAmbiguous { .. } => "address_ambiguous",
            Self::Signed { .. } => "signed",
            Self::Encrypted { .. } => "encrypted",
            Self::Tnef { .. } => "tnef",
            Self::HeaderRepeated { .. } => "header_repeated",
            Self::TypeDiffers { .. } => "attachment_type_differs",
            Self::ExtractionFailed { .. } => "extraction_failed",
            Self::ExtractionEmpty { .. } => "extraction_empty",
            Self::InvisibleRemoved { .. } => "invisible_characters_removed",
            Self::MarkersBroken { .. } => "chat_markers_broken",
            Self::BodyTruncated => "body_truncated",
            Self::BeyondEnd { .. } => "beyond_end",
            Self::NoHtml => "no_html",
            Self::PartsLeftOut { .. } => "parts_left_out",
            Self::Sealed { .. } => "signed_inside",
            Self::HtmlTruncated => "html_truncated",
            Self::HeadersTruncated => "headers_truncated",
            Self::StructureCut => "structure_cut",
            Self::PartMissing { .. } => "part_missing",
            Self::MoreAttachments { .. } => "more_attachments",
            Self::AttachmentTruncated { .. } => "attachment_text_truncated",
            Self::ExtractionSkipped { .. } => "extraction_skipped",
            Self::ExtractionUnsupported { .. } => "extraction_unsupported",
        }
    }
}

/// INVARIANT: our words alone, for they are shown where no mark sets off a stranger's; those are in the quote.
impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CharsetGuessed { part } => {
                write!(
                    f,
                    "the charset of part {part} was guessed; some characters may be wrong"
                )
            }
            Self::HtmlConverted => f.write_str("the text was made from HTML"),
            Self::HiddenText {
                notable, reasons, ..
            } => {
                let unusual = reasons.iter().filter(|reason| !reason.is_ordinary);
                let names: Vec<&str> = unusual.map(|reason| reason.name).collect();
                let names = names.join(", ");
                write!(f, "{notable} characters of hidden text were left out ({names})")
            }
            Self::UncertainText { chars, reasons } => {
                let reasons = reasons.join(", ");
                write!(
                    f,
                    "{chars} characters may not be visible to a person ({reasons}); they are marked"
                )
            }
            Self::UncertainWithheld { chars, reasons } => {
                let reasons = reasons.join(", ");
                write!(
                    f,
                    "{chars} characters that may not be visible to a person were left out ({reasons})"
                )
            }
            Self::HtmlWithheld => f.write_str(
                "the HTML is left out: it holds text that may not be visible to a person",
            ),
            Self::PlainDiffers { chars } => write!(
                f,
                "the plain-text version holds {chars} characters that the version people see does not \
                 show; they are not delivered"
            ),
            Self::HtmlShowsNothing { pictures: 0 } => {
                f.write_str("the HTML that people see shows no text")
            }
            Self::HtmlShowsNothing { pictures } => write!(
                f,
                "the HTML that people see shows no text, only pictures ({pictures}), whose words cannot \
                 be read here"
            ),
            Self::VersionsLeftOut { count } => write!(
                f,
                "{count} other versions of the text are left out: mail programs show the last one that \
                 they can render"
            ),
            Self::NothingFound => f.write_str(
                "no text and no attachment was found in this message, which is not empty: its parts may be \
                 damaged, and only its source shows what it holds",
            ),
            Self::TooDeep { chars } => {
                write!(f, "{chars} characters nested too deeply were left out")
            }
            Self::LinkNamesOther { .. } => {
                f.write_str("the text of a link names another host than the one it leads to")
            }
            Self::LookAlike { .. } => {
                f.write_str("an address or host mixes scripts or imitates other letters")
            }
            Self::NameHoldsAddress { .. } => {
                f.write_str("a name holds another address than the one it stands for")
            }
            Self::AddressAmbiguous { .. } => {
                f.write_str("an address is written so that programs read it in different ways")
            }
            Self::Signed { with } => write!(f, "signed with {with}; the signature was not checked"),
            Self::Encrypted { with } => {
                write!(f, "encrypted with {with}; it cannot be read here")
            }
            Self::Tnef { part } => write!(
                f,
                "part {part} is a winmail.dat (TNEF); what it holds is not shown"
            ),
            Self::HeaderRepeated { name } => write!(
                f,
                "there is more than one {name} header; other programs may show another one"
            ),
            Self::TypeDiffers { part, found, .. } => write!(
                f,
                "attachment {part} is {found}, which is not what it claims to be"
            ),
            Self::ExtractionEmpty { part, why } => {
                write!(f, "attachment {part} gave no text: {why}")
            }
            Self::ExtractionFailed { part, why } => {
                write!(f, "no text was extracted from attachment {part}: {why}")
            }
            Self::InvisibleRemoved { chars } => {
                write!(f, "{chars} invisible characters were removed")
            }
            Self::MarkersBroken { count } => {
                write!(f, "{count} forged chat markers were broken up")
            }
            Self::BodyTruncated => f.write_str("the text is longer than what is shown"),
            Self::BeyondEnd { chars } => {
                write!(f, "the text has only {chars} characters; nothing follows")
            }
            Self::NoHtml => f.write_str("the message holds no HTML"),
            Self::PartsLeftOut { count } => write!(
                f,
                "{count} more text parts are not shown: the message has too many or too large ones"
            ),
            Self::Sealed { part } => write!(
                f,
                "part {part} is an S/MIME message that holds its text inside the signature; it is not shown"
            ),
            Self::HtmlTruncated => f.write_str("the HTML is longer than what is shown"),
            Self::HeadersTruncated => f.write_str("not all headers are shown"),
            Self::StructureCut => {
                f.write_str("the message has more parts, or deeper ones, than were looked at")
            }
            Self::PartMissing { part } => {
                write!(f, "part {part} could not be fetched and is missing")
            }
            Self::MoreAttachments { unlisted } => {
                write!(f, "{unlisted} more attachments are not listed")
            }
            Self::AttachmentTruncated { part } => {
                write!(
                    f,
                    "the text of attachment {part} is longer than what is shown"
                )
            }
            Self::ExtractionSkipped { part } => write!(
                f,
                "no text was extracted from attachment {part}: the message holds too much text"
            ),
            Self::ExtractionUnsupported { part } => write!(
                f,
                "no text was extracted from attachment {part}: it is of a kind that is not read"
            ),
        }
    }
}
