//! `audit tail -f`: what is written appears, also on the next day.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use audit::read::sample::Sample;

use crate::support::command;

#[test]
fn what_is_written_is_shown_over_the_change_of_days() {
    let dir = tempfile::tempdir().unwrap();
    let mut sample = Sample::begin(dir.path(), "2026-11-13T23:59:00Z".parse().unwrap()).unwrap();
    (0..5).for_each(|_| sample.call().unwrap());
    sample.flush().unwrap();
    let mut child = command(dir.path(), &["tail", "-f", "-n", "2", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut expect = |seq: u64, event: &str| {
        let line = lines.next().unwrap().unwrap();
        let record: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(
            (&record["seq"], &record["event"]),
            (&seq.into(), &event.into())
        );
    };
    expect(4, "call");
    expect(5, "call");
    sample.call().unwrap();
    sample.flush().unwrap();
    expect(6, "call");
    // The rest of the old day comes before the new one.
    sample.call().unwrap();
    sample.next_day().unwrap();
    sample.call().unwrap();
    sample.flush().unwrap();
    expect(7, "call");
    expect(8, "day_closed");
    expect(9, "day_opened");
    expect(10, "call");
    child.kill().unwrap();
    child.wait().unwrap();
}
