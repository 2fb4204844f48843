//! Nothing is left for later: no skipped test, no debugging macro, no marker in a comment.

use crate::tree::{Problem, Tree};

/// In code. Spelled in two halves, or this file would find itself.
const IN_CODE: &[(&str, &str)] = &[
    (
        concat!("#[ign", "ore"),
        "a test that does not run; mend it or delete it",
    ),
    (concat!("dbg", "!("), "left from debugging"),
    (concat!("todo", "!("), "unfinished"),
    (concat!("unimpl", "emented!("), "unfinished"),
];

/// In comments.
const IN_COMMENTS: &[&str] = &[
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("HA", "CK"),
];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in tree.rust() {
        for (number, line) in file.lines() {
            let (code, comment) = line.split_once("//").unwrap_or((line, ""));
            for (left, why) in IN_CODE.iter().filter(|(left, _)| code.contains(left)) {
                problems.push(file.problem(number, format!("`{left}`: {why}")));
            }
            for marker in IN_COMMENTS
                .iter()
                .filter(|marker| has_word(comment, marker))
            {
                problems.push(file.problem(
                    number,
                    format!("{marker}: do it now, or write it into docs/roadmap.md"),
                ));
            }
        }
    }
    problems
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|char: char| !char.is_alphanumeric())
        .any(|one| one == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::tests::tree;

    #[test]
    fn each_leftover_is_found() {
        for bad in [
            concat!("    #[ign", "ore]"),
            concat!("#[ign", "ore = \"slow\"]"),
            concat!("let x = dbg", "!(y);"),
            concat!("todo", "!()"),
            concat!("unimpl", "emented!()"),
            concat!("x(); // TO", "DO: later"),
            concat!("/// FIX", "ME"),
        ] {
            assert_eq!(check(&tree(&[("a.rs", bad)])).len(), 1, "{bad}");
        }
        for good in [
            "x.ignore();",
            "// todos os santos",
            concat!("let a = \"TO", "DO\";"),
            "// ignore",
        ] {
            assert_eq!(check(&tree(&[("a.rs", good)])), [], "{good}");
        }
    }
}
