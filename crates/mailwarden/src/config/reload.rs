//! `mailwarden config reload`: tells every process that serves a directory to read it again, and waits until each has.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use super::dir;
use super::verb::{counted, refuse};
use crate::running::{self, Outcome, Run};
use crate::screen::Screen;

/// As long as anybody is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
const GLANCE: Duration = Duration::from_millis(10);

/// What is done with a directory that has problems.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Broken {
    /// Nobody is told of it.
    Withheld,
    /// Processes are told all the same, and judge for themselves.
    Sent,
}

/// What became of a process that was told.
enum Fate {
    Reloaded(Run),
    Kept(Run),
    /// It reads, but not what was checked here.
    Differs(Run),
    Ended,
    Silent,
    /// It could not be told, and why.
    Untold(String),
}

pub(super) fn run(dir: &Path, broken: Broken, screen: Screen) -> anyhow::Result<ExitCode> {
    let version = dir::load(dir, std::env::vars_os()).map(|loaded| {
        if !loaded.unavailable.is_empty() {
            eprintln!("secrets are missing in this environment; each process looks in its own");
        }
        loaded.version
    });
    let version = version.or_else(|problems| {
        // The processes have an environment of their own, and secrets may stand in it.
        let elsewhere = dir::version_without_secrets(dir, std::env::vars_os());
        elsewhere.map_err(|_| problems).inspect(|_| {
            eprintln!("secrets are missing in this environment; each process looks in its own");
        })
    });
    let expected = match version {
        Ok(version) => Some(version),
        Err(problems) => {
            let code = refuse(&problems);
            if broken == Broken::Withheld {
                crate::record_refusal(&problems, Some(dir), "config reload");
                eprintln!(
                    "nobody was told to read it; --force tells them, and they keep what they have"
                );
                return Ok(code);
            }
            None
        }
    };
    let at = std::fs::canonicalize(dir).context("the directory cannot be found")?;
    let runs = running::all().context("the state directory cannot be read")?;
    let runs: Vec<Run> = runs.into_iter().filter(|run| run.directory == at).collect();
    if runs.is_empty() {
        // INVARIANT: whoever takes a token away is not told that it is out where somebody may still take it.
        eprintln!(
            "no process that keeps its state here serves {}: nobody was told to read it. Give this command the \
             MAILWARDEN_STATE_DIR of each that does; whoever starts next reads it as it is",
            dir.display()
        );
        return Ok(ExitCode::FAILURE);
    }
    let told: Vec<(Run, Result<(), String>)> = runs
        .into_iter()
        .map(|run| {
            let told = tell(&run);
            (run, told)
        })
        .collect();
    let deadline = Instant::now() + PATIENCE;
    let mut all_well = true;
    for (run, told) in &told {
        let fate = match told {
            Ok(()) => wait(run, expected.as_deref(), deadline),
            Err(why) => Fate::Untold(why.clone()),
        };
        all_well &= matches!(fate, Fate::Reloaded(_) | Fate::Ended);
        screen.line(line(run, &fate, screen));
    }
    Ok(match all_well {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

fn line(run: &Run, fate: &Fate, screen: Screen) -> String {
    let outcome = match fate {
        Fate::Reloaded(now) => {
            let reloaded = screen.good(format!("reloaded to version {}", now.version));
            match now.left.as_slice() {
                [] => reloaded,
                left => {
                    let left = format!("{}: in force after a restart only", left.join(", "));
                    format!("{reloaded}; {}", screen.warn(left))
                }
            }
        }
        Fate::Kept(now) => {
            let problems = match now.outcome {
                Outcome::Kept(problems) => usize::try_from(problems).unwrap_or(usize::MAX),
                Outcome::InForce => 0,
            };
            let problems = counted(problems, "problem", "problems");
            screen.bad(format!(
                "kept version {} because of {problems}; its stderr and the audit log tell which",
                now.version
            ))
        }
        Fate::Differs(now) => screen.bad(format!(
            "has version {} in force, which is not what was checked; were files changed meanwhile? reload again",
            now.version
        )),
        Fate::Ended => "has ended meanwhile".to_owned(),
        Fate::Silent => screen.bad(format!(
            "did not answer within {} seconds; version {} may still be in force",
            PATIENCE.as_secs(),
            run.version
        )),
        Fate::Untold(why) => screen.bad(why),
    };
    format!("process {} ({}): {outcome}", run.pid, run.caller)
}

/// Looks until the process says that it has read the directory since it was told to.
fn wait(before: &Run, expected: Option<&str>, deadline: Instant) -> Fate {
    let mut last = None;
    loop {
        match running::of(before.pid) {
            None => return Fate::Ended,
            Some(now) if now.generation > before.generation => match now.outcome {
                Outcome::Kept(_) => return Fate::Kept(now),
                Outcome::InForce if expected.is_none_or(|version| version == now.version) => {
                    return Fate::Reloaded(now);
                }
                // It had begun to read before the files were as they are; the signal is still ahead of it.
                Outcome::InForce => last = Some(now),
            },
            Some(_) => {}
        }
        if Instant::now() >= deadline {
            return last.map_or(Fate::Silent, Fate::Differs);
        }
        std::thread::sleep(GLANCE);
    }
}

#[cfg(unix)]
fn tell(run: &Run) -> Result<(), String> {
    use rustix::process::{Pid, Signal, kill_process};
    if !run.is_here() {
        return Err("runs in another container; send it SIGHUP there".to_owned());
    }
    let pid = i32::try_from(run.pid).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| "has no number that a process can have".to_owned())?;
    kill_process(pid, Signal::HUP)
        .map_err(|error| format!("could not be told ({error}); are you the user that started it?"))
}

#[cfg(not(unix))]
fn tell(_: &Run) -> Result<(), String> {
    Err(
        "cannot be told on this system, which has no SIGHUP; start it again to read the directory"
            .to_owned(),
    )
}
