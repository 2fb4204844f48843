//! Visible HTML written again from a short list of elements, balanced and bounded, then checked by ammonia.
//!
//! Writing it balanced first is what keeps ammonia's tree builder linear: it sees no deep nesting, no
//! formatting elements left open, no endless attributes.

use std::collections::{HashMap, HashSet};

use html5ever::{LocalName, local_name};

use crate::dom::Element;
use crate::link;
use crate::verdict::Reason;
use crate::walk::{BoxKind, Sink, WhiteSpaceMode};

const MAX_DEPTH: usize = 64;
/// Bytes of text that wait for a tag, before it is asked whether there is room for them.
const MAX_PENDING_BYTES: usize = 64 * 1024;

/// `s` is missing on purpose: it is also a chat marker.
const ELEMENTS: &[&str] = &[
    "a",
    "abbr",
    "b",
    "blockquote",
    "caption",
    "center",
    "cite",
    "code",
    "dd",
    "del",
    "div",
    "dl",
    "dt",
    "em",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "i",
    "ins",
    "kbd",
    "li",
    "ol",
    "p",
    "pre",
    "q",
    "samp",
    "small",
    "span",
    "strike",
    "strong",
    "sub",
    "sup",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "tt",
    "u",
    "ul",
    "var",
];
const VOID: &[&str] = &["br", "hr"];
const UNMARK: &str = "</mark>";

/// What all text passes on its way into sanitized HTML.
pub trait TextFilter {
    /// Text between tags.
    fn text(&mut self, text: &str) -> String;
    /// The value of an attribute, on one line.
    fn attribute(&mut self, value: &str) -> String;
}

pub(crate) struct Sanitizer<'f> {
    filter: &'f mut dyn TextFilter,
    out: String,
    room: usize,
    full: bool,
    /// For each open element the name it was written with, if it was, and where it begins and its inside does.
    open: Vec<Option<Written>>,
    depth: usize,
    /// Text that waits for the next tag: elements that are not written must not part what is read as one.
    text: String,
    /// Why the text that waits may not be seen.
    doubt: Option<Reason>,
}

#[derive(Clone, Copy)]
struct Written {
    name: &'static str,
    from: usize,
    inside: usize,
}

impl<'f> Sanitizer<'f> {
    pub(crate) fn new(max_chars: usize, filter: &'f mut dyn TextFilter) -> Self {
        Self {
            filter,
            out: String::new(),
            room: max_chars,
            full: false,
            open: Vec::new(),
            depth: 0,
            text: String::new(),
            doubt: None,
        }
    }

    pub(crate) fn finish(mut self) -> String {
        self.flush();
        cleaner().clean(&self.out).to_string()
    }

    fn push(&mut self, text: &str, chars: usize) {
        self.room = self.room.saturating_sub(chars);
        self.out.push_str(text);
    }

    /// Writes the text that waits, marked when it may not be seen.
    fn flush(&mut self) {
        if self.text.is_empty() {
            return;
        }
        let mark = self.doubt.filter(|_| !self.text.trim().is_empty());
        let mark = mark.map(|doubt| format!("<mark title=\"uncertain: {}\">", doubt.name()));
        if let Some(mark) = &mark
            && !self.push_whole(mark, UNMARK.len())
        {
            return;
        }
        self.write_text();
        if mark.is_some() {
            // Its room was set aside with the start tag.
            self.out.push_str(UNMARK);
        }
    }

    fn write_text(&mut self) {
        let filtered = self.filter.text(&std::mem::take(&mut self.text));
        for char in filtered.chars() {
            let mut one = [0; 4];
            let (written, chars) = match char {
                '&' => ("&amp;", 5),
                '<' => ("&lt;", 4),
                '>' => ("&gt;", 4),
                '\u{A0}' => ("&nbsp;", 6),
                _ => (&*char.encode_utf8(&mut one), 1),
            };
            if chars > self.room {
                self.full = true;
                return;
            }
            self.push(written, chars);
        }
    }

    /// Writes `text` if there is room for it and for `after` (an end tag to come).
    fn push_whole(&mut self, text: &str, after: usize) -> bool {
        let chars = text.chars().count();
        if chars + after > self.room {
            self.full = true;
            return false;
        }
        self.room -= after;
        self.push(text, chars);
        true
    }
}

impl Sink for Sanitizer<'_> {
    fn open(&mut self, element: &Element, _: BoxKind) {
        let known = |names: &[&'static str]| {
            let own: &str = element.local();
            let found = names.iter().find(|name| **name == own).copied();
            found.filter(|_| element.is_html())
        };
        if known(VOID).is_some() || known(ELEMENTS).is_some() {
            self.flush();
        }
        if known(VOID).is_some() {
            let tag = start_tag(element, "", self.filter);
            self.push_whole(&tag, 0);
        }
        let from = self.out.len();
        let written = known(ELEMENTS).filter(|name| {
            let tag = start_tag(element, "", self.filter);
            self.depth < MAX_DEPTH && self.push_whole(&tag, name.len() + 3)
        });
        self.depth += usize::from(written.is_some());
        self.open.push(written.map(|name| Written {
            name,
            from,
            inside: self.out.len(),
        }));
    }

    fn close(&mut self, _: &Element, _: BoxKind) {
        let Some(Some(written)) = self.open.pop() else {
            return;
        };
        self.flush();
        self.depth -= 1;
        // A link that shows nothing is no link for a reader.
        if written.name == "a" && self.out.len() == written.inside {
            self.out.truncate(written.from);
            return;
        }
        // Its room was set aside when it was opened.
        self.out.push_str(&format!("</{}>", written.name));
    }

    fn pass(&mut self, _: BoxKind) {}

    fn picture(&mut self, element: &Element, alt: &str, doubt: Option<Reason>) {
        self.flush();
        // Fields and frames stand as their text.
        if *element.local() != local_name!("img") {
            self.text(alt, WhiteSpaceMode::Folded, doubt);
            self.flush();
            return;
        }
        let mark = doubt.map(|doubt| format!("<mark title=\"uncertain: {}\">", doubt.name()));
        if let Some(mark) = &mark
            && !self.push_whole(mark, UNMARK.len())
        {
            return;
        }
        let tag = start_tag(element, alt, self.filter);
        self.push_whole(&tag, 0);
        if mark.is_some() {
            self.out.push_str(UNMARK);
        }
    }

    fn text(&mut self, text: &str, _: WhiteSpaceMode, doubt: Option<Reason>) {
        if doubt != self.doubt && !text.trim().is_empty() {
            self.flush();
            self.doubt = doubt;
        }
        self.text.push_str(text);
    }

    fn is_full(&self) -> bool {
        self.full
            || self.text.len() > MAX_PENDING_BYTES && self.text.len() > self.room.saturating_mul(4)
    }
}

fn start_tag(element: &Element, alt: &str, filter: &mut dyn TextFilter) -> String {
    let mut out = format!("<{}", element.local());
    for name in attributes_of(element.local()) {
        let value = match *name {
            "alt" => Some(alt),
            _ => element.attribute(&LocalName::from(*name)).map(str::trim),
        };
        let Some(value) = value else {
            continue;
        };
        let fits = match *name {
            "href" => value.len() <= 2_000 && link::is_safe(value),
            "alt" => !value.is_empty(),
            _ => value.len() <= 4 && value.bytes().all(|b| b.is_ascii_digit()),
        };
        if fits {
            let value = filter.attribute(value);
            let value = value
                .replace('&', "&amp;")
                .replace('"', "&quot;")
                .replace('<', "&lt;")
                .replace('>', "&gt;");
            out.push_str(&format!(" {name}=\"{value}\""));
        }
    }
    out.push('>');
    out
}

/// INVARIANT: nothing here makes a reader's client fetch anything by itself.
fn attributes_of(name: &str) -> &'static [&'static str] {
    match name {
        "a" => &["href"],
        "img" => &["alt"],
        "td" | "th" => &["colspan", "rowspan"],
        "ol" => &["start"],
        _ => &[],
    }
}

fn cleaner() -> ammonia::Builder<'static> {
    let tags: HashSet<&str> = ELEMENTS
        .iter()
        .chain(VOID)
        .chain(&["img", "mark"])
        .copied()
        .collect();
    let attributes: HashMap<&str, HashSet<&str>> = tags
        .iter()
        .map(|name| (*name, attributes_of(name).iter().copied().collect()))
        // Only ours has one: the sender's are not copied.
        .chain([("mark", HashSet::from(["title"]))])
        .collect();
    let mut builder = ammonia::Builder::new();
    builder
        .tags(tags)
        .tag_attributes(attributes)
        .generic_attributes(HashSet::new())
        .url_schemes(HashSet::from(["http", "https", "mailto"]))
        .url_relative(ammonia::UrlRelative::Deny)
        .link_rel(None)
        .strip_comments(true);
    builder
}
