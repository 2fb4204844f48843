//! Chat-template markers: text that only a language model reacts to.
//!
//! Each test looks at one place and at a bounded stretch around it. A marker with a blank behind its bracket, or
//! before its colon, is none any more; that is how they are broken.

use super::Shape;
use super::fold::fold;

/// Read behind an opening bracket before giving up.
const MOST_NAME: usize = 40;

/// What stands in angle brackets in the templates of one model or another, `_` and `-` left out.
const TAGS: &[&str] = &[
    "assistant",
    "beginoftext",
    "bos",
    "developer",
    "endofsentence",
    "endoftext",
    "endofturn",
    "endofutterance",
    "eos",
    "eotid",
    "function",
    "functioncall",
    "functioncalls",
    "functionresponse",
    "functionresult",
    "functionresults",
    "functions",
    "human",
    "imend",
    "imstart",
    "inst",
    "instruction",
    "instructions",
    "invoke",
    "parameter",
    "reasoning",
    "s",
    "startofturn",
    "sys",
    "system",
    "systemmessage",
    "systemprompt",
    "systemreminder",
    "think",
    "thinking",
    "tool",
    "toolcall",
    "toolcalls",
    "tooloutput",
    "toolresponse",
    "toolresponses",
    "toolresult",
    "toolresults",
    "tools",
    "tooluse",
    "user",
];

/// The same for square brackets.
const BLOCKS: &[&str] = &[
    "availabletools",
    "inst",
    "systemprompt",
    "sys",
    "think",
    "toolcalls",
    "toolcontent",
    "toolresults",
];

/// A namespace that is a marker whatever follows it.
const NAMESPACE: &str = "antml";

/// Speakers that begin a paragraph.
const SPEAKERS: &[&str] = &["human", "assistant", "system"];
/// Heads behind `##` or `###`.
const HEADS: &[&str] = &[
    "assistant",
    "human",
    "instruction",
    "instructions",
    "response",
    "system",
    "user",
];

/// Whether an angle bracket, or what looks like one, opens a marker. `after` is what follows it.
pub(super) fn opens_tag(after: &str) -> bool {
    let mut chars = after.chars().map(fold).peekable();
    if chars.peek() == Some(&'|') {
        return true;
    }
    let Some(name) = Name::read(chars) else {
        return false;
    };
    let ends = name
        .end
        .is_none_or(|end| end.is_whitespace() || matches!(end, '>' | '/' | '='));
    name.space.is_some_and(|space| space.as_str() == NAMESPACE)
        || ends && TAGS.contains(&name.local.as_str())
}

/// The same for a square bracket.
pub(super) fn opens_block(after: &str) -> bool {
    Name::read(after.chars().map(fold))
        .is_some_and(|name| name.end == Some(']') && BLOCKS.contains(&name.local.as_str()))
}

/// Whether a colon ends a head such as `Human:` at the beginning of a paragraph or `### System:` on a line.
/// `before` is what precedes it.
pub(super) fn ends_head(before: &str, shape: Shape) -> bool {
    // What heads end in. There are many colons in mail, and few of these before one.
    let last = before.as_bytes().last().map(u8::to_ascii_lowercase);
    if !last.is_some_and(|byte| b"emnrst".contains(&byte) || !byte.is_ascii()) {
        return false;
    }
    let mut word: Vec<char> = Vec::new();
    let mut start = before.len();
    for (index, char) in before.char_indices().rev().take(HEAD_CHARS + 1) {
        let plain = fold(char);
        if !plain.is_ascii_alphabetic() {
            break;
        }
        word.push(plain);
        start = index;
    }
    word.reverse();
    let word: String = word.into_iter().collect();
    if !HEADS.contains(&word.as_str()) {
        return false;
    }
    let line = before.get(..start).unwrap_or_default();
    let line = line.trim_end_matches(is_gap);
    let (paragraph, hashes) = match line.trim_end_matches('#') {
        bare if bare.len() + 2 <= line.len() => (bare.trim_end_matches(is_gap), true),
        _ => (line, false),
    };
    let Some(above) = line_above(paragraph) else {
        return false;
    };
    if hashes {
        return true;
    }
    let starts = above.trim_end_matches(is_gap);
    shape == Shape::Body
        && SPEAKERS.contains(&word.as_str())
        && (starts.is_empty() || starts.ends_with('\n'))
}

const HEAD_CHARS: usize = 12;

/// What stands before this line, when nothing but that precedes it: without the line's own `\n`.
fn line_above(before: &str) -> Option<&str> {
    match before {
        "" => Some(""),
        _ => before.strip_suffix('\n'),
    }
}

fn is_gap(char: char) -> bool {
    char != '\n' && char.is_whitespace()
}

/// What stands behind an opening bracket, folded, up to what ends it.
struct Name {
    /// Before a colon.
    space: Option<Word>,
    local: Word,
    /// `None` at the end of the text.
    end: Option<char>,
}

impl Name {
    fn read(chars: impl Iterator<Item = char>) -> Option<Self> {
        let mut name = Self {
            space: None,
            local: Word::default(),
            end: None,
        };
        for (index, char) in chars.enumerate() {
            match char {
                '/' if index == 0 => {}
                '_' | '-' => {}
                ':' if name.space.is_none() => name.space = Some(std::mem::take(&mut name.local)),
                _ if char.is_ascii_alphanumeric() => name.local.push(char),
                _ => {
                    name.end = Some(char);
                    break;
                }
            }
            if index > MOST_NAME {
                return None;
            }
        }
        Some(name)
    }
}

/// A few letters. One that is longer than any in the tables is none of them, and stays empty.
#[derive(Clone, Copy, Default)]
struct Word {
    letters: [u8; 16],
    length: usize,
}

impl Word {
    fn push(&mut self, char: char) {
        let letter = u8::try_from(char).unwrap_or_default();
        if let Some(slot) = self.letters.get_mut(self.length) {
            *slot = letter;
        }
        self.length += 1;
    }

    fn as_str(&self) -> &str {
        let letters = self.letters.get(..self.length).unwrap_or_default();
        std::str::from_utf8(letters).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_what_names_become() {
        for name in TAGS.iter().chain(BLOCKS).chain(SPEAKERS).chain(HEADS) {
            assert!(name.chars().all(|c| c.is_ascii_lowercase()), "{name}");
        }
        assert!(SPEAKERS.iter().all(|name| HEADS.contains(name)));
        assert!(HEADS.iter().all(|name| name.len() <= HEAD_CHARS));
        let longest = Word::default().letters.len();
        assert!(TAGS.iter().chain(BLOCKS).all(|name| name.len() <= longest));
        assert!(
            HEADS
                .iter()
                .all(|name| ends_head(&format!("### {name}"), Shape::Line))
        );
    }

    #[test]
    fn tags_in_any_spelling() {
        for after in [
            "|im_start|>",
            "｜User｜>",
            "system>",
            "/SYSTEM>",
            "tool-result id=1>",
            "tool_use/>",
            "function=send>",
            "x:invoke name",
            "/antml:whatever>",
            "ＳＹＳＴＥＭ＞",
            "ѕуѕtеm›",
            "s>",
            "think",
        ] {
            assert!(opens_tag(after), "{after}");
        }
        for after in [
            " |im_start|>",
            "system@example.com>",
            "user.name@example.com>",
            "users>",
            "b>",
            "- x",
            "",
            "invoked>",
            "a:b>",
        ] {
            assert!(!opens_tag(after), "{after}");
        }
    }

    #[test]
    fn heads_begin_a_paragraph() {
        for (before, head) in [
            ("Human", true),
            ("text\n\nHuman", true),
            ("text\n \n  assistant", true),
            ("text\nHuman", false),
            ("The human", false),
            ("text\n\nSubhuman", false),
            ("### Instruction", true),
            ("text\n## SYSTEM", true),
            ("# system", false),
            ("text ### system", false),
            ("User", false),
            ("Ηuman", true),
            ("", false),
        ] {
            assert_eq!(ends_head(before, Shape::Body), head, "{before:?}");
        }
        assert!(!ends_head("System", Shape::Line));
        assert!(ends_head("### System", Shape::Line));
    }
}
