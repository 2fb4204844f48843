//! What the makers of mail-parser expect: the whole parse as JSON beside each message.

use std::path::Path;

use serde_json::Value;

use super::Expected;

/// The subject, and the text of every plain part, those of attached messages included.
pub(super) fn expected(message: &Path) -> Vec<Expected> {
    let Ok(json) = std::fs::read(message.with_extension("json")) else {
        return Vec::new();
    };
    let parsed: Value = serde_json::from_slice(&json).expect("the corpus holds JSON");
    let headers = parsed["parts"][0]["headers"].as_array();
    let subjects = headers.into_iter().flatten();
    let subject = subjects
        .filter(|header| header["name"] == "subject")
        .find_map(|header| header["value"]["Text"].as_str());
    let mut expected: Vec<Expected> = subject
        .map(|subject| Expected::Subject(subject.to_owned()))
        .into_iter()
        .collect();
    texts(&parsed, &mut expected);
    expected
}

fn texts(message: &Value, expected: &mut Vec<Expected>) {
    for part in message["parts"].as_array().into_iter().flatten() {
        if let Some(text) = part["body"]["Text"].as_str() {
            expected.push(Expected::Text(text.to_owned()));
        }
        texts(&part["body"]["Message"], expected);
    }
}
