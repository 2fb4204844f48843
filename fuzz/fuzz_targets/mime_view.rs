//! Any bytes as a message: outline, choice, view with every wish on; what comes out is bounded.

#![no_main]

use bytes::Bytes;
use content::{BodyWish, Completeness, HtmlWish, Known};
use libfuzzer_sys::fuzz_target;
use mail::{ExtractedText, Raw, TextPrefix};

const MAX_CHARS: usize = 2_000;

fuzz_target!(|raw: &[u8]| {
    let outline = content::outline(raw);
    for offset in [0, 700] {
        let wish = BodyWish {
            offset,
            max_chars: MAX_CHARS,
            html: HtmlWish::Include,
            attachment_text: Some(MAX_CHARS),
            only: None,
        };
        let fetched = outline.fetched(&wish, Completeness::Cut);
        // A reader that gives back what it was given is as hostile as any.
        let extractions = content::extractions(&fetched, &wish)
            .into_iter()
            .map(|(section, job)| {
                let text = ExtractedText {
                    text: Raw::new(job.bytes),
                    cut: false,
                    hidden: 0,
                    invisible: 0,
                };
                (section, Ok(text))
            })
            .collect();
        let known = Known {
            authserv_id: None,
            extractions,
        };
        let view = content::view(&fetched, &wish, &known);
        let texts = view
            .attachments
            .iter()
            .filter_map(|one| one.extracted_text.as_ref());
        for text in texts.chain(&view.body_text).chain(&view.body_html) {
            assert!(text.chars().count() <= MAX_CHARS);
            assert!(!text.contains("<|im_end|>") && !text.contains(['\u{202E}', '\u{200B}', '\0']));
        }
        if let Some(cut) = view.body_truncated {
            assert!(cut.next_offset.is_none_or(|next| next > offset));
        }
        assert!(view.attachments.len() <= 50);
    }
    let prefix = TextPrefix {
        header: Bytes::copy_from_slice(outline.header()),
        text: Bytes::copy_from_slice(&raw[outline.header_len..]),
        truncated: false,
        structure: None,
    };
    content::snippet(&prefix, 200);
});
