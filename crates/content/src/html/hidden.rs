//! Text that no reader would have seen: how much, why, and how it begins.

use super::sight::Why;

const MOST_EXCERPT: usize = 40;

/// What was left out of a page.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Hidden {
    /// One for each reason, in the order in which they were met.
    reasons: Vec<(Why, usize)>,
    /// How the longest run begins; not shielded.
    excerpt: String,
    longest: usize,
}

impl Hidden {
    /// White space, and what is only there to fill space, does not count.
    pub(super) fn add(&mut self, why: Why, text: &str) {
        let chars = text.chars().filter(|char| !is_filler(*char)).count();
        if chars == 0 {
            return;
        }
        match self.reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, sum)) => *sum += chars,
            None => self.reasons.push((why, chars)),
        }
        if chars > self.longest {
            self.longest = chars;
            let words: Vec<&str> = text.split_whitespace().take(12).collect();
            self.excerpt = words.join(" ").chars().take(MOST_EXCERPT).collect();
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

    pub(crate) fn merge(&mut self, other: &Self) {
        for (why, chars) in &other.reasons {
            match self.reasons.iter_mut().find(|(known, _)| known == why) {
                Some((_, sum)) => *sum += chars,
                None => self.reasons.push((*why, *chars)),
            }
        }
        if other.longest > self.longest {
            self.longest = other.longest;
            self.excerpt.clone_from(&other.excerpt);
        }
    }

    pub(crate) fn chars(&self) -> usize {
        self.reasons.iter().map(|(_, chars)| chars).sum()
    }

    pub(crate) fn reasons(&self) -> impl Iterator<Item = (&'static str, usize)> {
        self.reasons.iter().map(|(why, chars)| (why.name(), *chars))
    }

    pub(crate) fn excerpt(&self) -> &str {
        &self.excerpt
    }
}

fn is_filler(char: char) -> bool {
    char.is_whitespace()
        || crate::shield::is_banned(char)
        || matches!(char, '\u{200C}' | '\u{200D}' | '\u{2007}')
}
