//! Whole days, checkpoints, compressed files, retention, and what a log notices itself.

use std::fs;

use super::{DAYS, Log, RECORDS, day_of, fault, lines, named, report};
use crate::read::sample::{self, Calls, Sample};
use crate::read::{Cause, Notice, Signed, Verify, Wrong, verify};
use crate::{Hash, Line};

#[test]
fn an_untouched_log_is_good() {
    let log = Log::new();
    let report = report(log.path());
    assert_eq!(report.fault, None);
    assert_eq!((report.first, report.size, report.days), (0, RECORDS, 3));
    assert_eq!(report.notices, [Notice::Writable { files: 2 }]);
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
fn a_checkpoint_that_was_given_is_never_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    sample::three_days(dir.path(), RECORDS, Calls::Brief).unwrap();
    let signed = |name: &str| Signed::read(&dir.path().join(name)).unwrap();
    let [first, second, latest] = [
        "2026-11-13.checkpoint",
        "2026-11-14.checkpoint",
        "checkpoint",
    ]
    .map(signed);
    // Behind both of the days that are left out: what they held is only stated.
    let of = |checkpoints: &[&Signed]| {
        let wanted = Verify {
            since: Some(day_of(DAYS[2])),
            checkpoints: checkpoints.iter().copied().cloned().collect(),
            ..Verify::default()
        };
        verify(dir.path(), &wanted, &mut |_, _| {}).unwrap().fault
    };
    let behind = of(&[&first]).unwrap();
    assert_eq!(behind.cause, Cause::Incomparable);
    assert!(matches!(behind.wrong, Wrong::Behind { size: 67, .. }));
    // One that can be compared covers all that those before it cover.
    assert_eq!(of(&[]), None);
    assert_eq!(of(&[&second]), None);
    assert_eq!(of(&[&first, &latest]), None);
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
    // Damaged ones are found, whatever the damage is. Some bits of a compressed file mean nothing: the records are the same.
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
            None => assert_eq!((now.size, now.root), (plain.size, plain.root), "byte {at}"),
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
        sample.deleted(oldest, through, &hash).unwrap();
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
    sample.torn("2026-11-13.torn-0", piece).unwrap();
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
    // What a process says that found too little is never good, also when the numbers go on.
    let found = named(&report(dir.path()), 8, 0, 8);
    assert_eq!(
        (found.wrong, found.cause),
        (Wrong::CutWhileWriting, Cause::Cut)
    );
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
