//! What a log's directory lives through: restarts, other processes, days, crashes, clocks and hands that take away.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::*;
use crate::day::days;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

const NOON: &str = "2026-11-15T12:00:00Z";

fn say(book: &mut Book, now: &str, count: usize) -> Written {
    let events = || (0..count).map(|_| Arc::new(Event::stop("test"))).collect();
    let now = at(now);
    book.write(&Clock::new(move || now), events).unwrap()
}

/// All records, after checking that they are one chain from the first to the last.
fn records(dir: &Path) -> Vec<Value> {
    let mut chain = Chain::new();
    let mut records = Vec::new();
    for file in days(dir).unwrap() {
        let text = fs::read_to_string(&file.path).unwrap();
        for line in text.lines() {
            let read = Line::parse(line.as_bytes()).unwrap();
            chain.follow(&read).unwrap();
            records.push(serde_json::from_str(line).unwrap());
        }
        assert!(text.is_empty() || text.ends_with('\n'));
    }
    records
}

fn events(dir: &Path) -> Vec<String> {
    let name = |record: &Value| record["event"].as_str().unwrap().to_owned();
    records(dir).iter().map(name).collect()
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn the_chain_goes_on_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let first = say(&mut Book::new(dir.path().into()), NOON, 2);
    let second = say(&mut Book::new(dir.path().into()), NOON, 1);
    assert_eq!(first.log, second.log);
    let seqs: Vec<u64> = first
        .places
        .iter()
        .chain(&second.places)
        .map(|p| p.0)
        .collect();
    assert_eq!(seqs, [1, 2, 3]);
    assert_eq!(events(dir.path()), ["day_opened", "stop", "stop", "stop"]);
    assert_eq!(mode(&dir.path().join("2026-11-15.jsonl")), 0o600);
}

#[test]
fn a_day_is_closed_once_and_the_next_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let mut book = Book::new(dir.path().into());
    say(&mut book, NOON, 1);
    // Two who were both there, and one who comes later.
    let mut other = Book::new(dir.path().into());
    say(&mut other, NOON, 1);
    for now in ["2026-11-16T00:00:00Z", "2026-11-16T09:00:00Z"] {
        say(&mut book, now, 1);
        say(&mut other, now, 1);
        say(&mut Book::new(dir.path().into()), now, 1);
    }
    let mut expected = vec!["day_opened", "stop", "stop", "day_closed", "day_opened"];
    expected.extend(["stop"; 6]);
    assert_eq!(events(dir.path()), expected);
    assert_eq!(mode(&dir.path().join("2026-11-15.jsonl")), 0o400);
    assert_eq!(mode(&dir.path().join("2026-11-16.jsonl")), 0o600);
    let note = fs::read_to_string(dir.path().join("2026-11-15.checkpoint")).unwrap();
    let verifier = crate::verifier(dir.path()).unwrap();
    assert_eq!(crate::Checkpoint::open(&note, &verifier).unwrap().size, 4);
}

#[test]
fn a_day_on_which_nobody_was_there_has_no_file() {
    let dir = tempfile::tempdir().unwrap();
    say(&mut Book::new(dir.path().into()), NOON, 1);
    say(&mut Book::new(dir.path().into()), "2026-12-01T00:00:01Z", 1);
    let found: Vec<String> = days(dir.path())
        .unwrap()
        .iter()
        .map(|f| f.day.to_string())
        .collect();
    assert_eq!(found, ["2026-11-15", "2026-12-01"]);
    assert_eq!(
        events(dir.path()),
        ["day_opened", "stop", "day_closed", "day_opened", "stop"]
    );
}

#[test]
fn two_processes_keep_one_chain() {
    let dir = tempfile::tempdir().unwrap();
    let (mut one, mut two) = (Book::new(dir.path().into()), Book::new(dir.path().into()));
    let mut places = Vec::new();
    for round in 0..20 {
        places.extend(say(&mut one, NOON, 1 + round % 3).places);
        places.extend(say(&mut two, NOON, 1 + round % 2).places);
    }
    let seqs: Vec<u64> = places.iter().map(|place| place.0).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
    let records = records(dir.path());
    for (seq, hash) in places {
        assert_eq!(records[seq as usize]["hash"], hash.to_string());
    }
}

#[test]
fn many_threads_of_many_processes_keep_one_chain() {
    let dir = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut book = Book::new(dir.path().into());
                (0..25).for_each(|_| {
                    say(&mut book, NOON, 2);
                });
            });
        }
    });
    assert_eq!(records(dir.path()).len(), 201);
}

#[test]
fn a_checkpoint_covers_what_other_processes_wrote_too() {
    let dir = tempfile::tempdir().unwrap();
    let signed = || {
        let note = fs::read_to_string(dir.path().join(CHECKPOINT)).unwrap();
        let verifier = crate::verifier(dir.path()).unwrap();
        crate::Checkpoint::open(&note, &verifier).unwrap()
    };
    let mut idle = Book::new(dir.path().into());
    let mut busy = Book::new(dir.path().into());
    say(&mut idle, NOON, 1);
    for now in [NOON, NOON, "2026-11-16T00:00:01Z", "2026-11-18T00:00:01Z"] {
        let written = say(&mut busy, now, 3);
        let (older, note) = busy.sign().unwrap().unwrap();
        let (tree, newest) = idle.sign().unwrap().unwrap();
        Book::keep(dir.path(), &tree, &newest).unwrap();
        // What covers less must not take the place of what covers more.
        Book::keep(dir.path(), &older, &note).unwrap();
        assert_eq!(tree, written.tree);
        assert_eq!(signed().size, written.tree.size());
        assert_eq!(signed().root, written.tree.root());
    }
    say(&mut idle, "2026-11-18T00:00:02Z", 1);
    records(dir.path());
}

#[test]
fn a_checkpoint_of_a_log_that_was_cut_still_tells_of_the_cut() {
    let dir = tempfile::tempdir().unwrap();
    let mut book = Book::new(dir.path().into());
    let written = say(&mut book, NOON, 3);
    let path = dir.path().join("2026-11-15.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.split_inclusive('\n').next().unwrap()).unwrap();
    let (tree, _) = book.sign().unwrap().unwrap();
    assert_eq!(tree, written.tree);
    say(&mut book, NOON, 1);
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.matches("\"log_cut\"").count(), 1, "{text}");
}

#[test]
fn a_torn_line_is_kept_aside_and_recorded() {
    let dir = tempfile::tempdir().unwrap();
    say(&mut Book::new(dir.path().into()), NOON, 3);
    let path = dir.path().join("2026-11-15.jsonl");
    let whole = fs::read(&path).unwrap();
    let line = whole[..whole.len() - 1]
        .iter()
        .rposition(|b| *b == b'\n')
        .unwrap()
        + 1;
    for cut in line + 1..whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        say(&mut Book::new(dir.path().into()), NOON, 1);
        let records = records(dir.path());
        let [.., torn, last] = records.as_slice() else {
            panic!()
        };
        assert_eq!(
            (&torn["event"], &last["event"]),
            (&"torn_tail".into(), &"stop".into())
        );
        let kept = dir.path().join(torn["kept_as"].as_str().unwrap());
        assert_eq!(fs::read(&kept).unwrap(), &whole[line..cut]);
        assert_eq!(torn["bytes"], cut - line);
        assert_eq!(
            torn["sha256"],
            Hash::of_bytes(&whole[line..cut]).to_string()
        );
        assert_eq!(records.len(), 5);
        assert_eq!(mode(&kept), 0o400);
    }
}

#[test]
fn a_line_torn_while_others_run_is_seen_by_them() {
    let dir = tempfile::tempdir().unwrap();
    let mut book = Book::new(dir.path().into());
    say(&mut book, NOON, 1);
    let path = dir.path().join("2026-11-15.jsonl");
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend_from_slice(br#"{"seq":2,"ts":"#);
    fs::write(&path, bytes).unwrap();
    say(&mut book, NOON, 1);
    assert_eq!(
        events(dir.path()),
        ["day_opened", "stop", "torn_tail", "stop"]
    );
}

#[test]
fn zeros_left_by_a_crash_are_torn_too() {
    let dir = tempfile::tempdir().unwrap();
    say(&mut Book::new(dir.path().into()), NOON, 1);
    let path = dir.path().join("2026-11-15.jsonl");
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend_from_slice(&[0; 5_000]);
    fs::write(&path, bytes).unwrap();
    say(&mut Book::new(dir.path().into()), NOON, 1);
    assert_eq!(
        events(dir.path()),
        ["day_opened", "stop", "torn_tail", "stop"]
    );
}

#[test]
fn a_crash_between_two_days_leaves_one_chain() {
    let whole = tempfile::tempdir().unwrap();
    let mut book = Book::new(whole.path().into());
    say(&mut book, NOON, 2);
    let open = fs::read(whole.path().join("2026-11-15.jsonl")).unwrap();
    say(&mut book, "2026-11-16T00:00:00Z", 1);
    let closed = fs::read(whole.path().join("2026-11-15.jsonl")).unwrap();
    let next = fs::read(whole.path().join("2026-11-16.jsonl")).unwrap();
    let first_line = next.iter().position(|b| *b == b'\n').unwrap() + 1;
    // How far the process got, byte by byte through the closing record and the first of the next day.
    let mut stages: Vec<(&[u8], Option<&[u8]>)> = Vec::new();
    stages.extend((open.len()..=closed.len()).map(|cut| (&closed[..cut], None)));
    stages.extend((0..=first_line).map(|cut| (closed.as_slice(), Some(&next[..cut]))));
    for (yesterday, today) in stages {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("2026-11-15.jsonl"), yesterday).unwrap();
        if let Some(today) = today {
            // The file of a day is sealed before the next one is made.
            let sealed = fs::File::open(dir.path().join("2026-11-15.jsonl")).unwrap();
            files::seal(&sealed).unwrap();
            fs::write(dir.path().join("2026-11-16.jsonl"), today).unwrap();
        }
        say(&mut Book::new(dir.path().into()), "2026-11-16T08:00:00Z", 1);
        let events = events(dir.path());
        let count = |name: &str| events.iter().filter(|event| *event == name).count();
        assert_eq!(
            (count("day_opened"), count("day_closed")),
            (2, 1),
            "{events:?}"
        );
        assert_eq!(count("stop"), 3);
        assert_eq!(mode(&dir.path().join("2026-11-15.jsonl")), 0o400);
    }
}

#[test]
fn a_clock_that_is_set_back_reopens_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut book = Book::new(dir.path().into());
    say(&mut book, NOON, 1);
    say(&mut book, "2026-11-16T00:10:00Z", 1);
    say(&mut book, "2026-11-15T23:50:00Z", 1);
    say(&mut Book::new(dir.path().into()), "2025-01-01T00:00:00Z", 1);
    let records = records(dir.path());
    let back: Vec<&Value> = records
        .iter()
        .filter(|r| r["event"] == "clock_back")
        .collect();
    assert_eq!(back.len(), 2);
    assert_eq!(back[0]["before"], "2026-11-16T00:10:00.000000Z");
    assert_eq!(back[0]["ts"], "2026-11-15T23:50:00.000000Z");
    assert_eq!(days(dir.path()).unwrap().len(), 2);
    // Little is said about little.
    say(&mut book, "2025-01-01T00:00:00Z", 1);
    say(&mut book, "2024-12-31T23:59:59.5Z", 1);
    let again = records_named(dir.path(), "clock_back");
    assert_eq!(again, 2);
}

fn records_named(dir: &Path, name: &str) -> usize {
    events(dir).iter().filter(|event| *event == name).count()
}

#[test]
fn a_directory_that_is_taken_away_does_not_restart_the_chain() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("audit");
    let mut book = Book::new(log.clone());
    let before = say(&mut book, NOON, 5);
    fs::remove_dir_all(&log).unwrap();
    let after = say(&mut book, NOON, 1);
    assert_eq!(after.log, before.log);
    let text = fs::read_to_string(log.join("2026-11-15.jsonl")).unwrap();
    let said: Vec<Value> = text
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert_eq!(said[0]["seq"], 6);
    assert_eq!(
        said[0]["prev_hash"],
        before.places.last().unwrap().1.to_string()
    );
    assert_eq!(said[1]["event"], "log_cut");
    assert_eq!(said[1]["found"], 0);
    // And it goes on from there after a restart.
    let next = say(&mut Book::new(log), NOON, 1);
    assert_eq!(next.places[0].0, 9);
}

#[test]
fn a_file_that_was_cut_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let mut book = Book::new(dir.path().into());
    say(&mut book, NOON, 5);
    let path = dir.path().join("2026-11-15.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let kept: Vec<&str> = text.lines().take(3).collect();
    fs::write(&path, kept.join("\n") + "\n").unwrap();
    let after = say(&mut book, NOON, 1);
    assert_eq!(after.places[0].0, 7);
    let text = fs::read_to_string(&path).unwrap();
    let cut: Value = serde_json::from_str(text.lines().nth(3).unwrap()).unwrap();
    assert_eq!(
        (&cut["event"], &cut["found"]),
        (&"log_cut".into(), &3.into())
    );
}

#[test]
fn a_log_that_was_replaced_by_another_is_told() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut book = Book::new(dir.path().join("log"));
    let before = say(&mut book, NOON, 5);
    say(&mut Book::new(other.path().join("log")), NOON, 1);
    fs::remove_dir_all(dir.path().join("log")).unwrap();
    fs::rename(other.path().join("log"), dir.path().join("log")).unwrap();
    say(&mut book, NOON, 1);
    let records = records(&dir.path().join("log"));
    let told = records
        .iter()
        .find(|r| r["event"] == "log_replaced")
        .unwrap();
    assert_eq!(told["log_id"], before.log.as_str());
    assert_eq!(told["size"], 6);
}

#[test]
fn the_end_of_a_long_day_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let mut book = Book::new(dir.path().into());
    (0..5).for_each(|_| {
        say(&mut book, NOON, 1_000);
    });
    let next = say(&mut Book::new(dir.path().into()), NOON, 1);
    let records = records(dir.path());
    let bases = records
        .iter()
        .filter(|r| r["event"] == "tree_stated")
        .count();
    assert_eq!(bases, 4);
    assert_eq!(next.places[0].0 as usize + 1, records.len());
    assert!(
        fs::metadata(dir.path().join("2026-11-15.jsonl"))
            .unwrap()
            .len()
            > 1_000_000
    );
}

/// What verifying says of it: the first bad record.
fn first_bad(dir: &Path) -> Option<u64> {
    let report = crate::read::verify(dir, &crate::read::Verify::default(), &mut |_, _| {}).unwrap();
    report.fault.and_then(|fault| fault.expected)
}

fn torn_files(dir: &Path) -> usize {
    let names = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    names
        .filter(|name| name.to_string_lossy().contains(".torn-"))
        .count()
}

#[test]
fn a_damaged_record_is_not_taken_for_torn() {
    for damaged in 0..6 {
        let dir = tempfile::tempdir().unwrap();
        say(&mut Book::new(dir.path().into()), NOON, 5);
        let path = dir.path().join("2026-11-15.jsonl");
        let mut lines: Vec<String> = fs::read_to_string(&path)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect();
        lines[damaged] = lines[damaged].replacen("2026", "2027", 1);
        fs::write(&path, lines.join("\n") + "\n").unwrap();
        let next = say(&mut Book::new(dir.path().into()), NOON, 1);
        assert_eq!(torn_files(dir.path()), 0);
        assert_eq!(next.places[0].0, 6, "record {damaged}");
        assert_eq!(first_bad(dir.path()), Some(damaged as u64));
    }
}

#[test]
fn a_damaged_first_day_does_not_restart_the_chain() {
    let dir = tempfile::tempdir().unwrap();
    let mut book = Book::new(dir.path().into());
    say(&mut book, NOON, 2);
    say(&mut book, "2026-11-16T00:00:00Z", 2);
    let path = dir.path().join("2026-11-16.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("day_opened", "day_0pened", 1)).unwrap();
    let next = say(&mut Book::new(dir.path().into()), "2026-11-16T01:00:00Z", 1);
    assert_eq!(next.places[0].0, 7);
    assert_eq!(first_bad(dir.path()), Some(4));
}

#[test]
fn a_record_that_stands_twice_is_not_gone_on_from() {
    let dir = tempfile::tempdir().unwrap();
    say(&mut Book::new(dir.path().into()), NOON, 3);
    let path = dir.path().join("2026-11-15.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let last = text.lines().last().unwrap();
    fs::write(&path, format!("{text}{last}\n")).unwrap();
    let now = at(NOON);
    let refused = Book::new(dir.path().into()).write(&Clock::new(move || now), Vec::new);
    let why = refused.unwrap_err().to_string();
    assert!(
        why.contains("record 3") && why.contains("audit verify"),
        "{why}"
    );
    assert_eq!(torn_files(dir.path()), 0);
}

#[test]
fn a_log_that_was_cut_while_nobody_wrote_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let mut book = Book::new(dir.path().into());
    say(&mut book, NOON, 5);
    let (tree, note) = book.sign().unwrap().unwrap();
    Book::keep(dir.path(), &tree, &note).unwrap();
    let path = dir.path().join("2026-11-15.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let kept: Vec<&str> = text.lines().take(3).collect();
    fs::write(&path, kept.join("\n") + "\n").unwrap();
    say(&mut Book::new(dir.path().into()), NOON, 1);
    let records = records(dir.path());
    let cut = &records[3];
    assert_eq!(
        (&cut["event"], &cut["found"]),
        (&"log_cut".into(), &3.into())
    );
    assert_eq!(cut["expected"], 6);
    assert!(first_bad(dir.path()).is_some());
}

#[test]
fn what_was_set_aside_and_not_yet_told_is_told() {
    let dir = tempfile::tempdir().unwrap();
    say(&mut Book::new(dir.path().into()), NOON, 1);
    // As a process leaves it that is killed between setting aside and saying so.
    files::set_aside(dir.path(), Day::parse("2026-11-15").unwrap(), b"half a rec").unwrap();
    say(&mut Book::new(dir.path().into()), NOON, 1);
    say(&mut Book::new(dir.path().into()), NOON, 1);
    assert_eq!(
        events(dir.path()),
        ["day_opened", "stop", "torn_tail", "stop", "stop"]
    );
    assert!(dir.path().join("2026-11-15.torn-1").exists());
    assert_eq!(first_bad(dir.path()), None);
}

#[test]
fn a_day_that_never_had_a_record_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    say(&mut Book::new(dir.path().into()), NOON, 1);
    say(&mut Book::new(dir.path().into()), "2026-11-16T12:00:00Z", 1);
    fs::write(dir.path().join("2026-11-17.jsonl"), "").unwrap();
    // Killed before its first record; and nobody was there on the next day.
    let path = dir.path().join("2026-11-16.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    assert!(!text.contains("day_closed"));
    say(&mut Book::new(dir.path().into()), "2026-11-19T12:00:00Z", 1);
    assert!(!dir.path().join("2026-11-17.jsonl").exists());
}

#[test]
fn a_lock_that_was_taken_away_keeps_one_chain() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(LOCK);
    let mut waits = Book::new(dir.path().into());
    say(&mut waits, NOON, 1);
    // Somebody stands still with the lock in hand, and somebody else takes it away to be rid of him.
    let held = File::open(&path).unwrap();
    held.lock().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| (0..50).for_each(|_| drop(say(&mut waits, NOON, 1))));
        fs::remove_file(&path).unwrap();
        scope.spawn(|| {
            let mut other = Book::new(dir.path().into());
            (0..50).for_each(|_| drop(say(&mut other, NOON, 1)));
        });
        drop(held);
    });
    assert_eq!(records(dir.path()).len(), 102);
}

#[test]
fn an_empty_file_of_a_day_to_come_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut book = Book::new(dir.path().into());
    say(&mut book, NOON, 1);
    fs::write(dir.path().join("9999-12-31.jsonl"), "").unwrap();
    say(&mut Book::new(dir.path().into()), NOON, 1);
    say(&mut book, "2026-11-16T00:00:00Z", 1);
    let expected = [
        "day_opened",
        "stop",
        "stop",
        "day_closed",
        "day_opened",
        "stop",
    ];
    assert_eq!(events(dir.path()), expected);
    assert!(dir.path().join("2026-11-16.jsonl").exists());
}

#[test]
fn what_no_log_states_ends_no_writer() {
    let peaks = serde_json::json!(vec![Hash::ZERO.to_string(); 64]);
    let endless = format!(r#","tree_size":{},"peaks":{peaks}"#, u64::MAX);
    let line = |seq: u64, ts: Timestamp, fields: &str| {
        let (mut out, prev) = (Vec::new(), Hash::ZERO);
        let place = line::Place { seq, ts, prev };
        line::write(&mut out, &place, "day_opened", fields.as_bytes());
        out
    };
    let none = r#","tree_size":0,"peaks":[]"#;
    for bytes in [
        line(u64::MAX, at(NOON), &endless),
        line(0, Timestamp::MIN, none),
        line(0, Timestamp::MAX, none),
    ] {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("2026-11-15.jsonl"), bytes).unwrap();
        let now = at(NOON);
        // It may refuse what it finds; it must not fall over it.
        let _ = Book::new(dir.path().into()).write(&Clock::new(move || now), Vec::new);
    }
}
