//! Days that age, checkpoints that are signed, and a root that is handed on.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use audit::{Checkpoint, Day, Event, Form, Retention};

use crate::bench::{Bench, until};

/// Writes one record on each of these days, at noon.
async fn live(bench: &Bench, days: &[&str]) {
    for day in days {
        bench.hands.set(&format!("{day}T12:00:00Z"));
        let log = bench.log();
        log.append(Event::start("0", "test")).await.unwrap();
        log.close("test").await;
    }
}

fn forms(dir: &Path) -> Vec<(String, Form)> {
    let days = audit::days(dir).unwrap();
    days.into_iter()
        .map(|file| (file.day.to_string(), file.form))
        .collect()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn days_grow_old_by_their_names_and_each_step_is_recorded() {
    let mut bench = Bench::new();
    live(
        &bench,
        &["2026-11-01", "2026-11-02", "2026-11-04", "2026-11-05"],
    )
    .await;
    bench.keeping().retention = Retention {
        hot_days: 2,
        warm_days: 3,
        delete_after_days: 5,
    };
    fs::write(bench.dir().join("2026-11-01.torn-1"), "half").unwrap();
    fs::write(bench.dir().join("2026-11-02.torn-1"), "half").unwrap();
    // Every file looks as if it were from today: only names count.
    bench.hands.set("2026-11-07T12:00:00Z");
    let log = bench.log();
    log.append(Event::start("0", "test")).await.unwrap();
    let expected = [
        ("2026-11-02", Form::Gzip),
        ("2026-11-04", Form::Gzip),
        ("2026-11-05", Form::Plain),
        ("2026-11-07", Form::Plain),
    ]
    .map(|(day, form)| (day.to_owned(), form));
    until("days have aged", || {
        (forms(&bench.dir()) == expected).then_some(())
    });
    until("and that is recorded", || {
        (bench.named("retention").len() == 3).then_some(())
    });
    let steps: Vec<(String, String)> = bench
        .named("retention")
        .iter()
        .map(|record| (record["day"].to_string(), record["step"].to_string()))
        .collect();
    let quoted = |text: &str| format!("{text:?}");
    for (day, step) in [
        ("2026-11-01", "deleted"),
        ("2026-11-02", "compressed"),
        ("2026-11-04", "compressed"),
    ] {
        assert!(steps.contains(&(quoted(day), quoted(step))), "{steps:?}");
    }
    let deleted = bench
        .named("retention")
        .into_iter()
        .find(|r| r["step"] == "deleted")
        .unwrap();
    let oldest = &bench.records()[0];
    assert_eq!(
        deleted["through_seq"].as_u64().unwrap() + 1,
        oldest["seq"].as_u64().unwrap()
    );
    assert_eq!(deleted["through_hash"], oldest["prev_hash"]);
    // What a crash left of a day goes with it.
    assert!(!bench.dir().join("2026-11-01.torn-1").exists());
    assert!(bench.dir().join("2026-11-02.torn-1").exists());
    let packed = Day::parse("2026-11-02").unwrap().gzip(&bench.dir());
    assert_eq!(mode(&packed), 0o400);
    log.close("test").await;
    // A second look on the same day finds nothing to do.
    live(&bench, &["2026-11-07"]).await;
    assert_eq!(bench.named("retention").len(), 3);
    // It goes on by itself when a day has passed.
    let log = bench.log();
    log.append(Event::start("0", "test")).await.unwrap();
    bench.hands.set("2026-11-08T00:00:00Z");
    until("another step", || {
        (forms(&bench.dir())[0].0 == "2026-11-04").then_some(())
    });
    log.close("test").await;
}

#[tokio::test]
async fn a_clock_that_leaps_deletes_nothing_on_its_first_day() {
    let bench = Bench::new();
    live(&bench, &["2026-11-01", "2026-11-02"]).await;
    bench.hands.set("2036-01-01T12:00:00Z");
    let log = bench.log();
    log.append(Event::start("0", "test")).await.unwrap();
    until("a look", || bench.named("retention").first().cloned());
    until("another one", || {
        fs::remove_file(bench.dir().join("checkpoint")).ok()
    });
    assert!(
        bench
            .named("retention")
            .iter()
            .all(|step| step["step"] == "compressed")
    );
    // A clock that is still there on the next day is taken at its word.
    bench.hands.set("2036-01-02T12:00:00Z");
    until("a deletion", || {
        let steps = bench.named("retention");
        steps.into_iter().find(|step| step["step"] == "deleted")
    });
    log.close("test").await;
}

#[tokio::test]
async fn a_compression_that_was_interrupted_is_taken_up_again() {
    let mut bench = Bench::new();
    live(&bench, &["2026-11-01", "2026-11-02"]).await;
    // Both forms of a day, and a temporary file: what a killed process leaves.
    fs::write(bench.dir().join("2026-11-01.jsonl.gz"), "half").unwrap();
    fs::write(bench.dir().join(".compressing-x"), "half").unwrap();
    bench.keeping().retention.hot_days = 1;
    bench.hands.set("2026-11-03T12:00:00Z");
    let log = bench.log();
    log.append(Event::start("0", "test")).await.unwrap();
    until("the day is compressed", || {
        (forms(&bench.dir())[0].1 == Form::Gzip).then_some(())
    });
    until("and recorded", || bench.named("retention").first().cloned());
    assert!(!bench.dir().join(".compressing-x").exists());
    log.close("test").await;
}

/// The only day left is compressed, and damaged in this way.
async fn damaged(how: impl Fn(&mut Vec<u8>)) -> Bench {
    let mut bench = Bench::new();
    live(&bench, &["2026-11-01", "2026-11-02"]).await;
    bench.keeping().retention.hot_days = 1;
    live(&bench, &["2026-11-03"]).await;
    bench.hands.set("2026-11-04T12:00:00Z");
    let log = bench.log();
    log.append(Event::start("0", "test")).await.unwrap();
    until("the day is compressed", || {
        (forms(&bench.dir())[1].1 == Form::Gzip).then_some(())
    });
    log.close("test").await;
    for file in audit::days(&bench.dir()).unwrap() {
        match file.day.to_string().as_str() {
            "2026-11-02" => {
                let mut bytes = fs::read(&file.path).unwrap();
                how(&mut bytes);
                fs::remove_file(&file.path).unwrap();
                fs::write(&file.path, bytes).unwrap();
            }
            _ => fs::remove_file(&file.path).unwrap(),
        }
    }
    bench
}

#[tokio::test]
async fn damaged_compressed_day_does_not_stop_the_log() {
    let half = |bytes: &mut Vec<u8>| bytes.truncate(bytes.len() / 2);
    let rubbish = |bytes: &mut Vec<u8>| *bytes = b"rubbish".to_vec();
    let empty = |bytes: &mut Vec<u8>| bytes.clear();
    for how in [&half as &dyn Fn(&mut Vec<u8>), &rubbish, &empty] {
        let bench = damaged(how).await;
        let packed = bench.dir().join("2026-11-02.jsonl.gz");
        let signed = bench.dir().join("2026-11-02.checkpoint");
        let before = (fs::read(&packed).unwrap(), fs::read(&signed).unwrap());
        bench.hands.set("2026-11-05T12:00:00Z");
        let log = bench.log();
        log.append(Event::start("0", "test")).await.unwrap();
        log.close("test").await;
        let text = fs::read_to_string(bench.dir().join("2026-11-05.jsonl")).unwrap();
        let told = text.lines().find(|line| line.contains("day_damaged"));
        let told = told.unwrap_or_else(|| panic!("{text}"));
        assert!(told.contains(r#""file":"2026-11-02.jsonl.gz""#), "{told}");
        // The evidence stays as it is.
        let after = (fs::read(&packed).unwrap(), fs::read(&signed).unwrap());
        assert_eq!(before, after);
        let wanted = audit::read::Verify::default();
        let report = audit::read::verify(&bench.dir(), &wanted, &mut |_, _| {}).unwrap();
        let fault = report.fault.unwrap();
        assert_eq!(fault.at.unwrap().file, "2026-11-02.jsonl.gz");
    }
}

/// A program that keeps what it is given, as long as `failing` is not there.
fn hook(bench: &Bench) -> PathBuf {
    let path = bench.tmp.path().join("hook");
    let script = "#!/bin/sh\nhere=$(dirname \"$0\")\n[ -e \"$here/failing\" ] && exit 3\n\
                  cat > \"$here/note\"\necho \"$# $1 $2\" >> \"$here/roots\"\n";
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[tokio::test]
async fn the_root_is_handed_on_and_a_failure_is_recorded_and_mended() {
    let mut bench = Bench::new();
    let program = hook(&bench);
    bench.keeping().root_hook = Some(program);
    let failing = bench.tmp.path().join("failing");
    fs::write(&failing, "").unwrap();
    let log = bench.log();
    log.append(Event::start("0", "test")).await.unwrap();
    let failed = until("a failure", || bench.named("root_failed").first().cloned());
    assert_eq!(failed["why"], "exit status: 3");
    fs::remove_file(&failing).unwrap();
    let sent = until("the root", || bench.named("root_sent").first().cloned());
    let roots = fs::read_to_string(bench.tmp.path().join("roots")).unwrap();
    let first = roots.lines().next().unwrap().to_owned();
    let said = format!("2 {} {}", sent["size"], sent["root_hash"].as_str().unwrap());
    assert_eq!(first, said);
    // A day that ends hands its root on too, and the note on stdin is a checkpoint that can be kept.
    bench.hands.set("2026-11-16T00:00:00Z");
    until("the day's root", || {
        (bench.named("root_sent").len() >= 2).then_some(())
    });
    let note = fs::read_to_string(bench.tmp.path().join("note")).unwrap();
    let verifier = audit::verifier(&bench.dir()).unwrap();
    assert!(Checkpoint::open(&note, &verifier).is_ok());
    log.close("test").await;
}

#[tokio::test]
async fn a_root_that_nothing_was_added_to_is_not_handed_on_again() {
    let mut bench = Bench::new();
    let program = hook(&bench);
    bench.keeping().root_hook = Some(program);
    let log = bench.log();
    log.append(Event::start("0", "test")).await.unwrap();
    until("the root", || bench.named("root_sent").first().cloned());
    // Several looks later: each puts the checkpoint back that is taken away.
    let before = bench.records().len();
    let signed = bench.dir().join("checkpoint");
    for _ in 0..3 {
        until("a look", || fs::remove_file(&signed).ok());
    }
    assert_eq!(bench.records().len(), before);
    log.close("test").await;
}
