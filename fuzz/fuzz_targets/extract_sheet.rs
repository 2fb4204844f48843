//! Any parts of an Excel workbook: no panic of ours, no endless work, and no more text than asked for.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mailwarden_fuzz::{attachment, package};

const PARTS: &[&str] = &[
    "_rels/.rels",
    "xl/workbook.xml",
    "xl/_rels/workbook.xml.rels",
    "xl/worksheets/sheet1.xml",
    "xl/sharedStrings.xml",
    "xl/styles.xml",
];

fuzz_target!(|bytes: &[u8]| attachment(mail::Format::Xlsx, &package(PARTS, bytes)));
