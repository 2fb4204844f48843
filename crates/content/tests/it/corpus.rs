//! Public sample messages, when they lie beside the checkout: nothing panics, and what their makers expect is shown.

use content::{BodyWish, HtmlWish, View};
use mail::TextPrefix;
use testkit::corpora::{Corpus, Sample, Shown, reason};

use crate::source::view;

fn samples() -> Vec<Sample> {
    Corpus::ALL.into_iter().flat_map(Corpus::samples).collect()
}

fn wish() -> BodyWish {
    BodyWish {
        offset: 0,
        max_chars: 20_000,
        html: HtmlWish::Include,
        attachment_text: Some(50_000),
        only: None,
    }
}

#[test]
fn every_sample_is_viewed() {
    let wish = wish();
    for Sample { name, raw, .. } in samples() {
        let found = view(&raw, &wish);
        let outline = content::outline(&raw);
        let prefix = TextPrefix {
            header: outline.header().to_vec().into(),
            text: raw[outline.header_len..].to_vec().into(),
            truncated: false,
            structure: None,
        };
        content::snippet(&prefix, 200);
        for end in [raw.len() / 3, raw.len() / 2] {
            view(&raw[..end], &wish);
        }
        assert!(!found.headers.is_empty() || raw.len() < 100, "{name}");
    }
}

#[test]
fn what_is_expected_is_shown() {
    let mut report = Vec::new();
    for sample in samples() {
        let missing = missing(&sample, &view(&sample.raw, &wish()));
        match (missing.is_empty(), reason(&sample.name)) {
            (true, None) | (false, Some(_)) => {}
            (true, Some(reason)) => {
                report.push(format!("{}: as expected, despite {reason:?}", sample.name));
            }
            (false, None) => report.extend(
                missing
                    .iter()
                    .map(|missing| format!("{}: {missing}", sample.name)),
            ),
        }
    }
    assert!(report.is_empty(), "\n{}", report.join("\n"));
}

fn missing(sample: &Sample, view: &View) -> Vec<String> {
    let attached = view.attachments.iter();
    let mut texts: Vec<&str> = attached
        .filter_map(|attachment| attachment.extracted_text.as_deref())
        .collect();
    texts.extend(view.body_text.as_deref());
    sample.missing(&Shown {
        subject: view.subject.as_deref(),
        texts: &texts,
    })
}
