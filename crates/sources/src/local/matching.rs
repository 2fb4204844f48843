//! Whether a message meets conditions, asked in the order of cost: what its place tells, header, text.

use std::io;

use bytes::Bytes;
use content::{BodyWish, Changes, HtmlWish, View};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use mail::{Address, Condition, Envelope, Fault, FaultKind, Flag, Stage};

use super::loaded::Loaded;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
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
    only: None,
};

/// Conditions nest this deep at most.
const MOST_DEPTH: usize = 16;

/// A condition, its words in lower case.
pub(crate) struct Test(Condition);

impl Test {
    pub(crate) fn new(condition: &Condition) -> Result<Self, Fault> {
        let too_deep = || {
            let why = "the conditions nest too deep";
            Fault::saying(FaultKind::Rejected, Stage::Search, why)
        };
        Ok(Self(lowered(condition, MOST_DEPTH).ok_or_else(too_deep)?))
    }

    /// Whether a message's size decides anything in it.
    pub(crate) fn asks_for_size(&self) -> bool {
        asks_for_size(&self.0)
    }
}

/// Conditions were found to nest no deeper than [`MOST_DEPTH`].
fn asks_for_size(condition: &Condition) -> bool {
    match condition {
        Condition::Larger(_) | Condition::Smaller(_) => true,
        Condition::All(each) | Condition::Any(each) => each.iter().any(asks_for_size),
        Condition::Not(one) => asks_for_size(one),
        _ => false,
    }
}

/// A message that is looked at only as far as it must be.
pub(crate) trait Subject {
    /// Without opening it; so is the next.
    fn flags(&self) -> Vec<Flag>;
    fn arrived(&self) -> Option<Timestamp>;
    /// None when it is gone by now.
    fn open(&mut self) -> io::Result<Option<Opening>>;
    /// All of it. None when it is gone by now.
    fn read(&mut self) -> io::Result<Option<Loaded>>;
}

/// What the beginning of a message tells.
pub(crate) struct Opening {
    /// Absent where only all of it tells.
    pub(crate) size: Option<u64>,
    pub(crate) envelope: Envelope,
    /// Absent where the store knows the envelope without it.
    pub(crate) header: Option<Bytes>,
}

/// What each test makes of a message, which is opened only if it must be, and once. Fails only when nobody waits.
pub(crate) fn judge(tests: &[Test], subject: &mut dyn Subject) -> io::Result<Vec<Verdict>> {
    let mut look = Look {
        flags: subject.flags(),
        arrived: subject.arrived(),
        ..Look::default()
    };
    let mut met: Vec<Option<bool>> = tests.iter().map(|test| meets(&test.0, &look)).collect();
    for deeper in [Look::open, Look::read] {
        if met.iter().all(Option::is_some) {
            break;
        }
        match deeper(&mut look, subject) {
            Ok(Presence::There) => {}
            Ok(Presence::Gone) => {
                met.iter_mut().for_each(|one| *one = one.or(Some(false)));
                break;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
            Err(_) => break,
        }
        for (one, test) in met.iter_mut().zip(tests) {
            *one = one.or_else(|| meets(&test.0, &look));
        }
    }
    let verdict = |one: Option<bool>| one.map_or(Verdict::Unknown, Verdict::from);
    Ok(met.into_iter().map(verdict).collect())
}

/// What is known of a message so far.
#[derive(Default)]
struct Look {
    flags: Vec<Flag>,
    arrived: Option<Timestamp>,
    size: Option<u64>,
    envelope: Option<Envelope>,
    header: Option<Bytes>,
    view: Option<View>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Presence {
    There,
    /// Since it was listed.
    Gone,
}

impl Look {
    /// Its size and its header.
    fn open(&mut self, subject: &mut dyn Subject) -> io::Result<Presence> {
        let Some(opening) = subject.open()? else {
            return Ok(Presence::Gone);
        };
        self.size = opening.size;
        self.envelope = Some(opening.envelope);
        self.header = opening.header;
        Ok(Presence::There)
    }

    /// All of it that a reader could see.
    fn read(&mut self, subject: &mut dyn Subject) -> io::Result<Presence> {
        let Some(loaded) = subject.read()? else {
            return Ok(Presence::Gone);
        };
        self.size = Some(loaded.size());
        let parts = content::choose(&loaded.structure, &EVERYTHING);
        let fetched = loaded.fetched(&parts);
        let known = content::Known::default();
        self.view = Some(content::view(&fetched, &EVERYTHING, &known));
        Ok(Presence::There)
    }

    /// The day of delivery in UTC.
    fn day(&self) -> Option<Date> {
        Some(TimeZone::UTC.to_datetime(self.arrived?).date())
    }
}

/// `None` as long as that cannot be told.
fn meets(condition: &Condition, look: &Look) -> Option<bool> {
    let among = |list: fn(&Envelope) -> &[Address], word: &str| {
        let envelope = look.envelope.as_ref()?;
        Some(is_among(list(envelope), word))
    };
    match condition {
        Condition::All(each) => all(each, look),
        Condition::Any(any) => self::any(any, look),
        Condition::Not(one) => meets(one, look).map(|meets| !meets),
        Condition::From(word) => among(|envelope| &envelope.from, word),
        Condition::To(word) => among(|envelope| &envelope.to, word),
        Condition::Cc(word) => among(|envelope| &envelope.cc, word),
        Condition::Subject(word) => {
            let subject = look.envelope.as_ref()?.subject.as_ref();
            let shown = subject.map(|raw| content::header_text(raw, &mut Changes::default()));
            Some(shown.is_some_and(|shown| holds(&shown, word)))
        }
        Condition::Header { name, holds: word } => {
            let header = look.header.as_ref()?;
            let is_written = content::field_texts(header, name).any(|text| holds(&text, word));
            Some(is_written || content::values(header, name).any(|value| holds(&value, word)))
        }
        Condition::Text(word) => Some(is_within(look.view.as_ref()?, word)),
        Condition::Larger(octets) => Some(look.size? > *octets),
        Condition::Smaller(octets) => Some(look.size? < *octets),
        Condition::Since(date) => Some(look.day().is_some_and(|day| day >= *date)),
        Condition::Before(date) => Some(look.day().is_some_and(|day| day < *date)),
        Condition::Flagged(flag) => {
            let flags = &look.flags;
            Some(flags.iter().any(|one| one.is(flag.as_str())))
        }
        // No store here has a search of its own.
        Condition::StoreSearch(_) => Some(false),
    }
}

fn all(each: &[Condition], look: &Look) -> Option<bool> {
    let mut known = true;
    for one in each {
        match meets(one, look) {
            Some(true) => {}
            Some(false) => return Some(false),
            None => known = false,
        }
    }
    known.then_some(true)
}

fn any(any: &[Condition], look: &Look) -> Option<bool> {
    let mut known = true;
    for one in any {
        match meets(one, look) {
            Some(true) => return Some(true),
            Some(false) => {}
            None => known = false,
        }
    }
    known.then_some(false)
}

/// `None` when it nests too deep.
fn lowered(condition: &Condition, depth: usize) -> Option<Condition> {
    let depth = depth.checked_sub(1)?;
    let each = |list: &[Condition]| {
        list.iter()
            .map(|one| lowered(one, depth))
            .collect::<Option<Vec<_>>>()
    };
    Some(match condition {
        Condition::All(list) => Condition::All(each(list)?),
        Condition::Any(list) => Condition::Any(each(list)?),
        Condition::Not(one) => Condition::Not(Box::new(lowered(one, depth)?)),
        Condition::From(word) => Condition::From(word.to_lowercase()),
        Condition::To(word) => Condition::To(word.to_lowercase()),
        Condition::Cc(word) => Condition::Cc(word.to_lowercase()),
        Condition::Subject(word) => Condition::Subject(word.to_lowercase()),
        Condition::Text(word) => Condition::Text(word.to_lowercase()),
        Condition::Header { name, holds } => Condition::Header {
            name: name.clone(),
            holds: holds.to_lowercase(),
        },
        wordless @ (Condition::Larger(_)
        | Condition::Smaller(_)
        | Condition::Since(_)
        | Condition::Before(_)
        | Condition::Flagged(_)) => wordless.clone(),
        Condition::StoreSearch(_) => return None,
    })
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
fn is_among(addresses: &[Address], word: &str) -> bool {
    addresses.iter().any(|address| {
        content::addresses(std::slice::from_ref(address), &mut Changes::default())
            .is_some_and(|shown| holds(&shown, word))
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
