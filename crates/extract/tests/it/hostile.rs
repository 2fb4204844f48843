//! Attachments that are meant to crash, hang or bloat their reader: each costs its own text and nothing else.

use std::io::Write as _;
use std::time::Duration;

use extract::{Limits, Runner};
use mail::{ExtractFault, Extractor as _, Format};

use crate::built;
use crate::child::{job, runner, shown};

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("packed");
    encoder.finish().expect("packed")
}

/// A page whose content unpacks to so many spaces.
fn flate_bomb(megabytes: usize) -> Vec<u8> {
    let mut objects = built::page_objects(&[""]);
    let content = packed(&vec![b' '; megabytes * 1024 * 1024]);
    objects[4] = built::stream("/Filter /FlateDecode", &content);
    built::pdf(&objects)
}

fn nested_arrays() -> Vec<u8> {
    let mut objects = built::page_objects(&[""]);
    objects[0] = b"<< /Type /Catalog /Pages 2 0 R /X ".to_vec();
    objects[0].extend(b"[".repeat(1_000_000));
    built::pdf(&objects)
}

fn locked_pdf() -> Vec<u8> {
    let mut objects = built::page_objects(&[""]);
    let key = "41".repeat(32);
    objects.push(
        format!("<< /Filter /Standard /V 1 /R 2 /Length 40 /P -4 /O <{key}> /U <{key}> >>")
            .into_bytes(),
    );
    let id = "42".repeat(16);
    let trailer = format!("/Encrypt {} 0 R /ID [<{id}> <{id}>]", objects.len());
    built::pdf_with_trailer(&objects, &trailer)
}

#[tokio::test]
async fn each_attack_is_told_by_its_name_and_the_next_attachment_is_read() {
    let runner = runner();
    for (what, format, bytes, fault) in [
        (
            "no PDF",
            Format::Pdf,
            b"%PDF-1.7\nnothing else".to_vec(),
            ExtractFault::Malformed,
        ),
        (
            "a PDF cut short",
            Format::Pdf,
            built::pdf_pages(&["BT"])[..60].to_vec(),
            ExtractFault::Malformed,
        ),
        (
            "a PDF bomb",
            Format::Pdf,
            flate_bomb(20),
            ExtractFault::Bomb,
        ),
        (
            "nested arrays",
            Format::Pdf,
            nested_arrays(),
            ExtractFault::Malformed,
        ),
        (
            "a locked PDF",
            Format::Pdf,
            locked_pdf(),
            ExtractFault::Encrypted,
        ),
        (
            "a Word bomb",
            Format::Docx,
            built::bomb("word/document.xml"),
            ExtractFault::Bomb,
        ),
        (
            "an Excel bomb",
            Format::Xlsx,
            built::bomb("xl/workbook.xml"),
            ExtractFault::Bomb,
        ),
        (
            "an OpenDocument bomb",
            Format::Ods,
            built::bomb("content.xml"),
            ExtractFault::Bomb,
        ),
        (
            "nested elements",
            Format::Docx,
            built::docx(&"<w:x>".repeat(100_000)),
            ExtractFault::Malformed,
        ),
        (
            "entities",
            Format::Odt,
            built::package(&[("content.xml", b"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>")]),
            ExtractFault::Malformed,
        ),
    ] {
        assert_eq!(runner.text(job(format, bytes)).await, Err(fault), "{what}");
        let next = job(Format::Rtf, br"{\rtf1 still here}".to_vec());
        let done = runner.text(next).await.expect("text");
        assert_eq!(shown(&done), "still here", "after {what}");
    }
}

/// Marked as a picture, the bomb is not looked at beforehand: the child's memory limit is what stops it.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_takes_all_memory_takes_the_child_s() {
    let mut objects = built::page_objects(&[""]);
    let words = b"(a) Tj ".repeat(20 * 1024 * 1024 / 7);
    objects[4] = built::stream("/Filter /FlateDecode /Subtype /Image", &packed(&words));
    let found = runner().text(job(Format::Pdf, built::pdf(&objects))).await;
    assert_eq!(found, Err(ExtractFault::Crashed));
}

/// A document that is large and honest, and a limit that nothing can keep.
#[tokio::test]
async fn what_takes_too_long_is_ended() {
    let limits = Limits {
        wall: Duration::ZERO,
        ..Limits::default()
    };
    let hurried = Runner::new(
        env!("CARGO_BIN_EXE_extract-worker"),
        "extract-worker",
        limits,
    );
    let page = built::lines(&["line"; 30]);
    let pages = vec![page.as_str(); 200];
    let found = hurried
        .text(job(Format::Pdf, built::pdf_pages(&pages)))
        .await;
    assert_eq!(found, Err(ExtractFault::TimedOut));
}

/// A password keeps the contents of an archive, not its names.
#[tokio::test]
async fn a_locked_archive_is_listed() {
    let mut file = built::package(&[("secret.txt", b"hello".as_slice())]);
    for (mark, offset) in [(b"PK\x03\x04", 6), (b"PK\x01\x02", 8)] {
        let at = file
            .windows(4)
            .position(|window| window == mark)
            .expect("a header");
        file[at + offset] |= 1;
    }
    let done = runner().text(job(Format::Zip, file)).await.expect("names");
    assert!(shown(&done).contains("secret.txt (5 bytes), encrypted"));
}
