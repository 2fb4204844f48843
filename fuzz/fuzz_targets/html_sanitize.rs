//! Any text as HTML, sanitized: the result is bounded, holds nothing active, and shows the same
//! text or less.

#![no_main]

use libfuzzer_sys::fuzz_target;

const MAX_CHARS: usize = 2_000;

struct Unchanged;

impl html::TextFilter for Unchanged {
    fn text(&mut self, text: &str) -> String {
        text.to_owned()
    }

    fn attribute(&mut self, value: &str) -> String {
        value.to_owned()
    }
}

fuzz_target!(|html: &str| {
    let sanitized = html::sanitize(html, MAX_CHARS, &mut Unchanged);
    assert!(sanitized.html.chars().count() <= MAX_CHARS);
    let lower = sanitized.html.to_ascii_lowercase();
    for active in [
        "<script", "<style", "<iframe", "<form", "<object", "<svg", "<a href=\"javascript", " onload=",
    ] {
        // In text, `<` is written as an entity.
        let stands_in_tag = lower
            .match_indices(active)
            .any(|(at, _)| active.starts_with('<') || lower[..at].rfind('<') > lower[..at].rfind('>'));
        assert!(!stands_in_tag, "{active}: {lower}");
    }
    // What is sanitized stays as it is.
    let again = html::sanitize(&sanitized.html, MAX_CHARS, &mut Unchanged);
    assert!(again.cut || again.html.chars().count() <= MAX_CHARS);
});
