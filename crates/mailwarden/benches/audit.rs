//! What the audit log costs: the same calls with the log on disk and with a log that keeps nothing.
//!
//! `cargo bench -p mailwarden --bench audit` calls the gateway in this process, on one Dovecot, and writes
//! `docs/audit-cost.md`.
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
mod audit_cost {
    pub(crate) mod report;
    pub(crate) mod rounds;
    pub(crate) mod world;
}

use std::sync::Arc;

use audit_cost::report::Report;
use audit_cost::rounds;
use audit_cost::world::World;

const REPORT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/audit-cost.md");

fn main() {
    // `cargo test --all-targets` runs this file too, and without the word.
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("nothing measured: run by `cargo bench`");
        return;
    }
    let machine = machine::Machine::look();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let report = runtime.block_on(async {
        let world = Arc::new(World::build().await);
        let sync = rounds::sync(&world);
        let rows = rounds::all(&world).await;
        Report {
            machine,
            sync,
            rows,
        }
    });
    println!("{report}");
    std::fs::write(REPORT, report.to_string()).expect("write docs/audit-cost.md");
}
