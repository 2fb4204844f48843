//! `docs/audit-cost.md`: the figures, and what meets its goal. Leaves nothing out.

use std::fmt;

use super::rounds::Row;
use crate::machine::Machine;
use crate::samples::Samples;

/// Calls a second with the log, of those without.
const LEAST_RATIO: f64 = 0.8;

pub(crate) struct Report {
    pub machine: Machine,
    pub sync: Samples,
    pub rows: Vec<Row>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "# What the audit log costs\n\n\
             Written by `cargo bench -p mailwarden --bench audit`; do not edit. The gateway is called in one process, over \
             TLS to a Dovecot on this machine, with the log on disk and with a log that keeps nothing, in turn, in 12 \
             rounds. The server is as near as can be, so the share of the log is as large as can be.\n\n\
             Goals: with 32 callers at once at least 0.8 × the calls a second (a call that asks no server does so little that the \
             log is most of it); one caller waits for \
             one sync more and no second (that it is one is tested: `a_reply_leaves_after_its_record_is_on_disk`).\n\n\
             {} A record's worth of bytes appended and synced the bare way: p50 {:.2} ms, p95 {:.2} ms.\n",
            self.machine,
            self.sync.p50(),
            self.sync.p95(),
        )?;
        self.many(f)?;
        self.alone(f)
    }
}

impl Report {
    fn many(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "## 32 callers\n\n\
             | call | calls/s without | with the log | ratio | slowest and fastest round | goal |\n|---|--:|--:|--:|--:|---|"
        )?;
        for row in &self.rows {
            let (without, with) = (median(&row.many_discarded), median(&row.many_kept));
            let ratio = with / without;
            let mut rounds: Vec<f64> = row
                .many_kept
                .iter()
                .zip(&row.many_discarded)
                .map(|(with, without)| with / without)
                .collect();
            rounds.sort_by(f64::total_cmp);
            let goal = if ratio >= LEAST_RATIO { "PASS" } else { "MISS" };
            writeln!(
                f,
                "| {} | {without:.0} | {with:.0} | {ratio:.2} | {:.2}–{:.2} | {goal} |",
                row.case.name(),
                rounds[0],
                rounds[rounds.len() - 1],
            )?;
        }
        writeln!(f)
    }

    fn alone(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "## One caller\n\n\
             The bare minimum is the same call without the log, after which another thread appends a record's worth of \
             bytes and syncs them. The log does that and the rest: the lock, the chain, the tree.\n\n\
             | call | p50 ms without | with one bare sync | with the log | log ÷ bare sync |\n|---|--:|--:|--:|--:|"
        )?;
        for row in &self.rows {
            writeln!(
                f,
                "| {} | {:.2} | {:.2} | {:.2} | {:.2} |",
                row.case.name(),
                row.alone_discarded.p50(),
                row.alone_synced.p50(),
                row.alone_kept.p50(),
                row.alone_kept.p50() / row.alone_synced.p50(),
            )?;
        }
        Ok(())
    }
}

fn median(numbers: &[f64]) -> f64 {
    let mut numbers = numbers.to_vec();
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}
