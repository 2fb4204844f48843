//! Random policies and messages as text, few enough words that they often meet; and both in the forms of the crate.

use std::cell::RefCell;
use std::collections::HashMap;

use mail::{Domain, Facts, FactsBuf, Folded, Known, Level, MailAddress};
use policy::{Capabilities, FolderPattern, FolderPolicy, Mode, Predicate, Rule, Span};

use crate::dice::Dice;
use crate::naive::{Clause, Entry, LEVELS, Letter};

pub(crate) const NOW: i64 = 1_794_783_600;

const LOCALS: &[&str] = &[
    "alice",
    "ALICE",
    "Alice",
    "bob",
    "Bob",
    "mike",
    "jörg.maier",
    "JÖRG.Maier",
    "jo\u{308}rg.maier",
    "team",
    "a@b",
    "o'neil",
];
const HOSTS: &[&str] = &[
    "example.com",
    "EXAMPLE.com",
    "example.com.",
    "mail.example.com",
    "müller.example",
    "MÜLLER.example.",
    "mu\u{308}ller.Example",
    "xn--mller-kva.example",
    "XN--MLLER-KVA.EXAMPLE",
    "bücher.müller.example",
    "xn--bcher-kva.müller.example",
    "Bücher.xn--mller-kva.example",
    "straße.de",
    "STRAßE.de",
    "xn--strae-oqa.de",
];
const BROKEN: &[&str] = &[
    "nobody",
    "@example.com",
    "a b@example.com",
    "alice@",
    "bob@a..b",
    "",
];
const PARTS: &[&str] = &[
    "team",
    "TEAM@",
    "@müller",
    "xn--mller",
    "ller.ex",
    "e@ex",
    "b@BÜ",
    "jo\u{308}rg",
    "@",
    "r.example",
    "zz",
];
const WORDS: &[&str] = &[
    "Rechnung",
    "RECHNUNG",
    "über",
    "ÜBER",
    "u\u{308}ber",
    "U\u{308}ber",
    "die",
    "cafe\u{301}",
    "café",
    "x",
    " ",
];
const SPANS: &[&str] = &[
    "1s", "60s", "1m", "2m", "1h", "24h", "1d", "7d", "1w", "30d", "1y",
];
const AGES: &[&i64] = &[
    &-100,
    &0,
    &1,
    &59,
    &60,
    &61,
    &120,
    &3_599,
    &3_600,
    &86_399,
    &86_400,
    &86_401,
    &604_800,
    &604_801,
    &2_592_000,
    &31_536_001,
];
const SIZES: &[&u64] = &[
    &0,
    &1,
    &9,
    &10,
    &11,
    &100,
    &1_500,
    &4_294_967_295,
    &4_294_967_296,
    &u64::MAX,
];

fn address(dice: &mut Dice) -> String {
    format!("{}@{}", dice.pick(LOCALS), dice.pick(HOSTS))
}

fn address_or_worse(dice: &mut Dice) -> String {
    match dice.once_in(12) {
        true => dice.pick(BROKEN).to_owned(),
        false => address(dice),
    }
}

fn words(dice: &mut Dice, most: usize) -> String {
    let count = 1 + dice.roll(most);
    (0..count).map(|_| dice.pick(WORDS)).collect()
}

pub(crate) fn predicate(dice: &mut Dice) -> (&'static str, String) {
    match dice.roll(10) {
        0 => ("from", address(dice)),
        1 => ("from_domain", dice.pick(HOSTS).to_owned()),
        2 => ("to", address(dice)),
        3 => ("to_contains", dice.pick(PARTS).to_owned()),
        4 => ("subject_contains", words(dice, 2)),
        5 => ("has_attachment", dice.once_in(2).to_string()),
        6 => ("newer_than", dice.pick(SPANS).to_owned()),
        7 => ("older_than", dice.pick(SPANS).to_owned()),
        8 => ("size_gt", dice.pick(SIZES).to_string()),
        _ => ("size_lt", dice.pick(SIZES).to_string()),
    }
}

/// Of a file that the crate accepts, mostly.
pub(crate) fn clause(dice: &mut Dice) -> Clause {
    let count = 1 + dice.roll(3);
    Clause {
        matches: (0..count).map(|_| predicate(dice)).collect(),
        level: LEVELS[dice.roll(7)],
    }
}

pub(crate) fn entry(dice: &mut Dice) -> Entry {
    let mode = dice.pick(&["whitelist", "blacklist"]);
    let count = dice.roll(6);
    Entry {
        mode,
        default: match mode {
            "whitelist" => "NONE",
            _ if dice.once_in(2) => LEVELS[1 + dice.roll(6)],
            _ => "FULL",
        },
        rules: (0..count).map(|_| clause(dice)).collect(),
    }
}

const COMPONENTS: &[&str] = &["INBOX", "Inbox", "A", "a", "B", "A.B", "INBOXES"];

/// The decoded name of a folder, few enough that patterns often cover it.
pub(crate) fn folder_name(dice: &mut Dice) -> String {
    let mut name = dice.pick(COMPONENTS).to_owned();
    for _ in 0..dice.roll(4) {
        name.push_str(dice.pick(&["/", "/", "."]));
        name.push_str(dice.pick(COMPONENTS));
    }
    name
}

/// The path of an entry: such a name, what is below it, or everything.
pub(crate) fn path(dice: &mut Dice) -> String {
    match dice.roll(6) {
        0 => "*".to_owned(),
        1 => folder_name(dice),
        2 => format!("{}.*", dice.pick(COMPONENTS)),
        _ => format!("{}/*", dice.pick(COMPONENTS)),
    }
}

pub(crate) fn letter(dice: &mut Dice) -> Letter {
    let list = |dice: &mut Dice, most| {
        let count = dice.roll(most);
        (0..count).map(|_| address_or_worse(dice)).collect()
    };
    Letter {
        from: list(dice, 3),
        to: list(dice, 3),
        cc: list(dice, 2),
        recipients_read: !dice.once_in(8),
        subject: (!dice.once_in(8)).then(|| words(dice, 4)),
        attachment: (!dice.once_in(8)).then(|| dice.once_in(2)),
        arrived: (!dice.once_in(8)).then(|| NOW - dice.pick(AGES)),
        size: (!dice.once_in(8)).then(|| *dice.pick(SIZES)),
    }
}

pub(crate) fn level(name: &str) -> Level {
    match name {
        "NONE" => Level::None,
        "COUNT" => Level::Count,
        "METADATA" => Level::Metadata,
        "ENVELOPE" => Level::Envelope,
        "HEADERS" => Level::Headers,
        "BODY" => Level::Body,
        "FULL" => Level::Full,
        other => panic!("{other} is no level"),
    }
}

pub(crate) fn folder(path: &str, entry: &Entry) -> FolderPolicy {
    FolderPolicy {
        path: FolderPattern::parse(path).unwrap(),
        mode: match entry.mode {
            "whitelist" => Mode::Whitelist,
            _ => Mode::Blacklist,
        },
        default: level(entry.default),
        rules: entry.rules.iter().map(rule).collect(),
        capabilities: Capabilities::NONE,
    }
}

pub(crate) fn rule(clause: &Clause) -> Rule {
    let read = |(key, value): &(&str, String)| match *key {
        "from" => Predicate::From(mail_address(value).unwrap()),
        "from_domain" => Predicate::FromDomain(domain(value)),
        "to" => Predicate::To(mail_address(value).unwrap()),
        "to_contains" => Predicate::ToContains(folded(value)),
        "subject_contains" => Predicate::SubjectContains(folded(value)),
        "has_attachment" => Predicate::HasAttachment(value == "true"),
        "newer_than" => Predicate::NewerThan(Span::parse(value).unwrap()),
        "older_than" => Predicate::OlderThan(Span::parse(value).unwrap()),
        "size_gt" => Predicate::SizeGt(value.parse().unwrap()),
        _ => Predicate::SizeLt(value.parse().unwrap()),
    };
    Rule {
        predicates: clause.matches.iter().map(read).collect(),
        level: level(clause.level),
    }
}

/// Hands the facts of a letter to `then`.
pub(crate) fn with_facts<T>(letter: &Letter, then: impl FnOnce(&Facts<'_>) -> T) -> T {
    let named = letter.to.iter().chain(&letter.cc);
    let read: Vec<Option<MailAddress>> = named.map(|text| mail_address(text)).collect();
    let whole = letter.recipients_read && !read.is_empty() && read.iter().all(Option::is_some);
    let facts = FactsBuf {
        from: letter.from.first().and_then(|text| mail_address(text)),
        recipients: read.into_iter().flatten().collect(),
        recipients_known: match whole {
            true => Known::Whole,
            false => Known::NotWhole,
        },
        subject: letter.subject.as_deref().map(folded),
        has_attachment: letter.attachment,
        arrived: letter.arrived,
        size: letter.size,
    };
    then(&facts.borrow(&facts.recipient_lines()))
}

/// There are few texts, and making a form of one takes long where nothing is optimized.
type Made<T> = RefCell<HashMap<String, T>>;

thread_local! {
    static ADDRESSES: Made<Option<MailAddress>> = RefCell::default();
    static DOMAINS: Made<Option<Domain>> = RefCell::default();
    static FOLDED: Made<Folded> = RefCell::default();
}

fn mail_address(text: &str) -> Option<MailAddress> {
    ADDRESSES.with(|made| once(made, text, MailAddress::parse))
}

fn domain(text: &str) -> Domain {
    DOMAINS.with(|made| once(made, text, Domain::new)).unwrap()
}

fn folded(text: &str) -> Folded {
    FOLDED.with(|made| once(made, text, Folded::new))
}

fn once<T: Clone>(made: &Made<T>, text: &str, make: impl Fn(&str) -> T) -> T {
    let mut made = made.borrow_mut();
    if let Some(known) = made.get(text) {
        return known.clone();
    }
    made.entry(text.to_owned()).or_insert(make(text)).clone()
}
