//! How fast a message is found by its Message-ID in a store of Apple Mail with 180,000 messages: beside a bare scan of Apple's
//! own database, in one run.
//!
//! `cargo bench -p sources` writes `docs/apple-speed.md`.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark stops at the first surprise, and prints"
)]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use mail::{
    AccountId, Cx, Effort, HeaderId, Kindred, MailSource as _, PartWish, Sought, Structure,
    Urgency, Within,
};
use sources::apple::Apple;
use testkit::apple::Many;

const REPORT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/apple-speed.md");
const MESSAGES: i64 = 180_000;
const THREAD: i64 = 50;
/// Every so many threads have their files: what is asked for is asked of these.
const FILED: i64 = 20;
const ROUNDS: i64 = 200;
const SCANS: i64 = 40;
const BUILDS: usize = 5;

fn main() {
    // `cargo test --all-targets` runs this file too, and without the word.
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("nothing measured: run by `cargo bench`");
        return;
    }
    let many = Many::new(MESSAGES, THREAD, FILED);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let state = tempfile::tempdir().unwrap();
    let open = |state: &Path| {
        let account = AccountId::new("mac").unwrap();
        Apple::open(account, many.store.root(), None, Some(state.to_owned()))
    };
    let mut builds: Vec<Duration> = (0..BUILDS)
        .map(|number| {
            let source = open(&state.path().join(number.to_string()));
            let begun = Instant::now();
            assert_eq!(
                runtime
                    .block_on(located(&source, &many, MESSAGES))
                    .members
                    .len(),
                1
            );
            begun.elapsed()
        })
        .collect();
    builds.sort();
    let source = open(&state.path().join("0"));
    runtime.block_on(located(&source, &many, 1));

    // In turns, so that a slow moment of the machine hits all of them.
    let (mut scans, mut paths, mut mails, mut threads) = (vec![], vec![], vec![], vec![]);
    for round in 0..ROUNDS {
        let row = chosen(round);
        if round % (ROUNDS / SCANS) == 0 {
            scans.push(timed(|| many.scan(row)));
        }
        paths.push(timed(|| runtime.block_on(path(&source, &many, row))));
        mails.push(timed(|| runtime.block_on(mail(&source, &many, row))));
        if round % 4 == 0 {
            threads.push(timed(|| runtime.block_on(thread(&source, &many, row))));
        }
    }
    let [scan, path, mail, thread] = [scans, paths, mails, threads].map(|mut times| {
        times.sort();
        (times[times.len() / 2], times[times.len() * 95 / 100])
    });
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    let line = |what: &str, (half, most): (Duration, Duration)| {
        let ratio = scan.0.as_secs_f64() / half.as_secs_f64();
        format!(
            "| {what} | {:.2} | {:.2} | {ratio:.1} |\n",
            millis(half),
            millis(most)
        )
    };
    let built = builds[BUILDS / 2];
    let rate = MESSAGES as f64 / built.as_secs_f64();
    let mut report = format!(
        "# Apple Mail, measured\n\nWritten by `cargo bench -p sources --bench apple`. Read the ratios: the times are those of \
         one machine.\n\nA store of {MESSAGES} messages as Mail has it open, its database warm. Apple's database has no index \
         on Message-IDs; beside ours stands a bare scan of it by SQLite, and the file opened that it leads to, in turns in one \
         run.\n\n| what | median, ms | p95, ms | times as fast as the scan |\n|---|---:|---:|---:|\n"
    );
    report.push_str(&line("bare scan, and the file opened", scan));
    report.push_str(&line("a message located, and its path", path));
    report.push_str(&line("a message located, and all of it read", mail));
    report.push_str(&line("a conversation of 50, and all of it read", thread));
    report.push_str(&format!(
        "\nBuilding the index: {:.0} ms for all rows, the first answer with it; {rate:.0} rows in a second.\n",
        millis(built)
    ));
    println!("{report}");
    fs::write(REPORT, report).unwrap();
}

/// Of a thread that has its files.
fn chosen(round: i64) -> i64 {
    let threads = MESSAGES / THREAD / FILED;
    let thread = (round * 7 % threads + 1) * FILED;
    (thread - 1) * THREAD + round % THREAD + 1
}

fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

fn sought(many: &Many, row: i64) -> Sought {
    Sought {
        ids: vec![HeaderId::new(many.id(row).as_bytes()).unwrap()],
        within: Within::All,
        effort: Effort {
            folders: 100,
            rounds: 20,
            messages: 1_000,
        },
    }
}

async fn located(source: &Apple, many: &Many, row: i64) -> Kindred {
    source.locate(&Cx::new(), &sought(many, row)).await.unwrap()
}

async fn path(source: &Apple, many: &Many, row: i64) {
    let found = located(source, many, row).await;
    let file = source.file(&Cx::new(), &found.members[0].at).await.unwrap();
    assert!(file.is_some());
}

fn all(structure: &Structure) -> Vec<PartWish> {
    let leaves = structure.leaves.iter();
    leaves
        .map(|leaf| PartWish {
            section: leaf.section.clone(),
            max_bytes: 1 << 20,
            urgency: Urgency::Needed,
        })
        .collect()
}

async fn mail(source: &Apple, many: &Many, row: i64) {
    let found = located(source, many, row).await;
    let message = source.message(&Cx::new(), &found.members[0].at, &all).await;
    assert_eq!(message.unwrap().parts.len(), 1);
}

async fn thread(source: &Apple, many: &Many, row: i64) {
    let cx = Cx::new();
    let found = source.kindred(&cx, &sought(many, row)).await.unwrap();
    assert_eq!(found.members.len(), 50);
    let wanted: Vec<_> = found.members.into_iter().map(|one| one.at).collect();
    let messages = source.messages(&cx, &wanted, &all).await.unwrap();
    assert!(messages.iter().all(Result::is_ok));
}
