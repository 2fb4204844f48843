//! What documents point at exists: relative links, and what a living document names in `code`: paths, and functions
//! as `path::function`.
//!
//! Decision records and the changelog tell history: a file that they name may be gone.

use crate::tree::{File, Problem, Tree};

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in tree.markdown() {
        let history = file.path == "CHANGELOG.md" || file.path.starts_with("docs/decisions/");
        for (number, line) in prose(file) {
            let mut wanted: Vec<String> =
                links(line).filter_map(|link| target(file, link)).collect();
            if !history {
                wanted.extend(paths(line).map(str::to_owned));
            }
            for path in wanted {
                if !exists(tree, &path) {
                    problems.push(file.problem(number, format!("there is no {path}")));
                }
            }
        }
    }
    problems
}

/// Lines outside fenced blocks.
fn prose(file: &File) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    file.lines().filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// What stands in `[…](here)`.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let after = line.split("](").skip(1);
    after
        .filter_map(|rest| rest.split_once(')'))
        .map(|(link, _)| link)
}

/// Where a relative link of this file leads, seen from the root.
fn target(file: &File, link: &str) -> Option<String> {
    let (path, _) = link.split_once('#').unwrap_or((link, ""));
    if path.is_empty() || path.contains("://") {
        return None;
    }
    let mut parts: Vec<&str> = file.path.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// What stands in backticks and looks like a path from the root, wildcards and placeholders aside.
fn paths(line: &str) -> impl Iterator<Item = &str> {
    let code = line.split('`').skip(1).step_by(2);
    code.filter(|text| {
        let rooted = ["crates/", "docs/", "xtask/", "fuzz/"]
            .iter()
            .any(|start| text.starts_with(start));
        rooted
            && text
                .chars()
                .all(|char| char.is_ascii_alphanumeric() || "._-/:".contains(char))
    })
}

fn exists(tree: &Tree, named: &str) -> bool {
    let Some((path, function)) = named.split_once("::") else {
        let path = named.trim_end_matches('/');
        return tree.paths.iter().any(|known| known == path);
    };
    let signature = format!("fn {function}(");
    tree.file(path)
        .is_some_and(|file| file.text.contains(&signature))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::tests::tree;

    fn said(path: &str, text: &str) -> usize {
        let real = [
            ("docs/a.md", ""),
            ("crates/mail/src/lib.rs", "fn it_holds() {}"),
            (path, text),
        ];
        check(&tree(&real)).len()
    }

    #[test]
    fn links_lead_somewhere() {
        for good in [
            "[a](docs/a.md)",
            "[a](./docs/a.md#top)",
            "[web](https://example.com/x)",
            "[here](#below)",
            "```\n[a](gone.md)\n```",
        ] {
            assert_eq!(said("README.md", good), 0, "{good}");
        }
        assert_eq!(said("README.md", "see [a](gone.md) and [b](docs/a.md)"), 1);
        assert_eq!(said("docs/decisions/0001-x.md", "[a](../a.md)"), 0);
        assert_eq!(said("docs/decisions/0001-x.md", "[a](a.md)"), 1);
    }

    #[test]
    fn named_paths_exist() {
        for good in [
            "`crates/mail/src/lib.rs`",
            "`crates/mail/src/lib.rs::it_holds`",
            "`crates/<name>/src`",
            "`cargo run`",
            "`docs/*.md`",
        ] {
            assert_eq!(said("README.md", good), 0, "{good}");
        }
        assert_eq!(said("README.md", "`crates/mail/src/gone.rs`"), 1);
        assert_eq!(said("README.md", "`crates/mail/src/lib.rs::it_h`"), 1);
        assert_eq!(
            said("docs/decisions/0001-x.md", "`crates/mail/src/gone.rs`"),
            0
        );
    }
}
