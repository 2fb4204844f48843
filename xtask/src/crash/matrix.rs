//! Runs the worker under the trap and compares three stories: what the server saw, what was told, what the log says.

use std::collections::HashMap;
use std::io::Read as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::server::Server;
use super::worker::Pace;
use audit::Line;
use audit::read::{Days, Piece, Read, Verify};
use serde_json::Value;
use testkit::trap::{Deed, Plan, Trapped, Watch};

const CALLERS: usize = 32;
/// So many runs in turn are killed over one log.
const ONE_LOG: usize = 25;
/// Fewer would mean that the trap does not work.
const LEAST_POINTS: usize = 100;

/// Every point with one caller, and so many kills at random with many.
pub(super) fn run(random_kills: usize) -> Result<String, String> {
    let server = Server::start().map_err(|error| error.to_string())?;
    let mut points = 0;
    for (pace, deed) in [
        (Pace::Real, Deed::Kill),
        (Pace::Real, Deed::KillAfter),
        (Pace::Real, Deed::Tear),
        (Pace::Days, Deed::Kill),
        (Pace::Days, Deed::Tear),
    ] {
        let calls = match pace {
            Pace::Real => 3,
            Pace::Days => 5,
        };
        for nth in 1.. {
            let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
            let plan = Plan::at(nth, Watch::all_changes(), deed.clone());
            if !one(&server, dir.path(), plan, (1, calls), pace)?.hit {
                break;
            }
            // Whoever comes after it finds a log to go on with.
            one(
                &server,
                dir.path(),
                Plan::count(Watch::all_changes()),
                (1, 1),
                pace,
            )?;
            verify(dir.path())?;
            points += 1;
        }
    }
    let mut dir = tempfile::tempdir().map_err(|error| error.to_string())?;
    let calls = one(
        &server,
        dir.path(),
        Plan::count(Watch::all_changes()),
        (CALLERS, 2),
        Pace::Real,
    )?
    .calls;
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let (mut kills, mut runs) = (0, 0);
    // How many calls a run makes depends on who meets whom: some end before they are killed.
    while kills < random_kills && runs < 4 * random_kills {
        runs += 1;
        // A log has to survive many; reading it after each takes longer and longer.
        if runs % ONE_LOG == 0 {
            verify(dir.path())?;
            dir = tempfile::tempdir().map_err(|error| error.to_string())?;
        }
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let nth = 1 + usize::try_from(random).unwrap_or(usize::MAX) % calls.max(1);
        let deed = if random & 256 == 0 {
            Deed::Kill
        } else {
            Deed::Tear
        };
        let plan = Plan::at(nth, Watch::all_changes(), deed);
        kills += usize::from(one(&server, dir.path(), plan, (CALLERS, 2), Pace::Real)?.hit);
    }
    one(
        &server,
        dir.path(),
        Plan::count(Watch::all_changes()),
        (1, 1),
        Pace::Real,
    )?;
    verify(dir.path())?;
    if points < LEAST_POINTS || kills < random_kills {
        return Err(format!("only {points} kill points and {kills} kills"));
    }
    let records = records(dir.path())?.len();
    Ok(format!(
        "the worker: {points} kill points in turn, {kills} kills at random in {runs} runs with {CALLERS} callers; \
         {} effects at the server; the last log holds {records} records; no violation",
        server.effects().map_err(|error| error.to_string())?.len()
    ))
}

/// What `audit verify` says of it, and that whatever was set aside is told of.
fn verify(dir: &Path) -> Result<(), String> {
    let names = std::fs::read_dir(dir).map_err(|error| error.to_string())?;
    let told = format!("{:?}", records(dir)?);
    for name in names.flatten().map(|entry| entry.file_name()) {
        let name = name.to_string_lossy();
        if name.contains(".torn-") && !told.contains(name.as_ref()) {
            return Err(format!("no record tells of {name}"));
        }
    }
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
    pace: Pace,
) -> Result<Ran, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    // Not the process's number: the system gives them out again.
    static RUN: AtomicUsize = AtomicUsize::new(0);
    let name = format!("run{}", RUN.fetch_add(1, Ordering::Relaxed));
    command
        .arg("crash-worker")
        .arg(&name)
        .arg(dir)
        .arg(&server.address)
        .arg(callers.to_string())
        .arg(calls.to_string())
        .arg(pace.name());
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
    compare(&records(dir)?, &effects, whole, &name)
        .map_err(|violation| format!("after {:?}: {violation}", outcome.hit()))?;
    Ok(Ran {
        hit: outcome.hit().is_some(),
        calls: outcome.seen.len(),
    })
}

fn compare(
    records: &HashMap<u64, Value>,
    effects: &[String],
    told: &str,
    name: &str,
) -> Result<(), String> {
    let mut intents = HashMap::new();
    for record in records.values() {
        if record.get("event").and_then(Value::as_str) == Some("intent") {
            let name = record.get("request_id").and_then(Value::as_str);
            intents.insert(name.unwrap_or_default(), record);
        }
    }
    let mine = format!("{name}-");
    // Days that were deleted took their records with them; those from then on are all there.
    let oldest = records.keys().min().copied().unwrap_or_default();
    for effect in effects.iter().filter(|effect| effect.starts_with(&mine)) {
        if oldest == 0 && !intents.contains_key(effect.as_str()) {
            return Err(format!("{effect} was done and is not in the log"));
        }
    }
    for line in told.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [name, seq, hash] = words.as_slice() else {
            return Err(format!("a strange reply: {line}"));
        };
        let number = seq.parse::<u64>().map_err(|error| error.to_string())?;
        if number < oldest {
            continue;
        }
        let record = records.get(&number);
        let says = |field: &str, value: &str| {
            record.and_then(|record| record.get(field)?.as_str()) == Some(value)
        };
        if !(says("event", "outcome") && says("request_id", name) && says("hash", hash)) {
            return Err(format!("{name} was told, and record {seq} is {record:?}"));
        }
    }
    Ok(())
}

/// All records by their numbers; the last line of a killed process may be torn, and nothing else.
fn records(dir: &Path) -> Result<HashMap<u64, Value>, String> {
    let mut expected = None;
    let mut records = HashMap::new();
    let mut days = match Days::of(dir, None, None) {
        Ok(days) => days,
        Err(_) => return Ok(records),
    };
    while let Some(read) = days.advance() {
        let text = match read {
            Read::Piece(Piece::Line(text)) => text,
            Read::Piece(Piece::TooLong) => return Err("a line is too long".to_owned()),
            Read::Unreadable(error) => return Err(error.to_string()),
            Read::Day(_) | Read::Piece(Piece::Tail(_)) => continue,
        };
        let shown = String::from_utf8_lossy(text);
        let line = Line::parse(text).map_err(|bad| format!("{bad}: {shown}"))?;
        if !line.is_whole() || expected.is_some_and(|place| place != (line.seq, line.prev)) {
            return Err(format!("the chain is broken at {shown}"));
        }
        expected = Some((line.seq + 1, line.hash));
        let record = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        records.insert(line.seq, record);
    }
    Ok(records)
}
