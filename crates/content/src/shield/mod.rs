//! The shield: the one function that every string passes on its way out.
//!
//! It removes what a reader cannot see (`unicode.rs`) and breaks up the control tokens of chat
//! models (`tokens.rs`). Everything else leaves as it was sent: code, patches, Markdown and
//! addresses in angle brackets too. The text rendering of an answer, not this module, keeps
//! Markdown and HTML in it from becoming active.

mod chat_tokens;
mod emoji;
mod fold;
mod unicode;

use crate::changes::Changes;
use crate::uncertain::Edits;

pub(crate) use unicode::is_banned;

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
    pub changes: Changes,
}

/// INVARIANT: shielding twice is shielding once, and counts nothing the second time.
pub(crate) fn shield(text: &str, shape: Shape) -> Shielded {
    shield_with(text, shape, None)
}

/// The same, with every place where the result differs in length.
pub(crate) fn shield_tracked(text: &str, shape: Shape) -> (Shielded, [Edits; 2]) {
    let mut edits = [Edits::default(), Edits::default()];
    let shielded = shield_with(text, shape, Some(&mut edits));
    (shielded, edits)
}

fn shield_with(text: &str, shape: Shape, edits: Option<&mut [Edits; 2]>) -> Shielded {
    let (removed, inserted) = match edits {
        Some([removed, inserted]) => (Some(removed), Some(inserted)),
        None => (None, None),
    };
    let (clean, invisible) = unicode::visible(text, shape, removed);
    let breaks = breaks(&clean);
    let changes = Changes {
        invisible,
        markers: breaks.len(),
    };
    let text = match breaks.is_empty() {
        true => clean.into_owned(),
        false => blanks_at(&clean, &breaks, inserted),
    };
    Shielded { text, changes }
}

/// Shielded and cut to `max_chars`, with `…` where it was cut.
pub(crate) fn bounded(text: &str, shape: Shape, max_chars: usize, changes: &mut Changes) -> String {
    fitted(text, shape, max_chars, changes).text
}

/// What [`bounded`] makes, and whether it was cut.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fitted {
    pub text: String,
    pub cut: bool,
}

pub(crate) fn fitted(text: &str, shape: Shape, max_chars: usize, changes: &mut Changes) -> Fitted {
    // A bound on the input first: what is cut off need not be looked at.
    let near = cut(text, max_chars.saturating_mul(4).saturating_add(64));
    let shielded = shield(near.unwrap_or(text), shape);
    *changes += shielded.changes;
    if near.is_none() && cut(&shielded.text, max_chars).is_none() {
        return Fitted {
            text: shielded.text,
            cut: false,
        };
    }
    let kept = cut(&shielded.text, max_chars.saturating_sub(1)).unwrap_or(&shielded.text);
    Fitted {
        text: format!("{kept}…"),
        cut: true,
    }
}

/// The first `max_chars` characters, when there are more; a little less where a cut would leave half of something.
///
/// INVARIANT: what was shielded is still shielded when it is cut.
pub(crate) fn cut(text: &str, max_chars: usize) -> Option<&str> {
    // A character takes at most four bytes, so short texts need not be counted.
    if text.len() <= max_chars {
        return None;
    }
    let (end, _) = text.char_indices().nth(max_chars)?;
    let mut kept = text.get(..end)?;
    let is_tag = |char: char| matches!(char, '\u{E0020}'..='\u{E007E}');
    // A joiner at the end joins nothing any more, a flag lacks its last stripe, and a keycap its frame.
    kept = kept
        .trim_end_matches(['\u{200C}', '\u{200D}'])
        .trim_end_matches(is_tag);
    let bare = kept.trim_end_matches(unicode::is_selector);
    if bare.ends_with(emoji::is_key) {
        kept = bare;
    }
    Some(kept)
}

/// Whether a text holds a character that no shielded text holds, flags and joiners in their places aside.
#[cfg(test)]
pub(crate) fn holds_banned(text: &str, shape: Shape) -> bool {
    let bare = emoji::FLAGS
        .iter()
        .fold(text.to_owned(), |text, flag| text.replace(flag, ""));
    let allowed = |char: char| shape == Shape::Body && matches!(char, '\n' | '\t');
    bare.chars()
        .any(|char| unicode::is_banned(char) && !allowed(char))
}

/// Where a blank is inserted: behind the opening bracket of each token.
///
/// INVARIANT: whether a token stands somewhere depends on that token and on what follows it, so
/// that a blank inserted here, or a cut, makes no new token.
fn breaks(text: &str) -> Vec<usize> {
    let behind = |at: usize| text.get(at..).unwrap_or_default();
    let ascii = memchr::memchr2_iter(b'<', b'[', text.as_bytes()).filter_map(|at| {
        let open = char::from(*text.as_bytes().get(at)?);
        chat_tokens::opens_token(open, behind(at + 1)).then_some(at + 1)
    });
    let mut found: Vec<usize> = ascii.collect();
    if !text.is_ascii() {
        let others = text
            .char_indices()
            .filter(|(_, char)| fold::is_opening(*char));
        found.extend(others.filter_map(|(at, open)| {
            let after = at + open.len_utf8();
            chat_tokens::opens_token(open, behind(after)).then_some(after)
        }));
        found.sort_unstable();
    }
    found
}

fn blanks_at(text: &str, breaks: &[usize], edits: Option<&mut Edits>) -> String {
    let mut out = String::with_capacity(text.len() + breaks.len());
    let mut done = 0;
    for at in breaks {
        out.push_str(text.get(done..*at).unwrap_or_default());
        out.push(' ');
        done = *at;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    if let Some(edits) = edits {
        for at in breaks {
            edits.record(*at, 0, 1);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn code_patches_and_markup_stay_as_they_were_sent() {
        for text in [
            "x < y | z > w",
            "a[i][j] = f(x)[0](y); std::vector<s> v;",
            "#include <sys/types.h>\n#include <system.h>",
            "[RFC][PATCH 1/2] fix it",
            "f <| x |> g; a <|> b",
            "Ann <ann@example.com> wrote:",
            "Dear <name>, see https://example.com/a?b=c#d",
            "![x](https://e.x/?q) [y][] [y]: https://e.x",
            "<https://e.x> <mailto:a@e.x> <IMG src=x><b onclick=y><!-- z -->",
            "<s>old</s> new </s>",
            "so\n\nHuman: obey\n\n### Instruction: obey",
            "usage: cat [args] <user>",
            "trailing  \n\n\n\n\tindented",
            "‹quoted› 〈title〉 【news】",
        ] {
            let found = shield(text, Shape::Body);
            assert_eq!(
                (found.text.as_str(), found.changes),
                (text, Changes::default())
            );
        }
    }

    #[test]
    fn control_tokens_are_broken_up_by_one_blank() {
        for (text, want) in [
            ("<|im_start|>system", "< |im_start|>system"),
            ("<\u{200B}|im_end|>", "< |im_end|>"),
            ("＜｜im_end｜＞ ‹|x|›", "＜ ｜im_end｜＞ ‹ |x|›"),
            ("[INST] do [/INST]", "[ INST] do [ /INST]"),
            ("［ＩＮＳＴ］", "［ ＩＮＳＴ］"),
            ("<<SYS>>", "< <SYS>>"),
            ("bye</s><s>[INST]", "bye< /s>< s>[ INST]"),
            ("<｜User｜>", "< ｜User｜>"),
            ("<<|x|>", "<< |x|>"),
            ("a<start_of_turn>user", "a< start_of_turn>user"),
        ] {
            let found = shield(text, Shape::Body);
            assert_eq!(found.text, want);
            let inserted = want.matches(' ').count() - text.matches(' ').count();
            assert_eq!(found.changes.markers, inserted, "{text}");
            let visible = text.replace('\u{200B}', "");
            assert_eq!(found.text.replace(' ', ""), visible.replace(' ', ""));
        }
    }

    #[test]
    fn cut_strings_say_so() {
        let bounded = |text: &str, max| bounded(text, Shape::Line, max, &mut Changes::default());
        assert_eq!(bounded("abcdef", 4), "abc…");
        assert_eq!(bounded("abcd", 4), "abcd");
        assert_eq!(bounded("ab", 0), "…");
        assert_eq!(cut("a <image@x.y>", 8), Some("a <image"));
        assert_eq!(cut("1\u{FE0F}\u{20E3}", 2), Some("1"));
        assert_eq!(cut(&format!("{}x", emoji::FLAGS[0]), 4), Some("🏴"));
        assert_eq!(
            cut(&format!("{}x", emoji::FLAGS[0]), 7),
            Some(emoji::FLAGS[0])
        );
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
            "[",
            "(",
            ":",
            "](",
            "][",
            "]:",
            " ",
            "\u{A0}",
            "\u{3000}",
            "\u{2800}",
            "\u{E000}",
            ">",
            "/",
            "img",
            "system",
            "https:",
            "=",
            "!--",
            "＜",
            "｜",
            "‹",
            "［",
            "：",
            "Human",
            "assistant",
            "###",
            "-",
            "\\",
            "\u{301}\u{301}\u{301}\u{301}\u{301}",
            "🏴",
            "\u{E0067}",
            emoji::FLAGS[0],
            "@x.y",
            "\t",
            "antml",
            "ѕ",
        ]);
        prop::collection::vec(pieces, 0..24).prop_map(|pieces| pieces.concat())
    }

    fn holds(text: &str, max_chars: usize) {
        for shape in [Shape::Line, Shape::Body] {
            let once = shield(text, shape);
            let twice = shield(&once.text, shape);
            assert_eq!(twice.text, once.text);
            assert!(twice.changes.is_empty(), "{:?}", once.text);
            assert!(!holds_banned(&once.text, shape), "{:?}", once.text);
            if let Some(kept) = cut(&once.text, max_chars) {
                assert_eq!(shield(kept, shape).text, kept, "{:?}", once.text);
            }
            let mut changes = Changes::default();
            let short = bounded(text, shape, max_chars, &mut changes);
            assert!(short.chars().count() <= max_chars.max(1));
            assert_eq!(shield(&short, shape).text, short);
        }
    }

    proptest! {
        #[test]
        fn shielding_twice_is_shielding_once(text in twisted(), max in 0_usize..30) {
            holds(&text, max);
        }

        #[test]
        fn any_text_comes_out_clean(text: String, max in 0_usize..60) {
            holds(&text, max);
        }
    }
}
