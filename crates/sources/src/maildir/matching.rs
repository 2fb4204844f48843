//! Whether a message meets conditions, asked in the order of cost: name, header, text.

use std::io;

use bytes::Bytes;
use content::{BodyWish, Changes, HtmlWish, View};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use mail::{Address, Condition, Envelope, Fault, FaultKind, Stage};

use super::message::Loaded;
use super::open::Shelf;
use super::scan::{Entry, Sharing};

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
    only: None,
};

/// Conditions nest this deep at most.
const MOST_DEPTH: usize = 16;

/// A condition, its words in lower case.
pub(super) struct Test(Condition);

impl Test {
    pub(super) fn new(condition: &Condition) -> Result<Self, Fault> {
        let too_deep = || {
            let why = "the conditions nest too deep";
            Fault::saying(FaultKind::Rejected, Stage::Search, why)
        };
        Ok(Self(lowered(condition, MOST_DEPTH).ok_or_else(too_deep)?))
    }
}

/// What each test makes of a message, which is opened only if it must be, and once. Fails only when nobody waits.
pub(super) fn judge(
    tests: &[Test],
    entry: &Entry,
    shelf: &mut Shelf<'_>,
) -> io::Result<Vec<Verdict>> {
    let mut look = Look::at(entry);
    let mut met: Vec<Option<bool>> = tests.iter().map(|test| meets(&test.0, &look)).collect();
    for deeper in [Look::open, Look::read] {
        // INVARIANT: a uid that several files share opens none of them.
        if met.iter().all(Option::is_some) || entry.sharing == Sharing::Shared {
            break;
        }
        match deeper(&mut look, shelf) {
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
struct Look<'a> {
    entry: &'a Entry,
    size: Option<u64>,
    envelope: Option<Envelope>,
    header: Option<Bytes>,
    view: Option<View>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Presence {
    There,
    /// Since the scan.
    Gone,
}

impl<'a> Look<'a> {
    fn at(entry: &'a Entry) -> Self {
        Self {
            entry,
            size: None,
            envelope: None,
            header: None,
            view: None,
        }
    }

    /// Its size and its header.
    fn open(&mut self, shelf: &mut Shelf<'_>) -> io::Result<Presence> {
        let read = shelf.read(self.entry, |opened| {
            Ok((opened.beginning(0)?.header, opened.size))
        })?;
        let Some((header, size)) = read else {
            return Ok(Presence::Gone);
        };
        self.size = Some(size);
        self.envelope = Some(content::envelope(&header));
        self.header = Some(header);
        Ok(Presence::There)
    }

    /// All of it that a reader could see.
    fn read(&mut self, shelf: &mut Shelf<'_>) -> io::Result<Presence> {
        let Some(loaded) = shelf.read(self.entry, Loaded::read)? else {
            return Ok(Presence::Gone);
        };
        let parts = content::choose(&loaded.structure, &EVERYTHING);
        let fetched = loaded.fetched(&parts);
        let known = content::Known::default();
        self.view = Some(content::view(&fetched, &EVERYTHING, &known));
        Ok(Presence::There)
    }

    /// The day of delivery in UTC.
    fn day(&self) -> Option<Date> {
        let arrived = self.entry.arrived()?;
        Some(TimeZone::UTC.to_datetime(arrived).date())
    }
}

/// `None` as long as that cannot be told.
fn meets(condition: &Condition, look: &Look<'_>) -> Option<bool> {
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
            let mut values = content::values(look.header.as_ref()?, name);
            Some(values.any(|value| holds(&value, word)))
        }
        Condition::Text(word) => Some(is_within(look.view.as_ref()?, word)),
        Condition::Larger(octets) => Some(look.size? > *octets),
        Condition::Smaller(octets) => Some(look.size? < *octets),
        Condition::Since(date) => Some(look.day().is_some_and(|day| day >= *date)),
        Condition::Before(date) => Some(look.day().is_some_and(|day| day < *date)),
        Condition::Flagged(flag) => {
            let flags = look.entry.flags();
            Some(flags.iter().any(|one| one.is(flag.as_str())))
        }
    }
}

fn all(each: &[Condition], look: &Look<'_>) -> Option<bool> {
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

fn any(any: &[Condition], look: &Look<'_>) -> Option<bool> {
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
    use super::super::folders::Place;
    use super::super::scan::scan;
    use super::super::work::Stop;
    use super::*;
    use jiff::civil::date;
    use mail::Flag;

    const HEADER: &[u8] = b"From: =?iso-8859-1?Q?J=FCrgen_Wei=DF?= <juergen@kettenwerk.example>\r\n\
        To: a@b.example, Anna =?utf-8?B?w5ZrYWZvcg==?= <anna@kettenwerk.example>\r\n\
        Subject: =?utf-8?Q?=C3=9Cberblick?=\r\n =?utf-8?Q?_Stand?=\r\nX-Odd: Folded\r\n\tValue\r\n\r\n";

    fn folder(message: &[u8]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for place in ["cur", "new"] {
            std::fs::create_dir(root.path().join(place)).unwrap();
        }
        // 2001-09-09.
        std::fs::write(root.path().join("cur/1000000000.a:2,FS"), message).unwrap();
        root
    }

    fn verdict(root: &tempfile::TempDir, condition: &Condition) -> Verdict {
        let stop = Stop::default();
        let scan = scan(root.path(), &stop).unwrap();
        let mut shelf = Shelf::new(Place::maildir("INBOX", root.path().to_owned()), &stop);
        let tests = [Test::new(condition).unwrap()];
        judge(&tests, &scan.entries[0], &mut shelf).unwrap()[0]
    }

    #[test]
    fn decoded_headers_match_in_any_case() {
        let root = folder(HEADER);
        let x_odd = |name: &str, word: &str| Condition::Header {
            name: name.to_owned(),
            holds: word.to_owned(),
        };
        type Make = fn(String) -> Condition;
        for (make, word, want) in [
            (Condition::From as Make, "JÜRGEN", Verdict::Match),
            (Condition::From, "weiß", Verdict::Match),
            (Condition::From, "kettenwerk.EXAMPLE", Verdict::Match),
            (Condition::From, "anna", Verdict::No),
            (Condition::From, "=?iso", Verdict::No),
            (Condition::To, "ökafor", Verdict::Match),
            (Condition::To, "a@b", Verdict::Match),
            (Condition::To, "jürgen", Verdict::No),
            (Condition::Cc, "ökafor", Verdict::No),
            (Condition::Subject, "überblick stand", Verdict::Match),
            (Condition::Subject, "folded", Verdict::No),
            (Condition::Text, "x-odd: FOLDED", Verdict::Match),
        ] {
            assert_eq!(verdict(&root, &make(word.to_owned())), want, "{word}");
        }
        for (name, word, want) in [
            ("x-ODD", "folded VALUE", Verdict::Match),
            ("X-Odd", "", Verdict::Match),
            ("X-Odd", "jürgen", Verdict::No),
            ("X-None", "", Verdict::No),
            ("from", "jürgen", Verdict::Match),
        ] {
            assert_eq!(verdict(&root, &x_odd(name, word)), want, "{name} {word}");
        }
    }

    #[test]
    fn conditions_join() {
        use Condition::{All, Any};
        let root = folder(HEADER);
        let size = HEADER.len() as u64;
        let not = |one| Condition::Not(Box::new(one));
        let flag = |name| Condition::Flagged(Flag::new(name));
        let hit = || Condition::Text("überblick".to_owned());
        let miss = || Condition::Subject("zebra".to_owned());
        for (condition, want) in [
            (All(vec![]), true),
            (Any(vec![]), false),
            (Any(vec![miss(), hit()]), true),
            (Any(vec![miss(), miss()]), false),
            (All(vec![hit(), miss()]), false),
            (All(vec![hit(), not(miss())]), true),
            (not(Any(vec![miss(), hit()])), false),
            (flag("\\seen"), true),
            (flag("\\Flagged"), true),
            (flag("\\Answered"), false),
            (flag("$Junk"), false),
            (Condition::Larger(size - 1), true),
            (Condition::Larger(size), false),
            (Condition::Smaller(size), false),
            (Condition::Smaller(size + 1), true),
            (Condition::Since(date(2001, 9, 9)), true),
            (Condition::Since(date(2001, 9, 10)), false),
            (Condition::Before(date(2001, 9, 9)), false),
            (Condition::Before(date(2001, 9, 10)), true),
        ] {
            assert_eq!(verdict(&root, &condition), want.into(), "{condition:?}");
        }
        let deep = (0..1_000).fold(All(vec![]), |one, _| not(one));
        assert!(Test::new(&deep).is_err());
    }

    #[test]
    fn what_cannot_be_read_meets_no_test_for_text() {
        let root = folder(HEADER);
        let stop = Stop::default();
        let mut scan = scan(root.path(), &stop).unwrap();
        scan.entries[0].sharing = Sharing::Shared;
        let tests = [
            Condition::EVERYTHING,
            Condition::Flagged(Flag::new("\\Draft")),
            Condition::From("j".to_owned()),
            Condition::Not(Box::new(Condition::Text("zebra".to_owned()))),
        ];
        let tests = tests.map(|one| Test::new(&one).unwrap());
        let mut shelf = Shelf::new(Place::maildir("INBOX", root.path().to_owned()), &stop);
        let got = judge(&tests, &scan.entries[0], &mut shelf).unwrap();
        let unknown = Verdict::Unknown;
        assert_eq!(got, [Verdict::Match, Verdict::No, unknown, unknown]);
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
