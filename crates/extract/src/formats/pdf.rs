//! PDF: pages in reading order, tables as rows, and what was filled into forms.
//!
//! Text that is drawn invisibly is what scanners put under the picture of a page. Where there is no such picture, and
//! nothing else to see on the page, it is left out and counted; beside visible text it cannot be told apart, and is
//! only counted.

use std::ops::ControlFlow;

use mail::ExtractFault;
use unpdf::{
    Block, ErrorMode, FieldType, FormField, PageSelection, PageStreamOptions, ParseEvent,
    ParseOptions, PdfParser, Table,
};

use super::draft::Draft;
use super::pdf_guard;

/// Pages that are looked at.
const MAX_PAGES: u32 = 500;
const MAX_FIELDS: usize = 1_000;
/// The share of a page that a scan's picture covers.
const SCANNED: f32 = 0.5;

pub(super) fn read(bytes: &[u8], draft: &mut Draft) -> Result<(), ExtractFault> {
    pdf_guard::check(bytes)?;
    let parser = PdfParser::from_bytes_with_options(bytes, ParseOptions::new().sequential())
        .map_err(|error| fault(&error))?;
    let pages = parser.page_count();
    if pages == 0 {
        return Err(ExtractFault::Malformed);
    }
    let mut fields = Vec::new();
    parser
        .for_each_page(options(looked_at(pages, draft)), |event| {
            match event {
                ParseEvent::DocumentStart { form_fields, .. } => fields = form_fields,
                ParseEvent::PageParsed(page) => {
                    if pages > 1 {
                        draft.label(&format!("page {}", page.number));
                    }
                    show(&page, draft);
                }
                ParseEvent::PageFailed { .. } => draft.cut(),
                ParseEvent::Progress { .. } | ParseEvent::DocumentEnd { .. } => {}
            }
            if draft.is_full() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
        .map_err(|error| fault(&error))?;
    show_fields(&fields, draft);
    Ok(())
}

fn looked_at(pages: u32, draft: &mut Draft) -> u32 {
    if pages > MAX_PAGES {
        draft.cut();
    }
    pages.min(MAX_PAGES)
}

/// Spelled out: the library's own defaults would start threads, which the child may not.
fn options(pages: u32) -> PageStreamOptions {
    PageStreamOptions {
        error_mode: ErrorMode::Lenient,
        extract_text: true,
        extract_resources: false,
        min_image_dimension: u32::MAX,
        pages: PageSelection::Range(1..=pages),
        password: None,
        parallel: false,
        suppress_low_confidence_ocr: true,
        window_size: 1,
        emit_progress_every: u32::MAX,
    }
}

fn show(page: &unpdf::Page, draft: &mut Draft) {
    let invisible = page.invisible_text_chars as usize;
    if invisible > 0 && page.image_coverage < SCANNED {
        if page.painted_text_chars == 0 {
            draft.hide_chars(invisible);
            return;
        }
        draft.mark_invisible(invisible);
    }
    for block in &page.elements {
        match block {
            Block::Table(table) => show_table(table, draft),
            block => {
                let mut text = String::new();
                block.append_plain_text(&mut text);
                draft.push(&text);
            }
        }
        draft.end_line();
    }
    draft.end_block();
}

fn show_table(table: &Table, draft: &mut Draft) {
    for row in &table.rows {
        draft.begin_row();
        for cell in &row.cells {
            draft.begin_cell();
            draft.push(&cell.plain_text());
        }
        draft.end_row();
    }
}

fn show_fields(fields: &[FormField], draft: &mut Draft) {
    let mut said = false;
    for field in fields.iter().take(MAX_FIELDS) {
        let value = match field.field_type {
            FieldType::PushButton | FieldType::Signature => continue,
            _ => field.display_value(),
        };
        if value.trim().is_empty() {
            continue;
        }
        if !std::mem::replace(&mut said, true) {
            draft.label("form");
        }
        draft.push(&format!("{}: {value}", field.name));
        draft.end_line();
    }
}

fn fault(error: &unpdf::Error) -> ExtractFault {
    match error {
        unpdf::Error::Encrypted | unpdf::Error::InvalidPassword => ExtractFault::Encrypted,
        _ => ExtractFault::Malformed,
    }
}

#[cfg(test)]
mod tests {
    use mail::Format;

    use super::super::built::{lines, page_objects, pdf_pages, pdf_with_trailer};
    use super::super::tests::seen;
    use super::super::{MAX_CHARS, extract};
    use super::*;

    #[test]
    fn pages_are_numbered_when_there_are_more() {
        let one = lines(&["Hello World"]);
        assert_eq!(seen(Format::Pdf, &pdf_pages(&[&one])).text, "Hello World");
        let two = lines(&["Second page"]);
        assert_eq!(
            seen(Format::Pdf, &pdf_pages(&[&one, &two])).text,
            "[page 1]\nHello World\n\n[page 2]\nSecond page"
        );
    }

    #[test]
    fn invisible_text_is_left_out_or_counted() {
        let hidden = "BT 3 Tr /F1 12 Tf 72 700 Td (secret words) Tj ET";
        let found = seen(Format::Pdf, &pdf_pages(&[hidden]));
        assert_eq!((found.text.as_str(), found.hidden), ("", 11));
        let mixed = lines(&["Hello World"]) + "\n" + hidden;
        let found = seen(Format::Pdf, &pdf_pages(&[&mixed]));
        assert!(found.text.contains("Hello World"));
        assert_eq!((found.hidden, found.invisible), (0, 11));
    }

    #[test]
    fn text_is_cut_at_the_bound() {
        let page = lines(&["Hello World"]);
        let pages: Vec<&str> = std::iter::repeat_n(page.as_str(), 20).collect();
        let found = extract(Format::Pdf, &pdf_pages(&pages), 30).expect("text");
        assert!(found.cut);
        assert!(found.text.len() <= 30);
    }

    #[test]
    fn more_pages_than_are_looked_at_are_cut() {
        for (pages, looked, cut) in [
            (1, 1, false),
            (MAX_PAGES, MAX_PAGES, false),
            (MAX_PAGES + 1, MAX_PAGES, true),
        ] {
            let mut draft = Draft::new(10);
            assert_eq!(looked_at(pages, &mut draft), looked);
            assert_eq!(draft.finish().cut, cut);
        }
    }

    #[test]
    fn a_password_is_told_from_damage() {
        let mut objects = page_objects(&[""]);
        objects.push(
            format!(
                "<< /Filter /Standard /V 1 /R 2 /Length 40 /P -4 /O <{0}> /U <{0}> >>",
                "41".repeat(32)
            )
            .into_bytes(),
        );
        let trailer = format!(
            "/Encrypt {} 0 R /ID [<{1}> <{1}>]",
            objects.len(),
            "42".repeat(16)
        );
        let file = pdf_with_trailer(&objects, &trailer);
        assert_eq!(
            extract(Format::Pdf, &file, MAX_CHARS),
            Err(ExtractFault::Encrypted)
        );
        assert_eq!(
            extract(Format::Pdf, b"%PDF-1.4\n1 0 obj\n<<", MAX_CHARS),
            Err(ExtractFault::Malformed)
        );
    }
}
