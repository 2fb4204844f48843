//! Whether a message fits a query, asked in the order of cost: name, header, text.

use std::io;

use content::{BodyWish, Changes, HtmlWish, View};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use mail::{Address, Query};

use super::message::Loaded;
use super::open::Opened;
use super::scan::Entry;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    Match,
    No,
    /// It could not be looked at.
    Unknown,
}

/// Text is searched as far as `content` would show it: about a megabyte of each part.
const EVERYTHING: BodyWish = BodyWish {
    offset: 0,
    max_chars: 1_000_000,
    html: HtmlWish::Skip,
    attachment_text: Some(1_000_000),
};

/// A query, its words in lower case.
pub(super) struct Conditions {
    text: Option<String>,
    from: Option<String>,
    to: Option<String>,
    subject: Option<String>,
    unread_only: bool,
    since: Option<Date>,
    until: Option<Date>,
}

impl Conditions {
    pub(super) fn new(query: &Query) -> Self {
        let lower = |word: &Option<String>| word.as_deref().map(str::to_lowercase);
        Self {
            text: lower(&query.text),
            from: lower(&query.from),
            to: lower(&query.to),
            subject: lower(&query.subject),
            unread_only: query.unread_only,
            since: query.since,
            until: query.until,
        }
    }

    /// What the file name tells: read or not, and the day of delivery in UTC.
    pub(super) fn by_name(&self, entry: &Entry) -> Verdict {
        let day = entry
            .arrived()
            .map(|time| TimeZone::UTC.to_datetime(time).date());
        let fits = (!self.unread_only || entry.is_unread())
            && self
                .since
                .is_none_or(|since| day.is_some_and(|day| day >= since))
            && self
                .until
                .is_none_or(|until| day.is_some_and(|day| day <= until));
        Verdict::from(fits)
    }

    /// Whether a name is not enough.
    pub(super) fn read_files(&self) -> bool {
        self.reads_header() || self.text.is_some()
    }

    pub(super) fn by_content(&self, opened: &mut Opened) -> io::Result<Verdict> {
        let Some(word) = &self.text else {
            return Ok(self.by_header(&opened.beginning(0)?.header));
        };
        let loaded = Loaded::read(opened)?;
        let parts = content::choose(&loaded.structure, &EVERYTHING);
        let fetched = loaded.fetched(&parts);
        if self.by_header(&fetched.header) == Verdict::No {
            return Ok(Verdict::No);
        }
        Ok(Verdict::from(is_within(
            &content::view(&fetched, &EVERYTHING, &content::Known::default()),
            word,
        )))
    }

    fn reads_header(&self) -> bool {
        self.from.is_some() || self.to.is_some() || self.subject.is_some()
    }

    fn by_header(&self, header: &[u8]) -> Verdict {
        if !self.reads_header() {
            return Verdict::Match;
        }
        let envelope = content::envelope(header);
        let subject = || {
            let raw = envelope.subject.as_ref()?;
            Some(content::header_text(raw, &mut Changes::default()))
        };
        let fits = is_among(&envelope.from, self.from.as_deref())
            && is_among(&envelope.to, self.to.as_deref())
            && self
                .subject
                .as_deref()
                .is_none_or(|word| subject().is_some_and(|subject| holds(&subject, word)));
        Verdict::from(fits)
    }
}

impl From<bool> for Verdict {
    fn from(fits: bool) -> Self {
        if fits { Self::Match } else { Self::No }
    }
}

/// Case-insensitive in every script that has cases; `word` is in lower case.
fn holds(text: &str, word: &str) -> bool {
    text.to_lowercase().contains(word)
}

/// One by one: a written list of addresses is cut when it is long.
fn is_among(addresses: &[Address], word: Option<&str>) -> bool {
    word.is_none_or(|word| {
        addresses.iter().any(|address| {
            content::addresses(std::slice::from_ref(address), &mut Changes::default())
                .is_some_and(|shown| holds(&shown, word))
        })
    })
}

/// In a header field, in the body, or in a text attachment: what a reader could see, and nothing hidden.
fn is_within(view: &View, word: &str) -> bool {
    let attached = || {
        view.attachments
            .iter()
            .filter_map(|a| a.extracted_text.as_deref())
    };
    view.headers
        .iter()
        .any(|(name, value)| holds(&format!("{name}: {value}"), word))
        || view.body_text.iter().any(|text| holds(text, word))
        || attached().any(|text| holds(text, word))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &[u8] = b"From: =?iso-8859-1?Q?J=FCrgen_Wei=DF?= <juergen@kettenwerk.example>\r\n\
        To: a@b.example, Anna =?utf-8?B?w5ZrYWZvcg==?= <anna@kettenwerk.example>\r\n\
        Subject: =?utf-8?Q?=C3=9Cberblick?=\r\n =?utf-8?Q?_Stand?=\r\nX-Odd: Folded\r\n\tValue\r\n\r\n";

    fn query(field: &str, word: &str) -> Query {
        let word = Some(word.to_owned());
        let mut query = Query::default();
        match field {
            "from" => query.from = word,
            "to" => query.to = word,
            _ => query.subject = word,
        }
        query
    }

    #[test]
    fn decoded_headers_match_in_any_case() {
        for (field, word, want) in [
            ("from", "JÜRGEN", Verdict::Match),
            ("from", "weiß", Verdict::Match),
            ("from", "kettenwerk.EXAMPLE", Verdict::Match),
            ("from", "anna", Verdict::No),
            ("from", "=?iso", Verdict::No),
            ("to", "ökafor", Verdict::Match),
            ("to", "a@b", Verdict::Match),
            ("to", "jürgen", Verdict::No),
            ("subject", "überblick stand", Verdict::Match),
            ("subject", "folded", Verdict::No),
        ] {
            let conditions = Conditions::new(&query(field, word));
            assert_eq!(conditions.by_header(HEADER), want, "{field} {word}");
        }
    }

    #[test]
    fn text_is_looked_for_where_a_reader_would_see_it() {
        let view = View {
            headers: vec![("X-Odd".to_owned(), "Folded Value".to_owned())],
            body_text: Some("Grüße aus der Halle".to_owned()),
            ..View::default()
        };
        for (word, want) in [
            ("folded value", true),
            ("x-odd: f", true),
            ("grüße", true),
            ("zebra", false),
        ] {
            assert_eq!(is_within(&view, word), want, "{word}");
        }
    }
}
