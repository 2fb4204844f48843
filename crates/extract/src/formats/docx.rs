//! Word documents: headers, body, notes, comments and footers, without what is hidden or deleted.
//!
//! Deleted text that Word still tracks is left out. Text that a reader would not see is left out
//! and counted, and what may not be seen is marked.

use std::rc::Rc;

use mail::{ExtractFault, HidingReason};

use super::colour::{Colours, Rgb, WHITE};
use super::draft::Draft;
use super::drawing::{self, Area, EMU_PER_POINT, Fill, Paint, Theme, signed};
use super::package::Package;
use super::relations;
use super::verdict::Verdict;
use super::word_style::{
    PropertyLevel, ResolvedStyle, RunFormat, Styles, TextColour, is_on, of_height, vanishing,
};
use super::xml::{Node, Tag, Xml};

/// Headers, footers and the like; a document has a few of each.
const MAX_PARTS: usize = 60;
/// Fields in fields.
const MAX_FIELDS: usize = 100;
/// Points: no page is as large.
const FAR: f64 = 1_584.0;

/// What is the same for all parts of a document.
struct DocumentContext {
    theme: Theme,
    styles: Styles,
    pages: Verdict,
}

pub(super) fn read(bytes: &[u8], draft: &mut Draft) -> Result<(), ExtractFault> {
    let mut package = Package::open(bytes)?;
    let document = relations::document(&mut package, "word/document.xml")?;
    let folder = match document.rsplit_once('/') {
        Some((folder, _)) => format!("{folder}/"),
        None => String::new(),
    };
    let related = relations::of(&mut package, &document)?;
    let part = |kind: &str, usual: &str| {
        let found = related
            .iter()
            .find(|one| one.kind == kind && !one.target.is_empty());
        found.map_or_else(|| format!("{folder}{usual}"), |one| one.target.clone())
    };
    let mut theme = Theme::load(&mut package, &part("theme", "theme/theme1.xml"))?;
    if let Some(text) = package.text(&part("settings", "settings.xml"))? {
        read_settings(&text, &mut theme)?;
    }
    let styles = match package.text(&part("styles", "styles.xml"))? {
        Some(text) => Styles::read(&text, &theme)?,
        None => Styles::default(),
    };
    let body = package.required(&document)?;
    let setting = DocumentContext {
        theme,
        styles,
        pages: verdict_of_pages(&body)?,
    };
    let parts = |package: &Package<'_>, kind: &str| {
        let mut names = package.names(&format!("{folder}{kind}"), ".xml");
        names.truncate(MAX_PARTS);
        names
    };
    for name in parts(&package, "header") {
        read_part(&mut package, &name, &setting, Some("header"), draft)?;
    }
    Reader::new(&body, &setting, draft, None).run()?;
    for kind in ["footnotes", "endnotes", "comments"] {
        read_part(
            &mut package,
            &format!("{folder}{kind}.xml"),
            &setting,
            None,
            draft,
        )?;
    }
    for name in parts(&package, "footer") {
        read_part(&mut package, &name, &setting, Some("footer"), draft)?;
    }
    Ok(())
}

/// Pages without room for text, of any section: which text stands in it is told only behind the
/// text.
fn verdict_of_pages(body: &str) -> Result<Verdict, ExtractFault> {
    /// Twentieths of a point.
    const ROOM: f64 = 400.0;
    let mut xml = Xml::new(body);
    let (mut width, mut height) = (12_240.0, 15_840.0);
    while let Some(node) = xml.next()? {
        let Node::Open(tag) = node else { continue };
        let side = |name: &str| signed(&tag, name);
        match tag.name() {
            "pgSz" => (width, height) = (side("w").unwrap_or(width), side("h").unwrap_or(height)),
            "pgMar" => {
                let margin = |name: &str| side(name).unwrap_or(0.0);
                let across = width - margin("left") - margin("right");
                let along = height - margin("top") - margin("bottom");
                let starts = margin("left") < -ROOM || margin("right") < -ROOM;
                if across < ROOM || along < ROOM || starts {
                    return Ok(Verdict::Uncertain(HidingReason::OffPage));
                }
            }
            _ => {}
        }
    }
    Ok(Verdict::Visible)
}

fn read_settings(text: &str, theme: &mut Theme) -> Result<(), ExtractFault> {
    let mut xml = Xml::new(text);
    while let Some(node) = xml.next()? {
        if let Node::Open(tag) = node
            && tag.name() == "clrSchemeMapping"
        {
            theme.map(&tag);
        }
    }
    Ok(())
}

fn read_part(
    package: &mut Package<'_>,
    name: &str,
    setting: &DocumentContext,
    label: Option<&'static str>,
    draft: &mut Draft,
) -> Result<(), ExtractFault> {
    match package.text(name)? {
        Some(text) => Reader::new(&text, setting, draft, label).run(),
        None => Ok(()),
    }
}

struct Reader<'a> {
    xml: Xml<'a>,
    setting: &'a DocumentContext,
    draft: &'a mut Draft,
    /// Said once, before the first text.
    label: Option<String>,
    /// Paragraphs that are open: a text box puts some into a run of another.
    paragraphs: Vec<Paragraph>,
    runs: Vec<Run>,
    /// Tables, rows, cells and text boxes that are open, outermost first.
    boxes: Vec<Surrounding>,
    /// Pictures and shapes that are open.
    drawings: Vec<Shape>,
    /// Fields that are open: whether each is at its code, which is not shown.
    fields: Vec<FieldPart>,
    page: Colours,
    /// What the open properties belong to.
    properties: Vec<Properties>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FieldPart {
    Code,
    Result,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Properties {
    Paragraph,
    /// Of the paragraph's mark, which is no text.
    Mark,
    Run,
    Cell,
    Row,
    Table,
}

#[derive(Default)]
struct Run {
    look: RunFormat,
    style: Option<String>,
}

#[derive(Default)]
struct Paragraph {
    look: RunFormat,
    style: Option<String>,
    /// The level of a list's item, until its first text.
    item: Option<usize>,
}

/// What lies around paragraphs.
#[derive(Default)]
struct Surrounding {
    /// What it hides, for whatever reason of its own.
    verdict: Verdict,
    fill: Fill,
    /// A table's style.
    style: Option<Rc<ResolvedStyle>>,
    /// The colour of text where nothing else is said.
    ink: Option<Paint>,
    /// Fields and paragraphs do not go on inside a text box.
    fields: usize,
}

#[derive(Default)]
struct Shape {
    verdict: Verdict,
    fill: Fill,
    ink: Option<Paint>,
}

impl<'a> Reader<'a> {
    fn new(
        text: &'a str,
        setting: &'a DocumentContext,
        draft: &'a mut Draft,
        label: Option<&'static str>,
    ) -> Self {
        Self {
            xml: Xml::new(text),
            setting,
            draft,
            label: label.map(str::to_owned),
            paragraphs: Vec::new(),
            runs: Vec::new(),
            boxes: Vec::new(),
            drawings: Vec::new(),
            fields: Vec::new(),
            page: Colours::one(WHITE),
            properties: Vec::new(),
        }
    }

    fn run(mut self) -> Result<(), ExtractFault> {
        while let Some(node) = self.xml.next()? {
            match node {
                Node::Open(tag) => self.open(&tag)?,
                Node::Close(name) => self.close(&name),
                Node::Text(_) => {}
            }
        }
        self.draft.end_block();
        Ok(())
    }

    fn open(&mut self, tag: &Tag<'_>) -> Result<(), ExtractFault> {
        if let Some(properties) = self.properties.last().copied() {
            return self.property(properties, tag);
        }
        match tag.name() {
            "p" => {
                self.draft.end_line();
                self.paragraphs.push(Paragraph::default());
            }
            "pPr" => self.properties.push(Properties::Paragraph),
            "r" => self.runs.push(Run::default()),
            "rPr" => self.properties.push(Properties::Run),
            "sdtPr" | "sdtEndPr" | "sectPr" | "tblGrid" => self.xml.skip()?,
            "t" => {
                let mut text = String::new();
                self.xml.inner(|piece| text.push_str(piece))?;
                self.text(&text);
            }
            "tab" | "ptab" => self.text("\t"),
            "br" | "cr" => self.text("\n"),
            "noBreakHyphen" => self.text("-"),
            "fldChar" => self.field(tag),
            "footnoteReference" | "endnoteReference" => {
                let id = tag.attribute("id").unwrap_or_default();
                self.text(&format!("[note {id}]"));
            }
            "footnote" | "endnote" => self.note(tag)?,
            "comment" => {
                let author = tag.attribute("author").unwrap_or_default();
                self.label = Some(match &*author {
                    "" => "comment".to_owned(),
                    author => format!("comment by {author}"),
                });
            }
            "tbl" => self.boxes.push(Surrounding {
                style: Some(self.setting.styles.resolve("table", None)),
                ..Surrounding::default()
            }),
            "tblPr" => self.properties.push(Properties::Table),
            "tr" => {
                // A label is a line of its own, and there are none in a row.
                self.say_label();
                self.draft.begin_row();
                self.boxes.push(Surrounding::default());
            }
            "trPr" | "tblPrEx" => self.properties.push(Properties::Row),
            "tc" => {
                self.draft.begin_cell();
                self.boxes.push(Surrounding::default());
            }
            "tcPr" => self.properties.push(Properties::Cell),
            "txbxContent" => {
                self.draft.end_line();
                let shape = self.drawings.last_mut().map(std::mem::take);
                let shape = shape.unwrap_or_default();
                self.boxes.push(Surrounding {
                    verdict: shape.verdict,
                    fill: shape.fill,
                    style: None,
                    ink: shape.ink,
                    fields: self.fields.len(),
                });
            }
            "background" => {
                // Shown on the screen where the settings say so, and never printed.
                match tag.attribute("color").and_then(|color| Rgb::parse(&color)) {
                    Some(colour) => self.page.add(colour),
                    None => self.page = Colours::any(),
                }
            }
            "drawing" | "pict" | "object" => self.drawings.push(Shape::default()),
            // Deleted or moved away, and the same once more for old programs.
            "del" | "moveFrom" | "Fallback" | "instrText" | "delText" => self.xml.skip()?,
            _ if !self.drawings.is_empty() => self.drawing(tag)?,
            _ => {}
        }
        Ok(())
    }

    /// What says where a shape lies, how large it is and what fills it.
    fn drawing(&mut self, tag: &Tag<'_>) -> Result<(), ExtractFault> {
        let Some(shape) = self.drawings.last_mut() else {
            return Ok(());
        };
        let theme = &self.setting.theme;
        let far = |points: f64| match points.abs() > FAR {
            true => Verdict::Hidden(HidingReason::OffPage),
            false if points < -36.0 => Verdict::Uncertain(HidingReason::OffPage),
            false if points > FAR / 2.0 => Verdict::Uncertain(HidingReason::OffPage),
            false => Verdict::Visible,
        };
        match tag.name() {
            "anchor" | "docPr" | "cNvPr" if is_set(tag, "hidden") => {
                shape.verdict = shape.verdict.and(Verdict::Hidden(HidingReason::Marked));
            }
            "posOffset" => {
                let mut offset = String::new();
                self.xml.inner(|piece| offset.push_str(piece))?;
                let points = offset.trim().parse::<f64>().map(|emu| emu / EMU_PER_POINT);
                shape.verdict = shape.verdict.and(match points {
                    Ok(points) => far(points),
                    Err(_) => Verdict::Uncertain(HidingReason::NotUnderstood),
                });
            }
            "extent" => {
                let small = [signed(tag, "cx"), signed(tag, "cy")]
                    .into_iter()
                    .flatten()
                    .any(|size| size < 2.0 * EMU_PER_POINT);
                if small {
                    shape.verdict = shape
                        .verdict
                        .and(Verdict::Uncertain(HidingReason::ZeroSize));
                }
            }
            "spPr" => {
                let found = drawing::shape_properties(&mut self.xml, theme)?;
                if found.area.as_ref().is_some_and(Area::is_tiny) {
                    shape.verdict = shape
                        .verdict
                        .and(Verdict::Uncertain(HidingReason::ZeroSize));
                }
                if found.fill != Fill::Unset {
                    shape.fill = found.fill;
                }
            }
            // A fill of the theme: which one it is takes more than its colour.
            "fillRef" => {
                let none = tag.is("idx", "0") || tag.is("idx", "1000");
                let paint = drawing::paint(&mut self.xml, theme)?;
                if !none && shape.fill == Fill::Unset {
                    shape.fill = Fill::Paint(paint);
                }
            }
            "fontRef" => shape.ink = Some(drawing::paint(&mut self.xml, theme)?),
            // VML, as old programs write it.
            "shape" | "rect" | "roundrect" | "oval" | "group" => {
                let style = tag.attribute("style").unwrap_or_default();
                shape.verdict = shape.verdict.and(of_vml(&style, far));
                let filled = !tag.is("filled", "f") && !tag.is("filled", "false");
                shape.fill = match tag.attribute("fillcolor") {
                    _ if !filled => Fill::Nothing,
                    Some(value) => {
                        let value = value.split(' ').next().unwrap_or_default();
                        let colour = Rgb::parse(value).or_else(|| Rgb::named(value));
                        Fill::Paint(Paint::opaque(
                            colour.map_or_else(Colours::any, Colours::one),
                        ))
                    }
                    None => Fill::Paint(Paint::opaque(Colours::one(WHITE))),
                };
            }
            _ => {}
        }
        Ok(())
    }

    fn field(&mut self, tag: &Tag<'_>) {
        let around = self.boxes.last().map_or(0, |frame| frame.fields);
        if tag.is("fldCharType", "begin") && self.fields.len() < MAX_FIELDS {
            self.fields.push(FieldPart::Code);
        } else if tag.is("fldCharType", "separate") && self.fields.len() > around {
            if let Some(field) = self.fields.last_mut() {
                *field = FieldPart::Result;
            }
        } else if tag.is("fldCharType", "end") && self.fields.len() > around {
            self.fields.pop();
        }
    }

    fn property(&mut self, of: Properties, tag: &Tag<'_>) -> Result<(), ExtractFault> {
        let theme = &self.setting.theme;
        match (of, tag.name()) {
            (Properties::Paragraph, "rPr") => self.properties.push(Properties::Mark),
            // What the properties were before a tracked change.
            (
                _,
                "rPrChange" | "pPrChange" | "tcPrChange" | "tblPrChange" | "trPrChange"
                | "tblPrExChange" | "sectPr",
            ) => self.xml.skip()?,
            (Properties::Paragraph, "pStyle") => {
                if let Some(paragraph) = self.paragraphs.last_mut() {
                    paragraph.style = tag.attribute("val").map(|id| id.into_owned());
                }
            }
            (Properties::Paragraph, "numPr") => {
                if let Some(paragraph) = self.paragraphs.last_mut() {
                    paragraph.item = Some(0);
                }
            }
            (Properties::Paragraph, "ilvl") => {
                if let Some(paragraph) = self.paragraphs.last_mut() {
                    paragraph.item = tag.number("val").map(|level| level.min(8));
                }
            }
            // A list that this paragraph left.
            (Properties::Paragraph, "numId") if tag.is("val", "0") => {
                if let Some(paragraph) = self.paragraphs.last_mut() {
                    paragraph.item = None;
                }
            }
            (Properties::Paragraph, _) => {
                if let Some(paragraph) = self.paragraphs.last_mut() {
                    let look = &mut paragraph.look;
                    look.read(PropertyLevel::Paragraph, tag, &mut self.xml, theme)?;
                }
            }
            (Properties::Run, "rStyle") => {
                if let Some(run) = self.runs.last_mut() {
                    run.style = tag.attribute("val").map(|id| id.into_owned());
                }
            }
            (Properties::Run, _) => {
                if let Some(run) = self.runs.last_mut() {
                    run.look
                        .read(PropertyLevel::Run, tag, &mut self.xml, theme)?;
                }
            }
            (Properties::Table, "tblStyle") => {
                let id = tag.attribute("val");
                if let Some(table) = self.boxes.last_mut() {
                    table.style = Some(self.setting.styles.resolve("table", id.as_deref()));
                }
            }
            (Properties::Table, "tblpPr") => {
                let far = ["tblpX", "tblpY"]
                    .iter()
                    .filter_map(|name| signed(tag, name))
                    .any(|by| !(-1_440.0..=FAR * 10.0).contains(&by));
                self.doubt_box(far, HidingReason::OffPage);
            }
            (Properties::Table, "tblInd") => {
                let by = signed(tag, "w").unwrap_or(0.0);
                self.doubt_box(!(-1_440.0..=FAR * 5.0).contains(&by), HidingReason::OffPage);
            }
            (Properties::Table | Properties::Cell, "shd") => {
                let mut look = RunFormat::default();
                look.read(PropertyLevel::Cell, tag, &mut self.xml, theme)?;
                if let Some(frame) = self.boxes.last_mut() {
                    frame.fill = look.cell_fill.unwrap_or_default();
                }
            }
            (Properties::Row, "trHeight") if tag.is("hRule", "exact") => {
                let verdict = of_height(signed(tag, "val").unwrap_or(0.0));
                if let Some(row) = self.boxes.last_mut() {
                    row.verdict = row.verdict.and(verdict);
                }
            }
            (Properties::Row, "hidden") if is_on(tag) => {
                if let Some(row) = self.boxes.last_mut() {
                    row.verdict = row.verdict.and(Verdict::Hidden(HidingReason::Marked));
                }
            }
            // Merged into the cell above or before, which is shown in its place.
            (Properties::Cell, "vMerge" | "hMerge") => {
                self.doubt_box(!tag.is("val", "restart"), HidingReason::Covered);
            }
            (Properties::Cell, "tcW") if tag.is("type", "dxa") => {
                let width = signed(tag, "w").unwrap_or(0.0);
                self.doubt_box(width > 0.0 && width < 80.0, HidingReason::ZeroSize);
            }
            _ => {}
        }
        Ok(())
    }

    fn doubt_box(&mut self, is_so: bool, reason: HidingReason) {
        if is_so && let Some(frame) = self.boxes.last_mut() {
            frame.verdict = frame.verdict.and(Verdict::Uncertain(reason));
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "p" => {
                self.paragraphs.pop();
                self.draft.end_line();
            }
            "r" => {
                self.runs.pop();
            }
            "pPr" | "rPr" | "tcPr" | "tblPr" | "trPr" | "tblPrEx" => {
                self.properties.pop();
            }
            "tc" | "tbl" => {
                self.boxes.pop();
            }
            "tr" => {
                self.boxes.pop();
                self.draft.end_row();
            }
            "txbxContent" => {
                self.draft.end_line();
                if let Some(frame) = self.boxes.pop() {
                    self.fields.truncate(frame.fields);
                }
            }
            "drawing" | "pict" | "object" => {
                self.drawings.pop();
            }
            _ => {}
        }
    }

    /// Separators are kept as notes with no text of the author's.
    fn note(&mut self, tag: &Tag<'_>) -> Result<(), ExtractFault> {
        if tag
            .attribute("type")
            .is_some_and(|kind| !kind.eq_ignore_ascii_case("normal"))
        {
            return self.xml.skip();
        }
        let id = tag.attribute("id").unwrap_or_default();
        self.label = Some(format!("note {id}"));
        Ok(())
    }

    /// Whether text that stands here is seen.
    fn verdict(&self) -> Verdict {
        let styles = &self.setting.styles;
        let none = Run::default();
        let run = self.runs.last().unwrap_or(&none);
        let blank = Paragraph::default();
        let paragraph = self.paragraphs.last().unwrap_or(&blank);
        let of_run = styles.resolve("character", run.style.as_deref());
        let of_paragraph = styles.resolve("paragraph", paragraph.style.as_deref());
        let table = self
            .boxes
            .iter()
            .rev()
            .find_map(|frame| frame.style.as_ref());
        let plain = Rc::new(ResolvedStyle::default());
        let of_table = table.unwrap_or(&plain);
        let ink = self.boxes.iter().rev().find_map(|frame| frame.ink.clone());
        let own = run
            .look
            .clone()
            .over(&of_run.look)
            .over(&paragraph.look)
            .over(&of_paragraph.look);
        let mut around = RunFormat::default();
        around.ink = ink.map(TextColour::Paint);
        let usual = of_table.look.clone().over(&around).over(&styles.defaults);
        let vanishing_of = |table: &RunFormat| {
            let looks = [&of_run.look, &of_paragraph.look, table];
            vanishing(&run.look, &looks, &styles.defaults)
        };
        let mut verdict = vanishing_of(&of_table.look);
        if of_run.is_unknown || of_paragraph.is_unknown || of_table.is_unknown {
            verdict = verdict.and(Verdict::Uncertain(HidingReason::NotUnderstood));
        }
        if self.fields.contains(&FieldPart::Code) {
            verdict = verdict.and(Verdict::Hidden(HidingReason::Marked));
        }
        verdict = verdict.and(self.setting.pages);
        for frame in &self.boxes {
            verdict = verdict.and(frame.verdict);
        }
        let mut seen = own.clone().over(&usual).verdict_on(&self.behind(None));
        if of_run.is_missing || of_paragraph.is_missing || of_table.is_missing {
            seen = seen.doubted();
        }
        // What a table's style says of some cells may hold for this one, or not.
        let mut sometimes = of_table.sometimes.iter().map(|look| {
            let seen = own.clone().over(look).over(&usual);
            seen.verdict_on(&self.behind(Some(look)))
                .and(vanishing_of(look))
        });
        if sometimes.any(|other| other != seen) {
            return verdict.and(match seen {
                Verdict::Visible => Verdict::Uncertain(HidingReason::Conditional),
                other => other.doubted(),
            });
        }
        verdict.and(seen)
    }

    /// The colours that may lie behind a paragraph.
    fn behind(&self, sometimes: Option<&RunFormat>) -> Colours {
        let innermost = self.boxes.iter().rposition(|frame| frame.style.is_some());
        let mut behind = self.page.clone();
        for (at, frame) in self.boxes.iter().enumerate() {
            if let Some(style) = &frame.style {
                if let Some(fill) = &style.look.cell_fill {
                    behind = fill.on(&behind);
                }
                let fill = sometimes.and_then(|look| look.cell_fill.as_ref());
                if let Some(fill) = fill.filter(|_| Some(at) == innermost) {
                    behind = fill.on(&behind);
                }
            }
            behind = frame.fill.on(&behind);
        }
        behind
    }

    fn text(&mut self, text: &str) {
        let verdict = self.verdict();
        if let Verdict::Hidden(_) = verdict {
            self.draft.show(text, verdict);
            return;
        }
        if text.trim().is_empty() && self.label.is_some() {
            return;
        }
        self.say_label();
        if let Some(level) = self
            .paragraphs
            .last_mut()
            .and_then(|paragraph| paragraph.item.take())
        {
            self.draft.push(&"  ".repeat(level));
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

fn is_set(tag: &Tag<'_>, name: &str) -> bool {
    ["1", "true", "on", "t"].iter().any(|on| tag.is(name, on))
}

/// The style of a VML shape, as CSS.
fn of_vml(style: &str, far: impl Fn(f64) -> Verdict) -> Verdict {
    let mut verdict = Verdict::Visible;
    for entry in style.split(';') {
        let Some((name, value)) = entry.split_once(':') else {
            continue;
        };
        let value = value.trim();
        let digits = value.trim_end_matches(|char: char| char.is_ascii_alphabetic() || char == '%');
        let unit = match value.get(digits.len()..).unwrap_or_default() {
            "in" => 72.0,
            "cm" => 28.35,
            "mm" => 2.835,
            "px" => 0.75,
            _ => 1.0,
        };
        let points = digits
            .trim()
            .parse::<f64>()
            .ok()
            .map(|number| number * unit);
        verdict = verdict.and(match (name.trim(), points) {
            ("visibility", _) if value == "hidden" => Verdict::Hidden(HidingReason::Marked),
            ("display", _) if value == "none" => Verdict::Hidden(HidingReason::Marked),
            ("width" | "height", Some(points)) if points < 2.0 => {
                Verdict::Uncertain(HidingReason::ZeroSize)
            }
            ("left" | "top" | "margin-left" | "margin-top", Some(points)) => far(points),
            _ => Verdict::Visible,
        });
    }
    verdict
}

#[cfg(test)]
mod tests {
    use mail::Format;

    use super::super::built::{docx, package};
    use super::super::tests::seen;

    fn p(runs: &str) -> String {
        format!("<w:p>{runs}</w:p>")
    }

    fn r(properties: &str, text: &str) -> String {
        format!("<w:r><w:rPr>{properties}</w:rPr><w:t>{text}</w:t></w:r>")
    }

    #[test]
    fn paragraphs_lists_and_tables() {
        let cell = |text: &str| format!("<w:tc>{}</w:tc>", p(&r("", text)));
        let table = format!(
            "<w:tbl><w:tr>{}{}</w:tr><w:tr>{}{}</w:tr></w:tbl>",
            cell("Item"),
            cell("Price"),
            cell("Bell"),
            cell("12 &amp; more")
        );
        let item = |level: usize, text: &str| {
            format!(
                "<w:p><w:pPr><w:numPr><w:ilvl w:val='{level}'/><w:numId w:val='1'/></w:numPr></w:pPr>{}</w:p>",
                r("", text)
            )
        };
        for (body, expected) in [
            (p(&r("", "one")) + &p("") + &p(&r("", "two")), "one\ntwo"),
            (p(&(r("", "a") + &r("<w:b/>", "b"))), "ab"),
            (
                p("<w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t></w:r>"),
                "a\tb\nc",
            ),
            (item(0, "x") + &item(1, "y"), "- x\n  - y"),
            (
                p(&r("", "before")) + &table + &p(&r("", "after")),
                "before\nItem | Price\nBell | 12 & more\nafter",
            ),
            (
                p("<w:hyperlink><w:r><w:t>link</w:t></w:r></w:hyperlink>"),
                "link",
            ),
        ] {
            assert_eq!(seen(Format::Docx, &docx(&body)).text, expected, "{body}");
        }
    }

    #[test]
    fn hidden_text_is_left_out_and_counted() {
        for (properties, hidden) in [
            ("<w:vanish/>", true),
            ("<w:vanish w:val='true'/>", true),
            ("<w:vanish w:val='0'/>", false),
            ("<w:webHidden/>", false),
            ("<w:color w:val='FFFFFF'/>", true),
            ("<w:color w:val='ffffff'/>", true),
            ("<w:color w:val='FFFFFF'/><w:shd w:fill='000000'/>", false),
            (
                "<w:color w:val='FFFFFF'/><w:highlight w:val='black'/>",
                false,
            ),
            ("<w:color w:val='FF0000'/>", false),
            ("<w:sz w:val='2'/>", true),
            ("<w:color w:val='FEFEFE'/>", true),
            ("<w:sz w:val='24'/>", false),
            ("<w:rStyle w:val='Secret'/>", true),
            (
                "<w:rPrChange><w:rPr><w:vanish/></w:rPr></w:rPrChange>",
                false,
            ),
        ] {
            let body = p(&(r("", "seen ") + &r(properties, "other")));
            let document = format!("<w:document><w:body>{body}</w:body></w:document>");
            let styles = "<w:styles><w:style w:styleId='Secret'><w:rPr><w:vanish/></w:rPr></w:style></w:styles>";
            let file = package(&[
                ("word/document.xml", document.as_bytes()),
                ("word/styles.xml", styles.as_bytes()),
            ]);
            let found = seen(Format::Docx, &file);
            let expected = if hidden { "seen" } else { "seen other" };
            assert_eq!(found.text, expected, "{properties}");
            assert_eq!(found.hidden, if hidden { 5 } else { 0 }, "{properties}");
        }
    }

    #[test]
    fn white_may_show_in_a_shaded_cell_or_a_styled_table() {
        let white = p(&r("<w:color w:val='FFFFFF'/>", "white"));
        for (table, text) in [
            (
                format!("<w:tbl><w:tr><w:tc>{white}</w:tc></w:tr></w:tbl>"),
                "",
            ),
            (
                format!(
                    "<w:tbl><w:tr><w:tc><w:tcPr><w:shd w:fill='1F3864'/></w:tcPr>{white}</w:tc></w:tr></w:tbl>"
                ),
                "white",
            ),
            (
                format!(
                    "<w:tbl><w:tblPr><w:tblStyle w:val='x'/></w:tblPr><w:tr><w:tc>{white}</w:tc></w:tr></w:tbl>"
                ),
                "white",
            ),
        ] {
            assert_eq!(seen(Format::Docx, &docx(&table)).text, text, "{table}");
        }
    }

    #[test]
    fn what_was_deleted_moved_or_is_there_twice_is_left_out() {
        let body = p("<w:del><w:r><w:delText>gone</w:delText></w:r></w:del>\
             <w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom>\
             <w:ins><w:r><w:t>new</w:t></w:r></w:ins>\
             <mc:AlternateContent><mc:Choice><w:r><w:t> once</w:t></w:r></mc:Choice>\
             <mc:Fallback><w:r><w:t> twice</w:t></w:r></mc:Fallback></mc:AlternateContent>");
        let found = seen(Format::Docx, &docx(&body));
        assert_eq!((found.text.as_str(), found.hidden), ("new once", 0));
    }

    #[test]
    fn headers_notes_and_comments_are_said() {
        let part = |root: &str, inner: &str| format!("<w:{root}>{inner}</w:{root}>");
        let document = part(
            "document",
            &p(&(r("", "body") + "<w:r><w:footnoteReference w:id='2'/></w:r>")),
        );
        let parts = [
            ("word/header1.xml", part("hdr", &p(&r("", "top")))),
            ("word/header2.xml", part("hdr", &p(""))),
            ("word/document.xml", document),
            (
                "word/footnotes.xml",
                part(
                    "footnotes",
                    &format!(
                        "<w:footnote w:type='separator' w:id='0'>{}</w:footnote><w:footnote w:id='2'>{}</w:footnote>",
                        p(&r("", "line")),
                        p(&r("", " small print"))
                    ),
                ),
            ),
            (
                "word/comments.xml",
                part(
                    "comments",
                    &format!(
                        "<w:comment w:author='Ann'>{}</w:comment>",
                        p(&r("", "really?"))
                    ),
                ),
            ),
            ("word/footer1.xml", part("ftr", &p(&r("", "page")))),
        ];
        let parts: Vec<(&str, &[u8])> = parts
            .iter()
            .map(|(name, text)| (*name, text.as_bytes()))
            .collect();
        assert_eq!(
            seen(Format::Docx, &package(&parts)).text,
            "[header]\ntop\n\nbody[note 2]\n\n[note 2]\n small print\n\n[comment by Ann]\nreally?\n\n[footer]\npage"
        );
    }

    #[test]
    fn the_document_is_where_the_package_says() {
        let file = package(&[
            (
                "_rels/.rels",
                b"<Relationships><Relationship Id='1' Type='http://x/officeDocument' Target='doc/main.xml'/></Relationships>",
            ),
            ("doc/main.xml", b"<d><p><r><t>here</t></r></p></d>"),
        ]);
        assert_eq!(seen(Format::Docx, &file).text, "here");
    }
}
