//! Lints bind every crate, and the pure ones may not reach for clock, environment, files or sockets.
//!
//! A `clippy.toml` in a crate's folder replaces the one at the root, so the pure crates repeat its switches.

use crate::tree::{Problem, Tree};

/// Crates whose answers depend on their arguments alone.
const PURE: &[&str] = &["mail", "imap", "content", "policy"];

const BANNED: &[&str] = &[
    "std::time::SystemTime::now",
    "std::time::Instant::now",
    "jiff::Timestamp::now",
    "jiff::Zoned::now",
    "std::env::var",
    "std::env::var_os",
    "std::env::vars",
    "std::fs::read",
    "std::fs::read_to_string",
    "std::fs::write",
    "std::fs::File::open",
    "std::fs::File::create",
    "std::net::TcpStream::connect",
    "std::net::TcpListener::bind",
    "std::process::Command::new",
];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = unbound(tree);
    for krate in PURE {
        problems.extend(impure(tree, krate));
    }
    problems
}

fn unbound(tree: &Tree) -> Vec<Problem> {
    let manifests = tree.files.iter().filter(|file| {
        file.path == "xtask/Cargo.toml"
            || (file.path.starts_with("crates/") && file.path.ends_with("/Cargo.toml"))
    });
    manifests
        .filter(|file| !file.text.contains("[lints]\nworkspace = true"))
        .map(|file| {
            file.problem(
                0,
                "does not take the workspace's lints; add `[lints]` with `workspace = true`",
            )
        })
        .collect()
}

fn impure(tree: &Tree, krate: &str) -> Vec<Problem> {
    let path = format!("crates/{krate}/clippy.toml");
    let Some(file) = tree.file(&path) else {
        let what = "is missing; this crate is pure".to_owned();
        return vec![Problem {
            path,
            line: 0,
            what,
        }];
    };
    let bans = |name: &str| file.text.contains(&format!("path = \"{name}\""));
    BANNED
        .iter()
        .filter(|name| !bans(name))
        .map(|name| file.problem(0, format!("does not ban {name}; this crate is pure")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::tests::tree;

    fn banning(names: &[&str]) -> String {
        names
            .iter()
            .map(|name| format!("    {{ path = \"{name}\", reason = \"x\" }},\n"))
            .collect()
    }

    #[test]
    fn a_pure_crate_bans_everything() {
        let all = banning(BANNED);
        let pure: Vec<String> = PURE
            .iter()
            .map(|krate| format!("crates/{krate}/clippy.toml"))
            .collect();
        let files: Vec<(&str, &str)> = pure
            .iter()
            .map(|path| (path.as_str(), all.as_str()))
            .collect();
        assert_eq!(check(&tree(&files)), []);

        let fewer = banning(&BANNED[1..]);
        let mut files = files;
        files[0].1 = &fewer;
        let found = check(&tree(&files));
        assert!(
            found.len() == 1 && found[0].what.contains("SystemTime::now"),
            "{found:?}"
        );

        files.remove(0);
        let found = check(&tree(&files));
        assert!(
            found.len() == 1 && found[0].what.contains("is missing"),
            "{found:?}"
        );
    }

    #[test]
    fn a_crate_without_lints_is_found() {
        let bound = unbound(&tree(&[(
            "crates/a/Cargo.toml",
            "[lints]\nworkspace = true\n",
        )]));
        assert_eq!(bound, []);
        assert_eq!(
            unbound(&tree(&[("crates/a/Cargo.toml", "[package]\n")])).len(),
            1
        );
        assert_eq!(unbound(&tree(&[("fuzz/Cargo.toml", "[package]\n")])), []);
    }
}
