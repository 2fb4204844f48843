//! The fields of an answer that HTML ends up in, and every string that a caller gets by default.

use content::{BodyWish, HtmlWish};
use mail::TextPrefix;

use crate::source;

/// Where the HTML stands, or what is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Field {
    /// The only part; the text is asked for.
    Body,
    /// The only part; text and sanitized HTML are asked for.
    Html,
    /// The only part, in a list with snippets.
    Snippet,
    /// The text of an attachment.
    Attachment,
    /// The body of a forwarded message.
    Forwarded,
    /// Beside a plain text of the same visible words.
    Alternative,
}

impl Field {
    pub(crate) const ALL: [Self; 6] = [
        Self::Body,
        Self::Html,
        Self::Snippet,
        Self::Attachment,
        Self::Forwarded,
        Self::Alternative,
    ];

    /// Whether an answer must warn of hidden text. What is not shown by default warns of nothing.
    pub(crate) fn tells(self) -> bool {
        !matches!(self, Self::Forwarded | Self::Alternative)
    }

    /// The strings that hold the HTML's visible text, when they are there.
    fn holds(self, place: &str) -> bool {
        match self {
            Self::Body => place == "body_text",
            Self::Html => place == "body_text" || place == "body_html",
            Self::Snippet => place == "snippet",
            Self::Attachment | Self::Forwarded => place == "extracted_text",
            Self::Alternative => place == "body_html",
        }
    }
}

/// Everything that comes out.
pub(crate) struct Outputs {
    field: Field,
    texts: Vec<(&'static str, String)>,
    /// The same texts without what is marked as uncertain.
    certain: Vec<(&'static str, String)>,
    told: bool,
    /// Something is marked as uncertain.
    pub(crate) is_uncertain: bool,
}

impl Outputs {
    pub(crate) fn of(html: &str, field: Field) -> Self {
        let part = format!(
            "Content-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n{html}"
        );
        match field {
            Field::Snippet => Self::snippet(html),
            Field::Body => Self::view(&format!("{HEADER}{part}"), HtmlWish::Skip, field),
            Field::Html => Self::view(&format!("{HEADER}{part}"), HtmlWish::Include, field),
            Field::Attachment => {
                let named = part.replacen(
                    "\r\n",
                    "; name=page.html\r\nContent-Disposition: attachment; filename=page.html\r\n",
                    1,
                );
                Self::view(
                    &mixed("mixed", &["\r\nsee the page", &named]),
                    HtmlWish::Skip,
                    field,
                )
            }
            Field::Forwarded => {
                let message = format!("Content-Type: message/rfc822\r\n\r\n{HEADER}{part}");
                Self::view(
                    &mixed("mixed", &["\r\nsee below", &message]),
                    HtmlWish::Skip,
                    field,
                )
            }
            Field::Alternative => {
                let plain = "Content-Type: text/plain; charset=utf-8\r\n\r\nplain words";
                Self::view(
                    &mixed("alternative", &[plain, &part]),
                    HtmlWish::Include,
                    field,
                )
            }
        }
    }

    /// Each string with its place. A place that held no text is not there.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.texts
            .iter()
            .map(|(place, text)| (*place, text.as_str()))
    }

    /// As [`Self::texts`], without what is marked as uncertain.
    pub(crate) fn certain_texts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.certain
            .iter()
            .map(|(place, text)| (*place, text.as_str()))
    }

    /// Whether a visible word is everywhere it should be.
    pub(crate) fn all_show(&self, word: &str) -> bool {
        let mut holding = self
            .texts()
            .filter(|(place, _)| self.field.holds(place))
            .peekable();
        let there = holding.peek().is_some() || self.field == Field::Forwarded;
        there && holding.all(|(_, text)| text.contains(word))
    }

    pub(crate) fn tells_of_hidden_text(&self) -> bool {
        self.told
    }

    fn snippet(html: &str) -> Self {
        let prefix = TextPrefix {
            header: format!("{HEADER}Content-Type: text/html; charset=utf-8\r\n\r\n").into(),
            text: html.to_owned().into(),
            truncated: false,
            structure: None,
        };
        // None where all of it may not be visible.
        let found = content::snippet(&prefix, 500);
        let told = found
            .as_ref()
            .is_none_or(|found| found.hidden > 0 || !found.changes.is_empty());
        let texts: Vec<_> = found
            .map(|found| ("snippet", found.text))
            .into_iter()
            .collect();
        Self {
            field: Field::Snippet,
            certain: texts.clone(),
            texts,
            told,
            is_uncertain: false,
        }
    }

    fn view(raw: &str, html: HtmlWish, field: Field) -> Self {
        let wish = BodyWish {
            offset: 0,
            max_chars: 100_000,
            html,
            attachment_text: Some(100_000),
            only: None,
        };
        let view = source::view(raw, &wish);
        let mut texts = Vec::new();
        let mut told = false;
        for note in &view.notes {
            told |= ["hidden_text_left_out", "uncertain_text"].contains(&note.code());
            texts.push(("a note", note.to_string()));
        }
        texts.extend(view.subject.map(|text| ("subject", text)));
        texts.extend(view.headers.into_iter().map(|(_, text)| ("a header", text)));
        let mut certain = texts.clone();
        let mut is_uncertain = false;
        let mut add = |place, text: String, runs: &[content::UncertainRun]| {
            is_uncertain |= !runs.is_empty();
            certain.push((place, source::without_uncertain(&text, runs)));
            texts.push((place, text));
        };
        for attachment in view.attachments {
            if let Some(text) = attachment.extracted_text {
                add("extracted_text", text, &attachment.uncertain_text);
            }
        }
        if let Some(text) = view.body_text {
            add("body_text", text, &view.uncertain_text);
        }
        if let Some(html) = view.body_html {
            certain.push(("body_html", without_marks(&html)));
            texts.push(("body_html", html));
        }
        Self {
            field,
            texts,
            certain,
            told,
            is_uncertain,
        }
    }
}

/// Sanitized HTML without what it marks as uncertain.
fn without_marks(html: &str) -> String {
    let mut out = String::new();
    for (nth, part) in html.split("<mark title=\"uncertain").enumerate() {
        let rest = match nth {
            0 => part,
            _ => part.split_once("</mark>").map_or("", |(_, rest)| rest),
        };
        out.push_str(rest);
    }
    out
}

const HEADER: &str = "Date: Tue, 03 Nov 2026 09:12:00 +0100\r\nFrom: Anna <anna@a.example>\r\nTo: bo@b.example\r\nSubject: Matrix\r\nMIME-Version: 1.0\r\n";

fn mixed(kind: &str, parts: &[&str]) -> String {
    let mut raw = format!("{HEADER}Content-Type: multipart/{kind}; boundary=\"=_m\"\r\n\r\n");
    for part in parts {
        raw.push_str(&format!("--=_m\r\n{part}\r\n"));
    }
    raw + "--=_m--\r\n"
}
