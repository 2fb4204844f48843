//! docs/conformance.md: a table of scenarios, and what is behind those that do not pass.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use testkit::conformance::{Check, Run};

use super::{REVISIONS, Tested};

pub(super) fn of(with: &Tested, without: &Tested) -> String {
    let mut page = String::from(
        "# Conformance\n\n\
         <!-- Made by `cargo xtask conformance`; run it again instead of editing. -->\n\n\
         The official suite (npm `@modelcontextprotocol/conformance`, see `crates/testkit/clients/package.json` for the \
         version), both requirement sets, over HTTP with a bearer token. The suite cannot send one, so a proxy on \
         loopback adds it to every request and changes nothing else.\n\n\
         Most scenarios call tools, resources and prompts that no mail server has. A build with the feature \
         `conformance-fixtures` adds them before the real server: listener, gate, token and protocol are those that ship. \
         The other columns are the build that ships; there, a scenario that wants a fixture cannot pass.\n\n",
    );
    for (run, revision) in with.runs.iter().zip(REVISIONS) {
        let scored = || {
            let all = run.scenarios.iter();
            all.filter(|(name, _)| !run.not_scored.contains_key(*name))
        };
        let passed = scored().filter(|(_, checks)| !checks.iter().any(Check::failed));
        let (passed, all) = (passed.count(), scored().count());
        let _ = writeln!(
            page,
            "- {revision}: {passed} of {all} required scenarios pass"
        );
    }
    page.push_str("\n| scenario | 2026-07-28 | as shipped | 2025-11-25 | as shipped |\n|---|---|---|---|---|\n");
    let runs = || with.runs.iter().chain(&without.runs);
    let names: BTreeSet<&String> = runs().flat_map(|run| run.scenarios.keys()).collect();
    for name in names {
        let _ = write!(page, "| {name} |");
        for (with, without) in with.runs.iter().zip(&without.runs) {
            let _ = write!(page, " {} | {} |", cell(with, name), cell(without, name));
        }
        page.push('\n');
    }
    page.push_str(
        "\nA cell is the number of checks that passed, of those that passed or failed; in brackets, why the suite does not \
         count the scenario for that revision: it is optional (`extension`), newer than the set, or `pending`, which the \
         suite's own reference server does not pass. `not testable` is what the suite would look at with a tool of its own, and counts as \
         failed where it counts. Tasks (SEP-2663) are an extension that mailwarden does not offer.\n",
    );
    remarks(&mut page, with);
    page
}

fn cell(run: &Run, name: &str) -> String {
    let Some(checks) = run.scenarios.get(name) else {
        return "–".to_owned();
    };
    let passed = checks.iter().filter(|check| check.status == "SUCCESS");
    let passed = passed.count();
    let (wanting, failed): (Vec<&Check>, Vec<&Check>) = checks
        .iter()
        .filter(|check| check.failed())
        .partition(|check| check.untestable);
    let mark = match (passed, failed.len(), wanting.len()) {
        (0, 0, 0) => "nothing to check".to_owned(),
        (passed, 0, 0) => format!("pass {passed}/{passed}"),
        (passed, 0, wanting) => format!("pass {passed}/{passed}, {wanting} not testable"),
        (passed, failed, wanting) => format!("fail {passed}/{}", passed + failed + wanting),
    };
    let why = run.not_scored.get(name);
    let why = why.map_or_else(String::new, |why| format!(" ({why})"));
    format!("{mark}{why}")
}

/// Failures that count and warnings, of the build with fixtures.
fn remarks(page: &mut String, with: &Tested) {
    let mut lines = Vec::new();
    for (revision, run) in REVISIONS.iter().zip(&with.runs) {
        for (name, checks) in &run.scenarios {
            let said = checks.iter().filter(|check| {
                let counts = !run.not_scored.contains_key(name);
                check.status == "WARNING" || (counts && check.failed())
            });
            lines.extend(said.map(|check| {
                let what = check.message.lines().next().unwrap_or_default();
                format!(
                    "- {revision} {name}: {} {}: {what}\n",
                    check.status, check.id
                )
            }));
        }
    }
    match lines.is_empty() {
        true => page.push_str("\nNo warnings.\n"),
        false => {
            page.push_str("\nWhat the suite had to say:\n\n");
            page.push_str(&lines.concat());
        }
    }
}
