//! Excel workbooks: visible sheets by name, a line for each visible row. Formulas are not shown, their values are.
//!
//! OpenDocument spreadsheets are read with the other OpenDocument formats: they hold their cells as shown.

use std::io::Cursor;

use calamine::{DataRef, ExcelDateTime, Reader as _, SheetVisible, Xlsx, XlsxError};
use mail::{ExtractFault, HidingReason};

use super::draft::Draft;
use super::package::Package;
use super::sheet_style::Value;
use super::sheet_visibility::{SheetVisibility, WorkbookVisibility};
use super::verdict::Verdict;

const MAX_SHEETS: usize = 200;
/// Cells of all sheets together that are looked at.
const MAX_CELLS: usize = 100_000;
/// Empty columns between two cells that are drawn; a wider gap looks like one.
const MAX_GAP: u32 = 20;

pub(super) fn read(bytes: &[u8], draft: &mut Draft) -> Result<(), ExtractFault> {
    // The library unpacks without a bound.
    Package::open(bytes)?.prove_bounded()?;
    let mut package = Package::open(bytes)?;
    let look = WorkbookVisibility::read(&mut package)?;
    let mut book: Xlsx<_> = Xlsx::new(Cursor::new(bytes)).map_err(|error| fault(&error))?;
    let sheets = book.sheets_metadata().to_vec();
    let mut cells = MAX_CELLS;
    for (index, sheet) in sheets.iter().enumerate() {
        if index >= MAX_SHEETS || cells == 0 {
            draft.cut();
            break;
        }
        match sheet.visible {
            SheetVisible::Visible => {
                let sheet_look = look.sheet(&mut package, &sheet.name)?;
                draft.label(&format!("sheet {}", sheet.name));
                let shown = VisibleSheet {
                    look: &look,
                    sheet: &sheet_look,
                };
                show(&mut book, &sheet.name, &shown, &mut cells, draft)?;
            }
            SheetVisible::Hidden | SheetVisible::VeryHidden => {
                let hidden = count(&mut book, &sheet.name, &mut cells)?;
                draft.hide_chars(hidden, HidingReason::Marked);
            }
        }
    }
    Ok(())
}

type Workbook<'a> = Xlsx<Cursor<&'a [u8]>>;

/// A sheet that is shown.
struct VisibleSheet<'a> {
    look: &'a WorkbookVisibility,
    sheet: &'a SheetVisibility,
}

fn show(
    book: &mut Workbook<'_>,
    sheet: &str,
    shown: &VisibleSheet<'_>,
    cells: &mut usize,
    draft: &mut Draft,
) -> Result<(), ExtractFault> {
    // The row that is open, and the column of its last cell.
    let mut at: Option<(u32, u32)> = None;
    each(
        book,
        sheet,
        cells,
        draft,
        |draft, (row, column), value, text| {
            if text.is_empty() {
                return;
            }
            let pieces = shown.look.pieces(shown.sheet, (row, column), value, text);
            if pieces
                .iter()
                .all(|(_, verdict)| matches!(verdict, Verdict::Hidden(_)))
            {
                pieces
                    .iter()
                    .for_each(|(text, verdict)| draft.show(text, *verdict));
                return;
            }
            let last = match at {
                Some((open, last)) if open == row => Some(last),
                Some(_) => {
                    draft.end_row();
                    draft.begin_row();
                    None
                }
                None => {
                    draft.begin_row();
                    None
                }
            };
            let gap = match last {
                Some(last) => column.saturating_sub(last),
                None => column + 1,
            };
            for _ in 0..if gap > MAX_GAP { 1 } else { gap.max(1) } {
                draft.begin_cell();
            }
            pieces
                .iter()
                .for_each(|(text, verdict)| draft.show(text, *verdict));
            at = Some((row, column));
        },
    )?;
    if at.is_some() {
        draft.end_row();
    }
    Ok(())
}

fn count(book: &mut Workbook<'_>, sheet: &str, cells: &mut usize) -> Result<usize, ExtractFault> {
    let mut chars = 0usize;
    // Nothing of it is written; that not all of it was counted is no news either.
    let mut nowhere = Draft::new(0);
    each(book, sheet, cells, &mut nowhere, |_, _, _, text| {
        chars += text.chars().filter(|char| !char.is_whitespace()).count();
    })?;
    Ok(chars)
}

fn each(
    book: &mut Workbook<'_>,
    sheet: &str,
    cells: &mut usize,
    draft: &mut Draft,
    mut use_cell: impl FnMut(&mut Draft, (u32, u32), Value, &str),
) -> Result<(), ExtractFault> {
    let mut reader = match book.worksheet_cells_reader(sheet) {
        Ok(reader) => reader,
        // Charts and dialogs are sheets without cells.
        Err(XlsxError::WorksheetNotFound(_)) => return Ok(()),
        Err(error) => return Err(fault(&error)),
    };
    while let Some(cell) = reader.next_cell().map_err(|error| fault(&error))? {
        if *cells == 0 || draft.is_full() {
            draft.cut();
            return Ok(());
        }
        *cells -= 1;
        let value = cell.get_value();
        use_cell(draft, cell.get_position(), kind(value), &written(value));
    }
    Ok(())
}

fn kind(value: &DataRef<'_>) -> Value {
    match value {
        DataRef::Int(number) => Value::Number(*number as f64),
        DataRef::Float(number) => Value::Number(*number),
        DataRef::DateTime(moment) => Value::Number(moment.as_f64()),
        DataRef::String(_) | DataRef::SharedString(_) => Value::Text,
        DataRef::DateTimeIso(_) | DataRef::DurationIso(_) => Value::Number(1.0),
        DataRef::Bool(_) | DataRef::Error(_) | DataRef::Empty => Value::Other,
    }
}

fn written(value: &DataRef<'_>) -> String {
    match value {
        DataRef::Int(number) => number.to_string(),
        DataRef::Float(number) => number.to_string(),
        DataRef::String(text) => text.trim().to_owned(),
        DataRef::SharedString(text) => text.trim().to_owned(),
        DataRef::Bool(yes) => if *yes { "TRUE" } else { "FALSE" }.to_owned(),
        DataRef::DateTime(moment) => date(moment),
        DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => text.clone(),
        DataRef::Error(error) => error.to_string(),
        DataRef::Empty => String::new(),
    }
}

/// A day, a time of day or both: a whole number is a day, less than one a time.
fn date(moment: &ExcelDateTime) -> String {
    let value = moment.as_f64();
    if moment.is_duration() {
        let minutes = (value * 24.0 * 60.0).round() as i64;
        return format!("{}:{:02}", minutes / 60, (minutes % 60).abs());
    }
    let (year, month, day, hour, minute, second, _) = moment.to_ymd_hms_milli();
    let day = format!("{year:04}-{month:02}-{day:02}");
    let time = match second {
        0 => format!("{hour:02}:{minute:02}"),
        second => format!("{hour:02}:{minute:02}:{second:02}"),
    };
    if value.fract() == 0.0 {
        day
    } else if (0.0..1.0).contains(&value) {
        time
    } else {
        format!("{day} {time}")
    }
}

fn fault(error: &XlsxError) -> ExtractFault {
    match error {
        XlsxError::Password => ExtractFault::Encrypted,
        _ => ExtractFault::Malformed,
    }
}

#[cfg(test)]
mod tests {
    use mail::Format;

    use super::super::built::{bomb_beside, package};
    use super::super::tests::{Seen, seen};
    use super::super::{MAX_CHARS, extract};
    use super::*;

    const STYLES: &str = "<styleSheet><cellXfs count='2'><xf numFmtId='0'/><xf numFmtId='14'/></cellXfs></styleSheet>";
    const ROOT: &str = "<Relationships><Relationship Id='d' Type='http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument' Target='xl/workbook.xml'/></Relationships>";

    /// A workbook of sheets: name, state, rows as XML.
    fn book(sheets: &[(&str, &str, &str)]) -> Vec<(String, String)> {
        let mut list = String::new();
        let mut relations = String::new();
        let mut parts = Vec::new();
        for (index, (name, state, rows)) in sheets.iter().enumerate() {
            list.push_str(&format!(
                "<sheet name='{name}' sheetId='{0}' state='{state}' r:id='r{0}'/>",
                index + 1
            ));
            relations.push_str(&format!(
                "<Relationship Id='r{0}' Type='http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet' Target='worksheets/sheet{0}.xml'/>",
                index + 1
            ));
            parts.push((
                format!("xl/worksheets/sheet{}.xml", index + 1),
                format!("<worksheet><sheetData>{rows}</sheetData></worksheet>"),
            ));
        }
        parts.push(("[Content_Types].xml".to_owned(), "<Types/>".to_owned()));
        parts.push(("_rels/.rels".to_owned(), ROOT.to_owned()));
        parts.push(("xl/styles.xml".to_owned(), STYLES.to_owned()));
        parts.push((
            "xl/workbook.xml".to_owned(),
            format!(
                "<workbook xmlns:r='http://schemas.openxmlformats.org/officeDocument/2006/relationships'><sheets>{list}</sheets></workbook>"
            ),
        ));
        parts.push((
            "xl/_rels/workbook.xml.rels".to_owned(),
            format!("<Relationships xmlns='http://schemas.openxmlformats.org/package/2006/relationships'>{relations}</Relationships>"),
        ));
        parts
    }

    fn read(sheets: &[(&str, &str, &str)]) -> Seen {
        let parts = book(sheets);
        let parts: Vec<(&str, &[u8])> = parts
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_bytes()))
            .collect();
        seen(Format::Xlsx, &package(&parts))
    }

    fn text(cell: &str, text: &str) -> String {
        format!("<c r='{cell}' t='inlineStr'><is><t>{text}</t></is></c>")
    }

    #[test]
    fn rows_are_lines_and_dates_are_dates() {
        let rows = format!(
            "<row r='1'>{}{}</row><row r='2'>{}<c r='B2' s='1'><v>45943</v></c><c r='C2' s='1'><v>45943.5</v></c><c r='D2'><v>12.5</v></c></row>",
            text("A1", "Item"),
            text("B1", "Day"),
            text("A2", "Bell &amp; co"),
        );
        let found = read(&[("First", "visible", &rows)]);
        assert_eq!(
            found.text,
            "[sheet First]\nItem | Day\nBell & co | 2025-10-13 | 2025-10-13 12:00 | 12.5"
        );
        assert!(!found.cut);
    }

    #[test]
    fn gaps_keep_their_columns_within_reason() {
        let rows = format!(
            "<row r='1'>{}{}</row><row r='5'>{}{}</row>",
            text("B1", "b"),
            text("D1", "d"),
            text("A5", "a"),
            text("XFD5", "far")
        );
        let found = read(&[("S", "visible", &rows)]);
        assert_eq!(found.text, "[sheet S]\n | b |  | d\na | far");
    }

    #[test]
    fn hidden_sheets_are_left_out_and_counted() {
        let row = |words: &str| format!("<row r='1'>{}</row>", text("A1", words));
        let found = read(&[
            ("A", "visible", &row("seen")),
            ("B", "hidden", &row("hidden")),
            ("C", "veryHidden", &row("very")),
        ]);
        assert_eq!(found.text, "[sheet A]\nseen");
        assert_eq!(found.hidden, 10);
    }

    #[test]
    fn hidden_rows_are_left_out_and_counted() {
        let rows = format!(
            "<row r='1'>{}</row><row r='2' hidden='1'>{}</row><row r='3'>{}</row>",
            text("A1", "one"),
            text("A2", "secret"),
            text("A3", "three")
        );
        let found = read(&[("S", "visible", &rows)]);
        assert_eq!(found.text, "[sheet S]\none\nthree");
        assert_eq!(found.hidden, 6);
    }

    #[test]
    fn more_cells_than_are_looked_at_are_cut() {
        let mut rows = String::new();
        for row in 1..=(MAX_CELLS / 10 + 1) {
            rows.push_str(&format!("<row r='{row}'>"));
            for column in "ABCDEFGHIJ".chars() {
                rows.push_str(&format!("<c r='{column}{row}'><v></v></c>"));
            }
            rows.push_str("</row>");
        }
        let found = read(&[("S", "visible", &rows)]);
        assert!(found.cut);
    }

    #[test]
    fn a_bomb_is_not_unpacked() {
        let parts = book(&[("S", "visible", "")]);
        let parts: Vec<(&str, &[u8])> = parts
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_bytes()))
            .collect();
        let file = bomb_beside("xl/sharedStrings.xml", &parts);
        assert_eq!(
            extract(Format::Xlsx, &file, MAX_CHARS),
            Err(ExtractFault::Bomb)
        );
    }
}
