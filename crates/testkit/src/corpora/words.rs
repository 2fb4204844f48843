//! The words of texts, and where two sequences of them part.

/// Letters and digits in runs; what separates them is left out, and so is what has no shape.
pub fn words(text: &str) -> Vec<String> {
    let shapeless = |c: &char| {
        !matches!(
            c,
            '\u{AD}' | '\u{34F}' | '\u{200B}'..='\u{200F}' | '\u{2060}' | '\u{FEFF}'
        )
    };
    let text: String = text.chars().filter(shapeless).collect();
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Our text without what we add to a page's: numbers of lists, and hosts behind links.
pub fn without_marks(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let start = line.trim_start_matches([' ', '>', '|', '#']);
        let digits = start.trim_start_matches(|c: char| c.is_ascii_digit());
        let numbered = digits.len() < start.len() && digits.starts_with(". ");
        let line = if numbered { digits } else { start };
        let kept = line.split(' ').filter(|word| !is_host(word));
        kept.collect::<Vec<_>>().join(" ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// `(host.example)`, whatever punctuation follows.
fn is_host(word: &str) -> bool {
    let word = word.trim_end_matches(|c: char| c != ')');
    let inside = word
        .strip_prefix('(')
        .and_then(|word| word.strip_suffix(')'));
    inside.is_some_and(|host| host.ends_with(".example") && !host.contains('@'))
}

/// Where two texts part, in a few words.
pub fn difference(ours: &[String], seen: &[String]) -> String {
    let same = ours.iter().zip(seen).take_while(|(a, b)| a == b).count();
    let tail = |words: &[String]| {
        let some: Vec<&str> = words
            .iter()
            .skip(same)
            .take(8)
            .map(String::as_str)
            .collect();
        some.join(" ")
    };
    let only = |these: &[String], those: &[String]| {
        let some = these.iter().filter(|word| !those.contains(word)).take(12);
        some.map(String::as_str).collect::<Vec<_>>().join(" ")
    };
    format!(
        "after {same} words ours goes on '{}', seen is '{}'; only ours: [{}], only seen: [{}]",
        tail(ours),
        tail(seen),
        only(ours, seen),
        only(seen, ours)
    )
}

/// Where an expected text departs from the one that comes nearest; none when it stands, word for word and in one
/// piece, in one of them.
pub(super) fn absent(expected: &str, texts: &[&str]) -> Option<String> {
    let wanted: Vec<&str> = expected.split_whitespace().collect();
    if wanted.is_empty() {
        return None;
    }
    let mut nearest = (0, "nothing");
    for text in texts {
        let found: Vec<&str> = text.split_whitespace().collect();
        for start in 0..=found.len() {
            let rest = found.get(start..).unwrap_or_default();
            let same = rest.iter().zip(&wanted).take_while(|(a, b)| a == b).count();
            if same == wanted.len() {
                return None;
            }
            if same >= nearest.0 {
                nearest = (same, rest.get(same).copied().unwrap_or("the end"));
            }
        }
    }
    let (same, instead) = nearest;
    let wanted_there = wanted.get(same).copied().unwrap_or_default();
    Some(format!(
        "after {same} of {} words {instead:?}, expected {wanted_there:?}",
        wanted.len()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_stands_in_one_piece_or_its_departure_is_told() {
        for (expected, texts, want) in [
            ("a  b\nc", vec!["x a b\n\nc y"], None),
            ("", vec![], None),
            (
                "a b",
                vec!["a", "b"],
                Some("after 1 of 2 words \"the end\", expected \"b\""),
            ),
            (
                "a b c",
                vec!["a a b d"],
                Some("after 2 of 3 words \"d\", expected \"c\""),
            ),
        ] {
            assert_eq!(absent(expected, &texts).as_deref(), want, "{expected}");
        }
    }

    #[test]
    fn marks_are_told_from_words() {
        for (ours, want) in [
            ("- one\n2. two\n> > three", "one two three"),
            ("look (x.example), (a.b.example).", "look"),
            (
                "(kept@x.example) (not a host) 3.5 a",
                "kept x example not a host 3 5 a",
            ),
            ("a | b\n# c [d]", "a b c d"),
        ] {
            assert_eq!(words(&without_marks(ours)).join(" "), want, "{ours}");
        }
    }
}
