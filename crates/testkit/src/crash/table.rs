//! What came of all cells: counts by kind and fault, and every failure by its name. Judges nothing.

use super::cell::{Cell, Fault};
use super::ends::End;
use std::collections::BTreeMap;
use std::fmt;

#[derive(Clone, Debug, Default)]
pub struct Table {
    rows: BTreeMap<(String, Fault), Counts>,
    failures: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    /// Cells in which the fault came to pass.
    run: usize,
    done: usize,
    undone: usize,
    failed: usize,
    /// Cells whose spot did not come up this time.
    missed: usize,
}

/// What came of one cell.
pub type Verdict = Result<End, String>;

impl Table {
    /// Notes a cell that was struck.
    pub fn note(&mut self, cell: &Cell, verdict: Verdict) {
        let counts = self.rows.entry((cell.kind.clone(), cell.fault));
        let counts = counts.or_default();
        counts.run += 1;
        match verdict {
            Ok(End::Done) => counts.done += 1,
            Ok(End::Undone) => counts.undone += 1,
            Err(why) => {
                counts.failed += 1;
                self.failures.push((cell.to_string(), why));
            }
        }
    }

    /// Notes a cell whose spot was not reached.
    pub fn miss(&mut self, cell: &Cell) {
        let counts = self.rows.entry((cell.kind.clone(), cell.fault));
        counts.or_default().missed += 1;
    }

    /// How many cells were struck.
    pub fn run(&self) -> usize {
        self.rows.values().map(|counts| counts.run).sum()
    }

    /// The cells that came to no declared end, by name, and why.
    pub fn failures(&self) -> &[(String, String)] {
        &self.failures
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wide = self.rows.keys().map(|(kind, _)| kind.len()).max();
        let wide = wide.unwrap_or_default().max(4);
        writeln!(
            f,
            "{:wide$}  {:14} {:>5} {:>5} {:>6} {:>6} {:>6}",
            "kind", "fault", "cells", "done", "undone", "failed", "missed"
        )?;
        let mut all = Counts::default();
        for ((kind, fault), counts) in &self.rows {
            line(f, (kind, wide), fault.name(), counts)?;
            all.run += counts.run;
            all.done += counts.done;
            all.undone += counts.undone;
            all.failed += counts.failed;
            all.missed += counts.missed;
        }
        line(f, ("all", wide), "", &all)?;
        for (cell, why) in &self.failures {
            writeln!(f, "FAILED {cell}\n       {why}")?;
        }
        Ok(())
    }
}

fn line(
    f: &mut fmt::Formatter<'_>,
    (kind, wide): (&str, usize),
    fault: &str,
    counts: &Counts,
) -> fmt::Result {
    let Counts {
        run,
        done,
        undone,
        failed,
        missed,
    } = counts;
    writeln!(
        f,
        "{kind:wide$}  {fault:14} {run:>5} {done:>5} {undone:>6} {failed:>6} {missed:>6}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crash::{Call, Places, Reach};

    #[test]
    fn cells_are_counted_and_failures_named() {
        let places = Places {
            calls: vec![Call {
                what: "send".to_owned(),
                reach: Reach::Beyond,
            }],
            ..Places::default()
        };
        let cells = places.cells("copy");
        let mut table = Table::default();
        table.note(&cells[0], Ok(End::Done));
        table.note(&cells[1], Err("lost".to_owned()));
        table.miss(&cells[1]);
        assert_eq!((table.run(), table.failures().len()), (2, 1));
        let text = table.to_string();
        assert!(
            text.contains("FAILED copy/SIGKILL after/1 send\n       lost"),
            "{text}"
        );
    }
}
