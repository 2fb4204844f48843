//! Any bytes as an invitation: they are told within bounds.

#![no_main]

use content::{BodyWish, Completeness, HtmlWish};
use libfuzzer_sys::fuzz_target;

const MAX_CHARS: usize = 50_000;

fuzz_target!(|calendar: &[u8]| {
    let header = b"Content-Type: text/calendar; charset=utf-8\r\n\r\n";
    let raw = [&header[..], calendar].concat();
    let outline = content::outline(&raw);
    let wish = BodyWish {
        offset: 0,
        max_chars: MAX_CHARS,
        html: HtmlWish::Skip,
        attachment_text: Some(MAX_CHARS),
        only: None,
    };
    let fetched = outline.fetched(&wish, Completeness::Complete);
    let view = content::view(&fetched, &wish, &content::Known::default());
    let told = view.body_text.unwrap_or_default();
    assert!(told.chars().count() <= MAX_CHARS);
    assert!(!told.contains("<|im_end|>"));
});
