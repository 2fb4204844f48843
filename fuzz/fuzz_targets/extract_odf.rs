//! Any parts of an OpenDocument file: no panic of ours, no endless work, and no more text than asked for.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mailwarden_fuzz::{attachment, package};

const PARTS: &[&str] = &["content.xml", "styles.xml"];

fuzz_target!(|bytes: &[u8]| attachment(mail::Format::Odt, &package(PARTS, bytes)));
