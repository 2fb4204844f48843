//! Every kind of change, struck at every boundary by every fault: done once or not done, and the ledger and the answer say
//! which.
//!
//! The short form, a sample, runs with all tests. `cargo xtask crash --writes` runs all of it, and one cell by its name
//! with `--only`.

mod cell;
mod ground;
mod kinds;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

pub(crate) use cell::{Hit, said};
pub(crate) use ground::{AWAY, GENERATION, Ground, HOME, Line, Plot, SUBJECT, leave};
use kinds::Kind;
use testkit::crash::{Cell, Table, only, sample};

/// So many cells in the short form.
const SAMPLE: usize = 60;
/// Fewer in the long form would mean that boundaries are not found.
const LEAST: usize = 400;
/// Two cells at once, unless `CRASH_AT_ONCE` says otherwise.
pub(crate) const AT_ONCE: usize = 2;

#[test]
fn write_crash_matrix() {
    let (form, wanted) = (variable("CRASH_WRITES"), variable("CRASH_ONLY"));
    let seed = variable("CRASH_SEED").and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or(6);
    let ground = Ground::new();
    let kinds: Vec<&Kind> = kinds::ALL
        .iter()
        .filter(|kind| wanted.as_ref().is_none_or(|name| concerns(name, kind)))
        .collect();
    let places = at_once(&kinds, |kind| {
        caught(|| cell::discover(&ground, kind)).and_then(|places| places)
    });
    let mut cells = Vec::new();
    let mut broken = Vec::new();
    for (kind, places) in kinds.iter().zip(places) {
        match places {
            Ok(places) => cells.extend(places.cells(kind.name)),
            Err(why) => broken.push(format!("{}: {why}", kind.name)),
        }
    }
    let all = cells.len();
    let cells = match (&wanted, &form) {
        (Some(name), _) => only(cells, name),
        (None, Some(_)) => cells,
        (None, None) => sample(cells, SAMPLE, seed),
    };
    eprintln!("{} of {all} cells, seed {seed}", cells.len());
    let table = run(&ground, &cells);
    eprintln!("{table}");
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    assert!(
        table.failures().is_empty(),
        "{} cells failed",
        table.failures().len()
    );
    if form.is_some() && wanted.is_none() {
        assert!(table.run() >= LEAST, "only {} cells", table.run());
    }
}

fn run(ground: &Ground, cells: &[Cell]) -> Table {
    let table = Mutex::new(Table::default());
    let ended = AtomicUsize::new(0);
    at_once(cells, |cell| {
        let kind = kinds::ALL.iter().find(|kind| kind.name == cell.kind);
        let ran = caught(|| cell::run(ground, kind.expect("a kind"), cell));
        let (hit, verdict) = ran.unwrap_or_else(|why| (Hit::Struck, Err(why)));
        let mut table = table.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = ended.fetch_add(1, Ordering::Relaxed) + 1;
        if ended.is_multiple_of(100) {
            let failed = table.failures().len();
            eprintln!("{ended} of {} cells, {failed} failed so far", cells.len());
        }
        if let Err(why) = &verdict {
            eprintln!("FAILED {cell}\n       {why}");
        }
        match hit {
            Hit::Missed if verdict.is_ok() => table.miss(cell),
            _ => table.note(cell, verdict),
        }
    });
    table.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Does something with each, a few at once; what came of it is in their order.
pub(crate) fn at_once<I: Sync, T: Send>(items: &[I], each: impl Fn(&I) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let many = variable("CRASH_AT_ONCE").and_then(|many| many.parse().ok());
        for _ in 0..many.unwrap_or(AT_ONCE) {
            scope.spawn(|| {
                while let Some((at, item)) = {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    items.get(at).map(|item| (at, item))
                } {
                    let came = each(item);
                    done.lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push((at, came));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, came)| came).collect()
}

/// One cell that cannot be run to its end must not hide what came of the others.
pub(crate) fn caught<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        text.unwrap_or_else(|| "a panic without words".to_owned())
    })
}

/// Whether cells of this name, or a part of one, can be of this kind.
fn concerns(name: &str, kind: &Kind) -> bool {
    let first = name.split('/').next().unwrap_or_default();
    match kinds::ALL.iter().any(|kind| kind.name == first) {
        true => kind.name == first,
        false => true,
    }
}

pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
