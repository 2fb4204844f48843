//! PDF: pages in reading order, tables as rows, and what was filled into forms.
//!
//! The library that takes the text out tells neither colours nor sizes. What is hidden is found by
//! following the page once more ([`pdf_visibility`]), and looked for in the text. Where the two
//! cannot be matched, the page is uncertain.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use mail::{EmptyReason, ExtractFault, HidingReason};
use unpdf::{
    Block, ErrorMode, FieldType, FormField, PageSelection, PageStreamOptions, ParseEvent,
    ParseOptions, PdfParser, Table,
};

use super::draft::Draft;
use super::pdf_guard;
use super::pdf_visibility::{DrawnPage, PageReader};
use super::verdict::Verdict;

/// Pages that are looked at.
const MAX_PAGES: u32 = 500;
const MAX_FIELDS: usize = 1_000;
/// Bytes before the first line that readers pass over.
const MAX_BEFORE: usize = 1_024;
/// Stretches of hidden and uncertain text that are looked for in the text of a page.
const MAX_SOUGHT: usize = 500;

pub(super) fn read(bytes: &[u8], draft: &mut Draft) -> Result<(), ExtractFault> {
    pdf_guard::check(bytes)?;
    let head = bytes.get(..MAX_BEFORE).unwrap_or(bytes);
    let begin = memchr::memmem::find(head, b"%PDF-").unwrap_or(0);
    let bytes = bytes.get(begin..).unwrap_or(bytes);
    let parser = PdfParser::from_bytes_with_options(bytes, ParseOptions::new().sequential())
        .map_err(|error| fault(&error))?;
    let pages = parser.page_count();
    if pages == 0 {
        return Err(ExtractFault::Malformed);
    }
    let look = PageReader::open(bytes);
    let mut fields = Vec::new();
    parser
        .for_each_page(options(looked_at(pages, draft)), |event| {
            match event {
                ParseEvent::DocumentStart { form_fields, .. } => fields = form_fields,
                ParseEvent::PageParsed(page) => {
                    let drawn = look.as_ref().and_then(|look| look.page(page.number));
                    let label = (pages > 1).then(|| format!("page {}", page.number));
                    show(&page, drawn.unwrap_or_else(unknown), label, draft);
                }
                ParseEvent::PageFailed { .. } => {
                    draft.explain_empty(EmptyReason::Undecodable);
                    draft.cut();
                }
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

/// A page that could not be followed.
fn unknown() -> DrawnPage {
    DrawnPage {
        runs: Vec::new(),
        is_cut: true,
    }
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

/// A piece of a page's text, in the order of reading.
enum Piece {
    Text(String),
    BeginRow,
    BeginCell,
    EndRow,
    EndLine,
}

fn show(page: &unpdf::Page, drawn: DrawnPage, label: Option<String>, draft: &mut Draft) {
    explain(page, draft);
    let mut pieces = Vec::new();
    for block in &page.elements {
        match block {
            Block::Table(table) => table_pieces(table, &mut pieces),
            block => {
                let mut text = String::new();
                block.append_plain_text(&mut text);
                pieces.push(Piece::Text(text));
            }
        }
        pieces.push(Piece::EndLine);
    }
    for run in &drawn.runs {
        if let Verdict::Hidden(reason) = run.verdict {
            draft.hide(&run.text, reason);
        }
    }
    let mut sights = CharacterVerdicts::of(&pieces, &drawn);
    if sights.all_hidden() {
        return;
    }
    if let Some(label) = label {
        draft.label(&label);
    }
    for piece in &pieces {
        match piece {
            Piece::Text(text) => sights.show(text, draft),
            Piece::BeginRow => draft.begin_row(),
            Piece::BeginCell => draft.begin_cell(),
            Piece::EndRow => draft.end_row(),
            Piece::EndLine => draft.end_line(),
        }
    }
    draft.end_block();
}

/// Why a page may have no text, or not all of it.
fn explain(page: &unpdf::Page, draft: &mut Draft) {
    if page.undecodable_content_streams > 0 {
        draft.explain_empty(EmptyReason::Undecodable);
        draft.cut();
    } else if page.suppressed_text_runs > 0 || page.undecoded_text_codes > 0 {
        draft.explain_empty(EmptyReason::UnreadableFonts);
        draft.cut();
    } else if page.ocr_text_suppressed || (page.text_op_count == 0 && page.image_op_count > 0) {
        draft.explain_empty(EmptyReason::Scanned);
    } else if page.text_op_count == 0 && page.fill_op_count > 20 {
        draft.explain_empty(EmptyReason::Outlines);
    }
}

fn table_pieces(table: &Table, pieces: &mut Vec<Piece>) {
    for row in &table.rows {
        pieces.push(Piece::BeginRow);
        for cell in &row.cells {
            pieces.push(Piece::BeginCell);
            pieces.push(Piece::Text(cell.plain_text()));
        }
        pieces.push(Piece::EndRow);
    }
}

/// For each character of a page's text that is no white space, whether it is seen.
struct CharacterVerdicts {
    of_chars: Vec<Verdict>,
    /// Characters that begin a line.
    line_starts: HashSet<usize>,
    next: usize,
}

impl CharacterVerdicts {
    fn of(pieces: &[Piece], drawn: &DrawnPage) -> Self {
        let text: String = pieces
            .iter()
            .filter_map(|piece| match piece {
                Piece::Text(text) => Some(text.as_str()),
                _ => None,
            })
            .flat_map(str::chars)
            .filter(|char| !char.is_whitespace())
            .collect();
        let mut sights = Self {
            of_chars: vec![Verdict::Visible; text.chars().count()],
            line_starts: line_starts(&text, drawn),
            next: 0,
        };
        if drawn.is_cut {
            sights.doubt_all(Verdict::Uncertain(HidingReason::NotUnderstood));
        }
        let stretches = stretches(drawn);
        let hidden_or_not = |stretch: &&Stretch| stretch.verdict != Verdict::Visible;
        let sought: Vec<&Stretch> = stretches.iter().filter(hidden_or_not).collect();
        if sought.is_empty() {
            return sights;
        }
        let shown: String = stretches
            .iter()
            .filter(|stretch| !matches!(stretch.verdict, Verdict::Hidden(_)))
            .map(|stretch| stretch.text.as_str())
            .collect();
        let doubt = match sought.first().map(|stretch| stretch.verdict) {
            Some(Verdict::Hidden(reason) | Verdict::Uncertain(reason)) => {
                Verdict::Uncertain(reason)
            }
            _ => Verdict::Uncertain(HidingReason::NotUnderstood),
        };
        if sought.len() > MAX_SOUGHT {
            sights.doubt_all(doubt);
            return sights;
        }
        let mut counts: HashMap<(&str, bool), usize> = HashMap::new();
        for stretch in &sought {
            let is_hidden = matches!(stretch.verdict, Verdict::Hidden(_));
            *counts.entry((&stretch.text, is_hidden)).or_default() += 1;
        }
        for stretch in &sought {
            let found = sights.places(&text, &stretch.text);
            let is_hidden = matches!(stretch.verdict, Verdict::Hidden(_));
            let drawn = counts.get(&(stretch.text.as_str(), is_hidden));
            let verdict = match drawn {
                Some(count) if found.len() <= *count && !shown.contains(&stretch.text) => {
                    stretch.verdict
                }
                // The same words are there visibly, too.
                _ => stretch.verdict.doubted(),
            };
            // The library may have left it out; if not, it stands where it is not found.
            if found.is_empty() && text.chars().count() > shown.chars().count() {
                sights.doubt_all(doubt);
            }
            for place in found {
                sights.mark(place, verdict);
            }
        }
        sights
    }

    fn all_hidden(&self) -> bool {
        !self.of_chars.is_empty()
            && self
                .of_chars
                .iter()
                .all(|verdict| matches!(verdict, Verdict::Hidden(_)))
    }

    /// In characters, as they follow one another without white space.
    fn places(&self, text: &str, sought: &str) -> Vec<std::ops::Range<usize>> {
        let length = sought.chars().count();
        let mut places = Vec::new();
        let (mut bytes, mut chars) = (0, 0);
        for (at, _) in text.match_indices(sought) {
            chars += text.get(bytes..at).map_or(0, |more| more.chars().count());
            bytes = at;
            places.push(chars..chars + length);
        }
        places
    }

    fn mark(&mut self, place: std::ops::Range<usize>, verdict: Verdict) {
        for one in self.of_chars.get_mut(place).into_iter().flatten() {
            *one = one.and(verdict);
        }
    }

    fn doubt_all(&mut self, verdict: Verdict) {
        self.mark(0..self.of_chars.len(), verdict);
    }

    /// The next piece of the page's text.
    fn show(&mut self, text: &str, draft: &mut Draft) {
        let mut pending = String::new();
        let mut open = Verdict::Visible;
        for char in text.chars() {
            let runs_on = pending.ends_with(|char: char| !char.is_whitespace());
            if runs_on && !char.is_whitespace() && self.line_starts.contains(&self.next) {
                pending.push('\n');
            }
            let verdict = match char.is_whitespace() {
                true => open,
                false => {
                    let verdict = self.of_chars.get(self.next).copied();
                    self.next += 1;
                    verdict.unwrap_or(Verdict::Uncertain(HidingReason::NotUnderstood))
                }
            };
            if verdict != open {
                Self::write(&pending, open, draft);
                pending.clear();
                open = verdict;
            }
            pending.push(char);
        }
        Self::write(&pending, open, draft);
    }

    /// What is hidden was counted as it was drawn.
    fn write(text: &str, verdict: Verdict, draft: &mut Draft) {
        if !matches!(verdict, Verdict::Hidden(_)) {
            draft.show(text, verdict);
        }
    }
}

/// Where lines begin, if the text has the order in which it was drawn.
fn line_starts(text: &str, drawn: &DrawnPage) -> HashSet<usize> {
    let mut starts = HashSet::new();
    let mut all = String::new();
    let mut count = 0;
    for run in &drawn.runs {
        if run.starts_line {
            starts.insert(count);
        }
        for char in run.text.chars().filter(|char| !char.is_whitespace()) {
            all.push(char);
            count += 1;
        }
    }
    match all == text {
        true => starts,
        false => HashSet::new(),
    }
}

/// Runs that follow one another and are seen alike, without white space.
struct Stretch {
    text: String,
    verdict: Verdict,
}

fn stretches(drawn: &DrawnPage) -> Vec<Stretch> {
    let mut stretches: Vec<Stretch> = Vec::new();
    for run in &drawn.runs {
        let chars = run.text.chars().filter(|char| !char.is_whitespace());
        match stretches.last_mut() {
            Some(last) if last.verdict == run.verdict => last.text.extend(chars),
            _ => stretches.push(Stretch {
                text: chars.collect(),
                verdict: run.verdict,
            }),
        }
    }
    stretches.retain(|stretch| !stretch.text.is_empty());
    stretches
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
        // Where and whether the field is drawn is not known.
        draft.push(&format!("{}: ", field.name));
        draft.show(&value, Verdict::Uncertain(HidingReason::NotUnderstood));
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
        assert_eq!((found.text.as_str(), found.hidden), ("Hello World", 11));
        assert_eq!(found.uncertain, [""; 0]);
    }

    #[test]
    fn bytes_before_the_pdf_header_are_skipped() {
        let file = pdf_pages(&[&lines(&["Hello World"])]);
        for before in [
            &b"\n"[..],
            b"Content-Type: application/pdf\n\n",
            &[0x42; 1_000],
        ] {
            let moved = [before, &file].concat();
            assert_eq!(seen(Format::Pdf, &moved).text, "Hello World");
        }
        // Places in the file that are counted from its very first byte.
        let mut padded = pdf_pages(&[&lines(&["Hello World"])]);
        padded.splice(0..0, *b"xxxxxxxxxx");
        assert_eq!(seen(Format::Pdf, &padded).text, "Hello World");
    }

    #[test]
    fn pdf_line_operators_start_a_line() {
        for content in [
            "BT /F1 12 Tf 14 TL 72 720 Td (one) Tj T* (two) Tj ET",
            "BT /F1 12 Tf 14 TL 72 720 Td (one) Tj (two) ' ET",
            "BT /F1 12 Tf 14 TL 72 720 Td (one) Tj 0 0 (two) \" ET",
            "BT /F1 12 Tf 72 720 Td (one) Tj 0 -14 TD (two) Tj ET",
            "BT /F1 12 Tf 72 720 Td (one) Tj 0 -14 Td (two) Tj ET",
            "BT /F1 12 Tf 72 720 Td (one) Tj T* (two) Tj ET",
        ] {
            let text = seen(Format::Pdf, &pdf_pages(&[content])).text;
            let words: Vec<&str> = text.split_whitespace().collect();
            assert_eq!(words, ["one", "two"], "{content}: {text}");
        }
    }

    #[test]
    fn empty_document_has_a_reason() {
        for (content, why) in [
            ("", EmptyReason::NoText),
            ("BI /W 1 /H 1 /BPC 8 /CS /G ID x EI", EmptyReason::Scanned),
            (
                "BT 3 Tr /F1 12 Tf 72 700 Td (secret words) Tj ET",
                EmptyReason::AllHidden,
            ),
        ] {
            let found = seen(Format::Pdf, &pdf_pages(&[content]));
            assert_eq!(found.empty, Some(why), "{content}");
        }
        let outlines = "0 0 m 5 5 l 9 0 l f ".repeat(30);
        let found = seen(Format::Pdf, &pdf_pages(&[&outlines]));
        assert_eq!(found.empty, Some(EmptyReason::Outlines));
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
