//! Lines that are changed, removed, put in, doubled, moved or cut: every one of them, and each time the right one is named.

use std::fs;
use std::io::{self, Seek as _, Write as _};

use super::{DAYS, Log, RECORDS, day_of, named, report};
use crate::Line;
use crate::read::{Cause, Notice, Verify, Wrong, verify};

/// What is put in: no records, one of each kind of this log, and one of each kind of another log of the same days.
fn splices(log: &Log, foreign: &Log) -> Vec<Vec<u8>> {
    let mut found = vec![b"\n".to_vec(), b"{}\n".to_vec()];
    for from in [log, foreign] {
        let all = from.days.concat();
        for event in ["day_opened", "start", "call", "tree_stated", "day_closed"] {
            let of_kind =
                |line: &&Vec<u8>| Line::parse(line.trim_ascii_end()).unwrap().event == event;
            found.push(all.iter().rfind(of_kind).unwrap().clone());
        }
    }
    found
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
