//! How many transactions can begin durably in a second: beside a bare loop of write and fdatasync, in one run.
//!
//! `cargo bench -p ledger` writes `docs/ledger-speed.md`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark stops at the first surprise, and prints"
)]

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use ledger::{Asked, Begun, Kind, Known, Ledger, StepName};

const REPORT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ledger-speed.md");
/// Each is measured for so long, in turn, so that a slow moment of the machine hits all of them.
const PIECE: Duration = Duration::from_millis(500);
const ROUNDS: u32 = 6;
const CALLERS: [usize; 2] = [1, 32];

fn main() {
    // `cargo test --all-targets` runs this file too, and without the word.
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("nothing measured: run by `cargo bench`");
        return;
    }
    // On the disk of the tree: a temporary directory may be memory.
    let dir = tempfile::tempdir_in(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).unwrap();
    let ledger = Ledger::open(&dir.path().join("ledger.db")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let mut bare = 0;
    let mut begun = CALLERS.map(|_| 0);
    for _ in 0..ROUNDS {
        bare += syncs(dir.path());
        for (callers, count) in CALLERS.into_iter().zip(&mut begun) {
            *count += runtime.block_on(begins(&ledger, callers));
        }
    }
    let per_second = |count: u64| count as f64 / (PIECE * ROUNDS).as_secs_f64();
    let mut report = format!(
        "# The ledger, measured\n\nWritten by `cargo bench -p ledger`. Read the ratios: the rates are those of one \
         machine.\n\nA transaction begins durably before anything is asked of a mail server. Beside it a bare loop that \
         writes 512 octets and calls `fdatasync`, in turns in one run.\n\n| what | in a second | to the bare loop |\n\
         |---|---:|---:|\n| write and `fdatasync` | {:.0} | 1.00 |\n",
        per_second(bare)
    );
    for (callers, count) in CALLERS.into_iter().zip(begun) {
        let ratio = count as f64 / bare as f64;
        report.push_str(&format!(
            "| begins by {callers} at once | {:.0} | {ratio:.2} |\n",
            per_second(count)
        ));
    }
    println!("{report}");
    fs::write(REPORT, report).unwrap();
}

fn syncs(dir: &Path) -> u64 {
    let mut file = File::create(dir.join("bare")).unwrap();
    let (begun, mut count) = (Instant::now(), 0);
    while begun.elapsed() < PIECE {
        file.write_all(&[b'x'; 512]).unwrap();
        file.sync_data().unwrap();
        count += 1;
    }
    count
}

async fn begins(ledger: &Ledger, callers: usize) -> u64 {
    let begun = Instant::now();
    let tasks: Vec<_> = (0..callers)
        .map(|_| {
            let ledger = ledger.clone();
            tokio::spawn(async move {
                let mut count = 0;
                while begun.elapsed() < PIECE {
                    let asked = Asked {
                        kind: Kind::Copy,
                        caller: "agent".to_owned(),
                        tool: "imap_copy_message".to_owned(),
                        request_id: "r".to_owned(),
                        policy: "owner".to_owned(),
                        source: None,
                        target: None,
                        source_home: None,
                        target_home: None,
                        horizon: None,
                        marks: Vec::new(),
                        key: None,
                        undoes: None,
                    };
                    let begun = ledger.begin(asked, Known::default(), StepName::Copy, None);
                    match begun.await.unwrap() {
                        Begun::New(_) => count += 1,
                        other => panic!("{other:?}"),
                    }
                }
                count
            })
        })
        .collect();
    let mut total = 0;
    for task in tasks {
        total += task.await.unwrap();
    }
    total
}
