//! Text that no reader would have seen: how much, and why.

use super::sight::Why;
use crate::note::HiddenReason;

/// Hidden text before the first visible word is a preheader up to this length: what lists of mail show beside the subject.
const MAX_PREHEADER_CHARS: usize = 300;

/// What was left out of a page.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Hidden {
    /// One for each reason, in the order in which they were met.
    reasons: Vec<(Why, usize)>,
    /// The same before the first visible word.
    leading: Vec<(Why, usize)>,
    /// There was a visible word.
    begun: bool,
}

impl Hidden {
    /// White space, and what is only there to fill space, does not count.
    pub(super) fn add(&mut self, why: Why, text: &str) {
        let chars = text.chars().filter(|char| !is_filler(*char)).count();
        if chars == 0 {
            return;
        }
        let sums = match self.begun || why.is_ordinary() {
            true => &mut self.reasons,
            false => &mut self.leading,
        };
        count(sums, why, chars);
    }

    /// The first visible word: what was hidden before it is a preheader, unless it is too long for one.
    pub(super) fn begin(&mut self) {
        if self.begun {
            return;
        }
        self.begun = true;
        let leading = std::mem::take(&mut self.leading);
        let sum: usize = leading.iter().map(|(_, chars)| chars).sum();
        for (why, chars) in leading {
            let is_preheader = sum <= MAX_PREHEADER_CHARS;
            let why = if is_preheader { Why::Preheader } else { why };
            count(&mut self.reasons, why, chars);
        }
    }

    /// Comments are in all mail, for other programs and for authors; only sentences count.
    pub(super) fn add_comment(&mut self, text: &str) {
        let is_markup = text.contains(['<', '{']) || text.trim_start().starts_with("[if");
        let words = text
            .split_whitespace()
            .filter(|word| word.chars().any(char::is_alphabetic));
        if !is_markup && words.count() >= 5 {
            self.add(Why::Comment, text);
        }
    }

    /// So many characters that a document says not to show.
    pub(crate) fn in_document(chars: usize) -> Self {
        Self {
            reasons: (chars > 0)
                .then_some((Why::Document, chars))
                .into_iter()
                .collect(),
            ..Self::default()
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (why, chars) in other.all() {
            count(&mut self.reasons, *why, *chars);
        }
    }

    pub(crate) fn chars(&self) -> usize {
        self.all().map(|(_, chars)| chars).sum()
    }

    pub(crate) fn reasons(&self) -> impl Iterator<Item = HiddenReason> {
        self.all().map(|(why, chars)| HiddenReason {
            name: why.name(),
            chars: *chars,
            is_ordinary: why.is_ordinary(),
        })
    }

    fn all(&self) -> impl Iterator<Item = &(Why, usize)> {
        self.leading.iter().chain(&self.reasons)
    }
}

fn count(sums: &mut Vec<(Why, usize)>, why: Why, chars: usize) {
    match sums.iter_mut().find(|(known, _)| *known == why) {
        Some((_, sum)) => *sum += chars,
        None => sums.push((why, chars)),
    }
}

fn is_filler(char: char) -> bool {
    char.is_whitespace()
        || crate::shield::is_banned(char)
        || matches!(char, '\u{200C}' | '\u{200D}' | '\u{2007}')
}
