//! `audit verify` of several logs: how each came out, and whether they are the logs that there should be.

use std::process::ExitCode;

use audit::LogId;
use audit::read::{Report, Signed, Verify};
use serde_json::{Value, json};

use super::logs::Log;
use super::page::{Form, Page, safe};
use super::verify::{Given, as_json, check, show};

/// What is wrong with them as a whole.
#[derive(Default)]
struct Amiss {
    /// Directories that carry the log of another.
    same: Vec<(String, String)>,
    /// What the reader brought along, and whose log is not here.
    missing: Vec<String>,
}

pub(super) fn run(logs: &[Log], given: &Given, page: &mut Page) -> anyhow::Result<ExitCode> {
    let amiss = Amiss {
        same: same(logs),
        missing: missing(logs, given),
    };
    let mut bad = 0;
    let mut told = Vec::new();
    for log in logs {
        let wanted = Verify {
            since: given.since,
            key: given
                .keys
                .iter()
                .find(|key| log.id.as_ref() == Some(&key.log_id()))
                .cloned(),
            checkpoints: of(log, &given.checkpoints),
        };
        let report = check(log, &wanted);
        let good = report.as_ref().is_ok_and(|report| report.fault.is_none());
        bad += usize::from(!good);
        match page.form {
            Form::Json => told.push(object(log, &report)),
            Form::Human => say(log, &report, wanted.checkpoints.len(), page)?,
        }
    }
    let good = bad == 0 && amiss.same.is_empty() && amiss.missing.is_empty();
    match page.form {
        Form::Json => page.line(json!({
            "good": good,
            "logs": told,
            "same_log": amiss.same.iter().map(|(one, other)| json!([one, other])).collect::<Vec<_>>(),
            "missing": amiss.missing,
        }))?,
        Form::Human => sum_up(logs.len(), bad, &amiss, page)?,
    }
    Ok(match good {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// A log that is there twice would be counted twice, and its copies may grow apart.
fn same(logs: &[Log]) -> Vec<(String, String)> {
    let mut same = Vec::new();
    for (n, log) in logs.iter().enumerate() {
        let mut before = logs.iter().take(n);
        if let Some(other) = before.find(|other| other.id.is_some() && other.id == log.id) {
            same.push((other.name.clone(), log.name.clone()));
        }
    }
    same
}

fn missing(logs: &[Log], given: &Given) -> Vec<String> {
    let here = |id: &LogId| logs.iter().any(|log| log.id.as_ref() == Some(id));
    let keys = given.keys.iter().map(|key| key.log_id());
    let keys = keys
        .filter(|id| !here(id))
        .map(|id| format!("log {id}, whose key was given"));
    let kept = given
        .checkpoints
        .iter()
        .filter_map(|signed| match signed.log() {
            Some(id) if here(&id) => None,
            Some(id) => Some(format!("log {id}, of which {} was kept", signed.name)),
            None => Some(format!(
                "the log of {}, which is no checkpoint",
                signed.name
            )),
        });
    keys.chain(kept).collect()
}

/// Those that speak of this log; whether it signed them is verified with it.
fn of(log: &Log, checkpoints: &[Signed]) -> Vec<Signed> {
    let of_it = |signed: &&Signed| log.id.is_some() && signed.log() == log.id;
    checkpoints.iter().filter(of_it).cloned().collect()
}

fn object(log: &Log, report: &std::io::Result<Report>) -> Value {
    let mut object = json!({
        "log": log.name,
        "log_id": log.id.as_ref().map(LogId::as_str),
        "directory": log.dir.display().to_string(),
    });
    let rest = match report {
        Ok(report) => as_json(report),
        Err(error) => json!({ "good": false, "unreadable": error.to_string() }),
    };
    if let (Some(object), Value::Object(rest)) = (object.as_object_mut(), rest) {
        object.extend(rest);
    }
    object
}

fn say(
    log: &Log,
    report: &std::io::Result<Report>,
    given: usize,
    page: &mut Page,
) -> std::io::Result<()> {
    let name = page.screen.bold(safe(&log.name));
    page.line(name)?;
    if let Some(id) = &log.id {
        page.beside("id", id.as_str())?;
    }
    match report {
        Ok(report) => show(&log.dir, report, given, page)?,
        Err(error) => {
            page.beside("log", &safe(&log.dir.display().to_string()))?;
            page.line("")?;
            let bad = page.screen.bad("BAD: it cannot be read");
            page.line(bad)?;
            page.beside("wrong", &safe(&error.to_string()))?;
        }
    }
    page.line("")
}

fn sum_up(logs: usize, bad: usize, amiss: &Amiss, page: &mut Page) -> std::io::Result<()> {
    let screen = page.screen;
    for (one, other) in &amiss.same {
        let what = format!(
            "{} and {} are the same log: one of them is a copy, or two replicas write under one key",
            safe(one),
            safe(other)
        );
        page.beside("same", &what)?;
    }
    for what in &amiss.missing {
        page.beside("missing", &safe(what))?;
    }
    if bad == 0 && amiss.same.is_empty() && amiss.missing.is_empty() {
        return page.line(screen.good(format!("good: all {logs} logs")));
    }
    let mut parts = Vec::new();
    if bad > 0 {
        parts.push(format!("{bad} of {logs} logs"));
    }
    if !amiss.same.is_empty() {
        parts.push("one log in two directories".to_owned());
    }
    if !amiss.missing.is_empty() {
        parts.push(format!("{} missing", amiss.missing.len()));
    }
    page.line(screen.bad(format!("BAD: {}", parts.join(", "))))
}
