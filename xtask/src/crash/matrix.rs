//! Runs the worker under the trap and compares three stories: what the server saw, what was told, what the log says.

use std::collections::HashMap;
use std::io::Read as _;
use std::path::Path;
use std::process::Command;

use super::server::Server;
use audit::read::Verify;
use audit::{Hash, Line};
use serde_json::Value;
use testkit::trap::{Deed, Kind, Plan, Trapped, Watch};

const CALLERS: usize = 32;

fn watch() -> Watch {
    Watch::of([
        Kind::Write,
        Kind::Sync,
        Kind::Send,
        Kind::Create,
        Kind::Truncate,
        Kind::Rename,
        Kind::Link,
        Kind::Mode,
        Kind::Unlink,
    ])
}

/// Every point with one caller, and so many kills at random with many.
pub(super) fn run(random_kills: usize) -> Result<String, String> {
    let server = Server::start().map_err(|error| error.to_string())?;
    let mut points = 0;
    for deed in [Deed::Kill, Deed::KillAfter, Deed::Tear] {
        for nth in 1.. {
            let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
            let plan = Plan::at(nth, watch(), deed.clone());
            if !one(&server, dir.path(), plan, (1, 3))?.hit {
                break;
            }
            // Whoever comes after it finds a log to go on with.
            one(&server, dir.path(), Plan::count(watch()), (1, 1))?;
            verify(dir.path())?;
            points += 1;
        }
    }
    let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
    let calls = one(&server, dir.path(), Plan::count(watch()), (CALLERS, 2))?.calls;
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let (mut kills, mut runs) = (0, 0);
    // How many calls a run makes depends on who meets whom: some end before they are killed.
    while kills < random_kills && runs < 4 * random_kills {
        runs += 1;
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let nth = 1 + usize::try_from(random).unwrap_or(usize::MAX) % calls.max(1);
        let deed = if random & 256 == 0 {
            Deed::Kill
        } else {
            Deed::Tear
        };
        let plan = Plan::at(nth, watch(), deed);
        kills += usize::from(one(&server, dir.path(), plan, (CALLERS, 2))?.hit);
    }
    one(&server, dir.path(), Plan::count(watch()), (1, 1))?;
    verify(dir.path())?;
    let records = records(dir.path())?.len();
    Ok(format!(
        "the worker: {points} kill points in turn, {kills} kills at random in {runs} runs with {CALLERS} callers; \
         {} effects at the server; the last log holds {records} records; no violation",
        server.effects().map_err(|error| error.to_string())?.len()
    ))
}

/// What `audit verify` says of it.
fn verify(dir: &Path) -> Result<(), String> {
    let report = audit::read::verify(dir, &Verify::default(), &mut |_, _| {});
    match report.map_err(|error| error.to_string())?.fault {
        None => Ok(()),
        Some(fault) => Err(fault.to_string()),
    }
}

struct Ran {
    hit: bool,
    calls: usize,
}

/// One run and the comparison after it.
fn one(
    server: &Server,
    dir: &Path,
    plan: Plan,
    (callers, calls): (usize, usize),
) -> Result<Ran, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command
        .arg("crash-worker")
        .arg(dir)
        .arg(&server.address)
        .arg(callers.to_string())
        .arg(calls.to_string());
    let mut trapped = Trapped::spawn(command, plan);
    let mut told = String::new();
    if let Some(mut stdout) = trapped.stdout.take() {
        // A line that was torn was not told.
        let _ = stdout.read_to_string(&mut told);
    }
    let outcome = trapped.wait();
    let effects = server.effects().map_err(|error| error.to_string())?;
    let whole = told
        .rfind('\n')
        .and_then(|end| told.get(..end))
        .unwrap_or_default();
    compare(&records(dir)?, &effects, whole, trapped.pid())
        .map_err(|violation| format!("after {:?}: {violation}", outcome.hit()))?;
    Ok(Ran {
        hit: outcome.hit().is_some(),
        calls: outcome.seen.len(),
    })
}

fn compare(records: &[Value], effects: &[String], told: &str, pid: u32) -> Result<(), String> {
    let mut intents = HashMap::new();
    for record in records {
        if record.get("event").and_then(Value::as_str) == Some("intent") {
            let name = record.get("request_id").and_then(Value::as_str);
            intents.insert(name.unwrap_or_default(), record);
        }
    }
    let mine = format!("{pid}-");
    for effect in effects.iter().filter(|effect| effect.starts_with(&mine)) {
        if !intents.contains_key(effect.as_str()) {
            return Err(format!("{effect} was done and is not in the log"));
        }
    }
    for line in told.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [name, seq, hash] = words.as_slice() else {
            return Err(format!("a strange reply: {line}"));
        };
        let record = seq.parse::<usize>().ok().and_then(|seq| records.get(seq));
        let says = |field: &str, value: &str| {
            record.and_then(|record| record.get(field)?.as_str()) == Some(value)
        };
        if !(says("event", "outcome") && says("request_id", name) && says("hash", hash)) {
            return Err(format!("{name} was told, and record {seq} is {record:?}"));
        }
    }
    Ok(())
}

/// All records; the last line of a killed process may be torn, and nothing else.
fn records(dir: &Path) -> Result<Vec<Value>, String> {
    let mut expected = (0, Hash::ZERO);
    let mut records = Vec::new();
    for file in audit::days(dir).unwrap_or_default() {
        let bytes = std::fs::read(&file.path).map_err(|error| error.to_string())?;
        for text in bytes.split_inclusive(|byte| *byte == b'\n') {
            let Some(text) = text.strip_suffix(b"\n") else {
                break;
            };
            let shown = String::from_utf8_lossy(text);
            let line = Line::parse(text).map_err(|bad| format!("{bad}: {shown}"))?;
            if !line.is_whole() || (line.seq, line.prev) != expected {
                return Err(format!("the chain is broken at {shown}"));
            }
            expected = (line.seq + 1, line.hash);
            records.push(serde_json::from_slice(text).map_err(|error| error.to_string())?);
        }
    }
    Ok(records)
}
