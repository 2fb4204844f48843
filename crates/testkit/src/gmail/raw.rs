//! What `X-GM-RAW` takes: the words of Gmail's search box, as far as tests need them. Never looks beyond the open mailbox, as
//! IMAP's answers are numbers in it.

use super::date;
use super::mime;
use super::place::Place;
use super::search::{Candidate, arrival_day};
use super::store::{FLAGGED, SEEN};

/// A question as typed, read. What is not known as an operator is a word.
#[derive(Debug)]
pub(super) struct Query(Vec<Vec<Term>>);

/// One term; a minus turns it around.
#[derive(Debug)]
struct Term {
    wanted: bool,
    test: Test,
}

#[derive(Debug)]
enum Test {
    Words(String),
    Field(&'static str, String),
    MessageId(String),
    Attachment,
    In(Place),
    /// A label of the user's own, as [`hyphened`] spells it.
    Labelled(String),
    Anywhere,
    Unread,
    Read,
    Starred,
    NewerThan(u64),
    OlderThan(u64),
    After(i64),
    Before(i64),
    Larger(usize),
    Smaller(usize),
    /// What the simulator cannot judge finds nothing, so that a test notices.
    Unknown,
}

impl Query {
    pub(super) fn read(text: &str) -> Self {
        let mut all: Vec<Vec<Term>> = Vec::new();
        let mut joined = false;
        for word in words(text) {
            // `OR` joins its two neighbours.
            if word == "OR" || word == "|" {
                joined = true;
                continue;
            }
            let term = Term::read(&word);
            match all.last_mut() {
                Some(last) if std::mem::take(&mut joined) => last.push(term),
                _ => all.push(vec![term]),
            }
        }
        Self(all)
    }

    pub(super) fn holds(&self, one: &Candidate<'_>) -> bool {
        self.0
            .iter()
            .all(|any| any.iter().any(|term| term.test.holds(one) == term.wanted))
    }
}

impl Term {
    fn read(word: &str) -> Self {
        let (wanted, word) = match word.strip_prefix('-') {
            Some(rest) if !rest.is_empty() => (false, rest),
            _ => (true, word),
        };
        let test = match word.split_once(':') {
            Some((operator, value)) => Test::read(&operator.to_ascii_lowercase(), value),
            None => None,
        };
        Self {
            wanted,
            test: test
                .unwrap_or_else(|| Test::Words(word.trim_matches(['(', ')', '"']).to_owned())),
        }
    }
}

impl Test {
    fn read(operator: &str, value: &str) -> Option<Self> {
        let value = value.trim_matches('"');
        Some(match operator {
            "from" => Self::Field("from", value.to_owned()),
            "to" => Self::Field("to", value.to_owned()),
            "cc" => Self::Field("cc", value.to_owned()),
            "subject" => Self::Field("subject", value.trim_matches(['(', ')']).to_owned()),
            "list" => Self::Field("list-id", value.to_owned()),
            "rfc822msgid" => Self::MessageId(value.trim_matches(['<', '>']).to_owned()),
            "has" if value.eq_ignore_ascii_case("attachment") => Self::Attachment,
            "label" | "in" => place(value),
            "is" => match value.to_ascii_lowercase().as_str() {
                "unread" => Self::Unread,
                "read" => Self::Read,
                "starred" => Self::Starred,
                "important" => Self::In(Place::Important),
                _ => Self::Unknown,
            },
            "newer_than" => span(value).map_or(Self::Unknown, Self::NewerThan),
            "older_than" => span(value).map_or(Self::Unknown, Self::OlderThan),
            "after" | "newer" => date::parse_slashed(value).map_or(Self::Unknown, Self::After),
            "before" | "older" => date::parse_slashed(value).map_or(Self::Unknown, Self::Before),
            "larger" | "size" => octets(value).map_or(Self::Unknown, Self::Larger),
            "smaller" => octets(value).map_or(Self::Unknown, Self::Smaller),
            "has" | "filename" | "category" | "deliveredto" => Self::Unknown,
            _ => return None,
        })
    }

    fn holds(&self, one: &Candidate<'_>) -> bool {
        let message = one.message;
        match self {
            Self::Words(words) => one.header_holds(words) || one.body_holds(words),
            Self::Field(name, words) => one.field_holds(name, words),
            Self::MessageId(id) => {
                let found = mime::field(message.header(), "message-id").unwrap_or_default();
                found.trim_matches(['<', '>']).eq_ignore_ascii_case(id)
            }
            Self::Attachment => message.part.has_attachment(&message.raw),
            Self::In(place) => message.labels().contains(place),
            Self::Labelled(name) => message.labels().iter().any(|label| match label {
                Place::Label(label) => hyphened(label) == *name,
                _ => false,
            }),
            Self::Anywhere => true,
            Self::Unread => !message.flags.contains(SEEN),
            Self::Read => message.flags.contains(SEEN),
            Self::Starred => message.flags.contains(FLAGGED),
            Self::NewerThan(seconds) => message.unix_time.saturating_add(*seconds) >= one.now,
            Self::OlderThan(seconds) => message.unix_time.saturating_add(*seconds) < one.now,
            Self::After(day) => arrival_day(message) >= *day,
            Self::Before(day) => arrival_day(message) < *day,
            Self::Larger(octets) => message.raw.len() > *octets,
            Self::Smaller(octets) => message.raw.len() < *octets,
            Self::Unknown => false,
        }
    }
}

/// Words, with what stands in quotes or brackets behind them.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let (mut quoted, mut depth) = (false, 0_u32);
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        match words.last_mut() {
            Some(word) if !c.is_whitespace() || quoted || depth > 0 => word.push(c),
            _ => words.push(String::new()),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn place(value: &str) -> Test {
    Test::In(match value.to_ascii_lowercase().as_str() {
        "anywhere" | "all" => return Test::Anywhere,
        "inbox" => Place::Inbox,
        "sent" => Place::Sent,
        "draft" | "drafts" => Place::Drafts,
        "spam" => Place::Spam,
        "trash" | "bin" => Place::Trash,
        "starred" => Place::Starred,
        "important" => Place::Important,
        _ => return Test::Labelled(hyphened(value)),
    })
}

/// In any case, with hyphens for blanks and slashes: the search box writes labels so.
fn hyphened(label: &str) -> String {
    label.to_lowercase().replace([' ', '/'], "-")
}

/// `2d`, `3m`, `1y`; hours too.
fn span(value: &str) -> Option<u64> {
    let (number, unit) = value.split_at_checked(value.len().checked_sub(1)?)?;
    let unit = match unit {
        "h" => 3_600,
        "d" => 86_400,
        "m" => 30 * 86_400,
        "y" => 365 * 86_400,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

fn octets(value: &str) -> Option<usize> {
    let lower = value.to_ascii_lowercase();
    let (number, unit) = match (lower.strip_suffix('k'), lower.strip_suffix('m')) {
        (Some(number), _) => (number, 1 << 10),
        (_, Some(number)) => (number, 1 << 20),
        _ => (lower.as_str(), 1),
    };
    number.parse::<usize>().ok()?.checked_mul(unit)
}
