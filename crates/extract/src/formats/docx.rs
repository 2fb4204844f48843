//! Word documents: headers, body, notes, comments and footers, without what is hidden or deleted.
//!
//! Deleted text that Word still tracks is left out. Text that a reader would not see (hidden, a point high, white on
//! white) is left out and counted.

use mail::ExtractFault;

use super::draft::Draft;
use super::package::Package;
use super::relations;
use super::word_style::{Look, Styles};
use super::xml::{Node, Tag, Xml};

/// Headers, footers and the like; a document has a few of each.
const MAX_PARTS: usize = 60;

pub(super) fn read(bytes: &[u8], draft: &mut Draft) -> Result<(), ExtractFault> {
    let mut package = Package::open(bytes)?;
    let document = relations::document(&mut package, "word/document.xml")?;
    let folder = match document.rsplit_once('/') {
        Some((folder, _)) => format!("{folder}/"),
        None => String::new(),
    };
    let styles = match package.text(&format!("{folder}styles.xml"))? {
        Some(text) => Styles::read(&text)?,
        None => Styles::default(),
    };
    let body = package.required(&document)?;
    let parts = |package: &Package<'_>, kind: &str| {
        let mut names = package.names(&format!("{folder}{kind}"), ".xml");
        names.truncate(MAX_PARTS);
        names
    };
    for name in parts(&package, "header") {
        read_part(&mut package, &name, &styles, Some("header"), draft)?;
    }
    Reader::new(&body, &styles, draft, None).run()?;
    for kind in ["footnotes", "endnotes", "comments"] {
        read_part(
            &mut package,
            &format!("{folder}{kind}.xml"),
            &styles,
            None,
            draft,
        )?;
    }
    for name in parts(&package, "footer") {
        read_part(&mut package, &name, &styles, Some("footer"), draft)?;
    }
    Ok(())
}

fn read_part(
    package: &mut Package<'_>,
    name: &str,
    styles: &Styles,
    label: Option<&'static str>,
    draft: &mut Draft,
) -> Result<(), ExtractFault> {
    match package.text(name)? {
        Some(text) => Reader::new(&text, styles, draft, label).run(),
        None => Ok(()),
    }
}

struct Reader<'a> {
    xml: Xml<'a>,
    styles: &'a Styles,
    draft: &'a mut Draft,
    /// Said once, before the first text.
    label: Option<String>,
    /// Paragraphs that are open: a text box puts some into a run of another.
    paragraphs: Vec<Paragraph>,
    runs: Vec<Look>,
    /// What the cells around say, outermost first.
    cells: Vec<Look>,
    /// Tables and text boxes with a look of their own, and pages with a background: white may show there.
    coloured: usize,
    /// What the open properties belong to.
    properties: Vec<Properties>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Properties {
    Paragraph,
    /// Of the paragraph's mark, which is no text.
    Mark,
    Run,
    Cell,
    Table,
}

#[derive(Default)]
struct Paragraph {
    look: Look,
    /// The level of a list's item, until its first text.
    item: Option<usize>,
}

impl<'a> Reader<'a> {
    fn new(
        text: &'a str,
        styles: &'a Styles,
        draft: &'a mut Draft,
        label: Option<&'static str>,
    ) -> Self {
        Self {
            xml: Xml::new(text),
            styles,
            draft,
            label: label.map(str::to_owned),
            paragraphs: Vec::new(),
            runs: Vec::new(),
            cells: Vec::new(),
            coloured: 0,
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
            "r" => self.runs.push(Look::default()),
            "rPr" => self.properties.push(Properties::Run),
            "t" => {
                let mut text = String::new();
                self.xml.inner(|piece| text.push_str(piece))?;
                self.text(&text);
            }
            "tab" | "ptab" => self.text("\t"),
            "br" | "cr" => self.text("\n"),
            "noBreakHyphen" => self.text("-"),
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
            "tbl" => {}
            "tblPr" => self.properties.push(Properties::Table),
            "tr" => {
                // A label is a line of its own, and there are none in a row.
                self.say_label();
                self.draft.begin_row();
            }
            "tc" => {
                self.draft.begin_cell();
                self.cells.push(Look::default());
            }
            "tcPr" => self.properties.push(Properties::Cell),
            "txbxContent" => {
                self.draft.end_line();
                self.coloured += 1;
            }
            "background" => self.coloured += 1,
            // Deleted or moved away, and the same once more for old programs.
            "del" | "moveFrom" | "Fallback" | "instrText" | "delText" => self.xml.skip()?,
            _ => {}
        }
        Ok(())
    }

    fn property(&mut self, of: Properties, tag: &Tag<'_>) -> Result<(), ExtractFault> {
        match (of, tag.name()) {
            (Properties::Paragraph, "rPr") => self.properties.push(Properties::Mark),
            // What the properties were before a tracked change.
            (_, "rPrChange" | "pPrChange" | "tcPrChange" | "tblPrChange") => self.xml.skip()?,
            (Properties::Paragraph, "pStyle") => {
                let look = self.style(tag);
                if let Some(paragraph) = self.paragraphs.last_mut() {
                    paragraph.look = paragraph.look.over(look);
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
            (Properties::Paragraph, "shd") => {
                if let Some(paragraph) = self.paragraphs.last_mut() {
                    paragraph.look.read(tag);
                }
            }
            (Properties::Run, "rStyle") => {
                let look = self.style(tag);
                if let Some(run) = self.runs.last_mut() {
                    *run = run.over(look);
                }
            }
            (Properties::Run, _) => {
                if let Some(run) = self.runs.last_mut() {
                    run.read(tag);
                }
            }
            (Properties::Cell, "shd") => {
                if let Some(cell) = self.cells.last_mut() {
                    cell.read(tag);
                }
            }
            // A table's style may colour any cell: from there on white is not taken for hidden.
            (Properties::Table, "tblStyle" | "shd") => self.coloured += 1,
            _ => {}
        }
        Ok(())
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
            "pPr" | "rPr" | "tcPr" | "tblPr" => {
                self.properties.pop();
            }
            "tc" => {
                self.cells.pop();
            }
            "tr" => self.draft.end_row(),
            "txbxContent" => {
                self.draft.end_line();
                self.coloured = self.coloured.saturating_sub(1);
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

    fn style(&self, tag: &Tag<'_>) -> Look {
        tag.attribute("val")
            .map_or_else(Look::default, |id| self.styles.look(&id))
    }

    fn text(&mut self, text: &str) {
        let run = self.runs.last().copied().unwrap_or_default();
        let mut look = match self.paragraphs.last() {
            Some(paragraph) => run.over(paragraph.look),
            None => run,
        };
        look.shaded |= self.cells.iter().any(|cell| cell.shaded);
        if look.is_hidden() || (look.is_white_on_white() && self.coloured == 0) {
            self.draft.hide(text.trim_matches(['\t', '\n']));
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
        self.draft.push(text);
    }

    fn say_label(&mut self) {
        if let Some(label) = self.label.take() {
            self.draft.label(&label);
        }
    }
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
