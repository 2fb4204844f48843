//! The base of a subject: what is left without the marks of answers, forwards and lists (RFC 5256 section 2.1).

/// The RFC names `re`, `fw` and `fwd`; the others are what programs write in other languages.
const MARKS: [&str; 20] = [
    "re", "fw", "fwd", "aw", "wg", "sv", "vs", "antw", "doorst", "rv", "tr", "rif", "odp", "ynt",
    "enc", "vb", "res", "回复", "答复", "转发",
];

/// Of a decoded subject. A subject that is nothing but marks is its own base.
pub(super) fn base(subject: &str) -> &str {
    let mut rest = subject.trim();
    loop {
        let end = trailer(rest);
        let next = wrapped(end).or_else(|| leader(end)).unwrap_or(end);
        match next.trim() {
            "" => return rest,
            next if next.len() == rest.len() => return rest,
            next => rest = next,
        }
    }
}

/// Without `(fwd)` at the end.
fn trailer(text: &str) -> &str {
    let at = text.len().saturating_sub(5);
    match text.get(at..) {
        Some(end) if end.eq_ignore_ascii_case("(fwd)") => text.get(..at).unwrap_or(text).trim_end(),
        _ => text,
    }
}

/// Inside of `[fwd: …]`.
fn wrapped(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('[')?.strip_suffix(']')?;
    let (mark, rest) = inner.split_once(':')?;
    mark.eq_ignore_ascii_case("fwd").then_some(rest)
}

/// Without one mark, with its blob (`Re[2]:`, `Re [list]:`), or one blob (`[list]`) where something stands behind it.
fn leader(text: &str) -> Option<&str> {
    if let Some(behind) = blob(text) {
        return Some(behind).filter(|behind| !behind.trim().is_empty());
    }
    let end = text.find([':', '：', '[', ' ', '\t'])?;
    let (word, rest) = text.split_at_checked(end)?;
    let known = MARKS.iter().any(|mark| mark.eq_ignore_ascii_case(word));
    if !known {
        return None;
    }
    let rest = rest.trim_start();
    let rest = blob(rest).unwrap_or(rest).trim_start();
    rest.strip_prefix([':', '：'])
}

fn blob(text: &str) -> Option<&str> {
    let (inner, behind) = text.strip_prefix('[')?.split_once(']')?;
    (!inner.contains('[')).then_some(behind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn marks_of_answers_and_lists_go() {
        for (subject, want) in [
            ("Plan", "Plan"),
            ("Re: Plan", "Plan"),
            ("RE: re : Fwd:  Plan", "Plan"),
            ("Re[2]: Plan", "Plan"),
            ("Re [2]: Plan", "Plan"),
            ("[dev] Re: Plan", "Plan"),
            ("Re: [dev] Plan", "Plan"),
            ("[dev][ops] Plan", "Plan"),
            ("[dev]", "[dev]"),
            ("[fwd: Plan]", "Plan"),
            ("[Fwd: Re: Plan (fwd)] (FWD)", "Plan"),
            ("AW: WG: Plan", "Plan"),
            ("回复：Plan", "Plan"),
            ("Re: ", "Re:"),
            ("Regarding: Plan", "Regarding: Plan"),
            ("Re Plan", "Re Plan"),
            ("", ""),
            ("  [  ", "["),
            ("日本(fwd)", "日本"),
        ] {
            assert_eq!(base(subject), want, "{subject:?}");
        }
    }

    #[test]
    fn a_long_row_of_marks_takes_no_stack() {
        let many = "Re: ".repeat(50_000) + "Plan";
        assert_eq!(base(&many), "Plan");
    }

    proptest! {
        #[test]
        fn nothing_makes_it_fall(text in "([Rre: \\[\\]()fwd：ü]|fwd|\\(fwd\\)){0,40}") {
            let once = base(&text).to_owned();
            prop_assert_eq!(base(&once), &once);
        }
    }
}
