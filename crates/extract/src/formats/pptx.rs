//! Presentations: slides in their order and number, with tables and notes, without hidden slides and shapes.

use mail::{ExtractFault, HidingReason};

use super::draft::Draft;
use super::drawing::Theme;
use super::package::Package;
use super::relations;
use super::slide_visibility::{self, Levels, SHAPES, SlideContext, SlideLayer, TextLook};
use super::verdict::Verdict;
use super::xml::{Node, Tag, Xml};

/// Slides that are looked at.
const MAX_SLIDES: usize = 1_000;

/// What the presentation says of all slides.
struct Presentation {
    /// The ids of the slides' relations in their order.
    order: Vec<String>,
    size: Option<(f64, f64)>,
    usual: Levels,
}

pub(super) fn read(bytes: &[u8], draft: &mut Draft) -> Result<(), ExtractFault> {
    let mut package = Package::open(bytes)?;
    let main = relations::document(&mut package, "ppt/presentation.xml")?;
    let show = Presentation::read(&package.required(&main)?)?;
    let relations = relations::of(&mut package, &main)?;
    let slides: Vec<&str> = show
        .order
        .iter()
        .filter_map(|id| {
            let found = relations.iter().find(|relation| relation.id == *id)?;
            Some(found.target.as_str())
        })
        .collect();
    let mut sheets = SlideLayers::default();
    for (index, slide) in slides.iter().enumerate() {
        if index >= MAX_SLIDES {
            draft.cut();
            break;
        }
        let Some(text) = package.text(slide)? else {
            continue;
        };
        let label = format!("slide {}", index + 1);
        sheets.open(&mut package, slide)?;
        let mut theme = sheets.theme.clone();
        read_map(&text, "overrideClrMapping", &mut theme)?;
        let sheet = SlideLayer::read(&text, &theme)?;
        let stage = SlideContext {
            slide: &sheet,
            layout: &sheets.layout,
            master: &sheets.master,
            usual: &show.usual,
            theme: &theme,
            size: show.size,
        };
        let shown = Reader::new(&text, draft, label, Some(&stage), &theme).run()?;
        let notes = relations::of(&mut package, slide)?
            .into_iter()
            .find(|relation| relation.kind == "notesSlide");
        if let Some(notes) = notes
            && let Some(text) = package.text(&notes.target)?
        {
            let label = format!("notes of slide {}", index + 1);
            let sheet = SlideLayer::read(&text, &theme)?;
            let usual = slide_visibility::plain_text();
            let stage = SlideContext {
                slide: &sheet,
                layout: &SlideLayer::default(),
                master: &SlideLayer::default(),
                usual: &usual,
                theme: &theme,
                size: None,
            };
            let mut reader = Reader::new(&text, draft, label, Some(&stage), &theme);
            reader.hidden += usize::from(shown == Shown::Hidden);
            reader.run()?;
        }
    }
    for name in package.names("ppt/comments/", ".xml") {
        if let Some(text) = package.text(&name)? {
            Reader::new(&text, draft, "comments".to_owned(), None, &Theme::default()).run()?;
        }
    }
    Ok(())
}

impl Presentation {
    fn read(text: &str) -> Result<Self, ExtractFault> {
        let mut show = Self {
            order: Vec::new(),
            size: None,
            usual: Levels::new(),
        };
        let mut xml = Xml::new(text);
        while let Some(node) = xml.next()? {
            let Node::Open(tag) = node else { continue };
            match tag.name() {
                "sldId" if show.order.len() <= MAX_SLIDES => {
                    show.order
                        .extend(tag.prefixed("id").map(|id| id.into_owned()));
                }
                "sldSz" => {
                    let side = |name: &str| tag.number(name).map(|emu| emu as f64);
                    show.size = side("cx").zip(side("cy"));
                }
                "defaultTextStyle" => {
                    show.usual = slide_visibility::read_levels(&mut xml, &Theme::default())?;
                }
                _ => {}
            }
        }
        Ok(show)
    }
}

/// The layout and the master of the slide that was opened last.
#[derive(Default)]
struct SlideLayers {
    layout_part: Option<String>,
    layout: SlideLayer,
    master: SlideLayer,
    theme: Theme,
}

impl SlideLayers {
    fn open(&mut self, package: &mut Package<'_>, slide: &str) -> Result<(), ExtractFault> {
        let part = related(package, slide, "slideLayout")?;
        if part == self.layout_part && part.is_some() {
            return Ok(());
        }
        *self = Self::default();
        let Some(part) = part else {
            return Ok(());
        };
        let master = related(package, &part, "slideMaster")?;
        let mut master_text = None;
        if let Some(master) = &master {
            if let Some(theme) = related(package, master, "theme")? {
                self.theme = Theme::load(package, &theme)?;
            }
            master_text = package.text(master)?;
        }
        if let Some(text) = &master_text {
            read_map(text, "clrMap", &mut self.theme)?;
            self.master = SlideLayer::read(text, &self.theme)?;
        }
        if let Some(text) = package.text(&part)? {
            read_map(&text, "overrideClrMapping", &mut self.theme)?;
            self.layout = SlideLayer::read(&text, &self.theme)?;
        }
        self.layout_part = Some(part);
        Ok(())
    }
}

fn related(
    package: &mut Package<'_>,
    part: &str,
    kind: &str,
) -> Result<Option<String>, ExtractFault> {
    let found = relations::of(package, part)?
        .into_iter()
        .find(|relation| relation.kind == kind && !relation.target.is_empty());
    Ok(found.map(|relation| relation.target))
}

/// Which colours of the theme are called background and text.
fn read_map(text: &str, element: &str, theme: &mut Theme) -> Result<(), ExtractFault> {
    let mut xml = Xml::new(text);
    while let Some(node) = xml.next()? {
        if let Node::Open(tag) = node
            && tag.name() == element
        {
            theme.map(&tag);
        }
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Shown,
    Hidden,
}

struct Reader<'a> {
    xml: Xml<'a>,
    draft: &'a mut Draft,
    label: Option<String>,
    stage: Option<&'a SlideContext<'a>>,
    theme: &'a Theme,
    /// How many of the elements around hide what is in them.
    hidden: usize,
    /// Shapes that are open, whether each is hidden, and its number unless it is a group.
    shapes: Vec<(Shown, Option<usize>)>,
    /// Shapes and table cells that were met.
    count: usize,
    cells: usize,
    cell: Option<usize>,
    level: usize,
    run: TextLook,
    /// Slide numbers and dates of notes pages repeat what the label says.
    placeholder: bool,
    slide: Shown,
}

impl<'a> Reader<'a> {
    fn new(
        text: &'a str,
        draft: &'a mut Draft,
        label: String,
        stage: Option<&'a SlideContext<'a>>,
        theme: &'a Theme,
    ) -> Self {
        Self {
            xml: Xml::new(text),
            draft,
            label: Some(label),
            stage,
            theme,
            hidden: 0,
            shapes: Vec::new(),
            count: 0,
            cells: 0,
            cell: None,
            level: 0,
            run: TextLook::default(),
            placeholder: false,
            slide: Shown::Shown,
        }
    }

    fn run(mut self) -> Result<Shown, ExtractFault> {
        while let Some(node) = self.xml.next()? {
            match node {
                Node::Open(tag) => self.open(&tag)?,
                Node::Close(name) => self.close(&name),
                Node::Text(_) => {}
            }
        }
        self.draft.end_block();
        Ok(self.slide)
    }

    fn open(&mut self, tag: &Tag<'_>) -> Result<(), ExtractFault> {
        match tag.name() {
            "sld" if is_off(tag, "show") => {
                self.slide = Shown::Hidden;
                self.hidden += 1;
            }
            "grpSp" => {
                self.shapes.push((Shown::Shown, None));
                self.placeholder = false;
            }
            name if SHAPES.contains(&name) => {
                self.shapes.push((Shown::Shown, Some(self.count)));
                self.count += 1;
                self.placeholder = false;
            }
            // It says of the shape around it that nobody sees it.
            "cNvPr" if is_on(tag, "hidden") => {
                if let Some((shape, _)) = self.shapes.last_mut()
                    && *shape == Shown::Shown
                {
                    *shape = Shown::Hidden;
                    self.hidden += 1;
                }
            }
            "ph" => {
                self.placeholder = ["sldNum", "dt", "sldImg"]
                    .iter()
                    .any(|kind| tag.is("type", kind));
            }
            "p" => {
                self.draft.end_line();
                self.level = 0;
                self.run = TextLook::default();
            }
            "pPr" => self.level = tag.number("lvl").unwrap_or(0),
            "r" | "fld" => self.run = TextLook::default(),
            "rPr" => self.run = TextLook::read(tag, &mut self.xml, self.theme)?,
            // `text` is what comments have.
            "t" | "text" => {
                let mut text = String::new();
                self.xml.inner(|piece| text.push_str(piece))?;
                self.text(&text);
            }
            "br" => self.text("\n"),
            "tr" => {
                // A label is a line of its own, and there are none in a row.
                if self.hidden == 0 {
                    self.say_label();
                }
                self.draft.begin_row();
            }
            "tc" => {
                self.cell = Some(self.cells);
                self.cells += 1;
                self.draft.begin_cell();
            }
            "Fallback" => self.xml.skip()?,
            _ => {}
        }
        Ok(())
    }

    fn close(&mut self, name: &str) {
        match name {
            "p" | "text" | "cm" => self.draft.end_line(),
            "tc" => self.cell = None,
            "tr" => self.draft.end_row(),
            name if name == "grpSp" || SHAPES.contains(&name) => {
                if let Some((Shown::Hidden, _)) = self.shapes.pop() {
                    self.hidden -= 1;
                }
                self.placeholder = false;
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.placeholder {
            return;
        }
        let verdict = match self.stage {
            _ if self.hidden > 0 => Verdict::Hidden(HidingReason::Marked),
            Some(stage) => {
                let shape = self.shapes.last().and_then(|(_, number)| *number);
                stage.verdict(shape, self.cell, self.level, &self.run)
            }
            None => Verdict::Visible,
        };
        if let Verdict::Hidden(_) = verdict {
            self.draft.show(text, verdict);
            return;
        }
        self.say_label();
        self.draft.show(text, verdict);
    }

    fn say_label(&mut self) {
        if let Some(label) = self.label.take() {
            self.draft.label(&label);
        }
    }
}

fn is_off(tag: &Tag<'_>, name: &str) -> bool {
    tag.is(name, "0") || tag.is(name, "false")
}

fn is_on(tag: &Tag<'_>, name: &str) -> bool {
    tag.is(name, "1") || tag.is(name, "true")
}

#[cfg(test)]
mod tests {
    use mail::Format;

    use super::super::built::package;
    use super::super::tests::{Seen, seen};

    fn shape(attributes: &str, paragraphs: &str) -> String {
        format!(
            "<p:sp><p:nvSpPr><p:cNvPr id='1' {attributes}/></p:nvSpPr><p:txBody>{paragraphs}</p:txBody></p:sp>"
        )
    }

    fn paragraph(text: &str) -> String {
        format!("<a:p><a:r><a:t>{text}</a:t></a:r></a:p>")
    }

    /// The slides with these attributes and shapes, listed in this order.
    fn presentation(slides: &[(&str, String)], more: &[(&str, &str)]) -> Seen {
        let mut list = String::new();
        let mut relations = String::new();
        let mut parts = Vec::new();
        for (index, (attributes, shapes)) in slides.iter().enumerate() {
            list.push_str(&format!("<p:sldId id='{}' r:id='r{index}'/>", 256 + index));
            // Files are numbered backwards: the list gives the order.
            let file = format!("slide{}.xml", 9 - index);
            relations.push_str(&format!(
                "<Relationship Id='r{index}' Type='x/slide' Target='slides/{file}'/>"
            ));
            parts.push((
                format!("ppt/slides/{file}"),
                format!(
                    "<p:sld {attributes}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>"
                ),
            ));
        }
        parts.push((
            "ppt/presentation.xml".to_owned(),
            format!("<p:presentation><p:sldIdLst>{list}</p:sldIdLst></p:presentation>"),
        ));
        parts.push((
            "ppt/_rels/presentation.xml.rels".to_owned(),
            format!("<Relationships>{relations}</Relationships>"),
        ));
        for (name, text) in more {
            parts.push(((*name).to_owned(), (*text).to_owned()));
        }
        let parts: Vec<(&str, &[u8])> = parts
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_bytes()))
            .collect();
        seen(Format::Pptx, &package(&parts))
    }

    #[test]
    fn slides_come_in_order_with_numbers() {
        let table = "<p:graphicFrame><a:tbl><a:tr><a:tc><a:p><a:r><a:t>a</a:t></a:r></a:p></a:tc>\
                     <a:tc><a:p><a:r><a:t>b</a:t></a:r></a:p></a:tc></a:tr></a:tbl></p:graphicFrame>";
        let found = presentation(
            &[
                ("", shape("", &(paragraph("Title") + &paragraph("point")))),
                ("", table.to_owned()),
            ],
            &[(
                "ppt/comments/comment1.xml",
                "<p:cmLst><p:cm><p:text>nice</p:text></p:cm></p:cmLst>",
            )],
        );
        assert_eq!(
            found.text,
            "[slide 1]\nTitle\npoint\n\n[slide 2]\na | b\n\n[comments]\nnice"
        );
        assert_eq!(found.hidden, 0);
    }

    #[test]
    fn hidden_slides_and_shapes_are_left_out_and_counted() {
        let found = presentation(
            &[
                ("show='0'", shape("", &paragraph("secret"))),
                (
                    "",
                    shape("", &paragraph("seen"))
                        + &shape("hidden='1'", &paragraph("shape"))
                        + &shape(
                            "",
                            "<a:p><a:r><a:rPr sz='100'/><a:t>tiny</a:t></a:r><a:r><a:t>big</a:t></a:r></a:p>",
                        ),
                ),
            ],
            &[],
        );
        assert_eq!(found.text, "[slide 2]\nseen\nbig");
        assert_eq!(found.hidden, 6 + 5 + 4);
    }

    #[test]
    fn notes_stand_under_their_slide() {
        let note = "<p:notes><p:sp><p:nvSpPr><p:nvPr><p:ph type='sldNum'/></p:nvPr></p:nvSpPr><p:txBody><a:p><a:r><a:t>1</a:t></a:r></a:p></p:txBody></p:sp>\
                    <p:sp><p:txBody><a:p><a:r><a:t>say this</a:t></a:r></a:p></p:txBody></p:sp></p:notes>";
        let found = presentation(
            &[("", shape("", &paragraph("slide")))],
            &[
                (
                    "ppt/slides/_rels/slide9.xml.rels",
                    "<Relationships><Relationship Id='n' Type='x/notesSlide' Target='../notesSlides/n1.xml'/></Relationships>",
                ),
                ("ppt/notesSlides/n1.xml", note),
            ],
        );
        assert_eq!(
            found.text,
            "[slide 1]\nslide\n\n[notes of slide 1]\nsay this"
        );
    }
}
