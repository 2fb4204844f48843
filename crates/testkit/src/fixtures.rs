//! Messages made by hand, one per shape that matters. Whole messages with CRLF; bulk comes from [`crate::mailgen`].

use crate::mailgen::base64_lines;
use std::fmt::Write as _;

/// One text/plain part.
pub fn plain() -> Vec<u8> {
    message(
        "Plain",
        "Content-Type: text/plain; charset=utf-8\n\nHello Alice,\n\nthis is plain text.\n\nBob\n",
    )
}

/// One text/html part, with things a reader must not see or load.
pub fn html_only() -> Vec<u8> {
    message(
        "HTML only",
        "Content-Type: text/html; charset=utf-8\n\n\
         <html><head><style>.quiet{display:none}</style><script>alert(1)</script></head>\n\
         <body><h1>Offer</h1><p>Only <b>today</b>: <a href=\"https://shop.example/?a=1&amp;b=2\">look</a></p>\n\
         <p class=\"quiet\">hidden by class</p><p style=\"display:none\">hidden by style</p>\n\
         <img src=\"http://track.example/x.gif\" width=\"1\" height=\"1\"></body></html>\n",
    )
}

/// The same in text/plain and text/html.
pub fn alternative() -> Vec<u8> {
    multipart(
        "Alternative",
        "alternative",
        &[
            "Content-Type: text/plain; charset=utf-8\n\nThe plain version.\n",
            "Content-Type: text/html; charset=utf-8\n\n<p>The <b>HTML</b> version.</p>\n",
        ],
    )
}

/// Text and a named PDF attachment of 300 bytes.
pub fn with_attachment() -> Vec<u8> {
    let attachment = attachment("application/pdf", "report.pdf", &[b'%'; 300]);
    multipart(
        "With attachment",
        "mixed",
        &["Content-Type: text/plain\n\nSee the report.\n", &attachment],
    )
}

/// A forwarded message that itself has two parts.
pub fn nested_rfc822() -> Vec<u8> {
    let inner = String::from_utf8(alternative())
        .expect("ASCII")
        .replace("\r\n", "\n")
        .replace("=_part", "=_inner");
    multipart(
        "Forwarded",
        "mixed",
        &[
            "Content-Type: text/plain\n\nSee below.\n",
            &format!("Content-Type: message/rfc822\n\n{inner}"),
        ],
    )
}

/// Text and an invitation.
pub fn calendar() -> Vec<u8> {
    multipart(
        "Invitation",
        "alternative",
        &[
            "Content-Type: text/plain\n\nPlease come.\n",
            "Content-Type: text/calendar; method=REQUEST; charset=utf-8\n\n\
             BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//example//testkit//EN\nMETHOD:REQUEST\nBEGIN:VEVENT\n\
             UID:planning@example.com\nDTSTAMP:20260101T080000Z\nDTSTART:20260105T090000Z\nDTEND:20260105T100000Z\n\
             SUMMARY:Planning\nLOCATION:Room 5\nORGANIZER:mailto:bob@example.com\n\
             ATTENDEE:mailto:alice@example.com\nEND:VEVENT\nEND:VCALENDAR\n",
        ],
    )
}

/// Two text/plain parts, both of which are the message.
pub fn two_text_parts() -> Vec<u8> {
    multipart(
        "Two texts",
        "mixed",
        &[
            "Content-Type: text/plain\n\nThe first half.\n",
            "Content-Type: text/plain\n\nThe second half.\n",
        ],
    )
}

/// Text and an inline image without a name.
pub fn unnamed_inline() -> Vec<u8> {
    let image = format!(
        "Content-Type: image/png\nContent-Disposition: inline\nContent-Transfer-Encoding: base64\n\n{}",
        base64_lines(b"\x89PNG\r\n\x1a\nnot really").replace("\r\n", "\n")
    );
    multipart(
        "Unnamed inline",
        "mixed",
        &["Content-Type: text/plain\n\nLook:\n", &image],
    )
}

/// A short text and one attachment of this many bytes, before encoding.
pub fn big(attachment_bytes: usize) -> Vec<u8> {
    let bytes: Vec<u8> = (0..=255).cycle().take(attachment_bytes).collect();
    let attachment = attachment("application/octet-stream", "big.bin", &bytes);
    multipart(
        "Big",
        "mixed",
        &["Content-Type: text/plain\n\nA short text.\n", &attachment],
    )
}

/// `depth` multiparts one in the other, and a text at the bottom.
pub fn deep_multipart(depth: usize) -> Vec<u8> {
    let mut body = String::new();
    for level in 0..depth {
        let _ = write!(
            body,
            "Content-Type: multipart/mixed; boundary=\"b{level}\"\n\n--b{level}\n"
        );
    }
    body.push_str("Content-Type: text/plain\n\nThe bottom.\n");
    for level in (0..depth).rev() {
        let _ = write!(body, "\n--b{level}--\n");
    }
    message("Deep", &body)
}

fn attachment(kind: &str, name: &str, bytes: &[u8]) -> String {
    format!(
        "Content-Type: {kind}; name=\"{name}\"\nContent-Disposition: attachment; filename=\"{name}\"\n\
         Content-Transfer-Encoding: base64\n\n{}",
        base64_lines(bytes).replace("\r\n", "\n")
    )
}

fn multipart(subject: &str, kind: &str, parts: &[&str]) -> Vec<u8> {
    let mut body = format!("Content-Type: multipart/{kind}; boundary=\"=_part\"\n\n");
    for part in parts {
        let _ = write!(body, "--=_part\n{part}\n");
    }
    body.push_str("--=_part--\n");
    message(subject, &body)
}

/// `rest` begins with the content headers.
fn message(subject: &str, rest: &str) -> Vec<u8> {
    let id = subject.replace(' ', "-").to_lowercase();
    let text = format!(
        "Date: Thu, 01 Jan 2026 10:00:00 +0000\nFrom: Bob <bob@example.com>\nTo: Alice <alice@example.com>\n\
         Message-ID: <{id}@fixtures.example>\nSubject: {subject}\nMIME-Version: 1.0\n{rest}"
    );
    text.replace('\n', "\r\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_ends_in_crlf_and_every_boundary_is_closed() {
        let all = [
            plain(),
            html_only(),
            alternative(),
            with_attachment(),
            nested_rfc822(),
            calendar(),
            two_text_parts(),
            unnamed_inline(),
            big(1000),
            deep_multipart(3),
        ];
        for raw in all {
            let text = String::from_utf8(raw).unwrap();
            assert!(
                text.ends_with("\r\n") && !text.replace("\r\n", "").contains(['\r', '\n']),
                "{text}"
            );
            for (_, rest) in text
                .match_indices("boundary=\"")
                .map(|(at, sign)| text.split_at(at + sign.len()))
            {
                let boundary = rest.split('"').next().unwrap();
                assert_eq!(
                    text.matches(&format!("\r\n--{boundary}--\r\n")).count(),
                    1,
                    "{boundary} in {text}"
                );
            }
        }
    }

    #[test]
    fn big_is_big_and_deep_is_deep() {
        assert!(big(3_000_000).len() > 4_000_000);
        let deep = String::from_utf8(deep_multipart(5_000)).unwrap();
        assert_eq!(deep.matches("multipart/mixed").count(), 5_000);
    }
}
