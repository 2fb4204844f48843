//! `cargo xtask tidy`: the rules of the tree, one file each. A rule is a function from the tree to its problems.

mod arrows;
mod header;
mod leftovers;
mod length;
mod links;
mod lints;
mod names;
mod variables;

use crate::tree::{Outcome, Problem, Tree};

const RULES: &[fn(&Tree) -> Vec<Problem>] = &[
    header::check,
    length::check,
    arrows::check,
    names::check,
    lints::check,
    leftovers::check,
    links::check,
    variables::check,
];

/// A line about the tree when it keeps every rule, else all its problems.
pub(crate) fn run(tree: &Tree) -> Outcome<String> {
    let problems: Vec<Problem> = RULES.iter().flat_map(|rule| rule(tree)).collect();
    if problems.is_empty() {
        return Ok(format!("tidy: {}", length::spread(tree)));
    }
    let mut lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    lines.push(format!("tidy: {} problem(s)", problems.len()));
    Err(lines.join("\n"))
}
