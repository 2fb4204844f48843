//! Visible HTML as plain text: blocks become lines, lists get marks, cells a bar, links their host.

use html5ever::{local_name, ns};

use crate::UncertainRun;
use crate::dom::Element;
use crate::link;
use crate::verdict::Reason;
use crate::walk::{BoxKind, Sink, WhiteSpaceMode};

const MAX_QUOTE_LEVELS: usize = 5;
const MAX_INDENT_LEVELS: usize = 8;
/// Links and hosts that are remembered.
const MAX_LINKS: usize = 50;
const MAX_TARGETS: usize = 2_000;

#[derive(Default)]
pub(crate) struct TextWriter {
    out: String,
    /// Characters of room left; blanks and line breaks count too.
    room: usize,
    gap: Gap,
    /// Whether a blank stands between the last word and the next.
    space: bool,
    quotes: usize,
    /// Quotes around the last word.
    quoted: usize,
    /// For each open list its next number; none for a list of bullets.
    lists: Vec<Option<u32>>,
    /// A list mark that waits for its text.
    mark: Option<String>,
    /// Where the text of each open link begins, and the host.
    links: Vec<OpenLink>,
    /// A heading waits for its text.
    heading: Option<usize>,
    /// Why the text at hand may not be seen.
    doubt: Option<Reason>,
    /// Characters written.
    written: usize,
    uncertain: Vec<UncertainRun>,
    pub(crate) seen: Links,
}

/// A link whose end has not come yet.
#[derive(Debug)]
struct OpenLink {
    /// Where its text begins, in bytes.
    start: usize,
    /// The same in characters.
    start_char: usize,
    host: Option<String>,
}

/// Where the links of a page lead.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Links {
    pub hosts: Vec<String>,
    /// The addresses themselves.
    pub targets: Vec<String>,
    /// Links whose text names another host: the host it reads and the host it leads to, both as
    /// [`crate::shown_host`] shows them.
    pub misnamed: Vec<(String, String)>,
}

/// What has to stand before the next word.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Gap {
    #[default]
    None,
    /// The next cell of a row.
    Bar,
    Line,
    Paragraph,
}

impl Links {
    pub fn merge(&mut self, other: &Self) {
        for host in &other.hosts {
            if self.hosts.len() < MAX_LINKS && !self.hosts.contains(host) {
                self.hosts.push(host.clone());
            }
        }
        let room = MAX_TARGETS.saturating_sub(self.targets.len());
        self.targets
            .extend(other.targets.iter().take(room).cloned());
        for pair in &other.misnamed {
            if self.misnamed.len() < MAX_LINKS && !self.misnamed.contains(pair) {
                self.misnamed.push(pair.clone());
            }
        }
    }
}

impl TextWriter {
    pub(crate) fn new(max_chars: usize) -> Self {
        Self {
            room: max_chars,
            ..Self::default()
        }
    }

    pub(crate) fn finish(self) -> (String, Vec<UncertainRun>, Links) {
        (self.out, self.uncertain, self.seen)
    }

    /// Marks what was written since `start`, and joins it with what stands one blank before it.
    fn mark(&mut self, start: usize, reason: Reason) {
        let end = self.written;
        if start == end {
            return;
        }
        match self.uncertain.last_mut() {
            Some(last) if last.reason == reason && start <= last.end + 1 => last.end = end,
            _ => self.uncertain.push(UncertainRun { start, end, reason }),
        }
    }

    fn widen(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
    }

    fn push(&mut self, text: &str) {
        let count = text.chars().count();
        let taken = count.min(self.room);
        let kept = if taken == count {
            text
        } else {
            let end = text
                .char_indices()
                .nth(taken)
                .map_or(text.len(), |(at, _)| at);
            text.get(..end).unwrap_or_default()
        };
        self.room -= taken;
        self.written += taken;
        self.out.push_str(kept);
    }

    /// Everything that waits for a word to follow. Returns where the marks of its line begin.
    fn before_word(&mut self) -> usize {
        let gap = std::mem::take(&mut self.gap);
        let space = std::mem::take(&mut self.space);
        let fresh = self.out.is_empty() || gap >= Gap::Line;
        if !self.out.is_empty() {
            match gap {
                Gap::None if space => self.push(" "),
                Gap::None => {}
                Gap::Bar => self.push(" | "),
                Gap::Line => self.push("\n"),
                Gap::Paragraph => {
                    self.push("\n");
                    // The blank line belongs to the quote only when both its neighbours do.
                    let around = self.quotes.min(self.quoted).min(MAX_QUOTE_LEVELS);
                    self.push(">".repeat(around).as_str());
                    self.push("\n");
                }
            }
        }
        self.quoted = self.quotes;
        let start = self.written;
        let is_plain = self.quotes == 0 && self.lists.is_empty();
        if fresh && !(is_plain && self.mark.is_none() && self.heading.is_none()) {
            self.push("> ".repeat(self.quotes.min(MAX_QUOTE_LEVELS)).as_str());
            let indent = self.lists.len().saturating_sub(1).min(MAX_INDENT_LEVELS);
            self.push("  ".repeat(indent).as_str());
            if let Some(mark) = self.mark.take() {
                self.push(&mark);
            }
            if let Some(level) = self.heading.take() {
                self.push("###".get(..level).unwrap_or_default());
                self.push(" ");
            }
        }
        start
    }

    fn word(&mut self, word: &str) {
        let start = self.before_word();
        self.push(word);
        if let Some(reason) = self.doubt {
            self.mark(start, reason);
        }
    }

    fn preformatted(&mut self, text: &str) {
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                // Blank lines count here: a second break opens a paragraph.
                self.gap = if self.gap >= Gap::Line {
                    Gap::Paragraph
                } else {
                    Gap::Line
                };
            }
            let line = line.trim_end();
            if !line.is_empty() {
                self.word(line);
            }
        }
    }

    fn remember(&mut self, element: &Element) {
        let target = element.attribute(&local_name!("href")).map(str::trim);
        if let Some(target) = target
            && self.seen.targets.len() < MAX_TARGETS
            && target.len() <= 2_000
        {
            self.seen.targets.push(target.to_owned());
        }
    }

    fn end_link(&mut self) {
        let Some(OpenLink {
            start,
            start_char,
            host: Some(host),
        }) = self.links.pop()
        else {
            return;
        };
        let text = self.out.get(start..).unwrap_or_default().trim().to_owned();
        if text.is_empty() {
            return;
        }
        // The host of a link that may not be visible is no more visible than its text.
        let last = self.uncertain.last().filter(|run| run.end > start_char);
        if let Some(reason) = last.map(|run| run.reason) {
            if !link::names(&text, &host) {
                let from = self.written;
                self.push(&format!(" ({})", link::shown(&host)));
                self.mark(from, reason);
            }
            return;
        }
        if let Some(named) = link::other_host(&text, &host)
            && self.seen.misnamed.len() < MAX_LINKS
        {
            let pair = (link::shown(&named).into(), link::shown(&host).into());
            self.seen.misnamed.push(pair);
        }
        if !link::names(&text, &host) {
            self.push(&format!(" ({})", link::shown(&host)));
        }
        if self.seen.hosts.len() < MAX_LINKS && !self.seen.hosts.contains(&host) {
            self.seen.hosts.push(host);
        }
    }

    /// What has to stand before and behind an element.
    fn gap(element: &Element, layout: BoxKind) -> Option<Gap> {
        match layout {
            BoxKind::Inline => None,
            BoxKind::Cell => Some(Gap::Bar),
            BoxKind::Row => match *element.local() {
                local_name!("table") => Some(Gap::Paragraph),
                local_name!("tbody") | local_name!("thead") | local_name!("tfoot") => None,
                _ => Some(Gap::Line),
            },
            BoxKind::Block => Some(match *element.local() {
                local_name!("address")
                | local_name!("article")
                | local_name!("aside")
                | local_name!("blockquote")
                | local_name!("dir")
                | local_name!("dl")
                | local_name!("figure")
                | local_name!("footer")
                | local_name!("h1")
                | local_name!("h2")
                | local_name!("h3")
                | local_name!("h4")
                | local_name!("h5")
                | local_name!("h6")
                | local_name!("header")
                | local_name!("hr")
                | local_name!("main")
                | local_name!("menu")
                | local_name!("nav")
                | local_name!("ol")
                | local_name!("p")
                | local_name!("pre")
                | local_name!("section")
                | local_name!("ul") => Gap::Paragraph,
                _ => Gap::Line,
            }),
        }
    }
}

impl Sink for TextWriter {
    fn open(&mut self, element: &Element, layout: BoxKind) {
        let name = element.local();
        let is_list = element.is_html()
            && matches!(
                *name,
                local_name!("ul") | local_name!("ol") | local_name!("menu") | local_name!("dir")
            );
        if let Some(gap) = Self::gap(element, layout) {
            // A list inside a list opens no paragraph.
            let nested = is_list && !self.lists.is_empty();
            match gap {
                Gap::Bar if self.out.is_empty() => {}
                _ if nested => self.widen(Gap::Line),
                _ => self.widen(gap),
            }
        }
        if element.name.ns != ns!(html) {
            return;
        }
        match *name {
            local_name!("br") => {
                self.gap = if self.gap >= Gap::Line {
                    Gap::Paragraph
                } else {
                    Gap::Line
                };
            }
            local_name!("hr") => self.widen(Gap::Paragraph),
            // Ruby text stands above its base.
            local_name!("rt") => self.space = true,
            local_name!("blockquote") => self.quotes += 1,
            local_name!("ul") | local_name!("menu") | local_name!("dir") => self.lists.push(None),
            local_name!("ol") => {
                let start = element.attribute(&local_name!("start"));
                let start = start.and_then(|n| n.trim().parse().ok());
                self.lists.push(Some(start.unwrap_or(1)));
            }
            local_name!("li") => {
                self.mark = Some(match self.lists.last_mut() {
                    Some(Some(number)) => {
                        let mark = format!("{number}. ");
                        *number = number.saturating_add(1);
                        mark
                    }
                    _ => "- ".to_owned(),
                });
            }
            local_name!("h1") => self.heading = Some(1),
            local_name!("h2") => self.heading = Some(2),
            local_name!("h3") | local_name!("h4") | local_name!("h5") | local_name!("h6") => {
                self.heading = Some(3);
            }
            local_name!("a") => {
                self.remember(element);
                let host = element.attribute(&local_name!("href")).and_then(link::host);
                self.links.push(OpenLink {
                    start: self.out.len(),
                    start_char: self.written,
                    host,
                });
            }
            _ => {}
        }
    }

    fn close(&mut self, element: &Element, layout: BoxKind) {
        if element.name.ns == ns!(html) {
            match *element.local() {
                local_name!("blockquote") => self.quotes = self.quotes.saturating_sub(1),
                local_name!("ul")
                | local_name!("ol")
                | local_name!("menu")
                | local_name!("dir") => {
                    self.lists.pop();
                }
                local_name!("li") => self.mark = None,
                local_name!("rt") => self.space = true,
                local_name!("h1")
                | local_name!("h2")
                | local_name!("h3")
                | local_name!("h4")
                | local_name!("h5")
                | local_name!("h6") => self.heading = None,
                local_name!("a") => self.end_link(),
                _ => {}
            }
        }
        let is_list = matches!(*element.local(), local_name!("ul") | local_name!("ol"));
        match Self::gap(element, layout) {
            // The next cell opens its own bar.
            Some(Gap::Bar) | None => {}
            Some(_) if is_list && !self.lists.is_empty() => self.widen(Gap::Line),
            Some(gap) => self.widen(gap),
        }
    }

    fn pass(&mut self, layout: BoxKind) {
        if layout != BoxKind::Inline {
            self.widen(Gap::Line);
        }
    }

    fn picture(&mut self, _: &Element, alt: &str, doubt: Option<Reason>) {
        self.doubt = doubt;
        if !alt.is_empty() {
            self.word(&format!("[{alt}]"));
        }
    }

    fn text(&mut self, text: &str, space: WhiteSpaceMode, doubt: Option<Reason>) {
        self.doubt = doubt;
        if space == WhiteSpaceMode::Kept {
            return self.preformatted(text);
        }
        self.space |= text.starts_with(char::is_whitespace);
        for word in text.split_whitespace() {
            if self.is_full() {
                return;
            }
            self.word(word);
            self.space = true;
        }
        self.space = text.ends_with(char::is_whitespace) || self.space && text.trim().is_empty();
    }

    fn is_full(&self) -> bool {
        self.room == 0
    }
}
