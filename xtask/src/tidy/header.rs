//! Every Rust file says in its first line what it is.

use crate::tree::{Problem, Tree};

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let without = tree.rust().filter(|file| {
        let first = file.text.lines().next().unwrap_or_default();
        first
            .strip_prefix("//!")
            .is_none_or(|sentence| sentence.trim().is_empty())
    });
    without
        .map(|file| {
            file.problem(
                1,
                "begins without `//!` and a sentence that says what the file is",
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::tests::tree;

    #[test]
    fn a_file_opens_with_its_purpose() {
        assert_eq!(check(&tree(&[("a.rs", "//! The words.\nuse x;")])), []);
        for bad in [
            "",
            "//!\n",
            "use x;\n//! Late.",
            "// Not a doc comment.",
            "\n//! Late.",
        ] {
            assert_eq!(check(&tree(&[("a.rs", bad)])).len(), 1, "{bad:?}");
        }
    }
}
