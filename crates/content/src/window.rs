//! The stretch of a long text that one answer shows, cut where a reader would pause.

/// A stretch of a text, counted in characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Window<'a> {
    pub text: &'a str,
    /// Where it begins, in bytes.
    pub begin: usize,
    /// Where the next stretch begins.
    pub end: usize,
    /// Characters from there on.
    pub left: usize,
}

/// At most `max_chars` characters from `offset` on. The stretches of a text together are the text, every blank of it.
pub(crate) fn window(text: &str, offset: usize, max_chars: usize) -> Window<'_> {
    let begin = byte_at(text, offset);
    let rest = text.get(begin..).unwrap_or_default();
    let total = rest.chars().count();
    let near = rest.get(..byte_at(rest, max_chars)).unwrap_or(rest);
    let mut shown = near;
    if near.len() < rest.len() {
        let (before, after) = near
            .split_at_checked(pause(near, rest))
            .unwrap_or((near, ""));
        // White space there belongs to what it ends, as far as there is room.
        let blank = after.len() - after.trim_start().len();
        shown = near.get(..before.len() + blank).unwrap_or(near);
        // A joiner at the end joins nothing: it goes with what follows.
        let joined = shown.trim_end_matches(['\u{200C}', '\u{200D}']);
        if !joined.is_empty() {
            shown = joined;
        }
    }
    let chars = shown.chars().count();
    let before = text.get(..begin).map_or(0, |before| before.chars().count());
    Window {
        text: shown,
        begin,
        end: before + chars,
        left: total - chars,
    }
}

/// Where to end within the last fifth of `near`, which `rest` goes on after: behind a paragraph, a line, a sentence
/// or a word, whichever is there first in this order.
fn pause(near: &str, rest: &str) -> usize {
    let chars = near.chars().count();
    let from = byte_at(near, chars - chars / 5);
    // A break may stand just behind the last character.
    let after = rest.get(near.len()..).unwrap_or_default();
    if after.starts_with("\n\n") {
        return near.len();
    }
    let tail = near.get(from..).unwrap_or_default();
    let behind = |found: Option<usize>, length: usize| found.map(|at| from + at + length);
    behind(tail.rfind("\n\n"), 1)
        .or_else(|| after.starts_with('\n').then_some(near.len()))
        .or_else(|| behind(tail.rfind('\n'), 1))
        .or_else(|| behind(sentence(tail), 0))
        .or_else(|| after.starts_with(' ').then_some(near.len()))
        .or_else(|| behind(tail.rfind([' ', '\t']), 1))
        .unwrap_or(near.len())
}

/// Behind the last sentence that ends in a text.
fn sentence(text: &str) -> Option<usize> {
    let wide = text
        .rfind(['。', '！', '？'])
        .map(|at| at + '。'.len_utf8());
    let narrow = [". ", "! ", "? "]
        .iter()
        .filter_map(|end| text.rfind(end).map(|at| at + 1));
    narrow.chain(wide).max()
}

fn byte_at(text: &str, chars: usize) -> usize {
    text.char_indices()
        .nth(chars)
        .map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn texts_end_where_a_reader_would_pause() {
        for (text, max, want) in [
            ("short", 100, "short"),
            ("one two three four five", 20, "one two three four "),
            ("One two three. Four five", 17, "One two three. "),
            ("One two.\nThree four. Five", 21, "One two.\nThree four. "),
            ("a paragraph\n\nand then more", 14, "a paragraph\n\n"),
            ("abcdefghijklmnop", 10, "abcdefghij"),
            ("exactly ten\nmore", 11, "exactly ten"),
            ("", 10, ""),
        ] {
            assert_eq!(window(text, 0, max).text, want, "{text:?}");
        }
    }

    #[test]
    fn the_next_stretch_begins_where_the_last_ended() {
        let text = "First part here.\n\nSecond part here.\n\nThird.";
        let first = window(text, 0, 20);
        assert_eq!(first.text, "First part here.\n\n");
        let second = window(text, first.end, 20);
        assert_eq!(second.text, "Second part here.\n\n");
        let third = window(text, second.end, 20);
        assert_eq!((third.text, third.left), ("Third.", 0));
        assert_eq!(window(text, 999, 20).text, "");
    }

    proptest! {
        #[test]
        fn nothing_is_lost(text in "[a-zäß€\u{200D}.\\n ]{0,300}", max in 1_usize..50) {
            let mut offset = 0;
            let mut found = String::new();
            loop {
                let next = window(&text, offset, max);
                prop_assert!(next.text.chars().count() <= max);
                found.push_str(next.text);
                if next.left == 0 {
                    break;
                }
                prop_assert!(next.end > offset);
                offset = next.end;
            }
            prop_assert_eq!(found, text);
        }
    }
}
