//! What a policy costs: a search that judges every message, beside a bare connection that fetches the facts of all.
//!
//! `cargo bench -p mailwarden --bench policy` drives the built program on one Dovecot and writes `docs/policy-cost.md`.
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
#[expect(dead_code, reason = "other benchmarks count round trips too")]
mod samples;
mod judged {
    pub(crate) mod report;
    pub(crate) mod rounds;
    pub(crate) mod world;
}

use judged::report::Report;
use judged::rounds;
use judged::world::World;

const REPORT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/policy-cost.md");

fn main() {
    // `cargo test --all-targets` runs this file too, and without the word.
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("nothing measured: run by `cargo bench`");
        return;
    }
    let machine = machine::Machine::look();
    let world = World::build();
    let report = Report {
        small: rounds::run(&world, world.small()),
        large: rounds::run(&world, world.large()),
        kept: rounds::memory(&world),
        machine,
    };
    let text = report.to_string();
    println!("{text}");
    std::fs::write(REPORT, text).expect("write the report");
}
