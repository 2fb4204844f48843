//! `cargo xtask corpora`: every sample message is viewed, measured and compared with what should be read in it.

mod groups;
mod look;
mod page;
mod tally;

use std::fs;
use std::path::Path;

use crate::tree::{Outcome, at, root};
use groups::Group;
pub(crate) use look::HEAP;
use tally::Tally;

const PAGE: &str = "docs/corpora.md";

/// Measures, and writes the page.
pub(crate) fn write() -> Outcome<String> {
    let tallies: Vec<(Group, Tally)> = groups::all().into_iter().map(measured).collect();
    let path = root().join(PAGE);
    let kept = fs::read_to_string(&path).unwrap_or_default();
    fs::write(&path, page::page(&tallies, &kept)).map_err(|error| at(&path, &error))?;
    verdict(&tallies, &format!("wrote {PAGE}"))
}

/// Fails on a panic, on too much memory and on a difference without a reason. Time is told and not judged.
pub(crate) fn check() -> Outcome<String> {
    let tallies: Vec<(Group, Tally)> = groups::all().into_iter().map(measured).collect();
    verdict(&tallies, "as expected")
}

/// The same over every file of a folder; nothing is written.
pub(crate) fn also(folder: &str) -> Outcome<String> {
    let (group, tally) = measured(Group::folder(Path::new(folder))?);
    let mut lines = vec![page::HEAD.to_owned(), page::row(group.name(), &tally)];
    lines.extend(tally.details());
    lines.extend(tally.faults());
    Ok(lines.join("\n"))
}

fn measured(group: Group) -> (Group, Tally) {
    let mut tally = Tally::default();
    for sample in group.samples() {
        tally.add(&sample, look::look(&sample));
    }
    (group, tally)
}

fn verdict(tallies: &[(Group, Tally)], good: &str) -> Outcome<String> {
    let faults: Vec<String> = tallies
        .iter()
        .flat_map(|(_, tally)| tally.faults())
        .collect();
    if !faults.is_empty() {
        return Err(faults.join("\n"));
    }
    let absent = tallies.iter().any(|(_, tally)| tally.messages == 0);
    let said = if absent {
        "; the public corpora are not beside the checkout: only the project's own samples were looked at"
    } else {
        ""
    };
    Ok(format!("corpora: {good}{said}"))
}
