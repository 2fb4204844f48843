//! One run of a crash matrix: a kind of change, a fault, and the spot where it strikes. All of them are made from what a
//! run without faults did; none is listed by hand.

use crate::mailgen::Rng;
use crate::proxy::{Blow, Boundary};
use std::collections::BTreeMap;
use std::fmt;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// At a command on its way to a server.
    Blow(Blow),
    /// The program dies before a system call.
    KillBefore,
    /// The program dies when a system call is done.
    KillAfter,
    /// The program dies when half of a write is done.
    Tear,
    /// From this write on, the disk is full.
    DiskFull,
    /// A system call fails, alone.
    Failure,
}

/// Where it goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spot {
    /// A command to one of the servers.
    Command { account: String, at: Boundary },
    /// The n-th system call that counts, from 1, and what it was in the run without faults.
    Call { nth: usize, what: String },
}

/// Where a change can be struck.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// Commands by account; the first account is the one that names need not tell.
    pub commands: Vec<(String, Vec<Boundary>)>,
    /// System calls that leave the process or reach the disk, in their order.
    pub calls: Vec<Call>,
}

/// A system call at which a program can be struck.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// In words that are the same in every run.
    pub what: String,
    pub reach: Reach,
}

/// How far the effect of a call goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Bytes in a file. To die after it is to die before the call that follows.
    Written,
    /// On the disk, at another process, or at a server.
    Beyond,
}

/// One run. Its name says all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    pub kind: String,
    pub fault: Fault,
    pub spot: Spot,
    /// The account that names need not tell.
    home: String,
}

impl Fault {
    pub const BLOWS: [Self; 7] = [
        Self::Blow(Blow::No),
        Self::Blow(Blow::Bad),
        Self::Blow(Blow::Bye),
        Self::Blow(Blow::CutBefore),
        Self::Blow(Blow::CutAfter),
        Self::Blow(Blow::StallBefore),
        Self::Blow(Blow::StallAfter),
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Blow(Blow::No) => "NO",
            Self::Blow(Blow::Bad) => "BAD",
            Self::Blow(Blow::Bye) => "BYE",
            Self::Blow(Blow::CutBefore) => "cut before",
            Self::Blow(Blow::CutAfter) => "cut after",
            Self::Blow(Blow::StallBefore) => "timeout before",
            Self::Blow(Blow::StallAfter) => "timeout after",
            Self::KillBefore => "SIGKILL before",
            Self::KillAfter => "SIGKILL after",
            Self::Tear => "SIGKILL amid",
            Self::DiskFull => "ENOSPC",
            Self::Failure => "EIO",
        }
    }
}

impl Places {
    /// Every fault at every spot.
    pub fn cells(&self, kind: &str) -> Vec<Cell> {
        let home = self.commands.first().map(|(account, _)| account.clone());
        let home = home.unwrap_or_default();
        let cell = |fault, spot| Cell {
            kind: kind.to_owned(),
            fault,
            spot,
            home: home.clone(),
        };
        let mut cells = Vec::new();
        for (account, boundaries) in &self.commands {
            for at in boundaries {
                let spot = Spot::Command {
                    account: account.clone(),
                    at: at.clone(),
                };
                cells.extend(Fault::BLOWS.map(|fault| cell(fault, spot.clone())));
            }
        }
        let calls = || (1..).zip(&self.calls);
        let reaching = |reach| calls().filter(move |(_, call)| call.reach == reach);
        let at = |fault, nth, call: &Call| {
            let what = call.what.clone();
            cell(fault, Spot::Call { nth, what })
        };
        cells.extend(calls().map(|(nth, call)| at(Fault::KillBefore, nth, call)));
        let beyond = reaching(Reach::Beyond);
        cells.extend(beyond.map(|(nth, call)| at(Fault::KillAfter, nth, call)));
        // Here only writes are counted.
        let written = (1..).zip(reaching(Reach::Written));
        cells.extend(written.map(|(nth, (_, call))| at(Fault::DiskFull, nth, call)));
        cells
    }
}

impl Cell {
    /// A fault at the n-th system call of those that count for it, from 1.
    pub fn at_call(kind: &str, fault: Fault, nth: usize, what: String) -> Self {
        Self {
            kind: kind.to_owned(),
            fault,
            spot: Spot::Call { nth, what },
            home: String::new(),
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/", self.kind, self.fault.name())?;
        match &self.spot {
            Spot::Command { account, at } if *account == self.home => write!(f, "{at}"),
            Spot::Command { account, at } => write!(f, "{}@{account}#{}", at.verb, at.nth),
            Spot::Call { nth, what } => write!(f, "{nth} {what}"),
        }
    }
}

/// The cell of this name, or else all whose names hold it.
pub fn only(cells: Vec<Cell>, name: &str) -> Vec<Cell> {
    let exact: Vec<_> = cells
        .iter()
        .filter(|cell| cell.to_string() == name)
        .cloned()
        .collect();
    if !exact.is_empty() {
        return exact;
    }
    let mut cells = cells;
    cells.retain(|cell| cell.to_string().contains(name));
    cells
}

/// So many of the cells, chosen by the seed: kinds and faults in turn, so that none of them is left out before another
/// comes twice.
pub fn sample(cells: Vec<Cell>, count: usize, seed: u64) -> Vec<Cell> {
    let mut rng = Rng::new(seed, 0);
    let mut heaps: BTreeMap<(String, Fault), Vec<Cell>> = BTreeMap::new();
    for cell in cells {
        let heap = (cell.kind.clone(), cell.fault);
        heaps.entry(heap).or_default().push(cell);
    }
    let mut heaps: Vec<_> = heaps.into_values().collect();
    let mut chosen = Vec::new();
    while chosen.len() < count && !heaps.is_empty() {
        let mut order: Vec<usize> = (0..heaps.len()).collect();
        rng.shuffle(&mut order);
        for at in order.into_iter().take(count - chosen.len()) {
            let heap = &mut heaps[at];
            let one = rng.below(heap.len() as u64) as usize;
            chosen.push(heap.swap_remove(one));
        }
        heaps.retain(|heap| !heap.is_empty());
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> Places {
        let boundary = |verb: &str, nth| Boundary {
            verb: verb.to_owned(),
            nth,
        };
        let call = |what: &str, reach| Call {
            what: what.to_owned(),
            reach,
        };
        Places {
            commands: vec![
                ("home".to_owned(), vec![boundary("UID FETCH", 1)]),
                ("away".to_owned(), vec![boundary("APPEND", 1)]),
            ],
            calls: vec![
                call("pwrite64 ledger.db-wal", Reach::Written),
                call("fdatasync ledger.db-wal", Reach::Beyond),
                call("write socket", Reach::Beyond),
            ],
        }
    }

    #[test]
    fn every_fault_meets_every_spot_under_a_name_of_its_own() {
        let cells = places().cells("move");
        assert_eq!(cells.len(), 2 * 7 + 3 + 2 + 1);
        let names: std::collections::BTreeSet<_> = cells.iter().map(Cell::to_string).collect();
        assert_eq!(names.len(), cells.len());
        for name in [
            "move/NO/UID FETCH#1",
            "move/cut after/APPEND@away#1",
            "move/SIGKILL after/3 write socket",
            "move/ENOSPC/1 pwrite64 ledger.db-wal",
        ] {
            assert_eq!(only(cells.clone(), name).len(), 1, "{name}");
        }
        assert_eq!(only(cells, "/BYE/").len(), 2);
    }

    #[test]
    fn a_sample_leaves_no_fault_out_and_is_the_same_again() {
        let cells = places().cells("move");
        let chosen = sample(cells.clone(), 10, 7);
        let faults: std::collections::BTreeSet<_> = chosen.iter().map(|cell| cell.fault).collect();
        assert_eq!(faults.len(), 10);
        assert_eq!(chosen, sample(cells.clone(), 10, 7));
        assert_eq!(sample(cells.clone(), 1_000, 7).len(), cells.len());
    }
}
