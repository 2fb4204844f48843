//! Any parts of a Word document: no panic of ours, no endless work, and no more text than asked for.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mailwarden_fuzz::{attachment, package};

const PARTS: &[&str] = &[
    "word/document.xml",
    "word/styles.xml",
    "word/footnotes.xml",
    "word/comments.xml",
    "word/header1.xml",
];

fuzz_target!(|bytes: &[u8]| attachment(mail::Format::Docx, &package(PARTS, bytes)));
