//! A log of 200 records over three days, and the program to look at it with.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use audit::read::sample::{self, Calls};
use serde_json::Value;
use tempfile::TempDir;

pub(crate) const DAYS: [&str; 3] = ["2026-11-13", "2026-11-14", "2026-11-15"];

pub(crate) fn log() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    sample::three_days(dir.path(), 200, Calls::Full).unwrap();
    dir
}

pub(crate) fn day(dir: &Path, day: usize) -> PathBuf {
    dir.join(format!("{}.jsonl", DAYS[day]))
}

/// `mailwarden audit …` on this directory.
pub(crate) fn command(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mailwarden"));
    command
        .arg("audit")
        .args(arguments)
        .arg("--dir")
        .arg(dir)
        .env_remove("COLUMNS")
        .stdin(Stdio::null());
    command
}

pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) fn run(dir: &Path, arguments: &[&str]) -> Ran {
    let Output {
        status,
        stdout,
        stderr,
    } = command(dir, arguments).output().unwrap();
    Ran {
        code: status.code(),
        out: String::from_utf8(stdout).unwrap(),
        err: String::from_utf8(stderr).unwrap(),
    }
}

pub(crate) fn json(dir: &Path, arguments: &[&str]) -> Value {
    let ran = run(dir, &[arguments, &["--json"]].concat());
    serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{} {}", ran.out, ran.err))
}

/// Changes a file's text.
pub(crate) fn change(path: &Path, how: impl FnOnce(String) -> String) {
    let text = std::fs::read_to_string(path).unwrap();
    std::fs::write(path, how(text)).unwrap();
}
