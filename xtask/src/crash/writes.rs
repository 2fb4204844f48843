//! The long forms of what strikes changes to mail: every cell of the matrix, and the long walk. The tests of the program
//! do the work and say what they found; this only starts them.

use std::process::Command;

/// Changes in the long walk.
const STEPS: usize = 2_000;

/// Every cell, then the walk.
pub(crate) fn all() -> Result<String, String> {
    run("write_crash_matrix", &[("CRASH_WRITES", "all")])?;
    run("write_walk", &[("WALK_STEPS", &STEPS.to_string())])?;
    Ok("changes to mail: as told above".to_owned())
}

/// The cell of this name, or all whose names hold it.
pub(crate) fn only(name: &str) -> Result<String, String> {
    run(
        "write_crash_matrix",
        &[("CRASH_WRITES", "all"), ("CRASH_ONLY", name)],
    )?;
    Ok("changes to mail: as told above".to_owned())
}

/// Not by nextest, which stops a test that takes minutes.
pub(super) fn run(test: &str, variables: &[(&str, &str)]) -> Result<(), String> {
    let status = Command::new("cargo")
        .args(["test", "-p", "mailwarden", "--test", "e2e"])
        .args(["--", "--nocapture", test])
        .envs(variables.iter().copied())
        .status()
        .map_err(|error| format!("cargo test: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("{test} did not hold, see above")),
    }
}
