//! The official conformance suite on the binary as it ships. Scenarios that call fixtures are run by `cargo xtask conformance`,
//! on a build that has them.

use testkit::conformance::{Check, Run};

use super::served::House;
use crate::directory::TOKEN;

/// Scenarios that need nothing but a server.
const SUBSET: [(&str, &[&str]); 2] = [
    (
        "2026-07-28",
        &[
            "server-stateless",
            "tools-list",
            "resources-list",
            "prompts-list",
            "completion-complete",
            "sep-2164-resource-not-found",
            "caching",
            "dns-rebinding-protection",
            "http-header-validation",
            "server-sse-multiple-streams",
            "input-required-result-unsupported-methods",
        ],
    ),
    (
        "2025-11-25",
        &[
            "server-initialize",
            "ping",
            "tools-list",
            "resources-list",
            "prompts-list",
            "completion-complete",
            "dns-rebinding-protection",
        ],
    ),
];

/// What `server-stateless` cannot look at where its diagnostic tools are missing. The suite calls that a failure.
const UNTESTABLE: [&str; 4] = [
    "sep-2575-server-rejects-undeclared-capability",
    "sep-2575-missing-capability-http-400",
    "sep-2575-http-server-no-independent-requests-on-stream",
    "sep-2575-server-no-log-without-loglevel",
];

fn passes(set: usize) {
    let house = House::new();
    let server = house.serve();
    let (revision, scenarios) = SUBSET[set];
    let run = Run::of(revision, server.port(), TOKEN);
    for name in scenarios {
        let checks = run.scenarios.get(*name);
        let checks = checks.unwrap_or_else(|| panic!("{name} did not run:\n{}", run.printed));
        let excused = |check: &&Check| check.untestable && UNTESTABLE.contains(&check.id.as_str());
        let failed: Vec<&Check> = checks
            .iter()
            .filter(|check| check.failed() && !excused(check))
            .collect();
        assert!(failed.is_empty(), "{revision} {name}: {failed:#?}");
        assert!(
            checks.iter().any(|check| check.status == "SUCCESS"),
            "{revision} {name} looked at nothing: {checks:#?}"
        );
    }
}

#[test]
fn the_newest_revision_is_conformed_to() {
    passes(0);
}

#[test]
fn the_revision_with_a_handshake_is_conformed_to() {
    passes(1);
}

/// The names of fixtures and what they say when they are called are in the build that has them, see `cargo xtask conformance`.
#[test]
fn this_binary_has_no_fixtures() {
    let binary = std::fs::read(env!("CARGO_BIN_EXE_mailwarden")).unwrap();
    for word in ["fixture called", "test_simple_text", "test://static-text"] {
        let found = memchr::memmem::find(&binary, word.as_bytes()).is_some();
        assert!(!found, "{word}");
    }
}
