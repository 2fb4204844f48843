//! An invented language with common and rare words, the same for every seed. ASCII only.

use super::rng::Rng;

const WORDS: usize = 8_000;
const SENTENCES: usize = 6_000;
const ONSETS: [&str; 22] = [
    "b", "c", "d", "f", "g", "h", "j", "k", "l", "m", "n", "p", "r", "s", "t", "v", "w", "z", "br",
    "st", "tr", "pl",
];
const VOWELS: [&str; 7] = ["a", "e", "i", "o", "u", "ai", "ou"];

/// Sentences to pick from: faster than making each anew, with the same statistics.
#[derive(Clone, Debug)]
pub(super) struct Vocabulary(Vec<String>);

impl Vocabulary {
    pub(super) fn new() -> Self {
        let mut rng = Rng::new(12_345, 0);
        let words: Vec<String> = (0..WORDS).map(|_| word(&mut rng)).collect();
        Self((0..SENTENCES).map(|_| sentence(&mut rng, &words)).collect())
    }

    pub(super) fn sentence(&self, rng: &mut Rng) -> &str {
        rng.pick::<String>(&self.0)
    }

    /// Paragraphs of about `length` bytes in lines of at most about 76, each ended by CRLF.
    pub(super) fn text(&self, rng: &mut Rng, length: usize) -> String {
        let mut out = String::with_capacity(length + 128);
        let mut column = 0;
        while out.len() < length {
            for word in self.sentence(rng).split(' ') {
                if column + word.len() > 75 {
                    out.push_str("\r\n");
                    column = 0;
                } else if column > 0 {
                    out.push(' ');
                    column += 1;
                }
                out.push_str(word);
                column += word.len();
            }
            if rng.percent(12) {
                out.push_str("\r\n\r\n");
                column = 0;
            }
        }
        out.push_str("\r\n");
        out
    }
}

fn word(rng: &mut Rng) -> String {
    let syllables = 1 + rng.below(4);
    (0..syllables)
        .flat_map(|_| [*rng.pick(&ONSETS), *rng.pick(&VOWELS)])
        .collect()
}

fn sentence(rng: &mut Rng, words: &[String]) -> String {
    let count = 4 + rng.below(10);
    let mut text: Vec<&str> = (0..count)
        .map(|_| words[rng.zipf(words.len())].as_str())
        .collect();
    let first = text[0];
    let capital = first[..1].to_uppercase() + &first[1..];
    text[0] = &capital;
    text.join(" ") + *rng.pick(&[".", ".", ".", "?", "!"])
}
