//! How fast mail is read: the built program beside a bare IMAP connection that asks for the same, on one Dovecot.
//!
//! `cargo bench -p mailwarden` measures everything and writes `docs/benchmarks.md`. With a word behind `--`
//! (`cargo bench -p mailwarden --bench read -- search`) only the cases that hold it run, and nothing is written.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark stops at the first surprise, and prints"
)]

mod read {
    pub(crate) mod alone;
    pub(crate) mod cases;
    pub(crate) mod compare;
    pub(crate) mod facts;
    pub(crate) mod machine;
    pub(crate) mod report;
    #[expect(dead_code, reason = "the benchmark of hostile mail counts them too")]
    pub(crate) mod samples;
    pub(crate) mod sides;
    pub(crate) mod world;
}

use read::report::{self, Report};
use read::{alone, cases, compare, machine, world};

const REPORT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/benchmarks.md");

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --all-targets` runs this file too, and without the word.
    if !arguments.iter().any(|argument| argument == "--bench") {
        println!("nothing measured: run by `cargo bench`");
        return;
    }
    let filter = arguments
        .into_iter()
        .find(|argument| !argument.starts_with('-'));
    let machine = machine::Machine::look();
    let world = world::World::build();
    let wanted = |name: &str| {
        filter
            .as_ref()
            .is_none_or(|filter| name.contains(filter.as_str()))
    };
    let mut tables = Vec::new();
    for route in [&world.near, &world.far] {
        let cases = cases::ALL.iter().filter(|case| wanted(case.name));
        let rows: Vec<_> = cases
            .map(|case| compare::run(case, &world, route))
            .collect();
        let table = report::table(route, &rows);
        println!("\n{table}");
        tables.push(table);
    }
    let checks = alone::ALL.iter().filter(|check| wanted(check.name));
    let findings: Vec<_> = checks.flat_map(|check| (check.run)(&world)).collect();
    let alone = report::findings(&findings);
    println!("\n{alone}");
    if filter.is_none() {
        let report = Report {
            machine,
            world: &world,
            tables,
            alone,
        };
        std::fs::write(REPORT, report.to_string()).expect("write docs/benchmarks.md");
        println!("\nwritten to docs/benchmarks.md");
    }
}
