//! `docs/change-speed.md`: the figures, and what meets its goal. Leaves nothing out.

use std::fmt;
use std::time::Duration;

use super::across::{AT_ONCE, Across};
use super::within::Row;
use super::world::{LARGE, OCTETS};
use crate::machine::Machine;

/// At 20 ms, our time beside the bare connection's.
const MOST_RATIO: f64 = 1.4;
/// Across accounts, our speed beside that of the bare connections.
const LEAST_SPEED: f64 = 0.5;

pub(crate) struct Report {
    pub machine: Machine,
    pub near: Vec<Row>,
    pub far: Vec<Row>,
    pub across: Across,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "# What a change costs\n\n\
             Written by `cargo bench -p mailwarden --bench changes`; do not edit. Each change, called over stdio, beside a bare IMAP \
             connection that has the folder selected and sends the one command that makes the same change: it checks nothing and writes \
             nothing down. Ours is in the audit log and in the ledger before its effect and after it (four syncs), checks which message \
             it is, and reads what it was. Both go through the same proxy, in turn (A B B A); at 20 ms it holds every byte back for 10 ms \
             each way. Warm: the folder has been changed before.\n\n{}\n",
            self.machine
        )?;
        writeln!(f, "## At loopback\n")?;
        table(f, &self.near, None)?;
        writeln!(
            f,
            "\n## At 20 ms round-trip time\n\nGoal: at most {MOST_RATIO} × the bare connection (p50); flags, copy and move in one round \
             trip, delete in two.\n"
        )?;
        table(f, &self.far, Some(MOST_RATIO))?;
        self.across(f)
    }
}

fn table(f: &mut fmt::Formatter<'_>, rows: &[Row], most: Option<f64>) -> fmt::Result {
    writeln!(
        f,
        "| change | bare p50 ms | ours p50 ms | ratio | more ms | bare p95 | ours p95 | round trips | goal |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|---|"
    )?;
    for row in rows {
        let (bare, ours) = (row.bare.p50(), row.ours.p50());
        let ratio = ours / bare;
        let trips = row.most_told <= row.change.most();
        let goal = match most {
            None if trips => "–",
            Some(most) if trips && ratio <= most => "met",
            _ => "**missed**",
        };
        writeln!(
            f,
            "| {} | {bare:.2} | {ours:.2} | {ratio:.2} | +{:.2} | {:.2} | {:.2} | {} | {goal} |",
            row.change.name(),
            ours - bare,
            row.bare.p95(),
            row.ours.p95(),
            row.told,
        )?;
    }
    Ok(())
}

impl Report {
    fn across(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Across { bare, ours } = &self.across;
        writeln!(
            f,
            "\n## From one account to another\n\n\
             {LARGE} messages of {OCTETS} octets, loopback, {AT_ONCE} calls of `imap_copy_message` under way, beside one FETCH of all of \
             them on a bare connection and a pipelined APPEND of each on another. Ours reads every copy back and compares it.\n\n\
             | round | bare s | ours s | messages/s bare | ours | speed |\n|--:|--:|--:|--:|--:|--:|"
        )?;
        let speed = |time: &Duration| LARGE as f64 / time.as_secs_f64();
        let mut ratios = Vec::new();
        for (round, (bare, ours)) in bare.iter().zip(ours).enumerate() {
            let ratio = bare.as_secs_f64() / ours.as_secs_f64();
            ratios.push(ratio);
            writeln!(
                f,
                "| {} | {:.2} | {:.2} | {:.0} | {:.0} | {ratio:.2} |",
                round + 1,
                bare.as_secs_f64(),
                ours.as_secs_f64(),
                speed(bare),
                speed(ours),
            )?;
        }
        ratios.sort_by(f64::total_cmp);
        let median = ratios[ratios.len() / 2];
        let goal = match median >= LEAST_SPEED {
            true => "met",
            false => "**missed**",
        };
        writeln!(
            f,
            "\nGoal: at least {LEAST_SPEED} × the speed of the bare connections; median {median:.2}: {goal}."
        )
    }
}
