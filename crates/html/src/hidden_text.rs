//! Text that no reader sees: how much, and why.

use crate::verdict::Reason;

/// Hidden text up to so many characters before any visible text is a preheader: the line that lists
/// of mail show.
const MAX_PREHEADER_CHARS: usize = 300;

/// What was left out of a page.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct HiddenText {
    /// One for each reason, in the order in which they were met.
    reasons: Vec<(Reason, usize)>,
    /// Characters that a warning is due for: neither a preheader nor ordinary machinery.
    notable: usize,
    /// Characters hidden before any visible text.
    leading: usize,
    text_seen: bool,
}

impl HiddenText {
    /// White space and characters without a shape do not count.
    pub(crate) fn add(&mut self, reason: Reason, text: &str) {
        let chars = text.chars().filter(|char| !is_blank(*char)).count();
        if chars == 0 {
            return;
        }
        self.count(reason, chars);
        if reason.is_ordinary() {
            return;
        }
        if self.text_seen {
            self.notable += chars;
        } else {
            self.leading += chars;
        }
    }

    /// Comments stand in all mail, for other programs and for authors; only sentences count.
    pub(crate) fn add_comment(&mut self, text: &str) {
        let is_markup = text.contains(['<', '{']) || text.trim_start().starts_with("[if");
        let words = text
            .split_whitespace()
            .filter(|word| word.chars().any(char::is_alphabetic));
        if !is_markup && words.count() >= 5 {
            self.add(Reason::Comment, text);
        }
    }

    /// Hidden text from here on is no preheader.
    pub(crate) fn see_text(&mut self) {
        self.text_seen = true;
    }

    fn count(&mut self, reason: Reason, chars: usize) {
        match self.reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, sum)) => *sum += chars,
            None => self.reasons.push((reason, chars)),
        }
    }

    pub fn merge(&mut self, other: &Self) {
        for (reason, chars) in &other.reasons {
            self.count(*reason, *chars);
        }
        self.notable += other.notable();
    }

    pub fn chars(&self) -> usize {
        self.reasons.iter().map(|(_, chars)| chars).sum()
    }

    /// Characters that a warning is due for: comments, tracking pixels, elements that are never
    /// rendered and a preheader are not among them.
    pub fn notable(&self) -> usize {
        let preheader = self.leading <= MAX_PREHEADER_CHARS;
        self.notable + if preheader { 0 } else { self.leading }
    }

    pub fn reasons(&self) -> impl Iterator<Item = (Reason, usize)> {
        self.reasons.iter().copied()
    }
}

/// Characters that show nothing.
pub(crate) fn is_blank(char: char) -> bool {
    char.is_whitespace()
        || matches!(
            char,
            '\u{AD}'
                | '\u{34F}'
                | '\u{61C}'
                | '\u{115F}'
                | '\u{1160}'
                | '\u{17B4}'
                | '\u{17B5}'
                | '\u{180B}'..='\u{180F}'
                | '\u{2007}'
                | '\u{200B}'..='\u{200F}'
                | '\u{2028}'..='\u{202E}'
                | '\u{2060}'..='\u{206F}'
                | '\u{2800}'
                | '\u{3164}'
                | '\u{FE00}'..='\u{FE0F}'
                | '\u{FEFF}'
                | '\u{FFA0}'
                | '\u{FFF9}'..='\u{FFFB}'
                | '\u{E0000}'..='\u{E0FFF}'
        )
}
