//! Links, images and tags written as Markdown or HTML: text that loads, leads or hides once somebody renders it.
//!
//! Bare addresses stay: they are what they look like.

/// Elements that load, link, hide or hold such things; others count only with attributes.
const ELEMENTS: &[&str] = &[
    "a",
    "applet",
    "area",
    "audio",
    "base",
    "bgsound",
    "body",
    "button",
    "canvas",
    "details",
    "dialog",
    "div",
    "embed",
    "font",
    "form",
    "frame",
    "frameset",
    "head",
    "html",
    "iframe",
    "image",
    "img",
    "input",
    "link",
    "map",
    "marquee",
    "math",
    "meta",
    "noembed",
    "noframes",
    "noscript",
    "object",
    "option",
    "p",
    "param",
    "picture",
    "plaintext",
    "portal",
    "script",
    "select",
    "slot",
    "source",
    "span",
    "style",
    "summary",
    "svg",
    "table",
    "tbody",
    "td",
    "template",
    "textarea",
    "tfoot",
    "th",
    "thead",
    "title",
    "tr",
    "track",
    "use",
    "video",
    "xml",
    "xmp",
];

/// A label is at most this long (CommonMark section 4.7).
const MOST_LABEL: usize = 999;

/// Whether `<` opens an element, a comment or an autolink. `after` is what follows it.
pub(super) fn opens_element(after: &str) -> bool {
    let (closing, name) = match after.as_bytes() {
        [b'!', b'-' | b'[' | b'a'..=b'z' | b'A'..=b'Z', ..] => return true,
        [b'?', b'a'..=b'z' | b'A'..=b'Z', ..] => return true,
        [b'/', name @ ..] => (true, name),
        name => (false, name),
    };
    if !name.first().is_some_and(u8::is_ascii_alphabetic) {
        return false;
    }
    // The longest scheme has 32 characters, and no element here more.
    let length = name.iter().take(33).position(|byte| !is_name(*byte));
    let (name, rest) = match length {
        Some(length) => name.split_at_checked(length).unwrap_or((name, &[])),
        None if name.len() <= 32 => (name, &[][..]),
        None => return false,
    };
    match rest.first() {
        Some(b':') => !closing && name.len() > 1,
        None | Some(b'>') => is_element(name),
        Some(b'/') => is_element(name) || has_attribute(rest),
        // Odd blanks become plain ones where text is put on one line.
        Some(_) => {
            let rest = after.get(after.len() - rest.len()..).unwrap_or_default();
            rest.starts_with(char::is_whitespace)
                && (is_element(name) || has_attribute(rest.as_bytes()))
        }
    }
}

/// Whether `]` ends the text of a link (`](`, `][`). `after` is what follows it.
pub(super) fn ends_text(after: &[u8]) -> bool {
    matches!(after.first(), Some(b'(' | b'['))
}

/// Where the `]` stands that ends the label of a definition (`[label]: address`), when `[` at `open` begins one.
pub(super) fn definition(text: &str, open: usize) -> Option<usize> {
    let (before, label) = text.split_at_checked(open)?;
    if !begins_line(before) {
        return None;
    }
    let label = label.as_bytes();
    let mut escaped = false;
    let mut blank = false;
    for (index, byte) in label.iter().enumerate().skip(1).take(MOST_LABEL * 4) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'[' => return None,
            b']' => {
                let leads = label.get(index + 1..).is_some_and(leads_somewhere);
                return leads.then_some(open + index);
            }
            // A blank line ends the paragraph.
            b'\n' if blank => return None,
            b'\n' => blank = true,
            b' ' | b'\t' => {}
            _ => blank = false,
        }
    }
    None
}

/// Behind a label: a colon and something that is no plain word. `[PATCH]: fix it` leads nowhere.
fn leads_somewhere(after: &[u8]) -> bool {
    let Some(target) = after.strip_prefix(b":") else {
        return false;
    };
    let mut lines = 0;
    let start = target.iter().position(|byte| {
        lines += usize::from(*byte == b'\n');
        lines > 1 || !byte.is_ascii_whitespace()
    });
    let target = start
        .and_then(|start| target.get(start..))
        .unwrap_or_default();
    // A text that was cut there says no more.
    if target.starts_with("…".as_bytes()) {
        return false;
    }
    target
        .iter()
        .take_while(|byte| !byte.is_ascii_whitespace())
        .any(|byte| !byte.is_ascii_alphanumeric() && !b"-_.,!?'\"".contains(byte))
}

/// Only quote marks, list marks and blanks stand before it on its line.
fn begins_line(before: &str) -> bool {
    let mark = |c: char| {
        c != '\n' && c.is_whitespace() || matches!(c, '>' | '-' | '*' | '+' | '.' | ')' | '0'..='9')
    };
    let above = before.trim_end_matches(mark);
    above.is_empty() || above.ends_with('\n')
}

fn is_element(name: &[u8]) -> bool {
    ELEMENTS
        .iter()
        .any(|known| known.as_bytes().eq_ignore_ascii_case(name))
}

/// `rest` follows the name. Up to the next bracket, so that many brackets cost no more than one.
fn has_attribute(rest: &[u8]) -> bool {
    rest.iter()
        .take_while(|byte| !matches!(byte, b'<' | b'>'))
        .any(|byte| *byte == b'=')
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_comments_and_autolinks() {
        for after in [
            "img src=x>",
            "IMG/src=x>",
            "a>",
            "/a>",
            "p>",
            "script",
            "!-- x",
            "!DOCTYPE html>",
            "![CDATA[",
            "?xml version",
            "https://x.y>",
            "mailto:a@b.c>",
            "javascript:x>",
            "b style=x>",
            "x-y onclick=z",
            "b\u{A0}c=d>",
            "img\u{3000}src",
        ] {
            assert!(opens_element(after), "{after}");
        }
        for after in [
            "a@b.c>",
            "b>",
            "your name>",
            "3 apples",
            " img src=x>",
            "-",
            "",
            "img@x.y>",
            "x:y>",
            "!",
            "p.q@x>",
        ] {
            assert!(!opens_element(after), "{after}");
        }
    }

    #[test]
    fn definitions_stand_at_the_beginning_of_a_line() {
        for (text, want) in [
            ("[a]: https://x.y", true),
            ("text\n> 1. [a b]: <x>", true),
            ("- [a\nb]:\n //x", true),
            ("[a\\]b]: x:y", true),
            ("[a]: data&colon;x", true),
            ("\u{A0}[a]: x:y", true),
            ("[PATCH]: fix the thing", false),
            ("log [1]: https://x.y", false),
            ("[a\n\nb]: x:y", false),
            ("[a]:\n\nx:y", false),
            ("[a] : x:y", false),
            ("[a\\]: x:y", false),
            ("[a]", false),
            ("[", false),
        ] {
            let open = text.find('[').unwrap();
            assert_eq!(definition(text, open).is_some(), want, "{text}");
        }
    }
}
