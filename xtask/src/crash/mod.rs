//! `cargo xtask crash`: kills a program at every write, sync and send, and at random, and looks whether the log held.
//!
//! Here the program is a worker that changes something at a server (`worker`); the real one is killed the same way by its
//! own tests, which this starts in their long form. So are its changes to mail (`writes`), and its logins and their tokens
//! (`oauth`).

mod matrix;
mod oauth;
mod server;
mod worker;
mod writes;

use std::process::Command;

use worker::Pace;

pub(crate) use oauth::{all as oauth, only as oauth_only};
pub(crate) use writes::{all as writes, only as writes_only};

/// What is killed: `NAME DIR SERVER CALLERS CALLS PACE`.
pub(crate) fn work(words: &[&str]) -> Result<String, String> {
    let [name, dir, server, callers, calls, pace] = words else {
        return Err("crash-worker NAME DIR SERVER CALLERS CALLS PACE".to_owned());
    };
    match (callers.parse(), calls.parse(), Pace::parse(pace)) {
        (Ok(callers), Ok(calls), Some(pace)) => {
            worker::run(name, dir, server, (callers, calls), pace)
        }
        _ => Err("callers and calls are numbers, and the pace is real or days".to_owned()),
    }
}

/// So often is each killed at random in the long form.
const RUNS: usize = 1_000;

/// The worker alone, and a few runs of it.
pub(crate) fn short() -> Result<String, String> {
    matrix::run(20)
}

pub(crate) fn long() -> Result<String, String> {
    let worker = matrix::run(RUNS)?;
    let status = Command::new("cargo")
        .args(["nextest", "run", "-p", "mailwarden", "--test", "e2e"])
        .args(["--no-capture", "audit_crash"])
        .env("CRASH_RUNS", RUNS.to_string())
        .status()
        .map_err(|error| format!("cargo nextest: {error}"))?;
    if !status.success() {
        return Err("the program did not hold, see above".to_owned());
    }
    let (writes, oauth) = (writes::all()?, oauth::all()?);
    Ok(format!(
        "{worker}\nthe program: as told above\n{writes}\n{oauth}"
    ))
}
