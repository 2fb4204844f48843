//! Any bytes as PDF: no panic of ours, no endless work, and no more text than asked for.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mailwarden_fuzz::attachment;

fuzz_target!(|bytes: &[u8]| attachment(mail::Format::Pdf, bytes));
