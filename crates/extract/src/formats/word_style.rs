//! What the properties of Word text say about whether anybody would see it.

use std::collections::HashMap;

use mail::ExtractFault;

use super::xml::{Node, Tag, Xml};

/// What one set of properties says; nothing said leaves it to what is around.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Look {
    pub(super) vanished: Option<bool>,
    pub(super) white: Option<bool>,
    pub(super) tiny: Option<bool>,
    pub(super) shaded: bool,
}

/// Half points: text of one point is there to be found by machines.
const TINY: usize = 2;
/// Styles based on styles: Word stops at 11.
const MAX_CHAIN: usize = 11;
const MAX_STYLES: usize = 10_000;

impl Look {
    /// One property of a run, a style, a paragraph or a cell.
    pub(super) fn read(&mut self, tag: &Tag<'_>) {
        match tag.name() {
            // `webHidden` is not among them: it hides from browsers alone, and every table of contents has it.
            "vanish" | "specVanish" => self.vanished = Some(is_on(tag)),
            "color" => {
                let white = tag.is("val", "FFFFFF") || tag.is("themeColor", "background1");
                self.white = Some(white);
            }
            "sz" => self.tiny = tag.number("val").map(|size| size <= TINY),
            "shd" => {
                let fill = tag.attribute("fill").unwrap_or_default();
                let coloured = !matches!(&*fill, "" | "auto" | "FFFFFF" | "ffffff")
                    || tag.attribute("themeFill").is_some();
                self.shaded |= coloured;
            }
            "highlight" => self.shaded |= !tag.is("val", "none"),
            _ => {}
        }
    }

    /// This over that: what this leaves open, that decides.
    pub(super) fn over(self, under: Self) -> Self {
        Self {
            vanished: self.vanished.or(under.vanished),
            white: self.white.or(under.white),
            tiny: self.tiny.or(under.tiny),
            shaded: self.shaded || under.shaded,
        }
    }

    pub(super) fn is_hidden(self) -> bool {
        self.vanished == Some(true) || self.tiny == Some(true)
    }

    pub(super) fn is_white_on_white(self) -> bool {
        self.white == Some(true) && !self.shaded
    }
}

/// A switch is on unless it says otherwise.
pub(super) fn is_on(tag: &Tag<'_>) -> bool {
    !["0", "false", "off", "none"]
        .iter()
        .any(|off| tag.is("val", off))
}

#[derive(Default)]
pub(super) struct Styles {
    named: HashMap<String, (Look, Option<String>)>,
}

impl Styles {
    pub(super) fn read(text: &str) -> Result<Self, ExtractFault> {
        let mut styles = Self::default();
        let mut xml = Xml::new(text);
        let mut open: Option<(String, Look, Option<String>)> = None;
        while let Some(node) = xml.next()? {
            match node {
                Node::Open(tag) if tag.name() == "style" => {
                    let id = tag.attribute("styleId").unwrap_or_default().into_owned();
                    open = Some((id, Look::default(), None));
                }
                // Conditional parts of table styles hold for some cells only.
                Node::Open(tag) if tag.name() == "tblStylePr" => xml.skip()?,
                Node::Open(tag) => {
                    if let Some((_, look, based_on)) = &mut open {
                        match tag.name() {
                            "basedOn" => {
                                *based_on = tag.attribute("val").map(|id| id.into_owned());
                            }
                            _ => look.read(&tag),
                        }
                    }
                }
                Node::Close(name) if name == "style" => {
                    if let Some((id, look, based_on)) = open.take()
                        && styles.named.len() < MAX_STYLES
                    {
                        styles.named.insert(id, (look, based_on));
                    }
                }
                Node::Close(_) | Node::Text(_) => {}
            }
        }
        Ok(styles)
    }

    pub(super) fn look(&self, id: &str) -> Look {
        let mut look = Look::default();
        let mut next = Some(id);
        for _ in 0..MAX_CHAIN {
            let Some((under, based_on)) = next.and_then(|id| self.named.get(id)) else {
                break;
            };
            look = look.over(*under);
            next = based_on.as_deref();
        }
        look
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_inherit_and_loops_end() {
        let styles = Styles::read(
            "<w:styles>\
             <w:style w:styleId='A'><w:rPr><w:vanish/></w:rPr></w:style>\
             <w:style w:styleId='B'><w:basedOn w:val='A'/></w:style>\
             <w:style w:styleId='C'><w:basedOn w:val='A'/><w:rPr><w:vanish w:val='0'/></w:rPr></w:style>\
             <w:style w:styleId='L'><w:basedOn w:val='L'/></w:style>\
             <w:style w:styleId='T'><w:tblStylePr><w:rPr><w:vanish/></w:rPr></w:tblStylePr></w:style>\
             </w:styles>",
        )
        .expect("styles");
        for (id, hidden) in [
            ("A", true),
            ("B", true),
            ("C", false),
            ("L", false),
            ("T", false),
            ("?", false),
        ] {
            assert_eq!(styles.look(id).is_hidden(), hidden, "{id}");
        }
    }
}
