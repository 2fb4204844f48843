//! How fast a log is verified: beside plain `sha256sum` over the same file, in one run, and with how much memory.
//!
//! `cargo bench -p audit --features sample --bench verify` makes logs of 30 and 300 MB and writes its part of
//! `docs/audit-speed.md`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark stops at the first surprise, and prints"
)]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use audit::read::sample::Sample;
use audit::read::{Verify, verify};
use peak_alloc::PeakAlloc;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

const REPORT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/audit-speed.md");
const BEGIN: &str =
    "<!-- verify: written by `cargo bench -p audit --features sample --bench verify` -->\n";
const END: &str = "<!-- /verify -->\n";
const SIZES: [u64; 2] = [30_000_000, 300_000_000];
const ROUNDS: usize = 3;

fn main() {
    // `cargo test --all-targets` runs this file too, and without the word.
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("nothing measured: run by `cargo bench`");
        return;
    }
    let rows: Vec<Row> = SIZES.iter().map(|size| row(*size)).collect();
    let part = part(&rows);
    println!("{part}");
    let before = fs::read_to_string(REPORT).unwrap_or_else(|_| {
        format!("# The audit log, measured\n\nRead the ratios: the times are those of one machine.\n\n{BEGIN}{END}")
    });
    let (head, rest) = before
        .split_once(BEGIN)
        .expect("the report has a place for it");
    let (_, tail) = rest.split_once(END).expect("the place has an end");
    fs::write(REPORT, format!("{head}{BEGIN}{part}{END}{tail}")).unwrap();
}

struct Row {
    records: u64,
    bytes: u64,
    sum: Duration,
    verify: Duration,
    /// Bytes.
    peak: usize,
}

/// The fastest of several rounds, both sides in turn, so that a busy moment meets neither alone.
fn row(size: u64) -> Row {
    let dir = tempfile::tempdir().unwrap();
    let file = write(dir.path(), size);
    let mut row = Row {
        records: 0,
        bytes: fs::metadata(&file).unwrap().len(),
        sum: Duration::MAX,
        verify: Duration::MAX,
        peak: 0,
    };
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let sum = Command::new("sha256sum").arg(&file).output().unwrap();
        row.sum = row.sum.min(begun.elapsed());
        assert!(sum.status.success());

        HEAP.reset_peak_usage();
        let held = HEAP.current_usage();
        let begun = Instant::now();
        let report = verify(dir.path(), &Verify::default(), &mut |_, _| {}).unwrap();
        row.verify = row.verify.min(begun.elapsed());
        row.peak = HEAP.peak_usage() - held;
        assert_eq!((report.fault, report.checkpoints), (None, 1));
        row.records = report.size;
    }
    row
}

/// One long day, so that there is one file to take the sum of.
fn write(dir: &Path, size: u64) -> std::path::PathBuf {
    let begin = "2026-11-13T00:00:00Z".parse().unwrap();
    let mut sample = Sample::begin(dir, begin).unwrap();
    let file = dir.join("2026-11-13.jsonl");
    let mut count = 0u64;
    loop {
        count += 1;
        match count % 1024 {
            0 => sample.state_tree().unwrap(),
            512 if fs::metadata(&file).unwrap().len() >= size => break,
            _ => sample.call().unwrap(),
        }
    }
    sample.finish().unwrap();
    file
}

fn part(rows: &[Row]) -> String {
    let mut out = String::from(
        "\n## Verifying\n\n\
         `audit verify` on one core: every record parsed and hashed, chain, numbers and Merkle tree checked, the signed\n\
         checkpoint compared; beside plain `sha256sum` over the same file, in one run. The goal is 300 MB/s, or half of\n\
         what `sha256sum` reaches, and memory that does not grow with the log.\n\n\
         | records | MB | sha256sum, MB/s | verify, MB/s | verify ÷ sha256sum | heap at most, kB |\n\
         |---:|---:|---:|---:|---:|---:|\n",
    );
    for row in rows {
        let mega = row.bytes as f64 / 1e6;
        let rate = |time: Duration| mega / time.as_secs_f64();
        let (sum, verify) = (rate(row.sum), rate(row.verify));
        out += &format!(
            "| {} | {mega:.0} | {sum:.0} | {verify:.0} | {:.2} | {} |\n",
            row.records,
            verify / sum,
            row.peak / 1000,
        );
    }
    out + "\n"
}
