//! The source text of HTML before it is parsed: pictures that are written into it are taken out.
//!
//! A scanner in the terms of the HTML tokenizer (HTML Standard section 13.2.5). Where a parser may
//! disagree with it about what is markup (raw text, comments, CDATA), it takes the text for no
//! markup and leaves it as it is.

use std::borrow::Cow;

use memchr::{memchr, memmem};

/// Shorter HTML is left as it is.
const MIN_HTML_BYTES: usize = 64 * 1024;
/// Shorter contents of `data:` URLs are left as they are.
const MIN_CONTENT_BYTES: usize = 256;
/// The media type before the comma of a `data:` URL.
const MAX_MEDIA_TYPE_BYTES: usize = 256;

/// Elements whose content is text for the tokenizer, in some places at least.
const RAW_TEXT: [&str; 10] = [
    "script",
    "style",
    "textarea",
    "title",
    "xmp",
    "iframe",
    "noembed",
    "noframes",
    "noscript",
    "plaintext",
];

/// Content of these types is never shown as text. A frame shows that of `text/html`.
const TYPES: [&str; 5] = ["image/", "audio/", "video/", "font/", "application/"];

/// Elements of drawings without text. A drawing of these alone is scanned like the page around it;
/// what is text in any other depends on the tree.
const SHAPES: [&str; 19] = [
    "g",
    "path",
    "rect",
    "circle",
    "ellipse",
    "line",
    "polyline",
    "polygon",
    "defs",
    "use",
    "symbol",
    "stop",
    "lineargradient",
    "radialgradient",
    "clippath",
    "mask",
    "pattern",
    "filter",
    "image",
];

/// Attributes that hold an address that is never shown as text.
const ADDRESSES: [&str; 7] = [
    "src",
    "href",
    "background",
    "poster",
    "data",
    "srcset",
    "xlink:href",
];

/// The same page, the contents of long `data:` URLs in addresses and style sheets left out. What a
/// reader sees does not change, because what renders it loads no pictures.
pub(crate) fn without_data_urls(html: &str) -> Cow<'_, str> {
    if html.len() < MIN_HTML_BYTES {
        return Cow::Borrowed(html);
    }
    let mut cuts = Cuts::new(html);
    for event in Tags::new(html) {
        match event {
            Event::Attribute { name, begin, end } if ADDRESSES.iter().any(|one| is(name, one)) => {
                cuts.address(begin, end);
            }
            Event::Attribute { name, begin, end } if is(name, "style") => cuts.css(begin, end),
            Event::Style { begin, end } => cuts.css(begin, end),
            Event::Attribute { .. } | Event::Tag { .. } => {}
        }
    }
    cuts.finish()
}

/// How many picture elements the page holds.
pub(crate) fn pictures(html: &str) -> usize {
    let tags = Tags::new(html);
    tags.filter(|event| matches!(event, Event::Tag { name } if is(name, "img")))
        .count()
}

fn is(name: &str, known: &str) -> bool {
    name.eq_ignore_ascii_case(known)
}

enum Event<'a> {
    /// A start tag, before its attributes.
    Tag { name: &'a str },
    Attribute {
        name: &'a str,
        begin: usize,
        end: usize,
    },
    /// The content of a style element.
    Style { begin: usize, end: usize },
}

/// Start tags and their attributes.
struct Tags<'a> {
    html: &'a str,
    at: usize,
    /// The name of the tag whose attributes come next.
    open: Option<&'a str>,
    in_drawing: bool,
}

impl<'a> Tags<'a> {
    fn new(html: &'a str) -> Self {
        Self {
            html,
            at: 0,
            open: None,
            in_drawing: false,
        }
    }

    fn rest(&self) -> &'a str {
        self.html.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.html.as_bytes().get(self.at).copied()
    }

    fn skip(&mut self, is_skipped: impl Fn(u8) -> bool) {
        let bytes = self.html.as_bytes().iter().skip(self.at);
        self.at += bytes.take_while(|byte| is_skipped(**byte)).count();
    }

    fn skip_behind(&mut self, end: &str) {
        let found = memmem::find(self.rest().as_bytes(), end.as_bytes());
        self.at = found.map_or(self.html.len(), |at| self.at + at + end.len());
    }

    /// `<!-->` and `<!--->` are whole comments, and `--!>` ends one too.
    fn skip_comment(&mut self) {
        let rest = self.rest();
        if let Some(empty) = [">", "->"].iter().find(|end| rest.starts_with(**end)) {
            self.at += empty.len();
            return;
        }
        let end = memmem::find_iter(rest.as_bytes(), b"--").find_map(|dashes| {
            let after = rest.get(dashes + 2..)?;
            let mark = [">", "!>", "->"]
                .iter()
                .find(|end| after.starts_with(**end))?;
            Some(dashes + 2 + mark.len())
        });
        self.at = end.map_or(self.html.len(), |end| self.at + end);
    }

    /// The text since `begin`.
    fn since(&self, begin: usize) -> &'a str {
        self.html.get(begin..self.at).unwrap_or_default()
    }

    /// To the next start tag.
    fn tag(&mut self) -> Option<Event<'a>> {
        loop {
            self.at += memchr(b'<', self.rest().as_bytes())?;
            let rest = self.rest();
            if rest.starts_with("<!--") {
                self.at += "<!--".len();
                self.skip_comment();
            } else if starts_tag(rest) {
                self.at += 1;
                let begin = self.at;
                // The name of an end tag keeps its slash: it has attributes too, and no content.
                self.at += usize::from(self.peek() == Some(b'/'));
                self.skip(|byte| !is_blank(byte) && byte != b'/' && byte != b'>');
                let name = self.since(begin);
                if self.is_foreign(name) {
                    return self.stop();
                }
                self.open = Some(name);
                return Some(Event::Tag { name });
            } else if ["<!", "<?", "</"]
                .iter()
                .any(|start| rest.starts_with(start))
            {
                // A comment or a doctype, or CDATA in a drawing.
                if self.in_drawing {
                    return self.stop();
                }
                self.skip_behind(">");
            } else {
                self.at += 1;
            }
        }
    }

    /// Leaves the rest as it is.
    fn stop(&mut self) -> Option<Event<'a>> {
        self.at = self.html.len();
        None
    }

    /// Whether what follows a tag of this name may be read otherwise than HTML.
    fn is_foreign(&mut self, name: &str) -> bool {
        if !self.in_drawing {
            self.in_drawing = is(name, "svg");
            return is(name, "math");
        }
        self.in_drawing = !is(name, "/svg");
        let shape = name.strip_prefix('/').unwrap_or(name);
        self.in_drawing && !SHAPES.iter().any(|one| is(shape, one))
    }

    /// The next attribute with a value; none at the end of the tag.
    fn attribute(&mut self) -> Option<Event<'a>> {
        loop {
            self.skip(|byte| is_blank(byte) || byte == b'/');
            if matches!(self.peek(), None | Some(b'>')) {
                self.at = (self.at + 1).min(self.html.len());
                return None;
            }
            let begin = self.at;
            // An equals sign at the beginning belongs to the name.
            self.at += usize::from(self.peek() == Some(b'='));
            self.skip(|byte| !is_blank(byte) && !matches!(byte, b'/' | b'>' | b'='));
            let name = self.since(begin);
            self.skip(is_blank);
            if self.peek() != Some(b'=') {
                continue;
            }
            self.at += 1;
            self.skip(is_blank);
            let quote = self.peek().filter(|byte| matches!(byte, b'"' | b'\''));
            self.at += usize::from(quote.is_some());
            let begin = self.at;
            match quote {
                Some(quote) => self.skip(|byte| byte != quote),
                None => self.skip(|byte| !is_blank(byte) && byte != b'>'),
            }
            let end = self.at;
            if quote.is_some() {
                self.at = (self.at + 1).min(self.html.len());
            }
            return Some(Event::Attribute { name, begin, end });
        }
    }

    /// Passes over the content of an element that is text for the tokenizer.
    fn content(&mut self, name: &str) -> Option<Event<'a>> {
        let name = RAW_TEXT.iter().find(|one| is(name, one))?;
        let begin = self.at;
        let mut end = self.html.len();
        while let Some(found) = memmem::find(self.rest().as_bytes(), b"</") {
            let close = self.at + found;
            self.at = close + 2;
            let behind = self.rest().get(..name.len()).filter(|end| is(end, name));
            let after = self.html.as_bytes().get(self.at + name.len());
            let ends = after.is_some_and(|byte| is_blank(*byte) || matches!(byte, b'/' | b'>'));
            if behind.is_some() && ends {
                end = close;
                break;
            }
        }
        if end == self.html.len() {
            self.at = end;
        }
        (*name == "style").then_some(Event::Style { begin, end })
    }
}

impl<'a> Iterator for Tags<'a> {
    type Item = Event<'a>;

    fn next(&mut self) -> Option<Event<'a>> {
        if let Some(name) = self.open {
            if let Some(attribute) = self.attribute() {
                return Some(attribute);
            }
            self.open = None;
            if let Some(style) = self.content(name) {
                return Some(style);
            }
        }
        self.tag()
    }
}

/// Whether a text begins with a start tag or an end tag.
fn starts_tag(text: &str) -> bool {
    let name = text.strip_prefix('<').unwrap_or_default();
    let name = name.strip_prefix('/').unwrap_or(name);
    name.starts_with(|char: char| char.is_ascii_alphabetic())
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0C')
}

/// Stretches that are left out.
struct Cuts<'a> {
    html: &'a str,
    out: String,
    copied: usize,
}

impl<'a> Cuts<'a> {
    fn new(html: &'a str) -> Self {
        Self {
            html,
            out: String::new(),
            copied: 0,
        }
    }

    /// The value of an attribute that is an address as a whole.
    fn address(&mut self, begin: usize, end: usize) {
        let value = self.html.get(begin..end).unwrap_or_default();
        let url = value.trim_start();
        let scheme = url.get(.."data:".len());
        if scheme.is_some_and(|scheme| is(scheme, "data:")) {
            self.content(end - url.len(), end);
        }
    }

    /// A style sheet, or a part of one: `data:` URLs in `url()`, if nothing in them ends a URL or a
    /// string.
    fn css(&mut self, begin: usize, end: usize) {
        const BEFORE: usize = 16;
        let css = self.html.get(begin..end).unwrap_or_default().as_bytes();
        for found in memmem::find_iter(css, b"data:") {
            let before = css.get(found.saturating_sub(BEFORE)..found);
            let before = before.unwrap_or_default().to_ascii_lowercase();
            if memmem::rfind(&before, b"url(").is_none() {
                continue;
            }
            let content = css.get(found..).unwrap_or_default().iter();
            let length = content.take_while(|byte| is_url_byte(**byte)).count();
            self.content(begin + found, begin + found + length);
        }
    }

    /// Leaves out what follows the comma of a `data:` URL.
    fn content(&mut self, begin: usize, end: usize) {
        let url = self.html.get(begin..end).unwrap_or_default().as_bytes();
        let head = url.get(..MAX_MEDIA_TYPE_BYTES).unwrap_or(url);
        let Some(comma) = memchr(b',', head) else {
            return;
        };
        let media_type = url.get("data:".len()..comma).unwrap_or_default();
        let is_binary = TYPES.iter().any(|one| {
            let start = media_type.get(..one.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(one.as_bytes()))
        });
        if !is_binary {
            return;
        }
        let from = begin + comma + 1;
        if from < self.copied || end - from < MIN_CONTENT_BYTES {
            return;
        }
        self.out
            .push_str(self.html.get(self.copied..from).unwrap_or_default());
        self.copied = end;
    }

    fn finish(mut self) -> Cow<'a, str> {
        if self.copied == 0 {
            return Cow::Borrowed(self.html);
        }
        self.out
            .push_str(self.html.get(self.copied..).unwrap_or_default());
        Cow::Owned(self.out)
    }
}

/// Bytes that neither end a URL in CSS nor need an escape there.
fn is_url_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=%-_.~:;,".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PICTURE: &str = "data:image/png;base64,";

    fn content() -> String {
        "iVBORw0KGgo".repeat(10_000)
    }

    #[test]
    fn contents_of_data_urls_are_left_out() {
        let content = content();
        for page in [
            "<img src=\"§\" alt=x>",
            "<img alt=x src=§>",
            "<IMG/SRC='§'>",
            "<td background=\"§\">text",
            "<p style=\"background:url(§)\">text",
            "<p style='background:url(\"§\")'>text",
            "<p style=\"background:url(&quot;§&quot;)\">text",
            "<style>p{background:url( '§' )}</style><p>text",
            "<!-- > --><img src='§'>",
            "<textarea></textareas></textarea><img src='§'>",
            "<a b\"c><img src='§'>",
            "<a =\"><img src='§'>",
            "<svg viewBox='0 0 1 1'><g><path d=M0/></g></svg><img src='§'>",
        ] {
            let long = page.replace('§', &format!("{PICTURE}{content}"));
            let short = page.replace('§', PICTURE);
            assert_eq!(without_data_urls(&long), short, "{page}");
            let mut shown = html::to_text(&long, 1_000);
            let cut = html::to_text(&short, 1_000);
            shown.cut = cut.cut;
            assert_eq!(shown.text, cut.text, "{page}");
        }
    }

    #[test]
    fn possibly_visible_content_is_not_cut() {
        let long = format!("{PICTURE}{}", content());
        for page in [
            "<p>§",
            "<img alt=\"§\">",
            "<input value='§'>",
            "<textarea><img src='§'></textarea>",
            "<title><img src='§'></title>",
            "<svg><![CDATA[<img src='§'>]]></svg>",
            "<svg><g><![CDATA[<img src='§'>]]></g></svg>",
            "<svg><p><textarea></svg><img src='§'>",
            "<svg><title><img src='§'></title></svg>",
            "<math><img src='§'></math>",
            "<xmp><img src='§'></xmp>",
            "<plaintext><img src='§'>",
            "<a title=\"<img src='§'>\">x",
            "< img src='§'>",
            "<a b=\"><img src='\">§",
            "<p style='content:\"§\"'>",
        ] {
            let page = page.replace('§', &long);
            assert_eq!(without_data_urls(&page), page);
        }
        let text = "Not a picture. ".repeat(10_000);
        let page = format!("<iframe src='data:text/html,{text}'></iframe>");
        assert_eq!(without_data_urls(&page), page);
        let short = "<img src='data:image/png;base64,AAAA'>";
        assert_eq!(without_data_urls(short), short);
    }

    #[test]
    fn picture_elements_are_counted() {
        for (page, want) in [
            ("<img src=a><IMG src=b><p>c", 2),
            ("<!-- <img> --><style><img></style><imgs>", 0),
            ("", 0),
        ] {
            assert_eq!(pictures(page), want, "{page}");
        }
    }

    #[test]
    fn hostile_pages_are_scanned_in_linear_time() {
        for piece in [
            "<",
            "<!--",
            "<!--a-->",
            "<!--a--!>",
            "<svg><g></svg>",
            "<![CDATA[",
            "<a b=\"",
            "<style>",
            "</",
            "<a ",
            "<a b=",
            "<p style='data:url(",
            "<textarea></",
            "<img src=data:,>",
            "url(data:",
            "=",
        ] {
            let page = piece.repeat(1_000_000 / piece.len());
            without_data_urls(&page);
            pictures(&page);
        }
    }

    proptest! {
        #[test]
        fn removing_data_urls_keeps_rendered_text(pieces in prop::collection::vec(prop::sample::select(vec![
            "<img src='§'>", "<p>", "text ", "<!--", "-->", "<style>", "</style>", "<textarea>",
            "</textarea>", "\"", "'", "<a href=\"", ">", "=", "<svg>", "</svg>", "<path d=M0>", "<iframe src=data:text/html,x></iframe>", "<title>", "</title>",
            "<![CDATA[", "]]>", "<p style=\"background:url(§)\">", "<script>", "</script>", "<!", "</p",
        ]), 0..20)) {
            let content = "A".repeat(400);
            let page = pieces.concat().replace('§', &format!("{PICTURE}{content}"));
            let padding = " ".repeat(MIN_HTML_BYTES);
            let page = format!("{page}{padding}");
            let short = without_data_urls(&page);
            prop_assert_eq!(html::to_text(&page, 100_000).text, html::to_text(&short, 100_000).text);
        }
    }
}
