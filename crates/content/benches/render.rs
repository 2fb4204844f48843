//! How fast hostile mail becomes a safe view: beside a bare MIME parse of the same messages, in one run.
//!
//! `cargo bench -p content` measures 10,000 mixed messages and writes `docs/rendering.md`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark stops at the first surprise, prints, and reads the clock"
)]

mod render {
    pub(crate) mod letters;
    pub(crate) mod sides;
}

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use render::letters::{self, Kind, Letter};
use render::sides;

const REPORT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rendering.md");
/// Distinct letters, and how often each is read in a round.
const DISTINCT: usize = 500;
const TIMES: usize = 20;
const ROUNDS: usize = 5;

fn main() {
    // `cargo test --all-targets` runs this file too, and without the word.
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("nothing measured: run by `cargo bench`");
        return;
    }
    let letters = letters::mixed(DISTINCT);
    let mut rows = vec![row("all, mixed", &letters.iter().collect::<Vec<_>>())];
    for kind in Kind::ALL {
        let some: Vec<&Letter> = letters.iter().filter(|one| one.kind == kind).collect();
        rows.push(row(kind.name(), &some));
    }
    let report = report(&rows);
    println!("{report}");
    std::fs::write(REPORT, report).unwrap();
}

struct Row {
    name: &'static str,
    messages: usize,
    bytes: usize,
    parse: Duration,
    view: Duration,
}

/// The fastest of several rounds, both sides in turn, so that a busy moment meets neither alone.
fn row(name: &'static str, letters: &[&Letter]) -> Row {
    let mut best = [Duration::MAX; 2];
    for _ in 0..ROUNDS {
        for (side, best) in [sides::parse, sides::view].iter().zip(&mut best) {
            let begun = Instant::now();
            let mut seen = 0;
            for _ in 0..TIMES {
                seen += letters.iter().map(|one| side(&one.raw)).sum::<usize>();
            }
            *best = begun.elapsed().min(*best);
            assert!(seen > 0, "nothing was read");
        }
    }
    Row {
        name,
        messages: letters.len() * TIMES,
        bytes: letters.iter().map(|one| one.raw.len()).sum::<usize>() * TIMES,
        parse: best[0],
        view: best[1],
    }
}

fn report(rows: &[Row]) -> String {
    let mut out = String::from(
        "<!-- Written by `cargo bench -p content`. -->\n\n# Rendering, measured\n\n\
         What one core needs to turn raw messages into views (structure, text, HTML as seen, attachments listed, every\n\
         string through the shield; 2,000 characters of body), beside a bare MIME parse of the same messages by\n\
         mail-parser, in one run. Read the ratio: the times are those of a shared machine. The\n\
         goal is at most 4 × for the mix; HTML alone costs more, because the parser does not look into it.\n\n\
         | messages | count | MB | bare parse, messages/s | MB/s | view, messages/s | MB/s | view ÷ parse |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for row in rows {
        let mega = row.bytes as f64 / 1e6;
        let per_second = |count: f64, time: Duration| count / time.as_secs_f64();
        let messages = row.messages as f64;
        let _ = writeln!(
            out,
            "| {} | {} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {:.2} |",
            row.name,
            row.messages,
            mega,
            per_second(messages, row.parse),
            per_second(mega, row.parse),
            per_second(messages, row.view),
            per_second(mega, row.view),
            row.view.as_secs_f64() / row.parse.as_secs_f64(),
        );
    }
    out
}
