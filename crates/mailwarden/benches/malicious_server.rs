//! How calls of one account fare while mail servers of other accounts lie: absurd ranges, floods,
//! malformed numbers.
//!
//! `cargo bench -p mailwarden --bench malicious_server` measures the built program on one Dovecot,
//! with a
//! scripted server for each kind of lie beside it, and writes `docs/malicious-servers.md`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark stops at the first surprise, and prints"
)]

#[path = "read/machine.rs"]
mod machine;
#[path = "read/samples.rs"]
#[expect(dead_code, reason = "the other benchmark counts round trips too")]
mod samples;
mod malicious_server {
    pub(crate) mod report;
    pub(crate) mod world;
}

use malicious_server::report::{Beside, Report};
use malicious_server::world::World;

const REPORT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/malicious-servers.md"
);

fn main() {
    // `cargo test --all-targets` runs this file too, and without the word.
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("nothing measured: run by `cargo bench`");
        return;
    }
    let machine = machine::Machine::look();
    let mut world = World::build();
    let alone = world.alone();
    let lies = testkit::malicious_server::ALL.iter().enumerate();
    let beside: Vec<Beside> = lies
        .map(|(number, lie)| world.beside(number, lie))
        .collect();
    let report = Report {
        machine,
        alone,
        beside,
        peak_memory: world.peak_memory(),
    };
    println!("{report}");
    std::fs::write(REPORT, report.to_string()).expect("write docs/malicious-servers.md");
}
