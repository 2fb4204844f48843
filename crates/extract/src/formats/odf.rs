//! OpenDocument text, presentations and spreadsheets: one format with three bodies.
//!
//! Cells of a spreadsheet hold their value as it is shown, so dates and amounts need no counting back. Hidden text,
//! rows, sheets and slides are left out and counted; tracked deletions are left out.

use mail::ExtractFault;

use super::draft::Draft;
use super::odf_style::{Look, Styles};
use super::package::Package;
use super::xml::{Node, Tag, Xml};

/// Cells of all tables together that are looked at.
const MAX_CELLS: usize = 100_000;
/// A cell or a row that stands for many is written this often at most.
const MAX_REPEATED: usize = 20;
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
    let mut styles = Styles::default();
    if let Some(text) = package.text("styles.xml")? {
        // Headers and footers are kept with the styles of pages.
        styles = Reader::new(&text, styles, draft, Part::Styles).run()?;
    }
    Reader::new(&content, styles, draft, Part::Content).run()?;
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Styles,
    Content,
}

/// What an open element does to what is in it.
#[derive(Clone, Copy, Default)]
struct Scope {
    /// With all that is around.
    look: Look,
    hides: bool,
}

struct Reader<'a> {
    xml: Xml<'a>,
    styles: Styles,
    draft: &'a mut Draft,
    part: Part,
    label: Option<String>,
    /// One for each open element.
    scopes: Vec<Scope>,
    /// How many of them hide what is in them.
    hidden: usize,
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
            hidden: 0,
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
        self.hidden += usize::from(scope.hides);
        self.scopes.push(scope);
        match tag.name() {
            "style" => self.styles.begin(tag),
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
            "table" if self.spreadsheet && self.repeats.is_empty() => {
                let name = tag.attribute("name").unwrap_or_default();
                self.label = Some(format!("sheet {name}"));
            }
            "table-row" => {
                if self.hidden == 0 {
                    self.say_label();
                }
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
            }
            _ => {}
        }
        Ok(())
    }

    fn close(&mut self, name: &str) {
        match name {
            "style" => self.styles.end(),
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
                let more = self.repeats.pop().unwrap_or(0);
                self.draft.repeat_row(more);
            }
            _ => {}
        }
        if let Some(scope) = self.scopes.pop() {
            self.hidden -= usize::from(scope.hides);
        }
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

    fn scope(&self, tag: &Tag<'_>) -> Scope {
        let around = self.scopes.last().copied().unwrap_or_default().look;
        let styled = |family: &str| {
            tag.attribute("style-name")
                .map_or_else(Look::default, |name| self.styles.look(family, &name))
        };
        let (family, hides) = match tag.name() {
            // Text may show again inside of hidden text: the innermost decides.
            "p" | "h" => return with(styled("paragraph").over(around)),
            "span" | "a" => return with(styled("text").over(around)),
            "page" => ("drawing-page", false),
            "frame" | "custom-shape" | "rect" | "text-box" => ("graphic", false),
            "table" => ("table", false),
            "table-cell" | "covered-table-cell" => ("table-cell", false),
            "table-row" => (
                "table-row",
                tag.is("visibility", "collapse") || tag.is("visibility", "filter"),
            ),
            "section" => ("section", tag.is("display", "none")),
            _ => return with(around),
        };
        let look = styled(family);
        Scope {
            look: look.only_colours().over(around),
            hides: hides || look.is_hidden(),
        }
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
            self.draft.hide(&text);
        }
        Ok(())
    }

    fn text(&mut self, text: &str) {
        if self.part == Part::Styles && self.margins == 0 {
            return;
        }
        let look = self.scopes.last().copied().unwrap_or_default().look;
        // Slides have backgrounds of many kinds: white is no sign there.
        let white = self.slides == 0 && !self.styles.has_coloured_page();
        if self.hidden > 0 || look.is_hidden() || (white && look.is_white_on_white()) {
            self.draft.hide(text.trim_matches(['\t', '\n']));
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
        self.draft.push(text);
    }

    fn say_label(&mut self) {
        if let Some(label) = self.label.take() {
            self.draft.label(&label);
        }
    }
}

fn with(look: Look) -> Scope {
    Scope { look, hides: false }
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
