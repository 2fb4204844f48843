//! A page of a folder, tests over a folder, and messages described by their UIDs.

use std::io;

use jiff::Timestamp;
use mail::{
    Anchor, Condition, Fault, FaultKind, Flag, FolderName, Found, Order, Search, Sifted, Snippets,
    Stage, Summary, Uid, UidSet,
};

use super::files::Files;
use super::rows::Row;
use super::visit::{Visit, read_fault};
use crate::local::loaded::Loaded;
use crate::local::matching::{Opening, Subject, Test, Verdict, judge};

pub(super) fn find(visit: &Visit<'_>, search: &Search) -> Result<Found, Fault> {
    if let Some(below) = search.below {
        visit.check(below.uidvalidity)?;
    }
    let rows = visit.rows(&search.folder)?;
    let below = search.below.map(|anchor| (anchor.order, anchor.uid));
    let begin = below.map_or(0, |anchor| {
        rows.partition_point(|row| row.order() >= anchor)
    });
    let rest = rows.get(begin..).unwrap_or_default();
    let mut files = visit.files();
    let picked = match search.query.is_everything() {
        true => Picked {
            page: rest
                .iter()
                .take(search.limit)
                .map(|row| (row, Verdict::Match))
                .collect(),
            matches: count(rest.len()),
        },
        false => matched(visit, rest, search, &mut files)?,
    };
    let mut found = Found {
        uidvalidity: visit.generation.0,
        matches: picked.matches,
        ..Found::default()
    };
    for (row, verdict) in &picked.page {
        let summary = match verdict {
            Verdict::Unknown => None,
            _ => wanted(visit.summary(&mut files, row, search.snippets))?,
        };
        match summary {
            Some(summary) => found.summaries.push(summary),
            None => found.missing.push(row.uid),
        }
    }
    let more = picked.matches > count(picked.page.len());
    found.next = picked.page.last().filter(|_| more).map(|(last, _)| Anchor {
        uidvalidity: visit.generation,
        order: last.order().0,
        uid: last.uid,
    });
    Ok(found)
}

/// A message that could not be looked at is in no set.
pub(super) fn sift(
    visit: &Visit<'_>,
    folder: &FolderName,
    tests: &[Test],
) -> Result<Sifted, Fault> {
    let rows = visit.rows(folder)?;
    let mut files = visit.files();
    let mut found: Vec<Vec<Uid>> = vec![Vec::new(); tests.len()];
    for row in &rows {
        let verdicts = letter(visit, row, &mut files, tests)?;
        for (uids, verdict) in found.iter_mut().zip(verdicts) {
            if verdict == Verdict::Match {
                uids.push(row.uid);
            }
        }
    }
    Ok(Sifted {
        uidvalidity: visit.generation,
        sets: found
            .into_iter()
            .map(|uids| uids.into_iter().collect())
            .collect(),
        order: Order::Listed(rows.iter().map(Row::order).collect()),
    })
}

/// Those that are gone or cannot be read are left out.
pub(super) fn summaries(
    visit: &Visit<'_>,
    folder: &FolderName,
    uids: &UidSet,
    snippets: Snippets,
) -> Result<Vec<Summary>, Fault> {
    let rows = match uids.len() {
        // A few are asked for one by one: a folder may hold hundreds of thousands.
        0..=512 => {
            let row = |uid| match visit.row(folder, uid) {
                Err(fault) if fault.kind == FaultKind::NoSuchMessage => None,
                other => Some(other),
            };
            uids.iter().filter_map(row).collect::<Result<Vec<_>, _>>()?
        }
        _ => visit.rows(folder)?,
    };
    let mut files = visit.files();
    let mut found = Vec::new();
    for row in rows.iter().filter(|row| uids.contains(row.uid)) {
        found.extend(wanted(visit.summary(&mut files, row, snippets))?);
    }
    Ok(found)
}

struct Picked<'a> {
    page: Vec<(&'a Row, Verdict)>,
    matches: u64,
}

fn matched<'a>(
    visit: &Visit<'_>,
    rows: &'a [Row],
    search: &Search,
    files: &mut Files<'_>,
) -> Result<Picked<'a>, Fault> {
    let tests = [Test::new(&Condition::from(&search.query))?];
    let mut picked = Picked {
        page: Vec::new(),
        matches: 0,
    };
    for row in rows {
        let verdict = letter(visit, row, files, &tests)?.pop();
        let verdict = verdict.unwrap_or(Verdict::Unknown);
        // A message that cannot be read may match: it is named as missing, not passed over.
        if verdict == Verdict::No {
            continue;
        }
        picked.matches += 1;
        if picked.matches > search.most_matches {
            let matches = picked.matches;
            return Err(Fault::new(FaultKind::TooMany { matches }, Stage::Search));
        }
        if picked.page.len() < search.limit {
            picked.page.push((row, verdict));
        }
    }
    Ok(picked)
}

fn letter(
    visit: &Visit<'_>,
    row: &Row,
    files: &mut Files<'_>,
    tests: &[Test],
) -> Result<Vec<Verdict>, Fault> {
    let mut letter = Letter { visit, row, files };
    judge(tests, &mut letter).map_err(read_fault)
}

/// None where one message cannot be read; a fault only where nobody waits.
fn wanted<T>(read: io::Result<T>) -> Result<Option<T>, Fault> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(read_fault(error)),
        Err(_) => Ok(None),
    }
}

struct Letter<'a, 'f> {
    visit: &'a Visit<'a>,
    row: &'a Row,
    files: &'a mut Files<'f>,
}

impl Subject for Letter<'_, '_> {
    fn flags(&self) -> Vec<Flag> {
        self.row.flags()
    }

    fn arrived(&self) -> Option<Timestamp> {
        self.row.arrived()
    }

    fn open(&mut self) -> io::Result<Option<Opening>> {
        let Some(header) = self.files.header(self.row)? else {
            return Ok(Some(Opening {
                size: self.row.size(),
                envelope: self.visit.envelope(self.row),
                header: None,
            }));
        };
        Ok(Some(Opening {
            // Lines end otherwise in the file, and attachments lie beside it.
            size: None,
            envelope: content::envelope(&header),
            header: Some(header),
        }))
    }

    /// What was not downloaded cannot be told, and is neither a match nor none.
    fn read(&mut self) -> io::Result<Option<Loaded>> {
        let loaded = self.files.load(self.row)?;
        let loaded = loaded.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        Ok(Some(loaded))
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
