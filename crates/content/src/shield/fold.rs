//! Characters as a reader takes them: full-width forms, styled letters and look-alikes read as plain ASCII.
//!
//! Only for comparing. What is shown keeps its characters.

use unicode_normalization::char::decompose_compatible;
use unicode_security::skeleton;

/// In no table of look-alikes, or there as something else.
const BRACKETS: [(char, char); 31] = [
    ('‹', '<'),
    ('〈', '<'),
    ('⟨', '<'),
    ('\u{2329}', '<'),
    ('˂', '<'),
    ('ᐸ', '<'),
    ('❮', '<'),
    ('❰', '<'),
    ('›', '>'),
    ('〉', '>'),
    ('⟩', '>'),
    ('\u{232A}', '>'),
    ('˃', '>'),
    ('ᐳ', '>'),
    ('❯', '>'),
    ('❱', '>'),
    ('【', '['),
    ('〔', '['),
    ('⟦', '['),
    ('】', ']'),
    ('〕', ']'),
    ('⟧', ']'),
    ('∣', '|'),
    ('│', '|'),
    ('┃', '|'),
    ('❘', '|'),
    ('ǀ', '|'),
    ('⏐', '|'),
    ('▁', '_'),
    ('∕', '/'),
    ('⁄', '/'),
];

/// Whether it reads as an opening bracket: cheap, for looking at every character.
pub(super) fn is_opening(char: char) -> bool {
    matches!(
        char,
        '＜' | '﹤'
            | '‹'
            | '〈'
            | '⟨'
            | '\u{2329}'
            | '˂'
            | 'ᐸ'
            | '❮'
            | '❰'
            | '［'
            | '﹇'
            | '【'
            | '〔'
            | '⟦'
    )
}

/// In lower case.
pub(super) fn fold(char: char) -> char {
    if char.is_ascii() {
        return char.to_ascii_lowercase();
    }
    if let Some((_, plain)) = BRACKETS.iter().find(|(known, _)| *known == char) {
        return *plain;
    }
    let mut plain = Single::None;
    decompose_compatible(char, |part| plain.add(part));
    if let Single::One(plain) = plain
        && plain.is_ascii()
    {
        return plain.to_ascii_lowercase();
    }
    let mut utf8 = [0; 4];
    let mut plain = Single::None;
    skeleton(char.encode_utf8(&mut utf8)).for_each(|part| plain.add(part));
    match plain {
        Single::One(plain) if plain.is_ascii_alphanumeric() => plain.to_ascii_lowercase(),
        _ => char,
    }
}

enum Single {
    None,
    One(char),
    More,
}

impl Single {
    fn add(&mut self, char: char) {
        *self = match self {
            Self::None => Self::One(char),
            Self::One(_) | Self::More => Self::More,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_alikes_read_alike() {
        for (text, want) in [
            ("＜｜ＩＭ＿ｓｔａｒｔ｜＞", "<|im_start|>"),
            ("ѕуѕtеm", "system"),
            ("𝐮𝐬𝐞𝐫 ⓤser", "user user"),
            ("Ünï 你", "Ünï 你"),
            ("﹤begin▁of", "<begin_of"),
            ("［ＩＮＳＴ］ Ｈuman：", "[inst] human:"),
        ] {
            let found: String = text.chars().map(fold).collect();
            assert_eq!(found, want);
        }
    }
}
