//! `audit tail`, `query` and `stats`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use audit::read::sample::{self, Calls, Sample};
use serde_json::Value;

use crate::support::{DAYS, command, json, log, run};

fn seqs(dir: &Path, arguments: &[&str]) -> Vec<u64> {
    let ran = run(dir, &[arguments, &["--json"]].concat());
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let lines = ran.out.lines();
    lines
        .map(|line| {
            let record: Value = serde_json::from_str(line).unwrap();
            record["seq"].as_u64().unwrap()
        })
        .collect()
}

#[test]
fn the_newest_records_come_last() {
    let log = log();
    assert_eq!(seqs(log.path(), &["tail", "-n", "3"]), [197, 198, 199]);
    assert_eq!(seqs(log.path(), &["tail"]).len(), 20);
    assert_eq!(seqs(log.path(), &["tail", "-n", "0"]), [0u64; 0]);
    // Across days, compressed or not.
    let all: Vec<u64> = (0..200).collect();
    assert_eq!(seqs(log.path(), &["tail", "-n", "500"]), all);
    sample::compress(log.path(), audit::Day::parse(DAYS[1]).unwrap()).unwrap();
    assert_eq!(seqs(log.path(), &["tail", "-n", "150"]), all[50..]);
    // For eyes, lines are cut to fit; into a file they go whole.
    let whole = run(log.path(), &["tail", "-n", "200"]).out;
    let mut narrow = command(log.path(), &["tail", "-n", "200"]);
    let narrow = narrow.env("COLUMNS", "80").output().unwrap().stdout;
    let narrow = String::from_utf8(narrow).unwrap();
    assert_eq!(narrow.lines().count(), 200);
    assert!(narrow.lines().all(|line| line.chars().count() <= 80));
    assert!(narrow.contains('…') && !whole.contains('…'), "{whole}");
}

#[test]
fn records_are_found_by_what_they_say() {
    let log = log();
    let all = seqs(log.path(), &["query"]);
    assert_eq!(all, (0..200).collect::<Vec<u64>>());
    let calls = seqs(log.path(), &["query", "--event", "call"]);
    let pick = |fits: &dyn Fn(u64) -> bool| -> Vec<u64> {
        calls.iter().copied().filter(|seq| fits(*seq)).collect()
    };
    let cases: [(&[&str], Vec<u64>); 9] = [
        (&["--caller", "triage"], pick(&|n| n % 3 == 0)),
        (&["--tool", "imap_get_message"], pick(&|n| n % 4 == 1)),
        (&["--decision", "DENY"], pick(&|n| n % 7 == 3)),
        (
            &["--message", "imap:default:INBOX:7:12"],
            pick(&|n| n % 50 == 12),
        ),
        (&["--search-text", "word 4"], pick(&|n| n % 10 == 4)),
        (&["--search-text", "word"], vec![]),
        (
            &["--caller", "owner", "--decision", "deny", "--limit", "2"],
            {
                let found = pick(&|n| n % 3 != 0 && n % 7 == 3);
                found[found.len() - 2..].to_vec()
            },
        ),
        (&["--since", "2026-11-15"], (134..200).collect()),
        (
            &["--since", "2026-11-13T09:00:00Z", "--until", "2026-11-14"],
            (67..134).collect(),
        ),
    ];
    for (arguments, expected) in cases {
        assert_eq!(
            seqs(log.path(), &[&["query"], arguments].concat()),
            expected,
            "{arguments:?}"
        );
    }
}

#[test]
fn calls_are_counted() {
    let log = log();
    let said = json(log.path(), &["stats"]);
    let calls = seqs(log.path(), &["query", "--event", "call"]);
    assert_eq!(said["all"]["calls"], calls.len());
    let denied = seqs(log.path(), &["query", "--decision", "deny"]).len();
    assert_eq!(said["all"]["denied"], denied);
    assert_eq!(said["by_decision"]["DENY"]["calls"], denied);
    let days: BTreeMap<String, Value> = serde_json::from_value(said["by_day"].clone()).unwrap();
    assert_eq!(
        days.keys().collect::<Vec<_>>(),
        DAYS.iter().collect::<Vec<_>>()
    );
    let p50 = said["all"]["latency_ms_p50"].as_f64().unwrap();
    assert!((30.0..50.0).contains(&p50), "{p50}");
    let human = run(log.path(), &["stats"]).out;
    assert!(
        human.lines().all(|line| line.chars().count() <= 100),
        "{human}"
    );
}

#[test]
fn nothing_is_written() {
    let log = log();
    let look = || {
        let entries = fs::read_dir(log.path()).unwrap().map(|entry| {
            let entry = entry.unwrap();
            let data = entry.metadata().unwrap();
            (entry.file_name(), (data.len(), data.modified().unwrap()))
        });
        entries.collect::<BTreeMap<_, _>>()
    };
    let before = look();
    for verb in [
        &["verify"][..],
        &["tail"],
        &["query"],
        &["stats"],
        &["checkpoint"],
        &["prove", "7"],
    ] {
        assert_eq!(run(log.path(), verb).code, Some(0), "{verb:?}");
    }
    assert_eq!(look(), before);
}

#[test]
fn a_reader_may_go_away() {
    let dir = tempfile::tempdir().unwrap();
    sample::three_days(dir.path(), 3000, Calls::Full).unwrap();
    for verb in [
        &["tail", "-n", "3000"][..],
        &["query"],
        &["query", "--json"],
    ] {
        let mut child = command(dir.path(), verb)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(0), "{verb:?}");
        assert!(ended.stderr.is_empty(), "{verb:?}");
    }
}

#[test]
fn a_hostile_log_steers_no_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let mut sample = Sample::begin(dir.path(), "2026-11-13T00:00:00Z".parse().unwrap()).unwrap();
    let hostile = r#","caller_id":"a\u001b[2Jb","tool":"x\u202ey","arguments":{"folder":"\u0007\r\n"},"decision":"ALLOW","result":"\u009b2J""#;
    sample.add("call", hostile).unwrap();
    sample
        .add("odd\u{1b}[2J", r#","pid":"\u001b]0;x\u0007""#)
        .unwrap();
    sample.finish().unwrap();
    for verb in ["tail", "query", "stats"] {
        let ran = run(dir.path(), &[verb]);
        let steers = |char: char| (char.is_control() && char != '\n') || char == '\u{202e}';
        assert!(!ran.out.contains(steers), "{verb}: {:?}", ran.out);
    }
    // Lines that are no records are left out, and that is said: the odd one is no JSON either.
    let file = dir.path().join("2026-11-13.jsonl");
    let more = [fs::read(&file).unwrap(), b"\x1b[2J\n".to_vec()].concat();
    fs::write(&file, more).unwrap();
    let ran = run(dir.path(), &["query"]);
    assert!(ran.err.contains("2 line(s) are no records"), "{}", ran.err);
}
