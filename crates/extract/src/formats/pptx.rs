//! Presentations: slides in their order and number, with tables and notes, without hidden slides and shapes.

use mail::ExtractFault;

use super::draft::Draft;
use super::package::Package;
use super::relations;
use super::xml::{Node, Tag, Xml};

/// Slides that are looked at.
const MAX_SLIDES: usize = 1_000;
/// Hundredths of a point.
const TINY: usize = 100;

pub(super) fn read(bytes: &[u8], draft: &mut Draft) -> Result<(), ExtractFault> {
    let mut package = Package::open(bytes)?;
    let main = relations::document(&mut package, "ppt/presentation.xml")?;
    let order = order(&package.required(&main)?)?;
    let relations = relations::of(&mut package, &main)?;
    let slides: Vec<&str> = order
        .iter()
        .filter_map(|id| {
            let found = relations.iter().find(|relation| relation.id == *id)?;
            Some(found.target.as_str())
        })
        .collect();
    for (index, slide) in slides.iter().enumerate() {
        if index >= MAX_SLIDES {
            draft.cut();
            break;
        }
        let Some(text) = package.text(slide)? else {
            continue;
        };
        let label = format!("slide {}", index + 1);
        let shown = Reader::new(&text, draft, label).run()?;
        let notes = relations::of(&mut package, slide)?
            .into_iter()
            .find(|relation| relation.kind == "notesSlide");
        if let Some(notes) = notes
            && let Some(text) = package.text(&notes.target)?
        {
            let label = format!("notes of slide {}", index + 1);
            let mut reader = Reader::new(&text, draft, label);
            reader.hidden += usize::from(shown == Shown::Hidden);
            reader.run()?;
        }
    }
    for name in package.names("ppt/comments/", ".xml") {
        if let Some(text) = package.text(&name)? {
            Reader::new(&text, draft, "comments".to_owned()).run()?;
        }
    }
    Ok(())
}

/// The ids of the slides' relations, as the presentation lists them.
fn order(text: &str) -> Result<Vec<String>, ExtractFault> {
    let mut ids = Vec::new();
    let mut xml = Xml::new(text);
    while let Some(node) = xml.next()? {
        if let Node::Open(tag) = node
            && tag.name() == "sldId"
            && ids.len() <= MAX_SLIDES
            && let Some(id) = tag.prefixed("id")
        {
            ids.push(id.into_owned());
        }
    }
    Ok(ids)
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
    /// How many of the elements around hide what is in them.
    hidden: usize,
    /// Shapes that are open, and whether each is hidden.
    shapes: Vec<Shown>,
    tiny: bool,
    /// Slide numbers and dates of notes pages repeat what the label says.
    placeholder: bool,
    slide: Shown,
}

const SHAPES: [&str; 5] = ["sp", "grpSp", "graphicFrame", "pic", "cxnSp"];

impl<'a> Reader<'a> {
    fn new(text: &'a str, draft: &'a mut Draft, label: String) -> Self {
        Self {
            xml: Xml::new(text),
            draft,
            label: Some(label),
            hidden: 0,
            shapes: Vec::new(),
            tiny: false,
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
            name if SHAPES.contains(&name) => {
                self.shapes.push(Shown::Shown);
                self.placeholder = false;
            }
            // It says of the shape around it that nobody sees it.
            "cNvPr" if is_on(tag, "hidden") => {
                if let Some(shape) = self.shapes.last_mut()
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
            "p" => self.draft.end_line(),
            "r" | "fld" => self.tiny = false,
            "rPr" => self.tiny = tag.number("sz").is_some_and(|size| size <= TINY),
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
            "tc" => self.draft.begin_cell(),
            "Fallback" => self.xml.skip()?,
            _ => {}
        }
        Ok(())
    }

    fn close(&mut self, name: &str) {
        match name {
            "p" | "text" | "cm" => self.draft.end_line(),
            "tr" => self.draft.end_row(),
            name if SHAPES.contains(&name) => {
                if self.shapes.pop() == Some(Shown::Hidden) {
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
        if self.hidden > 0 || self.tiny {
            self.draft.hide(text.trim_matches('\n'));
            return;
        }
        self.say_label();
        self.draft.push(text);
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
