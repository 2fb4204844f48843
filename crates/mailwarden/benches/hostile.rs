//! How hostile mail is answered: twenty attacks, each alone and all at once, while another call goes on.
//!
//! `cargo bench -p mailwarden --bench hostile` measures the built program on one Dovecot and writes `docs/hostile.md`.
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
mod hostile {
    pub(crate) mod crowd;
    pub(crate) mod report;
    pub(crate) mod world;
}

use hostile::crowd::{self, Crowd};
use hostile::report::Report;
use hostile::world::World;

const REPORT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/hostile.md");

fn main() {
    // `cargo test --all-targets` runs this file too, and without the word.
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("nothing measured: run by `cargo bench`");
        return;
    }
    let machine = machine::Machine::look();
    let world = World::build();
    let alone = crowd::one_by_one(&world);
    let calm = crowd::calm(&world);
    let crowds: Vec<Crowd> = (0..crowd::ROUNDS).map(|_| crowd::at_once(&world)).collect();
    let report = Report {
        machine,
        alone,
        calm,
        crowds,
    };
    println!("{report}");
    std::fs::write(REPORT, report.to_string()).expect("write docs/hostile.md");
}
