//! Several tests over a folder: the same messages from every source, one flight where the server can.

use jiff::civil::date;
use mail::{Condition, Cx, Fault, FaultKind, Flag, MailSource, Snippets, Uid, UidSet};
use sources::imap::ImapSource;
use sources::maildir::Maildir;
use testkit::{Cyrus, Delivery, Dovecot, FaultProxy};

use crate::{inbox, runtime, settings};

/// Each with the day of January 2026 on which it arrived.
const MAIL: [(&str, u64, &[testkit::Flag]); 5] = [
    (
        "From: Anna <anna@acme.example>\r\nTo: team@acme.example\r\nSubject: one\r\nList-Id: <dev.acme.example>\r\n\r\nzebra\r\n",
        1,
        &[],
    ),
    (
        "From: bob@other.example\r\nCc: anna@acme.example\r\nSubject: two \"quoted\"\r\n\r\nhello\r\n",
        5,
        &[testkit::Flag::Seen],
    ),
    (
        "From: =?utf-8?Q?J=C3=BCrgen?= <j@other.example>\r\nTo: x@y.example\r\nSubject: =?utf-8?Q?gr=C3=BCne_drei?=\r\n\r\nhello\r\n",
        10,
        &[testkit::Flag::Seen, testkit::Flag::Flagged],
    ),
    (
        "From: anna@acme.example\r\nSubject: four\r\n\r\nA longer text, of which there are several lines in this message.\r\nAnd so it is the largest of them all, by far, and nothing else of it matters.\r\nLine, line, line, line, line, line, line, line, line, line, line, line, line.\r\n",
        15,
        &[testkit::Flag::Answered],
    ),
    ("Subject: five\r\n\r\nhello\r\n", 20, &[]),
];

fn mail() -> impl Iterator<Item = Delivery> {
    MAIL.iter().map(|(raw, day, flags)| Delivery {
        raw: raw.as_bytes().to_vec(),
        unix_time: 1_767_225_600 + (day - 1) * 86_400 + 43_200,
        flags: flags.to_vec(),
    })
}

fn text(make: fn(String) -> Condition, word: &str) -> Condition {
    make(word.to_owned())
}

fn header(name: &str, word: &str) -> Condition {
    Condition::Header {
        name: name.to_owned(),
        holds: word.to_owned(),
    }
}

fn flag(name: &str) -> Condition {
    Condition::Flagged(Flag::new(name))
}

fn not(one: Condition) -> Condition {
    Condition::Not(Box::new(one))
}

/// What is asked, and which of the messages meet it.
fn table() -> Vec<(Condition, &'static [usize])> {
    use Condition::{All, Any, Before, Cc, From, Larger, Since, Smaller, Subject, Text, To};
    vec![
        (Condition::EVERYTHING, &[1, 2, 3, 4, 5]),
        (Any(vec![]), &[]),
        (not(Any(vec![])), &[1, 2, 3, 4, 5]),
        (text(From, "ACME.example"), &[1, 4]),
        (text(Cc, "anna"), &[2]),
        (text(To, "team@"), &[1]),
        (text(Subject, "\"quoted\""), &[2]),
        (text(Subject, "GRÜNE"), &[3]),
        (text(From, "Jürgen"), &[3]),
        (text(Text, "zebra"), &[1]),
        (header("List-Id", "dev."), &[1]),
        (header("list-id", ""), &[1]),
        (
            Any(vec![
                text(From, "anna"),
                text(Cc, "anna"),
                text(Subject, "five"),
            ]),
            &[1, 2, 4, 5],
        ),
        (
            All(vec![text(From, "anna"), not(text(Subject, "one"))]),
            &[4],
        ),
        (
            Any(vec![
                All(vec![text(From, "other"), flag("\\Flagged")]),
                All(vec![text(From, "acme"), flag("\\Answered")]),
            ]),
            &[3, 4],
        ),
        (flag("\\Seen"), &[2, 3]),
        (not(flag("\\Seen")), &[1, 4, 5]),
        (not(flag("$Work")), &[1, 2, 3, 4, 5]),
        (flag("$Work"), &[]),
        (Larger(200), &[4]),
        (Smaller(40), &[5]),
        (Since(date(2026, 1, 10)), &[3, 4, 5]),
        (Before(date(2026, 1, 10)), &[1, 2]),
        (not(text(Subject, "nowhere")), &[1, 2, 3, 4, 5]),
        (text(Subject, "nowhere"), &[]),
    ]
}

/// Which messages each set holds, told by what they say.
fn check(source: &dyn MailSource) {
    let (tests, want): (Vec<Condition>, Vec<&[usize]>) = table().into_iter().unzip();
    let runtime = runtime();
    let sifted = runtime
        .block_on(source.sift(&Cx::new(), &inbox(), &tests))
        .unwrap();
    assert_eq!(sifted.sets.len(), tests.len());
    let names = ["one", "two", "grüne drei", "four", "five"];
    let named = |set: &UidSet| {
        let (cx, folder) = (Cx::new(), inbox());
        let told = source.summaries(&cx, &folder, sifted.uidvalidity, set, Snippets::Without);
        let told = runtime.block_on(told).unwrap();
        let mut found: Vec<usize> = told
            .iter()
            .map(|summary| {
                let facts = content::facts(summary);
                assert_eq!(facts.has_attachment, Some(false));
                let subject = facts.subject.unwrap();
                let starts = |name: &&str| subject.as_str().starts_with(*name);
                names.iter().position(starts).unwrap() + 1
            })
            .collect();
        found.sort_unstable();
        found
    };
    for ((set, want), test) in sifted.sets.iter().zip(want).zip(&tests) {
        assert_eq!(named(set), want, "{test:?}");
    }
}

#[test]
fn every_source_sifts_alike() {
    let server = Dovecot::start();
    server.deliver_many("alice", "INBOX", mail());
    check(&ImapSource::new(crate::account(), settings(server.port())));
    let plain = FaultProxy::builder(server.port())
        .strip("ESEARCH IMAP4REV2 PARTIAL")
        .start();
    check(&ImapSource::new(crate::account(), settings(plain.port())));
    assert!(!plain.transcript().contains("RETURN"));
    let poor = FaultProxy::builder(server.port())
        .strip("ESEARCH IMAP4REV2 PARTIAL LITERAL+ LITERAL-")
        .start();
    check(&ImapSource::new(crate::account(), settings(poor.port())));
}

#[test]
fn a_local_store_sifts_alike() {
    let root = tempfile::tempdir().unwrap();
    for place in ["cur", "new"] {
        std::fs::create_dir(root.path().join(place)).unwrap();
    }
    for Delivery {
        raw,
        unix_time,
        flags,
    } in mail()
    {
        let letter = |flag: &testkit::Flag| match flag {
            testkit::Flag::Answered => 'R',
            testkit::Flag::Flagged => 'F',
            _ => 'S',
        };
        let letters: String = flags.iter().map(letter).collect();
        let name = format!("cur/{unix_time}.x:2,{letters}");
        std::fs::write(root.path().join(name), raw).unwrap();
    }
    let account = mail::AccountId::new("local").unwrap();
    check(&Maildir::open(account, root.path().to_owned()));
}

#[test]
fn another_server_sifts_alike() {
    let server = Cyrus::start();
    server.deliver_many("alice", "INBOX", mail());
    check(&ImapSource::new(crate::account(), settings(server.port())));
}

#[test]
fn all_tests_are_one_flight() {
    let server = Dovecot::start();
    server.deliver_many("alice", "INBOX", mail());
    let plain = FaultProxy::builder(server.port())
        .strip("ESEARCH IMAP4REV2 PARTIAL")
        .start();
    let runtime = runtime();
    // Plain answers of this server cannot be told apart. That is found out once; then each test is a flight of its own. The
    // second time only flags are asked for.
    for (port, flights) in [(server.port(), [1, 1]), (plain.port(), [5, 1])] {
        let source = ImapSource::new(crate::account(), settings(port));
        let tests = [
            text(Condition::From, "anna"),
            Condition::EVERYTHING,
            flag("\\Seen"),
            text(Condition::Subject, "grüne"),
        ];
        runtime.block_on(source.folders(&Cx::new())).unwrap();
        // First the folder is opened on the way, then it is open.
        for want in flights {
            let cx = Cx::new();
            let sifted = runtime.block_on(source.sift(&cx, &inbox(), &tests));
            let sizes: Vec<u64> = sifted.unwrap().sets.iter().map(UidSet::len).collect();
            assert_eq!(sizes, [2, 5, 2, 1]);
            assert_eq!(cx.round_trips(), want);
        }
    }
}

#[test]
fn what_came_and_went_meanwhile_is_seen() {
    let server = Dovecot::start();
    server.deliver_many("alice", "INBOX", mail());
    let source = ImapSource::new(crate::account(), settings(server.port()));
    let runtime = runtime();
    let tests = [Condition::EVERYTHING, text(Condition::From, "anna")];
    let sift = || {
        runtime
            .block_on(source.sift(&Cx::new(), &inbox(), &tests))
            .unwrap()
    };
    let before = sift();
    assert_eq!(before.sets[1], UidSet::from_ranges([(1, 1), (4, 4)]));
    let mut other = server.login("alice", "secret");
    other.command("SELECT INBOX");
    other.command("UID STORE 1 +FLAGS (\\Deleted)");
    other.command("UID EXPUNGE 1");
    other.command_with_literal("APPEND INBOX", b"From: anna@new.example\r\n\r\nx\r\n");
    let after = sift();
    assert_eq!(after.uidvalidity, before.uidvalidity);
    assert_eq!(after.sets[0], UidSet::range(Uid(2), Uid(6)));
    assert_eq!(after.sets[1], UidSet::from_ranges([(4, 4), (6, 6)]));
}

/// Dovecot searches first, and then hears of what others did.
#[test]
fn flags_that_changed_a_moment_ago_are_searched_by() {
    let server = Dovecot::start();
    server.deliver_many("alice", "INBOX", mail());
    let plain = FaultProxy::builder(server.port())
        .strip("ESEARCH IMAP4REV2 PARTIAL")
        .start();
    let runtime = runtime();
    let mut other = server.login("alice", "secret");
    other.command("SELECT INBOX");
    for port in [server.port(), plain.port()] {
        let source = ImapSource::new(crate::account(), settings(port));
        let seen = || {
            let tests = [
                text(Condition::Subject, "o"),
                not(not(flag("\\Seen"))),
                Condition::EVERYTHING,
            ];
            let sifted = runtime.block_on(source.sift(&Cx::new(), &inbox(), &tests));
            sifted.unwrap().sets[1].len()
        };
        let unread = || {
            let search = mail::Search {
                folder: inbox(),
                query: mail::Query {
                    unread_only: true,
                    ..mail::Query::default()
                },
                below: None,
                limit: 10,
                snippets: Snippets::Without,
                most_matches: 10,
            };
            let found = runtime.block_on(source.search(&Cx::new(), &search));
            found.unwrap().matches
        };
        assert_eq!((seen(), unread()), (2, 3));
        other.command("UID STORE 1 +FLAGS (\\Seen)");
        assert_eq!(seen(), 3);
        other.command("UID STORE 4 +FLAGS (\\Seen)");
        assert_eq!(unread(), 1);
        other.command("UID STORE 1,4 -FLAGS (\\Seen)");
        assert_eq!(seen(), 2);
    }
}

#[test]
fn what_cannot_be_asked_is_refused_before_it_is_sent() {
    let server = Dovecot::start();
    let proxy = FaultProxy::to(server.port());
    let source = ImapSource::new(crate::account(), settings(proxy.port()));
    for test in [
        flag("two words"),
        flag("\\Recent"),
        flag("x) NOT (ALL"),
        header("a b", "x"),
        header("", "x"),
        text(Condition::From, "a\0b"),
    ] {
        let fault = fault(&source, &[Condition::EVERYTHING, test]);
        assert_eq!(fault.kind, FaultKind::Rejected);
    }
    assert!(!proxy.transcript().contains("SEARCH"));
    let nowhere = mail::FolderName::new("Nowhere").unwrap();
    let cx = Cx::new();
    let fault = runtime()
        .block_on(source.sift(&cx, &nowhere, &[]))
        .unwrap_err();
    assert_eq!(fault.kind, FaultKind::NoSuchFolder);
}

fn fault(source: &dyn MailSource, tests: &[Condition]) -> Fault {
    let cx = Cx::new();
    runtime()
        .block_on(source.sift(&cx, &inbox(), tests))
        .unwrap_err()
}
