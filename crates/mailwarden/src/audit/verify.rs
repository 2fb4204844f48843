//! `audit verify`: whether the log, or a proof, is what was written.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use audit::Verifier;
use audit::proof::{LONGEST, verify_proof};
use audit::read::{Cause, Fault, Report, Signed, Verify};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::bar::Bar;
use super::logs::{Log, Logs};
use super::page::{Form, Page, safe};
use super::{many, record};
use crate::cli::AuditVerify;

pub(super) fn run(logs: &Logs, asked: &AuditVerify, page: &mut Page) -> anyhow::Result<ExitCode> {
    let keys: anyhow::Result<Vec<Verifier>> = asked.key.iter().map(|text| key(text)).collect();
    let keys = keys?;
    if let Some(file) = &asked.proof {
        let given = (keys.len() <= 1).then(|| keys.first());
        let given = given.context("a proof is of one log: give one key")?;
        return proof(logs, file, given, page);
    }
    let read = |file: &PathBuf| {
        let signed = Signed::read(file);
        signed.with_context(|| format!("{} cannot be read", file.display()))
    };
    let checkpoints: anyhow::Result<Vec<Signed>> = asked.checkpoint.iter().map(read).collect();
    let since = asked
        .since
        .map(|when| audit::Day::of(when.begin(Timestamp::now())));
    let given = Given {
        since,
        keys,
        checkpoints: checkpoints?,
    };
    match logs.all() {
        [log] => one(log, given, page),
        several => many::run(several, &given, page),
    }
}

/// What the reader brought along, for whichever log it is.
pub(super) struct Given {
    pub(super) since: Option<audit::Day>,
    pub(super) keys: Vec<Verifier>,
    pub(super) checkpoints: Vec<Signed>,
}

fn one(log: &Log, given: Given, page: &mut Page) -> anyhow::Result<ExitCode> {
    anyhow::ensure!(
        given.keys.len() <= 1,
        "there is one log here, and it has one key"
    );
    let wanted = Verify {
        since: given.since,
        key: given.keys.into_iter().next(),
        checkpoints: given.checkpoints,
    };
    let report = check(log, &wanted);
    let dir = &log.dir;
    let report = report.with_context(|| format!("the log in {} cannot be read", dir.display()))?;
    match page.form {
        Form::Json => page.line(as_json(&report))?,
        Form::Human => show(dir, &report, wanted.checkpoints.len(), page)?,
    }
    Ok(match report.fault {
        None => ExitCode::SUCCESS,
        Some(_) => ExitCode::FAILURE,
    })
}

pub(super) fn check(log: &Log, wanted: &Verify) -> std::io::Result<Report> {
    let mut bar = Bar::default();
    audit::read::verify(&log.dir, wanted, &mut |done, total| bar.show(done, total))
}

/// A key as it is written, or the file that it stands in.
fn key(text: &str) -> anyhow::Result<Verifier> {
    if let Some(key) = Verifier::parse(text) {
        return Ok(key);
    }
    let mut read = String::new();
    let file =
        File::open(text).with_context(|| format!("{text} is neither a public key nor a file"))?;
    file.take(4096).read_to_string(&mut read)?;
    Verifier::parse(&read).with_context(|| format!("{text} holds no public key of a log"))
}

/// `given` is the number of checkpoints from elsewhere.
pub(super) fn show(
    dir: &Path,
    report: &Report,
    given: usize,
    page: &mut Page,
) -> std::io::Result<()> {
    let last = report.size.checked_sub(1);
    page.beside("log", &safe(&dir.display().to_string()))?;
    let records = match last {
        Some(last) if last >= report.first => format!(
            "{} to {last}, in {} day(s), {}",
            report.first,
            report.days,
            size(report.bytes)
        ),
        _ => "none".to_owned(),
    };
    page.beside("records", &records)?;
    page.beside("last hash", &report.head.to_string())?;
    page.beside("root", &report.root.to_string())?;
    let compared = match report.checkpoints {
        0 => "none compared".to_owned(),
        count => format!("{count} compared, all right"),
    };
    page.beside("checkpoints", &compared)?;
    for notice in &report.notices {
        page.beside("notice", &safe(&notice.to_string()))?;
    }
    let screen = page.screen;
    page.line("")?;
    match &report.fault {
        None => {
            page.line(screen.good("good: the records follow each other, and none was changed"))?;
            let elsewhere = "a checkpoint that was kept elsewhere (--checkpoint) would also show a log that was cut off or \
                             written anew as a whole";
            match given {
                0 => page.beside("", elsewhere),
                _ => Ok(()),
            }
        }
        Some(fault) => bad(fault, report, page),
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} kB on disk", bytes.div_ceil(1000)),
        _ => format!("{:.1} MB on disk", bytes as f64 / 1e6),
    }
}

fn bad(fault: &Fault, report: &Report, page: &mut Page) -> std::io::Result<()> {
    let screen = page.screen;
    page.line(screen.bad(match fault.at {
        Some(_) => "BAD: this is the first bad record",
        None => "BAD",
    }))?;
    let seq = |seq: Option<u64>| seq.map_or("unknown".to_owned(), |seq| seq.to_string());
    if fault.expected.is_some() || fault.found.is_some() {
        let found = match fault.found {
            Some(found) => format!("record {found}"),
            None if fault.cause == Cause::Cut => "nothing".to_owned(),
            None => "no record that can be read".to_owned(),
        };
        let found = format!("{}; found is {found}", seq(fault.expected));
        page.beside("record", &found)?;
    }
    if let Some(at) = &fault.at {
        page.beside("at", &safe(&format!("{}, line {}", at.file, at.line)))?;
    }
    page.beside("wrong", &safe(&fault.wrong.to_string()))?;
    page.beside("perhaps", &safe(&fault.story()))?;
    let good = report
        .size
        .checked_sub(1)
        .filter(|last| *last >= report.first);
    let good = match good {
        Some(last) => format!("the records {} to {last} follow each other", report.first),
        None => "no record before it".to_owned(),
    };
    page.beside("before it", &good)
}

pub(super) fn as_json(report: &Report) -> Value {
    let fault = report.fault.as_ref().map(|fault| {
        json!({
            "expected_seq": fault.expected,
            "found_seq": fault.found,
            "file": fault.at.as_ref().map(|at| &at.file),
            "line": fault.at.as_ref().map(|at| at.line),
            "wrong": fault.wrong.to_string(),
            "cause": fault.cause.word(),
            "perhaps": fault.story(),
        })
    });
    let notices: Vec<String> = report.notices.iter().map(ToString::to_string).collect();
    json!({
        "good": report.fault.is_none(),
        "first_seq": report.first,
        "tree_size": report.size,
        "root": report.root.to_string(),
        "last_hash": report.head.to_string(),
        "days": report.days,
        "bytes": report.bytes,
        "checkpoints": report.checkpoints,
        "notices": notices,
        "fault": fault,
    })
}

/// A proof needs no log. Whose key signed it is for the reader to compare, unless he has brought one.
fn proof(
    logs: &Logs,
    file: &Path,
    key: Option<&Verifier>,
    page: &mut Page,
) -> anyhow::Result<ExitCode> {
    let mut document = String::new();
    let opened = File::open(file).with_context(|| format!("{} cannot be read", file.display()))?;
    opened
        .take(LONGEST as u64 + 1)
        .read_to_string(&mut document)?;
    let proven = verify_proof(&document, key);
    let own = |key: &Verifier| {
        let mut keys = logs.all().iter().map(|log| audit::verifier(&log.dir));
        keys.any(|own| own.is_ok_and(|own| own == *key))
    };
    let (trusted, trust) = match (&proven, key) {
        (Ok(_), Some(_)) => (true, "the key that was given"),
        (Ok(proven), None) if own(&proven.key) => (true, "the key of the log here"),
        _ => (
            false,
            "the key in the proof itself, which anybody can make: give the log's public key with --key",
        ),
    };
    let screen = page.screen;
    match (&proven, page.form) {
        (Ok(proven), Form::Json) => page.line(json!({
            "good": trusted,
            "index": proven.index,
            "tree_size": proven.checkpoint.size,
            "root": proven.checkpoint.root.to_string(),
            "key": proven.key.to_string(),
            "trusted_key": trusted,
            "record": proven.record,
        }))?,
        (Err(why), Form::Json) => page.line(json!({ "good": false, "wrong": why.to_string() }))?,
        (Ok(proven), Form::Human) => {
            let signed = format!(
                "{}, over {} records",
                proven.checkpoint.origin, proven.checkpoint.size
            );
            page.beside("log", &safe(&signed))?;
            page.beside("signed by", trust)?;
            page.beside("key", &safe(&proven.key.to_string()))?;
            page.line("")?;
            record::print(proven.record.as_bytes(), None, page)?;
            page.line("")?;
            page.line(match trusted {
                true => screen.good(format!("good: the log contains record {}", proven.index)),
                false => screen.bad("UNPROVEN: it fits, but nobody knows whose key this is"),
            })?;
        }
        (Err(why), Form::Human) => {
            page.line(screen.bad("BAD: this proves nothing"))?;
            page.beside("wrong", &safe(&why.to_string()))?;
        }
    }
    Ok(match proven {
        Ok(_) if trusted => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}
