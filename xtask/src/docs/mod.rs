//! `cargo xtask docs`: documents made from the code, so that neither can drift from the other.

mod config;
mod keys;
mod markdown;
mod quirks;
mod tools;
pub(crate) mod variables;

use std::fs;

use crate::tree::{Outcome, at, root};

/// A document that is made, never edited.
struct Made {
    path: &'static str,
    make: fn() -> String,
}

const MADE: &[Made] = &[
    Made {
        path: "docs/tools.md",
        make: tools::page,
    },
    Made {
        path: "docs/config.md",
        make: config::page,
    },
    Made {
        path: "docs/quirks.md",
        make: quirks::page,
    },
];

/// What every made page says under its title.
const NOTE: &str = "<!-- Made by `cargo xtask docs`; edit the code, not this file. -->";

pub(crate) fn write() -> Outcome<String> {
    for made in MADE {
        let path = root().join(made.path);
        fs::write(&path, (made.make)()).map_err(|error| at(&path, &error))?;
    }
    let paths: Vec<&str> = MADE.iter().map(|made| made.path).collect();
    Ok(format!("docs: wrote {}", paths.join(" and ")))
}

pub(crate) fn check() -> Outcome<String> {
    let stale: Vec<String> = MADE
        .iter()
        .filter_map(|made| {
            let kept = fs::read_to_string(root().join(made.path)).unwrap_or_default();
            let line = difference(&kept, &(made.make)())?;
            Some(format!("{}:{line}: is not what the code says", made.path))
        })
        .collect();
    if stale.is_empty() {
        return Ok("docs: current".to_owned());
    }
    Err(format!(
        "{}\ndocs: run `cargo xtask docs` and look at the difference",
        stale.join("\n")
    ))
}

/// The first line in which two texts differ, counted from 1.
fn difference(kept: &str, made: &str) -> Option<usize> {
    if kept == made {
        return None;
    }
    let same = kept
        .split('\n')
        .zip(made.split('\n'))
        .take_while(|(a, b)| a == b);
    Some(same.count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_found_where_it_begins() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(difference("a\nb\n", "a\nc\n"), Some(2));
        assert_eq!(difference("a\n", "a\nb\n"), Some(2));
        assert_eq!(difference("", "a\n"), Some(1));
    }

    #[test]
    fn pages_end_with_one_line_end_and_hold_no_trailing_space() {
        for made in MADE {
            let page = (made.make)();
            assert!(page.contains(NOTE));
            assert!(
                page.ends_with('\n') && !page.ends_with("\n\n"),
                "{}",
                made.path
            );
            for line in page.lines() {
                assert_eq!(line, line.trim_end(), "{}", made.path);
            }
        }
    }
}
