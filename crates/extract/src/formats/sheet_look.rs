//! Rows and columns of Excel sheets that nobody sees: the library that reads cells does not tell.

use std::collections::{HashMap, HashSet};

use mail::ExtractFault;

use super::package::Package;
use super::relations;
use super::xml::{Node, Xml};

/// A sheet has no more rows.
const MAX_ROWS: usize = 1_048_576;
const MAX_SPANS: usize = 20_000;

/// Counted from 0, as the cells are.
#[derive(Default)]
pub(super) struct Unseen {
    rows: HashSet<u32>,
    /// Spans in order, none touching another.
    columns: Vec<(u32, u32)>,
}

impl Unseen {
    pub(super) fn holds(&self, (row, column): (u32, u32)) -> bool {
        let after = self.columns.partition_point(|(first, _)| *first <= column);
        let near = after.checked_sub(1).and_then(|at| self.columns.get(at));
        self.rows.contains(&row) || near.is_some_and(|(_, last)| column <= *last)
    }
}

/// Where each sheet is kept, by its name.
pub(super) fn places(package: &mut Package<'_>) -> Result<HashMap<String, String>, ExtractFault> {
    let book = relations::document(package, "xl/workbook.xml")?;
    let relations: HashMap<String, String> = relations::of(package, &book)?
        .into_iter()
        .map(|relation| (relation.id, relation.target))
        .collect();
    let mut places = HashMap::new();
    let text = package.required(&book)?;
    let mut xml = Xml::new(&text);
    while let Some(node) = xml.next()? {
        if let Node::Open(tag) = node
            && tag.name() == "sheet"
            && let (Some(name), Some(id)) = (tag.attribute("name"), tag.prefixed("id"))
            && let Some(place) = relations.get(&*id)
        {
            places.insert(name.into_owned(), place.clone());
        }
    }
    Ok(places)
}

pub(super) fn unseen(package: &mut Package<'_>, place: &str) -> Result<Unseen, ExtractFault> {
    let mut unseen = Unseen::default();
    let Some(text) = package.text(place)? else {
        return Ok(unseen);
    };
    let mut xml = Xml::new(&text);
    let mut row = 0u32;
    while let Some(node) = xml.next()? {
        let Node::Open(tag) = node else { continue };
        let number = |name: &str| {
            tag.number(name)
                .and_then(|number| u32::try_from(number).ok())
        };
        match tag.name() {
            "row" => {
                // A row without a number follows the one before.
                row = number("r").unwrap_or(row.saturating_add(1));
                if is_on(&tag) && unseen.rows.len() < MAX_ROWS {
                    unseen.rows.insert(row.saturating_sub(1));
                }
            }
            "col" if is_on(&tag) && unseen.columns.len() < MAX_SPANS => {
                let first = number("min").unwrap_or(1).saturating_sub(1);
                let last = number("max").unwrap_or(1).saturating_sub(1);
                unseen.columns.push((first, last));
            }
            _ => {}
        }
    }
    unseen.columns = merged(std::mem::take(&mut unseen.columns));
    Ok(unseen)
}

fn merged(mut spans: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
    spans.sort_unstable();
    let mut merged: Vec<(u32, u32)> = Vec::new();
    for (first, last) in spans {
        match merged.last_mut() {
            Some((_, end)) if first <= end.saturating_add(1) => *end = last.max(*end),
            _ => merged.push((first, last)),
        }
    }
    merged
}

fn is_on(tag: &super::xml::Tag<'_>) -> bool {
    tag.is("hidden", "1") || tag.is("hidden", "true")
}

#[cfg(test)]
mod tests {
    use super::super::built::package;
    use super::*;

    #[test]
    fn rows_and_columns_are_found() {
        let sheet = "<worksheet><cols><col min='2' max='3' hidden='1'/><col min='5' max='5'/><col min='3' max='4' hidden='true'/></cols>\
                     <sheetData><row r='1'/><row hidden='1'/><row r='7' hidden='true'/></sheetData></worksheet>";
        let file = package(&[("s.xml", sheet.as_bytes())]);
        let unseen = unseen(&mut Package::open(&file).expect("a package"), "s.xml").expect("read");
        for (cell, hidden) in [
            ((0, 0), false),
            ((0, 1), true),
            ((0, 3), true),
            ((0, 4), false),
            ((1, 0), true),
            ((2, 0), false),
            ((6, 0), true),
        ] {
            assert_eq!(unseen.holds(cell), hidden, "{cell:?}");
        }
    }
}
