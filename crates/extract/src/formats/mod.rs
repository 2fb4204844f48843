//! The formats, each in a file of its own, behind one function that runs in the child and nowhere else.

mod archive;
mod colour;
mod docx;
mod draft;
mod drawing;
mod odf;
mod odf_style;
mod package;
mod pdf;
mod pdf_guard;
mod pdf_visibility;
mod pptx;
mod relations;
mod rtf;
mod rtf_visibility;
mod sheet;
mod sheet_format;
mod sheet_style;
mod sheet_visibility;
mod slide_visibility;
mod verdict;
mod word_style;
mod xml;

#[cfg(test)]
#[path = "../../tests/it/built.rs"]
mod built;

use mail::{ExtractFault, ExtractedText, Format};

use draft::Draft;

/// Larger attachments are not looked at.
pub const MAX_BYTES: usize = mail::MOST_EXTRACT_BYTES;
/// More text than that is cut, whatever is asked for.
pub const MAX_CHARS: usize = mail::MOST_EXTRACT_CHARS;

/// The text of an attachment. Parsers of others may panic, overflow the stack or take all memory on hostile bytes:
/// for the child, tests and fuzzing only.
pub fn extract(
    format: Format,
    bytes: &[u8],
    max_chars: usize,
) -> Result<ExtractedText, ExtractFault> {
    if bytes.len() > MAX_BYTES {
        return Err(ExtractFault::TooLarge);
    }
    let mut draft = Draft::new(max_chars.min(MAX_CHARS));
    match format {
        Format::Pdf => pdf::read(bytes, &mut draft)?,
        Format::Docx => docx::read(office(bytes)?, &mut draft)?,
        Format::Pptx => pptx::read(office(bytes)?, &mut draft)?,
        Format::Xlsx => sheet::read(office(bytes)?, &mut draft)?,
        Format::Odt | Format::Odp | Format::Ods => odf::read(bytes, &mut draft)?,
        Format::Rtf => rtf::read(bytes, &mut draft)?,
        Format::Zip => archive::read(bytes, &mut draft)?,
    }
    Ok(draft.finish())
}

/// With a password, Office wraps its package into the compound file of old, which names what it holds.
fn office(bytes: &[u8]) -> Result<&[u8], ExtractFault> {
    const COMPOUND: &[u8] = &[0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1];
    if !bytes.starts_with(COMPOUND) {
        return Ok(bytes);
    }
    let name: Vec<u8> = "EncryptedPackage"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let wrapped = bytes.windows(name.len()).any(|window| window == name);
    Err(if wrapped {
        ExtractFault::Encrypted
    } else {
        ExtractFault::Malformed
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) struct Seen {
        pub(super) text: String,
        pub(super) cut: bool,
        /// Characters, for whatever reason.
        pub(super) hidden: usize,
        /// Words that are marked as uncertain.
        pub(super) uncertain: Vec<String>,
        pub(super) empty: Option<mail::EmptyReason>,
    }

    pub(super) fn seen(format: Format, bytes: &[u8]) -> Seen {
        let done = extract(format, bytes, MAX_CHARS).expect("text");
        let text = String::from_utf8(done.text.bytes().to_vec()).expect("UTF-8");
        let uncertain = done.uncertain.iter().map(|run| {
            let chars = text.chars().skip(run.start);
            chars.take(run.end - run.start).collect()
        });
        Seen {
            uncertain: uncertain.collect(),
            cut: done.cut,
            hidden: done.hidden_chars(),
            empty: done.empty,
            text,
        }
    }

    #[test]
    fn what_is_too_large_is_not_looked_at() {
        let large = vec![b'{'; MAX_BYTES + 1];
        for format in Format::ALL {
            assert_eq!(
                extract(format, &large, 10),
                Err(ExtractFault::TooLarge),
                "{format:?}"
            );
        }
    }

    #[test]
    fn what_is_nothing_of_the_kind_is_malformed() {
        for format in Format::ALL {
            for bytes in [&b""[..], b"hello", b"PK\x05\x06", b"%PDF-", b"\0\0\0\0"] {
                let found = extract(format, bytes, 10);
                assert_eq!(found, Err(ExtractFault::Malformed), "{format:?} {bytes:?}");
            }
        }
    }

    #[test]
    fn a_password_around_an_office_package_is_told_from_damage() {
        let mut wrapped = vec![0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1];
        for format in [Format::Docx, Format::Xlsx, Format::Pptx] {
            assert_eq!(extract(format, &wrapped, 10), Err(ExtractFault::Malformed));
        }
        wrapped.extend("EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes));
        for format in [Format::Docx, Format::Xlsx, Format::Pptx] {
            assert_eq!(extract(format, &wrapped, 10), Err(ExtractFault::Encrypted));
        }
    }
}
