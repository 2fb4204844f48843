//! Bodies of synthetic messages: charsets, encodings, alternatives, attachments, invitations. No headers of the message.

use super::encode::{base64_lines, quoted_printable};
use super::rng::Rng;
use super::words::Vocabulary;
use crate::delivery::Date;
use std::fmt::Write as _;

/// こんにちは in ISO-2022-JP.
const KONNICHIWA: &[u8] = b"\x1b$B$3$s$K$A$O\x1b(B";

/// Appends the content headers, the empty line and the body of message `i`.
pub(super) fn write(
    out: &mut Vec<u8>,
    rng: &mut Rng,
    words: &Vocabulary,
    i: u64,
    thread: Option<u64>,
) {
    let length = 200 + (40 << rng.below(7)) as usize + rng.below(400) as usize;
    let mut text = words.text(rng, length);
    let _ = write!(text, "\r\nuniq{i}x\r\n");
    if let Some(parent) = thread {
        let quoted = words.text(rng, length.min(900));
        let _ = write!(
            text,
            "\r\nOn an earlier day someone wrote about message {parent}:\r\n"
        );
        for line in quoted.lines() {
            let _ = write!(text, "> {line}\r\n");
        }
    }
    let boundary = format!("b{:016x}", rng.next());
    match rng.below(100) {
        0..45 => text_part(out, rng, &text),
        45..85 => {
            let parts = [
                part(|out| text_part(out, rng, &text)),
                part(|out| html_part(out, &text, i)),
            ];
            multipart(out, "alternative", &boundary, &parts);
        }
        85..95 => {
            let parts = [
                part(|out| text_part(out, rng, &text)),
                part(|out| attachment(out, rng)),
            ];
            multipart(out, "mixed", &boundary, &parts);
        }
        _ => {
            let parts = [
                part(|out| text_part(out, rng, &text)),
                part(|out| invitation(out, i)),
            ];
            multipart(out, "mixed", &boundary, &parts);
        }
    }
}

fn part(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out);
    out
}

fn multipart(out: &mut Vec<u8>, kind: &str, boundary: &str, parts: &[Vec<u8>]) {
    put(
        out,
        &format!("Content-Type: multipart/{kind}; boundary=\"{boundary}\"\r\n\r\n"),
    );
    for part in parts {
        put(out, &format!("--{boundary}\r\n"));
        out.extend_from_slice(part);
        put(out, "\r\n");
    }
    put(out, &format!("--{boundary}--\r\n"));
}

fn text_part(out: &mut Vec<u8>, rng: &mut Rng, text: &str) {
    let header = |charset: &str, encoding: &str| {
        format!(
            "Content-Type: text/plain; charset={charset}\r\nContent-Transfer-Encoding: {encoding}\r\n\r\n"
        )
    };
    match rng.below(100) {
        0..45 => put(out, &(header("utf-8", "7bit") + text)),
        45..60 => put(out, &(header("utf-8", "8bit") + "Grüße — " + text)),
        60..75 => {
            let latin = [b"Gr\xFC\xDFe, ", text.as_bytes()].concat();
            put(
                out,
                &(header("\"iso-8859-1\"", "quoted-printable") + &quoted_printable(&latin)),
            );
        }
        75..80 => {
            put(out, &header("windows-1252", "8bit"));
            out.extend_from_slice(b"100 \x80 \x96 ");
            put(out, text);
        }
        80..85 => {
            put(out, &header("iso-2022-jp", "7bit"));
            out.extend_from_slice(KONNICHIWA);
            put(out, &format!("\r\n{text}"));
        }
        _ => put(
            out,
            &(header("utf-8", "base64") + &base64_lines(text.as_bytes())),
        ),
    }
}

fn html_part(out: &mut Vec<u8>, text: &str, i: u64) {
    let paragraphs = text
        .replace("\r\n\r\n", "</p>\r\n<p>")
        .replace("> ", "&gt; ");
    put(
        out,
        &format!(
            "Content-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n\
             <html><body><div style=\"font-family:sans-serif\"><p>{paragraphs}</p></div>\r\n\
             <div style=\"display:none\">hidden{i}x</div>\r\n\
             <img src=\"http://track.example/{i}.gif\" width=1 height=1></body></html>\r\n"
        ),
    );
}

fn attachment(out: &mut Vec<u8>, rng: &mut Rng) {
    let (kind, name) = *rng.pick(&[
        ("application/pdf", "filename=\"report.pdf\""),
        ("image/jpeg", "filename=\"scan 01.jpg\""),
        (
            "application/octet-stream",
            "filename*=utf-8''%C3%9Cbersicht.xlsx",
        ),
        ("text/plain", "filename=notes.txt"),
    ]);
    let size = 200 << rng.below(9);
    put(
        out,
        &format!(
            "Content-Type: {kind}\r\nContent-Disposition: attachment; {name}\r\n\
             Content-Transfer-Encoding: base64\r\n\r\n"
        ),
    );
    let bytes = rng.bytes(size as usize);
    put(out, &base64_lines(&bytes));
}

fn invitation(out: &mut Vec<u8>, i: u64) {
    let date = Date::from_unix(super::EPOCH + i * super::SPACING);
    let day = format!("{}{:02}{:02}", date.year, date.month, date.day);
    put(
        out,
        &format!(
            "Content-Type: text/calendar; method=REQUEST; charset=utf-8\r\nContent-Transfer-Encoding: 7bit\r\n\r\n\
             BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//example//testkit//EN\r\nMETHOD:REQUEST\r\nBEGIN:VEVENT\r\n\
             UID:event{i}@gen.example\r\nDTSTAMP:{day}T080000Z\r\nDTSTART:{day}T090000Z\r\nDTEND:{day}T100000Z\r\n\
             SUMMARY:Meeting {i}\r\nORGANIZER:mailto:lena@example.com\r\nATTENDEE:mailto:alice@example.com\r\n\
             END:VEVENT\r\nEND:VCALENDAR\r\n"
        ),
    );
}

fn put(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}
