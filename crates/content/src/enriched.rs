//! `text/enriched` (RFC 1896) and its predecessor `text/richtext` (RFC 1341) as plain text.

use std::ops::Range;

/// RFC 1896: a name of a command has at most so many characters.
const MAX_COMMAND_CHARS: usize = 60;

/// Commands and their parameters removed; a single line break is a space, of several one is
/// dropped. The ranges are text in a colour of its own: it may be that of the page.
pub(crate) fn enriched(text: &str) -> (String, Vec<Range<usize>>) {
    let mut out = String::with_capacity(text.len());
    let mut colored = Vec::new();
    let (mut depth, mut color_start) = (0_usize, 0);
    let mut unfilled = 0_usize;
    let mut params = EndSearch::new("</param>");
    let mut rest = text;
    while let Some(at) = rest.find(['<', '\n', '\r']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        if let Some(after) = from.strip_prefix("<<") {
            out.push('<');
            rest = after;
        } else if let Some((command, after)) = command(from) {
            rest = after;
            match command.as_str() {
                "param" => rest = params.behind(after).unwrap_or(after),
                "nofill" => unfilled += 1,
                "/nofill" => unfilled = unfilled.saturating_sub(1),
                "color" => {
                    if depth == 0 {
                        color_start = out.len();
                    }
                    depth += 1;
                }
                "/color" if depth > 0 => {
                    depth -= 1;
                    if depth == 0 {
                        colored.push(color_start..out.len());
                    }
                }
                _ => {}
            }
        } else if from.starts_with('<') {
            out.push('<');
            rest = from.get(1..).unwrap_or_default();
        } else {
            let (breaks, after) = line_breaks(from);
            rest = after;
            match (breaks, unfilled) {
                (1, 0) => out.push(' '),
                (several, 0) => out.extend(std::iter::repeat_n('\n', several.saturating_sub(1))),
                (all, _) => out.extend(std::iter::repeat_n('\n', all)),
            }
        }
    }
    out.push_str(rest);
    if depth > 0 {
        colored.push(color_start..out.len());
    }
    (out, colored)
}

/// Commands and comments removed; line breaks are commands too.
pub(crate) fn richtext(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut comments = EndSearch::new("</comment>");
    let mut rest = text;
    while let Some(at) = rest.find(['<', '\n', '\r']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        if let Some((command, after)) = command(from) {
            rest = after;
            match command.as_str() {
                "lt" => out.push('<'),
                "nl" | "np" | "paragraph" | "/paragraph" => out.push('\n'),
                "comment" => rest = comments.behind(after).unwrap_or(after),
                _ => {}
            }
        } else if from.starts_with('<') {
            out.push('<');
            rest = from.get(1..).unwrap_or_default();
        } else {
            (_, rest) = line_breaks(from);
            out.push(' ');
        }
    }
    out.push_str(rest);
    out
}

/// The command at the beginning, in lower case, and what follows it.
fn command(text: &str) -> Option<(String, &str)> {
    let inside = text.strip_prefix('<')?;
    let name = inside.strip_prefix('/').unwrap_or(inside);
    let end = name
        .bytes()
        .take(MAX_COMMAND_CHARS + 1)
        .position(|byte| !byte.is_ascii_alphanumeric() && byte != b'-')?;
    let after = name.get(end..)?.strip_prefix('>')?;
    let length = inside.len() - after.len() - 1;
    let command = inside.get(..length)?.to_ascii_lowercase();
    (end > 0).then_some((command, after))
}

/// How many line breaks stand at the beginning, and what follows them.
fn line_breaks(text: &str) -> (usize, &str) {
    let after = text.trim_start_matches(['\r', '\n']);
    let breaks = text.get(..text.len() - after.len()).unwrap_or_default();
    let count = breaks.bytes().filter(|byte| *byte == b'\n').count();
    // A lone carriage return is an old line break.
    (count.max(1), after)
}

/// Where stretches that are not shown end. A text without such an end is searched once.
struct EndSearch {
    end: &'static str,
    is_missing: bool,
}

impl EndSearch {
    fn new(end: &'static str) -> Self {
        let is_missing = false;
        Self { end, is_missing }
    }

    /// What follows the next end.
    fn behind<'a>(&mut self, rest: &'a str) -> Option<&'a str> {
        if self.is_missing {
            return None;
        }
        let found = rest
            .match_indices('<')
            .filter_map(|(at, _)| rest.get(at..at + self.end.len()).map(|end| (at, end)))
            .find(|(_, end)| end.eq_ignore_ascii_case(self.end));
        self.is_missing = found.is_none();
        rest.get(found?.0 + self.end.len()..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn enriched_text_is_decoded() {
        for (text, want) in [
            ("<bold>Now</bold> is the time", "Now is the time"),
            // RFC 1896 section 3: one line break is a space, two are one.
            (
                "one\r\ntwo\r\n\r\nthree\n\n\nfour",
                "one two\nthree\n\nfour",
            ),
            ("a << b <<c>", "a < b <c>"),
            (
                "<color><param>red</param>seen</color> <FONTFAMILY><PARAM>x y</PARAM>too</fontfamily>",
                "seen too",
            ),
            ("<nofill>a\nb\n\nc</nofill>\nd", "a\nb\n\nc d"),
            (
                "if (a < b) <not a command> </>",
                "if (a < b) <not a command> </>",
            ),
            ("<param>never closed", "never closed"),
            ("<param>a<param>b</param>c", "c"),
            ("", ""),
            ("<", "<"),
            ("ends in <bold", "ends in <bold"),
        ] {
            assert_eq!(enriched(text).0, want, "{text:?}");
        }
    }

    #[test]
    fn text_in_a_color_is_found() {
        for (text, want) in [
            ("a <color><param>white</param>b</color> c", vec!["b"]),
            (
                "<color>a<color>b</color>c</color>d<COLOR>e",
                vec!["abc", "e"],
            ),
            ("a</color>b", vec![]),
        ] {
            let (shown, colored) = enriched(text);
            let found: Vec<&str> = colored
                .into_iter()
                .filter_map(|range| shown.get(range))
                .collect();
            assert_eq!(found, want, "{text}");
        }
    }

    #[test]
    fn richtext_is_decoded() {
        for (text, want) in [
            ("<bold>a</bold>\r\nb<nl>c", "a b\nc"),
            ("a <lt> b<comment>not seen</comment>.", "a < b."),
            ("a<paragraph>b</paragraph>", "a\nb\n"),
            ("a << b", "a << b"),
        ] {
            assert_eq!(richtext(text), want, "{text:?}");
        }
    }

    #[test]
    fn hostile_text_is_decoded_in_linear_time() {
        for piece in [
            "<param>",
            "<comment>",
            "<",
            "<a",
            "\r",
            "<<",
            "<param></param>",
        ] {
            let text = piece.repeat(300_000);
            enriched(&text);
            richtext(&text);
        }
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(pieces in prop::collection::vec(prop::sample::select(vec![
            "<", "<<", ">", "<bold>", "<param>", "</param>", "\n", "\r\n", "ä", "word", "<nofill>",
            "</nofill>", "<comment>", "</comment>", "<lt>",
        ]), 0..40)) {
            enriched(&pieces.concat());
            richtext(&pieces.concat());
        }
    }
}
