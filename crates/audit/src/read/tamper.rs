//! Everything that can be done to a log of 200 records, and that each time the first bad record is named.

use std::fs;
use std::io::{self, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use super::sample::{self, Calls, Sample};
use super::{Cause, Fault, Notice, Report, Signed, Verify, Wrong, verify};
use crate::{Day, Hash, Line};

const RECORDS: u64 = 200;
const DAYS: [&str; 3] = ["2026-11-13", "2026-11-14", "2026-11-15"];

/// A log in files, kept as lines to play with.
struct Log {
    dir: tempfile::TempDir,
    days: Vec<Vec<Vec<u8>>>,
    /// Over all of it.
    checkpoint: Signed,
}

impl Log {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        sample::three_days(dir.path(), RECORDS, Calls::Brief).unwrap();
        // What the log says about itself is looked at alone; checkpoints have tests of their own.
        let checkpoint = Signed::read(&dir.path().join("checkpoint")).unwrap();
        fs::remove_file(dir.path().join("checkpoint")).unwrap();
        for day in DAYS {
            let _ = fs::remove_file(day_of(day).checkpoint(dir.path()));
        }
        let days = DAYS.map(|day| lines(&day_of(day).file(dir.path())));
        Self {
            dir,
            days: days.to_vec(),
            checkpoint,
        }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn file(&self, day: usize) -> PathBuf {
        day_of(DAYS[day]).file(self.path())
    }

    /// Every line: its day, its number there, and its seq.
    fn places(&self) -> Vec<(usize, usize, u64)> {
        let mut places = Vec::new();
        for (day, lines) in self.days.iter().enumerate() {
            for line in 0..lines.len() {
                places.push((day, line, places.len() as u64));
            }
        }
        places
    }

    /// The log with one day changed; afterwards it is as it was.
    fn with(&self, day: usize, lines: &[&[u8]], then: impl FnOnce(Report)) {
        fs::write(self.file(day), lines.concat()).unwrap();
        then(report(self.path()));
        fs::write(self.file(day), self.days[day].concat()).unwrap();
    }

    fn day(&self, day: usize) -> Vec<&[u8]> {
        self.days[day].iter().map(Vec::as_slice).collect()
    }
}

fn day_of(text: &str) -> Day {
    Day::parse(text).unwrap()
}

fn lines(path: &Path) -> Vec<Vec<u8>> {
    let bytes = fs::read(path).unwrap();
    bytes
        .split_inclusive(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect()
}

fn report(dir: &Path) -> Report {
    verify(dir, &Verify::default(), &mut |_, _| {}).unwrap()
}

fn fault(dir: &Path) -> Option<Fault> {
    report(dir).fault
}

/// That a fault names this record in this line.
#[track_caller]
fn named(report: &Report, seq: u64, day: usize, line: usize) -> Fault {
    let fault = report.fault.clone().expect("a fault is found");
    let at = fault.at.clone().expect("a place is named");
    assert_eq!(fault.expected, Some(seq), "{fault}");
    let file = format!("{}.jsonl", DAYS[day]);
    assert_eq!((at.file, at.line), (file, line as u64 + 1), "{fault}");
    fault
}

#[test]
fn an_untouched_log_is_good() {
    let log = Log::new();
    let report = report(log.path());
    assert_eq!(report.fault, None);
    assert_eq!((report.first, report.size, report.days), (0, RECORDS, 3));
    assert_eq!(report.notices, [Notice::Writable { files: 2 }]);
}

#[test]
fn every_flipped_bit_is_named() {
    let log = Log::new();
    for (day, line, seq) in log.places() {
        let before: usize = log.days[day][..line].iter().map(Vec::len).sum();
        let mut file = fs::File::options().write(true).open(log.file(day)).unwrap();
        let mut put = |at: usize, byte: u8| {
            file.seek(io::SeekFrom::Start((before + at) as u64))
                .unwrap();
            file.write_all(&[byte]).unwrap();
        };
        for (at, byte) in log.days[day][line].iter().enumerate() {
            // The bits take turns, so that every byte meets one and every line meets all.
            put(at, byte ^ 1 << ((at + line) % 8));
            // From the first day on for every line, and for every byte from its own day on.
            let wanted = Verify {
                since: (at % 64 != 0).then(|| day_of(DAYS[day])),
                ..Verify::default()
            };
            let report = verify(log.path(), &wanted, &mut |_, _| {}).unwrap();
            let fault = named(&report, seq, day, line);
            assert_eq!(fault.cause, Cause::Changed, "byte {at}: {fault}");
            put(at, *byte);
        }
    }
}

#[test]
fn every_removed_line_is_named() {
    let log = Log::new();
    for (day, line, seq) in log.places() {
        let mut lines = log.day(day);
        lines.remove(line);
        log.with(day, &lines, |report| {
            if seq + 1 == RECORDS {
                // Nothing in the log tells of its last record: that is what checkpoints are for.
                assert_eq!(report.fault, None);
                return;
            }
            let fault = named(&report, seq, day, line);
            assert_eq!(fault.cause, Cause::Missing(seq + 1), "{fault}");
        });
    }
}

#[test]
fn every_line_that_stands_twice_is_named() {
    let log = Log::new();
    for (day, line, seq) in log.places() {
        let mut lines = log.day(day);
        lines.insert(line, lines[line]);
        log.with(day, &lines, |report| {
            let fault = named(&report, seq + 1, day, line + 1);
            assert_eq!((fault.found, fault.cause), (Some(seq), Cause::Twice));
        });
    }
}

#[test]
fn all_swapped_lines_are_named() {
    let log = Log::new();
    for (day, line, seq) in log.places() {
        let mut lines = log.day(day);
        if line + 1 == lines.len() {
            continue;
        }
        lines.swap(line, line + 1);
        log.with(day, &lines, |report| {
            let fault = named(&report, seq, day, line);
            let expected = (Some(seq + 1), Cause::OutOfOrder);
            assert_eq!((fault.found, fault.cause), expected, "{fault}");
        });
    }
}

#[test]
fn lines_swapped_between_days_are_named() {
    let log = Log::new();
    for day in [0, 1] {
        let last = log.days[day].len() - 1;
        let (mut first, mut second) = (log.days[day].clone(), log.days[day + 1].clone());
        std::mem::swap(&mut first[last], &mut second[0]);
        fs::write(log.file(day), first.concat()).unwrap();
        fs::write(log.file(day + 1), second.concat()).unwrap();
        let seq = log.days[..=day].iter().map(Vec::len).sum::<usize>() as u64 - 1;
        let fault = named(&report(log.path()), seq, day, last);
        assert_eq!(fault.cause, Cause::OutOfOrder);
        for day in [day, day + 1] {
            fs::write(log.file(day), log.days[day].concat()).unwrap();
        }
    }
}

/// What is put in: no records, one of each kind of this log, and one of each kind of another log of the same days.
fn splices(log: &Log, foreign: &Log) -> Vec<Vec<u8>> {
    let mut found = vec![b"\n".to_vec(), b"{}\n".to_vec()];
    for from in [log, foreign] {
        let all = from.days.concat();
        for event in ["day_opened", "start", "call", "checkpoint", "day_closed"] {
            let of_kind =
                |line: &&Vec<u8>| Line::parse(line.trim_ascii_end()).unwrap().event == event;
            found.push(all.iter().rfind(of_kind).unwrap().clone());
        }
    }
    found
}

#[test]
fn every_spliced_line_is_named() {
    let (log, foreign) = (Log::new(), Log::new());
    let (own, others) = (log.days.concat(), foreign.days.concat());
    for (day, line, seq) in log.places() {
        let at = seq as usize;
        let mut all = splices(&log, &foreign);
        // The other log's record of the same number, unless it would follow here as well: both begin alike.
        if at > 0 && own[at - 1] != others[at - 1] {
            all.push(others[at].clone());
        }
        // A line beside itself has a test of its own.
        all.retain(|splice| own[at] != *splice && (at == 0 || own[at - 1] != *splice));
        for splice in all {
            let mut lines = log.day(day);
            lines.insert(line, &splice);
            log.with(day, &lines, |report| {
                let fault = named(&report, seq, day, line);
                assert_eq!(fault.cause, Cause::Inserted, "{fault}");
            });
        }
    }
}

#[test]
fn a_line_put_behind_the_end_is_named() {
    let (log, foreign) = (Log::new(), Log::new());
    for splice in splices(&log, &foreign) {
        let mut lines = log.day(2);
        if lines.last() == Some(&splice.as_slice()) {
            continue;
        }
        let end = lines.len();
        lines.push(&splice);
        log.with(2, &lines, |report| {
            named(&report, RECORDS, 2, end);
        });
    }
}

#[test]
fn a_record_that_was_written_anew_with_its_hash_is_named() {
    let log = Log::new();
    for (day, line, seq) in log.places() {
        let old = log.days[day][line].clone();
        let read = Line::parse(old.trim_ascii_end()).unwrap();
        let place = crate::Place {
            seq,
            ts: read.ts.parse().unwrap(),
            prev: read.prev,
        };
        if read.event != "call" || seq + 2 >= RECORDS {
            continue;
        }
        let mut new = Vec::new();
        crate::line::write(&mut new, &place, "call", br#","tool":"another""#);
        let mut lines = log.day(day);
        lines[line] = &new;
        log.with(day, &lines, |report| {
            let fault = named(&report, seq, day, line);
            assert_eq!((fault.wrong, fault.cause), (Wrong::Next, Cause::Rewritten));
        });
    }
}

#[test]
fn a_removed_day_is_named() {
    for (gone, seq, at) in [(0, 0, 1), (1, 67, 2)] {
        let log = Log::new();
        fs::remove_file(log.file(gone)).unwrap();
        let fault = named(&report(log.path()), seq, at, 0);
        assert!(matches!(fault.cause, Cause::Missing(_)), "{fault}");
        assert_eq!(
            fault.found,
            fault
                .expected
                .map(|_| log.days[..=gone].concat().len() as u64)
        );
    }
}

#[test]
fn a_file_cut_anywhere_is_named_unless_it_is_the_newest() {
    let log = Log::new();
    for (line, bytes) in log.days[0].iter().enumerate() {
        for part in [0, 1, bytes.len() / 2, bytes.len() - 1] {
            let mut lines = log.day(0);
            lines.truncate(line);
            lines.push(&bytes[..part]);
            log.with(0, &lines, |report| match (line, part) {
                (0, 0) => assert!(report.fault.is_some()),
                _ => {
                    // On the first day a line has its record's number.
                    named(&report, line as u64, 0, line);
                }
            });
        }
    }
    for (line, bytes) in log.days[2].iter().enumerate().skip(1) {
        for part in [0, 1, bytes.len() / 2, bytes.len() - 1] {
            let mut lines = log.day(2);
            lines.truncate(line);
            lines.push(&bytes[..part]);
            log.with(2, &lines, |report| {
                assert_eq!(report.fault, None, "line {line}, {part} bytes");
                let told = report
                    .notices
                    .contains(&Notice::Tail { bytes: part as u64 });
                assert_eq!(told, part > 0);
            });
        }
    }
}

#[test]
fn a_tail_cut_at_any_record_is_found_with_a_later_checkpoint() {
    let log = Log::new();
    let given = Verify {
        checkpoints: vec![log.checkpoint.clone()],
        ..Verify::default()
    };
    let places = log.places();
    for (day, line, seq) in places.into_iter().rev() {
        let lines = &log.day(day)[..line];
        fs::write(log.file(day), lines.concat()).unwrap();
        // Whether the day's file is there and empty, or gone, is all the same.
        if line == 0 && seq % 2 == 0 && day > 0 {
            fs::remove_file(log.file(day)).unwrap();
        }
        // Without the checkpoint nothing can be said, whatever the records are.
        assert_eq!(fault(log.path()), None, "cut at {seq}");
        let report = verify(log.path(), &given, &mut |_, _| {}).unwrap();
        let fault = report.fault.unwrap();
        assert_eq!((fault.expected, fault.cause), (Some(seq), Cause::Cut));
        assert!(matches!(fault.wrong, Wrong::Short { size: RECORDS, .. }));
    }
}

#[test]
fn the_checkpoints_beside_the_log_are_compared() {
    let dir = tempfile::tempdir().unwrap();
    sample::three_days(dir.path(), RECORDS, Calls::Brief).unwrap();
    let report = report(dir.path());
    assert_eq!((report.fault, report.checkpoints), (None, 3));
    // The log of somebody who could write everything but sign.
    let other = tempfile::tempdir().unwrap();
    sample::three_days(other.path(), RECORDS, Calls::Brief).unwrap();
    for day in DAYS.map(day_of) {
        fs::copy(day.file(other.path()), day.file(dir.path())).unwrap();
    }
    let found = fault(dir.path()).unwrap();
    assert!(
        matches!(&found.wrong, Wrong::Root { last: 66, .. }),
        "{found}"
    );
    assert_eq!((found.expected, found.cause), (Some(0), Cause::Rewritten));
    // And of somebody who brought his own checkpoint.
    fs::copy(
        other.path().join("checkpoint"),
        dir.path().join("checkpoint"),
    )
    .unwrap();
    for day in ["2026-11-13", "2026-11-14"].map(day_of) {
        fs::remove_file(day.checkpoint(dir.path())).unwrap();
    }
    let found = fault(dir.path()).unwrap();
    assert!(matches!(found.wrong, Wrong::Checkpoint(..)), "{found}");
}

#[test]
fn compressed_days_are_the_same_log() {
    let log = Log::new();
    let plain = report(log.path());
    for day in &DAYS[..2] {
        sample::compress(log.path(), day_of(day)).unwrap();
    }
    let warm = report(log.path());
    assert_eq!(
        (warm.fault, warm.size, warm.root),
        (None, plain.size, plain.root)
    );
    // Damaged ones are found, whatever the damage is; what changes no record may pass.
    let gzip = day_of(DAYS[0]).gzip(log.path());
    let bytes = fs::read(&gzip).unwrap();
    let mut found = 0;
    for at in (0..bytes.len()).step_by(7) {
        let mut changed = bytes.clone();
        changed[at] ^= 0x10;
        fs::write(&gzip, changed).unwrap();
        let now = report(log.path());
        match &now.fault {
            Some(fault) => {
                found += 1;
                assert!(
                    fault.at.as_ref().unwrap().file.starts_with(DAYS[0]),
                    "{fault}"
                );
            }
            None => assert!(at < 10 && now.root == plain.root, "byte {at}"),
        }
    }
    assert!(found > 100);
    fs::write(&gzip, &bytes[..bytes.len() / 2]).unwrap();
    assert!(matches!(
        fault(log.path()).unwrap().wrong,
        Wrong::Unreadable(_)
    ));
    fs::write(&gzip, [&bytes[..], b"more"].concat()).unwrap();
    assert!(fault(log.path()).is_some());
}

#[test]
fn a_beginning_is_only_gone_when_the_log_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let mut sample = Sample::begin(dir.path(), "2026-11-13T00:00:00Z".parse().unwrap()).unwrap();
    for _ in 0..2 {
        (0..20).for_each(|_| sample.call().unwrap());
        sample.next_day().unwrap();
    }
    let oldest = day_of(DAYS[0]);
    let closed = lines(&oldest.file(dir.path())).pop().unwrap();
    let closed = Line::parse(closed.trim_ascii_end()).unwrap();
    let (last, hash) = (closed.seq, closed.hash);
    for (through, hash, good) in [
        (last - 1, hash, false),
        (last, Hash::ZERO, false),
        (last, hash, true),
    ] {
        let fields = format!(
            r#","step":"deleted","day":"{oldest}","through_seq":{through},"through_hash":"{hash}""#
        );
        sample.add("retention", &fields).unwrap();
        sample.call().unwrap();
        let copy = tempfile::tempdir().unwrap();
        for day in [DAYS[1], DAYS[2]].map(day_of) {
            let _ = fs::copy(day.file(dir.path()), day.file(copy.path()));
        }
        sample.flush().unwrap();
        fs::copy(
            day_of(DAYS[2]).file(dir.path()),
            day_of(DAYS[2]).file(copy.path()),
        )
        .unwrap();
        let found = report(copy.path());
        match good {
            true => {
                assert_eq!(found.fault, None);
                assert_eq!((found.first, found.root), (last + 1, sample.tree().root()));
            }
            false => {
                let fault = named(&found, 0, 1, 0);
                assert_eq!(fault.wrong, Wrong::Beginning(last + 1));
            }
        }
        // The same log, from that day on, when the reader asks for no more.
        let since = Verify {
            since: Some(day_of(DAYS[1])),
            ..Verify::default()
        };
        let report = verify(dir.path(), &since, &mut |_, _| {}).unwrap();
        assert_eq!((report.fault, report.root), (None, sample.tree().root()));
        assert_eq!(report.notices[0], Notice::Since { first: last + 1 });
    }
}

#[test]
fn what_the_log_noticed_itself_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let mut sample = Sample::begin(dir.path(), "2026-11-13T00:00:00Z".parse().unwrap()).unwrap();
    (0..5).for_each(|_| sample.call().unwrap());
    let piece = b"{\"seq\":6,\"ts\":\"20";
    fs::write(dir.path().join("2026-11-13.torn-0"), piece).unwrap();
    let torn = format!(
        r#","kept_as":"2026-11-13.torn-0","bytes":{},"sha256":"{}""#,
        piece.len(),
        Hash::of_bytes(piece)
    );
    sample.add("torn_tail", &torn).unwrap();
    sample.flush().unwrap();
    let kept = Notice::Torn {
        seq: 6,
        name: "2026-11-13.torn-0".to_owned(),
        bytes: piece.len() as u64,
    };
    assert_eq!(report(dir.path()).notices, [kept]);
    fs::write(dir.path().join("2026-11-13.torn-0"), b"other").unwrap();
    let found = fault(dir.path()).unwrap();
    assert!(matches!(found.wrong, Wrong::KeptChanged(_)), "{found}");
    fs::remove_file(dir.path().join("2026-11-13.torn-0")).unwrap();
    assert_eq!(fault(dir.path()), None);

    let file = day_of(DAYS[0]).file(dir.path());
    sample.call().unwrap();
    sample.cut().unwrap();
    sample.flush().unwrap();
    let mut all = lines(&file);
    assert_eq!(fault(dir.path()), None);
    all.drain(4..8);
    fs::write(&file, all.concat()).unwrap();
    let found = named(&report(dir.path()), 4, 0, 4);
    assert_eq!(
        (found.wrong, found.cause),
        (Wrong::CutWhileWriting, Cause::Missing(8))
    );
}

#[test]
fn days_keep_their_names_and_their_ends() {
    let log = Log::new();
    // A day under another name.
    let renamed = day_of("2026-11-12").file(log.path());
    fs::rename(log.file(0), &renamed).unwrap();
    assert_eq!(fault(log.path()).unwrap().wrong, Wrong::OtherDay);
    fs::rename(&renamed, log.file(0)).unwrap();
    // Two days in one file; a line that moved to the day before.
    let joined: Vec<&[u8]> = [log.day(0), log.day(1)].concat();
    fs::remove_file(log.file(1)).unwrap();
    log.with(0, &joined, |report| {
        assert_eq!(named(&report, 67, 0, 67).wrong, Wrong::AfterClosed);
    });
    let (first, second) = joined.split_at(log.days[0].len() - 1);
    fs::write(log.file(1), second.concat()).unwrap();
    log.with(0, first, |report| {
        assert_eq!(named(&report, 66, 0, 66).wrong, Wrong::NotClosed);
    });
}

#[test]
fn where_the_beginning_is_gone_the_first_lines_are_named_too() {
    let (log, foreign) = (Log::new(), Log::new());
    let since = Verify {
        since: Some(day_of(DAYS[1])),
        ..Verify::default()
    };
    let seq = log.days[0].len() as u64;
    let with = |lines: &[&[u8]], seq: u64, line: usize, cause: Cause| {
        fs::write(log.file(1), lines.concat()).unwrap();
        let report = verify(log.path(), &since, &mut |_, _| {}).unwrap();
        let fault = named(&report, seq, 1, line);
        assert_eq!(fault.cause, cause, "{fault}");
    };
    for line in 0..3 {
        let at = seq + line as u64;
        let day = || log.day(1);
        let mut removed = day();
        removed.remove(line);
        with(&removed, at, line, Cause::Missing(at + 1));
        let mut swapped = day();
        swapped.swap(line, line + 1);
        with(&swapped, at, line, Cause::OutOfOrder);
        for splice in splices(&log, &foreign) {
            let mut spliced = day();
            spliced.insert(line, &splice);
            if splice != log.days[1][line] {
                with(&spliced, at, line, Cause::Inserted);
            }
        }
    }
}
