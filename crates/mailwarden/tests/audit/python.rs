//! `docs/verify_audit.py`: twenty lines of somebody else's language come to the same result.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use audit::read::sample;

use crate::support::{DAYS, change, day, json, log};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/verify_audit.py");

fn script(dir: &Path) -> Output {
    let ran = Command::new("python3").arg(SCRIPT).arg(dir).output();
    ran.expect("python3 is needed to test docs/verify_audit.py")
}

#[test]
fn the_script_is_short_and_agrees() {
    let lines = fs::read_to_string(SCRIPT).unwrap().lines().count();
    assert!(lines <= 20, "{lines} lines");
    let log = log();
    let agrees = || {
        let root = json(log.path(), &["verify"])["root"]
            .as_str()
            .unwrap()
            .to_owned();
        let ran = script(log.path());
        assert!(
            ran.status.success(),
            "{}",
            String::from_utf8_lossy(&ran.stderr)
        );
        let said = String::from_utf8(ran.stdout).unwrap();
        assert_eq!(said.trim(), format!("200 records, root {root}"));
    };
    agrees();
    sample::compress(log.path(), audit::Day::parse(DAYS[0]).unwrap()).unwrap();
    agrees();
    // It is for honest retention, too: younger days go on from what they state.
    let younger = tempfile::tempdir().unwrap();
    for n in [1, 2] {
        fs::copy(day(log.path(), n), day(younger.path(), n)).unwrap();
    }
    let all = script(log.path()).stdout;
    assert_eq!(script(younger.path()).stdout, all);
}

#[test]
fn the_script_finds_what_was_changed() {
    type Change = fn(String) -> String;
    let changes: [(&str, Change); 4] = [
        ("record 70,", |text| {
            text.replacen("\"seq\":70,", "\"seq\":71,", 1)
        }),
        ("record 80,", |text| {
            text.replacen("\"latency_ms\":81", "\"latency_ms\":80", 1)
        }),
        ("record 67,", |text| {
            text.split_once('\n').unwrap().1.to_owned()
        }),
        ("record 69,", |text| {
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            [&lines[..2], &[lines[1]], &lines[2..]].concat().concat()
        }),
    ];
    for (named, how) in changes {
        let log = log();
        change(&day(log.path(), 1), how);
        let ran = script(log.path());
        let said = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(1), "{named}");
        assert!(
            said.starts_with("BAD: ") && said.contains(named),
            "{named}: {said}"
        );
    }
}
