//! How long a caller waits for a message or a conversation that is known by a Message-ID, in a store of Apple Mail with
//! 180,000 messages: beside a bare scan of Apple's own database, in one run.
//!
//! `cargo bench -p mailwarden --bench threads` starts the program over stdio and writes `docs/thread-speed.md`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark stops at the first surprise, and prints"
)]

#[path = "read/machine.rs"]
mod machine;

use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::McpClient;
use testkit::apple::Many;

const REPORT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/thread-speed.md");
const MESSAGES: i64 = 180_000;
const THREAD: i64 = 50;
/// Every so many threads have their files: what is asked for is asked of these.
const FILED: i64 = 20;
const ROUNDS: i64 = 200;

/// A tool, what its answer holds so many of, and what it may take (p95, in milliseconds).
const TOOLS: [(&str, &str, i64, f64); 4] = [
    ("get_email_path", "", 0, 5.0),
    ("read_email", "", 0, 20.0),
    ("get_thread_paths", "file_paths", THREAD, 60.0),
    ("read_thread", "emails", THREAD, 60.0),
];

fn main() {
    // `cargo test --all-targets` runs this file too, and without the word.
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("nothing measured: run by `cargo bench`");
        return;
    }
    let machine = machine::Machine::look();
    let many = Many::new(MESSAGES, THREAD, FILED);
    // Beside the build, where the disk is a disk.
    let state = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_mailwarden"));
    command
        .env("MAIL_APPLE_DEFAULT_PATH", many.store.root())
        .env("MAILWARDEN_STATE_DIR", state.path().join("state"))
        .arg("stdio")
        .stdin(Stdio::piped());
    let mut client = McpClient::spawn(command);
    client.initialize();
    let first = timed(|| call(&mut client, &many, "get_email_path", 1, ("", 0)));

    // In turns, so that a slow moment of the machine hits all of them.
    let mut scans = Vec::new();
    let mut times: [Vec<Duration>; 4] = [const { Vec::new() }; 4];
    for round in 0..ROUNDS {
        let row = chosen(round);
        scans.push(timed(|| drop(many.scan(row))));
        for ((tool, list, count, _), times) in TOOLS.iter().zip(&mut times) {
            times.push(timed(|| {
                call(&mut client, &many, tool, row, (list, *count));
            }));
        }
    }
    let scan = quantiles(scans);
    let mut report = format!(
        "# Conversations, measured\n\nWritten by `cargo bench -p mailwarden --bench threads`; do not edit. {MESSAGES} messages in a store of \
         Apple Mail, each tool called over stdio {ROUNDS} times, its record in the audit log synced to the disk before the answer. Beside it, \
         in turns in one run, a bare scan of Apple's database by SQLite for the Message-ID, and the file read that it leads to.\n\n{machine}\n\n\
         | what | p50, ms | p95, ms | goal, p95 | times as fast as the scan, p50 |\n|---|---:|---:|---:|---:|\n\
         | bare scan, and the file read | {:.2} | {:.2} | | 1.0 |\n",
        millis(scan.0),
        millis(scan.1)
    );
    for ((tool, _, count, goal), times) in TOOLS.into_iter().zip(times) {
        let (half, most) = quantiles(times);
        let of = match count {
            0 => String::new(),
            count => format!(", {count} messages"),
        };
        let met = match millis(most) <= goal {
            true => "met",
            false => "not met",
        };
        let ratio = scan.0.as_secs_f64() / half.as_secs_f64();
        writeln!(
            report,
            "| `{tool}`{of} | {:.2} | {:.2} | {goal}: {met} | {ratio:.1} |",
            millis(half),
            millis(most)
        )
        .unwrap();
    }
    writeln!(
        report,
        "\nThe first call of all, which builds the index: {:.0} ms. What the lookup alone takes is measured in \
         [apple-speed.md](apple-speed.md).",
        millis(first)
    )
    .unwrap();
    println!("{report}");
    std::fs::write(REPORT, report).unwrap();
}

/// Of a thread that has its files.
fn chosen(round: i64) -> i64 {
    let threads = MESSAGES / THREAD / FILED;
    let thread = (round * 7 % threads + 1) * FILED;
    (thread - 1) * THREAD + round % THREAD + 1
}

fn call(client: &mut McpClient, many: &Many, tool: &str, row: i64, (list, count): (&str, i64)) {
    let called = client.call(tool, json!({ "message_id": many.id(row) }));
    if row == 1 {
        // It has no file; that it has none is known by the index.
        return;
    }
    assert_eq!(
        called.structured["success"], true,
        "{tool}: {}",
        called.text
    );
    if count > 0 {
        let told = called.structured["data"][list].as_array().unwrap().len();
        assert_eq!(i64::try_from(told).unwrap(), count, "{tool}");
    }
}

fn timed(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

/// The median, and p95.
fn quantiles(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort();
    (times[times.len() / 2], times[times.len() * 95 / 100])
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
