//! `docs/malicious-servers.md`: the figures, and what meets its goal. Leaves nothing out.

use std::fmt;

use crate::machine::Machine;
use crate::samples::Samples;

/// Of what a call needs alone.
const MAX_RATIO: f64 = 2.0;

pub(crate) struct Report {
    pub machine: Machine,
    pub alone: Samples,
    pub beside: Vec<Beside>,
    pub peak_memory: u64,
}

/// The good account's calls while one lie is told.
pub(crate) struct Beside {
    pub name: &'static str,
    pub code: &'static str,
    pub times: Samples,
    /// The calls that meet the lie.
    pub lied: Samples,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "# Lying mail servers\n\n\
             Written by `cargo bench -p mailwarden --bench malicious_server`; do not edit. One process over stdio has a good account, on a \
             Dovecot with 2,000 messages, and an account on each of {} scripted servers that answer with absurd ranges, floods or \
             malformed numbers. While a call of such an account is under way, the good account is asked for a page of 20 \
             messages, again and again. The lying servers, Dovecot and the client run on the same cores. Times run from the \
             request written to the answer received, in milliseconds.\n\n\
             Goal: the median and the slowest of the good account's calls take at most {MAX_RATIO} × what the median and the \
             slowest take alone.\n\n\
             {}\n",
            self.beside.len(),
            self.machine
        )?;
        let (p50, slowest) = (self.alone.p50(), self.alone.at(100));
        writeln!(
            f,
            "Alone: {} calls, median {p50:.2}, slowest {slowest:.2}. Peak memory of the process at the end: {:.0} MB.\n",
            self.alone.len(),
            self.peak_memory as f64 / 1e6
        )?;
        writeln!(
            f,
            "| lie | its call fails with | after, median | calls beside it | median | × alone | slowest | × alone | goal |\n\
             |---|---|--:|--:|--:|--:|--:|--:|---|"
        )?;
        for one in &self.beside {
            let ratios = [one.times.p50() / p50, one.times.at(100) / slowest];
            let met = ratios.iter().all(|ratio| *ratio <= MAX_RATIO);
            writeln!(
                f,
                "| {} | `{}` | {:.1} | {} | {:.2} | {:.2} | {:.2} | {:.2} | {} |",
                one.name,
                one.code,
                one.lied.p50(),
                one.times.len(),
                one.times.p50(),
                ratios[0],
                one.times.at(100),
                ratios[1],
                if met { "PASS" } else { "MISS" }
            )?;
        }
        Ok(())
    }
}
