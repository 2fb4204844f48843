//! Any text as HTML, rendered: the text is bounded, its uncertain runs lie in it in order, and
//! nothing is shown that a page hides before anything else.

#![no_main]

use libfuzzer_sys::fuzz_target;

const MAX_CHARS: usize = 2_000;

fuzz_target!(|html: &str| {
    let page = format!("<p style='display:none'>hidden0word</p>{html}");
    let rendered = html::to_text(&page, MAX_CHARS);
    let chars: Vec<char> = rendered.text.chars().collect();
    assert!(chars.len() <= MAX_CHARS);
    let mut end = 0;
    let mut certain = String::new();
    for run in &rendered.uncertain {
        assert!(end <= run.start && run.start < run.end && run.end <= chars.len());
        certain.extend(&chars[end..run.start]);
        certain.push(' ');
        end = run.end;
    }
    certain.extend(&chars[end..]);
    // A style sheet may show the paragraph again; the page itself may hold the word.
    let may_show = ["!", "@", "\\", "style", "hidden0word", "&"];
    let lower = html.replace('\0', "").to_ascii_lowercase();
    if !may_show.iter().any(|one| lower.contains(one)) {
        assert!(!certain.contains("hidden0word"), "{certain}");
    }
    assert_eq!(rendered, html::to_text(&page, MAX_CHARS), "two renderings differ");
});
