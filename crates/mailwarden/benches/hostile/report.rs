//! `docs/hostile.md`: the figures, and what meets its goal. Leaves nothing out.

use std::fmt;
use std::time::Duration;

use super::crowd::{Alone, Crowd};
use crate::machine::Machine;
use crate::samples::Samples;

/// For each attack, alone and in the crowd.
const MOST_ANSWER_MS: f64 = 1_000.0;
/// For the bystander, p99.
const MOST_BYSTANDER_MS: f64 = 50.0;

pub(crate) struct Report {
    pub machine: Machine,
    pub alone: Vec<Alone>,
    pub calm: Samples,
    pub crowds: Vec<Crowd>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.head(f)?;
        self.attacks(f)?;
        self.bystander(f)
    }
}

impl Report {
    fn head(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "# Hostile mail\n\n\
             Written by `cargo bench -p mailwarden --bench hostile`; do not edit. Twenty mails that are meant to hang, \
             bloat or crash their reader lie in one Dovecot. Each is read over stdio by `imap_get_message` with every \
             wish on (20,000 characters, HTML, all headers, text of attachments): alone, and all twenty at once in one \
             session with a small mail behind them, while the same session is asked for `imap_list_accounts` every 2 ms, answered or not. Times run \
             from the request written to the answer received.\n\n\
             Goals: each answer in under 1 s; p99 of `imap_list_accounts` at most 50 ms meanwhile.\n\n\
             {}\n",
            self.machine
        )
    }

    fn attacks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "## Answers\n\n\
             | attack | kB | alone p50 ms | alone slowest | in the crowd, fastest round | slowest round | `imap_list_accounts` beside it alone, slowest ms | goal |\n\
             |---|--:|--:|--:|--:|--:|--:|---|"
        )?;
        for (index, one) in self.alone.iter().enumerate() {
            let crowd = self.crowds.iter().map(|crowd| ms(crowd.answers[index]));
            let (least, most) = crowd.fold((f64::MAX, 0.0_f64), |(least, most), ms| {
                (least.min(ms), most.max(ms))
            });
            let met = one.times.at(100) < MOST_ANSWER_MS && most < MOST_ANSWER_MS;
            writeln!(
                f,
                "| {} | {} | {:.0} | {:.0} | {least:.0} | {most:.0} | {:.1} | {} |",
                one.name,
                one.bytes.div_ceil(1000),
                one.times.p50(),
                one.times.at(100),
                one.beside.at(100),
                mark(met)
            )?;
        }
        writeln!(f)
    }

    fn bystander(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "## `imap_list_accounts` meanwhile\n\n\
             | beside it | calls | p50 ms | p99 ms | slowest | peak memory MB | goal |\n|---|--:|--:|--:|--:|--:|---|"
        )?;
        row(f, "nothing", &self.calm, None)?;
        let mut all = Samples::default();
        for (crowd, round) in self.crowds.iter().zip(1..) {
            let name = format!("all twenty, round {round}");
            row(f, &name, &crowd.bystander, Some(crowd.peak_memory))?;
            all.append(crowd.bystander.clone());
        }
        let memory = self.crowds.iter().map(|crowd| crowd.peak_memory).max();
        row(f, "all twenty, all rounds", &all, memory)
    }
}

fn row(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    times: &Samples,
    memory: Option<u64>,
) -> fmt::Result {
    let memory = memory.map_or_else(
        || "–".to_owned(),
        |bytes| format!("{:.0}", bytes as f64 / 1e6),
    );
    writeln!(
        f,
        "| {name} | {} | {:.2} | {:.2} | {:.2} | {memory} | {} |",
        times.len(),
        times.p50(),
        times.at(99),
        times.at(100),
        mark(times.at(99) <= MOST_BYSTANDER_MS)
    )
}

fn mark(met: bool) -> &'static str {
    if met { "PASS" } else { "MISS" }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
