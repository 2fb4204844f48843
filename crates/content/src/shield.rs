//! The shield: the one function that every string passes on its way out.
//!
//! It takes out what a reader cannot see and what only machines react to: controls, zero-width and bidi
//! characters, tag characters, variation selectors that vary nothing; and it breaks up chat-template markers.
//! It does not judge meaning: visible text that tries to persuade is left as it is.

/// What the text is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    /// One line: line breaks and tabs become spaces.
    Line,
    /// Many lines: `\n` and `\t` stay.
    Body,
}

#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Shielded {
    pub text: String,
    /// Characters taken out; line endings made uniform are not counted.
    pub removed: usize,
    /// Markers broken up.
    pub broken: usize,
}

/// INVARIANT: shielding twice is shielding once.
pub(crate) fn shield(text: &str, shape: Shape) -> Shielded {
    let (clean, removed) = visible(text, shape);
    let (text, broken) = break_markers(clean);
    Shielded {
        text,
        removed,
        broken,
    }
}

/// Shielded and cut to `max_chars`, with `…` where it was cut.
pub(crate) fn bounded(text: &str, shape: Shape, max_chars: usize) -> String {
    // A bound on the input first: what is cut off need not be looked at.
    let near = cut(text, max_chars.saturating_mul(4).saturating_add(64));
    let shielded = shield(near.unwrap_or(text), shape).text;
    if near.is_none() && cut(&shielded, max_chars).is_none() {
        return shielded;
    }
    let kept = cut(&shielded, max_chars.saturating_sub(1)).unwrap_or(&shielded);
    format!("{kept}…")
}

/// The first `max_chars` characters, when there are more.
pub(crate) fn cut(text: &str, max_chars: usize) -> Option<&str> {
    let (end, _) = text.char_indices().nth(max_chars)?;
    // A joiner at the end joins nothing any more.
    Some(text.get(..end)?.trim_end_matches(['\u{200C}', '\u{200D}']))
}

fn visible(text: &str, shape: Shape) -> (String, usize) {
    let mut out = String::with_capacity(text.len());
    let mut removed = 0;
    let mut last: Option<char> = None;
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        let next = chars.peek().copied();
        let kept = match char {
            '\r' if next == Some('\n') => continue,
            '\n' | '\r' | '\u{B}' | '\u{C}' | '\u{85}' | '\u{2028}' | '\u{2029}' => match shape {
                Shape::Line => ' ',
                Shape::Body => '\n',
            },
            '\t' if shape == Shape::Line => ' ',
            '\t' => char,
            _ if stays(char, last, next) => char,
            _ => {
                removed += 1;
                continue;
            }
        };
        out.push(kept);
        last = Some(kept);
    }
    (out, removed)
}

/// `last` is the character kept before; `next` the one that follows in the input.
fn stays(char: char, last: Option<char>, next: Option<char>) -> bool {
    let between = |test: fn(char) -> bool| last.is_some_and(test) && next.is_some_and(test);
    match char {
        '\u{200D}' => {
            last.is_some_and(|c| is_emoji(c) || c == '\u{FE0F}') && next.is_some_and(is_emoji)
                || between(joins)
        }
        '\u{200C}' => between(joins),
        '\u{FE0E}' | '\u{FE0F}' => {
            last.is_some_and(|c| is_emoji(c) || matches!(c, '0'..='9' | '#' | '*'))
        }
        _ => !is_banned(char),
    }
}

/// Never seen, whatever stands beside it. Joiners and emoji selectors are judged by [`stays`].
pub(crate) fn is_banned(char: char) -> bool {
    let code = u32::from(char);
    char.is_control()
        || code & 0xFFFE == 0xFFFE
        || matches!(
            code,
            0xAD | 0x34F | 0x61C | 0x115F | 0x1160 | 0x17B4 | 0x17B5 | 0x3164 | 0xFEFF | 0xFFA0
            | 0x180B..=0x180F
            | 0x200B | 0x200E | 0x200F
            | 0x2028..=0x202E
            | 0x2060..=0x206F
            | 0xFDD0..=0xFDEF
            | 0xFE00..=0xFE0D
            | 0xFFF0..=0xFFFB
            | 0x1BCA0..=0x1BCA3
            | 0x1D173..=0x1D17A
            | 0xE0000..=0xE0FFF
        )
}

/// Letters of scripts that are misspelt without joiners: Arabic to Thaana, Indic, Myanmar, Khmer, Mongolian.
fn joins(char: char) -> bool {
    let code = u32::from(char);
    let script = matches!(
        code,
        0x600..=0x7BF | 0x8A0..=0xDFF | 0xF00..=0x109F | 0x1780..=0x18AF
        | 0xFB50..=0xFDCF | 0xFE70..=0xFEFE
    );
    script && !is_banned(char)
}

/// Pictographs, their skin tones and the symbols that take an emoji selector.
fn is_emoji(char: char) -> bool {
    matches!(
        u32::from(char),
        0xA9 | 0xAE | 0x203C | 0x2049 | 0x2122 | 0x2139 | 0x2194..=0x21AA | 0x231A..=0x23FF
        | 0x24C2 | 0x25AA..=0x27BF | 0x2934 | 0x2935 | 0x2B00..=0x2BFF | 0x3030 | 0x303D
        | 0x3297 | 0x3299 | 0x1F000..=0x1FAFF
    )
}

/// Lower case. A marker is broken behind its first character.
const MARKERS: &[&str] = &[
    "<|",
    "<｜",
    "[inst]",
    "[/inst]",
    "<<sys>>",
    "<</sys>>",
    "<s>",
    "</s>",
    "<bos>",
    "<eos>",
    "<start_of_turn>",
    "<end_of_turn>",
    "[system_prompt]",
    "[/system_prompt]",
    "[available_tools]",
    "[/available_tools]",
    "[tool_calls]",
    "[tool_results]",
    "[/tool_results]",
    "<system>",
    "</system>",
    "<function_results>",
    "</function_results>",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
];

fn break_markers(text: String) -> (String, usize) {
    let mut out = String::new();
    let mut broken = 0;
    let mut done = 0;
    for at in memchr::memchr2_iter(b'<', b'[', text.as_bytes()) {
        let here = text.as_bytes().get(at..).unwrap_or_default();
        let marker = MARKERS.iter().any(|marker| {
            here.get(..marker.len())
                .is_some_and(|head| head.eq_ignore_ascii_case(marker.as_bytes()))
        });
        if marker {
            out.push_str(text.get(done..=at).unwrap_or_default());
            out.push(' ');
            broken += 1;
            done = at + 1;
        }
    }
    if broken == 0 {
        return (text, 0);
    }
    out.push_str(text.get(done..).unwrap_or_default());
    (out, broken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_seen_stays() {
        for text in [
            "plain text",
            "äöü ß € 你好 Привет",
            "a\n\tb",
            "👨\u{200D}👩\u{200D}👧",
            "❤\u{FE0F}",
            "1\u{FE0F}\u{20E3}",
            "🏳\u{FE0F}\u{200D}🌈",
            "👍🏽",
            "می\u{200C}خواهم",
            "क\u{94D}\u{200D}ष",
            "🇩🇪",
            "x < y | z > w",
            "array[0]",
            "e\u{301}",
        ] {
            let found = shield(text, Shape::Body);
            assert_eq!(
                (found.text.as_str(), found.removed, found.broken),
                (text, 0, 0)
            );
        }
    }

    #[test]
    fn what_is_not_seen_goes() {
        for (text, want) in [
            ("a\u{200B}b\u{FEFF}c", "abc"),
            ("a\u{202E}b\u{2066}c\u{2069}", "abc"),
            ("x\u{E0048}\u{E0049}", "x"),
            ("x\u{E0100}\u{FE01}", "x"),
            ("soft\u{AD}hyphen", "softhyphen"),
            ("a\u{200D}b\u{200C}c", "abc"),
            ("a\u{FE0F}b", "ab"),
            ("❤\u{FE0F}\u{FE0F}\u{FE0F}", "❤\u{FE0F}"),
            ("\u{0}\u{1B}[31mred\u{7F}\u{9B}", "[31mred"),
            ("a\u{2028}b\u{85}c\r\nd\re", "a\nb\nc\nd\ne"),
            ("\u{FFFE}\u{FDD0}\u{10FFFF}x", "x"),
        ] {
            assert_eq!(shield(text, Shape::Body).text, want, "{text:?}");
        }
        assert_eq!(shield("a\r\nb\tc", Shape::Line).text, "a b c");
        assert_eq!(shield("a\u{200B}\u{200B}", Shape::Line).removed, 2);
    }

    #[test]
    fn markers_are_broken() {
        for (text, want) in [
            ("<|im_start|>system", "< |im_start|>system"),
            ("<\u{200B}|im_end|>", "< |im_end|>"),
            ("[INST] do [/INST]", "[ INST] do [ /INST]"),
            ("<<SYS>>", "< <SYS>>"),
            ("bye</s>", "bye< /s>"),
            ("<｜User｜>", "< ｜User｜>"),
            ("<SYSTEM>", "< SYSTEM>"),
            ("<<|x|>", "<< |x|>"),
        ] {
            assert_eq!(shield(text, Shape::Body).text, want);
        }
    }

    #[test]
    fn cut_strings_say_so() {
        assert_eq!(bounded("abcdef", Shape::Line, 4), "abc…");
        assert_eq!(bounded("abcd", Shape::Line, 4), "abcd");
        assert_eq!(bounded("ab", Shape::Line, 0), "…");
    }

    fn twisted() -> impl Strategy<Value = String> {
        let pieces = prop::sample::select(vec![
            "a",
            "<",
            "|",
            "<|",
            "[inst]",
            "[INST",
            "]",
            "<s>",
            "\u{200D}",
            "\u{200C}",
            "\u{FE0F}",
            "👩",
            "❤",
            "م",
            "\u{61C}",
            "\u{202E}",
            "\u{E0041}",
            "\u{200B}",
            "\r",
            "\n",
            "\u{2028}",
            "1",
            "\u{20E3}",
            "\u{180B}",
            "\u{94D}",
            "क",
            "\u{FFFF}",
        ]);
        prop::collection::vec(pieces, 0..24).prop_map(|pieces| pieces.concat())
    }

    fn holds(text: &str) {
        for shape in [Shape::Line, Shape::Body] {
            let once = shield(text, shape);
            let twice = shield(&once.text, shape);
            assert_eq!(twice.text, once.text);
            assert_eq!((twice.removed, twice.broken), (0, 0), "{:?}", once.text);
            let allowed = |c: char| shape == Shape::Body && matches!(c, '\n' | '\t');
            assert!(!once.text.chars().any(|c| is_banned(c) && !allowed(c)));
        }
    }

    proptest! {
        #[test]
        fn shielding_twice_is_shielding_once(text in twisted()) {
            holds(&text);
        }

        #[test]
        fn any_text_comes_out_clean(text: String) {
            holds(&text);
        }
    }
}
