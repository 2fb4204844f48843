//! Refreshes and logins, killed, torn or failed at every system call that leaves the process or reaches the disk: afterwards
//! the account works, or says who has to log in and how; and no token is lost that was good.
//!
//! The short form, a sample, runs with all tests. `cargo xtask crash --oauth` runs all of it, and one cell by its name with
//! `--only`.

mod cell;
mod failing;
mod ground;
mod kinds;

use std::sync::{Mutex, PoisonError};

use ground::Ground;
use kinds::Kind;
use testkit::crash::{Cell, Table, only, sample};

use crate::write_crash::{AT_ONCE, Hit, at_once, caught, variable};

/// So many cells in the short form.
const SAMPLE: usize = 36;
/// Fewer in the long form would mean that the trap does not work.
const LEAST: usize = 250;

/// Grounds that nobody stands on: one for each cell that runs at once.
struct Grounds(Mutex<Vec<Ground>>);

impl Grounds {
    fn on<T>(&self, run: impl FnOnce(&Ground) -> T) -> Result<T, String> {
        let free = self.lock().pop();
        let ground = free.unwrap_or_else(Ground::new);
        let came = caught(|| run(&ground));
        self.lock().push(ground);
        came
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Ground>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[test]
fn oauth_crash_matrix() {
    let (form, wanted) = (variable("CRASH_OAUTH"), variable("CRASH_ONLY"));
    let seed = variable("CRASH_SEED").and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or(8);
    let grounds = Grounds(Mutex::default());
    let kinds: Vec<&Kind> = kinds::ALL.iter().collect();
    let found = at_once(&kinds, |kind| {
        let cells = grounds.on(|ground| cell::discover(ground, kind));
        cells
            .and_then(|cells| cells)
            .map_err(|why| format!("{}: {why}", kind.name))
    });
    let (cells, broken): (Vec<_>, Vec<_>) = found.into_iter().partition(Result::is_ok);
    let broken: Vec<String> = broken.into_iter().filter_map(Result::err).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    let cells: Vec<Cell> = cells.into_iter().flatten().flatten().collect();
    let all = cells.len();
    let cells = match (&wanted, &form) {
        (Some(name), _) => only(cells, name),
        (None, Some(_)) => cells,
        (None, None) => sample(cells, SAMPLE, seed),
    };
    eprintln!(
        "{} of {all} cells, seed {seed}, {AT_ONCE} at once",
        cells.len()
    );
    let table = run(&grounds, &cells);
    eprintln!("{table}");
    assert!(table.failures().is_empty(), "{table}");
    if form.is_some() && wanted.is_none() {
        assert!(table.run() >= LEAST, "only {} cells", table.run());
    }
}

fn run(grounds: &Grounds, cells: &[Cell]) -> Table {
    let table = Mutex::new(Table::default());
    at_once(cells, |cell| {
        let kind = kinds::ALL.iter().find(|kind| kind.name == cell.kind);
        let ran = grounds.on(|ground| cell::run(ground, kind.expect("a kind"), cell));
        let (hit, verdict) = ran.unwrap_or_else(|why| (Hit::Struck, Err(why)));
        let mut table = table.lock().unwrap_or_else(PoisonError::into_inner);
        match hit {
            Hit::Missed if verdict.is_ok() => table.miss(cell),
            _ => table.note(cell, verdict),
        }
    });
    table.into_inner().unwrap_or_else(PoisonError::into_inner)
}
