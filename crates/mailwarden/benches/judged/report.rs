//! The tables as Markdown. Marks what meets its goal and what does not; leaves nothing out.

use std::fmt;

use super::rounds::{Kept, Measured};
use crate::machine::Machine;

/// All of `docs/policy-cost.md`.
pub(crate) struct Report {
    pub machine: Machine,
    pub small: Measured,
    pub large: Measured,
    pub kept: Kept,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (small, large) = (&self.small, &self.large);
        writeln!(
            f,
            "# What a policy costs\n\n\
             Written by `cargo bench -p mailwarden --bench policy`; do not edit. `search` of a whole folder, called over stdio \
             by a caller whose policy is a whitelist of three domains, beside a bare connection that fetches the facts of every message (flags, \
             arrival, size, envelope, structure) and throws them away unparsed. Both use TLS 1.3 on loopback and the \
             same Dovecot, whose caches are warm; they take turns. The first search is that of a new process which is \
             logged in; a repeated one looks again at what is there.\n\n{}\n",
            self.machine
        )?;
        writeln!(
            f,
            "| messages | visible | bare ms | first ms | ratio | repeated ms | ratio | the server's own `UID SEARCH ALL` ms |\n|--:|--:|--:|--:|--:|--:|--:|--:|"
        )?;
        for one in [small, large] {
            let (bare, first, repeated) = (one.bare.p50(), one.first.p50(), one.repeated.p50());
            writeln!(
                f,
                "| {} | {} | {bare:.1} | {first:.1} | {:.2} | {repeated:.2} | {:.3} | {:.2} |",
                one.folder.messages,
                one.visible,
                first / bare,
                repeated / bare,
                one.all.p50()
            )?;
        }
        writeln!(f, "\n| what | measured | goal | |\n|---|--:|---|---|")?;
        let growth = |of: fn(&Measured) -> f64| of(large) / of(small);
        let rows = [
            (
                "first search, 5,000 messages, against the bare fetch",
                small.first.p50() / small.bare.p50(),
                0.7,
            ),
            (
                "repeated search, 5,000 messages, against the bare fetch",
                small.repeated.p50() / small.bare.p50(),
                0.05,
            ),
            (
                "repeated search at 100,000 against the same at 5,000",
                growth(|one| one.repeated.p50()),
                5.0,
            ),
            (
                "growth of the first search from 5,000 to 100,000, against that of the bare fetch",
                growth(|one| one.first.p50()) / growth(|one| one.bare.p50()),
                1.0,
            ),
        ];
        for (what, measured, goal) in rows {
            let mark = mark(measured <= goal);
            writeln!(
                f,
                "| {what} | {measured:.3} × | at most {goal} × | {mark} |"
            )?;
        }
        let Kept { counted, grown } = self.kept;
        writeln!(
            f,
            "| kept for each message whose facts are kept (100,000, a blacklist), as the program counts it | {counted} octets | at most 200 | {} |",
            mark(counted <= 200)
        )?;
        writeln!(
            f,
            "| growth of the process for each, with all that fetching them took at its height | {grown} octets | | |"
        )
    }
}

fn mark(met: bool) -> &'static str {
    if met { "met" } else { "**missed**" }
}
