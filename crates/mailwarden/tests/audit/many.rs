//! Several logs at once, as replicas write them: each by itself, and all of them together.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;

use audit::read::sample::{self, Calls, Sample};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{change, command, day, json, run};

/// Three logs of one directory, of 30, 40 and 50 records.
fn three() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, records) in [("a", 30), ("b", 40), ("c", 50)] {
        let log = dir.path().join(name);
        fs::create_dir(&log).unwrap();
        sample::three_days(&log, records, Calls::Full).unwrap();
    }
    dir
}

fn lines(out: &str) -> Vec<Value> {
    let lines = out.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

/// Of each log whether it is good, by name.
fn verdicts(said: &Value) -> Vec<(String, bool)> {
    let logs = said["logs"].as_array().unwrap().iter();
    let verdict = |log: &Value| {
        let name = log["log"].as_str().unwrap().to_owned();
        (name, log["good"].as_bool().unwrap())
    };
    logs.map(verdict).collect()
}

#[test]
fn each_log_is_told_of_and_one_that_is_damaged_fails_them_all() {
    let logs = three();
    let ran = run(logs.path(), &["verify"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    for wanted in ["0 to 29", "0 to 39", "0 to 49", "good: all 3 logs"] {
        assert!(ran.out.contains(wanted), "{wanted} in {}", ran.out);
    }
    change(&day(&logs.path().join("b"), 1), |text| {
        text.replacen("\"latency_ms\":", "\"latency_ms\":1", 1)
    });
    let ran = run(logs.path(), &["verify"]);
    assert_eq!(ran.code, Some(1));
    for wanted in [
        "BAD: this is the first bad record",
        "BAD: 1 of 3 logs",
        "0 to 49",
    ] {
        assert!(ran.out.contains(wanted), "{wanted} in {}", ran.out);
    }
    let said = json(logs.path(), &["verify"]);
    assert_eq!(said["good"], false);
    let expected = [("a", true), ("b", false), ("c", true)];
    assert_eq!(
        verdicts(&said),
        expected.map(|(name, good)| (name.to_owned(), good))
    );
    // The others are good by themselves.
    for (name, code) in [("a", 0), ("b", 1), ("c", 0)] {
        let ran = run(logs.path(), &["verify", "--log", name]);
        assert_eq!(ran.code, Some(code), "{name}");
    }
}

#[test]
fn a_log_that_is_gone_is_missed_where_a_checkpoint_or_a_key_of_it_was_kept() {
    let logs = three();
    let elsewhere = tempfile::tempdir().unwrap();
    let kept = |name: &str| {
        let path = elsewhere.path().join(format!("{name}.checkpoint"));
        let shown = run(logs.path(), &["checkpoint", "--log", name]);
        assert_eq!(shown.code, Some(0), "{}", shown.err);
        fs::write(&path, shown.out).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (a, b) = (kept("a"), kept("b"));
    let key = elsewhere.path().join("b.pub");
    fs::copy(logs.path().join("b/log.pub"), &key).unwrap();
    let key = key.to_str().unwrap();
    let all = [
        "verify",
        "--checkpoint",
        &a,
        "--checkpoint",
        &b,
        "--key",
        key,
    ];
    assert_eq!(run(logs.path(), &all).code, Some(0));
    fs::remove_dir_all(logs.path().join("b")).unwrap();
    assert_eq!(run(logs.path(), &["verify"]).code, Some(0));
    assert_eq!(
        run(logs.path(), &["verify", "--checkpoint", &a]).code,
        Some(0)
    );
    for lost in [["--checkpoint", &b], ["--key", key]] {
        let ran = run(logs.path(), &[&["verify"][..], &lost].concat());
        assert_eq!(ran.code, Some(1), "{}", ran.out);
        assert!(ran.out.contains("BAD: 1 missing"), "{}", ran.out);
    }
    let said = json(logs.path(), &all);
    assert_eq!(said["missing"].as_array().unwrap().len(), 2, "{said}");
    // A checkpoint of a log that was cut is not satisfied by the others.
    let last = day(&logs.path().join("a"), 2);
    fs::remove_file(logs.path().join("a/checkpoint")).unwrap();
    change(&last, |text| {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        lines[..lines.len() - 3].concat()
    });
    assert_eq!(run(logs.path(), &["verify"]).code, Some(0));
    assert_eq!(
        run(logs.path(), &["verify", "--checkpoint", &a]).code,
        Some(1)
    );
}

#[test]
fn two_directories_must_not_carry_one_log() {
    let logs = three();
    let copy = logs.path().join("copy");
    fs::create_dir(&copy).unwrap();
    for file in fs::read_dir(logs.path().join("a")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), copy.join(file.file_name())).unwrap();
    }
    let ran = run(logs.path(), &["verify"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.out.contains("a and copy are the same log"),
        "{}",
        ran.out
    );
    let said = json(logs.path(), &["verify"]);
    assert_eq!(said["same_log"], serde_json::json!([["a", "copy"]]));
    assert!(verdicts(&said).iter().all(|(_, good)| *good));
    // Said twice, a directory is one log.
    let ran = command(&logs.path().join("a"), &["verify"])
        .arg("--dir")
        .arg(logs.path().join("a"))
        .output()
        .unwrap();
    assert!(ran.status.success());
}

#[test]
fn records_of_all_logs_come_by_time_with_the_name_of_their_log() {
    let logs = three();
    let ran = run(logs.path(), &["query", "--event", "call", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let found = lines(&ran.out);
    let times: Vec<&str> = found
        .iter()
        .map(|one| one["record"]["ts"].as_str().unwrap())
        .collect();
    assert!(times.is_sorted());
    let names: BTreeSet<&str> = found
        .iter()
        .map(|one| one["log"].as_str().unwrap())
        .collect();
    assert_eq!(names, BTreeSet::from(["a", "b", "c"]));
    for name in names {
        let of_log = found.iter().filter(|one| one["log"] == name);
        let seqs: Vec<u64> = of_log
            .map(|one| one["record"]["seq"].as_u64().unwrap())
            .collect();
        assert!(seqs.is_sorted(), "{name}");
        // Each record is, octet for octet, the one that stands in that log alone.
        let alone = run(
            logs.path(),
            &["query", "--event", "call", "--json", "--log", name],
        );
        let alone: Vec<&str> = alone.out.lines().collect();
        assert_eq!(alone.len(), seqs.len());
        assert!(alone.iter().all(|line| ran.out.contains(*line)));
    }
    let newest = run(
        logs.path(),
        &["query", "--event", "call", "--limit", "7", "--json"],
    );
    let all: Vec<&str> = ran.out.lines().collect();
    assert_eq!(newest.out.lines().collect::<Vec<_>>(), all[all.len() - 7..]);
    let tail = run(logs.path(), &["tail", "-n", "9", "--json"]);
    let tail = lines(&tail.out);
    let times: Vec<&str> = tail
        .iter()
        .map(|one| one["record"]["ts"].as_str().unwrap())
        .collect();
    assert!(times.len() == 9 && times.is_sorted());
    let shown = run(logs.path(), &["tail", "-n", "3"]);
    assert!(
        shown
            .out
            .lines()
            .all(|line| line.starts_with(['a', 'b', 'c'])),
        "{}",
        shown.out
    );
}

#[test]
fn counts_are_of_all_logs_and_of_each() {
    let logs = three();
    let all = json(logs.path(), &["stats"]);
    let mut calls = 0;
    for name in ["a", "b", "c"] {
        let alone = json(logs.path(), &["stats", "--log", name]);
        assert_eq!(alone.get("by_log"), None);
        assert_eq!(all["by_log"][name]["calls"], alone["all"]["calls"]);
        calls += alone["all"]["calls"].as_u64().unwrap();
    }
    assert_eq!(all["all"]["calls"], calls);
}

#[test]
fn what_is_about_one_log_wants_to_know_which() {
    let logs = three();
    for verb in [&["prove", "3"][..], &["checkpoint"]] {
        let ran = run(logs.path(), verb);
        assert_eq!(ran.code, Some(1));
        assert!(ran.err.contains("--log: a, b, c"), "{}", ran.err);
    }
    let proof = run(logs.path(), &["prove", "3", "--log", "b"]);
    assert_eq!(proof.code, Some(0), "{}", proof.err);
    let file = logs.path().join("proof.json");
    fs::write(&file, proof.out).unwrap();
    let file = file.to_str().unwrap();
    assert_eq!(run(logs.path(), &["verify", "--proof", file]).code, Some(0));
    let ran = run(logs.path(), &["verify", "--proof", file, "--log", "a"]);
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    // By its id as well.
    let id = json(logs.path(), &["verify"])["logs"][1]["log_id"].clone();
    let by_id = run(logs.path(), &["checkpoint", "--log", id.as_str().unwrap()]);
    assert_eq!(by_id.code, Some(0), "{}", by_id.err);
}

#[test]
fn what_is_written_to_any_of_them_is_followed() {
    let dir = tempfile::tempdir().unwrap();
    let begin = |name: &str, ts: &str| {
        let log = dir.path().join(name);
        fs::create_dir(&log).unwrap();
        let mut sample = Sample::begin(&log, ts.parse().unwrap()).unwrap();
        sample.call().unwrap();
        sample.flush().unwrap();
        sample
    };
    let mut a = begin("a", "2026-11-13T23:58:00Z");
    let mut b = begin("b", "2026-11-13T23:59:00Z");
    let mut child = follow(dir.path());
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut expect = |log: &str, seq: u64| {
        let line = lines.next().unwrap().unwrap();
        let record: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(
            (&record["log"], &record["record"]["seq"]),
            (&log.into(), &seq.into())
        );
    };
    expect("b", 0);
    expect("b", 1);
    b.call().unwrap();
    b.flush().unwrap();
    expect("b", 2);
    a.call().unwrap();
    a.flush().unwrap();
    expect("a", 2);
    b.next_day().unwrap();
    b.flush().unwrap();
    expect("b", 3);
    expect("b", 4);
    child.kill().unwrap();
    child.wait().unwrap();
}

fn follow(dir: &Path) -> std::process::Child {
    command(dir, &["tail", "-f", "-n", "2", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}
