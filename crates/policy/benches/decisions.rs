//! How many messages are judged in a second, on one core, with twenty rules of all kinds.
//!
//! `cargo bench -p policy` writes `docs/policy-speed.md`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark stops at the first surprise, prints, and reads the clock"
)]

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

use mail::{Domain, FactsBuf, Folded, Known, Level, MailAddress};
use policy::{Capabilities, FolderPattern, FolderPolicy, Mode, Predicate, Rule, Span};

const REPORT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/policy-speed.md");
const NOW: i64 = 1_794_783_600;
const MESSAGES: usize = 10_000;
const TIMES: u32 = 20;
const ROUNDS: usize = 7;
const GOAL: f64 = 1e6;

fn main() {
    // `cargo test --all-targets` runs this file too, and without the word.
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("nothing measured: run by `cargo bench`");
        return;
    }
    let messages: Vec<Message> = (0..MESSAGES).map(Message::new).collect();
    let rows = [
        ("whitelist, default NONE", Mode::Whitelist, Level::None),
        ("blacklist, default FULL", Mode::Blacklist, Level::Full),
    ];
    let rows: Vec<Row> = rows
        .into_iter()
        .map(|(name, mode, default)| row(name, &folder(mode, default), &messages))
        .collect();
    let report = report(&rows);
    println!("{report}");
    std::fs::write(REPORT, report).unwrap();
}

struct Row {
    name: &'static str,
    /// For all messages, so many times.
    fastest: Duration,
    /// Messages that a rule decided.
    by_rule: usize,
}

impl Row {
    fn rate(&self) -> f64 {
        MESSAGES as f64 * f64::from(TIMES) / self.fastest.as_secs_f64()
    }
}

fn row(name: &'static str, folder: &FolderPolicy, messages: &[Message]) -> Row {
    let facts: Vec<_> = messages
        .iter()
        .map(|one| one.facts.borrow(&one.lines))
        .collect();
    let by_rule = facts
        .iter()
        .filter(|facts| folder.judge(facts, NOW).level != folder.default)
        .count();
    let mut fastest = Duration::MAX;
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        for _ in 0..TIMES {
            for facts in &facts {
                black_box(folder.judge(black_box(facts), NOW));
            }
        }
        fastest = fastest.min(begun.elapsed());
    }
    Row {
        name,
        fastest,
        by_rule,
    }
}

/// Two of each predicate, one of them with company.
fn folder(mode: Mode, default: Level) -> FolderPolicy {
    let address = |text: &str| MailAddress::parse(text).unwrap();
    let domain = |text: &str| Predicate::FromDomain(Domain::new(text).unwrap());
    let span = |text: &str| Span::parse(text).unwrap();
    let to_contains = |text: &str| Predicate::ToContains(Folded::new(text));
    let subject = |text: &str| Predicate::SubjectContains(Folded::new(text));
    let rules = vec![
        vec![domain("hornbach.example")],
        vec![domain("müller.example"), Predicate::HasAttachment(true)],
        vec![Predicate::From(address("alice@partner.example"))],
        vec![
            Predicate::From(address("bob@partner.example")),
            subject("offer"),
        ],
        vec![Predicate::To(address("billing@company.example"))],
        vec![
            Predicate::To(address("team@company.example")),
            Predicate::SizeLt(40_000),
        ],
        vec![to_contains("invoice")],
        vec![to_contains("+orders@"), subject("order")],
        vec![subject("rechnung")],
        vec![subject("überweisung"), Predicate::OlderThan(span("1d"))],
        vec![Predicate::HasAttachment(true), subject("contract")],
        vec![Predicate::HasAttachment(false), Predicate::SizeGt(900_000)],
        vec![Predicate::NewerThan(span("2h"))],
        vec![Predicate::NewerThan(span("30d")), subject("urgent")],
        vec![Predicate::OlderThan(span("3y"))],
        vec![Predicate::OlderThan(span("90d")), domain("lists.example")],
        vec![Predicate::SizeGt(4_000_000)],
        vec![Predicate::SizeGt(100_000), domain("media.example")],
        vec![Predicate::SizeLt(300)],
        vec![Predicate::SizeLt(1_500), subject("ping")],
    ];
    // As unlike each other as can be, so that no rule is passed over for its level alone more often than usual.
    let levels = match mode {
        Mode::Whitelist => [Level::Envelope, Level::Full, Level::Body, Level::Metadata],
        Mode::Blacklist => [Level::Headers, Level::None, Level::Count, Level::Body],
    };
    let rules = rules
        .into_iter()
        .enumerate()
        .map(|(index, predicates)| Rule {
            predicates,
            level: levels[index % levels.len()],
        });
    FolderPolicy {
        path: FolderPattern::parse("INBOX").unwrap(),
        mode,
        default,
        rules: rules.collect(),
        capabilities: Capabilities::NONE,
    }
}

struct Message {
    facts: FactsBuf,
    lines: String,
}

impl Message {
    /// Few of many meet a rule, as in a mailbox.
    fn new(number: usize) -> Self {
        let hosts = [
            "shop.example",
            "hornbach.example",
            "lists.example",
            "partner.example",
            "müller.example",
        ];
        let host = match number % 7 {
            0 => hosts[number / 7 % hosts.len()].to_owned(),
            _ => format!("host{}.example", number % 997),
        };
        let parse = |local: &str, host: &str| MailAddress::new(local, host).unwrap();
        let topics = [
            "the minutes of our meeting last week",
            "Ihre Rechnung vom November",
            "Über die Reise",
            "an offer",
        ];
        let subject = format!("Re: {} ({number})", topics[number / 3 % topics.len()]);
        let facts = FactsBuf {
            from: Some(parse(&format!("person{number}"), &host)),
            recipients: vec![
                parse("me.and.myself", "company.example"),
                parse(&format!("colleague{}", number % 50), "company.example"),
                parse(&format!("someone{number}"), "far-away.example"),
            ],
            recipients_known: Known::Whole,
            subject: Some(Folded::new(&subject)),
            has_attachment: Some(number.is_multiple_of(5)),
            arrived: Some(NOW - 3_600 * i64::try_from(number).unwrap()),
            size: Some(1_000 + (number as u64 * 7_919) % 60_000),
        };
        let lines = facts.recipient_lines();
        Self { facts, lines }
    }
}

fn report(rows: &[Row]) -> String {
    let mut out = String::from(
        "# Decisions, measured\n\n\
         <!-- Written by `cargo bench -p policy`; edit the benchmark, not this file. -->\n\n\
         How many messages one core judges in a second by a folder with twenty rules: two for each predicate, half of them\n\
         with a second one. 10,000 different messages with a sender, three recipients and a subject; most meet no rule, so\n\
         that all twenty are asked. The facts are there already; fetching them is measured elsewhere. The goal is a million.\n\n\
         | folder | decided by a rule | decisions in a second | each, ns | goal reached |\n\
         |---|---:|---:|---:|---:|\n",
    );
    for row in rows {
        let rate = row.rate();
        let _ = writeln!(
            out,
            "| {} | {:.0} % | {:.1} million | {:.0} | {:.1} × |",
            row.name,
            100.0 * row.by_rule as f64 / MESSAGES as f64,
            rate / 1e6,
            1e9 / rate,
            rate / GOAL,
        );
    }
    out
}
