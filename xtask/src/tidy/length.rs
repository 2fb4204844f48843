//! Files stay readable: none over 900 lines, tests at the foot not counted. Below that, lengths
//! follow the topic.

use crate::tree::{File, Problem, Tree};

const MOST: usize = 900;

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let too_long = tree.rust().filter(|file| length(file) > MOST);
    too_long
        .map(|file| {
            let what = format!(
                "{} lines before its tests, more than {MOST}; find the second thing in it a file",
                length(file)
            );
            file.problem(0, what)
        })
        .collect()
}

/// How long files are, over everything that is neither test nor benchmark.
pub(super) fn spread(tree: &Tree) -> String {
    let sources = tree.rust().filter(|file| !is_test(&file.path));
    let mut lengths: Vec<usize> = sources.map(length).collect();
    lengths.sort_unstable();
    format!(
        "{} source files, median {} lines, 90 % have at most {}, the longest {}",
        lengths.len(),
        rank(&lengths, 50),
        rank(&lengths, 90),
        rank(&lengths, 100)
    )
}

/// Lines before the test module at the foot.
fn length(file: &File) -> usize {
    let lines: Vec<&str> = file.text.lines().collect();
    let tests = lines.windows(2).position(|pair| {
        matches!(pair, ["#[cfg(test)]", module] if module.contains("mod ") && module.ends_with('{'))
    });
    tests.unwrap_or(lines.len())
}

fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.contains("/benches/") || path.ends_with("/tests.rs")
}

/// The value that so many percent do not exceed (nearest rank).
fn rank(sorted: &[usize], percent: usize) -> usize {
    let nth = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(nth - 1).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::tests::tree;

    #[test]
    fn a_long_file_is_found() {
        let long = "x\n".repeat(901);
        assert_eq!(check(&tree(&[("a.rs", &long)])).len(), 1);
        let enough = "x\n".repeat(900);
        assert_eq!(check(&tree(&[("a.rs", &enough)])), []);
    }

    #[test]
    fn only_tests_at_the_foot_are_left_out() {
        let tests = "x\n".repeat(900) + "#[cfg(test)]\nmod tests {\n" + &"y\n".repeat(900);
        assert_eq!(check(&tree(&[("a.rs", &tests)])), []);
        let declared = "#[cfg(test)]\nmod tests;\n".to_owned() + &"x\n".repeat(900);
        assert_eq!(check(&tree(&[("a.rs", &declared)])).len(), 1);
    }

    #[test]
    fn ranks() {
        let ten: Vec<usize> = (1..=10).collect();
        assert_eq!(
            (rank(&ten, 50), rank(&ten, 90), rank(&ten, 100)),
            (5, 9, 10)
        );
        assert_eq!((rank(&[7], 50), rank(&[], 50)), (7, 0));
    }
}
