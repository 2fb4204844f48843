//! `cargo xtask conformance`: the official conformance suite on a build with fixtures and on the one that ships, as a page.

mod page;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::Served;
use testkit::conformance::{Check, Run};

use crate::tree::{Outcome, at, root};

const PAGE: &str = "docs/conformance.md";

/// The requirement sets of the suite.
const REVISIONS: [&str; 2] = ["2026-07-28", "2025-11-25"];

const TOKEN: &str = "a token of more than sixteen characters";

/// What the fixtures say on stderr when they are called.
const CALLED: &str = "fixture called: ";

/// One build, and what came of it.
struct Tested {
    /// One for each of [`REVISIONS`].
    runs: Vec<Run>,
    /// The fixtures that were really called.
    called: BTreeSet<String>,
}

/// Builds, runs, writes the page; fails when a scenario that counts does.
pub(crate) fn write() -> Outcome<String> {
    let with = test(&build(Fixtures::In)?)?;
    let without = test(&build(Fixtures::Out)?)?;
    let text = page::of(&with, &without);
    let path = root().join(PAGE);
    fs::write(&path, &text).map_err(|error| at(&path, &error))?;
    let failed = failures(&with);
    if failed.is_empty() {
        return Ok(format!("{text}\nwrote {PAGE}"));
    }
    Err(format!("{text}\n{}", failed.join("\n")))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fixtures {
    In,
    Out,
}

/// INVARIANT: a build with fixtures never lies where one without is looked for.
fn build(fixtures: Fixtures) -> Outcome<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR");
    let target = target.map_or_else(|| root().join("target"), PathBuf::from);
    let mut command = Command::new("cargo");
    command
        .args([
            "build",
            "--quiet",
            "--package",
            "mailwarden",
            "--target-dir",
        ])
        .current_dir(root());
    let target = match fixtures {
        Fixtures::In => target.join("conformance"),
        Fixtures::Out => target,
    };
    command.arg(&target);
    if fixtures == Fixtures::In {
        command.args(["--features", "conformance-fixtures"]);
    }
    let status = command
        .status()
        .map_err(|error| format!("cargo: {error}"))?;
    if !status.success() {
        return Err(format!("{command:?} ended with {status}"));
    }
    let binary = target.join("debug/mailwarden");
    let octets = fs::read(&binary).map_err(|error| at(&binary, &error))?;
    let has = memchr::memmem::find(&octets, CALLED.as_bytes()).is_some();
    match has == (fixtures == Fixtures::In) {
        true => Ok(binary),
        false => Err(format!(
            "{} is not the build it should be",
            binary.display()
        )),
    }
}

/// Each set on a process of its own, with an account that nobody connects to.
fn test(binary: &Path) -> Outcome<Tested> {
    let mut tested = Tested {
        runs: Vec::new(),
        called: BTreeSet::new(),
    };
    for revision in REVISIONS {
        let state = tempfile::tempdir().map_err(|error| error.to_string())?;
        let mut command = Command::new(binary);
        command
            .args(["http", "--host", "127.0.0.1", "--port", "0"])
            .args(["--sessions", "64"])
            .env("MAILWARDEN_STATE_DIR", state.path())
            .env("MAILWARDEN_HTTP_TOKEN", TOKEN)
            .env("MAIL_IMAP_DEFAULT_HOST", "127.0.0.1")
            .env("MAIL_IMAP_DEFAULT_PORT", "1")
            .env("MAIL_IMAP_DEFAULT_SECURE", "false")
            .env("MAIL_IMAP_DEFAULT_USER", "alice")
            .env("MAIL_IMAP_DEFAULT_PASS", "secret");
        let served = Served::start(command);
        tested.runs.push(Run::of(revision, served.port(), TOKEN));
        let log = served.log();
        let called = log.lines().filter_map(|line| line.strip_prefix(CALLED));
        tested.called.extend(called.map(str::to_owned));
    }
    Ok(tested)
}

/// What must not be, a line each: a scenario that counts and fails, and a fixture that nobody called.
fn failures(with: &Tested) -> Vec<String> {
    let mut lines = Vec::new();
    for (revision, run) in REVISIONS.iter().zip(&with.runs) {
        for (name, checks) in &run.scenarios {
            let counts = !run.not_scored.contains_key(name);
            let failed = checks.iter().filter(|check| counts && check.failed());
            lines.extend(failed.map(|check| failure(revision, name, check)));
        }
    }
    // The suite passes some scenarios on servers that lack what they call.
    for name in WANTED {
        if !with.called.contains(*name) {
            lines.push(format!("{name}: the suite never called it"));
        }
    }
    lines
}

fn failure(revision: &str, name: &str, check: &Check) -> String {
    format!("{revision} {name}: {}: {}", check.id, check.message)
}

/// What the scenarios say that they call.
const WANTED: &[&str] = &[
    "logging/setLevel",
    "subscribe test://watched-resource",
    "test://static-binary",
    "test://static-text",
    "test://template/123/data",
    "test_audio_content",
    "test_custom_header",
    "test_elicitation",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_embedded_resource",
    "test_error_handling",
    "test_image_content",
    "test_input_required_result_capabilities",
    "test_input_required_result_elicitation",
    "test_input_required_result_list_roots",
    "test_input_required_result_multi_round",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_prompt",
    "test_input_required_result_request_state",
    "test_input_required_result_sampling",
    "test_input_required_result_tampered_state",
    "test_logging_tool",
    "test_missing_capability",
    "test_multiple_content_types",
    "test_prompt_with_arguments",
    "test_prompt_with_embedded_resource",
    "test_prompt_with_image",
    "test_reconnection",
    "test_sampling",
    "test_simple_prompt",
    "test_simple_text",
    "test_streaming_elicitation",
    "test_tool_with_logging",
    "test_tool_with_progress",
    "test_trigger_prompt_change",
    "test_trigger_tool_change",
    "unsubscribe test://watched-resource",
];
