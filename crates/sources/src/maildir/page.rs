//! A page of a folder, newest first. Listing opens the files of the page alone; a search opens what it must.

use std::sync::Arc;

use content::Completeness;
use mail::{
    Anchor, Condition, Fault, FaultKind, Found, Search, Snippets, Stage, Structure, Summary,
    SummaryHeader, TextPrefix,
};

use super::catalog::Catalog;
use super::matching::{Test, Verdict, judge};
use super::open::{Beginning, Shelf};
use super::scan::{Entry, Sharing};
use super::work::{Stop, unreadable};
use super::{UIDVALIDITY, count};

pub(super) fn find(catalog: &Catalog, search: &Search, stop: &Stop) -> Result<Found, Fault> {
    let place = catalog.place(&search.folder, stop)?;
    let scan = catalog
        .scan(&place, stop)
        .map_err(unreadable(Stage::OpenFolder))?;
    let below = search.below.map(|anchor| (anchor.order, anchor.uid));
    let begin = below.map_or(0, |anchor| {
        scan.entries
            .partition_point(|entry| entry.order() >= anchor)
    });
    let rest = scan.entries.get(begin..).unwrap_or_default();
    let mut shelf = catalog.shelf(place, stop);
    let picked = if search.query.is_everything() {
        listed(rest, search.limit)
    } else {
        matched(rest, search, &mut shelf)?
    };
    let mut found = Found {
        uidvalidity: UIDVALIDITY.0,
        matches: picked.matches,
        ..Found::default()
    };
    for (entry, verdict) in &picked.page {
        let summary = match verdict {
            Verdict::Unknown => None,
            _ => summary(&mut shelf, entry, search.snippets),
        };
        match summary {
            Some(summary) => found.summaries.push(summary),
            None => found.missing.push(entry.uid),
        }
    }
    let more = picked.matches > count(picked.page.len());
    found.next = picked
        .page
        .last()
        .filter(|_| more)
        .map(|(last, _)| anchor(last));
    Ok(found)
}

struct Picked<'a> {
    page: Vec<(&'a Entry, Verdict)>,
    matches: u64,
}

fn listed(entries: &[Entry], limit: usize) -> Picked<'_> {
    Picked {
        page: entries
            .iter()
            .take(limit)
            .map(|e| (e, described(e)))
            .collect(),
        matches: count(entries.len()),
    }
}

/// A listing asks nothing of a message but that its uid means one file.
fn described(entry: &Entry) -> Verdict {
    match entry.sharing {
        Sharing::Alone => Verdict::Match,
        Sharing::Shared => Verdict::Unknown,
    }
}

fn matched<'a>(
    entries: &'a [Entry],
    search: &Search,
    shelf: &mut Shelf<'_>,
) -> Result<Picked<'a>, Fault> {
    let tests = [Test::new(&Condition::from(&search.query))?];
    let mut picked = Picked {
        page: Vec::new(),
        matches: 0,
    };
    for entry in entries {
        let verdicts = judge(&tests, entry, shelf).map_err(unreadable(Stage::Search))?;
        let verdict = match (verdicts.first(), entry.sharing) {
            (Some(Verdict::No), _) => continue,
            (Some(Verdict::Match), Sharing::Alone) => Verdict::Match,
            // A file that cannot be read may match: it is named as missing, not passed over.
            _ => Verdict::Unknown,
        };
        picked.matches += 1;
        if picked.matches > search.most_matches {
            let matches = picked.matches;
            return Err(Fault::new(FaultKind::TooMany { matches }, Stage::Search));
        }
        if picked.page.len() < search.limit {
            picked.page.push((entry, verdict));
        }
    }
    Ok(picked)
}

/// So much of a message is read for its structure, when its text is shown: which part is the body is not known from a
/// beginning.
const STRUCTURE_BYTES: usize = 1 << 20;

/// `None` when the message is gone or cannot be read.
fn summary(shelf: &mut Shelf<'_>, entry: &Entry, snippets: Snippets) -> Option<Summary> {
    let wanted = match snippets {
        Snippets::Without => 0,
        Snippets::Bytes(bytes) => usize::try_from(bytes).unwrap_or_default(),
    };
    let read = shelf.read(entry, |opened| {
        let read = match snippets {
            Snippets::Without => wanted,
            Snippets::Bytes(_) => wanted.max(STRUCTURE_BYTES),
        };
        let beginning = opened.beginning(read)?;
        let structure = (snippets != Snippets::Without).then(|| structure(&beginning));
        let size = opened.wire_size()?;
        let beginning = beginning.on_the_wire(wanted);
        Ok((beginning, structure.flatten(), opened.entry.clone(), size))
    });
    let (beginning, structure, opened, size) = read.ok()??;
    let truncated = beginning.header_whole == Completeness::Cut;
    let fields = content::list_fields(&beginning.header, truncated);
    Some(Summary {
        store_id: None,
        uid: entry.uid,
        order: entry.order().0,
        flags: Some(opened.flags()),
        arrived: opened.arrived(),
        size: Some(size),
        header: Some(SummaryHeader::Fields(fields)),
        structure: None,
        text: (snippets != Snippets::Without).then_some(TextPrefix {
            header: beginning.header,
            text: beginning.text,
            truncated: beginning.text_truncated,
            structure,
        }),
    })
}

/// None where not all of the message was read.
fn structure(beginning: &Beginning) -> Option<Arc<Structure>> {
    let message = [beginning.header.as_ref(), beginning.text.as_ref()].concat();
    let outline = content::outline(&message);
    (!beginning.text_truncated).then(|| Arc::new(outline.structure))
}

fn anchor(entry: &Entry) -> Anchor {
    let (order, uid) = entry.order();
    Anchor {
        uidvalidity: UIDVALIDITY,
        order,
        uid,
    }
}
