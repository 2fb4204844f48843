//! What a reader cannot see goes: controls, format characters, fillers, selectors and joiners that do nothing.
//!
//! Bidi controls go too: what stands behind them is shown in the order in which it was written. Variation
//! selectors other than those of emoji go, ideographic variants included: 256 of them are an alphabet.

use std::borrow::Cow;

use unicode_normalization::char::is_combining_mark;

use super::Shape;
use super::emoji::{FLAGS, is_key, is_pictograph, varies};
use crate::uncertain::Edits;

/// Marks on one letter. The densest scripts stack five or six; more are there to smear over other lines.
const MOST_MARKS: usize = 8;

/// The text without what is not seen, and how many characters were taken out or replaced. `edits`
/// takes each place where the result differs in length.
pub(super) fn visible<'a>(
    text: &'a str,
    shape: Shape,
    edits: Option<&mut Edits>,
) -> (Cow<'a, str>, usize) {
    if plain_length(text, shape) == text.len() {
        return (Cow::Borrowed(text), 0);
    }
    let mut sieve = CharacterFilter {
        shape,
        out: String::with_capacity(text.len()),
        last: None,
        marks: 0,
        changed: 0,
        edits,
    };
    sieve.run(text);
    (Cow::Owned(sieve.out), sieve.changed)
}

/// Never shown, whatever stands beside it: what Unicode calls default ignorable, format characters without a
/// glyph of their own, controls, noncharacters, fillers. Joiners, emoji selectors and the flags' tags, which
/// [`visible`] keeps where they do something, are judged there.
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
            | 0x2800 | 0x2D7F
            | 0xFDD0..=0xFDEF
            | 0xFE00..=0xFE0D
            | 0xFFF0..=0xFFFB
            | 0x1107F | 0x13430..=0x1343F | 0x16FE4 | 0x1D159
            | 0x1BCA0..=0x1BCA3
            | 0x1D173..=0x1D17A
            | 0xE0000..=0xE0FFF
        )
        || is_private(code)
}

/// How much of the beginning is ASCII that stays as it is. In chunks without branches: most mail is just that.
fn plain_length(text: &str, shape: Shape) -> usize {
    let lines = shape == Shape::Body;
    let other = |byte: u8| {
        let broken = (byte == b'\n') | (byte == b'\t');
        (byte.wrapping_sub(b' ') > b'~' - b' ') & !(lines & broken)
    };
    let mut length = 0;
    for chunk in text.as_bytes().chunks(64) {
        if chunk.iter().fold(false, |found, byte| found | other(*byte)) {
            let within = chunk.iter().position(|byte| other(*byte));
            return length + within.unwrap_or_default();
        }
        length += chunk.len();
    }
    length
}

/// INVARIANT: what is kept depends on the characters kept before it and on a next one that is kept as well, so
/// that a second pass finds nothing.
struct CharacterFilter<'e> {
    shape: Shape,
    out: String,
    /// The character kept before.
    last: Option<char>,
    /// Combining marks since the last character that is none.
    marks: usize,
    changed: usize,
    edits: Option<&'e mut Edits>,
}

impl CharacterFilter<'_> {
    fn run(&mut self, text: &str) {
        let mut rest = text;
        loop {
            let plain = plain_length(rest, self.shape);
            if let Some((kept, after)) = rest.split_at_checked(plain).filter(|_| plain > 0) {
                self.out.push_str(kept);
                self.last = kept.chars().next_back();
                self.marks = 0;
                rest = after;
            }
            rest = self.run_other(rest, text.len());
            if rest.is_empty() {
                return;
            }
        }
    }

    /// Up to the next plain ASCII; gives what is left of a text of `whole` bytes.
    fn run_other<'a>(&mut self, text: &'a str, whole: usize) -> &'a str {
        let mut rest = text;
        while let Some(char) = rest
            .chars()
            .next()
            .filter(|char| !matches!(char, ' '..='~'))
        {
            let flag = match char {
                '\u{1F3F4}' => FLAGS.iter().find(|flag| rest.starts_with(**flag)),
                _ => None,
            };
            let taken = flag.map_or(char.len_utf8(), |flag| flag.len());
            let (at, written) = (whole - rest.len(), self.out.len());
            rest = rest.get(taken..).unwrap_or_default();
            match flag {
                Some(flag) => {
                    self.out.push_str(flag);
                    self.last = Some('\u{E007F}');
                    self.marks = 0;
                }
                None => self.take(char, rest.chars().next()),
            }
            let written = self.out.len() - written;
            if let Some(edits) = self.edits.as_deref_mut().filter(|_| written != taken) {
                edits.record(at, taken, written);
            }
        }
        rest
    }

    fn take(&mut self, char: char, next: Option<char>) {
        match char {
            // Latin, Cyrillic, ideographs and Hangul: letters all, and most of what is not ASCII.
            '\u{C0}'..='\u{24F}' | '\u{400}'..='\u{481}' => self.keep(char),
            '\u{3400}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7A3}' => self.keep(char),
            '\r' if next == Some('\n') => {}
            '\n' | '\r' => self.keep(self.line_end()),
            '\u{85}' | '\u{2028}' | '\u{2029}' => self.replace(self.line_end()),
            // These end a line for some readers, and for others they do not.
            '\u{B}' | '\u{C}' => self.replace(' '),
            // It spans the Syriac letters behind it; elsewhere it has no shape.
            '\u{70F}' if !next.is_some_and(is_syriac_letter) => self.changed += 1,
            '\t' if self.shape == Shape::Line => self.keep(' '),
            '\t' => self.keep(char),
            '\u{200C}' | '\u{200D}' | '\u{FE0E}' | '\u{FE0F}' => {
                if self.selects_or_joins(char, next) {
                    self.out.push(char);
                    self.last = Some(char);
                } else {
                    self.changed += 1;
                }
            }
            // Braille's blank looks like one.
            '\u{2800}' => self.replace(' '),
            _ if is_private(u32::from(char)) => self.replace('\u{FFFD}'),
            _ if is_banned(char) => self.changed += 1,
            // One blank of an odd width between words is typography; a row of different ones is an
            // alphabet.
            _ if is_odd_blank(char)
                && self.last.is_some_and(|last| last != char && is_blank(last)) =>
            {
                self.replace(' ');
            }
            // The width of a blank says nothing that a person reads.
            _ if is_odd_blank(char) && !self.blank_belongs(char) => self.keep(' '),
            _ if is_mark(char) => self.mark(char),
            _ => self.keep(char),
        }
    }

    /// Whether a blank of its own width follows what a script has before one: the ideographic blank
    /// behind ideographs or at the beginning of a line, the narrow one behind numbers and
    /// punctuation, the Ogham one behind Ogham letters.
    ///
    /// INVARIANT: only what stands before it counts, so that a cut of shielded text is shielded.
    fn blank_belongs(&self, char: char) -> bool {
        let behind = |fits: fn(char) -> bool| self.last.is_some_and(fits);
        match char {
            '\u{3000}' => {
                self.last
                    .is_none_or(|last| matches!(last, '\n' | '\u{3000}'))
                    || behind(is_wide)
            }
            '\u{202F}' => behind(takes_narrow_blank),
            '\u{1680}' => behind(|char| matches!(char, '\u{1681}'..='\u{169C}')),
            _ => false,
        }
    }

    fn line_end(&self) -> char {
        match self.shape {
            Shape::Line => ' ',
            Shape::Body => '\n',
        }
    }

    fn keep(&mut self, char: char) {
        self.out.push(char);
        self.last = Some(char);
        self.marks = 0;
    }

    fn replace(&mut self, char: char) {
        self.changed += 1;
        self.keep(char);
    }

    fn mark(&mut self, char: char) {
        if self.marks >= MOST_MARKS {
            self.changed += 1;
            return;
        }
        self.out.push(char);
        self.last = Some(char);
        self.marks += 1;
    }

    fn selects_or_joins(&self, char: char, next: Option<char>) -> bool {
        let Some(last) = self.last else {
            return false;
        };
        let Some(next) = next else {
            return is_selector(char) && varies(last);
        };
        match char {
            '\u{FE0E}' | '\u{FE0F}' => varies(last) || is_key(last) && next == '\u{20E3}',
            '\u{200D}' if (is_pictograph(last) || is_selector(last)) && is_pictograph(next) => true,
            _ => {
                let full = self.marks >= MOST_MARKS && is_mark(next);
                let script = joining_script(last);
                script.is_some() && script == joining_script(next) && !full
            }
        }
    }
}

pub(super) fn is_selector(char: char) -> bool {
    matches!(char, '\u{FE0E}' | '\u{FE0F}')
}

/// Glyphs that only their author's font has: icons, or an alphabet of somebody's own.
fn is_private(code: u32) -> bool {
    matches!(code, 0xE000..=0xF8FF | 0xF0000..=0xFFFFD | 0x100000..=0x10FFFD)
}

/// Blanks that are neither the common one nor the one that does not break, which stand in rows in
/// ordinary mail.
fn is_odd_blank(char: char) -> bool {
    matches!(
        char,
        '\u{1680}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}'
    )
}

/// East Asian letters and punctuation.
fn is_wide(char: char) -> bool {
    matches!(
        char,
        '\u{2E80}'..='\u{2FFF}' | '\u{3001}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7A3}'
        | '\u{F900}'..='\u{FAFF}' | '\u{FF01}'..='\u{FFEE}' | '\u{20000}'..='\u{3FFFD}'
    )
}

/// French punctuation, numbers and their units, and Mongolian suffixes have a narrow blank beside
/// them.
fn takes_narrow_blank(char: char) -> bool {
    char.is_numeric()
        || matches!(
            char,
            ';' | ':' | '!' | '?' | '%' | '«' | '»' | '‹' | '›' | '“' | '”'
        )
        || matches!(char, '\u{20A0}'..='\u{20CF}' | '\u{1800}'..='\u{18AF}')
}

fn is_blank(char: char) -> bool {
    matches!(char, ' ' | '\t' | '\u{A0}') || is_odd_blank(char)
}

fn is_syriac_letter(char: char) -> bool {
    matches!(char, '\u{710}'..='\u{72F}' | '\u{74D}'..='\u{74F}')
}

fn is_mark(char: char) -> bool {
    u32::from(char) >= 0x300 && is_combining_mark(char)
}

/// Scripts that are misspelt without joiners, by a number: Arabic to Thaana, Indic, Tibetan and Myanmar, Khmer and
/// Mongolian. What joins letters of two of them joins nothing.
fn joining_script(char: char) -> Option<u32> {
    if is_banned(char) {
        return None;
    }
    match u32::from(char) {
        0x600..=0x7BF | 0x8A0..=0x8FF | 0xFB50..=0xFDCF | 0xFE70..=0xFEFE => Some(0),
        // A block of 128 for each of Devanagari, Bengali, … Sinhala.
        code @ 0x900..=0xDFF => Some(code >> 7),
        0xF00..=0xFFF => Some(1),
        0x1000..=0x109F => Some(2),
        0x1780..=0x17FF => Some(3),
        0x1800..=0x18AF => Some(4),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, want: &str, changed: usize) {
        let found = visible(text, Shape::Body, None);
        assert_eq!((found.0.as_ref(), found.1), (want, changed), "{text:?}");
    }

    #[test]
    fn what_is_seen_stays() {
        for text in [
            "plain text",
            "äöü ß € 你好 Привет",
            "a\n\tb",
            "👨\u{200D}👩\u{200D}👧",
            "❤\u{FE0F}",
            "❤\u{FE0F}\u{200D}🔥",
            "1\u{FE0F}\u{20E3}",
            "🏳\u{FE0F}\u{200D}🌈",
            "🏴\u{200D}☠\u{FE0F}",
            "👍🏽 👩🏽\u{200D}🚀",
            "می\u{200C}خواهم",
            "क\u{94D}\u{200D}ष",
            "🇩🇪",
            "e\u{301}",
            "10\u{A0}000\u{202F}€ 山田\u{3000}太郎",
            "\u{600}١٢",
            FLAGS[0],
            FLAGS[1],
            FLAGS[2],
        ] {
            check(text, text, 0);
        }
    }

    #[test]
    fn what_is_not_seen_goes() {
        for (text, want, changed) in [
            ("a\u{200B}b\u{FEFF}c", "abc", 2),
            ("a\u{202E}b\u{2066}c\u{2069}\u{200F}\u{61C}", "abc", 5),
            ("x\u{E0048}\u{E0049}", "x", 2),
            ("x\u{E0100}\u{FE01}葛\u{E0101}", "x葛", 3),
            ("soft\u{AD}hyphen", "softhyphen", 1),
            ("a\u{200D}b\u{200C}c", "abc", 2),
            ("a\u{FE0F}b 🚀\u{FE0F}", "ab 🚀", 2),
            ("1\u{FE0F}2\u{FE0E}", "12", 2),
            ("❤\u{FE0F}\u{FE0F}\u{FE0F}", "❤\u{FE0F}", 2),
            ("م\u{200D}\u{200D}م", "م\u{200D}م", 1),
            ("م\u{200D}क", "مक", 1),
            ("\u{0}\u{1B}[31mred\u{7F}\u{9B}", "[31mred", 4),
            ("a\u{2028}b\u{85}c\r\nd\re", "a\nb\nc\nd\ne", 2),
            ("a\u{C}b\u{B}", "a b ", 2),
            ("a\u{70F}b \u{70F}\u{710}", "ab \u{70F}\u{710}", 1),
            ("\u{FFFE}\u{FDD0}\u{10FFFF}x", "x", 3),
            ("\u{115F}\u{1160}\u{3164}\u{FFA0}", "", 4),
            ("a\u{2800}\u{2800}b", "a  b", 2),
            ("a\u{A0}\u{2003}\u{3000} b", "a\u{A0}   b", 2),
            (
                "\u{3000}\u{3000}a\u{A0} \u{A0}b",
                "\u{3000}\u{3000}a\u{A0} \u{A0}b",
                0,
            ),
            ("\u{FFF9}a\u{FFFA}b\u{FFFB}\u{1D173}\u{1BCA0}", "ab", 5),
            (
                "\u{F8FF}\u{F0B7} \u{100000}",
                "\u{FFFD}\u{FFFD} \u{FFFD}",
                3,
            ),
        ] {
            check(text, want, changed);
        }
        let line = visible("a\r\nb\tc", Shape::Line, None);
        assert_eq!((line.0.as_ref(), line.1), ("a b c", 0));
    }

    /// Between two letters, by the properties that Unicode gives: no format character, blank or
    /// separator passes but those
    /// that a person sees or that stand in ordinary mail.
    #[test]
    fn no_unseen_character_of_unicode_passes() {
        use regex_syntax::hir::{Class, HirKind};
        // The blank that does not break; signs that are drawn although they are format characters.
        let drawn = |char: char| {
            matches!(char, ' ' | '\u{A0}' | '\u{600}'..='\u{605}' | '\u{6DD}')
                || matches!(
                    char,
                    '\u{890}' | '\u{891}' | '\u{8E2}' | '\u{110BD}' | '\u{110CD}'
                )
        };
        let unseen = r"[\p{Cf}\p{Zs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u{2800}]";
        let parsed = regex_syntax::parse(unseen).unwrap();
        let HirKind::Class(Class::Unicode(class)) = parsed.kind() else {
            panic!("{parsed:?}");
        };
        let mut seen = 0;
        for range in class.ranges() {
            for char in range.start()..=range.end() {
                let shown = visible(&format!("a{char}b"), Shape::Body, None)
                    .0
                    .into_owned();
                assert_eq!(
                    shown.contains(char),
                    drawn(char),
                    "U+{:04X}",
                    u32::from(char)
                );
                seen += 1;
            }
        }
        assert!(seen > 4_000, "{seen}");
    }

    #[test]
    fn blanks_of_odd_width_stay_where_scripts_have_them() {
        for (text, want) in [
            ("a\u{2003}b\u{2009}c\u{205F}d", "a b c d"),
            ("a\u{3000}b", "a b"),
            ("山田\u{3000}太郎", "山田\u{3000}太郎"),
            ("\u{3000}段落", "\u{3000}段落"),
            ("quoi\u{202F}?", "quoi ?"),
            ("10\u{202F}%", "10\u{202F}%"),
            ("a\u{202F}b", "a b"),
            ("ᚁ\u{1680}ᚂ", "ᚁ\u{1680}ᚂ"),
            ("a\u{1680}b", "a b"),
        ] {
            check(text, want, 0);
        }
    }

    #[test]
    fn only_registered_flags_have_tags() {
        let texas = "🏴\u{E0075}\u{E0073}\u{E0074}\u{E0078}\u{E007F}";
        check(texas, "🏴", 5);
        let unended = FLAGS[0].trim_end_matches('\u{E007F}');
        check(unended, "🏴", 5);
        let longer = format!("{}\u{E0041}", FLAGS[2]);
        check(&longer, FLAGS[2], 1);
    }

    #[test]
    fn marks_do_not_pile_up() {
        let pile = format!("Z{}o", "\u{301}".repeat(50));
        let kept = format!("Z{}o", "\u{301}".repeat(MOST_MARKS));
        check(&pile, &kept, 50 - MOST_MARKS);
    }
}
