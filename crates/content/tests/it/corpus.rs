//! Public sample messages, when they lie beside the checkout: nothing panics, nothing takes long.

use std::path::{Path, PathBuf};

use content::{BodyWish, HtmlWish};
use mail::TextPrefix;

use crate::source::view;

#[expect(
    clippy::disallowed_methods,
    reason = "the samples are not part of the checkout"
)]
fn read(path: &Path) -> Option<Vec<u8>> {
    std::fs::read(path).ok()
}

fn messages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/mail");
    let mut open = vec![root];
    let mut found = Vec::new();
    while let Some(folder) = open.pop() {
        let Ok(entries) = folder.read_dir() else {
            continue;
        };
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            let message = path
                .extension()
                .is_some_and(|end| end == "eml" || end == "msg");
            if path.is_dir() {
                open.push(path);
            } else if message {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn every_sample_is_viewed() {
    let wish = BodyWish {
        offset: 0,
        max_chars: 20_000,
        html: HtmlWish::Include,
        attachment_text: Some(50_000),
    };
    for path in messages() {
        let raw = read(&path).unwrap();
        let found = view(&raw, &wish);
        let outline = content::outline(&raw);
        let prefix = TextPrefix {
            header: outline.header().to_vec().into(),
            text: raw[outline.header_len..].to_vec().into(),
            truncated: false,
        };
        content::snippet(&prefix, 200);
        for end in [raw.len() / 3, raw.len() / 2] {
            view(&raw[..end], &wish);
        }
        assert!(!found.headers.is_empty() || raw.len() < 100, "{path:?}");
    }
}

#[test]
fn subjects_are_what_mail_parser_expects() {
    let mut compared = 0;
    let mut differ = Vec::new();
    for path in messages() {
        let Some(expected) = read(&path.with_extension("json")).and_then(|json| subject(&json))
        else {
            continue;
        };
        let raw = read(&path).unwrap();
        let envelope = content::envelope(&raw);
        let found = envelope.subject.as_ref();
        let found = found.map(|raw| content::header_text(raw, &mut content::Changes::default()));
        compared += 1;
        if found.as_deref() != Some(expected.trim()) {
            differ.push((path, found, expected));
        }
    }
    assert!(differ.len() * 20 <= compared, "{differ:#?}");
}

/// The text of the first `subject` header in mail-parser's JSON, when it needs no unescaping.
fn subject(json: &[u8]) -> Option<String> {
    let json = String::from_utf8_lossy(json);
    let rest = json.split_once("\"name\": \"subject\"")?.1;
    let rest = rest.split_once("\"Text\": \"")?.1;
    let value = rest.split('"').next()?;
    // Ours guesses a charset where mail-parser gives up.
    let plain = !value.contains(['\\', '\u{FFFD}']) && value.len() < 900;
    plain.then(|| value.to_owned())
}
