//! `audit verify`, `prove` and `checkpoint`.

use std::fs;

use crate::support::{change, day, json, log, run};

#[test]
fn a_good_log_is_good() {
    let log = log();
    let ran = run(log.path(), &["verify"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("0 to 199"), "{}", ran.out);
    assert!(ran.out.contains("good: the records follow"), "{}", ran.out);
    assert!(ran.out.lines().all(|line| line.chars().count() <= 100));
    let said = json(log.path(), &["verify"]);
    assert_eq!(said["good"], true);
    assert_eq!(
        (&said["tree_size"], &said["checkpoints"]),
        (&200.into(), &3.into())
    );
    let since = json(log.path(), &["verify", "--since", "2026-11-14"]);
    assert_eq!(
        (&since["good"], &since["root"]),
        (&true.into(), &said["root"])
    );
    assert_eq!(since["first_seq"], 67);
}

#[test]
fn the_first_bad_record_is_named() {
    let log = log();
    change(&day(log.path(), 1), |text| {
        text.replacen("\"seq\":70,", "\"seq\":71,", 1)
    });
    let ran = run(log.path(), &["verify"]);
    assert_eq!(ran.code, Some(1));
    for wanted in [
        "BAD",
        "70; found is record 71",
        "2026-11-14.jsonl, line 4",
        "its hash is not that of its text",
        "0 to 69",
    ] {
        assert!(ran.out.contains(wanted), "{wanted} in {}", ran.out);
    }
    assert!(ran.out.lines().all(|line| line.chars().count() <= 100));
    let fault = &json(log.path(), &["verify"])["fault"];
    assert_eq!(
        (&fault["expected_seq"], &fault["line"]),
        (&70.into(), &4.into())
    );
    assert_eq!(
        (&fault["file"], &fault["cause"]),
        (&"2026-11-14.jsonl".into(), &"changed".into())
    );
}

#[test]
fn a_cut_tail_is_found_with_a_checkpoint_from_elsewhere() {
    let log = log();
    let elsewhere = tempfile::tempdir().unwrap();
    let kept = elsewhere.path().join("kept");
    let shown = run(log.path(), &["checkpoint"]);
    fs::write(&kept, shown.out).unwrap();
    let kept = kept.to_str().unwrap();
    assert_eq!(
        run(log.path(), &["verify", "--checkpoint", kept]).code,
        Some(0)
    );
    // Somebody who takes the newest records away takes the checkpoint beside them away too.
    fs::remove_file(log.path().join("checkpoint")).unwrap();
    change(&day(log.path(), 2), |text| {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        lines[..lines.len() - 5].concat()
    });
    assert_eq!(run(log.path(), &["verify"]).code, Some(0));
    let ran = run(log.path(), &["verify", "--checkpoint", kept]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.out.contains("cut off, from record 195 on"),
        "{}",
        ran.out
    );
}

#[test]
fn a_proof_needs_no_log() {
    let log = log();
    let elsewhere = tempfile::tempdir().unwrap();
    let proof = elsewhere.path().join("proof.json");
    let made = run(log.path(), &["prove", "42"]);
    assert_eq!(made.code, Some(0), "{}", made.err);
    fs::write(&proof, &made.out).unwrap();
    let file = proof.to_str().unwrap();
    let key = log.path().join("log.pub");
    let text = fs::read_to_string(&key).unwrap();
    for key in [key.to_str().unwrap(), text.trim()] {
        let ran = run(elsewhere.path(), &["verify", "--proof", file, "--key", key]);
        assert_eq!(ran.code, Some(0), "{} {}", ran.out, ran.err);
        assert!(
            ran.out.contains("the log contains record 42"),
            "{}",
            ran.out
        );
    }
    // Without a key it proves nothing, because anybody can make one; beside the log, its key is known.
    let ran = run(elsewhere.path(), &["verify", "--proof", file]);
    assert!(
        ran.code == Some(1) && ran.out.contains("UNPROVEN"),
        "{}",
        ran.out
    );
    assert_eq!(run(log.path(), &["verify", "--proof", file]).code, Some(0));
    change(&proof, |text| {
        text.replacen("\\\"seq\\\":42", "\\\"seq\\\":43", 1)
    });
    let ran = run(elsewhere.path(), &["verify", "--proof", file]);
    assert!(
        ran.code == Some(1) && ran.out.contains("proves nothing"),
        "{}",
        ran.out
    );
    assert_eq!(run(log.path(), &["prove", "200"]).code, Some(1));
}

#[test]
fn wrong_use_and_a_missing_log_are_told_apart() {
    let log = log();
    for wrong in [
        &["verify", "--since", "yesterday"][..],
        &["verify", "--proof", "x", "--checkpoint", "y"],
        &["prove", "first"],
        &["query", "--decision", "perhaps"],
        &[],
    ] {
        assert_eq!(run(log.path(), wrong).code, Some(2), "{wrong:?}");
    }
    let nowhere = log.path().join("nowhere");
    for verb in [
        &["verify"][..],
        &["tail"],
        &["tail", "-f"],
        &["query"],
        &["stats"],
        &["checkpoint"],
        &["prove", "1"],
    ] {
        let ran = run(&nowhere, verb);
        assert_eq!(ran.code, Some(1), "{verb:?}");
        assert!(
            ran.out.is_empty() && ran.err.contains("mailwarden: "),
            "{verb:?}: {}",
            ran.err
        );
    }
    assert_eq!(
        run(log.path(), &["verify", "--key", "nobody"]).code,
        Some(1)
    );
}
