//! What Excel says of the look of cells: the library that reads their values does not tell.

use std::collections::{HashMap, HashSet};

use mail::{ExtractFault, HidingReason};

use super::drawing::Theme;
use super::package::Package;
use super::relations::{self, Relation};
use super::sheet_format;
use super::sheet_style::{
    CellStyle, DifferentialFormat, Font, Run, Styles, Value, background_of, read_runs,
};
use super::verdict::Verdict;
use super::xml::{Node, Tag, Xml};

/// A sheet has no more rows.
const MAX_ROWS: usize = 1_048_576;
const MAX_SPANS: usize = 20_000;
const MAX_CELLS: usize = 100_000;
const MAX_STRINGS: usize = 500_000;
const MAX_RULES: usize = 500;
/// Ranges of one rule, or of merged cells.
const MAX_RANGES: usize = 2_000;

/// What is the same for all sheets of a workbook.
#[derive(Default)]
pub(super) struct WorkbookVisibility {
    styles: Styles,
    /// Strings whose runs have looks of their own, by their number.
    strings: HashMap<usize, Vec<Run>>,
    /// Where each sheet is kept, by its name.
    places: HashMap<String, String>,
    /// Of the window: a workbook may say not to show it at all.
    window: Verdict,
}

impl WorkbookVisibility {
    pub(super) fn read(package: &mut Package<'_>) -> Result<Self, ExtractFault> {
        let book = relations::document(package, "xl/workbook.xml")?;
        let related = relations::of(package, &book)?;
        let part = |kind: &str| {
            let found = related.iter().find(|one| one.kind == kind);
            found.map(|one| one.target.clone())
        };
        let theme = match part("theme") {
            Some(part) => Theme::load(package, &part)?,
            None => Theme::default(),
        };
        let styles = part("styles").unwrap_or_else(|| "xl/styles.xml".to_owned());
        let strings = part("sharedStrings").unwrap_or_else(|| "xl/sharedStrings.xml".to_owned());
        let mut found = Self::default();
        if let Some(text) = package.text(&styles)? {
            found.styles = Styles::read(&text, theme)?;
        }
        if let Some(text) = package.text(&strings)? {
            found.read_strings(&text)?;
        }
        found.read_places(&package.required(&book)?, &related)?;
        Ok(found)
    }

    fn read_strings(&mut self, text: &str) -> Result<(), ExtractFault> {
        let mut xml = Xml::new(text);
        let mut number = 0;
        while let Some(node) = xml.next()? {
            let Node::Open(tag) = node else { continue };
            if tag.name() == "si" {
                let runs = read_runs(&mut xml, &self.styles.palette)?;
                if runs.iter().any(|run| run.font.is_some()) && self.strings.len() < MAX_STRINGS {
                    self.strings.insert(number, runs);
                }
                number += 1;
            }
        }
        Ok(())
    }

    fn read_places(&mut self, text: &str, related: &[Relation]) -> Result<(), ExtractFault> {
        let mut xml = Xml::new(text);
        while let Some(node) = xml.next()? {
            let Node::Open(tag) = node else { continue };
            match tag.name() {
                "workbookView"
                    if tag.is("visibility", "hidden") || tag.is("visibility", "veryHidden") =>
                {
                    self.window = Verdict::Uncertain(HidingReason::Marked);
                }
                "sheet" => {
                    if let (Some(name), Some(id)) = (tag.attribute("name"), tag.prefixed("id"))
                        && let Some(place) = related.iter().find(|one| one.id == *id)
                    {
                        self.places.insert(name.into_owned(), place.target.clone());
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn sheet(
        &self,
        package: &mut Package<'_>,
        name: &str,
    ) -> Result<SheetVisibility, ExtractFault> {
        let mut look = SheetVisibility::default();
        let Some(place) = self.places.get(name) else {
            // Its cells are read by a name that leads nowhere for us.
            look.is_unknown = true;
            return Ok(look);
        };
        let Some(text) = package.text(place)? else {
            look.is_unknown = true;
            return Ok(look);
        };
        look.read(&text, self)?;
        let tables: Vec<String> = relations::of(package, place)?
            .into_iter()
            .filter(|one| one.kind == "table")
            .map(|one| one.target)
            .collect();
        for table in tables.iter().take(MAX_RULES) {
            if let Some(text) = package.text(table)? {
                look.read_table(&text, self)?;
            }
        }
        Ok(look)
    }

    /// The text of a cell in pieces, and whether each is seen.
    pub(super) fn pieces(
        &self,
        sheet: &SheetVisibility,
        at: (u32, u32),
        value: Value,
        text: &str,
    ) -> Vec<(String, Verdict)> {
        let place = sheet.place(at).and(self.window);
        let cell = sheet.cells.get(&at);
        let number = cell.and_then(|cell| cell.style);
        let style = self.styles.cell(number.or_else(|| sheet.usual_style(at)));
        let rules: Vec<&ConditionalFormat> =
            sheet.rules.iter().filter(|rule| rule.holds(at)).collect();
        let verdict_of = |font: &Font| {
            let seen = self.verdict(&style, font, value, None);
            let mut verdict = seen;
            for rule in &rules {
                let other = match &rule.effect {
                    ConditionalEffect::Style(format) => {
                        self.verdict(&style, font, value, Some(format))
                    }
                    ConditionalEffect::Unsure => Verdict::Uncertain(HidingReason::Conditional),
                };
                verdict = match (seen, other) {
                    (seen, other) if seen == other => verdict,
                    (Verdict::Visible, _) => Verdict::Uncertain(HidingReason::Conditional),
                    (seen, _) => seen.doubted(),
                };
            }
            // A table's own style may paint what is behind a cell that paints nothing.
            if style.fill.is_none() {
                for (range, paints) in &sheet.tables {
                    if range.holds(at) {
                        verdict = match paints {
                            TablePaint::Usual => verdict.doubted(),
                            TablePaint::Own => verdict
                                .and(Verdict::Uncertain(HidingReason::NotUnderstood))
                                .doubted(),
                        };
                    }
                }
            }
            place.and(verdict)
        };
        let runs = cell.and_then(|cell| match &cell.runs {
            Some(runs) => Some(runs),
            None => self.strings.get(&cell.string?),
        });
        match runs {
            Some(runs) => runs
                .iter()
                .map(|run| {
                    let font = match &run.font {
                        Some(own) => own.over(&style.font),
                        None => style.font.clone(),
                    };
                    (run.text.clone(), verdict_of(&font))
                })
                .collect(),
            None => vec![(text.to_owned(), verdict_of(&style.font))],
        }
    }

    fn verdict(
        &self,
        style: &CellStyle,
        font: &Font,
        value: Value,
        format: Option<&DifferentialFormat>,
    ) -> Verdict {
        let own = format.and_then(|format| format.font.as_ref());
        let font = own.map_or_else(|| font.clone(), |own| own.over(font));
        let fill = format
            .and_then(|format| format.fill.as_ref())
            .or(style.fill.as_ref());
        let code = format
            .and_then(|format| format.code.as_deref())
            .or(style.code.as_deref());
        let shown = match code {
            Some(code) => sheet_format::shown(code, value),
            None => sheet_format::FormatResult::default(),
        };
        let text = match shown.colour {
            Some(colour) => colour,
            None => font.colours(),
        };
        let size = font.points.map_or(Verdict::Visible, Verdict::of_size);
        shown
            .verdict
            .and(size)
            .and(style.place)
            .and(Verdict::of_colours(&text, &background_of(fill)))
    }
}

/// Of a cell that the sheet lists.
#[derive(Default)]
struct Cell {
    style: Option<usize>,
    string: Option<usize>,
    runs: Option<Vec<Run>>,
}

/// What one sheet says of rows, columns and cells. All are counted from 0.
#[derive(Default)]
pub(super) struct SheetVisibility {
    rows: HashMap<u32, RowVisibility>,
    /// Spans in the order of their first column.
    columns: Vec<ColumnVisibility>,
    cells: HashMap<(u32, u32), Cell>,
    rules: Vec<ConditionalFormat>,
    tables: Vec<(CellRange, TablePaint)>,
    merged: Vec<CellRange>,
    /// Rows of which nothing is said.
    other_rows: Verdict,
    listed_rows: HashSet<u32>,
    is_unknown: bool,
    /// There is more than was read.
    is_cut: bool,
}

#[derive(Clone, Copy)]
struct RowVisibility {
    verdict: Verdict,
    style: Option<usize>,
}

struct ColumnVisibility {
    first: u32,
    last: u32,
    verdict: Verdict,
    style: Option<usize>,
}

#[derive(Clone, Copy)]
enum TablePaint {
    /// A style of Excel's own, made to be read.
    Usual,
    /// One that the workbook brings along.
    Own,
}

enum ConditionalEffect {
    Style(DifferentialFormat),
    /// It may put something in the place of the value, or behind it.
    Unsure,
}

struct ConditionalFormat {
    ranges: Vec<CellRange>,
    effect: ConditionalEffect,
}

impl ConditionalFormat {
    fn holds(&self, at: (u32, u32)) -> bool {
        self.ranges.iter().any(|range| range.holds(at))
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct CellRange {
    rows: (u32, u32),
    columns: (u32, u32),
}

impl CellRange {
    /// `B2:C7`, `B2`, `B:C` or `2:7`.
    fn parse(text: &str) -> Option<Self> {
        let text = text.replace('$', "");
        let (from, to) = text.split_once(':').unwrap_or((&text, &text));
        let (from, to) = (corner(from)?, corner(to)?);
        Some(Self {
            rows: (from.0.unwrap_or(0), to.0.unwrap_or(u32::MAX)),
            columns: (from.1.unwrap_or(0), to.1.unwrap_or(u32::MAX)),
        })
    }

    fn holds(&self, (row, column): (u32, u32)) -> bool {
        (self.rows.0..=self.rows.1).contains(&row)
            && (self.columns.0..=self.columns.1).contains(&column)
    }

    fn is_corner(&self, at: (u32, u32)) -> bool {
        (self.rows.0, self.columns.0) == at
    }
}

fn ranges(text: &str) -> Vec<CellRange> {
    let words = text.split_whitespace().take(MAX_RANGES);
    words.filter_map(CellRange::parse).collect()
}

/// Row and column of `AB12`, counted from 0; either may be left out.
fn corner(text: &str) -> Option<(Option<u32>, Option<u32>)> {
    let letters = text.bytes().take_while(u8::is_ascii_alphabetic).count();
    let (column, row) = text.split_at_checked(letters)?;
    if letters > 3 {
        return None;
    }
    let number = column.bytes().fold(0u32, |number, letter| {
        number * 26 + u32::from(letter.to_ascii_uppercase() - b'A') + 1
    });
    let row = match row {
        "" => None,
        digits => Some(digits.parse::<u32>().ok()?.checked_sub(1)?),
    };
    Some((row, number.checked_sub(1)))
}

impl SheetVisibility {
    fn read(&mut self, text: &str, book: &WorkbookVisibility) -> Result<(), ExtractFault> {
        let mut xml = Xml::new(text);
        let mut row = 0u32;
        let mut column = 0u32;
        let mut cell: Option<((u32, u32), bool)> = None;
        let mut conditional: Vec<CellRange> = Vec::new();
        let mut rules_before = 0;
        while let Some(node) = xml.next()? {
            let tag = match node {
                Node::Open(tag) => tag,
                Node::Close(name) => {
                    if name == "c" {
                        cell = None;
                    }
                    continue;
                }
                Node::Text(_) => continue,
            };
            let number = |name: &str| {
                tag.number(name)
                    .and_then(|number| u32::try_from(number).ok())
            };
            match tag.name() {
                "sheetFormatPr" => {
                    if is_on(&tag, "zeroHeight") {
                        self.other_rows = Verdict::Hidden(HidingReason::Marked);
                    } else if let Some(height) = decimal(&tag, "defaultRowHeight") {
                        self.other_rows = of_height(height);
                    }
                }
                "row" => {
                    // A row without a number follows the one before.
                    row = number("r").unwrap_or(row.saturating_add(1));
                    column = 0;
                    self.read_row(&tag, row.saturating_sub(1));
                }
                "col" if self.columns.len() < MAX_SPANS => {
                    let width = decimal(&tag, "width");
                    let verdict = match width {
                        _ if is_on(&tag, "hidden") => Verdict::Hidden(HidingReason::Marked),
                        Some(width) if width <= 0.2 => Verdict::Hidden(HidingReason::ZeroSize),
                        Some(width) if width < 1.0 => Verdict::Uncertain(HidingReason::ZeroSize),
                        _ => Verdict::Visible,
                    };
                    self.columns.push(ColumnVisibility {
                        first: number("min").unwrap_or(1).saturating_sub(1),
                        last: number("max").unwrap_or(1).saturating_sub(1),
                        verdict,
                        style: tag.number("style"),
                    });
                }
                "c" => {
                    let at = tag.attribute("r").and_then(|at| corner(&at));
                    let (at_row, at_column) = match at {
                        Some((Some(row), Some(column))) => (row, column),
                        _ => (row.saturating_sub(1), column),
                    };
                    column = at_column.saturating_add(1);
                    if self.cells.len() < MAX_CELLS {
                        let found = Cell {
                            style: tag.number("s"),
                            ..Cell::default()
                        };
                        self.cells.insert((at_row, at_column), found);
                        cell = Some(((at_row, at_column), tag.is("t", "s")));
                    } else {
                        self.is_cut = true;
                    }
                }
                "v" => {
                    let mut text = String::new();
                    xml.inner(|piece| text.push_str(piece))?;
                    if let Some((at, true)) = cell
                        && let Some(found) = self.cells.get_mut(&at)
                    {
                        found.string = text.trim().parse().ok();
                    }
                }
                "is" => {
                    let runs = read_runs(&mut xml, &book.styles.palette)?;
                    if let Some((at, _)) = cell
                        && runs.iter().any(|run| run.font.is_some())
                        && let Some(found) = self.cells.get_mut(&at)
                    {
                        found.runs = Some(runs);
                    }
                }
                "mergeCell" if self.merged.len() >= MAX_RANGES => self.is_unknown = true,
                "mergeCell" => {
                    let range = tag
                        .attribute("ref")
                        .and_then(|range| CellRange::parse(&range));
                    self.merged.extend(range);
                }
                "conditionalFormatting" => {
                    conditional = tag
                        .attribute("sqref")
                        .map_or_else(Vec::new, |text| ranges(&text));
                    rules_before = self.rules.len();
                }
                // Newer rules name their cells after they were told.
                "sqref" => {
                    let mut text = String::new();
                    xml.inner(|piece| text.push_str(piece))?;
                    let found = ranges(&text);
                    for rule in self.rules.iter_mut().skip(rules_before) {
                        rule.ranges.clone_from(&found);
                    }
                }
                "cfRule" if self.rules.len() < MAX_RULES => {
                    self.read_rule(&tag, &mut xml, &conditional, book)?;
                }
                "cfRule" => self.is_unknown = true,
                _ => {}
            }
        }
        self.columns.sort_by_key(|column| column.first);
        Ok(())
    }

    fn read_row(&mut self, tag: &Tag<'_>, row: u32) {
        let height = decimal(tag, "ht");
        let verdict = match height {
            _ if is_on(tag, "hidden") => Verdict::Hidden(HidingReason::Marked),
            Some(height) => of_height(height),
            None => Verdict::Visible,
        };
        let style = tag.number("s").filter(|_| is_on(tag, "customFormat"));
        if self.listed_rows.len() < MAX_ROWS {
            self.listed_rows.insert(row);
            if verdict != Verdict::Visible || style.is_some() {
                self.rows.insert(row, RowVisibility { verdict, style });
            }
        }
    }

    fn read_rule(
        &mut self,
        tag: &Tag<'_>,
        xml: &mut Xml<'_>,
        at: &[CellRange],
        book: &WorkbookVisibility,
    ) -> Result<(), ExtractFault> {
        let format = tag.number("dxfId");
        let mut effect = format.map(|number| match book.styles.formats.get(number) {
            Some(format) => ConditionalEffect::Style(format.clone()),
            None => ConditionalEffect::Unsure,
        });
        let mut stops = super::colour::Colours::none();
        let mut has_stops = false;
        let mut open = 1usize;
        while open > 0 {
            let tag = match xml.next()?.ok_or(ExtractFault::Malformed)? {
                Node::Open(tag) => tag,
                Node::Close(_) => {
                    open -= 1;
                    continue;
                }
                Node::Text(_) => continue,
            };
            match tag.name() {
                "dxf" => {
                    effect = Some(ConditionalEffect::Style(DifferentialFormat::read(
                        xml,
                        &book.styles.palette,
                    )?));
                    continue;
                }
                "dataBar" | "iconSet" if is_off(&tag, "showValue") => {
                    effect = Some(ConditionalEffect::Unsure)
                }
                "colorScale" => has_stops = true,
                "color" if has_stops => stops.add_all(&book.styles.palette.colour(&tag)),
                _ => {}
            }
            open += 1;
        }
        if has_stops {
            effect = Some(ConditionalEffect::Style(DifferentialFormat {
                fill: Some(stops),
                ..DifferentialFormat::default()
            }));
        }
        if let Some(effect) = effect {
            self.rules.push(ConditionalFormat {
                ranges: at.to_vec(),
                effect,
            });
        }
        Ok(())
    }

    fn read_table(&mut self, text: &str, book: &WorkbookVisibility) -> Result<(), ExtractFault> {
        let mut xml = Xml::new(text);
        let mut range = None;
        let mut paint = TablePaint::Usual;
        while let Some(node) = xml.next()? {
            let Node::Open(tag) = node else { continue };
            match tag.name() {
                "table" => {
                    range = tag
                        .attribute("ref")
                        .and_then(|range| CellRange::parse(&range))
                }
                "tableStyleInfo" => {
                    let name = tag.attribute("name").unwrap_or_default();
                    if book.styles.own_tables.contains(&*name) {
                        paint = TablePaint::Own;
                    }
                }
                _ => {}
            }
        }
        self.tables.extend(range.map(|range| (range, paint)));
        Ok(())
    }

    fn column(&self, column: u32) -> Option<&ColumnVisibility> {
        let after = self.columns.partition_point(|one| one.first <= column);
        let before = self.columns.get(..after).unwrap_or_default();
        // They do not overlap in files that Excel writes; in others the worst of the nearest
        // counts.
        let near = before
            .iter()
            .rev()
            .take(64)
            .filter(|one| column <= one.last);
        near.max_by_key(|one| matches!(one.verdict, Verdict::Hidden(_)))
    }

    fn usual_style(&self, (row, column): (u32, u32)) -> Option<usize> {
        let of_row = self.rows.get(&row).and_then(|row| row.style);
        of_row.or_else(|| self.column(column).and_then(|column| column.style))
    }

    /// What the row, the column and merging say.
    fn place(&self, at: (u32, u32)) -> Verdict {
        let row = match self.rows.get(&at.0) {
            Some(row) => row.verdict,
            None if self.listed_rows.contains(&at.0) => Verdict::Visible,
            None => self.other_rows,
        };
        let column = self
            .column(at.1)
            .map_or(Verdict::Visible, |one| one.verdict);
        let covered = self
            .merged
            .iter()
            .any(|range| range.holds(at) && !range.is_corner(at));
        let mut verdict = row.and(column);
        if covered {
            verdict = verdict.and(Verdict::Hidden(HidingReason::Covered));
        }
        if self.is_unknown || (self.is_cut && !self.cells.contains_key(&at)) {
            verdict = verdict.and(Verdict::Uncertain(HidingReason::NotUnderstood));
        }
        verdict
    }
}

/// Points.
fn of_height(height: f64) -> Verdict {
    if height <= 1.0 {
        Verdict::Hidden(HidingReason::ZeroSize)
    } else if height < 5.0 {
        Verdict::Uncertain(HidingReason::Clipped)
    } else {
        Verdict::Visible
    }
}

fn decimal(tag: &Tag<'_>, name: &str) -> Option<f64> {
    tag.attribute(name)?.trim().parse().ok()
}

pub(super) fn is_on(tag: &Tag<'_>, name: &str) -> bool {
    tag.is(name, "1") || tag.is(name, "true")
}

fn is_off(tag: &Tag<'_>, name: &str) -> bool {
    tag.is(name, "0") || tag.is(name, "false")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cell_references_are_parsed() {
        let sheet = "<worksheet><cols><col min='2' max='3' hidden='1'/><col min='5' max='5'/><col min='4' max='4' hidden='true'/></cols>\
                     <sheetData><row r='1'/><row hidden='1'/><row r='7' hidden='true'/></sheetData></worksheet>";
        let mut look = SheetVisibility::default();
        look.read(sheet, &WorkbookVisibility::default())
            .expect("read");
        for (cell, hidden) in [
            ((0, 0), false),
            ((0, 1), true),
            ((0, 3), true),
            ((0, 4), false),
            ((1, 0), true),
            ((2, 0), false),
            ((6, 0), true),
        ] {
            let found = matches!(look.place(cell), Verdict::Hidden(_));
            assert_eq!(found, hidden, "{cell:?}");
        }
    }

    #[test]
    fn cell_ranges_are_parsed() {
        for (text, at, holds) in [
            ("B2:C7", (1, 1), true),
            ("B2:C7", (7, 1), false),
            ("$A$1", (0, 0), true),
            ("B:B", (1_000, 1), true),
            ("2:3", (1, 500), true),
            ("AA1", (0, 26), true),
        ] {
            let range = CellRange::parse(text).expect("a range");
            assert_eq!(range.holds(at), holds, "{text}");
        }
        assert_eq!(CellRange::parse("AAAA1"), None);
        assert_eq!(CellRange::parse("A0"), None);
    }
}
