//! What the makers of mime4j expect: each decoded text part in a file of its own, named in an outline.

use std::path::Path;

use super::{Expected, stem};

const NAMED: &str = "<text-body name=\"";

/// The plain texts, in order. What an outline calls HTML is source there, and no text.
pub(super) fn expected(message: &Path) -> Vec<Expected> {
    let outline = message.with_file_name(format!("{}_decoded.xml", stem(message)));
    let outline = std::fs::read(outline).unwrap_or_default();
    let outline = String::from_utf8_lossy(&outline);
    let mut pieces = outline.split(NAMED);
    let mut before = pieces.next().unwrap_or_default();
    let mut texts = Vec::new();
    for piece in pieces {
        let header = before.rsplit("<header>").next().unwrap_or_default();
        let name = piece.split('"').next().unwrap_or_default();
        if !header.to_ascii_lowercase().contains("text/html") {
            let path = message.with_file_name(name);
            let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            texts.push(Expected::Text(decoded(bytes)));
        }
        before = piece;
    }
    texts
}

/// The files hold the bytes of the part. The one that is not UTF-8 says that it is ISO 8859-15.
fn decoded(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| {
        let latin = error.as_bytes().iter().map(|byte| match byte {
            0xA4 => '€',
            other => char::from(*other),
        });
        latin.collect()
    })
}
