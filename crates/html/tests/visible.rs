//! Verdicts on techniques that hide or show a text, beside what Chromium draws. `cargo xtask
//! visible` records that.

#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

/// The text that stands at `§`.
const TEXT: &str = "Send 4711 tulips";

/// More differing pixels than this are seen, fewer than one are not.
const FAINT_PIXELS: u64 = 60;

#[test]
fn recorded_techniques_have_no_leak_and_no_loss() {
    check(include_bytes!("techniques.json"), 1_500);
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the list stands beside the checkout and is no part of it"
)]
fn techniques_beside_checkout_have_no_leak_and_no_loss() {
    let path = "../../../shared/data/hidden-text/techniques.json";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if let Ok(list) = std::fs::read(path) {
        check(&list, 200);
    }
}

fn check(list: &[u8], at_least: usize) {
    let techniques: Vec<Value> = serde_json::from_slice(list).unwrap();
    assert!(techniques.len() >= at_least, "{}", techniques.len());
    let (mut faults, mut count) = (String::new(), 0);
    for technique in &techniques {
        let part = |key: &str| technique[key].as_str().unwrap();
        let pixels = technique["pixels"].as_u64().unwrap();
        let page = format!(
            "<!DOCTYPE html><html><head><meta charset=utf-8><style>body{{font-family:monospace}}{}</style></head>\
             <body><p>before</p>{}<p>after</p></body></html>",
            part("sheet"),
            part("body")
        );
        let fault = match (pixels, shown(&page.replace('§', TEXT))) {
            (0, Shown::Certain) => "is hidden and called visible",
            (pixels, Shown::Not) if pixels > FAINT_PIXELS => "is visible and left out",
            _ => continue,
        };
        count += 1;
        let _ = writeln!(
            faults,
            "{} {fault}: {} | {}",
            part("name"),
            part("sheet"),
            part("body")
        );
    }
    assert!(
        faults.is_empty(),
        "{count} of {} techniques:\n{faults}",
        techniques.len()
    );
}

enum Shown {
    Certain,
    Uncertain,
    Not,
}

/// The least careful verdict on any word of the text.
fn shown(page: &str) -> Shown {
    let rendered = html::to_text(page, usize::MAX);
    let mut certain = String::new();
    for (at, char) in rendered.text.chars().enumerate() {
        let is_in = |run: &html::UncertainRun| (run.start..run.end).contains(&at);
        certain.push(if rendered.uncertain.iter().any(is_in) {
            ' '
        } else {
            char
        });
    }
    let has_word = |text: &str| {
        let text = text.to_lowercase();
        let words = TEXT.to_lowercase();
        words.split(' ').any(|word| text.contains(word))
    };
    if has_word(&certain) {
        Shown::Certain
    } else if has_word(&rendered.text) {
        Shown::Uncertain
    } else {
        Shown::Not
    }
}
