//! What a change costs beside a bare connection that makes the same change and writes nothing down.
//!
//! `cargo bench -p mailwarden --bench changes` starts the program over stdio and writes `docs/change-speed.md`.
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
#[expect(dead_code, reason = "other benchmarks ask more of their samples")]
mod samples;
mod changing {
    pub(crate) mod across;
    pub(crate) mod report;
    pub(crate) mod within;
    pub(crate) mod world;
}

use std::time::Duration;

use changing::report::Report;
use changing::world::World;
use changing::{across, within};

const REPORT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/change-speed.md");

fn main() {
    // `cargo test --all-targets` runs this file too, and without the word.
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("nothing measured: run by `cargo bench`");
        return;
    }
    let machine = machine::Machine::look();
    let world = World::build();
    let near = within::all(&world, Duration::ZERO, 150);
    let far = within::all(&world, Duration::from_millis(10), 50);
    let across = across::all(&world);
    let report = Report {
        machine,
        near,
        far,
        across,
    };
    println!("{report}");
    std::fs::write(REPORT, report.to_string()).expect("write docs/change-speed.md");
}
