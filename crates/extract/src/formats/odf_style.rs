//! The styles of OpenDocument files, as far as they say that something is not to be seen.

use std::collections::HashMap;

use super::xml::Tag;

const MAX_STYLES: usize = 20_000;
/// Styles with parents with parents.
const MAX_CHAIN: usize = 20;

#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Look {
    hidden: Option<bool>,
    white: Option<bool>,
    backed: bool,
}

impl Look {
    pub(super) fn over(self, under: Self) -> Self {
        Self {
            hidden: self.hidden.or(under.hidden),
            white: self.white.or(under.white),
            backed: self.backed || under.backed,
        }
    }

    /// Without a word on hiding, which what is inside could take back.
    pub(super) fn only_colours(self) -> Self {
        Self {
            hidden: None,
            ..self
        }
    }

    pub(super) fn is_hidden(self) -> bool {
        self.hidden == Some(true)
    }

    pub(super) fn is_white_on_white(self) -> bool {
        self.white == Some(true) && !self.backed
    }
}

#[derive(Default)]
pub(super) struct Styles {
    /// By family and name; with the name of what it is based on.
    named: HashMap<String, (Look, Option<String>)>,
    open: Option<String>,
    /// Pages that are not white: white text may show.
    coloured_page: bool,
}

impl Styles {
    pub(super) fn begin(&mut self, tag: &Tag<'_>) {
        let text = |name: &str| tag.attribute(name).unwrap_or_default();
        let key = key(&text("family"), &text("name"));
        let parent = tag
            .attribute("parent-style-name")
            .map(|name| name.into_owned());
        if self.named.len() < MAX_STYLES {
            self.named.insert(key.clone(), (Look::default(), parent));
            self.open = Some(key);
        }
    }

    pub(super) fn end(&mut self) {
        self.open = None;
    }

    /// Properties of the style that is open.
    pub(super) fn property(&mut self, tag: &Tag<'_>) {
        let back = tag.attribute("background-color").is_some_and(|back| {
            !back.eq_ignore_ascii_case("transparent") && !back.eq_ignore_ascii_case("#ffffff")
        });
        self.coloured_page |= back && tag.name() == "page-layout-properties";
        let Some((look, _)) = self.open.as_ref().and_then(|key| self.named.get_mut(key)) else {
            return;
        };
        match tag.name() {
            "text-properties" => {
                if let Some(display) = tag.attribute("display") {
                    look.hidden = Some(&*display == "none");
                }
                if let Some(color) = tag.attribute("color") {
                    look.white = Some(color.eq_ignore_ascii_case("#ffffff"));
                }
            }
            "table-properties" if tag.is("display", "false") => look.hidden = Some(true),
            "drawing-page-properties" if tag.is("visibility", "hidden") => {
                look.hidden = Some(true);
            }
            "section-properties" if tag.is("display", "none") => look.hidden = Some(true),
            // Whatever is drawn behind the text may make white visible.
            "graphic-properties" => look.backed |= tag.is("fill", "solid"),
            _ => {}
        }
        look.backed |= back;
    }

    pub(super) fn has_coloured_page(&self) -> bool {
        self.coloured_page
    }

    pub(super) fn look(&self, family: &str, name: &str) -> Look {
        let mut look = Look::default();
        let mut next = self.named.get(&key(family, name));
        for _ in 0..MAX_CHAIN {
            let Some((under, parent)) = next else { break };
            look = look.over(*under);
            next = parent
                .as_ref()
                .and_then(|name| self.named.get(&key(family, name)));
        }
        look
    }
}

fn key(family: &str, name: &str) -> String {
    format!("{family} {name}")
}
