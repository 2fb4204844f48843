//! Any text as the HTML of a message: what comes out is bounded, and shows nothing that a page always hides.

#![no_main]

use content::{BodyWish, Completeness, HtmlWish, Known};
use libfuzzer_sys::fuzz_target;

const MAX_CHARS: usize = 2_000;
const HEADER: &[u8] = b"Content-Type: text/html; charset=utf-8\r\n\r\n";

fuzz_target!(|html: &str| {
    let wish = BodyWish {
        offset: 0,
        max_chars: MAX_CHARS,
        html: HtmlWish::Include,
        attachment_text: None,
        only: None,
    };
    // Before anything else, a page may hide what follows; only then is it the page's own.
    let raw = [
        HEADER,
        b"<p style='display:none'>hidden0word</p>",
        html.as_bytes(),
    ]
    .concat();
    let outline = content::outline(&raw);
    let fetched = outline.fetched(&wish, Completeness::Cut);
    let view = content::view(&fetched, &wish, &Known::default());
    let important = html.contains('!') || html.contains('@') || html.contains("\\");
    for text in view.body_text.iter().chain(&view.body_html) {
        assert!(text.chars().count() <= MAX_CHARS);
        assert!(important || !text.contains("hidden0word"), "{text}");
    }
    for html in &view.body_html {
        let lower = html.to_ascii_lowercase();
        for live in [
            "<script>",
            "<script ",
            "<style>",
            "<style ",
            "<a href=\"javascript",
        ] {
            assert!(!lower.contains(live), "{live}: {html}");
        }
    }
});
