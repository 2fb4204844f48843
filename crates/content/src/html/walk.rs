//! Walks HTML once and tells a sink what a reader would see: elements, and text with its entities decoded.
//!
//! lol_html finds the tags; which elements are open is kept here, because it knows no implied end tags.

use std::cell::RefCell;
use std::rc::Rc;

use lol_html::html_content::{Element, TextChunk, TextType};
use lol_html::{
    DocumentContentHandlers, ElementContentHandlers, HandlerResult, HtmlRewriter, MemorySettings,
    Selector, Settings,
};

use super::style::{self, Style};

/// Nesting so deep that lol_html needs more than this ends the walk.
const MOST_MEMORY: usize = 16 * 1024 * 1024;
/// How far up an element is looked for that a start tag ends.
const NEAR: usize = 32;

/// Is told only of what can be seen; `open` and `close` pair up.
pub(super) trait Sink {
    fn open(&mut self, tag: &Tag);
    fn close(&mut self, name: &str);
    /// `<br>`, `<img>` and the like: no `close` follows.
    fn void(&mut self, tag: &Tag);
    fn text(&mut self, text: &str);
    /// Nothing more is wanted.
    fn is_full(&self) -> bool;
}

/// A start tag, its attributes decoded.
#[derive(Clone, Default, Debug)]
pub(super) struct Tag {
    pub name: String,
    attributes: Vec<(&'static str, String)>,
}

impl Tag {
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        let (_, value) = self.attributes.iter().find(|(key, _)| *key == name)?;
        Some(value)
    }
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Walked {
    pub hidden: usize,
    pub cut: bool,
}

pub(super) fn walk<S: Sink + Default + 'static>(html: &str, sink: S) -> (S, Walked) {
    let state = Rc::new(RefCell::new(State {
        sink,
        open: Vec::new(),
        next_id: 0,
        text: String::new(),
        hidden: 0,
    }));
    let whole = run(html, &state).is_some();
    let mut state = state.borrow_mut();
    state.flush(TextType::Data);
    let full = state.sink.is_full();
    state.close_to(0);
    let walked = Walked {
        hidden: state.hidden,
        cut: !whole || full,
    };
    (std::mem::take(&mut state.sink), walked)
}

/// `None` when the walk ended early.
fn run<S: Sink + 'static>(html: &str, state: &Rc<RefCell<State<S>>>) -> Option<()> {
    let selector: Selector = "*".parse().ok()?;
    let elements = {
        let state = Rc::clone(state);
        ElementContentHandlers::default()
            .element(move |element: &mut Element<'_, '_>| start(&state, element))
    };
    let texts = {
        let state = Rc::clone(state);
        DocumentContentHandlers::default().text(move |chunk: &mut TextChunk<'_>| {
            let mut state = state.borrow_mut();
            state.text.push_str(chunk.as_str());
            if chunk.last_in_text_node() {
                state.flush(chunk.text_type());
            }
            state.go_on()
        })
    };
    let settings = Settings::new()
        .append_element_content_handler((std::borrow::Cow::Owned(selector), elements))
        .append_document_content_handler(texts)
        .with_memory_settings(MemorySettings::new().with_max_allowed_memory_usage(MOST_MEMORY))
        .with_strict(false);
    let mut rewriter = HtmlRewriter::new(settings, |_: &[u8]| {});
    rewriter.write(html.as_bytes()).ok()?;
    rewriter.end().ok()
}

fn start<S: Sink + 'static>(
    state: &Rc<RefCell<State<S>>>,
    element: &mut Element<'_, '_>,
) -> HandlerResult {
    let mut here = state.borrow_mut();
    let tag = tag(element);
    let style = tag
        .attribute("style")
        .map(|style| style::read(&tag.name, style))
        .unwrap_or_default();
    here.imply_ends(&tag.name);
    if element.can_have_content() {
        let id = here.begin(tag, style);
        let state = Rc::clone(state);
        element.on_end_tag(Box::new(move |_| {
            let mut state = state.borrow_mut();
            state.end(id);
            state.go_on()
        }))?;
    } else {
        here.void(&tag, style);
    }
    here.go_on()
}

fn tag(element: &Element<'_, '_>) -> Tag {
    const KNOWN: [&str; 7] = [
        "style", "hidden", "href", "alt", "colspan", "rowspan", "start",
    ];
    let mut tag = Tag {
        name: element.tag_name(),
        attributes: Vec::new(),
    };
    for attribute in element.attributes() {
        let name = attribute.name();
        // The first of a name counts.
        if let Some(known) = KNOWN.into_iter().find(|known| *known == name)
            && tag.attribute(known).is_none()
        {
            let value = htmlize::unescape_attribute(attribute.value()).into_owned();
            tag.attributes.push((known, value));
        }
    }
    tag
}

struct State<S> {
    sink: S,
    open: Vec<Open>,
    next_id: u32,
    text: String,
    hidden: usize,
}

/// An open element and what its text inherits.
struct Open {
    id: u32,
    name: String,
    sight: Sight,
}

#[derive(Clone, Copy, Default)]
struct Sight {
    /// No text of any document (`script`, `title`); not counted as hidden.
    nothing: bool,
    gone: bool,
    invisible: bool,
    tiny: bool,
}

impl Sight {
    fn is_clear(self) -> bool {
        !(self.nothing || self.gone || self.invisible || self.tiny)
    }

    /// Whether the element itself is told of: `font-size: 0` around a layout hides its letters only.
    fn is_there(self) -> bool {
        !(self.nothing || self.gone)
    }
}

impl<S: Sink> State<S> {
    fn go_on(&self) -> HandlerResult {
        if self.sink.is_full() {
            return Err("full".into());
        }
        Ok(())
    }

    fn sight(&self) -> Sight {
        self.open.last().map(|open| open.sight).unwrap_or_default()
    }

    fn seen(&self, tag: &Tag, style: Style) -> Sight {
        let around = self.sight();
        Sight {
            nothing: around.nothing || is_unrendered(&tag.name),
            gone: around.gone || style.gone || tag.attribute("hidden").is_some(),
            invisible: style.invisible.unwrap_or(around.invisible),
            tiny: style.tiny.unwrap_or(around.tiny),
        }
    }

    fn begin(&mut self, tag: Tag, style: Style) -> u32 {
        let id = self.next_id;
        self.next_id = self.next_id.saturating_add(1);
        let sight = self.seen(&tag, style);
        if sight.is_there() {
            self.sink.open(&tag);
        }
        self.open.push(Open {
            id,
            name: tag.name,
            sight,
        });
        id
    }

    fn void(&mut self, tag: &Tag, style: Style) {
        let sight = self.seen(tag, style);
        // Letters of no size leave pictures and line breaks as they are.
        if sight.is_there() && !sight.invisible {
            self.sink.void(tag);
        }
    }

    /// An end tag; the element may have been ended before it.
    fn end(&mut self, id: u32) {
        if let Ok(index) = self.open.binary_search_by_key(&id, |open| open.id) {
            self.close_to(index);
        }
    }

    fn close_to(&mut self, len: usize) {
        while self.open.len() > len {
            if let Some(open) = self.open.pop()
                && open.sight.is_there()
            {
                self.sink.close(&open.name);
            }
        }
    }

    /// End tags that a start tag stands for (HTML section 13.1.2.4).
    fn imply_ends(&mut self, name: &str) {
        let (ends, within): (&[&str], &[&str]) = match name {
            "li" => (&["li"], &["ul", "ol"]),
            "dd" | "dt" => (&["dd", "dt"], &["dl"]),
            "td" | "th" => (&["td", "th"], &["tr", "table"]),
            "tr" => (&["tr"], &["table"]),
            "tbody" | "thead" | "tfoot" => (&["tbody", "thead", "tfoot"], &["table"]),
            "a" => (&["a"], &["td", "th", "table"]),
            "option" => (&["option"], &["select"]),
            _ if is_block(name) => (&["p"], &["td", "th", "table", "button"]),
            _ => return,
        };
        let near = self.open.iter().enumerate().rev().take(NEAR);
        for (index, open) in near {
            if ends.contains(&open.name.as_str()) {
                return self.close_to(index);
            }
            if within.contains(&open.name.as_str()) {
                return;
            }
        }
    }

    /// The text node that has ended.
    fn flush(&mut self, kind: TextType) {
        let text = std::mem::take(&mut self.text);
        let sight = self.sight();
        let raw = matches!(kind, TextType::RawText | TextType::ScriptData);
        if text.is_empty() || sight.nothing || raw {
            return;
        }
        let text = if kind.allows_html_entities() {
            htmlize::unescape(text)
        } else {
            text.into()
        };
        if sight.is_clear() {
            self.sink.text(&text);
        } else {
            self.hidden += text.chars().filter(|c| !c.is_whitespace()).count();
        }
    }
}

fn is_unrendered(name: &str) -> bool {
    matches!(
        name,
        "script"
            | "style"
            | "title"
            | "template"
            | "noscript"
            | "iframe"
            | "noembed"
            | "noframes"
            | "datalist"
            | "audio"
            | "video"
            | "object"
    )
}

/// Elements that stand on lines of their own.
pub(super) fn is_block(name: &str) -> bool {
    matches!(
        name,
        "address"
            | "article"
            | "aside"
            | "blockquote"
            | "center"
            | "details"
            | "dir"
            | "div"
            | "dl"
            | "fieldset"
            | "figcaption"
            | "figure"
            | "footer"
            | "form"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "header"
            | "hr"
            | "main"
            | "menu"
            | "nav"
            | "ol"
            | "p"
            | "pre"
            | "section"
            | "summary"
            | "table"
            | "ul"
    )
}
