//! Crates import each other exactly as the drawing in `ARCHITECTURE.md` says: no arrow more, none less.
//!
//! The drawing is the rule. Whoever needs another arrow draws it there, and a reviewer sees it.

use std::collections::BTreeMap;

use crate::tree::{Crate, File, Kind, Problem, Tree};

const MAP: &str = "ARCHITECTURE.md";
const HEADING: &str = "## Arrows";

/// Real servers for tests: a dev-dependency of whoever likes, and of nobody's product.
const TESTKIT: &str = "testkit";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let Some(map) = tree.file(MAP) else {
        let what = "is missing; it draws the arrows between crates".to_owned();
        return vec![Problem {
            path: MAP.to_owned(),
            line: 0,
            what,
        }];
    };
    let drawn = drawing(map);
    let mut problems = Vec::new();
    for krate in &tree.crates {
        match drawn.get(krate.name.as_str()) {
            Some(arrow) => problems.extend(compare(map, krate, arrow, &tree.crates)),
            None => {
                let what = format!("draws no arrows of the crate `{}`", krate.name);
                problems.push(map.problem(0, what));
            }
        }
    }
    for (name, arrow) in &drawn {
        if !tree.crates.iter().any(|krate| krate.name == *name) {
            problems.push(map.problem(arrow.line, format!("there is no crate `{name}`")));
        }
    }
    problems
}

/// What one line of the drawing allows.
struct Arrow<'a> {
    line: usize,
    to: Vec<&'a str>,
}

/// The lines `from → to, to` below the heading; `nothing` stands for no arrow.
fn drawing(map: &File) -> BTreeMap<&str, Arrow<'_>> {
    let section = map
        .lines()
        .skip_while(|(_, line)| *line != HEADING)
        .skip(1)
        .take_while(|(_, line)| !line.starts_with("## "));
    let arrows = section.filter_map(|(number, line)| {
        let (from, to) = line.strip_prefix("    ")?.split_once('→')?;
        let to = to
            .split(',')
            .map(str::trim)
            .filter(|name| *name != "nothing");
        let arrow = Arrow {
            line: number,
            to: to.collect(),
        };
        Some((from.trim(), arrow))
    });
    arrows.collect()
}

fn compare(map: &File, krate: &Crate, arrow: &Arrow<'_>, all: &[Crate]) -> Vec<Problem> {
    let is_ours = |name: &str| all.iter().any(|one| one.name == name);
    let mut problems = Vec::new();
    for used in krate.uses.iter().filter(|used| is_ours(&used.name)) {
        let drawn = arrow.to.contains(&used.name.as_str());
        let for_tests = used.name == TESTKIT && used.kind == Kind::Dev;
        if !drawn && !for_tests {
            let what = format!(
                "`{}` imports `{}`, and no arrow says so",
                krate.name, used.name
            );
            problems.push(map.problem(arrow.line, what));
        }
    }
    for to in &arrow.to {
        let used = krate
            .uses
            .iter()
            .any(|used| used.name == *to && used.kind == Kind::Product);
        if !used {
            let what = format!(
                "`{}` does not import `{to}`; take the arrow out",
                krate.name
            );
            problems.push(map.problem(arrow.line, what));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::tests::{krate, tree};

    const DRAWN: &str = "# Map\n\n    mail → sources\n\n## Arrows\n\n    gateway → mail\n    mail    → nothing\n    \
        testkit → nothing\n\n## Words\n\n    testkit → mail\n";

    fn problems(crates: &[&str]) -> Vec<String> {
        let mut tree = tree(&[(MAP, DRAWN)]);
        tree.crates = crates.iter().map(|line| krate(line)).collect();
        check(&tree)
            .iter()
            .map(|problem| problem.what.clone())
            .collect()
    }

    #[test]
    fn what_is_drawn_is_fine() {
        let crates = [
            "gateway: mail, serde, dev testkit",
            "mail: bytes",
            "testkit: rustls",
        ];
        assert_eq!(problems(&crates), Vec::<String>::new());
    }

    #[test]
    fn every_difference_is_found() {
        for (crates, says) in [
            (
                ["gateway: mail", "mail: gateway", "testkit:"],
                "`mail` imports `gateway`",
            ),
            (
                ["gateway: mail", "mail: dev gateway", "testkit:"],
                "`mail` imports `gateway`",
            ),
            (
                ["gateway: mail, testkit", "mail:", "testkit:"],
                "`gateway` imports `testkit`",
            ),
            (
                ["gateway:", "mail:", "testkit:"],
                "`gateway` does not import `mail`",
            ),
            (
                ["gateway: dev mail", "mail:", "testkit:"],
                "`gateway` does not import `mail`",
            ),
        ] {
            let found = problems(&crates);
            assert!(
                found.len() == 1 && found[0].contains(says),
                "{crates:?}: {found:?}"
            );
        }
    }

    #[test]
    fn every_crate_is_drawn_and_every_drawn_crate_exists() {
        let found = problems(&["gateway: mail", "mail:", "testkit:", "audit:"]);
        assert_eq!(found, ["draws no arrows of the crate `audit`"]);
        assert_eq!(
            problems(&["gateway: mail", "mail:"]),
            ["there is no crate `testkit`"]
        );
        assert_eq!(check(&tree(&[])).len(), 1);
    }
}
