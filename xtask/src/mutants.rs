//! `cargo xtask mutants`: how many small faults in `crates/policy` its tests find, by cargo-mutants.

use std::fs;
use std::path::Path;
use std::process::Command;

use jiff::Timestamp;
use serde_json::Value;

use crate::tree::{Outcome, at, root};

const PAGE: &str = "docs/policy-mutants.md";
const FOLDER: &str = "target/mutants";

/// Runs it over the whole crate, and writes the page.
pub(crate) fn write() -> Outcome<String> {
    let folder = root().join(FOLDER);
    fs::create_dir_all(&folder).map_err(|error| at(&folder, &error))?;
    let status = Command::new("cargo")
        .args([
            "mutants",
            "--package",
            "policy",
            "--no-shuffle",
            "--output",
            FOLDER,
        ])
        // Building is most of the time, and a thousand cases of each law need no speed.
        .args([
            "--cargo-arg",
            "--config=profile.dev.package.policy.opt-level=0",
        ])
        .env("POLICY_CASES", "1000")
        .current_dir(root())
        .status()
        .map_err(|error| format!("cargo mutants: {error}; cargo install cargo-mutants --locked"))?;
    // 2 and 3: some were missed, or ran too long.
    match status.code() {
        Some(0 | 2 | 3) => write_from(&folder),
        _ => Err(format!("cargo mutants ended with {status}")),
    }
}

/// Of a run that is over, whose output is in `folder`.
pub(crate) fn write_from(folder: &Path) -> Outcome<String> {
    let found = folder.join("mutants.out/outcomes.json");
    let text = fs::read_to_string(&found).map_err(|error| at(&found, &error))?;
    let outcomes: Value =
        serde_json::from_str(&text).map_err(|error| format!("{FOLDER}: {error}"))?;
    let page = page(&outcomes).ok_or_else(|| format!("{}: not as expected", found.display()))?;
    let path = root().join(PAGE);
    fs::write(&path, page).map_err(|error| at(&path, &error))?;
    Ok(format!("wrote {PAGE}"))
}

fn page(outcomes: &Value) -> Option<String> {
    let count = |name: &str| outcomes.get(name)?.as_u64();
    let (all, unviable) = (count("total_mutants")?, count("unviable")?);
    // One that never ends is found, too.
    let caught = count("caught")? + count("timeout")?;
    let share = 100.0 * caught as f64 / (all - unviable).max(1) as f64;
    let began: Timestamp = outcomes.get("start_time")?.as_str()?.parse().ok()?;
    let version = outcomes.get("cargo_mutants_version")?.as_str()?;
    let missed: Vec<String> = outcomes
        .get("outcomes")?
        .as_array()?
        .iter()
        .filter(|one| {
            one.get("summary")
                .is_some_and(|summary| summary == "MissedMutant")
        })
        .filter_map(|one| one.pointer("/scenario/Mutant/name")?.as_str())
        .map(|name| format!("- `{name}`\n"))
        .collect();
    let missed = match missed.is_empty() {
        true => String::new(),
        false => format!("\nMissed:\n\n{}", missed.concat()),
    };
    Some(format!(
        "# Faults that the tests of policies find\n\n\
         <!-- Made by `cargo xtask mutants`; edit the code, not this file. -->\n\n\
         cargo-mutants changes `crates/policy` in one small way after the other, and runs its tests each time. A change that\n\
         no test notices is missed; one that does not compile is not counted. The goal is 95 %.\n\n\
         | mutants | caught | missed | not compiling | caught of those that compile |\n\
         |---:|---:|---:|---:|---:|\n\
         | {all} | {caught} | {} | {unviable} | {share:.1} % |\n\n\
         cargo-mutants {version}, {}, with `POLICY_CASES=1000`.\n{missed}",
        count("missed")?,
        began.strftime("%Y-%m-%d"),
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_page_counts_what_compiles() {
        let missed = json!({"Mutant": {"name": "a.rs:1:2: replace x with y"}});
        let outcomes = json!({
            "outcomes": [
                {"scenario": "Baseline", "summary": "Success"},
                {"scenario": missed, "summary": "MissedMutant"},
            ],
            "total_mutants": 50, "missed": 1, "caught": 38, "timeout": 1, "unviable": 10, "success": 0,
            "start_time": "2026-11-15T20:11:00Z", "cargo_mutants_version": "27.1.0",
        });
        let page = page(&outcomes).unwrap();
        assert!(page.contains("| 50 | 39 | 1 | 10 | 97.5 % |"), "{page}");
        assert!(page.contains("cargo-mutants 27.1.0, 2026-11-15,"), "{page}");
        assert!(
            page.ends_with("Missed:\n\n- `a.rs:1:2: replace x with y`\n"),
            "{page}"
        );
        assert_eq!(super::page(&json!({})), None);
    }
}
