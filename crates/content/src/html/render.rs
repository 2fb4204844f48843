//! Visible HTML as plain text: blocks become lines, lists get marks, cells a bar, links their host.

use super::link;
use super::walk::{Sink, Tag, is_block};

const MOST_QUOTES: usize = 5;
const MOST_INDENT: usize = 8;

#[derive(Default)]
pub(super) struct Render {
    out: String,
    /// Characters of room left; blanks and line breaks count too.
    room: usize,
    gap: Gap,
    /// Whether a blank stands between the last word and the next.
    space: bool,
    quotes: usize,
    /// Quotes around the last word.
    quoted: usize,
    pre: usize,
    /// For each open list its next number; none for a list of bullets.
    lists: Vec<Option<u32>>,
    /// A list mark that waits for its text.
    mark: Option<String>,
    /// Where the text of each open link begins, and the host.
    links: Vec<(usize, Option<String>)>,
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

impl Render {
    pub(super) fn new(max_chars: usize) -> Self {
        Self {
            room: max_chars,
            ..Self::default()
        }
    }

    pub(super) fn finish(self) -> String {
        self.out
    }

    fn widen(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
    }

    fn push(&mut self, text: &str) {
        let mut chars = text.chars();
        self.room -= chars.by_ref().take(self.room).count();
        let kept = text.len() - chars.as_str().len();
        self.out.push_str(text.get(..kept).unwrap_or_default());
    }

    /// Everything that waits for a word to follow.
    fn before_word(&mut self) {
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
                    let around = self.quotes.min(self.quoted).min(MOST_QUOTES);
                    self.push(">".repeat(around).as_str());
                    self.push("\n");
                }
            }
        }
        self.quoted = self.quotes;
        if fresh {
            self.push("> ".repeat(self.quotes.min(MOST_QUOTES)).as_str());
            let indent = self.lists.len().saturating_sub(1).min(MOST_INDENT);
            self.push("  ".repeat(indent).as_str());
            if let Some(mark) = self.mark.take() {
                self.push(&mark);
            }
        }
    }

    fn word(&mut self, word: &str) {
        self.before_word();
        self.push(word);
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

    fn end_link(&mut self) {
        let Some((from, Some(host))) = self.links.pop() else {
            return;
        };
        let text = self.out.get(from..).unwrap_or_default().trim();
        if !text.is_empty() && !link::names(text, &host) {
            self.push(&format!(" ({host})"));
        }
    }

    fn block_gap(name: &str) -> Option<Gap> {
        match name {
            "div" | "tr" | "li" | "dt" | "dd" | "center" | "option" | "caption" | "body"
            | "fieldset" | "form" | "summary" | "details" => Some(Gap::Line),
            _ if is_block(name) => Some(Gap::Paragraph),
            _ => None,
        }
    }
}

impl Sink for Render {
    fn open(&mut self, tag: &Tag) {
        let name = tag.name.as_str();
        if let Some(gap) = Self::block_gap(name) {
            // A list inside a list opens no paragraph.
            let nested = matches!(name, "ul" | "ol") && !self.lists.is_empty();
            self.widen(if nested { Gap::Line } else { gap });
        }
        match name {
            "td" | "th" if !self.out.is_empty() => self.widen(Gap::Bar),
            "blockquote" => self.quotes += 1,
            "pre" => self.pre += 1,
            "ul" | "menu" | "dir" => self.lists.push(None),
            "ol" => {
                let start = tag.attribute("start").and_then(|n| n.trim().parse().ok());
                self.lists.push(Some(start.unwrap_or(1)));
            }
            "li" => {
                self.mark = Some(match self.lists.last_mut() {
                    Some(Some(number)) => {
                        let mark = format!("{number}. ");
                        *number = number.saturating_add(1);
                        mark
                    }
                    _ => "- ".to_owned(),
                });
            }
            "a" => {
                let host = tag.attribute("href").and_then(link::host);
                self.links.push((self.out.len(), host));
            }
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "blockquote" => self.quotes = self.quotes.saturating_sub(1),
            "pre" => self.pre = self.pre.saturating_sub(1),
            "ul" | "ol" | "menu" | "dir" => {
                self.lists.pop();
            }
            "li" => self.mark = None,
            "a" => self.end_link(),
            _ => {}
        }
        if let Some(gap) = Self::block_gap(name) {
            let nested = matches!(name, "ul" | "ol") && !self.lists.is_empty();
            self.widen(if nested { Gap::Line } else { gap });
        }
    }

    fn void(&mut self, tag: &Tag) {
        match tag.name.as_str() {
            "br" => {
                self.gap = if self.gap >= Gap::Line {
                    Gap::Paragraph
                } else {
                    Gap::Line
                };
            }
            "hr" => self.widen(Gap::Paragraph),
            "img" => {
                let alt = tag.attribute("alt").unwrap_or_default();
                let alt = alt.split_whitespace().collect::<Vec<_>>().join(" ");
                if !alt.is_empty() {
                    self.word(&format!("[{alt}]"));
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.pre > 0 {
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
