//! Any parts of a presentation: no panic of ours, no endless work, and no more text than asked for.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mailwarden_fuzz::{attachment, package};

const PARTS: &[&str] = &[
    "ppt/presentation.xml",
    "ppt/_rels/presentation.xml.rels",
    "ppt/slides/slide1.xml",
    "ppt/slides/_rels/slide1.xml.rels",
    "ppt/notesSlides/notesSlide1.xml",
];

fuzz_target!(|bytes: &[u8]| attachment(mail::Format::Pptx, &package(PARTS, bytes)));
