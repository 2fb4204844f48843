//! Plain text of a part: transfer encoding and charset undone, flowed lines unwrapped.

use mail::{Flow, Leaf};

use crate::charset::{self, Decoded};
use crate::outline::Completeness;
use crate::roles::is_html;
use crate::transfer;
use crate::uncertain::Edits;

/// The text of a leaf. HTML may declare its charset itself.
pub(crate) fn of_leaf(leaf: &Leaf, bytes: &[u8], whole: Completeness) -> Decoded {
    let bytes = transfer::decode(bytes, &leaf.encoding);
    let charset = leaf.charset.as_deref();
    if is_html(leaf) {
        charset::decode_html(&bytes, charset, whole)
    } else {
        charset::decode(&bytes, charset, whole)
    }
}

/// The text of a part's bytes; they may end anywhere.
pub(crate) fn decode(
    bytes: &[u8],
    encoding: &str,
    charset: Option<&str>,
    whole: Completeness,
) -> Decoded {
    charset::decode(&transfer::decode(bytes, encoding), charset, whole)
}

/// `format=flowed` undone (RFC 3676): soft line breaks joined, stuffed spaces removed.
pub(crate) fn unflow(text: &str, flow: Flow) -> String {
    let mut out = String::with_capacity(text.len());
    let mut open: Option<usize> = None;
    for line in text.lines() {
        let content = line.trim_start_matches('>');
        let depth = line.len() - content.len();
        let content = content.strip_prefix(' ').unwrap_or(content);
        let signature = content == "-- ";
        if open != Some(depth) || signature {
            if open.is_some() {
                out.push('\n');
            }
            out.extend(std::iter::repeat_n('>', depth));
            if depth > 0 && !content.is_empty() {
                out.push(' ');
            }
        }
        open = (content.ends_with(' ') && !signature).then_some(depth);
        let kept = match (open, flow) {
            (Some(_), Flow::FlowedDelSp) => content.strip_suffix(' ').unwrap_or(content),
            _ => content,
        };
        out.push_str(kept);
        if open.is_none() {
            out.push('\n');
        }
    }
    out
}

/// The layout of rendered text: no blanks at line ends, at most two blank lines in a row, none at
/// the edges.
pub(crate) fn tidy(text: &str) -> String {
    tidy_tracked(text).0
}

/// The same, with every place where the result differs.
pub(crate) fn tidy_tracked(text: &str) -> (String, Edits) {
    let mut out = String::with_capacity(text.len());
    let mut edits = Edits::default();
    let mut blank = 0;
    let (mut done, mut at) = (0, 0);
    for line in text.split('\n') {
        let begin = at;
        at += line.len() + 1;
        let line = line.trim_end();
        if line.is_empty() {
            blank += 1;
            continue;
        }
        let breaks = if out.is_empty() { 0 } else { 1 + blank.min(2) };
        out.extend(std::iter::repeat_n('\n', breaks));
        if begin - done != breaks {
            edits.record(done, begin - done, breaks);
        }
        out.push_str(line);
        done = begin + line.len();
        blank = 0;
    }
    if done < text.len() {
        edits.record(done, text.len() - done, 0);
    }
    (out, edits)
}

/// Plain text as it was sent, without the line ends behind its last line. Blanks alone are no text.
pub(crate) fn untouched(text: &str) -> &str {
    if text.trim().is_empty() {
        return "";
    }
    text.trim_end_matches('\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flowed_text_unwraps() {
        for (text, want) in [
            ("one \r\ntwo\r\nthree\r\n", "one two\nthree\n"),
            (
                "> one \n> two\n>> three \nfour\n",
                "> one two\n>> three \nfour\n",
            ),
            (" > no quote\n  indented\n", "> no quote\n indented\n"),
            ("bye \n-- \nAnn\n", "bye \n-- \nAnn\n"),
            ("", ""),
        ] {
            assert_eq!(unflow(text, Flow::Flowed), want, "{text:?}");
        }
        for (text, want) in [
            ("日本 \n語\n", "日本語\n"),
            ("two  \nwords\n", "two words\n"),
            ("bye\n-- \nAnn\n", "bye\n-- \nAnn\n"),
        ] {
            assert_eq!(unflow(text, Flow::FlowedDelSp), want, "{text:?}");
        }
    }

    #[test]
    fn tidy_text() {
        assert_eq!(tidy("\n\na  \n\n\n\n\nb\t\n c \n\n"), "a\n\n\nb\n c");
        assert_eq!(tidy(" \n "), "");
    }

    #[test]
    fn plain_text_keeps_every_blank() {
        for (text, want) in [
            ("\n\na  \n\n\n\n\nb\t\n c \n\n", "\n\na  \n\n\n\n\nb\t\n c "),
            ("one\n", "one"),
            ("one", "one"),
            (" \n\t\n", ""),
        ] {
            assert_eq!(untouched(text), want);
        }
    }

    #[test]
    fn prefixes_decode() {
        let found = decode(b"w6TDtsO8IGFi", "base64", Some("utf-8"), Completeness::Cut);
        assert_eq!(found.text, "äöü ab");
        let found = decode(b"w6TDt", "base64", Some("utf-8"), Completeness::Cut);
        assert_eq!(found.text, "ä");
        let found = decode(
            b"caf=C3=A",
            "quoted-printable",
            Some("utf-8"),
            Completeness::Cut,
        );
        assert_eq!(found.text, "caf");
    }
}
