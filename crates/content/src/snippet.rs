//! The beginning of a message's text, for lists of mail.

use mail::{Leaf, Structure, TextPrefix};

use crate::body::readable;
use crate::changes::Changes;
use crate::outline::{Completeness, Outline, is_declared, outline};
use crate::roles::{Role, is_in, roles};
use crate::shield::{self, Shape, shield};

/// Text looked at before quotes are taken out.
const MOST_CHARS: usize = 4_000;
/// Texts looked at.
const MOST_PARTS: usize = 8;

/// The beginning of a text, and whether it is all that stands there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Snippet {
    pub text: String,
    pub changes: Changes,
    /// Characters that were left out because they are hidden, or may be.
    pub hidden: usize,
    /// Of these, characters that ordinary mail hides: comments, tracking pixels, a preheader.
    pub ordinary: usize,
}

/// The first words of the body on one line, at most `max_chars` characters. `None` when there is no
/// text, or when the beginning of the message does not hold the part that people see. The text is
/// empty when all that is there is hidden, or may be: so is HTML whose end is missing.
pub fn snippet(prefix: &TextPrefix, max_chars: usize) -> Option<Snippet> {
    let header = prefix.header.trim_ascii_end();
    let raw = [header, b"\r\n\r\n", &prefix.text].concat();
    let outline = outline(&raw);
    let mut left_out: Option<Snippet> = None;
    for leaf in body(prefix, &outline) {
        let Some((bytes, whole)) = outline.part(&leaf.section) else {
            continue;
        };
        // A part is whole when its end was seen, or the message's.
        let whole = match (whole, prefix.truncated) {
            (Completeness::Complete, true) if outline.structure.leaves.len() == 1 => {
                Completeness::Cut
            }
            (Completeness::Cut, false) => Completeness::Complete,
            (whole, _) => whole,
        };
        let mut read = readable(&leaf, bytes, whole);
        // A list has no marks: what may not be visible is left out.
        read.withhold();
        // INVARIANT: lines put together may read as what none of them was.
        let line = shield(&one_line(&read.text), Shape::Line);
        let found = Snippet {
            text: shortened(&line.text, max_chars),
            changes: read.findings.changes + line.changes,
            ordinary: (read.findings.hidden.chars()).saturating_sub(read.findings.hidden.notable()),
            hidden: read.findings.hidden.chars() + read.findings.too_deep + read.withheld,
        };
        if !line.text.is_empty() {
            return Some(found);
        }
        if found.hidden > found.ordinary {
            left_out = left_out.or(Some(found));
        }
    }
    left_out
}

/// The first parts of the body that the beginning of a message holds.
fn body(prefix: &TextPrefix, outline: &Outline<'_>) -> Vec<Leaf> {
    let of_body = |structure: &Structure| {
        let leaves = structure.leaves.iter().zip(roles(structure));
        let body = leaves.filter(|(_, role)| *role == Role::Body);
        body.map(|(leaf, _)| leaf.clone()).collect::<Vec<Leaf>>()
    };
    let mut body = match &prefix.structure {
        Some(structure) => {
            let same = |leaf: &Leaf| {
                let ours = outline.structure.leaf(&leaf.section);
                ours.filter(|ours| ours.mime_type == leaf.mime_type)
                    .cloned()
            };
            of_body(structure).iter().filter_map(same).collect()
        }
        None if prefix.truncated => {
            let mut ours = outline.structure.clone();
            // INVARIANT: an attachment is none of the text. What seems to be the only part may be
            // one, once the others are seen.
            ours.cut |= !ours.multiparts.is_empty();
            let body = of_body(&ours).into_iter();
            let is_known = |leaf: &Leaf| {
                let part = outline.part(&leaf.section);
                let is_whole = part.is_some_and(|(_, end)| end == Completeness::Complete);
                // A multipart whose parts are not here yet looks like a text.
                is_whole && is_declared(&prefix.header, &ours)
            };
            body.take_while(|leaf| is_known(leaf) && !is_in_alternative(leaf, &ours))
                .collect()
        }
        None => of_body(&outline.structure),
    };
    body.truncate(MOST_PARTS);
    body
}

/// Whether a version that is not here may be shown in the place of this part.
fn is_in_alternative(leaf: &Leaf, structure: &Structure) -> bool {
    let mut alternatives = structure
        .multiparts
        .iter()
        .filter(|multipart| multipart.subtype == "alternative");
    alternatives.any(|alternative| is_in(&leaf.section, &alternative.path))
}

/// Without quoted lines and the line that introduces them, unless there is nothing else.
fn one_line(text: &str) -> String {
    let text = shield::cut(text, MOST_CHARS).unwrap_or(text);
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let quoted = |line: &str| line.trim_start().starts_with('>');
    let mut own: Vec<&str> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let before_quote = lines.get(index + 1).is_some_and(|next| quoted(next));
        let introduces = before_quote && line.trim_end().ends_with(':');
        if !quoted(line) && !introduces {
            own.push(line);
        }
    }
    let kept = if own.is_empty() { &lines } else { &own };
    let words: Vec<&str> = kept
        .iter()
        .flat_map(|line| line.split_whitespace())
        .collect();
    words.join(" ")
}

/// Cut at a word's end where one is near.
fn shortened(line: &str, max_chars: usize) -> String {
    if shield::cut(line, max_chars).is_none() {
        return line.to_owned();
    }
    let Some(kept) = max_chars.checked_sub(1).and_then(|n| shield::cut(line, n)) else {
        return String::new();
    };
    let at_word = match kept.rfind(' ') {
        Some(space) if space * 2 > kept.len() => kept.get(..space).unwrap_or(kept),
        _ => kept,
    };
    format!("{}…", at_word.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use proptest::prelude::*;

    fn prefix(header: &str, text: impl Into<Vec<u8>>) -> TextPrefix {
        TextPrefix {
            header: Bytes::copy_from_slice(header.as_bytes()),
            text: Bytes::from(text.into()),
            truncated: true,
            structure: None,
        }
    }

    fn check(header: &str, text: &str, want: &str) {
        let found = snippet(&prefix(header, text), 60);
        let text = found.map(|found| found.text).unwrap_or_default();
        assert_eq!(text, want);
    }

    #[test]
    fn beginnings() {
        check("", "Hello\r\n  world\r\n", "Hello world");
        check(
            "Content-Type: text/plain\r\n\r\n",
            "Hi,\n\nthere",
            "Hi, there",
        );
        // A style sheet that is not here yet may hide it.
        check(
            "Content-Type: text/html",
            "<p>Hi <b>you</b><style>x</style>",
            "",
        );
        check(
            "Content-Type: text/plain\r\nContent-Transfer-Encoding: base64\r\n\r\n",
            "SGVsbG8gd29ybGQhIMO",
            "Hello world!",
        );
        check(
            "Content-Type: multipart/alternative; boundary=b",
            "preamble\r\n--b\r\nContent-Type: text/plain\r\n\r\nplain\r\n--b\r\nContent-Type: text/html\r\n\r\n<p>html",
            "",
        );
        check(
            "",
            "> old\n> older\n\nnew\nOn Monday Ann wrote:\n> x",
            "new",
        );
        check("", "> only\n> quotes", "> only > quotes");
        check("", "  \r\n", "");
        check("", "[a\n\nb]: https://c.d", "[a b]: https://c.d");
        check("Content-Type: image/png", "xxxx", "");
    }

    #[test]
    fn the_beginning_of_the_version_that_people_see_is_shown() {
        let header = "Content-Type: multipart/alternative; boundary=b\n\n";
        let plain = "--b\nContent-Type: text/plain\n\nplain\n";
        let html = "--b\nContent-Type: text/html\n\n<p>html\n";
        let both = format!("{plain}{html}");
        let longer = format!("{both}{}--b--", html.replace("<p>html", "<p>other"));
        let check = |text: &str, whole: &str, truncated: bool, want: Option<&str>| {
            let structure = outline(format!("{header}{whole}").as_bytes()).structure;
            for structure in [None, Some(std::sync::Arc::new(structure))] {
                let known = structure.is_some() || !truncated;
                let prefix = TextPrefix {
                    truncated,
                    structure,
                    ..prefix(header, text)
                };
                let found = snippet(&prefix, 60).map(|found| found.text);
                let found = found.as_deref().filter(|text| !text.is_empty());
                assert_eq!(found, want.filter(|_| known), "{text}");
            }
        };
        check(&both, &both, false, Some("html"));
        // A style sheet that is not here yet may hide it.
        check(&both, &both, true, None);
        check(plain, &both, true, None);
        check(&both, &longer, true, None);
        check(&longer, &longer, true, Some("other"));
    }

    /// Whoever may read the text may not know of attachments.
    #[test]
    fn no_attachment_is_taken_for_the_text() {
        let mixed = "Content-Type: multipart/mixed; boundary=b";
        let named = "Content-Type: text/plain; name=a.txt";
        let attached = "Content-Type: text/plain\r\nContent-Disposition: attachment";
        // More parts may follow where the text was cut.
        check(mixed, &format!("--b\n{named}\n\nnot this"), "");
        check(mixed, &format!("--b\n{attached}\n\nnot this"), "");
        check(
            mixed,
            &format!("--b\nContent-Type: multipart/mixed; boundary=c\n\n--c\n{named}\n\nnot this"),
            "",
        );
        check(attached, "not this", "");
        // A message without parts has one text, whatever its name.
        check(named, "the text", "the text");
        let whole = TextPrefix {
            truncated: false,
            ..prefix(mixed, format!("--b\n{named}\n\nthe text\n--b--"))
        };
        assert_eq!(snippet(&whole, 60).unwrap().text, "the text");
    }

    #[test]
    fn long_text_is_cut_at_a_word() {
        let found = snippet(&prefix("", "word ".repeat(100)), 52).unwrap().text;
        assert!(found.ends_with("word…"), "{found}");
        assert!(found.chars().count() <= 52);
        let found = snippet(&prefix("", "ä".repeat(100)), 50).unwrap().text;
        assert_eq!(found.chars().count(), 50);
    }

    #[test]
    fn what_is_left_out_is_said() {
        for (text, changed) in [
            ("<p>seen", false),
            ("<p>seen<p style='display:none'>not seen", true),
            ("<p>se\u{200b}en", true),
            ("<p>&lt;|im_start|&gt;", true),
        ] {
            let prefix = TextPrefix {
                truncated: false,
                ..prefix("Content-Type: text/html; charset=utf-8", text)
            };
            let found = snippet(&prefix, 60).unwrap();
            let altered = found.hidden > 0 || !found.changes.is_empty();
            assert_eq!(altered, changed, "{text}");
        }
    }

    #[test]
    fn html_without_its_end_shows_nothing() {
        let page = "<p class=x>EVIL</p><p>shown</p><style>.x{display:none}</style>";
        let of = |truncated| {
            let header = "Content-Type: text/html";
            let prefix = TextPrefix {
                truncated,
                ..prefix(header, page)
            };
            snippet(&prefix, 60).unwrap()
        };
        assert_eq!(of(false).text, "shown");
        let cut = of(true);
        assert_eq!((cut.text.as_str(), cut.hidden), ("", 9));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_fall(header: String, text: Vec<u8>, max in 0_usize..600) {
            if let Some(found) = snippet(&prefix(&header, text), max) {
                prop_assert!(found.text.chars().count() <= max);
            }
        }
    }
}
