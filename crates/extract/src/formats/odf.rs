//! OpenDocument text, presentations and spreadsheets: one format with three bodies.
//!
//! Cells of a spreadsheet hold their value as it is shown, so dates and amounts need no counting back. Hidden text,
//! rows, sheets and slides are left out and counted; tracked deletions are left out.

use std::rc::Rc;

use mail::{ExtractFault, HidingReason};

use super::colour::Colours;
use super::draft::Draft;
use super::drawing::Fill;
use super::odf_style::{Styles, TextFormat};
use super::package::Package;
use super::verdict::Verdict;
use super::xml::{Node, Tag, Xml};

/// Cells of all tables together that are looked at.
const MAX_CELLS: usize = 100_000;
/// A cell or a row that stands for many is written this often at most.
const MAX_REPEATED: usize = 20;
/// Formats under a condition that are looked at.
const MAX_FORMATS: usize = 200;
/// Columns of one table that are told apart.
const MAX_COLUMNS: usize = 16_384;
/// Spaces that one element stands for.
const MAX_SPACES: usize = 100;

pub(super) fn read(bytes: &[u8], draft: &mut Draft) -> Result<(), ExtractFault> {
    let mut package = Package::open(bytes)?;
    if let Some(manifest) = package.text("META-INF/manifest.xml")?
        && manifest.contains("encryption-data")
    {
        return Err(ExtractFault::Encrypted);
    }
    let content = package.required("content.xml")?;
    let formats = conditional_formats(&content)?;
    let mut styles = Styles::default();
    if let Some(text) = package.text("styles.xml")? {
        // Headers and footers are kept with the styles of pages.
        styles = Reader::new(&text, styles, draft, Part::Styles).run()?;
    }
    let mut reader = Reader::new(&content, styles, draft, Part::Content);
    reader.formats = formats;
    reader.run()?;
    Ok(())
}

/// Styles that cells may take under a condition: which cells is told behind the cells.
fn conditional_formats(content: &str) -> Result<Vec<String>, ExtractFault> {
    let mut names = Vec::new();
    let mut xml = Xml::new(content);
    while let Some(node) = xml.next()? {
        if let Node::Open(tag) = node
            && tag.name() == "condition"
            && names.len() < MAX_FORMATS
            && let Some(name) = tag.attribute("apply-style-name")
        {
            names.push(name.into_owned());
        }
    }
    Ok(names)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Styles,
    Content,
}

/// What an open element does to what is in it.
#[derive(Clone)]
struct Scope {
    /// With all that is around.
    look: TextFormat,
    /// What hides all that is in it.
    verdict: Verdict,
    behind: Colours,
    /// OdfStyles that may take the place of this one.
    sometimes: Rc<[TextFormat]>,
}

struct Reader<'a> {
    xml: Xml<'a>,
    styles: Styles,
    draft: &'a mut Draft,
    part: Part,
    label: Option<String>,
    /// One for each open element.
    scopes: Vec<Scope>,
    /// Styles that cells may take under a condition.
    formats: Vec<String>,
    /// Of the tables that are open, what each column says.
    columns: Vec<Vec<Verdict>>,
    /// The next cell's column, of each open row.
    column: Vec<usize>,
    /// Headers and footers that are open: nothing else is text in the part of styles.
    margins: usize,
    /// Paragraphs that are open: what stands outside of them is white space.
    paragraphs: usize,
    comments: usize,
    lists: usize,
    /// A list's item waits for its first text.
    item: bool,
    slides: usize,
    spreadsheet: bool,
    /// For each open row and cell: how many more it stands for.
    repeats: Vec<usize>,
    cells: usize,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, styles: Styles, draft: &'a mut Draft, part: Part) -> Self {
        Self {
            xml: Xml::new(text),
            styles,
            draft,
            part,
            label: None,
            scopes: Vec::new(),
            formats: Vec::new(),
            columns: Vec::new(),
            column: Vec::new(),
            margins: 0,
            paragraphs: 0,
            comments: 0,
            lists: 0,
            item: false,
            slides: 0,
            spreadsheet: false,
            repeats: Vec::new(),
            cells: 0,
        }
    }

    fn run(mut self) -> Result<Styles, ExtractFault> {
        while let Some(node) = self.xml.next()? {
            match node {
                Node::Open(tag) => self.open(&tag)?,
                Node::Close(name) => self.close(&name),
                Node::Text(text) if self.paragraphs > 0 => self.text(&text.replace('\n', " ")),
                Node::Text(_) => {}
            }
        }
        self.draft.end_block();
        Ok(self.styles)
    }

    fn open(&mut self, tag: &Tag<'_>) -> Result<(), ExtractFault> {
        match tag.name() {
            "tracked-changes" | "forms" | "scripts" | "note-citation" | "desc" => {
                return self.xml.skip();
            }
            "date" | "date-string" | "creator-initials" if self.comments > 0 => {
                return self.xml.skip();
            }
            "creator" if self.comments > 0 => {
                let mut name = String::new();
                self.xml.inner(|piece| name.push_str(piece))?;
                self.text(&format!("{name}: "));
                return Ok(());
            }
            "hidden-text" | "hidden-paragraph" => return self.conditional(tag),
            _ => {}
        }
        let scope = self.scope(tag);
        self.scopes.push(scope);
        match tag.name() {
            "style" | "default-style" => self.styles.begin(tag),
            "map" => self.styles.map(tag),
            name if self.styles.is_data() => self.styles.data_part(name),
            name if is_data_style(name) => self.styles.begin_data(tag),
            "layer" => self.styles.layer(tag),
            "master-page" => self.styles.begin_master(tag),
            "table-column" => self.add_columns(tag),
            name if name.ends_with("-properties") => self.styles.property(tag),
            name if self.is_margin(name) => {
                self.margins += 1;
                let header = name.starts_with("header");
                self.label = Some(if header { "header" } else { "footer" }.to_owned());
            }
            "spreadsheet" => self.spreadsheet = true,
            "page" => {
                self.slides += 1;
                self.label = Some(format!("slide {}", self.slides));
            }
            "notes" => self.label = Some(format!("notes of slide {}", self.slides)),
            "note" => self.text(" [note: "),
            "annotation" => {
                self.text(" [comment: ");
                self.comments += 1;
            }
            "p" | "h" => {
                // Those of a note or a comment stand in the line of another.
                if self.paragraphs == 0 && self.comments == 0 {
                    self.draft.end_line();
                }
                self.paragraphs += 1;
            }
            "s" => {
                let count = tag.number("c").unwrap_or(1).min(MAX_SPACES);
                self.text(&" ".repeat(count));
            }
            "tab" => self.text("\t"),
            "line-break" => self.text("\n"),
            "list" => self.lists += 1,
            "list-item" => self.item = true,
            "table" => {
                self.columns.push(Vec::new());
                if self.spreadsheet && self.repeats.is_empty() {
                    let name = tag.attribute("name").unwrap_or_default();
                    self.label = Some(format!("sheet {name}"));
                }
            }
            "table-row" => {
                let hidden = self.scopes.last().map(|scope| scope.verdict);
                if !matches!(hidden, Some(Verdict::Hidden(_))) {
                    self.say_label();
                }
                self.column.push(0);
                self.draft.begin_row();
                self.repeats.push(more(tag, "number-rows-repeated"));
            }
            "table-cell" | "covered-table-cell" => {
                self.cells += 1;
                if self.cells > MAX_CELLS {
                    self.draft.cut();
                }
                self.draft.begin_cell();
                self.repeats.push(more(tag, "number-columns-repeated"));
                if let Some(column) = self.column.last_mut() {
                    let width = tag.number("number-columns-repeated").unwrap_or(1);
                    *column = column.saturating_add(width);
                }
            }
            name if SHAPES.contains(&name) && tag.attribute("class").is_none() => {
                self.styles.master_shape();
            }
            _ => {}
        }
        Ok(())
    }

    fn add_columns(&mut self, tag: &Tag<'_>) {
        let hidden = tag.is("visibility", "collapse") || tag.is("visibility", "filter");
        let name = tag.attribute("style-name").unwrap_or_default();
        let verdict = match hidden {
            true => Verdict::Hidden(HidingReason::Marked),
            false => self
                .styles
                .look("table-column", &name)
                .room
                .unwrap_or_default(),
        };
        let count = tag.number("number-columns-repeated").unwrap_or(1);
        if let Some(columns) = self.columns.last_mut() {
            let room = MAX_COLUMNS.saturating_sub(columns.len());
            columns.extend(std::iter::repeat_n(verdict, count.min(room)));
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "style" | "default-style" => self.styles.end(),
            name if is_data_style(name) => self.styles.end_data(),
            "master-page" => self.styles.end_master(),
            "table" => {
                self.columns.pop();
            }
            name if self.is_margin(name) => {
                self.margins = self.margins.saturating_sub(1);
                self.label = None;
                self.draft.end_block();
            }
            "page" => self.draft.end_block(),
            "note" => self.text("]"),
            "annotation" => {
                self.comments = self.comments.saturating_sub(1);
                self.text("] ");
            }
            "p" | "h" => {
                self.paragraphs = self.paragraphs.saturating_sub(1);
                if self.paragraphs == 0 && self.comments == 0 {
                    self.draft.end_line();
                }
            }
            "list" => self.lists = self.lists.saturating_sub(1),
            "list-item" => self.item = false,
            "table-cell" | "covered-table-cell" => {
                let more = self.repeats.pop().unwrap_or(0);
                if self.cells <= MAX_CELLS {
                    self.draft.repeat_cell(more);
                }
            }
            "table-row" => {
                self.column.pop();
                let more = self.repeats.pop().unwrap_or(0);
                self.draft.repeat_row(more);
            }
            _ => {}
        }
        self.scopes.pop();
    }

    fn is_margin(&self, name: &str) -> bool {
        self.part == Part::Styles
            && matches!(
                name,
                "header"
                    | "header-left"
                    | "header-first"
                    | "footer"
                    | "footer-left"
                    | "footer-first"
            )
    }

    fn around(&self) -> Scope {
        self.scopes.last().cloned().unwrap_or_else(|| Scope {
            look: TextFormat::default(),
            verdict: Verdict::Visible,
            behind: self.styles.page(),
            sometimes: Rc::default(),
        })
    }

    fn scope(&self, tag: &Tag<'_>) -> Scope {
        let around = self.around();
        let name = tag.attribute("style-name").unwrap_or_default();
        let styled = |family: &str| self.styles.look(family, &name);
        let filled = |look: &TextFormat| {
            let fill = look.fill.clone().unwrap_or(Fill::Unset);
            fill.on(&around.behind)
        };
        let marked = |is_so: bool| match is_so {
            true => Verdict::Hidden(HidingReason::Marked),
            false => Verdict::Visible,
        };
        let (look, verdict) = match tag.name() {
            // Text may show again inside of hidden text: the innermost decides.
            "p" | "h" => {
                let own = match &*name {
                    "" => self.styles.look("paragraph", "Standard"),
                    _ => styled("paragraph"),
                };
                let behind = filled(&own);
                let mut look = own.over(&around.look);
                look.fill = None;
                return Scope {
                    look,
                    behind,
                    ..around
                };
            }
            "span" | "a" => {
                let own = styled("text");
                return Scope {
                    look: own.over(&around.look),
                    ..around
                };
            }
            "page" => {
                let look = styled("drawing-page");
                let master = tag.attribute("master-page-name").unwrap_or_default();
                return Scope {
                    verdict: around.verdict.and(look.hidden()),
                    behind: self.styles.slide(&look, &master),
                    look: around.look,
                    sometimes: Rc::default(),
                };
            }
            "notes" => {
                return Scope {
                    behind: self.styles.page(),
                    ..around
                };
            }
            "table" => (styled("table"), marked(tag.is("display", "false"))),
            "table-cell" | "covered-table-cell" => return self.cell(tag, around),
            "table-row" => {
                let look = styled("table-row");
                let hidden = tag.is("visibility", "collapse") || tag.is("visibility", "filter");
                let room = look.room.unwrap_or_default();
                (look, marked(hidden).and(room))
            }
            "section" => {
                let verdict = match tag.is("display", "condition") {
                    true => Verdict::Uncertain(HidingReason::Conditional),
                    false => marked(tag.is("display", "none")),
                };
                (styled("section"), verdict)
            }
            name if SHAPES.contains(&name) => {
                let look = styled("graphic")
                    .over(&styled("presentation"))
                    .over(&self.styles.usual("graphic"));
                let layer = tag.attribute("layer").unwrap_or_default();
                let hidden = self.styles.is_hidden_layer(&layer) || tag.is("display", "none");
                let place = self.styles.place(tag, self.slides > 0);
                (look, marked(hidden).and(place))
            }
            _ => return around,
        };
        Scope {
            verdict: around.verdict.and(verdict).and(look.hidden()),
            behind: filled(&look),
            look: look.of_text().over(&around.look),
            sometimes: around.sometimes,
        }
    }

    fn cell(&self, tag: &Tag<'_>, around: Scope) -> Scope {
        let name = tag.attribute("style-name").unwrap_or_default();
        let look = match &*name {
            "" => self.styles.look("table-cell", "Default"),
            name => self.styles.look("table-cell", name),
        };
        let column = self.column.last().copied().unwrap_or(0);
        let mut verdict = self
            .columns
            .last()
            .and_then(|columns| columns.get(column))
            .copied()
            .unwrap_or_default();
        if tag.name() == "covered-table-cell" {
            verdict = verdict.and(Verdict::Hidden(HidingReason::Covered));
        }
        if let Some(format) = &look.data_style {
            verdict = verdict.and(self.styles.data_sight(format));
        }
        let fill = look.fill.clone().unwrap_or(Fill::Unset);
        let mut sometimes = self.styles.sometimes("table-cell", &name);
        let formats = self.formats.iter();
        sometimes.extend(formats.map(|name| self.styles.look("table-cell", name)));
        Scope {
            verdict: around.verdict.and(verdict),
            behind: fill.on(&around.behind),
            look: look.of_text().over(&around.look),
            sometimes: sometimes.into(),
        }
    }

    fn verdict(&self) -> Verdict {
        let scope = self.around();
        let usual = self.styles.usual("paragraph");
        let seen = scope.look.clone().over(&usual).verdict_on(&scope.behind);
        let changes = scope.sometimes.iter().any(|look| {
            let fill = look.fill.clone().unwrap_or(Fill::Unset);
            let other = look.of_text().over(&scope.look).over(&usual);
            other.verdict_on(&fill.on(&scope.behind)) != seen
        });
        scope.verdict.and(match (changes, seen) {
            (true, Verdict::Visible) => Verdict::Uncertain(HidingReason::Conditional),
            (true, seen) => seen.doubted(),
            (false, seen) => seen,
        })
    }

    /// What shows under a condition only has its text inside or as an attribute.
    fn conditional(&mut self, tag: &Tag<'_>) -> Result<(), ExtractFault> {
        let mut text = tag
            .attribute("string-value")
            .unwrap_or_default()
            .into_owned();
        let shown = tag.is("is-hidden", "false");
        self.xml.inner(|piece| text.push_str(piece))?;
        if shown {
            self.text(&text);
        } else {
            self.draft.hide(&text, HidingReason::Marked);
        }
        Ok(())
    }

    fn text(&mut self, text: &str) {
        if self.part == Part::Styles && self.margins == 0 {
            return;
        }
        let verdict = self.verdict();
        if let Verdict::Hidden(_) = verdict {
            self.draft.show(text, verdict);
            return;
        }
        let between = text.trim().is_empty() && self.label.is_some();
        if between || self.cells > MAX_CELLS {
            return;
        }
        self.say_label();
        if std::mem::take(&mut self.item) {
            self.draft.push(&"  ".repeat(self.lists.clamp(1, 9) - 1));
            self.draft.push("- ");
        }
        self.draft.show(text, verdict);
    }

    fn say_label(&mut self) {
        if let Some(label) = self.label.take() {
            self.draft.label(&label);
        }
    }
}

const SHAPES: [&str; 9] = [
    "frame",
    "custom-shape",
    "rect",
    "text-box",
    "ellipse",
    "circle",
    "polygon",
    "path",
    "caption",
];

fn is_data_style(name: &str) -> bool {
    matches!(
        name,
        "number-style"
            | "text-style"
            | "currency-style"
            | "percentage-style"
            | "date-style"
            | "time-style"
            | "boolean-style"
    )
}

/// How many more an element stands for, within reason: sheets end in a row that stands for a million empty ones.
fn more(tag: &Tag<'_>, name: &str) -> usize {
    let times = tag.number(name).unwrap_or(1);
    times.min(MAX_REPEATED).saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use mail::Format;

    use super::super::built::package;
    use super::super::tests::{Seen, seen};
    use super::super::{MAX_CHARS, extract};
    use super::*;

    const STYLES: &str = "<office:automatic-styles>\
        <style:style style:name='H' style:family='text'><style:text-properties text:display='none'/></style:style>\
        <style:style style:name='HC' style:family='text' style:parent-style-name='H'/>\
        <style:style style:name='HP' style:family='paragraph'><style:text-properties text:display='none'/></style:style>\
        <style:style style:name='W' style:family='text'><style:text-properties fo:color='#ffffff'/></style:style>\
        <style:style style:name='WB' style:family='text'><style:text-properties fo:color='#ffffff' fo:background-color='#000000'/></style:style>\
        <style:style style:name='HT' style:family='table'><style:table-properties table:display='false'/></style:style>\
        <style:style style:name='HS' style:family='drawing-page'><style:drawing-page-properties presentation:visibility='hidden'/></style:style>\
        </office:automatic-styles>";

    fn document(body: &str) -> Seen {
        let content = format!(
            "<office:document-content>{STYLES}<office:body>{body}</office:body></office:document-content>"
        );
        seen(
            Format::Odt,
            &package(&[("content.xml", content.as_bytes())]),
        )
    }

    #[test]
    fn text_lists_tables_notes_and_comments() {
        for (body, expected) in [
            (
                "<text:h>Title</text:h>\n<text:p>one<text:s text:c='2'/>two<text:tab/>x<text:line-break/>y</text:p>",
                "Title\none  two\tx\ny",
            ),
            (
                "<text:list><text:list-item><text:p>a</text:p><text:list><text:list-item><text:p>b</text:p></text:list-item></text:list></text:list-item></text:list>",
                "- a\n  - b",
            ),
            (
                "<table:table><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell><text:p>b</text:p><text:p>c</text:p></table:table-cell></table:table-row></table:table><text:p>after</text:p>",
                "a | b c\nafter",
            ),
            (
                "<text:p>body<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>small</text:p></text:note-body></text:note> on</text:p>",
                "body [note: small] on",
            ),
            (
                "<text:p>x<office:annotation><dc:creator>Ann</dc:creator><dc:date>2026</dc:date><text:p>really?</text:p></office:annotation>y</text:p>",
                "x [comment: Ann: really?] y",
            ),
            (
                "<text:tracked-changes><text:deletion><text:p>gone</text:p></text:deletion></text:tracked-changes><text:p>kept</text:p>",
                "kept",
            ),
        ] {
            assert_eq!(document(body).text, expected, "{body}");
        }
    }

    #[test]
    fn hidden_text_is_left_out_and_counted() {
        for (body, text, hidden) in [
            (
                "<text:p>a<text:span text:style-name='H'>bc</text:span></text:p>",
                "a",
                2,
            ),
            (
                "<text:p>a<text:span text:style-name='HC'>bc</text:span></text:p>",
                "a",
                2,
            ),
            ("<text:p text:style-name='HP'>abc</text:p>", "", 3),
            (
                "<text:p>a<text:span text:style-name='W'>bc</text:span></text:p>",
                "a",
                2,
            ),
            (
                "<text:p>a<text:span text:style-name='WB'>bc</text:span></text:p>",
                "abc",
                0,
            ),
            (
                "<text:section text:display='none'><text:p>abc</text:p></text:section>",
                "",
                3,
            ),
            (
                "<text:p>a<text:hidden-text text:string-value='bc' text:is-hidden='true'/></text:p>",
                "a",
                2,
            ),
            (
                "<text:p>a<text:hidden-text text:string-value='bc' text:is-hidden='false'>bc</text:hidden-text></text:p>",
                "abcbc",
                0,
            ),
        ] {
            let found = document(body);
            assert_eq!(
                (found.text.as_str(), found.hidden),
                (text, hidden),
                "{body}"
            );
        }
    }

    #[test]
    fn slides_are_numbered_and_hidden_ones_left_out() {
        let slide = |style: &str, text: &str, notes: &str| {
            format!(
                "<draw:page draw:style-name='{style}'><draw:frame><draw:text-box><text:p>{text}</text:p></draw:text-box></draw:frame>\
                 <presentation:notes><draw:frame><draw:text-box><text:p>{notes}</text:p></draw:text-box></draw:frame></presentation:notes></draw:page>"
            )
        };
        let body = slide("", "one", "say one") + &slide("HS", "two", "") + &slide("", "three", "");
        let found = document(&body);
        assert_eq!(
            found.text,
            "[slide 1]\none\n\n[notes of slide 1]\nsay one\n\n[slide 3]\nthree"
        );
        assert_eq!(found.hidden, 3);
    }

    #[test]
    fn sheets_are_named_and_repetition_is_bounded() {
        let cell = |attributes: &str, text: &str| {
            format!("<table:table-cell {attributes}><text:p>{text}</text:p></table:table-cell>")
        };
        let body = format!(
            "<office:spreadsheet><table:table table:name='First'>\
             <table:table-row>{}{}{}</table:table-row>\
             <table:table-row table:number-rows-repeated='2'>{}<table:table-cell table:number-columns-repeated='16000'/></table:table-row>\
             <table:table-row table:visibility='collapse'>{}</table:table-row>\
             <table:table-row table:number-rows-repeated='1048000'><table:table-cell table:number-columns-repeated='16000'/></table:table-row>\
             </table:table><table:table table:name='Second' table:style-name='HT'><table:table-row>{}</table:table-row></table:table>\
             </office:spreadsheet>",
            cell("", "2025-10-13"),
            cell("table:number-columns-repeated='2'", "x"),
            cell("", "end"),
            cell("", "same"),
            cell("", "hid"),
            cell("", "den"),
        );
        let found = document(&body);
        assert_eq!(
            found.text,
            "[sheet First]\n2025-10-13 | x | x | end\nsame\nsame"
        );
        assert_eq!(found.hidden, 6);
    }

    #[test]
    fn headers_come_from_the_styles() {
        let styles = "<office:document-styles><office:master-styles><style:master-page><style:header><text:p>top</text:p></style:header>\
                      <style:footer><text:p>bottom</text:p></style:footer><draw:frame><draw:text-box><text:p>click here</text:p></draw:text-box></draw:frame>\
                      </style:master-page></office:master-styles></office:document-styles>";
        let content = "<office:document-content><office:body><text:p>body</text:p></office:body></office:document-content>";
        let file = package(&[
            ("styles.xml", styles.as_bytes()),
            ("content.xml", content.as_bytes()),
        ]);
        assert_eq!(
            seen(Format::Odt, &file).text,
            "[header]\ntop\n\n[footer]\nbottom\n\nbody"
        );
    }

    #[test]
    fn a_password_is_said() {
        let file = package(&[
            (
                "META-INF/manifest.xml",
                b"<m><manifest:encryption-data/></m>".as_slice(),
            ),
            ("content.xml", b"\x01\x02\x03"),
        ]);
        assert_eq!(
            extract(Format::Odt, &file, MAX_CHARS),
            Err(ExtractFault::Encrypted)
        );
    }
}
