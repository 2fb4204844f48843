//! What an attachment is, by its first bytes; the whole of it tells more about archives.
//!
//! Nothing is unpacked here.

use mail::{Format, Leaf};

use crate::claim::{self, Family};
use crate::header;

/// What the bytes are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Nature {
    pub mime_type: &'static str,
    pub family: Family,
    /// What reads its text, if anything does.
    pub reader: Option<Reader>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reader {
    Plain,
    Html,
    Calendar,
    Mail,
    /// Behind the seam.
    Format(Format),
}

/// Bytes looked at to tell text from other things.
const MOST_LOOK: usize = 8 * 1024;

/// Bytes that readers of PDF pass over before its first line.
const MOST_BEFORE_PDF: usize = 1_024;

/// Text may quote the first line of a PDF; only a PDF goes on with comments and an object.
fn is_pdf_behind_text(bytes: &[u8]) -> bool {
    let head = bytes.get(..MOST_BEFORE_PDF).unwrap_or(bytes);
    let Some(at) = memchr::memmem::find(head, b"%PDF-") else {
        return false;
    };
    let mut rest = bytes.get(at..).unwrap_or_default();
    rest = rest.get(..MOST_BEFORE_PDF).unwrap_or(rest);
    while rest.first() == Some(&b'%') {
        let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        rest = rest.get(end.unwrap_or(rest.len())..).unwrap_or_default();
        rest = rest.trim_ascii_start();
    }
    let mut words = rest.split(u8::is_ascii_whitespace).take(3);
    let mut is_number = || {
        let word = words.next().unwrap_or_default();
        !word.is_empty() && word.iter().all(u8::is_ascii_digit)
    };
    let is_numbered = is_number() && is_number();
    is_numbered && words.next().is_some_and(|word| word.starts_with(b"obj"))
}

/// `None` when the bytes tell nothing.
pub(crate) fn sniff(bytes: &[u8]) -> Option<Nature> {
    if bytes.is_empty() {
        return None;
    }
    let look = bytes.get(..MOST_LOOK).unwrap_or(bytes);
    if look.starts_with(b"%PDF-") {
        return Some(PDF);
    }
    if look.starts_with(b"{\\rtf") {
        return Some(nature(
            "application/rtf",
            Family::Rtf,
            Some(Reader::Format(Format::Rtf)),
        ));
    }
    if look.starts_with(b"PK\x03\x04") || look.starts_with(b"PK\x05\x06") {
        return Some(archive(bytes));
    }
    if is_pdf_behind_text(bytes) {
        return Some(PDF);
    }
    if is_text(look) {
        return Some(text(look));
    }
    // Readers of PDF pass over what stands before it.
    if memchr::memmem::find(look.get(..MOST_BEFORE_PDF).unwrap_or(look), b"%PDF-").is_some() {
        return Some(PDF);
    }
    infer::get(look).and_then(|found| foreign(&found))
}

/// What an attachment claims that its bytes do not bear out: its type or the end of its name.
pub(crate) fn false_claim(leaf: &Leaf, found: Nature) -> Option<String> {
    let false_type =
        claim::of_type(&leaf.mime_type).is_some_and(|claim| !fits(found.family, claim));
    if false_type {
        return Some(leaf.mime_type.clone());
    }
    let end = claim::extension(leaf)?;
    let claim = claim::of_extension(&end)?;
    (!fits(found.family, claim)).then(|| format!("a .{end} file"))
}

/// Whether the type needs to be said: the sender's says nothing, or something else.
pub(crate) fn is_news(leaf: &Leaf, found: Nature) -> bool {
    let Some(claim) = claim::of_type(&leaf.mime_type) else {
        return found.family != Family::Text || claim::says_nothing(&leaf.mime_type);
    };
    let same_picture = |one: &str, other: &str| {
        let plain = |kind: &str| {
            kind.replace("x-", "")
                .replace("jpg", "jpeg")
                .replace("pjpeg", "jpeg")
        };
        plain(one) == plain(other)
    };
    !fits(found.family, claim)
        || (found.family == Family::Image && !same_picture(found.mime_type, &leaf.mime_type))
}

/// Whether a file of one family may honestly claim another.
fn fits(found: Family, claim: Family) -> bool {
    use Family::{Archive, Calendar, Html, Mail, Office, Program, Rtf, Script, Text};
    found == claim
        || match found {
            Text => matches!(claim, Html | Calendar | Mail | Script),
            Html | Calendar | Mail => matches!(claim, Text | Mail),
            Script => claim == Text,
            Rtf => matches!(claim, Office | Text),
            // Office files are archives, and which archive is an Office file shows only in the whole.
            Archive => matches!(claim, Office | Program),
            Office => matches!(claim, Archive | Program),
            _ => false,
        }
}

const PDF: Nature = nature(
    "application/pdf",
    Family::Pdf,
    Some(Reader::Format(Format::Pdf)),
);

const fn nature(mime_type: &'static str, family: Family, reader: Option<Reader>) -> Nature {
    Nature {
        mime_type,
        family,
        reader,
    }
}

/// By the names that stand uncompressed in it.
fn archive(bytes: &[u8]) -> Nature {
    const OPEN: &[u8] = b"mimetypeapplication/vnd.oasis.opendocument.";
    let office =
        |format: Format, mime_type| nature(mime_type, Family::Office, Some(Reader::Format(format)));
    // OpenDocument: the first entry is called mimetype, and its content is stored as it is.
    if let Some(kind) = bytes.get(30..).and_then(|rest| rest.strip_prefix(OPEN)) {
        return if kind.starts_with(b"spreadsheet") {
            office(
                Format::Ods,
                "application/vnd.oasis.opendocument.spreadsheet",
            )
        } else if kind.starts_with(b"presentation") {
            office(
                Format::Odp,
                "application/vnd.oasis.opendocument.presentation",
            )
        } else {
            office(Format::Odt, "application/vnd.oasis.opendocument.text")
        };
    }
    let holds = |name: &[u8]| memchr::memmem::find(bytes, name).is_some();
    if holds(b"[Content_Types].xml") {
        if holds(b"word/document") {
            return office(
                Format::Docx,
                "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            );
        }
        if holds(b"xl/workbook") {
            return office(
                Format::Xlsx,
                "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            );
        }
        if holds(b"ppt/presentation") {
            return office(
                Format::Pptx,
                "application/vnd.openxmlformats-officedocument.presentationml.presentation",
            );
        }
    }
    nature(
        "application/zip",
        Family::Archive,
        Some(Reader::Format(Format::Zip)),
    )
}

/// No control characters but those of text. Bytes above ASCII are letters in one charset or another.
fn is_text(look: &[u8]) -> bool {
    let wide = look.starts_with(b"\xFF\xFE") || look.starts_with(b"\xFE\xFF");
    let odd = |byte: &u8| matches!(byte, 0..=8 | 11 | 14..=26 | 28..=31 | 127);
    wide || !look.iter().any(odd)
}

fn text(look: &[u8]) -> Nature {
    let plain = look.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(look);
    let plain = plain.trim_ascii_start();
    let begins = |start: &str| {
        plain
            .get(..start.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(start.as_bytes()))
    };
    const HTML: [&str; 9] = [
        "<!doctype html",
        "<html",
        "<head",
        "<body",
        "<script",
        "<table",
        "<div",
        "<meta",
        "<style",
    ];
    if begins("#!") {
        return nature("text/x-shellscript", Family::Script, Some(Reader::Plain));
    }
    if HTML.iter().any(|start| begins(start)) {
        return nature("text/html", Family::Html, Some(Reader::Html));
    }
    if begins("BEGIN:VCALENDAR") {
        return nature("text/calendar", Family::Calendar, Some(Reader::Calendar));
    }
    if is_mail(plain) {
        return nature("message/rfc822", Family::Mail, Some(Reader::Mail));
    }
    if begins("<?xml") || begins("<svg") {
        return nature("text/xml", Family::Text, Some(Reader::Plain));
    }
    nature("text/plain", Family::Text, Some(Reader::Plain))
}

/// At least two header fields that mail has, at the very beginning.
fn is_mail(text: &[u8]) -> bool {
    const FIELDS: [&str; 10] = [
        "from",
        "to",
        "subject",
        "date",
        "received",
        "message-id",
        "mime-version",
        "return-path",
        "content-type",
        "delivered-to",
    ];
    let first_line_is_a_field = header::fields(text)
        .next()
        .is_some_and(|field| text.starts_with(field.name));
    let known = header::fields(text)
        .take(40)
        .filter(|field| FIELDS.iter().any(|name| field.is(name)));
    first_line_is_a_field && known.take(2).count() == 2
}

fn foreign(found: &infer::Type) -> Option<Nature> {
    use infer::MatcherType;
    let mime_type = found.mime_type();
    let family = match found.matcher_type() {
        MatcherType::App if mime_type == "application/x-x509-ca-cert" => return None,
        MatcherType::App => Family::Program,
        MatcherType::Archive => claim::of_type(mime_type).unwrap_or(Family::Archive),
        MatcherType::Audio | MatcherType::Video => Family::Media,
        MatcherType::Book | MatcherType::Doc => Family::Office,
        MatcherType::Font => Family::Font,
        MatcherType::Image => Family::Image,
        MatcherType::Text | MatcherType::Custom => return None,
    };
    Some(nature(mime_type, family, None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mail::{Flow, Raw, Section};
    use proptest::prelude::*;

    fn leaf(mime_type: &str, name: &str) -> Leaf {
        Leaf {
            section: Section::parse("2").unwrap(),
            mime_type: mime_type.to_owned(),
            charset: None,
            encoding: "7bit".to_owned(),
            octets: 1,
            disposition: None,
            filename: (!name.is_empty()).then(|| Raw::copied(name.as_bytes())),
            content_id: None,
            flow: Flow::Fixed,
        }
    }

    const OOXML: &[u8] =
        b"PK\x03\x04\x14\0\x06\0\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x13\0\0\0[Content_Types].xml....PK\x03\x04...word/document.xml";
    const ODS: &[u8] =
        b"PK\x03\x04\x14\0\0\x08\0\0\0\0\0\0\0\0\0\0.\0\0\0.\0\0\0\x08\0\0\0mimetypeapplication/vnd.oasis.opendocument.spreadsheet";
    const EXE: &[u8] = b"MZ\x90\0\x03\0\0\0\x04\0\0\0\xFF\xFF\0\0";
    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

    #[test]
    fn bytes_tell_what_they_are() {
        for (bytes, want) in [
            (&b"%PDF-1.7\n"[..], "application/pdf"),
            (b"\0junk\n%PDF-1.4", "application/pdf"),
            (
                b"Content-Type: application/pdf\n\n%PDF-1.4\n%\xE2\xE3\n1 0 obj\n<<>>\nendobj",
                "application/pdf",
            ),
            (b"A file begins with\n%PDF-1.4\nand so on", "text/plain"),
            (b"{\\rtf1\\ansi", "application/rtf"),
            (
                OOXML,
                "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            ),
            (ODS, "application/vnd.oasis.opendocument.spreadsheet"),
            (b"PK\x03\x04rest of a zip", "application/zip"),
            (b"\xEF\xBB\xBF <!DOCTYPE HTML><p>", "text/html"),
            (b"BEGIN:VCALENDAR\r\n", "text/calendar"),
            (b"From: a@b\nSubject: x\n\nhi", "message/rfc822"),
            (b"Dear all,\nFrom: me\nTo: you", "text/plain"),
            (b"#!/bin/sh\nrm", "text/x-shellscript"),
            (b"MZ is how this text begins, BM", "text/plain"),
            (b"f\xfcr", "text/plain"),
            (b"\xFF\xFEh\0i\0", "text/plain"),
            (EXE, "application/vnd.microsoft.portable-executable"),
            (PNG, "image/png"),
        ] {
            assert_eq!(
                sniff(bytes).map(|found| found.mime_type),
                Some(want),
                "{bytes:?}"
            );
        }
        assert_eq!(sniff(b""), None);
        assert_eq!(sniff(b"\x01\x02\x03"), None);
    }

    #[test]
    fn false_claims_are_noticed_and_honest_ones_are_not() {
        for (mime_type, name, bytes, want) in [
            ("application/pdf", "a.pdf", EXE, Some("application/pdf")),
            (
                "application/pdf",
                "a.pdf",
                &b"<html><script>"[..],
                Some("application/pdf"),
            ),
            ("image/png", "a.png", EXE, Some("image/png")),
            (
                "application/octet-stream",
                "a.pdf",
                EXE,
                Some("a .pdf file"),
            ),
            ("text/plain", "a.txt", b"#!/bin/sh", None),
            ("image/jpeg", "a.jpg", b"#!/bin/sh", Some("image/jpeg")),
            ("application/pdf", "a.pdf", b"%PDF-1.4", None),
            (
                "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
                "a.docx",
                b"PK\x03\x04zip",
                None,
            ),
            ("application/msword", "a.doc", b"{\\rtf1", None),
            ("application/zip", "a.zip", OOXML, None),
            ("application/octet-stream", "a.exe", EXE, None),
            ("text/csv", "a.csv", b"a,b", None),
            ("text/html", "a.html", b"plain", None),
            ("application/x-odd", "a.odd", EXE, None),
            ("image/jpeg", "a.jpg", PNG, None),
        ] {
            let found = sniff(bytes).unwrap();
            let told = false_claim(&leaf(mime_type, name), found);
            assert_eq!(told.as_deref(), want, "{mime_type} {name}");
        }
    }

    #[test]
    fn a_type_is_told_when_it_is_news() {
        for (mime_type, bytes, want) in [
            ("application/octet-stream", PNG, true),
            ("application/octet-stream", &b"text"[..], true),
            ("image/png", PNG, false),
            ("image/x-png", PNG, false),
            ("image/jpeg", PNG, true),
            ("application/pgp-signature", b"-----BEGIN", false),
            ("text/csv", b"a,b", false),
            ("application/pdf", EXE, true),
        ] {
            let found = sniff(bytes).unwrap();
            assert_eq!(is_news(&leaf(mime_type, ""), found), want, "{mime_type}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_fall(bytes: Vec<u8>) {
            sniff(&bytes);
        }

        #[test]
        fn no_archive_makes_it_fall(rest: Vec<u8>) {
            sniff(&[&b"PK\x03\x04"[..], &rest].concat());
        }
    }
}
