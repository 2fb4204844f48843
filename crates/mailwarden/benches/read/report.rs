//! The tables as Markdown. Marks what meets its goal and what does not; leaves nothing out.

use std::fmt::{self, Write as _};

use super::alone::Finding;
use super::cases;
use super::compare::Row;
use super::machine::Machine;
use super::world::{Goal, MESSAGES, Route, World};

/// All of `docs/benchmarks.md`.
pub(crate) struct Report<'a> {
    pub machine: Machine,
    pub world: &'a World,
    pub tables: Vec<String>,
    pub alone: String,
}

/// One table of comparisons.
pub(crate) fn table(route: &Route, rows: &[Row]) -> String {
    let goal = match route.goal {
        Goal::Ratio(most) => format!("at most {most} × the bare connection (p50)"),
        Goal::MoreMs(most) => format!("at most {most} ms more than the bare connection (p50)"),
    };
    let mut out = format!(
        "## At {}\n\nGoal: {goal}. Open connections: {} rounds a side; fresh ones: {}.\n\n\
         | call | bare p50 ms | ours p50 ms | ratio | more ms | bare p95 | ours p95 | round trips told | \
         flights bare / ours | reply chars text / all | goal |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|\n",
        route.name, route.rounds, route.fresh_rounds
    );
    for row in rows {
        out.push_str(&line(route, row));
    }
    out
}

pub(crate) fn findings(findings: &[Finding]) -> String {
    let mut out = "## Alone\n\n| what | measured (p50) | goal | |\n|---|---|---|---|\n".to_owned();
    for one in findings {
        let Finding {
            what,
            measured,
            goal,
            met,
        } = one;
        let _ = writeln!(out, "| {what} | {measured} | {goal} | {} |", mark(*met));
    }
    out
}

fn line(route: &Route, row: &Row) -> String {
    let (bare, ours) = (row.bare.p50(), row.ours.p50());
    let (ratio, more) = (ours / bare, ours - bare);
    let met = match route.goal {
        Goal::Ratio(most) => ratio <= most,
        Goal::MoreMs(most) => more <= most,
    };
    format!(
        "| {} | {bare:.2} | {ours:.2} | {ratio:.2} | {more:+.2} | {:.2} | {:.2} | {} | {} / {} | {} / {} | {} |\n",
        row.name,
        row.bare.p95(),
        row.ours.p95(),
        row.round_trips,
        row.bare_flights,
        row.our_flights,
        row.chars[0],
        row.chars[1],
        mark(met)
    )
}

fn mark(met: bool) -> &'static str {
    if met { "met" } else { "**missed**" }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.head(f)?;
        for table in &self.tables {
            writeln!(f, "{table}")?;
        }
        writeln!(f, "{}", self.alone)?;
        self.yardstick(f)
    }
}

impl Report<'_> {
    fn head(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "# Benchmarks\n\n\
             Written by `cargo bench -p mailwarden`; do not edit. Each tool, called over stdio, beside a bare IMAP \
             connection that sends the least for the same answer and throws the reply away unparsed. Both use TLS 1.3 \
             and the same Dovecot with {MESSAGES} generated messages in INBOX, whose caches are warm; they take turns \
             (A B B A). Our time runs from the request written to stdin to the JSON answer parsed. At 20 ms both go \
             through the same proxy, which holds every byte back for 10 ms each way and counts flights (the TCP \
             handshake is none). It accepts at once and makes the first bytes wait for the handshake's round trip \
             instead, so what a client computes between connecting and speaking is hidden for up to 20 ms: what a \
             new connection costs shows better at loopback.\n\n\
             {}\n",
            self.machine
        )
    }

    /// What the bare side sends, a flight a line.
    fn yardstick(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "## What the bare connection sends\n\nA line is a flight; a new connection comes before `LOGIN`. Next \
             pages are asked for as by one who kept the place and not the list, and nothing is sent behind a `LOGIN` \
             that is not answered yet: with less caution each would take the bare side one flight fewer.\n"
        )?;
        for case in cases::ALL {
            writeln!(f, "- {}", case.name)?;
            for flight in (case.bare)(&self.world.facts, 0) {
                writeln!(f, "  - `{}`", flight.join("` `"))?;
            }
        }
        Ok(())
    }
}
