//! Some foreign crates have one home: a protocol library, a parser of hostile bytes. Nobody else names them.

use crate::tree::{Kind, Problem, Tree};

/// A crate that only these may depend on, for the product or for tests.
struct Only {
    what: &'static str,
    by: &'static [&'static str],
    tests_of: &'static [&'static str],
}

const fn only(what: &'static str, by: &'static [&'static str]) -> Only {
    Only {
        what,
        by,
        tests_of: &[],
    }
}

const ONLY: &[Only] = &[
    only("rmcp", &["mailwarden"]),
    only("axum", &["mailwarden"]),
    only("clap", &["mailwarden"]),
    only("prometheus-client", &["mailwarden"]),
    only("opentelemetry", &["mailwarden"]),
    only("granit-parser", &["mailwarden"]),
    only("anyhow", &["mailwarden"]),
    Only {
        what: "mail-parser",
        by: &[],
        tests_of: &["content"],
    },
    only("html5ever", &["html"]),
    only("ammonia", &["html"]),
    only("cssparser", &["html"]),
    only("selectors", &["html"]),
    only("infer", &["content"]),
    only("unpdf", &["extract"]),
    only("calamine", &["extract"]),
    only("quick-xml", &["extract"]),
    only("landlock", &["extract"]),
    only("seccompiler", &["extract"]),
    only("encoding_rs", &["content", "extract"]),
    only("rustls", &["ledger", "sources", "mailwarden", "testkit"]),
    Only {
        what: "tokio-rustls",
        by: &["ledger", "sources", "mailwarden"],
        tests_of: &["secrets"],
    },
    only("reqwest", &["secrets"]),
    only("imap", &["sources", "testkit"]),
    only("tokio-postgres", &["ledger"]),
    only("rusqlite", &["ledger", "sources", "testkit"]),
    Only {
        what: "imap-codec",
        by: &["testkit"],
        tests_of: &["imap"],
    },
];

/// A crate that only these files name, within the crate that depends on it.
const PLACES: &[(&str, &[&str])] = &[
    (
        "rmcp",
        &[
            "crates/mailwarden/src/server/",
            "crates/mailwarden/src/demo/client.rs",
        ],
    ),
    (
        "clap",
        &[
            "crates/mailwarden/src/cli.rs",
            "crates/mailwarden/src/main.rs",
        ],
    ),
    ("prometheus_client", &["crates/mailwarden/src/metrics/"]),
    ("opentelemetry", &["crates/mailwarden/src/traces.rs"]),
    (
        "granit_parser",
        &["crates/mailwarden/src/config/dir/yaml.rs"],
    ),
    (
        "rustls",
        &[
            "crates/ledger/",
            "crates/mailwarden/src/server/http/tls.rs",
            "crates/sources/",
            "crates/testkit/",
        ],
    ),
    ("mail_parser", &["crates/content/src/date.rs"]),
    ("ammonia", &["crates/html/src/"]),
    ("html5ever", &["crates/html/src/"]),
    ("cssparser", &["crates/html/src/"]),
    ("selectors", &["crates/html/src/"]),
    ("infer", &["crates/content/src/sniff.rs"]),
    ("unpdf", &["crates/extract/src/formats/"]),
    ("calamine", &["crates/extract/src/formats/"]),
    ("quick_xml", &["crates/extract/src/formats/"]),
    ("landlock", &["crates/extract/src/sandbox/"]),
    ("seccompiler", &["crates/extract/src/sandbox/"]),
];

/// What is there for tests and benchmarks alone, behind features that their builds turn on: the product must not use it.
const FOR_TESTS: &[&str] = &["Log::discard", "read::sample"];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = depended_on(tree);
    problems.extend(named(tree));
    problems
}

fn depended_on(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for krate in &tree.crates {
        for used in &krate.uses {
            let Some(rule) = ONLY.iter().find(|rule| rule.what == used.name) else {
                continue;
            };
            let name = krate.name.as_str();
            let for_tests = used.kind == Kind::Dev && rule.tests_of.contains(&name);
            if !rule.by.contains(&name) && !for_tests {
                let what = format!(
                    "depends on {}, which is for {} alone",
                    rule.what,
                    rule.by.join(" and ")
                );
                problems.push(Problem {
                    path: format!("crate {name}"),
                    line: 0,
                    what,
                });
            }
        }
    }
    problems
}

fn named(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    let product = |path: &str| path.starts_with("crates/") && path.contains("/src/");
    for file in tree.rust().filter(|file| product(&file.path)) {
        let home = file.path.starts_with("crates/audit/");
        for what in FOR_TESTS.iter().filter(|_| !home) {
            if let Some((number, _)) = file.lines().find(|(_, line)| code(line).contains(what)) {
                problems.push(file.problem(number, format!("uses {what}, which is for tests")));
            }
        }
        for (what, places) in PLACES {
            if places.iter().any(|place| file.path.starts_with(place)) {
                continue;
            }
            let line = file.lines().find(|(_, line)| names(code(line), what));
            if let Some((number, _)) = line {
                let what = format!("names {what}, which only {} may", places.join(" and "));
                problems.push(file.problem(number, what));
            }
        }
    }
    problems
}

/// The line without its comment.
fn code(line: &str) -> &str {
    line.split_once("//").map_or(line, |(code, _)| code)
}

/// Whether a path begins with this crate.
fn names(code: &str, krate: &str) -> bool {
    let path = format!("{krate}::");
    code.match_indices(&path).any(|(at, _)| {
        let before = code.get(..at).and_then(|text| text.chars().next_back());
        before.is_none_or(|char| !char.is_alphanumeric() && char != '_' && char != ':')
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::tests::{krate, tree};

    fn check_crate(line: &str) -> usize {
        let mut tree = tree(&[]);
        tree.crates = vec![krate(line)];
        check(&tree).len()
    }

    #[test]
    fn dependencies_stay_at_home() {
        for good in [
            "mailwarden: rmcp, clap",
            "content: dev mail-parser",
            "imap: dev imap-codec",
            "gateway: serde",
        ] {
            assert_eq!(check_crate(good), 0, "{good}");
        }
        for bad in [
            "gateway: rmcp",
            "gateway: dev rmcp",
            "sources: mail-parser",
            "content: mail-parser",
            "gateway: imap",
            "imap: imap-codec",
            "policy: ammonia",
        ] {
            assert_eq!(check_crate(bad), 1, "{bad}");
        }
    }

    #[test]
    fn names_stay_in_their_files() {
        let said = |path: &str, text: &str| check(&tree(&[(path, text)])).len();
        assert_eq!(
            said("crates/mailwarden/src/check.rs", "use rmcp::model::Tool;"),
            1
        );
        assert_eq!(
            said(
                "crates/mailwarden/src/server/mcp.rs",
                "use rmcp::model::Tool;"
            ),
            0
        );
        assert_eq!(
            said("crates/mailwarden/src/check.rs", "// not rmcp::Tool"),
            0
        );
        assert_eq!(
            said("crates/mailwarden/src/check.rs", "let a = my_rmcp::b();"),
            0
        );
        assert_eq!(
            said("crates/content/src/body.rs", "    mail_parser::decode(x)"),
            1
        );
        assert_eq!(said("crates/content/src/body.rs", "crate::ammonia::x()"), 0);
        let discards = "let log = audit::Log::discard();";
        assert_eq!(said("crates/mailwarden/src/main.rs", discards), 1);
        assert_eq!(said("crates/mailwarden/benches/audit.rs", discards), 0);
    }
}
